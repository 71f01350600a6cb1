"""What a retriever returns, and what it promises: a search in two phases, the second of which few have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from indexing.book import Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from encoders.cross_encoder import EncodedPassage
    from indexing.index import BookIndex


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found; scores are comparable within one result list only.

    ``encoded`` is what an encoder said of the passage beside the question, where one read it to find it;
    ``is_near`` whether the retriever thinks that it can hold the answer, by how far it is behind the best.
    """

    passage: Passage
    score: float
    encoded: EncodedPassage | None = field(default=None, compare=False, repr=False)
    is_near: bool = field(default=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Readable:
    """A book as far as it may be read: up to the character ``before``, all of it where that is None."""

    index: BookIndex
    before: int | None

    @property
    def end(self) -> int:
        """The character that nothing may be read from on."""
        return self.index.characters if self.before is None else min(self.before, self.index.characters)

    @property
    def is_limited(self) -> bool:
        """Whether there is a part of it that may not be read."""
        return self.end < self.index.characters

    def read_so_far(self) -> str:
        """Its text, as far as it may be read."""
        return self.index.text(0, self.end) if self.end else ""

    def known_so_far(self) -> str:
        """The same behind its title and its author, which need no page to be read."""
        return "\n".join(filter(None, (self.index.title, self.index.manifest.author, self.read_so_far())))


@dataclass(frozen=True, slots=True)
class BookHit(Hit):
    """A passage found, and the book that it is of."""

    book: Readable = field(kw_only=True, repr=False)


Of = TypeVar("Of", bound="Retriever", covariant=True)


@dataclass(frozen=True, slots=True)
class Search(Generic[Of]):
    """What the first phase found in one book for some questions, ``k`` of which are wanted in the end."""

    retriever: Of
    questions: Sequence[str]
    k: int
    found: list[list[Hit]]


class Retriever(Protocol):
    """Searches the one book it was built from. Retrievers derive from it.

    The first phase is each book's own, the second that of many searches at once, in whatever books, so
    that a model reads their passages in common batches. ``second_phase`` names it in timings, None where
    there is none, and ``passages_read`` is how many passages of a search the model reads in it.
    """

    second_phase: ClassVar[str | None] = None
    passages_read: ClassVar[int] = 0

    def search(self, questions: Sequence[str], k: int, before: int | None = None) -> list[list[Hit]]:
        """At most ``k`` hits per question, best first; ties go to the earlier passage.

        ``before`` is a character offset: no passage that ends after it is returned, so a
        reader who has got that far meets nothing new.
        """
        [found] = self.finish([self.begin(questions, k, before)])
        return found

    def begin(self, questions: Sequence[str], k: int, before: int | None = None) -> Search[Self]:
        """The first phase of a search, for ``finish``; raises ValueError for less than one passage."""
        if k < 1:
            raise ValueError(f"{k} passages asked for; wanted 1 or more")
        return Search(self, questions, k, self.first(questions, k, before))

    @abstractmethod
    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """What the first phase finds: the hits of ``search``, or more of which the second phase chooses."""

    @classmethod
    def finish(cls, searches: Sequence[Search[Self]]) -> list[list[list[Hit]]]:
        """The hits of each search that retrievers of this class began, per question."""
        return [search.found for search in searches]


def best_hits(passages: Sequence[Passage], scores: NDArray[Any], k: int) -> list[Hit]:
    """The ``k`` passages that score most, or all if there are fewer; ties go to the earlier passage.

    ``scores`` has shape (n,) for the first n passages; the others are left out.
    """
    import numpy as np

    if k < len(scores):
        least = np.partition(scores, -k)[-k]
        candidates = np.flatnonzero(scores >= least)
    else:
        candidates = np.arange(len(scores))
    # Stable: the candidates are in story order, and the earlier one must win a tie.
    order = candidates[np.argsort(-scores[candidates], kind="stable")[:k]]
    return [
        Hit(passages[number], score)
        for number, score in zip(order.tolist(), scores[order].tolist(), strict=True)
    ]
