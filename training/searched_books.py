"""Documents as books that are searched: all fairy tales in one, every full story by itself."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from evaluation.benchmarks.benchmark import Place
from indexing.book import Book
from indexing.build import build_book
from indexing.ids import slug
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from retrieval.hybrid import HybridRetriever
from retrieval.rerank import CANDIDATES
from text.spans import overlaps
from training.context_sampling import Example, Sampling, exact_targets, example_of
from training.corpora.corpus import Document, LabelledQuestion
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.narrativeqa import STORIES
from training.corpora.novels import NOVELS
from training.distant_supervision import gold_passages

TALES = "fairy-tales"  # the id of the book that all of them make, as in one that is long
BETWEEN = "\n\n"
SHOWN = 5  # passages of an example
RIGHT = 2  # of them at most, that answer
WITHOUT_SHARE = 0.1  # of the questions about fairy tales and novels are shown without what answers them

Tell = Callable[[str, int, int], None]


def books_to_search(documents: Sequence[Document]) -> list[Book]:
    """The books that passages are found in: all fairy tales in one, every full story by itself."""
    return [
        Book(id, id, BETWEEN.join(document.text for document in of_book), source=id)
        for id, of_book in _by_book(documents).items()
    ]


def book_of(document: Document) -> str:
    """The id of the book in which a document's passages are found."""
    return TALES if document.kind == FAIRYTALES else slug(document.name)


def _by_book(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """The documents of each book in order, each once."""
    found: dict[str, list[Document]] = defaultdict(list)
    for document in {document.name: document for document in documents}.values():
        found[book_of(document)].append(document)
    return found


@dataclass(frozen=True, slots=True)
class _Found:
    """Places in a book that answer a question, and others that are found for it; the best first."""

    right: tuple[Place, ...]
    others: tuple[Place, ...]


class SearchedBooks:
    """Shows questions beside what answering finds for them: the hardest negatives are what it mistakes.

    Of fairy tales, full stories and novels. Candidates are the reranker's, by BM25 and the shipped
    bi-encoder: hard negatives of the retriever at work (Xiong et al. 2021, section 3).
    """

    def __init__(self, documents: Sequence[Document], tell: Tell) -> None:
        """Builds the books' indexes and searches them; ``tell(step, done, of)`` is told how far that is."""
        searched = [one for one in documents if one.kind in (FAIRYTALES, STORIES, NOVELS)]
        by_book = _by_book(searched)
        books = books_to_search(searched)
        self._texts = {book.id: book.text for book in books}
        self._found: dict[tuple[str, str], _Found] = {}
        with TemporaryDirectory() as folder:
            store = IndexStore(folder)
            for done, book in enumerate(books, 1):
                build_book(book, BuildSettings(), store)
                retriever = HybridRetriever(store.open(book.id))
                start = 0
                for document in by_book[book.id]:
                    self._search(retriever, document, start)
                    start += len(document.text) + len(BETWEEN)
                tell("searching for what is to be read", done, len(books))

    def _search(self, retriever: HybridRetriever, document: Document, start: int) -> None:
        """Find what belongs to a document's questions; it begins at ``start`` in its book."""
        hits = retriever.search([question.text for question in document.questions], CANDIDATES)
        for question, found in zip(document.questions, hits, strict=True):
            gold = question.gold
            if document.kind != FAIRYTALES:
                gold = tuple(document.passages[number] for number in gold_passages(document, question))
            if not gold and document.kind != NOVELS:
                continue  # nobody knows; of a novel, that it does not answer
            gold = tuple((start + first, start + last) for first, last in gold)
            places = [(hit.passage.start, hit.passage.end) for hit in found]
            # What was not found is learnt all the same.
            right = tuple(place for place in places if overlaps(place, gold)) or gold[:1]
            others = tuple(place for place in places if place not in right)
            self._found[document.name, question.text] = _Found(right[:RIGHT], others)

    def sample(
        self, document: Document, question: LabelledQuestion, sampling: Sampling, rng: random.Random
    ) -> Example | None:
        """The question beside some of what is found for it; None where nobody knows what answers it."""
        found = self._found.get((document.name, question.text))
        if found is None:
            return None
        right, others = found.right, found.others
        if document.kind != STORIES and len(others) >= SHOWN and rng.random() < WITHOUT_SHARE:
            right = ()  # not so where right is only what is likely to be
        shown = sorted([*right, *rng.sample(others, min(len(others), SHOWN - len(right)))])
        text = self._texts[book_of(document)]
        texts = [text[start:end] for start, end in shown]
        if not right:
            return Example(question.text, tuple(texts), (), (), question.answers)
        places = [shown.index(place) for place in right]
        return example_of(question, texts, places, sampling, exact_targets(question, shown, places))
