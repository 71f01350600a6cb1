"""The books of a folder, indexed and asked in this process; it gives what ``service.client`` gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from answering.ask import Ask, BadRequest, check_count, limit_before
from answering.book_qa import BookQA
from answering.facts import FactFinder
from indexing.build import BuildSettings, build_book
from indexing.formats.read import read_book
from indexing.sources.locate import find
from readers import DEFAULT_READER
from retrieval import DEFAULT_RETRIEVER
from service.book_schemas import BookOut
from service.client_requests import Limits
from service.overview_schemas import FactsOut
from service.schemas import AnswerResponse, SearchResponse
from service.settings import load_settings
from text.errors import StoryQAError


class Library:
    """The books indexed in the folder ``path``, which need not exist before the first one is.

    ``path`` is what ``storyqa --store`` takes: the address of an object store, too. Everything raises
    ``StoryQAError``, whose message says what to do. Models are loaded by the first question, and not guarded:
    call from one thread at a time.
    """

    def __init__(
        self, path: Path | str, *, retriever: str = DEFAULT_RETRIEVER, reader: str = DEFAULT_READER
    ) -> None:
        self._retriever = retriever
        self._reader = reader
        self._settings = load_settings(path)
        self.path = self._settings.store
        self._qa = BookQA.of(self._settings.configuration())

    def index(
        self, source: Path | str, *, id: str | None = None, title: str | None = None, force: bool = False
    ) -> BookOut:
        """Index a book, unless it is there already: a file, an http(s) address or ``gutenberg:ID``.

        ``force`` indexes it anew, and in place of another book of that ``id``. A folder is refused where it
        holds several books.
        """
        sources = list(find(str(source), self._settings, left_out=self._settings.own_folders))
        if len(sources) != 1:
            raise StoryQAError(f"{source} holds {len(sources)} books; give them one by one")
        book = read_book(sources[0], id, title)
        outcome = build_book(book, BuildSettings(), self._qa.store, force)
        assert outcome.manifest is not None, "what fails is raised"
        return BookOut.of(outcome.manifest)

    def books(self, *, after: str = "", limit: int | None = None) -> list[BookOut]:
        """Every book whose index is whole, sorted by id; of those ``after`` an id, at most ``limit``."""
        if limit is not None:
            check_count("limit", limit)
        return [BookOut.of(card) for card in self._qa.store.page(after, limit)[0]]

    def ask(
        self,
        book: str | Sequence[str],
        question: str,
        *,
        before: Limits = None,
        k: int = 5,
        n_best: int = 3,
        candidates: Sequence[str] = (),
        retriever: str | None = None,
        reader: str | None = None,
    ) -> AnswerResponse:
        """The answer to a question, and where it stands.

        ``book`` is an id, a list of ids, ``shelf:NAME`` or ``*`` for all. ``k`` passages are read, up to
        ``before`` alone: a character offset or a share such as ``"40%"``, of each book or by id.
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
        )
        self._qa.check(asked)
        return AnswerResponse.of(self._qa.answer(asked))

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
        return SearchResponse.of(self._qa.search_many([asked])[0])

    def facts(
        self, book: str, properties: Sequence[str] = (), *, before: int | str | None = None
    ) -> FactsOut:
        """The facts of a book, each with its place: author, characters, setting, and what is not said.

        Of ``properties`` those alone: ``"author"``, ``"spouse of Ines"``, any words. ``before`` is as for
        ``ask``.
        """
        index = self._qa.open(book)
        finder = FactFinder(
            self._qa, self._settings.cache, self._retriever, self._reader, self._settings.extractor
        )
        return FactsOut.model_validate(finder.find(index, limit_before(before, index.characters), properties))

    def text(self, book: str, start: int = 0, end: int | None = None) -> str:
        """``text[start:end]`` of a book; offsets are Unicode code points."""
        index = self._qa.open(book)
        end = index.characters if end is None else min(end, index.characters)
        if not 0 <= start <= end:
            raise BadRequest("start", f"start {start} and end {end} bound nothing of {book!r}")
        return index.text(start, end)

    def remove(self, book: str) -> None:
        """Take a book out of the folder."""
        self._qa.store.remove(book)


def _books(book: str | Sequence[str]) -> str:
    return book if isinstance(book, str) else ",".join(book)
