// A place in a book for use elsewhere: as words, and as an address that opens the book there.

import { element } from "./text.js";
import { percent } from "./words.js";

const SAID_MS = 2000; // how long a button says that it has been done

/** `evidence` as a citation: the sentence, whose book it is from, and where in it. */
export function citationOf(book, evidence) {
  const where = [
    evidence.chapter,
    evidence.page && `p. ${evidence.page}`,
    `${percent(evidence.percent / 100)} into the book`.replace("\u00a0", " "),
  ];
  const of = [book.author, book.title].filter(Boolean).join(", ");
  return `“${evidence.sentence.trim()}” (${[of, ...where].filter(Boolean).join(", ")})`;
}

/** The address of the page that opens `book` at `evidence`, and shows no more than the `share` of it, in percent. */
export function linkTo(book, evidence, share) {
  const to = new URL(location.href);
  const read = share === 100 ? {} : { read: share };
  to.hash = new URLSearchParams({ book: book.id, ...read, at: `${evidence.start}-${evidence.end}` });
  return to.href;
}

/** Buttons that copy the citation of a place, and the link to it for those who may see a `share` of the book. */
export const copyButtons = (book, evidence, share) => [
  copyButton("Copy citation", () => citationOf(book, evidence)),
  copyButton("Copy link", () => linkTo(book, evidence, share)),
];

function copyButton(name, text) {
  const said = element("span", { role: "status" }, name);
  const button = element("button", { type: "button", className: "plain copy" }, said);
  button.addEventListener("click", async () => {
    said.textContent = (await copied(text())) ? "Copied" : "It could not be copied";
    setTimeout(() => (said.textContent = name), SAID_MS);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text); // without TLS only localhost has a clipboard
  }
}

function copiedBySelection(text) {
  const focused = document.activeElement;
  const field = element("textarea", { value: text, readOnly: true, className: "unseen" });
  (focused?.closest("dialog") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return done;
}
