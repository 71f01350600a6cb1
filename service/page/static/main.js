// The page: which book, which question, how far one has read; what is asked is kept in the address.

import { showAnswer } from "./answer.js";
import * as api from "./api.js";
import { offerColours } from "./colours.js";
import { offerKey } from "./key.js";
import { Library, acceptDrops } from "./library.js";
import * as memory from "./memory.js";
import { Reader } from "./reader.js";
import { Strip } from "./strip.js";
import { element } from "./text.js";
import { chapterAt, confidenceInWords, count, percent } from "./words.js";

const CANDIDATES = 5;
const SETTLED_MS = 300; // a slider that is moved with keys passes many places on its way

const at = (id) => document.getElementById(id);
const question = at("question");
const read = at("read");
const answerBox = at("answer");

let book = null; // as GET /books/{id} gives it
let asking = null; // aborts the question in hand

// How far one has read: an offset into the book, as the service rounds it.
const limit = () => (read.value === "100" ? book.characters : Math.floor((read.value * book.characters) / 100));

const openInBook = (place, marks) => attempt(() => reader.open(book, place, marks, limit()));
const strip = new Strip(at("strip"), (share) =>
  openInBook({ start: Math.floor(share * book.characters) }, []),
);
const reader = new Reader(at("reader"), (share) =>
  move({ book: book.id, q: wanted().q, read: Math.max(1, Math.floor(100 * share)) }),
);
const library = new Library(at("library"), (id) => go({ book: id }));

// Errors: one place, one sentence, and the chance to try again.

let again = null;

function showError(error) {
  at("status").textContent = "";
  const box = at("error");
  box.hidden = error === null;
  if (error !== null) box.querySelector("p").textContent = error.message;
}

async function attempt(action) {
  again = action;
  showError(null);
  try {
    await action();
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof api.Problem)) console.error(error);
    showError(error);
  }
}

at("retry").addEventListener("click", () => attempt(again));

// The address: #book=…&q=…&read=…, a fragment, which no server gets to see.

function wanted() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const share = Number(fragment.get("read"));
  return {
    book: fragment.get("book"),
    q: fragment.get("q") ?? "",
    read: share >= 1 && share <= 100 ? Math.floor(share) : 100,
  };
}

function hashOf({ book: id, q = "", read: share = 100 }) {
  const fragment = new URLSearchParams({ book: id });
  if (q !== "") fragment.set("q", q);
  if (share !== 100) fragment.set("read", share);
  return `#${fragment}`;
}

function go(to) {
  const hash = hashOf(to);
  if (location.hash === hash) attempt(follow);
  else location.hash = hash; // and "hashchange" follows
}

/** The same without a step in the browser's history. */
function move(to) {
  history.replaceState(null, "", hashOf(to));
  attempt(follow);
}

/** Makes the page show what the address says. */
async function follow() {
  const { book: id, q, read: share } = wanted();
  asking?.abort();
  if (id === null) return;
  if (book?.id !== id) {
    const found = await api.book(id);
    if (wanted().book !== id) return; // somebody has gone on to another meanwhile
    showBook(found);
  }
  read.value = share;
  showRead();
  question.value = q;
  document.title = q === "" ? `${book.title} · storyqa` : `${q} · ${book.title}`;
  answerBox.replaceChildren();
  strip.clear();
  if (q === "") question.focus();
  else await ask(q, share);
}

function showBook(found) {
  book = found;
  memory.remember("book", book.id);
  at("book-title").textContent = book.title;
  at("book-about").textContent = [
    count(book.words, "word"),
    book.chapters.length > 0 && count(book.chapters.length, "chapter"),
  ]
    .filter(Boolean)
    .join(" · ");
  strip.showBook(book);
  question.disabled = at("submit").disabled = read.disabled = false;
}

// Asking.

async function ask(q, share) {
  asking = new AbortController();
  const { signal } = asking;
  const status = at("status");
  const of = book;
  status.textContent = "Reading …";
  answerBox.setAttribute("aria-busy", "true");
  try {
    const request = { book_id: of.id, question: q, n_best: CANDIDATES };
    if (share !== 100) request.before = `${share}%`;
    const answer = await api.answer(request, {
      signal,
      onWait: (seconds) => (status.textContent = `The service is busy; asking again in ${seconds} s.`),
    });
    await showAnswer(answerBox, {
      book: of,
      answer,
      limit: limit(),
      onShow: (evidence) => strip.showAnswer(answer.passages, evidence),
      onOpen: openInBook,
    });
    if (signal.aborted) return;
    status.textContent =
      answer.candidates.length === 0
        ? ""
        : `${answer.answerable ? "Answer" : "The book may not say; the best guess"}: ${answer.answer}. ` +
          `${confidenceInWords(answer.confidence)}.`;
    at("versions").textContent = `Answered in ${(answer.timings_ms.total / 1000).toFixed(2)} s by ${
      answer.versions.reader
    }, from passages found by ${answer.versions.retriever}.`;
    memory.rememberAsked({ book: of.id, title: of.title, question: q, read: share, answer: answer.answer });
    showHistory();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (!signal.aborted) answerBox.removeAttribute("aria-busy");
  }
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const q = question.value.trim();
  if (book === null) library.open();
  else if (q !== "") go({ book: book.id, q, read: Number(read.value) });
});

// How far one has read.

function showRead() {
  const share = Number(read.value);
  const chapter = book && chapterAt(book.chapters, Math.max(0, limit() - 1));
  const said = share === 100 ? "the whole book" : [percent(share / 100), chapter].filter(Boolean).join(" · ");
  at("read-about").textContent = said;
  read.setAttribute("aria-valuetext", said);
  strip.showRead(share / 100);
}

let settling = null;

read.addEventListener("input", showRead);
read.addEventListener("change", () => {
  // An answer from what has not been read yet must not stay in sight.
  clearTimeout(settling);
  settling = setTimeout(
    () => move({ book: book.id, q: wanted().q, read: Number(read.value) }),
    SETTLED_MS,
  );
});

// What has been asked before.

function showHistory() {
  const asked = memory.asked();
  at("history").hidden = asked.length === 0;
  at("asked").replaceChildren(
    ...asked.map((one) =>
      element(
        "li",
        {},
        element(
          "button",
          { type: "button", onclick: () => go({ book: one.book, q: one.question, read: one.read }) },
          element("span", { className: "text" }, one.question),
          element(
            "span",
            { className: "quiet" },
            [one.answer, one.title, one.read !== 100 && `${percent(one.read / 100)} read`].filter(Boolean).join(" · "),
          ),
        ),
      ),
    ),
  );
}

at("forget").addEventListener("click", () => {
  memory.forgetAsked();
  showHistory();
  question.focus();
});

// Dialogs.

for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}

at("book").addEventListener("click", () => library.open());

// The beginning.

addEventListener("hashchange", () => attempt(follow));
acceptDrops(library, at("dropping"));
offerColours(at("theme"));
offerKey(at("key"));
showHistory();
question.disabled = at("submit").disabled = read.disabled = true;

attempt(async () => {
  await library.load();
  const known = (id) => library.books.some((one) => one.id === id);
  const last = memory.remembered("book");
  if (wanted().book !== null) return follow();
  if (known(last)) return go({ book: last });
  if (library.books.length === 1) return go({ book: library.books[0].id });
  at("book-about").textContent =
    library.books.length === 0
      ? "There are no books yet: drop one here, or choose a file."
      : `${count(library.books.length, "book")} to ask.`;
});
