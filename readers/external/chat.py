"""The reader that asks a chat model behind an OpenAI-compatible address, and checks what it cites."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Sequence
from typing import Any

from encoders.errors import ModelError
from readers.attribution import nearest_sentence
from readers.errors import EndpointError
from readers.external.dialogue import Reply, messages, read_reply
from readers.external.endpoint import Endpoint
from readers.external.fair_shares import fair_shares
from readers.reading import Answer, Reader, Reading, Span
from text.quote_matching import find_quote

log = logging.getLogger(__name__)

FORM = "chat:BASE_URL@model=NAME"  # and with more of the passages shown: chat:BASE_URL@model=NAME@chars=48000
MODEL = "@model="
CHARS = re.compile(r"@chars=([0-9]{1,7})")
BUDGET = 12_000  # characters of passages: about 3,000 tokens, so that they fit the least contexts in use
REPLY_TOKENS = 256
UNKNOWN = 0.5  # the confidence where the endpoint tells no probabilities
UNSUPPORTED = 0.5  # the factor where no citation holds
_DROPPED = "the citation was dropped"


class ChatReader(Reader):
    """Asks for a short answer, the number of the passage it rests on and a sentence quoted from it.

    The quotation is looked up. Where it does not stand in the passage cited, or no such passage was
    shown, the citation is dropped and the answer's note says so. Where the answer itself stands in
    the sentence cited, its text is the book's own and its span that place; else the sentence is its
    support.

    The confidence is the geometric mean of the probabilities of the answer's tokens where the
    endpoint tells them, else ``UNKNOWN``, which is no measurement; half of that where no citation
    holds; 0 where the model says that the passages do not answer. There is one answer whatever
    ``n_best`` is.
    """

    def __init__(self, endpoint: Endpoint, model: str, *, budget: int = BUDGET) -> None:
        """``budget`` is how many characters of passages are shown, shared fairly among them."""
        if budget < 1:
            raise ModelError(f"{budget} characters of passages for {model!r}; wanted at least 1")
        self._endpoint = endpoint
        self._model = model
        self._budget = budget
        self._logprobs = True

    @classmethod
    def load(
        cls,
        argument: str | None,
        *,
        key: str | None = None,
        timeout_s: float = 120.0,
        keyless: Collection[str] = (),
    ) -> ChatReader:
        """The model at ``BASE_URL@model=NAME``; the address is first called when something is read.

        A name may end in ``@chars=N``, the budget. The key is not shown at ``keyless`` addresses. Raises
        ``ModelError`` for another form and for an address that is none.
        """
        url, at, model = (argument or "").partition(MODEL)
        if not url.strip() or not at or not model.strip():
            raise ModelError(
                f"the reader 'chat' needs an address and a model, not {argument or ''!r}: write {FORM}, "
                "such as chat:http://127.0.0.1:11434/v1@model=qwen3"
            )
        budget = BUDGET
        if chars := CHARS.search(model):
            if chars.end() != len(model):
                raise ModelError(
                    f"{model[chars.start() :]!r} ends no model's name; wanted @chars=N at its end"
                )
            model, budget = model[: chars.start()], int(chars[1])
        shown = None if url in keyless else key
        return cls(Endpoint(url, shown, timeout_s), model.strip(), budget=budget)

    def reach(self) -> None:
        """See ``Reader.reach``."""
        self._endpoint.reach()

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """One answer per reading, none where there is nothing to read or the model says nothing.

        Raises ``EndpointError`` where the endpoint answers one of them not at all or nonsense.
        """
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        excerpts = [_Excerpts(reading, self._budget) for reading in readings]
        with_text = [i for i, one in enumerate(excerpts) if one.passages]
        answers: list[list[Answer]] = [[] for _ in readings]
        if not with_text:
            return answers
        replies = self._ask([messages(excerpts[i].question, excerpts[i].passages) for i in with_text])
        for i, (content, tokens) in zip(with_text, replies, strict=True):
            reply = read_reply(content)
            if content.strip():
                answers[i] = [_answer(excerpts[i], reply, _probability(content, reply, tokens))]
            else:
                log.warning("%s said nothing to %r", self._model, excerpts[i].question[:100])
        return answers

    def _ask(self, conversations: Sequence[list[dict[str, str]]]) -> list[tuple[str, list[Any]]]:
        """The text of each reply and what is told of its tokens."""
        common = {"model": self._model, "temperature": 0, "max_tokens": REPLY_TOKENS, "stream": False}
        bodies: list[dict[str, Any]] = [common | {"messages": one} for one in conversations]
        if self._logprobs:
            try:
                return [
                    *map(self._choice, self._endpoint.ask([body | {"logprobs": True} for body in bodies]))
                ]
            except EndpointError as error:
                if error.status not in (400, 422):
                    raise
                refused = str(error)
        replies = [*map(self._choice, self._endpoint.ask(bodies))]
        if self._logprobs:
            log.info("asking without logprobs from now on: %s", refused)
            self._logprobs = False
        return replies

    def _choice(self, reply: dict[str, Any]) -> tuple[str, list[Any]]:
        url = self._endpoint.url
        try:
            choice = reply["choices"][0]
            content = choice["message"].get("content")
            tokens = (choice.get("logprobs") or {}).get("content") or []
            ended = choice.get("finish_reason")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise EndpointError(
                f"{url} answered without a choice, but with {str(reply)[:200]!r}; wanted a chat completion"
            ) from None
        if not isinstance(content, str | None) or not isinstance(tokens, list):
            raise EndpointError(f"{url} answered with a choice that is no text: {str(choice)[:200]!r}")
        text = content or ""
        if ended == "length" and (not text.strip() or text.rfind("<think>") > text.rfind("</think>")):
            raise EndpointError(
                f"{self._model!r} at {url} spent its {REPLY_TOKENS} tokens on thinking and gave no answer; "
                "turn its thinking off, or take a model that does not"
            )
        return text, tokens


class _Excerpts:
    """The part of a reading that goes into the prompt: passages that are not blank, cut to a budget.

    ``numbers[i]`` is which of the reading's passages ``passages[i]`` is the beginning of.
    """

    def __init__(self, reading: Reading, budget: int) -> None:
        self.question = reading.question
        self.numbers = [i for i, passage in enumerate(reading.passages) if passage.strip()]
        whole = [reading.passages[i] for i in self.numbers]
        shares = fair_shares([len(passage) for passage in whole], budget)
        self.passages = [_head(passage, share) for passage, share in zip(whole, shares, strict=True)]
        had, has = sum(map(len, whole)), sum(map(len, self.passages))
        self.note = f"the model was shown {has:,} of the passages' {had:,} characters" if has < had else None


def _head(passage: str, length: int) -> str:
    """The first ``length`` characters, cut back to a whole word where there is one."""
    if length >= len(passage) or passage[length].isspace():
        return passage[:length]
    head = passage[:length]
    return head[: max(i for i, c in enumerate(head) if c.isspace())] if any(map(str.isspace, head)) else head


def _answer(excerpts: _Excerpts, reply: Reply, probability: float | None) -> Answer:
    confidence = UNKNOWN if probability is None else probability
    if reply.is_refusal:
        refused = "the model says that the passages do not answer this"
        return Answer(reply.answer or "unanswerable", 0.0, 0.0, None, None, _joined(refused, excerpts.note))
    place, dropped = _cited(excerpts, reply)
    if place is None:
        confidence *= UNSUPPORTED
        return Answer(reply.answer, confidence, confidence, None, None, _joined(dropped, excerpts.note))
    index, start, end = place
    passage, number = excerpts.passages[index], excerpts.numbers[index]
    place_of_answer = find_quote(passage, reply.answer, start, end)
    if place_of_answer is None:
        return Answer(reply.answer, confidence, confidence, None, Span(number, start, end), excerpts.note)
    text = passage[slice(*place_of_answer)]
    return Answer(text, confidence, confidence, Span(number, *place_of_answer), None, excerpts.note)


def _cited(excerpts: _Excerpts, reply: Reply) -> tuple[tuple[int, int, int] | None, str | None]:
    """Where the sentence that the model cites stands, or why there is none: ``(passage, start, end)``."""
    count = len(excerpts.passages)
    if reply.passage is None:
        return None, "the model cited no passage"
    if reply.passage > count:
        return None, f"the model cited passage {reply.passage}, of {count}; {_DROPPED}"
    index = reply.passage - 1
    passage = excerpts.passages[index]
    if any(map(str.isalnum, reply.quote)):
        lines = reply.quote.splitlines()
        for quote in (reply.quote, lines[0]):  # some go on to explain themselves
            found = find_quote(passage, quote)
            if found is not None:
                return (index, *found), None
        return None, (
            f"the sentence that the model quoted is not in passage {reply.passage}, of {count}, "
            f"which it cited; {_DROPPED}"
        )
    nearest = nearest_sentence([passage], reply.answer, excerpts.question)
    if nearest is None:
        return (
            None,
            f"nothing in passage {reply.passage}, which the model cited, is like its answer; {_DROPPED}",
        )
    return (index, *nearest[1:]), None


def _probability(content: str, reply: Reply, tokens: Sequence[Any]) -> float | None:
    """The geometric mean of the probabilities of the answer's tokens; None where they are not told."""
    pieces = [_bytes(token) for token in tokens]
    # Tokens of thoughts, which some servers keep to themselves, and of the end stand around the content.
    first = b"".join(pieces).find(content.encode("utf-8", "replace"))
    if first < 0:
        return None
    start, end = (first + len(content[:at].encode("utf-8", "replace")) for at in reply.place)
    at, logprobs = 0, []
    for token, piece in zip(tokens, pieces, strict=True):
        if at < end and at + len(piece) > start:
            logprobs.append(token.get("logprob"))
        at += len(piece)
    if not logprobs or not all(isinstance(one, int | float) and one <= 1e-3 for one in logprobs):
        return None
    return min(1.0, math.exp(math.fsum(logprobs) / len(logprobs)))


def _bytes(token: Any) -> bytes:
    """What a token writes: half of a character has no text of its own."""
    if not isinstance(token, dict):
        return b""
    told, text = token.get("bytes"), token.get("token")
    if isinstance(told, list) and all(isinstance(one, int) and 0 <= one < 256 for one in told):
        return bytes(told)
    return text.encode("utf-8", "replace") if isinstance(text, str) else b""


def _joined(*notes: str | None) -> str | None:
    return "; ".join(filter(None, notes)) or None
