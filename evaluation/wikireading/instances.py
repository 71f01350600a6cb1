"""The instances of WikiReading: a document, a property, and the answers; in its official layout and in ours.

Hewlett et al. 2016, section 2. Files are read as streams: the official ones have 45 GB.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from evaluation.benchmarks.files import DataError, choose, plain, require

SPLITS = ("validation", "test", "train")
LAYOUT = (
    "SPLIT.jsonl or SPLIT.jsonl.xz, lines {key, document, property, answers}, for train, validation and "
    "test; or the official shards, SPLIT*.json, lines with string_sequence"
)
# What stands before a token, by its break level in the official files.
_BREAKS = {0: "", 1: " ", 2: "\n", 3: " ", 4: "\n\n"}


@dataclass(frozen=True, slots=True)
class Instance:
    """One property of one document, with all its values; ``key`` is the document's."""

    key: str
    document: str
    property: str
    answers: tuple[str, ...]
    title: str = ""


def files_of(folder: Path, split: str) -> list[Path]:
    """The files of a split, in order; raises ``DataError`` where the folder has none."""
    choose("split", split, SPLITS, "WikiReading")
    require(folder, LAYOUT)
    for name in (f"{split}.jsonl", f"{split}.jsonl.xz"):
        if (folder / name).is_file():
            return [folder / name]
    shards = sorted(path for path in folder.glob(f"{split}*") if path.is_file() and ".json" in path.name)
    if not shards:
        raise DataError(f"{folder} has no file of the split {split}; expected there: {LAYOUT}")
    return shards


def read_instances(folder: Path, split: str) -> Iterator[Instance]:
    """The instances of a split, one after another; raises ``DataError``, which names file and line."""
    for path in files_of(folder, split):
        for number, line in lines_of(path):
            yield parse_instance(line, f"{path}, line {number}")


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, numbered; raises ``DataError`` where it is unreadable."""
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.decode("utf-8")
    except (OSError, lzma.LZMAError, UnicodeDecodeError, EOFError) as error:
        raise DataError(f"{path} cannot be read ({error}); expected there: {LAYOUT}") from error


def _open(path: Path) -> IO[bytes]:
    return lzma.open(path) if path.suffix == ".xz" else path.open("rb")


def parse_instance(line: str, place: str) -> Instance:
    """The instance that a line of either layout holds; raises ``DataError`` that names the ``place``."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place}: no JSON ({error}); expected: {LAYOUT}") from error
    if not isinstance(found, dict):
        raise DataError(f"{place}: found {type(found).__name__}, wanted an object; expected: {LAYOUT}")
    instance = _official(found, place) if "string_sequence" in found else _ours(found, place)
    for name, value in (("document", instance.document), ("property", instance.property)):
        if not value:
            raise DataError(f"{place}: the {name} is empty")
    if not instance.answers:
        raise DataError(f"{place}: there is no answer")
    return instance


def _ours(found: Mapping[str, Any], place: str) -> Instance:
    key, document, property, answers = (
        _field(found, name, kind, place)
        for name, kind in (("key", str), ("document", str), ("property", str), ("answers", list))
    )
    return Instance(
        plain(key), plain(document), plain(property), _values(answers, place), plain(found.get("title") or "")
    )


def _official(found: Mapping[str, Any], place: str) -> Instance:
    """The tokens joined; the answers as they are written where there is one for each, else theirs joined."""
    words, asked, answered = (
        _strings(_field(found, f"{name}string_sequence", list, place), place)
        for name in ("", "question_", "answer_")
    )
    levels = found.get("break_levels") or []
    if levels and len(levels) != len(words):
        raise DataError(f"{place}: {len(levels)} break_levels of {len(words)} words")
    separators = [_BREAKS.get(level, " ") for level in levels] or [" "] * len(words)
    document = plain("".join(f"{before}{word}" for before, word in zip(separators, words, strict=True)))
    breaks = [0, *sorted(found.get("answer_breaks") or []), len(answered)]
    parts = [" ".join(answered[start:end]) for start, end in pairwise(breaks)]
    raw = found.get("raw_answers") or []
    raw = [raw] if isinstance(raw, str) else raw
    answers = _values(raw if len(raw) == len(parts) else parts, place)
    return Instance(document_key(document), document, plain(" ".join(asked)), answers)


def document_key(document: str) -> str:
    """The name of a document that has none: of its text."""
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _field(found: Mapping[str, Any], name: str, kind: type, place: str) -> Any:
    if name not in found:
        raise DataError(f"{place}: the field {name} is missing; expected: {LAYOUT}")
    if not isinstance(found[name], kind):
        raise DataError(f"{place}: {name} is {type(found[name]).__name__}, wanted {kind.__name__}")
    return found[name]


def _strings(values: Sequence[object], place: str) -> list[str]:
    wrong = next((value for value in values if not isinstance(value, str)), None)
    if wrong is not None:
        raise DataError(f"{place}: found {wrong!r} where a word or an answer is wanted")
    return [str(value) for value in values]


def _values(answers: Sequence[object], place: str) -> tuple[str, ...]:
    """Each answer once, without line breaks: predictions have one a line."""
    found = (" ".join(plain(answer).split()) for answer in _strings(answers, place))
    return tuple(dict.fromkeys(answer for answer in found if answer))
