"""Questions with candidates or a blank, for any reader: it chooses, ranks, or says it in its own words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from encoders.sizes import LARGE, prefers_large
from readers import DEFAULT_READER, kind_of, spec_of
from readers.candidates import find_candidates
from readers.filling import cited_once
from readers.reading import Answer, LanguageModel, OnWords, Ranker, Reader, Reading, Span
from text.cloze import NotACloze, cloze_tokens, find_blank, occurrences
from text.equal_answers import answer_key
from text.tokens import Token

FILLS = "memn2n@self"  # the best of those that ship on CBT's valid books
AROUND = 12  # tokens at each side of a mention that tell how much it has to do with the question


def reader_for(name: str, question: str) -> str:
    """The reader that a question goes to: ``name``, unless that is ``auto``.

    Of that ``FILLS`` where a blank is to be filled, and else the size that is preferred.
    """
    if name != DEFAULT_READER:
        return name
    if find_blank(question):
        return FILLS
    return f"{DEFAULT_READER}:{LARGE}" if prefers_large() else name


def check_reader(name: str, question: str) -> None:
    """Raise ``NotACloze`` where the reader ``name`` fills blanks alone, and the question has none."""
    if spec_of(name).cloze and find_blank(question) is None:
        others = f"ask one with XXXXX or ____, or another reader, such as {DEFAULT_READER}"
        raise NotACloze(f"{kind_of(name)} fills blanks, and the question has none; {others}")


def answers_to(
    name: str,
    reader: Reader,
    readings: Sequence[Reading],
    n_best: int = 1,
    on_words: Sequence[OnWords | None] = (),
) -> list[list[Answer]]:
    """The answers of ``reader``, whose full name is ``name``; as ``Reader.read`` has them.

    A reading with candidates is answered by one of them, and so is one with a blank: where it has no
    candidates they are the names and nouns of its passages. A reader that can choose does; one that can rank
    ranks; of any other the text is taken, in the candidate's spelling where it is one. What is chosen cites a
    place that spells it. ``on_words`` hear the other answers as a language model writes them: see
    ``LanguageModel.read_aloud``.
    """
    spec = spec_of(name)
    chosen = [bool(one.candidates) or find_blank(one.question) is not None for one in readings]
    free = [one for one, choose in zip(readings, chosen, strict=True) if not choose]
    if free and spec.language_model and on_words:
        hears = [one for one, choose in zip(on_words, chosen, strict=True) if not choose]
        answered = iter(cast(LanguageModel, reader).read_aloud(free, n_best, hears))
    else:
        answered = iter(reader.read(free, n_best) if free else [])
    asked = [_with_candidates(one) for one, choose in zip(readings, chosen, strict=True) if choose]
    if spec.candidates:
        filled = reader.read([one for one, _ in asked], n_best) if asked else []
    elif spec.ranks:
        filled = [ranked(cast(Ranker, reader), one, n_best) for one, _ in asked]
    else:
        filled = _said(reader, [one for one, _ in asked], n_best)
    noted = iter(
        [
            [replace(answer, note=answer.note or note) for answer in answers]
            for answers, (_, note) in zip(filled, asked, strict=True)
        ]
    )
    return [next(noted if choose else answered) for choose in chosen]


def _with_candidates(reading: Reading) -> tuple[Reading, str | None]:
    if reading.candidates:
        return reading, None
    candidates, note = find_candidates(reading.passages)
    return replace(reading, candidates=candidates), note


def ranked(reader: Ranker, reading: Reading, n_best: int = 1) -> list[Answer]:
    """The reading's candidates that the reader ranks highest, the first of equals.

    Their confidence is their share in the softmax of all scores: a probability where the scores are
    log-probabilities, and only an order where they are similarities.
    """
    if not reading.candidates or not reading.passages:
        return []
    scores = reader.rank(reading, reading.candidates)
    best = max(scores)
    if best == -math.inf:  # the question leaves the passages no room: nothing was read
        return []
    parts = [math.exp(score - best) for score in scores]
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    context = [[*cloze_tokens(passage)] for passage in reading.passages]
    return cited_once(
        reading,
        [
            (reading.candidates[i], scores[i], parts[i] / math.fsum(parts), _place(reading, context, i))
            for i in order
        ],
        n_best,
    )


def _place(reading: Reading, context: Sequence[Sequence[Token]], candidate: int) -> Span | None:
    """The place that spells a candidate with most words of the question around it, the first of such."""
    keys = [token.key for token in cloze_tokens(reading.candidates[candidate])]
    asked = {token.key for token in cloze_tokens(reading.question) if token.key.isalnum()}.difference(keys)
    most, found = -1, None
    for number, passage in enumerate(context):
        spelled = [token.key for token in passage]
        for first in occurrences(spelled, keys):
            last = first + len(keys)
            shared = len(asked.intersection(spelled[max(0, first - AROUND) : last + AROUND]))
            if shared > most:
                most, found = shared, Span(number, passage[first].start, passage[last - 1].end)
    return found


def _said(reader: Reader, readings: Sequence[Reading], n_best: int) -> list[list[Answer]]:
    """What a reader says that writes freely, asked to fill the blank or to choose."""
    asked = [replace(one, question=_in_words(one)) for one in readings]
    found = []
    for reading, answers in zip(readings, reader.read(asked, n_best) if asked else [], strict=True):
        spelled = {answer_key(one): one for one in reversed(reading.candidates)}
        found.append([_spelled(one, spelled.get(answer_key(one.text), one.text)) for one in answers])
    return found


def _spelled(answer: Answer, text: str) -> Answer:
    """The answer with another spelling, which its span does not have then."""
    if answer.text == text:
        return answer
    return replace(answer, text=text, span=None, support=answer.support or answer.span)


def _in_words(reading: Reading) -> str:
    blank = "Fill in the blank: " if find_blank(reading.question) else ""
    return f"{blank}{reading.question}\nChoose one of: {'; '.join(reading.candidates)}"
