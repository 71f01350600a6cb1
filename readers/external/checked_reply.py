"""A chat model's reply held against the passages that it was shown: its places and its probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from readers.attribution import nearest_sentence
from readers.external.dialogue import Citation, Reply
from readers.external.fair_shares import fair_shares
from readers.reading import Answer, Reading, Span, overlap
from text.quote_matching import find_quote

UNKNOWN = 0.5  # the confidence where the endpoint tells no probabilities
UNSUPPORTED = 0.5  # the factor where no citation holds
_DROPPED = "the citation was dropped"
REFUSED = "the model says that the passages do not answer this"


@dataclass(frozen=True, slots=True)
class Excerpts:
    """What of a reading goes into a prompt: passages that are not blank, cut to a budget.

    ``numbers[i]`` is which of the reading's passages ``passages[i]`` is the beginning of; ``note`` says how
    much was cut.
    """

    question: str
    numbers: tuple[int, ...]
    passages: tuple[str, ...]
    note: str | None

    @classmethod
    def of(cls, reading: Reading, budget: int) -> Excerpts:
        """The passages cut to ``budget`` characters, shared fairly among them."""
        numbers = tuple(i for i, passage in enumerate(reading.passages) if passage.strip())
        whole = [reading.passages[i] for i in numbers]
        shares = fair_shares([len(passage) for passage in whole], budget)
        passages = tuple(_head(passage, share) for passage, share in zip(whole, shares, strict=True))
        had, has = sum(map(len, whole)), sum(map(len, passages))
        note = f"the model was shown {has:,} of the passages' {had:,} characters" if has < had else None
        return cls(reading.question, numbers, passages, note)

    def stretches(self, budget: int) -> list[Excerpts]:
        """The same in neighbouring passages of at most ``budget`` characters together, or one passage."""
        pieces: list[list[int]] = []
        room = 0
        for i, passage in enumerate(self.passages):
            if not pieces or len(passage) > room:
                pieces.append([])
                room = budget
            pieces[-1].append(i)
            room -= len(passage)
        return [
            replace(
                self,
                numbers=tuple(self.numbers[i] for i in piece),
                passages=tuple(self.passages[i] for i in piece),
            )
            for piece in pieces
        ]


def _head(passage: str, length: int) -> str:
    """The first ``length`` characters, cut back to a whole word where there is one."""
    if length >= len(passage) or passage[length].isspace():
        return passage[:length]
    head = passage[:length]
    return head[: max(i for i, c in enumerate(head) if c.isspace())] if any(map(str.isspace, head)) else head


def checked_answer(excerpts: Excerpts, reply: Reply, probability: float | None, prompt: str) -> Answer:
    """The answer in ``reply`` with those of its citations that hold; ``prompt`` is what it was asked with.

    Where the answer itself stands in the first sentence cited, its text is the book's own and its span that
    place; else the sentence is its support.
    """
    confidence = UNKNOWN if probability is None else probability
    if reply.is_refusal:
        return refused(joined_notes(REFUSED, excerpts.note), prompt, reply.answer)
    places, dropped = _checked(excerpts, reply)
    note = joined_notes(dropped, excerpts.note)
    if not places:
        confidence *= UNSUPPORTED
        return Answer(reply.answer, confidence, confidence, None, None, note, prompt=prompt)
    (index, start, end), *others = places
    passage, number = excerpts.passages[index], excerpts.numbers[index]
    main = Span(number, start, end)
    also = apart(main, [Span(excerpts.numbers[i], first, last) for i, first, last in others])
    place_of_answer = find_quote(passage, reply.answer, start, end)
    if place_of_answer is None:
        return Answer(reply.answer, confidence, confidence, None, main, note, also, prompt=prompt)
    text = passage[slice(*place_of_answer)]
    span = Span(number, *place_of_answer)
    return Answer(text, confidence, confidence, span, None, note, also, prompt=prompt)


def refused(note: str | None, prompt: str, text: str = "") -> Answer:
    """The answer of a model that says that there is none."""
    return Answer(text or "unanswerable", 0.0, 0.0, None, None, note, prompt=prompt)


def apart(main: Span, others: Sequence[Span]) -> tuple[Span, ...]:
    """Those of ``others`` that overlap neither ``main`` nor one before them."""
    found = [main]
    for place in others:
        if not any(overlap(place, other) for other in found):
            found.append(place)
    return tuple(found[1:])


def _checked(excerpts: Excerpts, reply: Reply) -> tuple[list[tuple[int, int, int]], str | None]:
    """Where the sentences that the model cites stand, and what is to be said of those that do not."""
    if not reply.citations:
        return [], "the model cited no passage"
    found = [_cited(excerpts, reply.answer, one) for one in reply.citations]
    places = [place for place, _ in found if place is not None]
    dropped = [why for place, why in found if place is None]
    if len(found) == 1 or not dropped:
        return places, dropped[0] if dropped else None
    if not places:
        return [], f"none of the {len(found)} places that the model cited holds; they were dropped"
    return places, f"{len(dropped)} of the {len(found)} places that the model cited did not hold, and went"


def _cited(
    excerpts: Excerpts, answer: str, cited: Citation
) -> tuple[tuple[int, int, int] | None, str | None]:
    """Where the sentence that the model cites stands, or why there is none: ``(passage, start, end)``."""
    count = len(excerpts.passages)
    if cited.passage is None:
        return None, "the model cited no passage"
    if cited.passage > count:
        return None, f"the model cited passage {cited.passage}, of {count}; {_DROPPED}"
    index = cited.passage - 1
    passage = excerpts.passages[index]
    if any(map(str.isalnum, cited.quote)):
        lines = cited.quote.splitlines()
        for quote in (cited.quote, lines[0]):  # some go on to explain themselves
            found = find_quote(passage, quote)
            if found is not None:
                return (index, *found), None
        return None, (
            f"the sentence that the model quoted is not in passage {cited.passage}, of {count}, "
            f"which it cited; {_DROPPED}"
        )
    nearest = nearest_sentence([passage], answer, excerpts.question)
    if nearest is None:
        return (
            None,
            f"nothing in passage {cited.passage}, which the model cited, is like its answer; {_DROPPED}",
        )
    return (index, *nearest[1:]), None


def probability_of(content: str, reply: Reply, tokens: Sequence[Any]) -> float | None:
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


def joined_notes(*notes: str | None) -> str | None:
    return "; ".join(filter(None, notes)) or None
