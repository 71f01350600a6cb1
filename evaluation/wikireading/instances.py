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
    "SPLIT.jsonl or SPLIT.jsonl.xz (train, validation, test), lines {key, document, property, answers}; "
    "or the official shards, SPLIT*.json, lines with string_sequence"
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
    shards = sorted(path for path in folder.glob(f"{split}*.json") if path.is_file())
    if not shards:
        raise DataError(f"{folder} has no file of the split {split}; expected there: {LAYOUT}")
    return shards


def is_official(paths: Sequence[Path]) -> bool:
    """Whether files of a split are the publishers' shards, and no set of the same task."""
    return all(path.suffix == ".json" for path in paths)


def read_instances(folder: Path, split: str) -> Iterator[Instance]:
    """The instances of a split, one after another; raises ``DataError``, which names file and line."""
    return (parse_instance(line, place) for line, place in read_lines(folder, split))


def read_lines(folder: Path, split: str) -> Iterator[tuple[str, str]]:
    """The lines of a split as they are, each with its place for ``parse_instance``."""
    for path in files_of(folder, split):
        for number, line in lines_of(path):
            yield line, f"{path}, line {number}"


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, numbered; raises ``DataError`` where it is unreadable."""
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.decode("utf-8-sig")
    except (OSError, lzma.LZMAError, EOFError) as error:
        raise DataError(f"{path} cannot be read after line {number} ({error})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, line {number}: no UTF-8 ({error})") from error


def _open(path: Path) -> IO[bytes]:
    return lzma.open(path) if path.suffix == ".xz" else path.open("rb")


def parse_instance(line: str, place: str) -> Instance:
    """The instance that a line of either layout holds; raises ``DataError`` that names the ``place``."""
    found = parse_object(line, place)
    instance = _official(found, place) if "string_sequence" in found else _ours(found, place)
    for name in ("key", "document", "property"):
        if not getattr(instance, name):
            raise DataError(f"{place}: the {name} is empty")
    if not instance.answers:
        raise DataError(f"{place}: there is no answer")
    return instance


def parse_object(line: str, place: str) -> dict[str, Any]:
    """The JSON object that a line holds; raises ``DataError`` that names the ``place``."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: no JSON ({error})") from error
    if not isinstance(found, dict):
        raise DataError(f"{place}: found {type(found).__name__}, wanted an object")
    return found


def _ours(found: Mapping[str, Any], place: str) -> Instance:
    key, document, property, answers = (
        field(found, name, kind, place)
        for name, kind in (("key", str), ("document", str), ("property", str), ("answers", list))
    )
    title = field(found, "title", str, place) if found.get("title") else ""
    return Instance(
        plain(key), plain(document), plain(property), values(_strings(answers, place)), plain(title)
    )


def _official(found: Mapping[str, Any], place: str) -> Instance:
    """The tokens joined; the answers as they are written where there is one for each, else theirs joined."""
    words, asked, answered = (
        _strings(field(found, f"{name}string_sequence", list, place), place)
        for name in ("", "question_", "answer_")
    )
    levels = _numbers(found, "break_levels", place)
    if levels and len(levels) != len(words):
        raise DataError(f"{place}: {len(levels)} break_levels of {len(words)} words")
    separators = [_BREAKS.get(level, " ") for level in levels] or [" "] * len(words)
    document = plain("".join(f"{before}{word}" for before, word in zip(separators, words, strict=True)))
    breaks = [0, *sorted(_numbers(found, "answer_breaks", place)), len(answered)]
    parts = [" ".join(answered[start:end]) for start, end in pairwise(breaks) if start < end]
    written = found.get("raw_answers") or []
    if isinstance(written, str):
        written = [written]
    elif written:
        written = _strings(field(found, "raw_answers", list, place), place)
    answers = values(written if len(written) == len(parts) else parts)
    return Instance(document_key(document), document, plain(" ".join(asked)), answers)


def document_key(document: str) -> str:
    """The name of a document that has none: of its text."""
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def field(found: Mapping[str, Any], name: str, kind: type, place: str) -> Any:
    """The value of that name and kind; raises ``DataError`` that names the ``place``."""
    if name not in found:
        raise DataError(f"{place}: the field {name} is missing")
    if not isinstance(found[name], kind):
        raise DataError(f"{place}: {name} is {type(found[name]).__name__}, wanted {kind.__name__}")
    return found[name]


def _strings(found: Sequence[object], place: str) -> list[str]:
    strings = [one for one in found if isinstance(one, str)]
    if len(strings) < len(found):
        wrong = next(one for one in found if not isinstance(one, str))
        raise DataError(f"{place}: found {wrong!r} where a word or an answer is wanted")
    return strings


def _numbers(found: Mapping[str, Any], name: str, place: str) -> list[int]:
    numbers = field(found, name, list, place) if found.get(name) else []
    if numbers and (set(map(type, numbers)) != {int} or min(numbers) < 0):
        raise DataError(f"{place}: {name} holds what is no number from 0 on")
    return numbers


def values(answers: Sequence[str]) -> tuple[str, ...]:
    """Each answer once, without line breaks: predictions have one a line."""
    found = (" ".join(plain(answer).split()) for answer in answers)
    return tuple(dict.fromkeys(answer for answer in found if answer))
