"""NarrativeQA in the official repository's layout: summaries or whole stories, two answers per question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark, LeftOut, Question
from evaluation.benchmarks.files import DataError, choose, plain, read_rows, require_questions
from evaluation.benchmarks.holdout import HELD_OUT, HELD_OUT_HELP, HELD_OUT_NOTE, NARRATIVEQA_SHARE
from evaluation.benchmarks.holdout import held_out as held_out_stories
from evaluation.preparation.pairing import LOWEST_SHARE, mispaired
from indexing.book import Book

SETTINGS = ("summaries", "stories", "whole-stories")
HALVES = ("A", "B")
TRAINED_ON = "A"  # by the default models: figures to quote are on B
_LAYOUT = "the NarrativeQA repository: documents.csv, qaps.csv, third_party/wikipedia/summaries.csv"
_STORIES = "tmp/<document_id>.content, as download_stories.sh leaves them (or stories.tar.xz, unpacked here)"


def load(
    data: Path,
    split: Annotated[str, "valid, or test or train where they are there."] = "valid",
    setting: Annotated[str, "summaries, stories or whole-stories."] = "summaries",
    keep_mispaired: Annotated[
        bool, "Score on stories that are another work than their questions' too."
    ] = False,
    half: Annotated[
        str | None, "Of valid, A (ids 0 to 7, which the shipped models were trained on) or B alone."
    ] = None,
    held_out: Annotated[bool, HELD_OUT_HELP] = False,
) -> Benchmark:
    """The questions of one split; raises ``DataError`` for files that are missing or in another layout.

    ``summaries``: the summary is read. ``stories``: passages come from the full story, and with
    ``whole-stories`` all of it is given, for readers that can take it; documents whose story is not
    there are left out, and so, unless ``keep_mispaired``, are those whose story is another work than
    the one the questions are about (by its ``pairing_note`` where there is a ``stories.csv`` that lists
    it, otherwise by the names in its summary). Of valid, ``half`` A or B can be kept (see the function),
    and of half A, with ``held_out``, what models are chosen on.
    """
    choose("setting", setting, SETTINGS, "NarrativeQA")
    half = half and half.upper()
    documents = {
        row["document_id"]: row
        for row in read_rows(data / "documents.csv", ("document_id", "wiki_title"), _LAYOUT)
    }
    asked = read_rows(data / "qaps.csv", ("document_id", "set", "question", "answer1", "answer2"), _LAYOUT)
    choose("split", split, (row["set"] for row in asked), str(data / "qaps.csv"))
    questions: dict[str, list[Question]] = {}
    for row in asked:
        if row["set"] == split:
            of_story = questions.setdefault(row["document_id"], [])
            of_story.append(_question(row, len(of_story), data))
    questions = _part(questions, split, half, held_out)
    titles = {id: documents[id]["wiki_title"] if id in documents else id for id in questions}
    summaries = {
        row["document_id"]: plain(row["summary"])
        for row in read_rows(
            data / "third_party" / "wikipedia" / "summaries.csv", ("document_id", "set", "summary"), _LAYOUT
        )
    }
    if setting != "summaries":
        books, reasons = _stories(data, titles, summaries, keep_mispaired)
    else:
        books = {
            id: partial(Book, id, titles[id], text, f"narrativeqa:{id}")
            for id, text in summaries.items()
            if id in titles and text
        }
        reasons = {id: "no summary in summaries.csv" for id in titles if id not in books}
    kept = [question for id in questions if id not in reasons for question in questions[id]]
    if setting == "summaries":
        kept = [replace(question, given=((0, len(summaries[question.story])),)) for question in kept]
    elif setting == "whole-stories":
        lengths = {id: len(books[id]().text) for id in dict.fromkeys(question.story for question in kept)}
        kept = [replace(question, given=((0, lengths[question.story]),)) for question in kept]
    return Benchmark(
        name="narrativeqa",
        split=split,
        setting=setting,
        questions=require_questions(kept, data, _LAYOUT),
        books=books,
        titles={id: title for id, title in titles.items() if id not in reasons},
        left_out=tuple(LeftOut(id, titles[id], len(questions[id]), reason) for id, reason in reasons.items()),
        part=HELD_OUT if held_out else f"half {half}" if half else None,
        notes=(HELD_OUT_NOTE,) if held_out else _trained_on(half) if split == "valid" else (),
        half_of=_scored_apart(split, whole=half is None and not held_out),
        trained_half=TRAINED_ON,
        files=() if setting == "summaries" else tuple(_file_of(data, id) for id in books),
    )


def splits(folder: Path) -> frozenset[str]:
    """The splits that have questions in the folder; raises ``DataError`` for another layout."""
    return frozenset(row["set"] for row in read_rows(folder / "qaps.csv", ("set",), _LAYOUT))


def _scored_apart(split: str, whole: bool) -> Callable[[str], str] | None:
    """Which half a story is in, where both are there and the default models have seen one."""
    return half if split == "valid" and whole else None


def _trained_on(half: str | None) -> tuple[str, ...]:
    """What of valid, or of one half of it, the default models have seen."""
    seen = f"the default models were trained on half {TRAINED_ON} (documents whose id begins with 0 to 7)"
    if half is None:
        return (f"{seen}, so the row of the whole split is no clean figure for them: quote half B's",)
    return (f"{seen}: for them these are no clean figures",) if half == TRAINED_ON else ()


def _part(
    questions: dict[str, list[Question]], split: str, only_half: str | None, only_held_out: bool
) -> dict[str, list[Question]]:
    if only_half is None and not only_held_out:
        return questions
    if split != "valid":
        raise DataError(f"NarrativeQA valid alone has halves and held-out documents, not {split!r}")
    if only_half is not None:
        choose("half", only_half, HALVES, "NarrativeQA valid")
        if only_held_out and only_half == "B":
            raise DataError("documents are held out of half A alone; leave out --half or --held-out")
    wanted = "A" if only_held_out else only_half
    kept = {id: asked for id, asked in questions.items() if half(id) == wanted}
    if only_held_out:
        apart = held_out_stories(kept, NARRATIVEQA_SHARE)
        kept = {id: asked for id, asked in kept.items() if id in apart}
    if not kept:
        what = "held-out document" if only_held_out else f"document of half {wanted}"
        raise DataError(f"the data set holds too little: no {what}")
    return kept


def half(document_id: str) -> str:
    """``"A"`` for ids that begin with 0 to 7, ``"B"`` for 8 to f: our models train on A of valid alone."""
    return "A" if document_id[:1] in "01234567" else "B"


def _question(row: dict[str, str], number: int, folder: Path) -> Question:
    id = row["document_id"]
    answers = tuple(filter(None, (row["answer1"].strip(), row["answer2"].strip())))
    try:
        return Question(id=f"{id}:{number}", story=id, text=row["question"].strip(), answers=answers, book=id)
    except ValueError as error:
        raise DataError(f"{folder / 'qaps.csv'}: {error}") from None


def _stories(
    folder: Path, titles: dict[str, str], summaries: dict[str, str], keep_mispaired: bool
) -> tuple[dict[str, Callable[[], Book]], dict[str, str]]:
    """The stories that are there and fit to be scored on, and why each other is left out."""
    books: dict[str, Callable[[], Book]] = {}
    reasons: dict[str, str] = {}
    notes = _pairing_notes(folder / "stories.csv")
    for id in titles:
        path = _file_of(folder, id)
        if not path.exists():
            reasons[id] = "no full story"
            continue
        note = "" if keep_mispaired else notes.get(id)
        if note is None and mispaired(summaries.get(id, ""), path.read_bytes().decode("utf-8", "replace")):
            note = f"under {LOWEST_SHARE:.0%} of the summary's names occur in the story"
        if note:
            reasons[id] = f"the story is another work: {note}"
        else:
            books[id] = partial(read_story, path, id)
    if not books:
        raise DataError(
            f"{folder / 'tmp'} holds no story of the split that can be scored on; expected there: {_STORIES}"
        )
    return books, reasons


def _file_of(folder: Path, id: str) -> Path:
    return folder / "tmp" / f"{id}.content"


def _pairing_notes(path: Path) -> dict[str, str]:
    """Per document what ``stories.csv`` says against its pairing; nothing where there is no such file."""
    if not path.exists():
        return {}
    columns = ("document_id", "pairing_note")
    return {
        row["document_id"]: row["pairing_note"].strip()
        for row in read_rows(path, columns, "notes on the stories")
    }


def read_story(path: Path, id: str) -> Book:
    """The story as ``storyqa index`` reads it, so that a store that has it need not build it again."""
    from indexing.formats.read import read_book
    from indexing.sources.locate import find

    [source] = find(str(path))
    # Not the path: a data set that was moved, or mended, is still the same book.
    return replace(read_book(source, id=id), source=f"narrativeqa:{id}")
