"""Chunk selection by topics (Kočiský et al. 2018, section 5.3): passages about what the question is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from indexing.index import BookIndex
from retrieval.hits import Hit, Retriever, best_hits
from text.stop_words import STOP_WORDS
from text.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOPICS = 50
_PASSES = 10  # over the book
_SEED = 0


class TopicModel:
    """Latent Dirichlet allocation (Blei et al. 2003) of some passages, scikit-learn's; always the same.

    Words are those of the sparse index but for English function words.
    """

    def __init__(self, passages: Sequence[str]) -> None:
        from sklearn.decomposition import LatentDirichletAllocation  # type: ignore[import-untyped]
        from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]

        self._counter = CountVectorizer(analyzer=_content_words)
        self._model: LatentDirichletAllocation | None = None
        try:
            counts = self._counter.fit_transform(passages)
        except ValueError:  # no passage has a word of its own, so all have the same topics
            self.passages: NDArray[np.float64] = self._uniform(len(passages))
            return
        self._model = LatentDirichletAllocation(TOPICS, max_iter=_PASSES, random_state=_SEED)
        self._model.fit(counts)
        self.passages = self._model.transform(counts)

    def topics(self, text: str) -> NDArray[np.float64]:
        """The distribution over topics of one text, (topics,); uniform where no word of it is known."""
        if self._model is None:
            row: NDArray[np.float64] = self._uniform(1)[0]
        else:
            row = self._model.transform(self._counter.transform([text]))[0]
        return row

    def _uniform(self, count: int) -> NDArray[np.float64]:
        """The same distribution for each of ``count`` texts, (count, topics)."""
        import numpy as np

        return np.full((count, TOPICS), 1 / TOPICS)


# Per open index, for as long as it is open.
_models: WeakKeyDictionary[BookIndex, TopicModel] = WeakKeyDictionary()


class LdaRetriever(Retriever):
    """The passages whose topics diverge least from the question's."""

    def __init__(self, index: BookIndex) -> None:
        """Fits the topics on the whole book, which takes seconds, unless the index's are known already."""
        self._index = index
        if index not in _models:
            passages = index.passages
            _models[index] = TopicModel([index.text(passage.start, passage.end) for passage in passages])
        self._model = _models[index]

    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """See ``Retriever.first``; scores are negated divergences."""
        passages = self._index.passages
        seen = passages.until(before)
        found = []
        for question in questions:
            divergence = symmetric_divergence(self._model.passages, self._model.topics(question))
            found.append(best_hits(passages, -divergence[:seen], k))
        return found


def symmetric_divergence(rows: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """KL(p || q) + KL(q || p) of each row p and q, all positive; (n, topics) and (topics,) to (n,)."""
    import numpy as np

    found: NDArray[np.float64] = ((rows - q) * (np.log(rows) - np.log(q))).sum(axis=1)
    return found


def _content_words(text: str) -> list[str]:
    return [word for word in words(text) if word not in STOP_WORDS]
