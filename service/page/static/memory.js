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

const isShare = (share) => Number.isInteger(share) && share >= 0 && share <= 100;

/** How much of a book has been read, in percent; null where nobody has said so. */
export function readUpTo(book) {
  const share = remembered("read")?.[book];
  return isShare(share) ? share : null;
}

export function rememberRead(book, share) {
  remember("read", { ...remembered("read"), [book]: share });
}

/** The questions asked, last first: `{book, title, question, read, answer}`. */
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
