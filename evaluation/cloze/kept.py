"""Questions built from books, kept in the user's cache: building them again takes minutes."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.cloze.blanked_words import CLASSES, VERSION, BlankedWord, draw
from evaluation.cloze.book_files import BookFile
from evaluation.cloze.tagged_book import Place, tag_book

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Built:
    """The questions of a split, class by class in story order, and per book the places of its sentences."""

    questions: tuple[BlankedWord, ...]
    sentences: dict[str, tuple[Place, ...]]


def default_cache() -> Path:
    """Where questions are kept unless another folder is named."""
    import platformdirs

    return platformdirs.user_cache_path("storyqa")


def build(files: Sequence[BookFile], count: int, seed: int) -> Built:
    """``count`` questions a class drawn from the books by ``seed``; each sentence is tagged once."""
    tagged = []
    for number, file in enumerate(files, 1):
        log.info("tagging %s, %d of %d books", file.book.id, number, len(files))
        tagged.append(tag_book(file.book, file.parted))
    questions = tuple(question for kind in CLASSES for question in draw(tagged, kind, count, seed))
    return Built(questions, {one.book.id: one.sentences for one in tagged})


def built(files: Sequence[BookFile], count: int, seed: int, cache: Path | None = None) -> Built:
    """As ``build``, taken from the ``cache`` where the same was built before, and kept there else."""
    path = (cache or default_cache()) / "cloze" / f"{_key(files, count, seed)}.jsonl"
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("%s is damaged (%s) and is built again", path, error)
    found = build(files, count, seed)
    try:
        _write(path, found)
    except OSError as error:
        log.warning("what was built cannot be kept in %s (%s)", path.parent, error)
    return found


def _key(files: Sequence[BookFile], count: int, seed: int) -> str:
    from encoders.tagging import MODEL

    digest = hashlib.sha256(json.dumps([VERSION, MODEL, count, seed]).encode())
    for file in files:
        digest.update(f"\0{file.book.id}\0{file.parted}\0".encode())
        digest.update(hashlib.sha256(file.book.text.encode("utf-8", "surrogatepass")).digest())
    return f"cbt-{digest.hexdigest()[:20]}"


def _write(path: Path, found: Built) -> None:
    """Written beside and then renamed: whoever reads at the same time sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            header = {"sentences": found.sentences, "questions": len(found.questions)}
            file.write(json.dumps(header) + "\n")
            for one in found.questions:
                line = [one.book, one.kind, one.context, one.query, one.answer, one.candidates]
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _read(path: Path) -> Built:
    with path.open(encoding="utf-8") as file:
        header = json.loads(file.readline())
        sentences = {
            book: tuple((start, end) for start, end in places) for book, places in header["sentences"].items()
        }
        words: dict[str, str] = {}  # one object a word: there are far more candidates than words
        questions = tuple(
            BlankedWord(
                words.setdefault(book, book),
                words.setdefault(kind, kind),
                context,
                (query[0], query[1]),
                (answer[0], answer[1]),
                tuple(words.setdefault(one, one) for one in candidates),
            )
            for book, kind, context, query, answer, candidates in map(json.loads, file)
        )
    if len(questions) != header["questions"]:
        raise ValueError(f"{len(questions)} of {header['questions']} questions")
    return Built(questions, sentences)
