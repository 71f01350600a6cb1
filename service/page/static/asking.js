// One question from being asked to being answered, and what is said of it on the way.

import { showAnswer, showDraft, showFound } from "./answer.js";
import * as api from "./api.js";
import { HEADINGS, confidenceInWords, count } from "./words.js";

const CANDIDATES = 5;

/**
 * Asks `question` of the books of `scope` by `reader` (null for the service's own choice), after the turns of
 * `conversation`; of each book as much may be used as `limits` say, in percent by id.
 *
 * What is found and answered is shown in `into`, how far it is in `status`; `onPlaces(passages, evidence, others)`
 * hears which places are read and shown, and `nth`, `onNth` and `onOpen` are as `showAnswer` has them. Resolves to
 * the answer, or to null where the books are others by now than in `scope` and nothing of it was shown. Rejects
 * once `signal` says so.
 */
export async function ask({ scope, question, reader, conversation, limits, signal, into, status, ...shown }) {
  const { onPlaces, ...how } = shown;
  const request = { ...scope.asked(limits), question, n_best: CANDIDATES };
  if (reader !== null) request.reader = reader;
  if (conversation.length > 0) request.conversation = conversation;
  status.textContent = scope.isOne ? "Searching the book …" : `Searching ${count(scope.books.length, "book")} …`;
  const answer = await api.answer(request, {
    signal,
    onWait: (seconds) => (status.textContent = `The service is busy; asking again in ${seconds} s.`),
    onFound: ({ hits, versions }) => {
      if (signal.aborted || !scope.isOf(hits, versions)) return;
      status.textContent = `Found ${count(hits.length, "passage")}; reading …`;
      showFound(into, hits, scope);
      onPlaces(hits, null);
    },
    onWords: (text) => {
      if (signal.aborted) return;
      status.textContent = "Writing …";
      showDraft(into, text);
    },
  });
  signal.throwIfAborted();
  if (!scope.isOf(answer.passages, answer.versions)) return null;
  const onShow = (evidence, others) => onPlaces(answer.passages, evidence, others);
  await showAnswer(into, { scope, answer, limits, onShow, ...how });
  signal.throwIfAborted();
  status.textContent = inWords(answer);
  return answer;
}

function inWords({ answer, verdict, candidates, confidence, note }) {
  if (candidates.length === 0) return note ?? "";
  return `${HEADINGS[verdict]}: ${answer}. ${confidenceInWords(confidence)}.`;
}
