"""An n-gram language model with backoff, and the reader that fills a blank by it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from encoders.errors import ModelError
from readers.baselines.array_file import ArrayFile, load
from readers.cloze import Cloze
from readers.filling import ClozeReader, Judged
from readers.options import split_options
from text.cloze import cloze_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "kneser-ney"
UNKNOWN, BEGIN, END = range(3)  # the numbers of the first three words
MARKS = ("<unk>", "<s>", "</s>")
_ABSENT = -1  # in place of a word before the sentence begins
_PLAIN = str.maketrans("’‘", "''")


def language_words(text: str) -> list[str]:
    """The words of a text that a language model is asked for: its tokens, cased, marks in one spelling."""
    return [_word(token.key, text[token.start : token.end]) for token in cloze_tokens(text)]


def _word(key: str, spelled: str) -> str:
    if not any(map(str.isalpha, spelled)):
        return key
    word = spelled.translate(_PLAIN)
    return word[1:] if word[0] == "'" != key[0] else word  # "'s", which parted text may have as "s"


@dataclass(frozen=True)
class NgramModel:
    """Probabilities of n-grams with weights for backing off, as an ARPA file has them.

    ``words`` begin with ``MARKS``. An n-gram is known by its number in the order of the ``keys`` of its
    length, and one word by the word's: a key is the number of all words but the last, times the number of
    different words, plus the last. ``keys`` begin with two words, ``log10`` and ``backoff`` with one; the
    longest have no ``backoff``. ``cache`` is the weight of the context's own words that was best on
    held-out questions.
    """

    words: Sequence[str]
    keys: Sequence[NDArray[np.int64]]
    log10: Sequence[NDArray[np.float32]]
    backoff: Sequence[NDArray[np.float32]]
    trained_on: str = "nothing"
    cache: float = 0.0
    version: str | None = None

    @property
    def order(self) -> int:
        """How many words the longest n-grams have."""
        return len(self.log10)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def grams(self, words: Sequence[str]) -> NDArray[np.int64]:
        """A sentence's words, and its end, each with those before it; shape (words + 1, order)."""
        import numpy as np

        known = (self.numbers.get(word, UNKNOWN) for word in words)
        sentence = np.array([*[_ABSENT] * (self.order - 1), BEGIN, *known, END])
        return np.lib.stride_tricks.sliding_window_view(sentence, self.order)[1:]

    def log_probabilities(self, grams: NDArray[np.int64]) -> NDArray[np.float64]:
        """log10 of each last word's probability after those before it; from shape (n, order) to (n,)."""
        import numpy as np

        found = np.zeros(len(grams))
        left = np.arange(len(grams))  # those whose n-gram is shorter
        for level in range(self.order - 1, -1, -1):
            gram = grams[left, self.order - 1 - level :]  # (left, level + 1)
            if level:
                context = self._find(gram[:, :-1])
                number = self._extend(context, gram[:, -1], level)
                known = (number < 0) & (context >= 0)
                found[left[known]] += self.backoff[level - 1][context[known]]
            else:
                number = gram[:, 0]
            there = number >= 0
            found[left[there]] += self.log10[level][number[there]]
            left = left[~there]
        return found

    def _find(self, grams: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of n-grams, shape (n, words), among those of so many words; -1 where there is none."""
        number = grams[:, 0]
        for level in range(1, grams.shape[1]):
            number = self._extend(number, grams[:, level], level)
        return number

    def _extend(self, number: NDArray[np.int64], word: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """The numbers of n-grams of ``level`` words and a word more, -1 where there is none."""
        import numpy as np

        keys = self.keys[level - 1]
        extended = np.full(len(number), -1)
        if not len(keys):
            return extended
        asked = np.flatnonzero(number >= 0)
        key = number[asked] * len(self.words) + word[asked]
        place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        found = keys[place] == key
        extended[asked[found]] = place[found]
        return extended

    def as_file(self) -> ArrayFile:
        """What ``storyqa train cbt`` writes."""
        arrays: dict[str, NDArray[Any]] = {
            **{f"keys.{n}": array for n, array in enumerate(self.keys, 2)},
            **{f"log10.{n}": array for n, array in enumerate(self.log10, 1)},
            **{f"backoff.{n}": array for n, array in enumerate(self.backoff, 1)},
        }
        return ArrayFile(arrays, self.words, self.trained_on, {"order": self.order, "cache": self.cache})

    @classmethod
    def from_file(cls, file: ArrayFile) -> NgramModel:
        """The model that was written; raises ``ModelError`` for a file of something else."""
        try:
            order, cache = int(file.settings["order"]), float(file.settings["cache"])
            return cls(
                file.words,
                [file.arrays[f"keys.{n}"] for n in range(2, order + 1)],
                [file.arrays[f"log10.{n}"] for n in range(1, order + 1)],
                [file.arrays[f"backoff.{n}"] for n in range(1, order)],
                file.trained_on,
                cache,
                file.version,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"no n-grams in the file ({error!r}); train {NAME} again") from error


@dataclass(frozen=True, slots=True)
class TokenProbabilities:
    """Each token of the questions with each candidate in the blank, those that all have in common once.

    ``model`` has the probabilities by the n-grams and ``cached`` the tokens' shares of the context, ``cloze``
    the number of the cloze and ``candidate`` that of the candidate, -1 for all of them; shape (tokens,).
    """

    model: NDArray[np.float64]
    cached: NDArray[np.float64]
    cloze: NDArray[np.int64]
    candidate: NDArray[np.int64]

    def log_sums(self, cache: float, clozes: Sequence[Cloze]) -> list[list[float]]:
        """Per cloze and candidate log p of the whole question, (1 - cache) p + cache share for each token."""
        import numpy as np

        logs = np.log((1 - cache) * self.model + cache * self.cached)
        sums = []
        ends = np.searchsorted(self.cloze, np.arange(len(clozes) + 1))
        for number, cloze in enumerate(clozes):
            part = slice(ends[number], ends[number + 1])
            by_candidate = np.bincount(
                self.candidate[part] + 1, weights=logs[part], minlength=len(cloze.candidates) + 1
            )
            sums.append((by_candidate[0] + by_candidate[1:]).tolist())
        return sums


def token_probabilities(model: NgramModel, clozes: Sequence[Cloze]) -> TokenProbabilities:
    """What the model and the contexts say of the questions' tokens."""
    import numpy as np

    grams, cached, of_cloze, of_candidate = [], [], [], []
    for number, cloze in enumerate(clozes):
        context = list(map(_word, cloze.context, cloze.spelled))
        counts = Counter(context)
        asked = list(map(_word, cloze.query, cloze.query_spelled))
        before, behind = asked[: cloze.blank], asked[cloze.blank + 1 :]
        for candidate, text in enumerate(cloze.candidates):
            filling = language_words(text)
            words = [*before, *filling, *behind]
            rows = model.grams(words)
            share = np.array([counts[word] / len(context) for word in words] + [0.0])
            # The tokens whose n-gram has a word of the candidate.
            end = min(len(rows), len(before) + len(filling) + model.order - 1)
            own = np.zeros(len(rows), dtype=bool)
            own[len(before) : end] = True
            # Others are the same for all candidates, and looked up with the first.
            kept = own | (candidate == 0)
            grams.append(rows[kept])
            cached.append(share[kept])
            of_cloze.append(np.full(int(kept.sum()), number))
            of_candidate.append(np.where(own, candidate, -1)[kept])
    return TokenProbabilities(
        10 ** model.log_probabilities(np.concatenate(grams)),
        np.concatenate(cached),
        np.concatenate(of_cloze),
        np.concatenate(of_candidate),
    )


class KneserNeyReader(ClozeReader):
    """Scores a candidate by log p of the whole question with it (Hill et al. 2016, section 4.2).

    ``cache`` is the weight of the context's own words in each token's probability (Kuhn and De Mori 1990).
    """

    def __init__(self, model: NgramModel, cache: float = 0.0) -> None:
        self._model, self._cache = model, cache
        self.version, self.trained_on = model.version, model.trained_on

    @classmethod
    def load(cls, argument: str | None) -> KneserNeyReader:
        """``argument`` is the folder of the model, and ``@cache`` with a weight or the best one.

        Raises ``ModelError`` for others, and where the folder holds no such model.
        """
        form = f"{NAME}:DIR, {NAME}:DIR@cache or {NAME}:DIR@cache=0.1"
        folder, given = split_options(
            NAME, argument, form, flags=("cache",), valued=("cache",), takes_path=True
        )
        model = NgramModel.from_file(load(NAME, folder))
        if "cache" not in given:
            return cls(model)
        return cls(model, _weight(given["cache"]) if given["cache"] else model.cache)

    def judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        """See ``ClozeReader.judge``."""
        if not clozes:
            return []
        sums = token_probabilities(self._model, clozes).log_sums(self._cache, clozes)
        return [Judged(scores, probable=True) for scores in sums]


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < 1:
        raise ModelError(f"cache={text} for {NAME!r}; wanted the weight of the context, from 0 to below 1")
    return weight
