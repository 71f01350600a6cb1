"""The ``*.question`` files of CNN and Daily Mail: context and query with markers, and their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.benchmark import Names, Place
from evaluation.benchmarks.files import DataError, check_split
from text.cloze import blanks, shorten_lines

FOLDERS = {"train": "training", "valid": "validation", "test": "test"}
LAYOUT = (
    "questions/{training,validation,test}/*.question: address, context, query, answer, lines @entityN:Name, "
    "with a blank line between"
)
_MARKER = re.compile(r"@entity\d+")
_SENTENCE_END = re.compile(r"(?<= [.?!])(?: (?:''|'|\"|\)))* (?=\S)")
_PARTS = 5


@dataclass(frozen=True, slots=True)
class OfficialEntity:
    """A question with its markers replaced by names; ``names`` are the places of these."""

    article: str
    text: str
    sentences: tuple[Place, ...]
    question: str
    answer: str
    candidates: tuple[str, ...]
    names: Names


def folder_of(data: Path, split: str) -> Path | None:
    """The folder of the split's questions, which may be ``data`` itself; None where there is none.

    Raises ``DataError`` where ``data`` is that of another split.
    """
    for folder in (data / "questions" / FOLDERS[split], data / FOLDERS[split], data):
        if folder.is_dir() and next(folder.glob("*.question"), None) is not None:
            check_split(data, {name: one for one, name in FOLDERS.items()}.get(folder.resolve().name), split)
            return folder
    return None


def read_question(path: Path) -> OfficialEntity:
    """The question of a file; raises ``DataError`` that names the line where it is malformed."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}); expected there: {LAYOUT}") from error
    parts = _parts(lines)
    if len(parts) != _PARTS or any(len(part) != 1 for _, part in parts[:4]):
        raise _wrong(path, 1, f"{len(parts)} parts with a blank line between", f"{_PARTS}: {LAYOUT}")
    (_, [address]), (at, [context]), (asked_at, [query]), (answer_at, [answer]), (first, mapped) = parts
    query = shorten_lines(query)
    mapping = {}
    for i, line in enumerate(mapped):
        marker, _, name = line.partition(":")
        if not _MARKER.fullmatch(marker) or not name.strip():
            raise _wrong(path, first + i, f"{line[:40]!r}", "@entityN:Name")
        mapping[marker] = " ".join(name.split())
    for number, part in ((at, context), (asked_at, query), (answer_at, answer)):
        for marker in _MARKER.findall(part):
            if marker not in mapping:
                raise _wrong(path, number, f"the marker {marker}", "one of those that the last lines name")
    if (found := len(blanks(query))) != 1:
        raise _wrong(path, asked_at, f"{found} blanks in the query", "one @placeholder")
    return _named(path, address, context, query, (answer_at, answer.strip()), mapping)


def _named(
    path: Path, address: str, context: str, query: str, answer: tuple[int, str], mapping: dict[str, str]
) -> OfficialEntity:
    # By first place in the context, then in the query: no order that the markers' numbers could change.
    order = {marker: n for n, marker in enumerate(dict.fromkeys(_MARKER.findall(f"{context} {query}")))}
    candidates = list(dict.fromkeys(_MARKER.findall(context)))
    line, right = answer
    if right not in candidates:
        raise _wrong(path, line, f"the answer {right!r}", "a marker that the context has")
    text, places, markers, cuts = _restore(context, mapping)
    asked, asked_places, asked_markers, _ = _restore(query, mapping)
    names = _distinct([mapping[marker] for marker in candidates])
    return OfficialEntity(
        article=address.strip(),
        text=text,
        sentences=tuple(cuts),
        question=asked,
        answer=names[candidates.index(right)],
        candidates=tuple(names),
        names=Names(
            tuple(places),
            tuple(order[marker] for marker in markers),
            tuple(asked_places),
            tuple(order[marker] for marker in asked_markers),
        ),
    )


def _restore(marked: str, mapping: dict[str, str]) -> tuple[str, list[Place], list[str], list[Place]]:
    """The text with names for markers, their places, the markers there, and the places of its sentences."""
    text, at = "", 0
    places, markers = [], []
    for match in _MARKER.finditer(marked):
        text += marked[at : match.start()]
        name = mapping[match[0]]
        places.append((len(text), len(text) + len(name)))
        markers.append(match[0])
        text += name
        at = match.end()
    text += marked[at:]
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    ends = [end for end in ends if not any(start < end < last for start, last in places)]
    cuts = [
        (start, start + len(text[start:end].rstrip()))
        for start, end in zip([0, *ends], [*ends, len(text)], strict=True)
        if text[start:end].strip()
    ]
    return text, places, markers, cuts


def _distinct(names: list[str]) -> list[str]:
    """The names, a number behind those that another entity has too: they are told apart by their spelling."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _parts(lines: list[str]) -> list[tuple[int, list[str]]]:
    """The lines between blank ones, each part with the number of its first line."""
    parts: list[tuple[int, list[str]]] = []
    blank = True
    for number, line in enumerate(lines, 1):
        if not line.strip():
            blank = True
        elif blank:
            parts.append((number, [line]))
            blank = False
        else:
            parts[-1][1].append(line)
    return parts


def _wrong(path: Path, line: int, found: str, wanted: str) -> DataError:
    return DataError(f"{path}, line {line}: found {found}; wanted {wanted}")
