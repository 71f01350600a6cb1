"""Facts of whole books, scored by a list of what is known of them: author, year, place, names of a summary.

The list is a CSV of NarrativeQA's documents (``document_id``, ``title``, ``author``, ``first_published``,
``narrative_location``, ``summary_names``; several values are parted by semicolons, names stand by how often
the summary has them). An author is right who has all words of one that is listed, or all of whose words one
has; a place that is listed, or whose name holds one that is, or is held by it. The two that names tell are
asked of the book's passages, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from answering.ask import Ask
from answering.book_qa import BookQA
from answering.configuration import Configuration
from answering.facts import BOOK_PROPERTIES, FactFinder, Facts
from answering.of_itself import AUTHOR, CHARACTERS, FIRST_PUBLISHED, LOCATION
from evaluation.benchmarks.files import DataError, read_rows
from evaluation.benchmarks.narrativeqa import read_story
from evaluation.run import Progress, check_indexes, index_books

COLUMNS = ("document_id", "title", "author", "first_published", "narrative_location", "summary_names")
QUESTIONS = ("Who is the main character?", "Where does the story take place?")
_LAYOUT = "the facts of NarrativeQA's books, a CSV with a row a book"
_NAMES = 3  # of a summary's that are looked for among the main characters
_CHARACTERS = 5
_INSIDE = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+\b")


@dataclass(frozen=True, slots=True)
class Scored:
    """What was found of one book beside what is known; None where nothing is known.

    ``names`` are how many of the summary's first names are in those of the main characters, and
    ``baseline_names`` in its most frequent capitalised words inside sentences; ``first`` and
    ``baseline_first`` whether its first name is in the first of them. ``read_first`` and ``read_place`` are
    that of what the reader says to ``QUESTIONS``, by passages. ``quoted`` says that every value that has a
    place is in the book's own text.
    """

    id: str
    title: str
    author: bool | None
    year: bool | None
    place: bool | None
    names: int
    wanted: int
    first: bool
    baseline_names: int
    baseline_first: bool
    read_first: bool
    read_place: bool | None
    quoted: bool
    found: Mapping[str, list[str]]


def measure(
    data: Path,
    stories: Path,
    configuration: Configuration,
    models: tuple[str, str, str],
    limit: int | None,
    progress: Progress,
) -> list[Scored]:
    """The facts of each book of the list ``data`` whose story the folder ``stories`` of NarrativeQA has.

    ``models`` are retriever, reader and extractor as ``FactFinder`` has them. Raises ``DataError``.
    """
    path = data / "book_facts.csv" if data.is_dir() else data
    rows = read_rows(path, COLUMNS, _LAYOUT)
    known = {one["document_id"]: one for one in rows}
    paths = {id: stories / "tmp" / f"{id}.content" for id in known}
    ids = [id for id, story in paths.items() if story.exists()][:limit]
    if not ids:
        raise DataError(f"{stories / 'tmp'} holds the story of no book of {path}")
    qa = BookQA.of(configuration)
    built = index_books({id: partial(read_story, paths[id], id) for id in ids}, ids, qa.store, progress)
    finder = FactFinder(qa, configuration.cache, *models)
    scored = []
    for number, id in enumerate(ids, start=1):
        index = qa.open(id)
        found = finder.find(index, None, BOOK_PROPERTIES)
        asks = [Ask(id, question, retriever=models[0], reader=models[1]) for question in QUESTIONS]
        read = [of_one[0].text if of_one else "" for of_one in qa.read(qa.find(asks))]
        scored.append(score(known[id], found, index.text(0, index.characters), read))
        check_indexes(qa.store, {id: built[id]})
        progress("reading", number, len(ids))
    return scored


def score(known: Mapping[str, str], found: Facts, text: str, read: Sequence[str]) -> Scored:
    """The facts ``found`` of a book of that ``text``, and what was ``read``, beside what is ``known``."""
    values = {fact.property: [one for one in fact.values if one.answerable] for fact in found.facts}
    texts = {property: [one.text for one in of_one] for property, of_one in values.items()}
    names = _several(known["summary_names"])[:_NAMES]
    characters = [
        {word for name in (one.text, *one.aliases) for word in _words(name)} for one in values[CHARACTERS]
    ][:_CHARACTERS]
    frequent = Counter(_INSIDE.findall(text)).most_common(_CHARACTERS)
    counted = [set(_words(word)) for word, _ in frequent]
    return Scored(
        found.book_id,
        known["title"],
        _is_known(known["author"], texts[AUTHOR], _same_words),
        _is_known(known["first_published"], texts[FIRST_PUBLISHED], lambda a, b: a == b),
        _is_known(known["narrative_location"], texts[LOCATION], _same_words),
        _hits(names, characters),
        len(names),
        bool(_hits(names[:1], characters[:1])),
        _hits(names, counted),
        bool(_hits(names[:1], counted[:1])),
        bool(_hits(names[:1], [set(_words(read[0]))])),
        _is_known(known["narrative_location"], read[1:], _same_words),
        all(
            text[one.evidence.start : one.evidence.end] == one.evidence.text
            for of_one in values.values()
            for one in of_one
            if one.evidence is not None
        ),
        texts,
    )


def describe(scored: Sequence[Scored]) -> dict[str, Any]:
    """The counts and shares over all books, and each book's."""

    def counts(name: str) -> dict[str, int]:
        known = [getattr(one, name) for one in scored if getattr(one, name) is not None]
        return {"right": sum(known), "known": len(known)}

    wanted = max(1, sum(one.wanted for one in scored))
    return {
        "books": len(scored),
        **{name: counts(name) for name in ("author", "year", "place", "read_place")},
        "names": round(sum(one.names for one in scored) / wanted, 4),
        "first": round(sum(one.first for one in scored) / len(scored), 4),
        "baseline_names": round(sum(one.baseline_names for one in scored) / wanted, 4),
        "baseline_first": round(sum(one.baseline_first for one in scored) / len(scored), 4),
        "read_first": round(sum(one.read_first for one in scored) / len(scored), 4),
        "quoted": all(one.quoted for one in scored),
        "by_book": [asdict(one) for one in scored],
    }


def _is_known(known: str, values: Sequence[str], same: Any) -> bool | None:
    """Whether the first value is one of those known; None where none is."""
    wanted = _several(known)
    if not wanted:
        return None
    return bool(values) and any(same(one, values[0]) for one in wanted)


def _same_words(one: str, other: str) -> bool:
    first, second = set(_words(one)), set(_words(other))
    return bool(first and second) and (first <= second or second <= first)


def _hits(names: Sequence[str], characters: Sequence[set[str]]) -> int:
    return sum(any(set(_words(name)) <= words for words in characters) for name in names)


def _several(cell: str) -> list[str]:
    return [one.strip() for one in cell.split(";") if one.strip()]


def _words(text: str) -> list[str]:
    """The words of a text in lower case, accents left out."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.findall(r"\w+", plain.casefold())
