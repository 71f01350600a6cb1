// What went wrong, in words for readers: the service's own are for programs and for those who run it.

const TELL = "tell whoever runs this service";

// By the last part of a problem's type. What is not here is said by its status, or in the service's words.
const WORDS = {
  "unknown-book": "This book is not here, or not any more.",
  "unknown-shelf": "This shelf is not here, or not any more.",
  "no-book": "There is no book here to ask.",
  "no-cover": "This book has no cover.",
  "unknown-job": "The service does not know of this book any more; look for it among the books.",
  "unknown-character": "Nobody is called so up to here, or several people are.",
  "missing-extra": `The service cannot find names in books; ${TELL}.`,
  "unknown-name": `The service is set to answer in a way that it does not know; ${TELL}.`,
  "needs-references": `The service is set to answer in a way that no question can be answered; ${TELL}.`,
  "book-there": "A book of this name is here already. To have both, rename the file and add it again.",
  "book-busy": "This book is being read just now. Remove it when that is done.",
  "broken-index-or-model": `What the service keeps of this book, or of its models, is damaged. Add the book again, or ${TELL}.`,
  "model-endpoint": `The model that answers cannot be reached. Try again later, or ${TELL}.`,
  "store-unreachable": `The service cannot reach its books. Try again later, or ${TELL}.`,
  overtaken: "Somebody else has changed this at the same time. Try again.",
  "deadline-passed": "The answer took too long. Try again in a minute.",
  "overloaded": "The service is busy. Try again in a minute.",
  "replica-lost": "The answer was cut off. Try again.",
  "not-ready": "The service is still starting. Try again in a moment.",
  "too-often": "That was too often for one key. Wait a minute, then try again.",
  "too-many-jobs": "Many books wait to be read already. Add this one later.",
  "too-slow": "The file came too slowly. Try again where the connection is better.",
  "media-type": "Only EPUB, PDF, DOCX, ODT, RTF, FB2, MOBI/AZW3, Markdown, HTML and plain text can be read.",
  "no-room": `The service's disk is full; ${TELL}.`,
  "no-state": `The service cannot write to its disk; ${TELL}.`,
};

// The same refusal means another thing to somebody who has shown a key.
const KEYLESS = {
  key: "Ask whoever runs this service for one.",
  "not-allowed": "Without keys this service answers its own machine alone. Ask whoever runs it for a key.",
};
const KEYED = {
  key: "That key is unknown, or was revoked.",
  "not-allowed": "Your key is for asking and reading; books are added and removed with another.",
};

const size = (bytes) => (bytes >= 2 ** 20 ? `${Math.floor(bytes / 2 ** 20)} MB` : `${Math.floor(bytes / 2 ** 10)} kB`);
const tooLarge = (most) =>
  `This is larger than the service takes${most === undefined ? "" : `, which is at most ${size(most)}`}.`;

const TRY_AGAIN = new Set([0, 401, 408, 429]);

/** `status` is the HTTP status, 0 where the service was not reached at all; `near` are ids of books. */
export class Problem extends Error {
  constructor(status, message, kind = null, near = []) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.near = near;
  }

  /** Whether the same may go well another time. */
  get passes() {
    return TRY_AGAIN.has(this.status) || this.status >= 500;
  }
}

/** The problem that a `status` and a problem document (or null) tell of; `keyed` where a key was shown. */
export function problemOf(status, content, keyed) {
  const kind = content?.type?.replace("urn:storyqa:problem:", "") ?? null;
  const words = WORDS[kind] ?? (keyed ? KEYED : KEYLESS)[kind] ?? byStatus(status, content);
  return new Problem(status, words, kind, content?.near ?? []);
}

function byStatus(status, content) {
  const detail = content?.detail;
  if (status === 413) return tooLarge(content?.most_bytes); // a proxy's refusal has no document
  if (status === 503) return "The service cannot do this just now. Try again later.";
  if (status >= 500 || detail === undefined) return `Something went wrong in the service (status ${status}); ${TELL}.`;
  return detail;
}
