"""The most frequent candidate: in the context, there but not in the question, or in what was trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from encoders.errors import ModelError
from readers.baselines.array_file import ArrayFile, load
from readers.cloze import Cloze
from readers.filling import ClozeReader, Judged
from readers.options import split_options

NAME = "cloze-frequency"
CORPUS = f"{NAME}@corpus"


@dataclass(frozen=True)
class WordCounts:
    """How often each token's key stands in the training books, and what a reader says of them."""

    counts: Mapping[str, int]
    trained_on: str
    version: str | None = None

    @classmethod
    def count(cls, keys: Iterable[str], trained_on: str) -> WordCounts:
        """The counts of a text's tokens (``text.cloze``)."""
        return cls(Counter(keys), trained_on)

    def as_file(self) -> ArrayFile:
        """What ``storyqa train cbt`` writes."""
        import numpy as np

        words = sorted(self.counts)
        counts = np.array([self.counts[word] for word in words], dtype=np.int64)
        return ArrayFile({"counts": counts}, words, self.trained_on)

    @classmethod
    def from_file(cls, file: ArrayFile) -> WordCounts:
        """The counts that were written; raises ``ModelError`` for a file of something else."""
        counts = file.arrays.get("counts")
        if counts is None or counts.shape != (len(file.words),):
            raise ModelError(f"no counts of {len(file.words):,} words; train {CORPUS} again")
        return cls(dict(zip(file.words, counts.tolist(), strict=True)), file.trained_on, file.version)


class FrequencyReader(ClozeReader):
    """A candidate scores how often the context spells it (Hermann et al. 2015, section 3).

    ``exclusive`` puts candidates that the question has behind all others. With ``corpus`` a candidate scores
    how often training saw it, one of several tokens the rarest of them (Hill et al. 2016, section 4.1).
    """

    def __init__(self, exclusive: bool = False, corpus: WordCounts | None = None) -> None:
        self._exclusive = exclusive
        self._corpus = corpus
        if corpus is not None:
            self.version, self.trained_on = corpus.version, corpus.trained_on

    @classmethod
    def load(cls, argument: str | None) -> FrequencyReader:
        """``argument`` is an option, and the folder of the counts; raises ``ModelError`` for others."""
        form = f"{NAME}, {NAME}@exclusive or {NAME}:DIR@corpus"
        folder, given = split_options(NAME, argument, form, flags=("exclusive", "corpus"), takes_path=True)
        if len(given) > 1:
            raise ModelError(f"{NAME!r} takes one of its options; write {form}")
        if "corpus" in given:
            return cls(corpus=WordCounts.from_file(load(CORPUS, folder)))
        if folder is not None:
            raise ModelError(f"the reader {NAME!r} reads {folder!r} with @corpus alone; write {form}")
        return cls("exclusive" in given)

    def judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        """See ``ClozeReader.judge``."""
        if self._corpus is not None:
            counts = self._corpus.counts
            return [
                Judged([min((float(counts.get(k, 0)) for k in keys), default=0.0) for keys in cloze.keys])
                for cloze in clozes
            ]
        count = exclusive_frequency if self._exclusive else frequency
        return [Judged(count(cloze)) for cloze in clozes]


def frequency(cloze: Cloze) -> list[float]:
    """Per candidate how often the context spells it."""
    counts = Counter(mention.candidate for mention in cloze.mentions)
    return [float(counts[number]) for number in range(len(cloze.candidates))]


def exclusive_frequency(cloze: Cloze) -> list[float]:
    """As ``frequency``, but less than nothing for the candidates that the question spells."""
    behind = len(cloze.context) + 1
    return [
        count - behind if _spells(cloze.query, keys) else count
        for count, keys in zip(frequency(cloze), cloze.keys, strict=True)
    ]


def _spells(tokens: Sequence[str], keys: tuple[str, ...]) -> bool:
    width = len(keys)
    return bool(keys) and any(tuple(tokens[i : i + width]) == keys for i in range(len(tokens) - width + 1))
