"""Facts of a book: its title page, its characters, its setting and any property asked, each with its place.

The title page is read by rule, characters and places are counted, and the rest is asked of the book's
passages, of which an extractor of properties (Hewlett et al. 2016) reads the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from answering.ask import BadRequest, check_question
from answering.book_qa import BookQA
from answering.fact_questions import CHARACTER_PROPERTIES, FactQuestion, book_question, character_question
from answering.fact_values import FactValue, Readers, asked_values
from answering.main_characters import Cast
from answering.of_itself import (
    AUTHOR,
    CHARACTERS,
    FIRST_PUBLISHED,
    GENRE,
    LOCATION,
    TITLE,
    OfItself,
    Told,
)
from answering.person_facts import PersonFacts
from indexing.index import BookIndex
from indexing.kept_rows import FORM, kept, read_rows
from readers import DEFAULT_EXTRACTOR, open_reader
from retrieval.hits import Readable

if TYPE_CHECKING:
    from pydantic import TypeAdapter

VERSION = 9  # of how facts are found: others are kept apart
MOST_PROPERTIES = 20
LONGEST_PROPERTY = 200

BOOK_PROPERTIES = (TITLE, AUTHOR, FIRST_PUBLISHED, GENRE, CHARACTERS, LOCATION)

_OF_SOMEBODY = re.compile(rf"(?P<property>{'|'.join(CHARACTER_PROPERTIES)}) of (?P<of>\S.*)", re.I)


@dataclass(frozen=True, slots=True)
class Fact:
    """The ``values`` of a property of the book, or of ``of``, somebody in it; the surest first."""

    property: str
    of: str | None
    values: tuple[FactValue, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a book, as far as it is told; ``not_said`` names those that it does not say.

    ``version`` is the index's.
    """

    book_id: str
    version: str
    facts: tuple[Fact, ...]
    not_said: tuple[str, ...]


def check_properties(properties: Sequence[str]) -> tuple[str, ...]:
    """The properties on one line each, each once; raises ``BadRequest`` for one that cannot be asked.

    A string is one of them.
    """
    found = []
    for one in (properties,) if isinstance(properties, str) else properties:
        if not isinstance(one, str):
            raise BadRequest("property", f"the property is {one!r:.40}; wanted text")
        if not any(character.isalnum() for character in one):
            raise BadRequest("property", f"the property is empty ({one[:20]!r}); wanted at least one word")
        if len(one) > LONGEST_PROPERTY:
            raise BadRequest(
                "property", f"the property has {len(one):,} characters; wanted at most {LONGEST_PROPERTY}"
            )
        try:
            check_question(one)
        except BadRequest as error:
            raise BadRequest("property", str(error).replace("question", "property")) from None
        found.append(" ".join(one.split()))
    if len(found) > MOST_PROPERTIES:
        raise BadRequest("property", f"{len(found)} properties; wanted at most {MOST_PROPERTIES}")
    return tuple(dict.fromkeys(found))


class FactFinder:
    """Finds facts of the books of ``qa`` and keeps them in the folder ``cache``.

    ``extractor`` is the full name of a reader of WikiReading's. The models are not guarded, as ``BookQA``'s
    are not.
    """

    def __init__(
        self, qa: BookQA, cache: Path, retriever: str, reader: str, extractor: str = DEFAULT_EXTRACTOR
    ) -> None:
        self._qa = qa
        self._cache = cache
        self._retriever, self._reader = retriever, reader
        self._extractor = extractor

    def known(self, index: BookIndex, before: int | None, properties: Sequence[str] = ()) -> Facts | None:
        """The facts where they were found before, else None; no model is loaded."""
        rows = read_rows(self._path(index, Readable(index, before).end, check_properties(properties)))
        return None if rows is None else _adapter().validate_python(rows[0])

    def find(self, index: BookIndex, before: int | None, properties: Sequence[str] = ()) -> Facts:
        """The facts of a book by its text before the character ``before`` alone.

        All of ``BOOK_PROPERTIES``, and ``CHARACTER_PROPERTIES`` of each main character, or the ``properties``
        asked: any of these, one of them of somebody (``spouse of Ines``), or any words. Raises
        ``BadRequest`` and what ``BookQA.answer_many`` does.
        """
        asked = check_properties(properties)
        limit = Readable(index, before).end
        rows = kept(
            self._path(index, limit, asked),
            lambda: [asdict(self._found(index, limit, asked))],
        )
        return _adapter().validate_python(rows[0])

    def _found(self, index: BookIndex, limit: int, properties: Sequence[str]) -> Facts:
        of_itself = OfItself(index, limit, self._cache)
        wanted = [
            one
            for name in properties or (*BOOK_PROPERTIES, *CHARACTER_PROPERTIES)
            for one in _questions(name, of_itself.cast)
        ]
        of_persons = PersonFacts(of_itself)
        told = {
            one: tuple(map(_value, of_itself.told(one.name)))
            if one.of is None
            else of_persons.values(one.name, one.of)
            for one in wanted
        }
        values: Mapping[FactQuestion, tuple[FactValue, ...]] = {}
        asked = [one for one in wanted if _is_asked(one, told[one])]
        if limit and asked:
            readers = Readers(self._retriever, self._reader, open_reader(self._extractor))
            found = asked_values(self._qa, index, limit, of_itself.cast, asked, readers)
            values = dict(zip(asked, found, strict=True))
        facts = tuple(Fact(one.name, one.of, told.get(one) or values.get(one, ())) for one in wanted)
        not_said = tuple(
            one.property if one.of is None else f"{one.property} of {one.of}"
            for one in facts
            if not any(value.answerable for value in one.values)
        )
        return Facts(index.id, index.version, facts, not_said)

    def _path(self, index: BookIndex, limit: int, properties: Sequence[str]) -> Path:
        parts = (
            FORM,
            VERSION,
            index.id,
            index.version,
            limit,
            self._retriever,
            self._reader,
            self._extractor,
        )
        digest = hashlib.sha256("\n".join([*map(str, parts), *properties]).encode("utf-8", "replace"))
        return self._cache / "facts" / f"{digest.hexdigest()[:20]}.jsonl"


_NEVER_ASKED = (TITLE, AUTHOR, FIRST_PUBLISHED, CHARACTERS)  # a reader would take another's for them


def _is_asked(wanted: FactQuestion, told: tuple[FactValue, ...] | None) -> bool:
    """Whether a property is asked of passages: one that is not told; one that was counted is not."""
    if wanted.of is not None:
        return told is None
    return not told and wanted.name not in _NEVER_ASKED


def _questions(name: str, cast: Cast) -> Iterator[FactQuestion]:
    """The questions that a property is, one of each main character where it is one of theirs."""
    if match := _OF_SOMEBODY.fullmatch(name):
        person = cast.person(match["of"])
        of = match["of"] if person is None else person.name
        yield character_question(match["property"].lower(), of)
    elif name.lower() in CHARACTER_PROPERTIES:
        for one in cast.main():
            yield character_question(name.lower(), one.name)
    else:
        yield book_question(name.lower() if name.lower() in BOOK_PROPERTIES else name)


def _value(told: Told) -> FactValue:
    return FactValue(
        told.text, told.confidence, True, told.evidence, told.source, told.aliases, told.mentions
    )


@cache
def _adapter() -> TypeAdapter[Facts]:
    from pydantic import TypeAdapter

    return TypeAdapter(Facts)
