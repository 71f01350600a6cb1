// What the browser remembers between visits; where storage is switched off, nothing.

const MOST_ASKED = 30;

export function remembered(name) {
  try {
    return JSON.parse(localStorage.getItem(`storyqa.${name}`));
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`storyqa.${name}`, JSON.stringify(value));
  } catch {
    // Full or switched off: the page works without.
  }
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
