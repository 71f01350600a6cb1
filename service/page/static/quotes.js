// Sentences of a book as it is quoted, each with its place, which opens the book there.

import * as api from "./api.js";
import { Problem } from "./problems.js";
import { element, languageOf } from "./text.js";
import { joined } from "./words.js";

/** A sentence of `book`; `onOpen(place, marks)` hears that the book is wanted there. */
export function quote(one, book, onOpen) {
  const place = joined([one.page && `page ${one.page}`, one.chapter, `${one.percent}\u00a0%`]);
  return element(
    "figure",
    { className: "quote" },
    element("blockquote", { dir: "auto", lang: languageOf(book) }, one.text),
    element(
      "figcaption",
      {},
      element("button", { type: "button", className: "plain", onclick: () => openAt(one, onOpen) }, place),
    ),
  );
}

/** Has the book opened at a sentence, which is marked there. */
export function openAt({ start, end }, onOpen) {
  onOpen({ start }, [{ start, end, tag: "span", className: "sentence" }]);
}

/** Who somebody is, of what `book` says up to the character `limit`: elements. */
export async function whoIs(book, name, limit, onOpen) {
  const { sentences } = await api.who(book.id, name, limit);
  return sentences.length > 0
    ? sentences.map((one) => quote(one, book, onOpen))
    : [element("p", { className: "quiet" }, "The book has said nothing of them yet.")];
}

/** Puts into `into` what `made` resolves to, or what went wrong, unless `isWanted()` has ended by then. */
export async function fill(into, made, isWanted) {
  const said = element("p", { className: "quiet", role: "status" }, "Reading …");
  into.replaceChildren(said);
  try {
    const children = await made();
    if (isWanted()) into.replaceChildren(...children);
  } catch (error) {
    if (!(error instanceof Problem)) console.error(error);
    if (isWanted()) said.textContent = inWords(error);
  }
}

const inWords = ({ message, near = [] }) =>
  near.length > 0 ? `${message} Did you mean ${near.join(" or ")}?` : message;
