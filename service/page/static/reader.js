// The whole book, opened at a place; more of it is fetched as one reads on or back.

import * as api from "./api.js";
import { element, languageOf, length, renderText } from "./text.js";
import { chapterAt, percent, reached } from "./words.js";

const PIECE = 8000; // code points that are fetched at once
const NEAR = 900; // pixels from an end at which more is fetched
const SETTLED_MS = 300; // pages that are scrolled pass many places on their way

/** Where `text` may be cut, by its first or last gap ("indexOf" or "lastIndexOf"): between paragraphs, lines, words. */
const cuts = (text, find) => [text[find]("\n\n"), text[find]("\n") + 1, text[find](" ") + 1];

/** The offset at which the line of `paragraph` begins that is `y` pixels from the window's top; null where none is. */
function lineAt(paragraph, y) {
  const box = paragraph.getBoundingClientRect();
  if (box.top >= y) return null;
  const x = getComputedStyle(paragraph).direction === "rtl" ? box.right - 1 : box.left + 1;
  const caret = document.caretPositionFromPoint?.(x, y); // which not every browser has
  if (!caret || !paragraph.contains(caret.offsetNode)) return null;
  const before = document.createRange();
  before.setStart(paragraph, 0);
  before.setEnd(caret.offsetNode, caret.offset);
  return Number(paragraph.dataset.start) + length(before.toString());
}

/**
 * One dialog that shows one book at a time; `onReadHere(book, end)` hears up to which character somebody has read,
 * `onPlace(place)` at which place (`{start, end}`) the book is open, as one goes through it, or null once it is closed.
 */
export class Reader {
  constructor(dialog, { onReadHere, onPlace }) {
    this.dialog = dialog;
    this.pages = dialog.querySelector("#pages");
    this.title = dialog.querySelector("#reader-title");
    this.at = dialog.querySelector("#reader-at");
    this.chapters = dialog.querySelector("#chapter");
    this.onPlace = onPlace;
    this.settling = null; // the timer until which one may go on scrolling
    dialog.addEventListener("close", () => dialog.open || onPlace(null));
    this.opened = 0; // counts openings: what was fetched for an earlier one is dropped
    this.pages.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.chapters.addEventListener("change", () => this.leafTo(Number(this.chapters.value)));
    this.pages.addEventListener("keydown", (event) => this.turn(event));
    dialog.querySelector("#read-here").addEventListener("click", () => {
      if (this.first === null) return; // nothing of the book is there to have been read
      const end = this.seen("bottom");
      const last = [...this.pages.querySelectorAll("p[data-end]")].at(-1);
      // Behind the last paragraph there may be blank lines.
      onReadHere(this.book, this.last >= this.limit && end === Number(last?.dataset.end) ? this.limit : end);
      dialog.close();
    });
  }

  /** Opens `book` at `place.start` with `marks` in it; nothing from `limit` on is shown. */
  async open(book, place, marks, limit) {
    this.book = book;
    this.limit = limit;
    this.marks = marks;
    this.title.textContent = book.title;
    this.pages.lang = languageOf(book);
    this.reached = reached(book, limit);
    this.chapters.hidden = this.reached.length === 0;
    this.chapters.replaceChildren(
      ...this.reached.map((chapter) => element("option", { value: chapter.start, dir: "auto" }, chapter.title)),
    );
    if (!this.dialog.open) this.dialog.showModal();
    try {
      const at = Math.min(place.start, Math.max(0, limit - 1));
      if (!(await this.goTo(at))) return;
      this.onPlace(marks.find((mark) => mark.tag === "mark") ?? marks[0] ?? { start: at, end: at });
    } catch (error) {
      this.close(); // it would hide where the page says what went wrong
      throw error;
    }
  }

  /** Closes the book; what is still fetched of it is dropped. */
  close() {
    this.opened += 1;
    this.dialog.close();
  }

  /** Goes on to the character `at` of the open book; what goes wrong is said below the pages. */
  async leafTo(at) {
    try {
      if (await this.goTo(at)) this.onPlace({ start: at, end: at });
    } catch (error) {
      this.at.textContent = error.message;
    }
  }

  /** Shows the book from around the character `at`, which is scrolled to; resolves to whether it is shown. */
  async goTo(at) {
    this.opened += 1;
    this.arrived = null;
    this.busy = this.first = this.last = null;
    this.pages.replaceChildren();
    this.at.textContent = "Fetching the text …";
    const piece = await this.piece(at - PIECE / 2, at + PIECE);
    if (piece === null) return false;
    this.pages.append(piece.element);
    [this.first, this.last] = [piece.start, piece.end];
    this.closeAtLimit();
    const marked = this.marks.some((mark) => mark.start <= at && at < mark.end);
    const target = marked
      ? (this.pages.querySelector("mark") ?? this.pages.querySelector(".sentence"))
      : [...this.pages.querySelectorAll("p")].find((p) => Number(p.dataset.end) > at);
    target?.scrollIntoView({ block: marked ? "center" : "start" });
    this.pages.focus({ preventScroll: true });
    this.arrived = marked ? null : { at: Number(target?.dataset.start ?? at), scrolled: this.pages.scrollTop };
    this.settled = this.pages.scrollTop;
    this.showPlace();
    return true;
  }

  /**
   * The text between two offsets as an element, or null where the book has been opened anew meanwhile.
   *
   * An end that is no known one (`this.first`, `this.last`, those of the book) is moved to the nearest
   * gap between paragraphs inside, so that none is torn in two; or words, where paragraphs are longer.
   */
  async piece(from, to) {
    const opened = this.opened;
    let start = Math.max(0, from);
    let text;
    try {
      text = await api.text(this.book.id, start, Math.min(this.limit, to));
    } catch (error) {
      if (opened === this.opened) throw error;
    }
    if (opened !== this.opened) return null;
    if (start > 0 && from !== this.last) {
      const cut = cuts(text, "indexOf").find((one) => one > 0 && one < text.length / 3) ?? 0;
      start += length(text.slice(0, cut));
      text = text.slice(cut);
    }
    if (to < this.limit && to !== this.first) {
      text = text.slice(0, cuts(text, "lastIndexOf").find((one) => one > text.length / 2));
    }
    const made = element("div");
    renderText(made, text, start, this.marks);
    return { element: made, start, end: start + length(text) };
  }

  async later() {
    const piece = await this.piece(this.last, this.last + PIECE);
    if (piece === null) return;
    this.pages.append(piece.element);
    this.last = piece.end;
    this.closeAtLimit();
  }

  async earlier() {
    const piece = await this.piece(this.first - PIECE, this.first);
    if (piece === null) return;
    const { scrollHeight, scrollTop } = this.pages;
    this.pages.prepend(piece.element);
    this.pages.scrollTop = scrollTop + this.pages.scrollHeight - scrollHeight;
    this.settled += this.pages.scrollTop - scrollTop;
    this.first = piece.start;
  }

  closeAtLimit() {
    if (this.last >= this.limit && this.limit < this.book.characters) {
      this.pages.append(element("p", { className: "limit quiet" }, "You have read up to here."));
    }
  }

  async scrolled() {
    if (this.first === null) return; // nothing is shown, but perhaps why
    this.showPlace();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), SETTLED_MS);
    if (this.busy !== null) return;
    const { scrollTop, scrollHeight, clientHeight } = this.pages;
    const more =
      scrollTop < NEAR && this.first > 0
        ? this.earlier()
        : scrollHeight - scrollTop - clientHeight < NEAR && this.last < this.limit
          ? this.later()
          : null;
    if (more === null) return;
    this.busy = more;
    try {
      await more;
    } catch (error) {
      this.at.textContent = error.message;
    } finally {
      if (this.busy === more) this.busy = null;
    }
  }

  /** One has scrolled to where one is now, unless the book was only moved there by what was fetched before it. */
  settle() {
    if (!this.dialog.open || this.first === null || this.pages.scrollTop === this.settled) return;
    this.settled = this.pages.scrollTop;
    const at = this.place();
    this.onPlace({ start: at, end: at });
  }

  /** To the chapters before and behind with the arrow keys, to both ends with Home and End. */
  turn(event) {
    // With Shift they select more or less, with the others they are the browser's.
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const at = this.place();
    const starts = [0, ...this.book.chapters.map((chapter) => chapter.start)].filter((start) => start < this.limit);
    const to = {
      ArrowRight: starts.find((start) => start > at),
      ArrowLeft: starts.findLast((start) => start < at),
      Home: 0,
      End: this.limit - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.leafTo(to);
  }

  /** The offset of the first character in view, or of the last one (`edge` "top" or "bottom"). */
  seen(edge) {
    const box = this.pages.getBoundingClientRect();
    const inView = [...this.pages.querySelectorAll("p[data-start]")].filter((p) => {
      const own = p.getBoundingClientRect();
      return edge === "top" ? own.bottom > box.top + 8 : own.bottom <= box.bottom + 4;
    });
    if (edge === "top") return Number((inView[0] ?? this.pages.querySelector("p"))?.dataset.start ?? this.first);
    const all = [...this.pages.querySelectorAll("p[data-start]")];
    const cut = all[all.indexOf(inView.at(-1)) + 1]; // the first paragraph that does not end in view
    return (cut && lineAt(cut, box.bottom - 1)) ?? Number(inView.at(-1)?.dataset.end ?? this.first);
  }

  /** Where one is: what was gone to, which the end of a book may not let scroll to the top, or the first in view. */
  place() {
    return this.arrived?.scrolled === this.pages.scrollTop ? this.arrived.at : this.seen("top");
  }

  showPlace() {
    const at = this.place();
    this.at.textContent = percent(at / this.book.characters);
    const title = chapterAt(this.reached, at);
    const here = this.reached.findLast((chapter) => chapter.title === title && chapter.start <= at);
    if (here !== undefined) this.chapters.value = String(here.start);
  }
}
