// What is asked: one book, or several at once, each as far as it has been read.

import * as api from "./api.js";
import * as memory from "./memory.js";
import { Problem } from "./problems.js";

export const EVERY_BOOK = "*";
const SHELF = "shelf:";
const MOST_FETCHED = 100; // books one by one; for more than that all are listed at once
const MOST_NAMED = 3; // books in a title; of more, the last ones are counted

/** What a shelf is asked by. */
export const idOfShelf = (name) => `${SHELF}${name}`;

const isOneBook = (id) => id !== EVERY_BOOK && !id.startsWith(SHELF) && !id.includes(",");

// Shares are percents with at most one decimal: of a long novel a hundredth is a dozen pages.

/** The character up to which `book` may be shown where `share` percent of it have been read, as the service rounds it. */
export const limitOf = (book, share) => Math.floor((Math.round(10 * share) * book.characters) / 1000);

/** The largest share of `book` whose limit is no later than `end`. */
export const shareAt = (book, end) => Math.min(100, Math.floor((1000 * end + 999) / book.characters) / 10);

/** How `books` are called together. */
export function titleOf(books) {
  const shown = books.length > MOST_NAMED ? books.slice(0, MOST_NAMED - 1) : books;
  const titles = shown.map((book) => book.title);
  const last = shown.length < books.length ? `${books.length - shown.length} more` : titles.pop();
  return [titles.join(", "), last].filter(Boolean).join(" and ");
}

/**
 * `books` that are asked as `id`, which is a book's, `shelf:NAME`, `*`, or several with commas between them.
 *
 * Books are as GET /books/{id} gives them; of many, as GET /books does, without their chapters.
 */
export class Scope {
  constructor(id, title, books) {
    this.id = id;
    this.title = title;
    this.books = books;
    this.isOne = isOneBook(id);
    this.byId = new Map(books.map((book) => [book.id, book]));
  }

  /** How many words they have together. */
  get words() {
    return this.books.reduce((sum, book) => sum + book.words, 0);
  }

  /** The chapters of one book; several have none together. */
  get chapters() {
    return this.isOne ? this.books[0].chapters : [];
  }

  /** The book that a place is in. */
  bookOf(place) {
    return this.isOne ? this.books[0] : this.byId.get(place.book_id);
  }

  /** `place` (`{start, end}`) of `book`, or null, as the address has it. */
  placeOf(place, book) {
    return this.isOne || place === null ? place : { ...place, book_id: book.id };
  }

  /** Whether a place that the address has is in one of these books. */
  has({ book_id }) {
    return this.isOne ? book_id === undefined : this.byId.has(book_id);
  }

  /** Whether what came is of these books as they were found: else one was replaced, or another was added. */
  isOf(places, versions) {
    return this.isOne
      ? versions.index === this.books[0].version
      : places.every((place) => this.byId.has(place.book_id));
  }

  /** How much of each book has been read, in percent by id, as was said last. */
  limits() {
    const said = memory.shares();
    return Object.fromEntries(this.books.map(({ id }) => [id, said[id] ?? 100]));
  }

  /** What the history needs to tell later whether an answer from `passages` and up to `limits` may be seen. */
  readOf(passages, limits) {
    if (this.isOne) return { read: limits[this.id] };
    return { limits: Object.fromEntries(passages.map(({ book_id }) => [book_id, limits[book_id]])) };
  }

  /** As what the others are asked once the book `id` is gone; null where there are none. */
  without(id) {
    const others = this.books.map((book) => book.id).filter((one) => one !== id);
    return others.length === 0 ? null : this.id.includes(",") ? others.join(",") : this.id;
  }

  /** What a question to these books says of them; `limits` as above. */
  asked(limits) {
    const limited = Object.entries(limits)
      .filter(([, share]) => share !== 100)
      .map(([id, share]) => [id, `${share}%`]);
    const book_id = this.id.includes(",") ? this.books.map((book) => book.id) : this.id;
    if (limited.length === 0) return { book_id };
    return { book_id, before: this.isOne ? limited[0][1] : Object.fromEntries(limited) };
  }
}

/** Resolves to the scope `id`, of books as they are now. */
export async function open(id) {
  if (isOneBook(id)) {
    const book = await api.book(id);
    return new Scope(id, book.title, [book]);
  }
  const shelf = id.startsWith(SHELF) ? await api.shelf(id.slice(SHELF.length)) : null;
  const named = shelf?.books ?? (id === EVERY_BOOK ? null : id.split(",").filter(Boolean));
  const books = named === null ? await api.everyBook() : await present([...new Set(named)]);
  if (books.length === 0) throw new Problem(404, "There is no book here to ask.", "no-book");
  // A shelf may name books that are gone; who has named them one by one is to know of it.
  if (shelf === null && named !== null && books.length < new Set(named).size) {
    const there = new Set(books.map((book) => book.id));
    await api.book(named.find((one) => !there.has(one)));
  }
  return new Scope(id, shelf?.title ?? (id === EVERY_BOOK ? "All books" : titleOf(books)), books);
}

/** Those of the books `ids` that are there, in that order. */
async function present(ids) {
  if (ids.length > MOST_FETCHED) {
    const all = new Map((await api.everyBook()).map((book) => [book.id, book]));
    return ids.filter((id) => all.has(id)).map((id) => all.get(id));
  }
  // One whose files are damaged (500) keeps nobody from the others.
  const gone = (error) => {
    if ([404, 422, 500].includes(error.status)) return null;
    throw error;
  };
  return (await Promise.all(ids.map((id) => api.book(id).catch(gone)))).filter((book) => book !== null);
}
