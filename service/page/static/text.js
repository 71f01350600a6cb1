// The book's text on the page. Offsets are Unicode code points, as the service counts them.

/** An element with a class, attributes that are no markup, and children (strings become text). */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

/** In which language `book` is to be read out and hyphenated: as its file says, else as the page. */
export const languageOf = (book) => book.language ?? document.documentElement.lang;

const BLANK_LINES = /\n[ \t]*(?:\n[ \t]*)+/gu;
// Lines of prose that were broken to fit a page may flow again; those of verse and of plays may not, nor may lines that
// are longer than a page is wide, which are paragraphs, nor those of scripts that put no spaces between words.
const LONGEST_VERSE = 46;
const LONGEST_BROKEN = 160;
const UNSPACED = /[\p{sc=Hani}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]\P{L}*\n/u;

function keepsLines(paragraph) {
  const lengths = paragraph.trim().split("\n").map((line) => line.trim().length);
  if (lengths.length === 1) return false;
  const mean = lengths.slice(0, -1).reduce((sum, one) => sum + one, 0) / (lengths.length - 1);
  return mean < LONGEST_VERSE || Math.max(...lengths) > LONGEST_BROKEN || UNSPACED.test(paragraph);
}

/** How many code points `text` has. */
export const length = (text) => {
  let points = 0;
  for (const _ of text) points += 1;
  return points;
};

/**
 * Puts `text`, which begins at the offset `start` of its book, into `into` as paragraphs.
 *
 * `marks` are `{start, end, tag, className}`, offsets into the book, the wider ones first: every piece
 * of text that lies in one becomes such an element with `data-start` and `data-end`.
 */
export function renderText(into, text, start, marks = []) {
  let at = start;
  let from = 0;
  const add = (paragraph) => {
    if (paragraph.trim() !== "") into.append(rendered(paragraph, at, marks));
    at += length(paragraph);
  };
  for (const gap of text.matchAll(BLANK_LINES)) {
    add(text.slice(from, gap.index));
    at += length(gap[0]);
    from = gap.index + gap[0].length;
  }
  add(text.slice(from));
}

function rendered(paragraph, start, marks) {
  const points = Array.from(paragraph);
  const end = start + points.length;
  const p = element("p", { dir: "auto" });
  if (keepsLines(paragraph)) p.className = "lines";
  p.dataset.start = start;
  p.dataset.end = end;
  fill(p, points, start, start, end, marks.filter((mark) => mark.start < end && start < mark.end));
  return p;
}

/** The code points from `from` to `to` into `parent`, those inside the first of `marks` inside its element. */
function fill(parent, points, start, from, to, marks) {
  const [mark, ...inner] = marks;
  const first = mark && Math.max(from, mark.start);
  const last = mark && Math.min(to, mark.end);
  if (mark === undefined || first >= last) {
    if (inner.length > 0) fill(parent, points, start, from, to, inner);
    else if (from < to) parent.append(points.slice(from - start, to - start).join(""));
    return;
  }
  fill(parent, points, start, from, first, inner);
  const inside = element(mark.tag, { className: mark.className ?? "" });
  inside.dataset.start = first;
  inside.dataset.end = last;
  fill(inside, points, start, first, last, inner);
  parent.append(inside);
  fill(parent, points, start, last, to, inner);
}
