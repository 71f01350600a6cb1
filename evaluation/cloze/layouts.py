"""Cloze questions written down: as JSON lines with offsets, and in the layouts of CBT and of CNN."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluation.benchmarks.benchmark import Place, Question, given_reading
from evaluation.benchmarks.files import DataError
from evaluation.cloze.blanked_entities import PLACEHOLDER
from evaluation.cloze.book_files import BookFile
from evaluation.cloze.placed_questions import BOOKS, Placed
from indexing.tagged_book import lines_of, sentences_of
from readers.cloze import Cloze, anonymise, parse_cloze
from text.output_files import writing

FORMATS = ("jsonl", "cbt", "question")

Words = Callable[[str], Sequence[Place]]
"""The places of a sentence's words."""

# The Penn Treebank keeps their apostrophe.
_CLITICS = {key: f"'{key}" for key in ("s", "m", "d", "ll", "re", "ve")}
_OPENING, _CLOSING = {'"': "``", "“": "``", "„": "``", "‘": "`"}, {'"': "''", "”": "''", "’": "'"}


def write(placed: Sequence[Placed], files: Sequence[BookFile], out: Path, layout: str, seed: int) -> None:
    """Write the questions to ``out``, in the layout ``question`` a folder of a file each.

    Raises ``DataError`` where the layout has no such questions, ``StoryQAError`` where nothing can be
    written there.
    """
    books = {file.book.id: file for file in files}
    entities = any(one.question.names is not None for one in placed)
    if layout != "jsonl" and entities != (layout == "question"):
        of = "entities" if entities else "words"
        other = "question" if entities else "cbt"
        raise DataError(f"--format {layout} has no questions about {of}; choose jsonl or {other}")
    with writing(out):
        if layout == "question":
            out.mkdir(parents=True, exist_ok=True)
            rng = random.Random(seed)
            for number, one in enumerate(placed, 1):
                text = books[one.question.book].book.text
                (out / f"{number:06}.question").write_text(_cnn(one.question, text, rng), "utf-8")
            return
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("w", encoding="utf-8") as file:
            for one in placed:
                file.write(_LAYOUTS[layout](one, books[one.question.book]))


def _json_line(one: Placed, file: BookFile) -> str:
    question, text = one.question, file.book.text
    row: dict[str, Any] = {
        "id": question.id,
        "book": question.book,
        "class": "entity" if question.kind == BOOKS else question.kind,
        "question": question.text,
        "answer": question.answers[0],
        "candidates": question.candidates,
        "context": [text[start:end] for start, end in question.given],
        "context_places": question.given,
        "query_place": one.query,
        "answer_place": one.answer,
    }
    if question.names is not None:
        row["names"] = [
            [*place, entity]
            for place, entity in zip(question.names.places, question.names.entities, strict=True)
        ]
    return json.dumps(row, ensure_ascii=False) + "\n"


def _cbt(one: Placed, file: BookFile) -> str:
    """Numbered sentences, the query with answer and candidates, a blank line."""
    question, text, words = one.question, file.book.text, _spaced if file.parted else _tokenised
    lines = [_treebank(text[start:end], words) for start, end in question.given]
    numbered = [f"{number} {line}" for number, line in enumerate(lines, 1)]
    right, *candidates = (_plain(one) for one in (question.answers[0], *question.candidates))
    query = _treebank(question.text, words)
    return "\n".join([*numbered, f"{len(lines) + 1} {query}\t{right}\t\t{'|'.join(candidates)}", "", ""])


def _cnn(question: Question, text: str, rng: random.Random) -> str:
    """Address, context and query in lower case with markers, the answer, and whom the markers stand for."""
    cloze = parse_cloze(given_reading(question, text), question.candidates)
    cloze = anonymise(cloze, rng, len(cloze.candidates) + len(cloze.reading.named))
    names = dict(zip(cloze.markers, cloze.candidates, strict=True)) | dict(_asked_alone(cloze))
    right = cloze.markers[cloze.candidates.index(question.answers[0])]
    context, query = ([_CLITICS.get(key, key) for key in keys] for keys in (cloze.context, cloze.query))
    query[cloze.blank] = PLACEHOLDER
    mapped = [f"{marker}:{name}" for marker, name in sorted(names.items())]
    parts = (f"storyqa:{question.id}", " ".join(context), " ".join(query), right, "\n".join(mapped))
    return "\n\n".join(parts) + "\n"


def _asked_alone(cloze: Cloze) -> Iterator[tuple[str, str]]:
    """The markers and names of the entities that the query alone names."""
    for key, spelled in zip(cloze.query, cloze.query_spelled, strict=True):
        if key.startswith("@entity") and key not in cloze.markers:
            yield key, spelled


def _spaced(sentence: str) -> Sequence[Place]:
    return [place for _, words in lines_of(sentence) for place in words]


def _tokenised(sentence: str) -> Sequence[Place]:
    return [place for _, words in sentences_of(sentence) for place in words]


def _treebank(sentence: str, words: Words) -> str:
    """The sentence's words parted by spaces, its quotation marks as the Penn Treebank has them."""
    found = []
    for start, end in words(sentence):
        word = sentence[start:end]
        opens = start == 0 or not (sentence[start - 1].isalnum() or sentence[start - 1] in ".,!?;:-")
        marks = _OPENING if opens else _CLOSING
        found.append(marks.get(word) or (_OPENING | _CLOSING).get(word) or _plain(word))
    return " ".join(found)


def _plain(word: str) -> str:
    return word.replace("’", "'")


_LAYOUTS: dict[str, Callable[[Placed, BookFile], str]] = {"jsonl": _json_line, "cbt": _cbt}
