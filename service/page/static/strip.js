// The book's length as a strip: its chapters, what has been read, the passages found, and the answer.

import { marksOf, passageMarks } from "./answer.js";
import { element } from "./text.js";
import { chapterAt, joined, percent, reached } from "./words.js";

/**
 * Draws into one toolbar, whose buttons are the places in the book that have been read: one stop of the Tab
 * key, and the arrow keys go from place to place. `onOpen(place, marks)` hears which one is wanted.
 */
export class Strip {
  constructor(into, onOpen) {
    this.into = into;
    this.book = null;
    this.chapters = []; // whose titles may be told
    this.drawn = null; // how many of them are drawn
    this.layers = Object.fromEntries(
      ["chapters", "unread", "passages", "others", "pin"].map((name) => [name, element("div", { className: name })]),
    );
    into.append(...Object.values(this.layers));
    into.addEventListener("keydown", (event) => this.move(event));
    into.addEventListener("click", (event) => {
      if (this.book === null || event.target.closest("button") !== null) return;
      const box = into.getBoundingClientRect();
      const share = Math.min(0.9999, Math.max(0, (event.clientX - box.left) / box.width));
      onOpen({ start: Math.floor(share * this.book.characters) }, []);
    });
    this.onOpen = onOpen;
  }

  /** Of `book`, as far as `showRead` then says that it has been read. */
  showBook(book) {
    this.book = book;
    this.chapters = [];
    this.drawn = null;
    this.clear();
  }

  /** Of no book any more: what has the focus still must not be opened. */
  close() {
    this.clear();
    this.book = null;
    this.layers.chapters.replaceChildren();
  }

  /** The book has been read to `share` percent, up to the character `limit`. */
  showRead(share, limit) {
    this.layers.unread.style.left = `${share}%`;
    this.chapters = reached(this.book, limit);
    if (this.chapters.length === this.drawn) return; // a slider on its way passes here with every pixel
    this.drawn = this.chapters.length;
    this.layers.chapters.replaceChildren(
      this.button(0, "The beginning"),
      ...this.book.chapters
        .filter((chapter) => chapter.start > 0)
        .map((chapter) =>
          this.chapters.includes(chapter)
            ? this.button(chapter.start, chapter.title)
            : this.placed(element("i"), chapter.start),
        ),
    );
    this.stopAt(null);
  }

  clear() {
    this.showPlaces([], null);
  }

  /** `passages` as the service gives them, `evidence` the one shown (or null), `others` what supports it, too. */
  showPlaces(passages, evidence, others = []) {
    const scores = passages.map((passage) => passage.score);
    const [least, most] = [Math.min(...scores), Math.max(...scores)];
    this.layers.passages.replaceChildren(
      ...passages.map((passage) => {
        const mark = this.button(passage.start, this.inChapter("Passage", passage), passageMarks(passage));
        mark.style.width = `${(100 * (passage.end - passage.start)) / this.book.characters}%`;
        // The better found, the taller; the least one is seen all the same.
        const share = most > least ? (passage.score - least) / (most - least) : 1;
        mark.style.height = `${45 + 55 * share}%`;
        return mark;
      }),
    );
    this.layers.pin.replaceChildren(
      ...(evidence === null
        ? []
        : [this.button(evidence.start, this.inChapter("The answer", evidence), marksOf(evidence))]),
    );
    this.layers.others.replaceChildren(
      ...others.map((other) =>
        this.button(other.start, this.inChapter("Supports the answer, too", other), marksOf(other)),
      ),
    );
    this.stopAt(this.layers.pin.firstElementChild);
  }

  inChapter(name, { start }) {
    return joined([name, chapterAt(this.chapters, start)], ", ");
  }

  button(start, name, marks = []) {
    const made = element("button", {
      type: "button",
      ariaLabel: `${name}, ${percent(start / this.book.characters)}`,
      onclick: () => this.onOpen({ start }, marks),
      onfocus: () => this.stopAt(made),
    });
    made.dataset.start = start;
    return this.placed(made, start);
  }

  placed(mark, start) {
    mark.style.left = `${(100 * start) / this.book.characters}%`;
    return mark;
  }

  places() {
    return [...this.into.querySelectorAll("button")].sort((a, b) => a.dataset.start - b.dataset.start);
  }

  /** The Tab key stops at `button`, or at the first place where that is null. */
  stopAt(button) {
    const places = this.places();
    const stop = button ?? places.find((place) => place.tabIndex === 0) ?? places[0];
    for (const place of places) place.tabIndex = place === stop ? 0 : -1;
  }

  move(event) {
    const places = this.places();
    const at = places.indexOf(document.activeElement);
    const to = {
      ArrowRight: Math.min(at + 1, places.length - 1),
      ArrowLeft: Math.max(at - 1, 0),
      Home: 0,
      End: places.length - 1,
    }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    places[to].focus();
  }
}
