// The page's address: #book=…&q=…&as=…&read=…&at=…&nth=…, a fragment, which no server gets to see.

import * as memory from "./memory.js";

let followed = location.hash;

/** What the address wants; from here on the page is to show this. */
export function follow() {
  followed = location.hash;
  return wanted();
}

/** Whether the address still says what the page follows: else "hashchange" is on its way. */
export const isFollowed = () => location.hash === followed;

/**
 * The `book` (null where none is named), the question `q`, which was understood `as` another one where it followed
 * others (or null), how much may be `read`, in percent, the place `at` that the book is open at (`{start, end}`, with
 * its `book_id` where several are asked, or null), and which of the answers, counted from 1, is in view (`nth`).
 */
export function wanted() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  return {
    book: fragment.get("book"),
    q: fragment.get("q") ?? "",
    as: fragment.get("as"),
    read: shareIn(fragment.get("read")),
    at: placeIn(fragment.get("at")),
    nth: Number(/^[1-9]$/.exec(fragment.get("nth"))?.[0] ?? 1),
  };
}

/** How much may be read, in percent, said as 40.5 or 40.5%: all if nothing is said, nothing if that is no share. */
function shareIn(said) {
  if (said === null) return 100;
  const share = Number(/^\s*(\d{1,3}(?:\.\d*)?)\s*%?\s*$/.exec(said)?.[1] ?? NaN);
  return share <= 100 ? Math.floor(10 * share) / 10 : 0;
}

/** A place as addresses have it, such as 120-131, or emma:120-131; 120 alone is where one was reading. */
function placeIn(said) {
  const [, book_id, start, end = start] = /^(?:(.+):)?(\d{1,9})(?:-(\d{1,9}))?$/.exec(said ?? "") ?? [];
  return start === undefined ? null : { book_id, start: Number(start), end: Number(end) };
}

const inWords = ({ book_id, start, end }) =>
  `${book_id === undefined ? "" : `${book_id}:`}${start === end ? start : `${start}-${end}`}`;

/** How much of a book may be read: what was said last of it. An address may say less, but not more. */
export function shareOf({ book, read }) {
  const said = memory.readUpTo(book);
  if (said === null && read !== 100) memory.rememberRead(book, read);
  return Math.min(read, said ?? 100);
}

/** The fragment of a place on the page; none where no book is open. */
export function hashOf({ book, q = "", as = null, read = 100, at = null, nth = 1 }) {
  if (book === null) return "";
  const fragment = new URLSearchParams({ book });
  if (q !== "") fragment.set("q", q);
  if (as !== null) fragment.set("as", as);
  if (read !== 100) fragment.set("read", read);
  if (at !== null) fragment.set("at", inWords(at));
  if (nth !== 1) fragment.set("nth", nth);
  return `#${fragment}`;
}

/**
 * Has the address say so without a step in the browser's history; what is kept with this one (conversation.js) stays.
 * Somebody who has gone on meanwhile is left where they went.
 */
export function correct(to) {
  if (!isFollowed()) return;
  window.history.replaceState(window.history.state, "", hashOf(to));
  followed = location.hash;
}
