// An answer on the page: its words, its place in the book, the other candidates, the passages read.

import * as api from "./api.js";
import { copyButtons } from "./citation.js";
import { limitOf } from "./scope.js";
import { element, languageOf, length, renderText } from "./text.js";
import { HEADINGS, confidenceInWords, count, joined, percent } from "./words.js";

// How much of the book is shown around the passage, in characters.
const CONTEXT = 400;
// Candidates that hardly anything speaks for are left out.
const LEAST = 0.02;
// Answers of more characters are folded at first.
const LONG = 600;

/** Where `evidence` is marked: its sentence, and in it the answer. */
export const marksOf = (evidence) => [
  { start: evidence.sentence_start, end: evidence.sentence_end, tag: "span", className: "sentence" },
  { start: evidence.start, end: evidence.end, tag: "mark" },
];

/** Where a whole passage is marked. */
export const passageMarks = (passage) => [
  { start: passage.start, end: passage.end, tag: "span", className: "sentence" },
];

/** Shows in `into` the passages `hits`, best first, that are being read for the answer. */
export function showFound(into, hits, scope) {
  into.classList.remove("unsure");
  into.replaceChildren(
    element("h2", { className: "label" }, scope.isOne ? "Found in the book" : "Found in the books"),
    element(
      "ol",
      { className: "found" },
      ...hits.map((hit) =>
        element(
          "li",
          {},
          element("p", { className: "quiet" }, placeOf(hit, scope)),
          element("p", { className: "text", dir: "auto", lang: languageOf(scope.bookOf(hit)) }, hit.text),
        ),
      ),
    ),
  );
}

/** Shows in `into` some more words of an answer that is being written, above the passages that were found. */
export function showDraft(into, text) {
  const draft = into.querySelector(".draft");
  if (draft !== null) draft.append(text);
  else into.prepend(element("p", { className: "said draft", dir: "auto" }, text));
}

/** Which book a place is in, where several are asked. */
const titleIn = (place, scope) => !scope.isOne && place.title;

const placeOf = (passage, scope) =>
  joined([
    titleIn(passage, scope),
    `Passage ${passage.number}`,
    passage.page && `page ${passage.page}`,
    passage.chapter,
    percent(passage.start / scope.bookOf(passage).characters),
  ]);

/**
 * Shows one answer in `into`.
 *
 * `limits` say how much of each book of `scope` may be shown, in percent by id. Of the candidates the `nth` is in view
 * at first, counted from 1, and `onNth(nth)` hears which one is chosen. `onShow(evidence, others)` hears which
 * candidate's place is in view and which others support it, `onOpen(place, marks)` that a place is wanted in the
 * whole book.
 */
export async function showAnswer(into, { scope, answer, limits, nth, onNth, onShow, onOpen }) {
  if (answer.candidates.length === 0) {
    const nothing = answer.note
      ? `${answer.note[0].toUpperCase()}${answer.note.slice(1)}.`
      : `There is nothing to read before ${scope.isOne ? "that place in the book" : "those places in the books"}.`;
    into.replaceChildren(
      element("p", { className: "nothing" }, nothing),
      ...(answer.passages.length ? [passagesRead(answer.passages, scope, onOpen)] : []),
    );
    return;
  }
  const candidates = answer.candidates.filter((candidate, i) => i === 0 || candidate.confidence >= LEAST);
  const heading = HEADINGS[answer.verdict];
  const said = element("p", { className: "said", dir: "auto" });
  const more = element("button", { type: "button", className: "plain", onclick: () => unfold(true) }, "Show all of it");
  const unfold = (whole) => {
    said.classList.toggle("folded", !whole);
    more.hidden = whole;
  };
  const asked = element("p", { className: "quiet rewritten" }, answer.rewritten ? `Asked as: ${answer.rewritten}` : "");
  asked.hidden = !answer.rewritten;
  const confidence = element("p", { className: "confidence" });
  const note = element("p", { className: "note" });
  const figure = element("figure");
  const also = element("p", { className: "also quiet" });
  const chain = element("div", { className: "chain" });
  const others = element("ul", { className: "others" });
  const buttons = candidates.map((candidate, i) =>
    element(
      "button",
      { type: "button", onclick: () => [onNth(i + 1), choose(candidate)] },
      element("span", { className: "text", dir: "auto" }, candidate.text),
      element("span", { className: "quiet" }, confidenceInWords(candidate.confidence)),
      element("span", { className: "quiet place" }, candidate.evidence ? place(candidate.evidence, scope) : ""),
    ),
  );
  others.append(...buttons.map((button) => element("li", {}, button)));

  const choose = async (candidate) => {
    said.textContent = candidate.text;
    unfold(length(candidate.text) <= LONG);
    confidence.replaceChildren(
      element("strong", {}, confidenceInWords(candidate.confidence)),
      ` · confidence ${candidate.confidence.toFixed(2)}`,
    );
    note.textContent = candidate.note ?? "";
    note.hidden = candidate.note === null;
    buttons.forEach((button, i) =>
      button.setAttribute("aria-pressed", String(candidates[i] === candidate)),
    );
    const equal = candidate.also ?? []; // an answer that was kept by an older page has none
    also.hidden = equal.length === 0;
    also.replaceChildren(
      answer.versions.prompt ? "It also rests on what stands at " : "The same answer also stands at ",
      ...equal.flatMap((evidence, i) => [
        i > 0 ? ", " : "",
        element(
          "button",
          { type: "button", className: "plain", onclick: () => show(evidence) },
          joined([titleIn(evidence, scope), percent(evidence.percent / 100)], ", "),
        ),
      ]),
      scope.isOne ? " of the book." : ".",
    );
    const facts = candidate.chain ?? [];
    chain.hidden = facts.length === 0;
    chain.replaceChildren(
      element("h3", { className: "label" }, "Follows from"),
      element(
        "ol",
        {},
        ...facts.map((fact) =>
          element(
            "li",
            {},
            element(
              "button",
              { type: "button", onclick: () => show(fact) },
              element("span", { className: "text", dir: "auto" }, fact.text),
              element("span", { className: "quiet place" }, place(fact, scope)),
            ),
          ),
        ),
      ),
    );
    supporting = [candidate.evidence, ...equal, ...facts].filter((evidence) => evidence !== null);
    await show(candidate.evidence);
  };
  let supporting = [];
  const show = async (evidence) => {
    onShow(evidence, supporting.filter((other) => other !== evidence));
    await showEvidence(figure, { scope, evidence, passages: answer.passages, limits, onOpen });
  };

  into.replaceChildren(
    element("h2", { className: "label" }, heading),
    asked,
    said,
    more,
    confidence,
    note,
    figure,
    also,
    chain,
    ...(buttons.length > 1 ? [element("h3", { className: "label" }, "Candidates"), others] : []),
    passagesRead(answer.passages, scope, onOpen),
  );
  into.classList.toggle("unsure", answer.verdict !== "answer");
  await choose(candidates[nth - 1] ?? candidates[0]);
}

const place = (evidence, scope) =>
  joined([
    titleIn(evidence, scope),
    evidence.chapter,
    evidence.page && `page ${evidence.page}`,
    `${percent(evidence.percent / 100)} into the book`,
  ]);

async function showEvidence(figure, of) {
  const { scope, evidence, passages, limits, onOpen } = of;
  figure.shown = evidence;
  figure.ariaBusy = String(evidence !== null);
  if (evidence === null) {
    figure.replaceChildren(element("p", { className: "quiet" }, "No place in the book supports it."));
    return;
  }
  const book = scope.bookOf(evidence);
  const limit = limitOf(book, limits[book.id]);
  const isIn = (one) => one.number === evidence.passage && one.book_id === evidence.book_id;
  const passage = passages.find(isIn) ?? evidence;
  const start = Math.max(0, Math.min(passage.start, evidence.sentence_start) - CONTEXT);
  const end = Math.min(limit, Math.max(passage.end, evidence.sentence_end) + CONTEXT);
  let text;
  try {
    text = await api.text(book.id, start, end);
  } catch (error) {
    // The place of the candidate before, with its citation, is not to stand below this one.
    if (figure.shown === evidence) {
      figure.ariaBusy = "false";
      figure.replaceChildren(...notThere(error, () => showEvidence(figure, of)));
    }
    return;
  }
  if (figure.shown !== evidence) return; // another candidate has been chosen meanwhile
  // The context begins and ends with whole words, in scripts that put spaces between them.
  const torn = (start > 0 && text.match(/^\S{1,30}(?=\s)/u)?.[0]) || "";
  text = text.slice(torn.length);
  if (end < limit) text = text.replace(/(?<=\s)\S{1,30}$/u, "");
  const quote = element("blockquote", { className: "book", lang: languageOf(book), tabIndex: 0, role: "region" });
  quote.ariaLabel = "The passage that the answer stands in";
  renderText(quote, text, start + length(torn), [
    { start: passage.start, end: Math.min(passage.end, limit), tag: "span", className: "passage" },
    ...marksOf(evidence),
  ]);
  figure.replaceChildren(
    quote,
    element(
      "figcaption",
      {},
      element("span", { className: "quiet" }, place(evidence, scope)),
      ...copyButtons(book, evidence, limits[book.id]),
      element(
        "button",
        { type: "button", className: "plain open", onclick: () => onOpen(evidence, marksOf(evidence)) },
        "Open in the book",
      ),
    ),
  );
  figure.ariaBusy = "false";
  const [mark, box] = [quote.querySelector("mark"), quote.getBoundingClientRect()];
  if (mark !== null) quote.scrollTop = mark.getBoundingClientRect().top - box.top - box.height / 2;
}

/** What is shown instead of a place that could not be fetched. */
const notThere = (error, again) => [
  element("p", { className: "quiet", role: "alert" }, error.message),
  element("button", { type: "button", className: "plain", onclick: again }, "Try again"),
];

function passagesRead(passages, scope, onOpen) {
  const list = element(
    "ol",
    {},
    ...passages.map((passage) =>
      element(
        "li",
        {},
        element(
          "button",
          {
            type: "button",
            onclick: () => onOpen(passage, passageMarks(passage)),
          },
          placeOf(passage, scope),
        ),
      ),
    ),
  );
  return element(
    "details",
    {},
    element("summary", {}, `Read for this: ${count(passages.length, "passage")}`),
    list,
  );
}
