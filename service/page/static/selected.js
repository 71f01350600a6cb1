// What may be asked of words that are selected in the open book.

import { fill, whoIs } from "./quotes.js";

const LONGEST = 200; // characters that are asked about
const LONGEST_NAME = 60;

/** Has `reader` offer what may be asked of words that are selected on its pages; `onAsk(words)` hears which to ask about. */
export function offerSelected(reader, onAsk) {
  const { dialog, pages } = reader;
  const box = dialog.querySelector("#selected");
  const told = box.querySelector("#selected-told");
  const who = box.querySelector("#selected-who");
  let words = "";

  function show(selected) {
    if (selected === words) return;
    words = selected;
    box.hidden = words === "";
    who.hidden = words.length > LONGEST_NAME;
    box.querySelector("q").textContent = words;
    told.replaceChildren();
  }

  document.addEventListener("selectionchange", () => {
    const selection = getSelection();
    const { anchorNode } = selection;
    // Not where the pages themselves hold it: another place was opened, perhaps from what is told here.
    if (!dialog.open || anchorNode === pages || !pages.contains(anchorNode)) return;
    const selected = pages.contains(selection.focusNode) ? String(selection).trim().replace(/\s+/gu, " ") : "";
    show(selected.length <= LONGEST ? selected : "");
  });
  dialog.addEventListener("close", () => show(""));

  who.addEventListener("click", async () => {
    const { book, limit } = reader;
    const asked = words;
    const name = asked.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "").replace(/['’]s$/u, "");
    const onOpen = (place, marks) => reader.open(book, place, marks, limit);
    const isWanted = () => asked === words && book === reader.book && limit === reader.limit;
    await fill(told, () => whoIs(book, name, limit, onOpen), isWanted);
  });

  box.querySelector("#selected-ask").addEventListener("click", () => {
    const asked = words;
    reader.close();
    onAsk(asked);
  });
}
