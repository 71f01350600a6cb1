// The book's length as a strip: its chapters, what has been read, the passages found, and the answer.

import { element } from "./text.js";
import { percent } from "./words.js";

/** Draws into one element; `onOpen(share)` hears where in the book, 0 to 1, somebody clicked. */
export class Strip {
  constructor(into, onOpen) {
    this.into = into;
    this.characters = 0;
    this.layers = Object.fromEntries(
      ["chapters", "unread", "passages", "pin"].map((name) => [name, element("div", { className: name })]),
    );
    into.append(...Object.values(this.layers));
    into.addEventListener("click", (event) => {
      const box = into.getBoundingClientRect();
      if (this.characters > 0) onOpen(Math.min(0.9999, Math.max(0, (event.clientX - box.left) / box.width)));
    });
    this.showRead(1);
  }

  showBook(book) {
    this.characters = book.characters;
    this.layers.chapters.replaceChildren(
      ...book.chapters.filter((chapter) => chapter.start > 0).map((chapter) => this.placed(chapter.start)),
    );
    this.clear();
  }

  showRead(share) {
    this.layers.unread.style.left = `${100 * share}%`;
  }

  clear() {
    this.layers.passages.replaceChildren();
    this.layers.pin.replaceChildren();
    this.into.setAttribute("aria-label", "The length of the book");
  }

  /** `passages` as the service gives them, `evidence` the one shown (or null). */
  showAnswer(passages, evidence) {
    const scores = passages.map((passage) => passage.score);
    const [least, most] = [Math.min(...scores), Math.max(...scores)];
    this.layers.passages.replaceChildren(
      ...passages.map((passage) => {
        const mark = this.placed(passage.start, passage.end);
        // The better found, the taller; the least one is seen all the same.
        const share = most > least ? (passage.score - least) / (most - least) : 1;
        mark.style.height = `${45 + 55 * share}%`;
        return mark;
      }),
    );
    this.layers.pin.replaceChildren(...(evidence === null ? [] : [this.placed(evidence.start)]));
    const found = passages.map((passage) => percent(passage.start / this.characters)).join(", ");
    const answer =
      evidence === null ? "" : `The answer stands ${percent(evidence.start / this.characters)} into the book. `;
    this.into.setAttribute("aria-label", `${answer}Passages were found at ${found || "no place"}.`);
  }

  placed(start, end = null) {
    const mark = element("i");
    mark.style.left = `${(100 * start) / this.characters}%`;
    if (end !== null) mark.style.width = `${(100 * (end - start)) / this.characters}%`;
    return mark;
  }
}
