"""Answers that end, or begin, where a passage cuts a sentence: read again with the rest of that sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from answering.finding import Found
from answering.readable_chapters import innermost_chapter
from indexing.book import Passage
from readers import spec_of
from readers.reading import Answer, Span
from retrieval.hits import BookHit
from text.sentences import sentence_spans

LONGEST_REST = 60  # words of the sentence that are read beside the passage, on either side
_REACH = 1000  # characters in which they are looked for
_WORD = re.compile(r"\S+")
_CUT_WORD = re.compile(r"\S+\Z")
_WORD_CHARACTER = re.compile(r"\w")

Read = Callable[[Sequence[Found]], list[list[Answer]]]


def read_on(
    found: Sequence[Found], answers: Sequence[list[Answer]], read: Read
) -> tuple[list[Found], list[list[Answer]]]:
    """What was found and its answers; read once more by ``read`` where the best one may be cut short.

    Passages are of so many words and end in the middle of sentences: of "forty seven crowns" one may hold
    "forty" alone. Such a passage is read with the rest of its sentence, at most ``LONGEST_REST`` words and
    nothing that may not be read yet, beside the other passages as they were. What a language model wrote,
    and what was chosen among candidates, stands.
    """
    longer = {
        i: whole
        for i, (one, of_one) in enumerate(zip(found, answers, strict=True))
        if of_one and (whole := _with_rest(one, of_one[0].span)) is not None
    }
    found, answers = list(found), list(answers)
    if longer:
        for i, of_one in zip(longer, read(list(longer.values())), strict=True):
            found[i], answers[i] = longer[i], of_one
    return found, answers


def _with_rest(found: Found, span: Span | None) -> Found | None:
    """The same with the rest of the sentence that cuts ``span``; None where nothing does."""
    if span is None or found.reading.candidates or spec_of(found.ask.reader).language_model:
        return None
    hit = found.in_story_order[span.passage]
    text = found.reading.passages[span.passage]
    touched = [_WORD_CHARACTER.search(part) is None for part in (text[: span.start], text[span.end :])]
    if not any(touched):
        return None
    start, end = _whole_sentences(hit)
    start = start if touched[0] else hit.passage.start
    end = end if touched[1] else hit.passage.end
    if (start, end) == (hit.passage.start, hit.passage.end):
        return None
    at = span.passage
    longer = replace(hit, passage=Passage(hit.passage.number, start, end))
    reading = found.reading
    passages = (*reading.passages[:at], hit.book.index.text(start, end), *reading.passages[at + 1 :])
    encoded = (*reading.encoded[:at], None, *reading.encoded[at + 1 :]) if reading.encoded else ()
    in_order = (*found.in_story_order[:at], longer, *found.in_story_order[at + 1 :])
    return replace(
        found, in_story_order=in_order, reading=replace(reading, passages=passages, encoded=encoded)
    )


def _whole_sentences(hit: BookHit) -> tuple[int, int]:
    """Where the passage starts and ends with the rest of the sentences that it cuts, in characters."""
    passage, book = hit.passage, hit.book
    first, last = max(0, passage.start - _REACH), min(book.end, passage.end + _REACH)
    chapter = innermost_chapter(book.index.chapters, passage.start)
    if chapter is not None:  # the question may be about it alone
        first = max(first, chapter.start)
        last = max(passage.end, min(last, chapter.end))
    text = book.index.text(first, last)
    behind = book.index.text(last, last + 1)
    if behind and not behind.isspace():  # a limit may lie within a word, which is not read in part
        text = _CUT_WORD.sub("", text)
    start, end = passage.start, passage.end
    for span_start, span_end in sentence_spans(text):
        if first + span_start < passage.start < first + span_end:
            before = list(_WORD.finditer(text, span_start, passage.start - first))[-LONGEST_REST:]
            start = first + before[0].start() if before else start
        if first + span_start < passage.end < first + span_end:
            after = list(_WORD.finditer(text, passage.end - first, span_end))[:LONGEST_REST]
            end = first + after[-1].end() if after else end
    return start, end
