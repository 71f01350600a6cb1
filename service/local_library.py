"""The books of a folder, indexed and asked in this process; it gives what ``service.client`` gives."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from answering import profiles, recaps
from answering.ask import Ask, BadRequest, Turn, check_count, limit_before
from answering.book_qa import BookQA
from answering.facts import FactFinder, check_properties
from answering.quotes import story_text
from encoders.sizes import default_encoder
from indexing.build import BuildSettings, build_book
from indexing.characters import named, persons
from indexing.formats.read import read_book
from indexing.index import BookIndex
from indexing.sources.locate import find
from readers import spec_of
from readers.reading import OnWords
from retrieval import RETRIEVERS
from service.book_schemas import BookDetails, BookOut, CharacterOut
from service.client_requests import Limits
from service.overview_schemas import ChapterRecapOut, FactsOut, ProfileOut, RecapOut
from service.schemas import AnswerResponse, SearchResponse, TurnIn
from service.settings import load_settings
from text.errors import StoryQAError
from text.registry import check_name


class Library:
    """The books indexed in the folder ``path``, which need not exist before the first one is.

    ``path`` is what ``storyqa --store`` takes: the address of an object store, too; without it, it is the
    store of the commands. ``retriever`` and ``reader`` are those of ``STORYQA_RETRIEVER`` and
    ``STORYQA_READER`` where none is named. Everything raises ``StoryQAError``, whose message says what to do.

    Models are loaded by the first question. It may be shared between threads, whose questions wait for one
    another; a copy, or one that is sent to another process, opens the books anew.
    """

    def __init__(
        self, path: Path | str | None = None, *, retriever: str | None = None, reader: str | None = None
    ) -> None:
        self._settings = load_settings(path)
        self._retriever = retriever or self._settings.retriever
        self._reader = reader or self._settings.reader
        check_name("retriever", self._retriever, RETRIEVERS)
        spec_of(self._reader)
        self.path = self._settings.store
        self._qa = BookQA.of(self._settings.configuration())
        self._models = threading.Lock()  # which are not guarded

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.path, retriever=self._retriever, reader=self._reader), ()

    def index(
        self,
        source: Path | str,
        *,
        id: str | None = None,
        title: str | None = None,
        encoder: str | None = None,
        everything: bool = False,
        force: bool = False,
    ) -> BookOut:
        """Index a book, unless it is there already: a file, an http(s) address or ``gutenberg:ID``.

        ``force`` indexes it anew, and in place of another book of that ``id``. ``everything`` has what stands
        around the story searched, too. A folder is refused where it holds several books.
        """
        sources = list(find(str(source), self._settings, left_out=self._settings.own_folders))
        if len(sources) != 1:
            raise StoryQAError(f"{source} holds {len(sources)} books; give them one by one")
        book = read_book(sources[0], id, title, everything)
        settings = BuildSettings(encoder=encoder or default_encoder())
        with self._models:
            outcome = build_book(book, settings, self._qa.store, force)
        assert outcome.manifest is not None, "what fails is raised"
        return BookOut.of(outcome.manifest)

    def books(self, *, after: str = "", limit: int | None = None) -> list[BookOut]:
        """Every book whose index is whole, sorted by id; of those ``after`` an id, at most ``limit``."""
        if limit is not None:
            check_count("limit", limit)
        return [BookOut.of(card) for card in self._qa.store.page(after, limit)[0]]

    def book(self, book: str) -> BookDetails:
        """One book, with its chapters."""
        return BookDetails.of_all(self._open(book))

    def ask(
        self,
        book: str | Sequence[str],
        question: str,
        *,
        before: Limits = None,
        k: int = 5,
        n_best: int = 3,
        candidates: Sequence[str] = (),
        conversation: Sequence[Mapping[str, str]] = (),
        retriever: str | None = None,
        reader: str | None = None,
        on_words: OnWords | None = None,
    ) -> AnswerResponse:
        """The answer to a question, and where it stands.

        ``book`` is an id, a list of ids, ``shelf:NAME`` or ``*`` for all. ``k`` passages are read, up to
        ``before`` alone: a character offset or a share such as ``"40%"``, of each book or by id.
        ``conversation`` is what was asked and answered before, ``{"question": .., "answer": ..}`` each.
        ``on_words`` hears a language model's words as it writes them, which are a draft.
        """
        if isinstance(candidates, str):  # whose letters would be the candidates
            raise BadRequest("candidates", f"candidates is {candidates[:20]!r}; wanted a list of them")
        asked = Ask(
            _books(book),
            question,
            k,
            retriever or self._retriever,
            reader or self._reader,
            n_best,
            before,
            tuple(candidates),
            tuple(map(_turn, conversation)),
        )
        self._qa.check(asked)
        with self._models:
            [cited] = self._qa.answer_many([asked], on_words=[on_words])
        return AnswerResponse.of(cited)

    def search(
        self,
        book: str | Sequence[str],
        question: str,
        *,
        before: Limits = None,
        k: int = 5,
        retriever: str | None = None,
    ) -> SearchResponse:
        """The passages that fit a question, best first; as ``ask`` has it."""
        asked = Ask(_books(book), question, k, retriever or self._retriever, before=before)
        self._qa.check(asked)
        with self._models:
            return SearchResponse.of(self._qa.search_many([asked])[0])

    def characters(self, book: str, *, before: int | str | None = None) -> list[CharacterOut]:
        """Who is in a book, the most frequent first."""
        index, limit = _up_to(self._open(book), before)
        found = persons(named(story_text(index, limit), self._settings.cache))
        return [CharacterOut.named(one, index, limit) for one in found]

    def who(
        self, book: str, name: str, *, before: int | str | None = None, k: int = profiles.SENTENCES
    ) -> ProfileOut:
        """Who somebody in a book is, so far, in ``k`` sentences at most."""
        check_count("k", k, profiles.MOST_SENTENCES)
        index, limit = _up_to(self._open(book), before)
        with self._models:
            found = profiles.profile(index, name, limit, self._settings.cache, k)
        return ProfileOut.model_validate(found)

    def recap(
        self, book: str, *, before: int | str | None = None, sentences: int = recaps.SENTENCES
    ) -> RecapOut:
        """What has happened so far, chapter by chapter, in so many sentences each."""
        check_count("sentences", sentences, recaps.MOST_SENTENCES)
        found = recaps.recap(*_up_to(self._open(book), before), sentences)
        return RecapOut(chapters=[ChapterRecapOut.model_validate(one) for one in found])

    def facts(
        self, book: str, properties: Sequence[str] = (), *, before: int | str | None = None
    ) -> FactsOut:
        """The facts of a book, each with its place: author, characters, setting, and what is not said.

        Of ``properties`` those alone: ``"author"``, ``"spouse of Ines"``, any words. ``before`` is as for
        ``ask``.
        """
        asked = check_properties(properties)
        index, limit = _up_to(self._open(book), before)
        finder = FactFinder(
            self._qa, self._settings.cache, self._retriever, self._reader, self._settings.extractor
        )
        with self._models:
            return FactsOut.model_validate(finder.find(index, limit, asked))

    def text(self, book: str, start: int = 0, end: int | None = None) -> str:
        """``text[start:end]`` of a book; offsets are Unicode code points."""
        index = self._open(book)
        end = index.characters if end is None else min(end, index.characters)
        if not 0 <= start <= end:
            raise BadRequest("start", f"start {start} and end {end} bound nothing of {book!r}")
        return index.text(start, end)

    def remove(self, book: str) -> None:
        """Take a book out of the folder."""
        self._qa.store.remove(_book(book))

    def _open(self, book: str) -> BookIndex:
        return self._qa.open(_book(book))


def _up_to(index: BookIndex, before: int | str | None) -> tuple[BookIndex, int]:
    """The book, and the character that nothing may be told from on."""
    return index, limit_before(before, index.characters)


def _book(book: str) -> str:
    """The id of one book; raises ``BadRequest`` where it is no text."""
    if not isinstance(book, str):
        raise BadRequest("book", f"the book is {book!r:.40}; wanted the id of one")
    return book


def _books(book: str | Sequence[str]) -> str:
    """The books as ``Ask`` takes them; raises ``BadRequest`` where they are no texts, or none."""
    ids = [book] if isinstance(book, str) else [*book] if isinstance(book, Iterable) else []
    if not ids or not all(isinstance(id, str) for id in ids):
        raise BadRequest(
            "book", f"the book is {book!r:.40}; wanted an id, a list of ids, 'shelf:NAME' or '*' for all"
        )
    return ",".join(ids)


def _turn(given: Mapping[str, str]) -> Turn:
    try:
        return Turn(**TurnIn.model_validate(given).model_dump())
    except ValidationError:
        raise BadRequest(
            "conversation", f"{given!r:.80} is no turn; wanted {{'question': '..', 'answer': '..'}}"
        ) from None
