"""Questions and passages as token windows that fit the model: overlapping where a passage is long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from text.sentences import sentence_spans

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_WORD = re.compile(r"\w+(?:['\u2019.,]\w+)*")
_UNMARKED = re.compile(r"\w[\s\"'\u2019\u201d)\]]*\Z")


@dataclass(frozen=True, slots=True)
class Window:
    """``[CLS] question [SEP] part of one passage [SEP]`` as token ids and segment types.

    ``offsets`` are the code-point bounds in the passage of the tokens from position ``first`` on, without the
    space before a word, which some tokenizers count to it: a token of nothing else is empty, and begins the
    word; ``words`` and ``sentences`` number what those tokens belong to: a span must not cut a word, and
    seldom crosses from one sentence into the next.
    """

    passage: int
    ids: list[int]
    types: list[int]
    first: int
    offsets: list[tuple[int, int]]
    words: list[int]
    sentences: list[int]


class Windower:
    """Cuts passages into windows of at most ``longest`` tokens; neighbours share ``overlap`` tokens.

    A question that ends in a word is read with a question mark (``marked``).
    """

    def __init__(self, tokenizer: Tokenizer, longest: int = 384, overlap: int = 64) -> None:
        if not 0 < overlap < longest // 2:
            raise ValueError(
                f"overlap {overlap} of windows of {longest} tokens; wanted 0 < overlap < longest / 2"
            )
        from tokenizers import Tokenizer

        # A copy: padding and truncation are states of the tokenizer, and others share the original. What is
        # too long is cut here: releases 0.23.1 and 0.23.2 lose what overflows (huggingface/tokenizers#2091).
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._longest = longest
        self.overlap = overlap
        # The question may take half of what is left beside the overlap, so that windows always advance.
        self._longest_question = (longest - overlap) // 2

    def __call__(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[list[Window]]:
        """The windows of each question and its passages, in their order; blank passages have none."""
        questions = [self._cut(marked(question)) for question, _ in asked]
        places = [
            (r, p)
            for r, (_, passages) in enumerate(asked)
            for p, passage in enumerate(passages)
            if passage.strip()
        ]
        encodings = self._tokenizer.encode_batch([(questions[r], asked[r][1][p]) for r, p in places])
        result: list[list[Window]] = [[] for _ in asked]
        for (r, p), encoding in zip(places, encodings, strict=True):
            result[r] += self._cut_to_windows(p, asked[r][1][p], encoding)
        return result

    def _cut_to_windows(self, passage: int, text: str, encoding: Encoding) -> Iterator[Window]:
        """The windows of a question and the text of a passage; none where that has no token."""
        words, sentences = _numbers(text)
        # Each look at an encoding's lists makes them anew.
        ids, types, offsets = encoding.ids, encoding.type_ids, encoding.offsets
        context = [i for i, sequence in enumerate(encoding.sequence_ids) if sequence == 1]
        if not context:
            return
        first, last = context[0], context[-1] + 1
        room = self._longest - first - (len(ids) - last)
        for begin in range(first, max(first + 1, last - self.overlap), room - self.overlap):
            end = min(begin + room, last)
            inside = [
                _without_space(text, *bounds) if text[bounds[0] : bounds[0] + 1].isspace() else bounds
                for bounds in offsets[begin:end]
            ]
            starts = [start for start, _ in inside]
            yield Window(
                passage,
                ids[:first] + ids[begin:end] + ids[last:],
                types[:first] + types[begin:end] + types[last:],
                first,
                inside,
                [words[start] for start in starts],
                [sentences[start] for start in starts],
            )

    def _cut(self, question: str) -> str:
        """The question, cut where it would leave no room for the passage."""
        encoding = self._tokenizer.encode(question, add_special_tokens=False)
        if len(encoding.ids) <= self._longest_question:
            return question
        return question[: encoding.offsets[self._longest_question][0]]


def marked(question: str) -> str:
    """The question with a mark at its end, where it ends in a word.

    Nearly all that models learn from have one; without it, as people type, they are read worse.
    """
    return f"{question.rstrip()}?" if _UNMARKED.search(question) else question


def _without_space(text: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of a token without the white space that they begin with, up to the word after it."""
    while text[start : start + 1].isspace():
        start += 1
    return start, max(start, end)


@lru_cache(512)  # several questions are asked about the same passages
def _numbers(text: str) -> tuple[list[int], list[int]]:
    """The word and the sentence of every character; the last entry is for the empty token after them all."""
    words, sentences = _word_numbers(text), _sentence_numbers(text)
    sentences += sentences[-1:] * (len(text) + 1 - len(sentences))
    return [*words, -len(text) - 1], sentences


def _word_numbers(text: str) -> list[int]:
    """For every character the number of the word it is in; each character outside words is one itself.

    A tokenizer parts ``I'd`` and ``1,500``; a span must not.
    """
    numbers = list(range(-1, -len(text) - 1, -1))
    for number, match in enumerate(_WORD.finditer(text)):
        numbers[match.start() : match.end()] = [number] * (match.end() - match.start())
    return numbers


def _sentence_numbers(text: str) -> list[int]:
    """For every character the number of the sentence it is in; space belongs to the one after it."""
    numbers: list[int] = []
    for number, (_, end) in enumerate(sentence_spans(text)):
        numbers += [number] * (end - len(numbers))
    return numbers
