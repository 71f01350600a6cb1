"""The Children's Book Test's own files: 20 numbered sentences, the query with its answer and candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.files import DataError
from evaluation.cloze.blanked_words import CANDIDATES, CLASSES, CONTEXT
from text.cloze import blanks, shorten_lines

SPLITS = {"valid": "valid_2000ex", "test": "test_2500ex", "train": "train"}
LAYOUT = "cbtest_{NE,CN,V,P}_{train,valid_2000ex,test_2500ex}.txt"


@dataclass(frozen=True, slots=True)
class OfficialWord:
    """A question as it stands in a file: at ``offset`` bytes, ``size`` of them."""

    sentences: tuple[str, ...]
    query: str
    answer: str
    candidates: tuple[str, ...]
    offset: int
    size: int


def unpacked(data: Path) -> Path:
    """The folder with the files: ``data``, or of the publishers' archive ``CBTest`` the folder in it."""
    inner = data / "data"
    return inner if not is_official(data) and inner.is_dir() and is_official(inner) else data


def file_of(data: Path, kind: str, split: str) -> Path:
    """Where the questions of a class and a split are."""
    return data / f"cbtest_{kind}_{SPLITS[split]}.txt"


def is_official(data: Path) -> bool:
    """Whether ``data`` is a folder with such files, or such a file."""
    if data.is_file():
        with data.open("rb") as file:
            return file.read(2) == b"1 "
    return any(data.glob("cbtest_*.txt"))


def kind_of(path: Path) -> str | None:
    """The class that a file's name says, None where it says none."""
    return next((kind for kind in CLASSES if f"_{kind}_" in f"_{path.stem}_"), None)


def split_of(path: Path) -> str | None:
    """The split that a file's name says, None where it says none."""
    return next((split for split, end in SPLITS.items() if path.stem.endswith(f"_{end}")), None)


def read_words(path: Path) -> Iterator[OfficialWord]:
    """The questions of a file, one at a time; raises ``DataError`` at the first that is malformed."""
    try:
        with path.open("rb") as file:
            lines: list[str] = []
            offset = at = 0
            for number, raw in enumerate(file, 1):
                at += len(raw)
                line = raw.decode("utf-8").rstrip("\r\n")
                if line.strip():
                    lines.append(line)
                elif lines:
                    yield _parse(path, number - len(lines), lines, offset, at - offset)
                    lines, offset = [], at
                else:
                    offset = at
            if lines:
                yield _parse(path, number - len(lines) + 1, lines, offset, at - offset)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}); expected there: {LAYOUT}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error}); expected there: {LAYOUT}") from error


def context_at(path: Path, offset: int, size: int) -> str:
    """The 20 sentences of the question at this place, one a line."""
    with path.open("rb") as file:
        file.seek(offset)
        lines = file.read(size).decode("utf-8").split("\n")
    kept = [line.rstrip("\r") for line in lines if line.strip()]
    return "\n".join(_unnumbered(line)[1] for line in kept[:CONTEXT])


def _parse(path: Path, first: int, lines: list[str], offset: int, size: int) -> OfficialWord:
    """The question of these lines, the first of which is line ``first`` of the file."""
    for i, line in enumerate(lines):
        number, text = _unnumbered(line)
        if number != str(i + 1) or not text:
            raise _wrong(path, first + i, f"{line[:40]!r}", f"sentence {i + 1} with its number before it")
    if len(lines) != CONTEXT + 1:
        raise _wrong(
            path, first + len(lines) - 1, f"{len(lines) - 1} sentences before the query", f"{CONTEXT}"
        )
    at = first + CONTEXT
    query, *cells = shorten_lines(_unnumbered(lines[-1])[1]).split("\t")
    answer = cells[0].strip() if cells else ""
    candidates = tuple(cells[-1].split("|")) if len(cells) > 1 else ()
    if len(candidates) != CANDIDATES or "" in candidates:
        raise _wrong(path, at, f"{len(candidates)} candidates", f"{CANDIDATES}, parted by |")
    if answer not in candidates:
        raise _wrong(path, at, f"the answer {answer!r}", f"one of the candidates {'|'.join(candidates)}")
    if (found := len(blanks(query))) != 1:
        raise _wrong(path, at, f"{found} blanks in the query", "one XXXXX")
    sentences = tuple(_unnumbered(line)[1] for line in lines[:-1])
    return OfficialWord(sentences, query.strip(), answer, candidates, offset, size)


def _unnumbered(line: str) -> tuple[str, str]:
    number, _, text = line.partition(" ")
    return number, text.strip()


def _wrong(path: Path, line: int, found: str, wanted: str) -> DataError:
    return DataError(f"{path}, line {line}: found {found}; wanted {wanted}")
