// The page: which book or books, which question, how far one has read; what is asked is kept in the address.

import { correct, follow as followAddress, hashOf, isFollowed, shareOf, wanted } from "./address.js";
import * as api from "./api.js";
import { ask } from "./asking.js";
import { offerColours } from "./colours.js";
import { Conversation, isAskedHere } from "./conversation.js";
import { Cover } from "./cover.js";
import { Errors } from "./errors.js";
import { History } from "./history.js";
import { offerKey } from "./key.js";
import { LanguageModels } from "./language_models.js";
import { Library, acceptDrops } from "./library.js";
import * as memory from "./memory.js";
import { Overviews } from "./overviews.js";
import { Reader } from "./reader.js";
import { idOfShelf, limitOf, open, shareAt } from "./scope.js";
import { offerSelected } from "./selected.js";
import { Sample, suggest } from "./start.js";
import { Strip } from "./strip.js";
import { showTogether } from "./together.js";
import { count, lengthInWords, readInWords } from "./words.js";

const SETTLED_MS = 300; // a slider that is moved with keys passes many places on its way

const at = (id) => document.getElementById(id);
const question = at("question");
const read = at("read");
const answerBox = at("answer");

let scope = null; // the book that is open, or the books that are asked together
let turn = 0; // counts what has been wanted: what is fetched for an earlier address is dropped
let asked = ""; // the question that the address had last
let asking = null; // aborts the question in hand
let sample = null; // the sample story, once the service has said what may be asked of it

/** How much of each book has been read, in percent by id: of one as the slider has it, of several as was said last. */
const limits = () => (scope.isOne ? { [scope.id]: share() } : scope.limits());
const limit = () => limitOf(scope.books[0], share());
/** How much the slider says; keys move it by whole percents, for it has no step, and so a pointer anywhere. */
const share = () => Math.round(10 * read.value) / 10;

const openInBook = (place, marks) =>
  attempt(async () => {
    const here = scope;
    const of = here.bookOf(place);
    const book = here.isOne ? of : await api.book(of.id);
    if (here !== scope) return; // somebody has gone on meanwhile
    if (book.version !== of.version) return renew();
    await reader.open(book, place, marks, limitOf(book, limits()[book.id]));
  });
const cover = new Cover(at("cover"));
const strip = new Strip(at("strip"), openInBook);
const overviews = new Overviews(at("overviews"), openInBook);
const reader = new Reader(at("reader"), {
  onReadHere: (book, end) => {
    const upTo = shareAt(book, end);
    readUpTo(book.id, upTo);
    move({ book: scope.id, q: wanted().q, read: scope.isOne ? upTo : 100 });
  },
  onPlace: (place) =>
    scope !== null &&
    wanted().book === scope.id &&
    correct({ ...wanted(), at: scope.placeOf(place, reader.book) }),
});
offerSelected(reader, (words) => {
  question.value = words;
  question.focus();
});
const library = new Library(
  at("library"),
  (id) => go({ book: id }),
  () => scope === null && showStart(),
  (id) => scope?.byId.has(id) && go({ book: scope.without(id) }),
);
const history = new History(
  at("history"),
  (asked) => go({ book: asked.book, q: memory.questionOf(asked), read: asked.read }),
  () => question.focus(),
);

const conversation = new Conversation();
const models = new LanguageModels(at("answering"), () => {
  if (scope !== null && wanted().q !== "") move({ ...wanted(), nth: 1 });
});

const errors = new Errors(at("error"), async (error) => {
  at("status").textContent = "";
  if (["unknown-book", "unknown-shelf", "no-book"].includes(error.kind)) {
    clearScope();
    await library.load().catch(() => {}); // then the list stays as it was
  }
  if (scope === null) showStart();
  const meant = (error.near ?? []).map(error.kind === "unknown-shelf" ? idOfShelf : (id) => id);
  const titles = meant.map((id) => library.title(id) ?? id);
  const isOnly = (title) => titles.indexOf(title) === titles.lastIndexOf(title);
  const called = (id, i) => (isOnly(titles[i]) ? titles[i] : `${titles[i]} (${id})`);
  return new Map(meant.map((id, i) => [called(id, i), () => go({ book: id, q: wanted().q })]));
});
const attempt = (action) => errors.attempt(action);

// Where one is.

function go(to) {
  const hash = hashOf(to);
  if (hashOf({ ...wanted(), as: null, at: null, nth: 1 }) === hash) move(to);
  else location.hash = hash; // and "hashchange" follows
}

/** The same without a step in the browser's history. */
function move(to) {
  correct(to);
  attempt(follow);
}

/** Makes the page show what the address says. */
async function follow() {
  const to = followAddress();
  // Whoever was given the address has not asked what the question followed.
  if (to.as !== null && !isAskedHere()) Object.assign(to, { q: to.as, as: null });
  const { book: id, q } = to;
  const now = (turn += 1);
  const isLeft = () => now !== turn || !isFollowed(); // somebody has gone on meanwhile
  asking?.abort();
  if (scope?.id !== id) clearScope();
  if (id === null) return showStart();
  const isNew = scope === null;
  if (isNew || !scope.isOne) {
    clearAnswer();
    at("status").textContent = "Opening the book …";
    const found = await open(id); // several anew each time: which they are is the service's to say
    if (isLeft()) return;
    showScope(found);
  }
  const upTo = scope.isOne ? shareOf(to) : 100;
  if (to.at !== null && !scope.has(to.at)) to.at = null;
  correct({ ...to, read: upTo });
  read.value = upTo;
  showRead();
  showHistory();
  showSuggestions();
  if (isNew || q !== asked) question.value = q; // else what is being typed would go with the slider's next move
  asked = q;
  document.title = q === "" ? `${scope.title} · storyqa` : `${q} · ${scope.title}`;
  clearAnswer();
  if (to.at !== null) {
    await openInBook(to.at, [{ ...to.at, tag: "mark" }]);
    if (isLeft()) return;
  }
  if (q !== "") await askScope(q);
  else if (isNew && to.at === null) question.focus();
}

/** Questions to begin with, which may tell what happens: of the sample, to those who may know all of it. */
function showSuggestions() {
  const { q } = wanted();
  at("suggestions").hidden = scope === null || scope.id !== sample?.about.book_id || q !== "" || share() !== 100;
}

function clearAnswer() {
  at("status").textContent = "";
  answerBox.removeAttribute("aria-busy");
  answerBox.replaceChildren();
  strip.clear();
}

/** What was asked of this book, or of these, before what was asked of others. */
const showHistory = () => history.show(scope?.id ?? null);

/** Nothing of a book stays in sight: the next one may be there or not. */
function clearScope() {
  clearTimeout(settling);
  asking?.abort();
  if (scope !== null) clearAnswer();
  scope = null;
  reader.close();
  strip.close();
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
  const size = library.size;
  at("book-about").textContent = !library.isLoaded
    ? ""
    : library.books.length === 0
      ? "There are no books yet."
      : `${size[0].toUpperCase()}${size.slice(1)} to ask.`;
}

function showScope(found) {
  scope = found;
  at("start").hidden = true;
  at("ask").hidden = false;
  memory.remember("book", scope.id);
  at("book-title").textContent = at("book-title").title = scope.title;
  at("length").hidden = !scope.isOne;
  at("book-about").textContent = lengthInWords(scope);
  cover.show(scope.isOne ? scope.books[0] : null);
  if (scope.isOne) strip.showBook(scope.books[0]);
  showTogether(at("together"), scope, (id) => go({ book: id, q: wanted().q }));
}

/** Opens the books anew: one was replaced, and its length and its chapters are others now. */
function renew() {
  scope = null;
  return attempt(follow);
}

// Asking.

async function askScope(q) {
  asking = new AbortController();
  const { signal } = asking;
  const of = scope;
  const upTo = limits();
  const [into, status] = [answerBox, at("status")];
  into.setAttribute("aria-busy", "true");
  try {
    const said = conversation.before(q, upTo);
    const how = { reader: models.chosen, conversation: said, limits: upTo, onPlaces, onOpen: openInBook };
    const inView = { nth: wanted().nth, onNth: (nth) => !signal.aborted && correct({ ...wanted(), nth }) };
    const answer = await ask({ scope: of, question: q, ...how, ...inView, signal, into, status });
    if (answer === null) return await renew();
    at("versions").textContent = `Answered in ${(answer.timings_ms.total / 1000).toFixed(2)} s by ${
      answer.versions.reader
    }, from passages found by ${answer.versions.retriever}.`;
    conversation.add(q, upTo, answer);
    const noted = { book: of.id, title: of.title, question: q, answer: answer.answer };
    if (said.length > 0 && answer.rewritten !== null) {
      noted.rewritten = answer.rewritten;
      correct({ ...wanted(), as: answer.rewritten });
    }
    memory.rememberAsked({ ...noted, ...of.readOf(answer.passages, upTo) });
    showHistory();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (!signal.aborted) into.removeAttribute("aria-busy");
  }
}

/** Where in a book passages were read is drawn along its length. */
const onPlaces = (...places) => scope.isOne && strip.showPlaces(...places);

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const q = question.value.trim();
  if (q !== "") go({ book: scope.id, q, read: share() });
});

// How far one has read.

function showRead() {
  if (!scope.isOne) return overviews.at(null, 0);
  const [book] = scope.books;
  const said = readInWords(share(), book, limit());
  at("read-about").textContent = said;
  read.setAttribute("aria-valuetext", said);
  strip.showRead(share(), limit());
  overviews.at(book, limit());
  if (reader.limit > limit()) reader.close(); // what it shows, or still fetches, may be from further on
}

let settling = null;

/** One has read a book up to here: kept, and what may be from further on is gone at once. */
function readUpTo(id, upTo) {
  memory.rememberRead(id, upTo);
  showReadUpTo(upTo);
}

function showReadUpTo(upTo) {
  if (scope.isOne) read.value = upTo;
  showRead();
  asking?.abort();
  clearAnswer();
  showHistory();
}

read.addEventListener("input", showRead);
read.addEventListener("change", () => {
  readUpTo(scope.id, share());
  clearTimeout(settling);
  settling = setTimeout(
    () => move({ book: scope.id, q: wanted().q, read: share() }),
    SETTLED_MS,
  );
});

// Another tab of the browser has said how far: what may be from further on is gone here, too.
memory.whenReadElsewhere((ids) => {
  showHistory();
  if (scope === null || !ids.some((id) => scope.byId.has(id))) return;
  clearTimeout(settling);
  const upTo = scope.isOne ? (memory.readUpTo(scope.id) ?? 100) : 100;
  showReadUpTo(upTo);
  move({ book: scope.id, q: wanted().q, read: upTo, at: reader.dialog.open ? wanted().at : null });
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

addEventListener("hashchange", () => {
  reader.close(); // it would hide what Back or Forward leads to
  attempt(follow);
});
addEventListener("focus", () => models.load()); // whoever comes back may have started a model meanwhile
acceptDrops(library, at("dropping"));
offerColours(at("theme"));
offerKey(at("key"));
showHistory();
clearScope();

attempt(async () => {
  const looking = models.load();
  await library.load();
  if (models.isRemembered) await looking; // a question in the address is for the one that was chosen
  const last = memory.remembered("book");
  const id = library.books.length !== 1 || library.title(last) !== null ? last : library.books[0].id;
  const isThere = await library.has(id);
  if (wanted().book === null && isThere) move({ book: id });
  else await follow();
});

api.sample().then((about) => {
  sample = new Sample(about, library, go);
  sample.show(at("sample"), attempt);
  suggest(at("suggestions"), about.questions, (q) => go({ book: about.book_id, q, read: share() }));
  showSuggestions();
}, console.error);
