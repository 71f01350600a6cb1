"""Questions about whole books, and answers with their exact places: the names for programs.

``Library`` answers in this process, from a folder of indexed books; ``Client`` and ``AsyncClient`` ask a
running ``storyqa serve``. All three give the same records. What is not named here may change at any time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indexing.errors import IndexMismatch, SourceError, UnknownBook
    from service.async_client import AsyncClient
    from service.book_schemas import BookDetails, BookOut, ChapterOut, CharacterOut, LeftOutOut, PlaceOut
    from service.client import Client
    from service.client_requests import JobFailed, JobStatus, Patience, ServiceBusy, ServiceError
    from service.local_library import Library
    from service.overview_schemas import (
        ChapterRecapOut,
        FactOut,
        FactsOut,
        FactValueOut,
        ProfileOut,
        QuoteOut,
        RecapOut,
    )
    from service.schemas import (
        AnswerResponse,
        CandidateOut,
        EvidenceOut,
        HitOut,
        PassageOut,
        ReaderOut,
        SearchResponse,
        ShelfOut,
        Version,
        WordsOut,
    )
    from text.errors import StoryQAError

    __version__: str

# Imported when they are first used: `import storyqa` costs nothing.
_WHERE = {
    "Library": "service.local_library",
    "Client": "service.client",
    "AsyncClient": "service.async_client",
    "Patience": "service.client_requests",
    "JobStatus": "service.client_requests",
    "JobFailed": "service.client_requests",
    "ServiceError": "service.client_requests",
    "ServiceBusy": "service.client_requests",
    "AnswerResponse": "service.schemas",
    "CandidateOut": "service.schemas",
    "EvidenceOut": "service.schemas",
    "HitOut": "service.schemas",
    "PassageOut": "service.schemas",
    "SearchResponse": "service.schemas",
    "ShelfOut": "service.schemas",
    "ReaderOut": "service.schemas",
    "Version": "service.schemas",
    "WordsOut": "service.schemas",
    "FactsOut": "service.overview_schemas",
    "FactOut": "service.overview_schemas",
    "FactValueOut": "service.overview_schemas",
    "ProfileOut": "service.overview_schemas",
    "RecapOut": "service.overview_schemas",
    "ChapterRecapOut": "service.overview_schemas",
    "QuoteOut": "service.overview_schemas",
    "BookDetails": "service.book_schemas",
    "BookOut": "service.book_schemas",
    "ChapterOut": "service.book_schemas",
    "CharacterOut": "service.book_schemas",
    "LeftOutOut": "service.book_schemas",
    "PlaceOut": "service.book_schemas",
    "IndexMismatch": "indexing.errors",
    "SourceError": "indexing.errors",
    "UnknownBook": "indexing.errors",
    "StoryQAError": "text.errors",
}

__all__ = [
    "AnswerResponse",
    "AsyncClient",
    "BookDetails",
    "BookOut",
    "CandidateOut",
    "ChapterOut",
    "ChapterRecapOut",
    "CharacterOut",
    "Client",
    "EvidenceOut",
    "FactOut",
    "FactValueOut",
    "FactsOut",
    "HitOut",
    "IndexMismatch",
    "JobFailed",
    "JobStatus",
    "LeftOutOut",
    "Library",
    "PassageOut",
    "Patience",
    "PlaceOut",
    "ProfileOut",
    "QuoteOut",
    "ReaderOut",
    "RecapOut",
    "SearchResponse",
    "ServiceBusy",
    "ServiceError",
    "ShelfOut",
    "SourceError",
    "StoryQAError",
    "UnknownBook",
    "Version",
    "WordsOut",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("service.version").installed_version()
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_WHERE[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
