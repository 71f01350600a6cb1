"""The IR baselines of section 4.1: the span of the text that is most similar to the query.

The query is the question, or, for an oracle that bounds what any choice of spans can reach, the
first reference answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from encoders.adapters import file_hash
from encoders.errors import ModelError
from encoders.word_vectors import Cosine, WordVectors
from readers.baselines.similarity_options import SimilarityOptions, parse_options
from readers.reading import Answer, NeedsReferences, Ranker, Reading, Span
from text.similarity import Similarity, bleu1, rouge_l
from text.spans import Spans, TokenText
from text.tokens import tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEPT = 1000  # of the spans, to choose several answers from that do not overlap
# The paper's answers and texts end in an end-of-sentence marker (its footnote 6), and it counts as a token:
# so taken, and ties at random, the oracles' BLEU is the paper's, else it is 13 points above
# (docs/narrativeqa.md).
_END = "</s>"


class SimilarityReader(Ranker):
    """Answers with the span most similar to the query.

    Ties go to the earliest, or to any: then to the same one whenever the question and the text are the same.
    The score is the similarity; the confidence too, negative ones being 0. ``oracle`` where the query
    is the answer: then each reading needs references, or ``NeedsReferences`` is raised.
    """

    def __init__(
        self, name: str, similarity: Similarity, options: SimilarityOptions, version: str | None = None
    ) -> None:
        """``version`` tells apart what similarity is measured by, where that was read from a file."""
        self.version = version
        self.oracle = options.query == "answer"
        self._name = name
        self._similarity = similarity
        self._options = options
        # Many questions are asked about one book, whose tokens take longer than an answer.
        self._text = lru_cache(maxsize=4)(
            partial(TokenText, ending=_END if options.span == "answer" else None)
        )
        self._windows = lru_cache(maxsize=16)(TokenText.windows)
        self._sentences = lru_cache(maxsize=4)(TokenText.sentences)

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; each text is given once."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        return [self._read(reading, n_best) for reading in readings]

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """Each candidate's similarity to the query; the passages play no part (footnote 8)."""
        text = TokenText(candidates)
        scores: list[float] = self._similarity(text, text.whole(), self._query(reading)).tolist()
        return scores

    def _query(self, reading: Reading) -> list[str]:
        """The keys of the query's tokens."""
        if not self.oracle:
            return [token.key for token in tokens(reading.question)]
        if not reading.references:
            raise NeedsReferences(
                f"the reader {self._name!r} is an oracle: it looks for the right answer and has to be told, "
                "which only storyqa evaluate and reproduce can do. Leave out query=answer to ask a question"
            )
        return [token.key for token in tokens(reading.references[0])]

    def _read(self, reading: Reading, n_best: int) -> list[Answer]:
        query = self._query(reading)
        if self._options.span == "answer":
            query.append(_END)
        text = self._text(reading.passages)
        spans = self._spans(text, len(query))
        scores = self._similarity(text, spans, query)
        answers: dict[str, Answer] = {}
        taken: list[tuple[int, int]] = []
        for i in self._best_first(scores, n_best, query):
            if len(answers) == n_best:
                break
            begin, end = int(spans.begin[i]), int(spans.end[i])
            if any(begin < other[1] and other[0] < end for other in taken):
                continue
            place = Span(*text.place(begin, end))
            covered = reading.passages[place.passage][place.start : place.end]
            if covered and covered not in answers:
                taken.append((begin, end))
                score = float(scores[i])
                answers[covered] = Answer(covered, score, min(1.0, max(0.0, score)), place)
        return list(answers.values())

    def _spans(self, text: TokenText, query: int) -> Spans:
        match self._options.span:
            case "sentence":
                return self._sentences(text)
            case "answer":
                return self._windows(text, query)
            case length:
                return self._windows(text, int(length))

    def _best_first(self, scores: NDArray[np.float64], n_best: int, query: Sequence[str]) -> list[int]:
        import numpy as np

        if not len(scores):
            return []
        if self._options.ties == "first":
            if n_best == 1:
                return [int(scores.argmax())]
            order = np.argsort(-scores, kind="stable")
        else:
            seed = f"{len(scores)} {' '.join(query)}".encode("utf-8", "surrogatepass")
            rng = np.random.default_rng(crc32(seed))
            if n_best == 1:
                return [int(rng.choice(np.flatnonzero(scores == scores.max())))]
            shuffled = rng.permutation(len(scores))
            order = shuffled[np.argsort(-scores[shuffled], kind="stable")]
        kept: list[int] = order[:_KEPT].tolist()
        return kept


class Bleu1Reader(SimilarityReader):
    """Similarity is BLEU-1; the span a sentence where none is named."""

    @classmethod
    def load(cls, argument: str | None = None) -> Bleu1Reader:
        """``argument`` is options alone, such as ``@span=8``; raises ``ModelError`` for others."""
        return cls("ir-bleu1", bleu1, parse_options("ir-bleu1", argument, "sentence"))


class RougeLReader(SimilarityReader):
    """Similarity is ROUGE-L; the span 8 tokens where none is named."""

    @classmethod
    def load(cls, argument: str | None = None) -> RougeLReader:
        """``argument`` is options alone, such as ``@span=4``; raises ``ModelError`` for others."""
        return cls("ir-rouge-l", rouge_l, parse_options("ir-rouge-l", argument, "8"))


class CosineReader(SimilarityReader):
    """Similarity is the cosine of bags of word vectors; the span a sentence where none is named."""

    @classmethod
    def load(cls, argument: str | None = None) -> CosineReader:
        """``argument`` is a file in GloVe's format, and options; raises ``ModelError`` without one."""
        options = parse_options("ir-cosine", argument, "sentence", takes_path=True)
        if not options.path:
            raise ModelError(
                "the reader 'ir-cosine' needs word vectors: write ir-cosine:PATH, a file in GloVe's format"
            )
        path = Path(options.path)
        return cls("ir-cosine", Cosine(WordVectors.load(path)), options, file_hash(path)[:12])
