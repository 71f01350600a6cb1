// Numbers said in words.

const CONFIDENCE = [
  [0.95, "Almost certain"],
  [0.75, "Very likely"],
  [0.5, "Likely"],
  [0.3, "Possible"],
  [0.15, "Unsure"],
  [0, "A guess"],
];

export const confidenceInWords = (confidence) => CONFIDENCE.find(([from]) => confidence >= from)[1];

export const percent = (share) => `${Number((100 * share).toFixed(1))}\u00a0%`;

/** What there is to say of one thing, one behind the other; what is written from right to left keeps to itself. */
export const joined = (parts, between = " · ") => parts.filter(Boolean).map(isolated).join(between);

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

// Or the numbers and names behind it would stand before it. (First strong isolate, pop directional isolate.)
const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);

const bare = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase();

/** Tells of a text whether it holds all the words of `typed`, which may leave out accents and capitals. */
export function finder(typed) {
  const words = bare(typed).split(/\s+/u).filter(Boolean);
  return (text) => {
    const held = bare(text);
    return words.every((word) => held.includes(word));
  };
}

export const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** How long a book is. */
export const lengthInWords = ({ words, chapters }) =>
  joined([count(words, "word"), chapters.length > 0 && count(chapters.length, "chapter")]);

/** The chapters of `book` whose titles may be told up to the character `limit`: their headings have been read. */
export const reached = (book, limit) => book.chapters.filter((chapter) => chapter.heading_end <= limit);

/** How much of `book` has been read, `share` percent or up to the character `limit`. */
export function readInWords(share, book, limit) {
  if (share === 0) return "nothing yet";
  if (share === 100) return "the whole book";
  return joined([percent(share / 100), chapterAt(reached(book, limit), Math.max(0, limit - 1))]);
}

/** The title of the innermost of some chapters (see `reached`) that holds the character `at`, or null. */
export function chapterAt(chapters, at) {
  const holding = chapters.filter((chapter) => chapter.start <= at && at < chapter.end);
  return holding.length === 0 ? null : holding[holding.length - 1].title;
}

/** What stands over an answer, by the verdict on it. */
export const HEADINGS = { answer: "Answer", maybe: "Maybe", none: "The book may not say; the best guess" };
