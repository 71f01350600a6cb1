// One question from being asked to being answered, and what is said of it on the way.

import { showAnswer, showDraft, showFound } from "./answer.js";
import * as api from "./api.js";
import { HEADINGS, confidenceInWords, count } from "./words.js";

const CANDIDATES = 5;

/**
 * Asks `question` of `book` by `reader` (null for the service's own choice), after the turns of `conversation`,
 * of which the share `read` (percent) and so the text up to `limit` may be used.
 *
 * What is found and answered is shown in `into` and on `strip`, how far it is in `status`; `onOpen(place, marks)`
 * hears which place is wanted in the whole book. Resolves to the answer, or to null where the book is another
 * one than `book` by now and nothing of it was shown. Rejects once `signal` says so.
 */
export async function ask({ book, question, reader, conversation, read, limit, signal, into, strip, status, onOpen }) {
  const request = { book_id: book.id, question, n_best: CANDIDATES };
  if (reader !== null) request.reader = reader;
  if (conversation.length > 0) request.conversation = conversation;
  if (read !== 100) request.before = `${read}%`;
  const isNow = ({ versions }) => versions.index === book.version;
  status.textContent = "Searching the book …";
  const answer = await api.answer(request, {
    signal,
    onWait: (seconds) => (status.textContent = `The service is busy; asking again in ${seconds} s.`),
    onFound: (found) => {
      if (signal.aborted || !isNow(found)) return;
      status.textContent = `Found ${count(found.hits.length, "passage")}; reading …`;
      showFound(into, found.hits, book);
      strip.showPlaces(found.hits, null);
    },
    onWords: (text) => {
      if (signal.aborted) return;
      status.textContent = "Writing …";
      showDraft(into, text);
    },
  });
  signal.throwIfAborted();
  if (!isNow(answer)) return null;
  const onShow = (evidence, others) => strip.showPlaces(answer.passages, evidence, others);
  await showAnswer(into, { book, answer, limit, onShow, onOpen });
  signal.throwIfAborted();
  status.textContent = inWords(answer);
  return answer;
}

function inWords({ answer, verdict, candidates, confidence, note }) {
  if (candidates.length === 0) return note ?? "";
  return `${HEADINGS[verdict]}: ${answer}. ${confidenceInWords(confidence)}.`;
}
