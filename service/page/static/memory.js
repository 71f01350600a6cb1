// What the browser remembers between visits; where storage is switched off, until the page is closed.

const MOST_ASKED = 30;

const forThisVisit = new Map();

export function remembered(name) {
  try {
    return forThisVisit.get(name) ?? JSON.parse(localStorage.getItem(`storyqa.${name}`));
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`storyqa.${name}`, JSON.stringify(value));
    forThisVisit.delete(name);
  } catch {
    forThisVisit.set(name, value); // full or switched off
  }
}

const isShare = (share) => Number.isFinite(share) && share >= 0 && share <= 100;

/** How much of each book has been read, in percent by id; of those of which somebody has said so. */
export function shares() {
  return Object.fromEntries(Object.entries(remembered("read") ?? {}).filter(([, share]) => isShare(share)));
}

/** How much of a book has been read, in percent; null where nobody has said so. */
export const readUpTo = (book) => shares()[book] ?? null;

/** Whether what was asked before was answered from further on than has been read, and may tell what lies ahead. */
export function isFromFurtherOn({ book, read, limits = { [book]: read } }) {
  const said = shares();
  return Object.entries(limits).some(([id, share]) => share > (said[id] ?? 100));
}

/** What is asked where a question is asked again: without those that it followed, as it was understood after them. */
export const questionOf = (asked) => (isFromFurtherOn(asked) ? asked.question : (asked.rewritten ?? asked.question));

/** `hear(ids)` hears of which books another tab has said how much has been read. */
export function whenReadElsewhere(hear) {
  addEventListener("storage", ({ key, oldValue, newValue }) => {
    if (key !== "storyqa.read") return;
    const [before, now] = [oldValue, newValue].map((said) => JSON.parse(said) ?? {});
    hear(Object.keys({ ...before, ...now }).filter((id) => before[id] !== now[id]));
  });
}

export function rememberRead(book, share) {
  remember("read", { ...remembered("read"), [book]: share });
}

/**
 * The questions asked, last first: `{book, title, question, read, answer}`, and `rewritten`, as which one that followed
 * others was understood; of several books `book` is as what they were asked, and in place of `read` there are the
 * `limits` of those that passages were read of, in percent by id.
 */
export function asked() {
  const list = remembered("asked");
  return Array.isArray(list) ? list : [];
}

export function rememberAsked(one) {
  const others = asked().filter(
    (other) => other.book !== one.book || other.question !== one.question || other.read !== one.read,
  );
  remember("asked", [one, ...others].slice(0, MOST_ASKED));
}

export function forgetAsked() {
  remember("asked", []);
}
