// Several books at once: in the list of books a shelf, all of them or those that are ticked; on the page, which they are.

import { EVERY_BOOK, idOfShelf } from "./scope.js";
import { element } from "./text.js";
import { count, percent } from "./words.js";

const MOST_SHOWN = 200;

/** A title, a line below it where there is one to write, and what is said of it, to be pressed. */
export const choice = (title, about, onClick, byline = "") =>
  element(
    "button",
    { type: "button", className: "choose", onclick: onClick },
    element(
      "span",
      { className: "title", dir: "auto" },
      title,
      ...(byline === "" ? [] : [element("span", { className: "quiet byline", dir: "auto" }, byline)]),
    ),
    element("span", { className: "quiet" }, about),
  );

/** A row of the list of what can be asked, here as `id`. */
export function row(id, ...children) {
  const made = element("li", {}, ...children);
  made.dataset.asked = id;
  return made;
}

/** In the dialog with the books: what may be asked together; `onChoose(id)` hears as what it is asked. */
export class Choices {
  constructor(dialog, onChoose) {
    this.onChoose = onChoose;
    this.list = dialog.querySelector("#shelves");
    this.bar = dialog.querySelector("#ticked");
    this.button = this.bar.querySelector("button");
    this.ticked = new Set();
    this.button.addEventListener("click", () => this.onChoose([...this.ticked].join(",")));
  }

  /** A box to tick `book` with. */
  box({ id, title }) {
    const box = element("input", { type: "checkbox", checked: this.ticked.has(id) });
    box.ariaLabel = `Ask ${title} together with others`;
    box.addEventListener("change", () => {
      if (box.checked) this.ticked.add(id);
      else this.ticked.delete(id);
      this.showTicked();
    });
    return box;
  }

  clear() {
    this.ticked.clear();
    this.showTicked();
  }

  /** Shows the shelves of `library` whose titles are wanted. */
  draw({ books, shelves, hasMore, size: allOfThem }, isWanted) {
    const ids = new Set(books.map((book) => book.id));
    for (const id of this.ticked) if (!ids.has(id)) this.ticked.delete(id);
    const all = { id: EVERY_BOOK, title: "All books", books: [...ids] };
    const found = [all, ...shelves.map((shelf) => ({ ...shelf, id: idOfShelf(shelf.name) }))]
      // Of a shelf those count that are there, where that is known.
      .map((one) => ({ ...one, size: one.books.filter((id) => hasMore || ids.has(id)).length }))
      .filter((one) => one.size > (one.id === EVERY_BOOK ? 1 : 0)) // one book alone is in the other list
      .filter((one) => isWanted(one.title));
    this.list.hidden = found.length === 0;
    this.list.replaceChildren(
      ...found.map(({ id, title, size }) =>
        row(id, choice(title, id === EVERY_BOOK ? allOfThem : count(size, "book"), () => this.onChoose(id))),
      ),
    );
    this.showTicked();
  }

  showTicked() {
    this.bar.hidden = this.ticked.size === 0;
    this.button.textContent = this.ticked.size === 1 ? "Ask this book" : `Ask these ${this.ticked.size} books`;
  }
}

/**
 * Shows in `box`, a `details`, the books of `scope` (null: none, or one alone), and how far each has been read;
 * `onChoose(id)` hears which one is wanted by itself.
 */
export function showTogether(box, scope, onChoose) {
  box.hidden = scope === null || scope.isOne;
  if (box.hidden) return;
  const limits = scope.limits();
  // First those of which something is kept back.
  const books = [...scope.books].sort((a, b) => (limits[a.id] < 100 ? 0 : 1) - (limits[b.id] < 100 ? 0 : 1));
  const inPart = books.filter((book) => limits[book.id] < 100).length;
  box.querySelector("summary").textContent = [
    count(books.length, "book"),
    inPart > 0 && `${inPart} not yet read to the end`,
  ]
    .filter(Boolean)
    .join(", ");
  box.querySelector("ul").replaceChildren(
    ...books.slice(0, MOST_SHOWN).map((book) =>
      element("li", {}, choice(book.title, readInWords(limits[book.id]), () => onChoose(book.id))),
    ),
    ...(books.length > MOST_SHOWN ? [element("li", { className: "quiet" }, `and ${books.length - MOST_SHOWN} more`)] : []),
  );
}

const readInWords = (share) => (share === 100 ? "the whole book" : `${percent(share / 100)} read`);
