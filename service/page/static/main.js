// The page: which book, which question, how far one has read; what is asked is kept in the address.

import { correct, hashOf, shareOf, wanted } from "./address.js";
import * as api from "./api.js";
import { ask } from "./asking.js";
import { offerColours } from "./colours.js";
import { Cover } from "./cover.js";
import { Errors } from "./errors.js";
import { History } from "./history.js";
import { offerKey } from "./key.js";
import { Conversation, LanguageModels } from "./language_models.js";
import { Library, acceptDrops } from "./library.js";
import * as memory from "./memory.js";
import { Overviews } from "./overviews.js";
import { Reader } from "./reader.js";
import { Sample, suggest } from "./start.js";
import { Strip } from "./strip.js";
import { count, lengthInWords, readInWords } from "./words.js";

const SETTLED_MS = 300; // a slider that is moved with keys passes many places on its way

const at = (id) => document.getElementById(id);
const question = at("question");
const read = at("read");
const answerBox = at("answer");

let book = null; // as GET /books/{id} gives it
let asked = ""; // the question that the address had last
let asking = null; // aborts the question in hand
let sample = null; // the sample story, once the service has said what may be asked of it

// How far one has read: an offset into the book, as the service rounds it.
const limit = () => (read.value === "100" ? book.characters : Math.floor((read.value * book.characters) / 100));

const openInBook = (place, marks) => attempt(() => reader.open(book, place, marks, limit()));
const cover = new Cover(at("cover"));
const strip = new Strip(at("strip"), openInBook);
const overviews = new Overviews(at("overviews"), openInBook);
const reader = new Reader(at("reader"), (end) => {
  readUpTo(Math.floor((100 * end + 99) / book.characters)); // the most whose limit, rounded down, is no later
  move({ book: book.id, q: wanted().q, read: Number(read.value) });
});
const library = new Library(
  at("library"),
  (id) => go({ book: id }),
  () => book === null && showStart(),
  (id) => book?.id === id && go({ book: null }),
);
const history = new History(
  at("history"),
  (asked) => go({ book: asked.book, q: asked.question, read: asked.read }),
  () => question.focus(),
);

const conversation = new Conversation();
const models = new LanguageModels(at("answering"), () => {
  if (book !== null && wanted().q !== "") attempt(follow);
});

const errors = new Errors(at("error"), async (error) => {
  at("status").textContent = "";
  if (error.kind === "unknown-book") {
    clearBook();
    await library.load().catch(() => {}); // then the list stays as it was
  }
  if (book === null) showStart();
  const title = (id) => library.title(id) ?? id;
  return new Map((error.near ?? []).map((id) => [title(id), () => go({ book: id, q: wanted().q })]));
});
const attempt = (action) => errors.attempt(action);

// Where one is.

function go(to) {
  const hash = hashOf(to);
  if (location.hash === hash) attempt(follow);
  else location.hash = hash; // and "hashchange" follows
}

/** The same without a step in the browser's history. */
function move(to) {
  correct(to);
  attempt(follow);
}

/** Makes the page show what the address says. */
async function follow() {
  const to = wanted();
  const { book: id, q } = to;
  asking?.abort();
  if (book?.id !== id) clearBook();
  if (id === null) return showStart();
  const isNew = book === null;
  if (isNew) {
    at("status").textContent = "Opening the book …";
    const found = await api.book(id);
    if (wanted().book !== id) return; // somebody has gone on to another meanwhile
    showBook(found);
  }
  const share = shareOf(to);
  correct({ ...to, read: share });
  read.value = share;
  showRead();
  showHistory();
  showSuggestions();
  if (isNew || q !== asked) question.value = q; // else what is being typed would go with the slider's next move
  asked = q;
  document.title = q === "" ? `${book.title} · storyqa` : `${q} · ${book.title}`;
  clearAnswer();
  if (to.at !== null) await openInBook(to.at, [{ ...to.at, tag: "mark" }]);
  else if (q !== "") await askBook(q, share);
  else if (isNew) question.focus();
}

/** Questions to begin with, which may tell what happens: of the sample, to those who may know all of it. */
function showSuggestions() {
  const { q } = wanted();
  at("suggestions").hidden = book === null || book.id !== sample?.about.book_id || q !== "" || read.value !== "100";
}

function clearAnswer() {
  at("status").textContent = "";
  answerBox.removeAttribute("aria-busy");
  answerBox.replaceChildren();
  strip.clear();
}

/** What was asked of this book, or of all where none is open. */
const showHistory = () => history.show(book?.id ?? null);

/** Nothing of a book stays in sight: the next one may be there or not. */
function clearBook() {
  clearTimeout(settling);
  asking?.abort();
  if (book !== null) clearAnswer();
  book = null;
  cover.show(null);
  overviews.at(null, 0);
  conversation.clear();
  question.value = "";
  document.title = "storyqa";
  at("book-title").textContent = "Choose a book";
  at("book-title").title = "";
  at("book-about").textContent = at("versions").textContent = "";
  at("ask").hidden = at("start").hidden = at("suggestions").hidden = true;
}

function showStart() {
  at("start").hidden = false;
  const books = library.books.length;
  at("book-about").textContent = books === 0 ? "There are no books yet." : `${count(books, "book")} to ask.`;
}

function showBook(found) {
  book = found;
  at("start").hidden = true;
  at("ask").hidden = false;
  memory.remember("book", book.id);
  at("book-title").textContent = at("book-title").title = book.title;
  at("book-about").textContent = lengthInWords(book);
  cover.show(book);
  strip.showBook(book);
}

// Asking.

async function askBook(q, share) {
  asking = new AbortController();
  const { signal } = asking;
  const of = book;
  const [into, status] = [answerBox, at("status")];
  into.setAttribute("aria-busy", "true");
  try {
    const said = models.areAsked ? conversation.before(q, share) : [];
    const how = { reader: models.chosen, conversation: said, read: share, limit: limit() };
    const given = { book: of, question: q, ...how, signal, into, strip, status };
    const answer = await ask({ ...given, onOpen: openInBook });
    if (answer === null) {
      book = null; // it was replaced: its length and its chapters are others now
      await attempt(follow);
      return;
    }
    at("versions").textContent = `Answered in ${(answer.timings_ms.total / 1000).toFixed(2)} s by ${
      answer.versions.reader
    }, from passages found by ${answer.versions.retriever}.`;
    if (models.areAsked) conversation.add(q, share, answer);
    memory.rememberAsked({ book: of.id, title: of.title, question: q, read: share, answer: answer.answer });
    showHistory();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (!signal.aborted) into.removeAttribute("aria-busy");
  }
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const q = question.value.trim();
  if (q !== "") go({ book: book.id, q, read: Number(read.value) });
});

// How far one has read.

function showRead() {
  const share = Number(read.value);
  const said = readInWords(share, book.chapters, limit());
  at("read-about").textContent = said;
  read.setAttribute("aria-valuetext", said);
  strip.showRead(share / 100);
  overviews.at(book, limit());
}

let settling = null;

/** One has read up to here: kept, and what may be from further on is gone at once. */
function readUpTo(share) {
  memory.rememberRead(book.id, share);
  read.value = share;
  showRead();
  asking?.abort();
  clearAnswer();
  showHistory();
}

read.addEventListener("input", showRead);
read.addEventListener("change", () => {
  readUpTo(Number(read.value));
  clearTimeout(settling);
  settling = setTimeout(
    () => move({ book: book.id, q: wanted().q, read: Number(read.value) }),
    SETTLED_MS,
  );
});

// What lies around.

// A fragment of its own would take the place of the question's in the address.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  answerBox.focus();
});

for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}

at("book").addEventListener("click", () => library.open());
at("choose").addEventListener("click", () => library.file.click());

// The beginning.

addEventListener("hashchange", () => attempt(follow));
acceptDrops(library, at("dropping"));
offerColours(at("theme"));
offerKey(at("key"));
showHistory();
clearBook();

attempt(async () => {
  await library.load();
  await models.load();
  const last = memory.remembered("book");
  const id = library.title(last) !== null || library.books.length !== 1 ? last : library.books[0].id;
  if (wanted().book === null && library.title(id) !== null) move({ book: id });
  else await follow();
});

api.sample().then((about) => {
  sample = new Sample(about, library, go);
  sample.show(at("sample"), attempt);
  suggest(at("suggestions"), about.questions, (q) => go({ book: about.book_id, q, read: Number(read.value) }));
  showSuggestions();
}, console.error);
