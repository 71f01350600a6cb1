"""What can be told of a book without a question: who is in it, who somebody is, what has happened."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi.concurrency import run_in_threadpool

from answering.ask import BadRequest, limit_before
from answering.book_qa import BookQA
from answering.facts import FactFinder, check_properties
from answering.profiles import SENTENCES as PROFILE_SENTENCES
from answering.profiles import profile
from answering.quotes import story_text
from answering.recaps import SENTENCES as RECAP_SENTENCES
from answering.recaps import recap
from indexing.characters import named, persons
from indexing.index import BookIndex
from service.book_schemas import CharacterOut
from service.load.batching import Batcher
from service.overview_schemas import ChapterRecapOut, FactsOut, ProfileOut, RecapOut
from service.settings import Settings


class Overviews:
    """The overviews of the books of ``qa``; what models read for them is read between the batches.

    The cache of ``settings`` keeps the names and the facts found in books. ``before`` is as ``Ask`` has it,
    and ``field`` what an error calls it. All raise ``UnknownBook``, ``IndexMismatch`` and ``BadRequest``.
    """

    def __init__(self, qa: BookQA, batcher: Batcher, settings: Settings) -> None:
        self._qa = qa
        self._batcher = batcher
        self._cache = settings.cache
        self._facts = FactFinder(qa, settings.cache, settings.retriever, settings.reader, settings.extractor)

    async def characters(
        self, book_id: str, before: int | str | None, field: str = "query/before"
    ) -> list[CharacterOut]:
        """Who is in a book."""
        index, limit = await self.opened(book_id, before, field)
        found = await run_in_threadpool(lambda: persons(named(story_text(index, limit), self._cache)))
        return [CharacterOut.named(one, index, limit) for one in found]

    async def who(
        self,
        book_id: str,
        name: str,
        before: int | str | None,
        k: int = PROFILE_SENTENCES,
        field: str = "query/before",
    ) -> ProfileOut:
        """Who somebody is; raises ``UnknownCharacter`` too."""
        index, limit = await self.opened(book_id, before, field)
        async with self._batcher.deadline():
            found = await self._batcher.run(profile, index, name, limit, self._cache, k)
        return ProfileOut.model_validate(found)

    async def recap(
        self,
        book_id: str,
        before: int | str | None,
        sentences: int = RECAP_SENTENCES,
        field: str = "query/before",
    ) -> RecapOut:
        """What has happened, chapter by chapter."""
        index, limit = await self.opened(book_id, before, field)
        found = await run_in_threadpool(recap, index, limit, sentences)
        return RecapOut(chapters=[ChapterRecapOut.model_validate(one) for one in found])

    async def facts(
        self,
        book_id: str,
        properties: Sequence[str],
        before: int | str | None,
        field: str = "query/",
    ) -> FactsOut:
        """The facts of a book; errors call ``before`` and ``property`` so behind ``field``."""
        index, limit = await self.opened(book_id, before, f"{field}before")
        try:
            properties = check_properties(properties)
        except BadRequest as error:
            raise BadRequest(f"{field}property", str(error)) from None
        found = await run_in_threadpool(self._facts.known, index, limit, properties)
        if found is None:
            async with self._batcher.deadline():
                found = await self._batcher.run(self._facts.find, index, limit, properties)
        return FactsOut.model_validate(found)

    async def opened(self, book_id: str, before: int | str | None, field: str) -> tuple[BookIndex, int]:
        """The book, and the character that nothing may be told from on."""
        index = await run_in_threadpool(self._qa.open, book_id)
        try:
            return index, limit_before(before, index.characters)
        except BadRequest as error:
            raise BadRequest(field, str(error)) from None
