"""The reader ``memnn``: memory networks that find facts one after another, Weston et al. 2015, appendix A.

o1 = argmax s_O(q, f_i),  o2 = argmax s_O([q, f_o1], f_i), ..              (1), (2)
r = argmax s_R([q, f_o1, ..], w)                                           (3)
s(x, y) = E_x . E_y,  E_x = U Φ(x)                                         (4)
candidates in pairs, from the oldest: s(x, y) - s(x, y') + E_x . T t > 0 where y wins (Weston et al. 2014)

Adaptive memory (``am``, A.2.1): hops until a null fact wins, at most ten, and words until a stop word.
N-grams (``ng``, A.2.2): Φ are bags of 1- to 3-grams.
Multilinear: E_x = tanh(sum over words i of P_p(i) U Φ(x_i)), p(i) = ceil(i P / l)        (5)
Nonlinear (``nl``): E_x = tanh(W tanh(U Φ(x)))                             (6)
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import EmbeddingBag, Linear, Module, Parameter

from encoders.device import pick_device
from encoders.errors import ModelError
from readers.facts import FactReader, Inferred, Told
from readers.neural import checkpoint
from readers.neural.checkpoint import Checkpoint
from readers.neural.fact_features import CANDIDATE, HOPS, LONGEST, QUESTION, Bags, FactFeatures, hop, said

NAME = "memnn"
OPTIONS = ("am", "ng", "nl", "multilinear", "multitask")  # as its weights are named after them
_SHIPPED = "multitask"
PLACES = 5  # P of multilinear
GAMMA = 0.1  # the margin that it is trained with, and the unit of its confidence


class Matching(Module):
    """E of sums of features, (n, d): linear, nonlinear or multilinear."""

    def __init__(self, features: int, d: int, nl: bool, places: int) -> None:
        super().__init__()
        self.u = EmbeddingBag(max(features, 1), d, mode="sum")
        torch.nn.init.normal_(self.u.weight, std=0.1)
        self.w = Linear(d, d, bias=False) if nl else None
        self.p = Parameter(torch.randn(places, d, d) / d**0.5) if places > 1 else None
        self.places = places

    def forward(self, bags: Bags) -> torch.Tensor:
        """See the module's formulas."""
        device = self.u.weight.device
        found: torch.Tensor = self.u(bags.features.to(device), bags.offsets.to(device))
        if self.p is not None:
            found = torch.einsum("npd,pde->ne", found.view(-1, self.places, found.shape[1]), self.p).tanh()
        return self.bent(found)

    def bent(self, found: torch.Tensor) -> torch.Tensor:
        """What follows the sum of features: tanh(W tanh(.)), or nothing."""
        return found if self.w is None else torch.tanh(self.w(found.tanh()))


class MemNN(Module):
    """Two of them: ``o`` finds facts and ``r`` words; a null fact and a stop word where it is adaptive.

    ``hops`` is how many facts it finds, 0 for as many as it wants (adaptive memory).
    """

    def __init__(
        self, words: int, o: int, r: int, d: int, hops: int, nl: int = 0, n: int = 1, places: int = 1
    ) -> None:
        super().__init__()
        self.hops, self.n, self.places = hops, n, places
        self.o, self.r = Matching(o, d, bool(nl), places), Matching(r, d, bool(nl), places)
        self.t = Parameter(torch.zeros(d, 2))
        self.null = Parameter(torch.randn(d) * 0.1)
        self.words = Parameter(torch.randn(words + 1, d) * 0.1)  # the last one stops
        self.register_buffer("o_features", torch.zeros(o, 1 + LONGEST, dtype=torch.int16))
        self.register_buffer("r_features", torch.zeros(r, 1 + LONGEST, dtype=torch.int16))

    def of_words(self) -> torch.Tensor:
        """E of each word, the stop word last, (words + 1, d)."""
        return self.r.bent(self.words)


class MemNNReader(FactReader):
    """Answers with what a memory network infers; ``chain`` are the facts that it found, hop by hop."""

    def __init__(self, weights: Checkpoint) -> None:
        self.trained_on, self.version = weights.trained_on, weights.version
        self._device = pick_device()
        self._spelled = weights.vocabulary.words
        net = MemNN(len(self._spelled), **weights.sizes)
        weights.load_into(net)
        self._net = net.to(self._device).eval()
        lowered = [word.lower() for word in self._spelled]
        self._o, self._r = (
            FactFeatures(lowered, rows.tolist(), net.n, net.places)
            for rows in (weights.tensors["o_features"], weights.tensors["r_features"])
        )

    @classmethod
    def load(cls, argument: str | None = None) -> Self:
        """The shipped model, or that of a folder where ``storyqa train`` left it; raises ModelError."""
        folder, _, written = (argument or "").partition("@")
        options = tuple(filter(None, written.split(",")))
        if unknown := sorted(set(options) - set(OPTIONS)):
            raise ModelError(f"{NAME} has no option {', '.join(unknown)}; it has {', '.join(OPTIONS)}")
        if not folder and not options:
            options = (_SHIPPED,)
        system = f"{NAME}@{','.join(options)}" if options else NAME
        remedy = f"storyqa train babi --system {system} --data DATA --out {folder or 'FOLDER'}"
        return cls(checkpoint.load(file_name(options), folder or None, remedy))

    @property
    def known(self) -> Container[str]:
        """See ``FactReader.known``."""
        return self._o.words

    @torch.inference_mode()
    def infer(self, told: Sequence[Told]) -> list[Inferred]:
        """See ``FactReader.infer``."""
        if not told:
            return []
        chains = find_facts(self._net, self._o, told)
        answers = find_words(self._net, self._r, told, chains)
        return [
            Inferred(tuple(self._spelled[w] for w in found), confidence, chain)
            for chain, (found, confidence) in zip(chains, answers, strict=True)
        ]


def file_name(options: Collection[str]) -> str:
    """The name of its weights: the reader's, and its options in their order."""
    return "-".join([NAME, *(option for option in OPTIONS if option in options)])


Parts = list[tuple[int, tuple[str, ...]]]


def asked(one: Told, chain: Sequence[int]) -> Parts:
    """The question with the facts found so far, each in its part."""
    return [(QUESTION, one.question), *((hop(k), one.facts[i].words) for k, i in enumerate(chain))]


def find_facts(net: MemNN, features: FactFeatures, told: Sequence[Told]) -> list[tuple[int, ...]]:
    """The numbers of the facts that each question's hops find, in order; none of them twice."""
    sentences: dict[tuple[str, ...], int] = {}
    facts = [[sentences.setdefault(fact.words, len(sentences)) for fact in one.facts] for one in told]
    y = net.o(features.bags([[(CANDIDATE, words)] for words in sentences]))
    chains: list[list[int]] = [[] for _ in told]
    going = [i for i, one in enumerate(told)]
    for _ in range(net.hops or HOPS):
        going = [i for i in going if len(chains[i]) < len(facts[i])]
        if not going:
            break
        x = net.o(features.bags([asked(told[i], chains[i]) for i in going]))
        scores, a, null = (x @ y.T), x @ net.t, x @ net.null
        winners = _tournaments(
            [scores_of[facts[i]] for scores_of, i in zip(scores.cpu().numpy(), going, strict=True)],
            a.cpu().numpy(),
            null.cpu().numpy() if net.hops == 0 else None,
            [chains[i] for i in going],
        )
        for i, winner in zip(going, winners, strict=True):
            if winner >= 0:
                chains[i].append(winner)
        going = [i for i, winner in zip(going, winners, strict=True) if winner >= 0]
    return [tuple(chain) for chain in chains]


def _tournaments(
    scores: Sequence[NDArray[np.float32]],
    a: NDArray[np.float32],
    null: NDArray[np.float32] | None,
    chains: Sequence[Sequence[int]],
) -> list[int]:
    """The fact that wins each question's comparisons from the oldest to the newest, -1 for the null fact."""
    count, longest = len(scores), max(map(len, scores))
    table = np.full((count, longest), -np.inf, np.float32)
    for row, of_one in zip(table, scores, strict=True):
        row[: len(of_one)] = of_one
    for i, chain in enumerate(chains):
        table[i, list(chain)] = -np.inf
    # What time adds to a fact beside another: that it is newer, and that the last one found is older.
    last = np.array([chain[-1] if chain else longest for chain in chains])
    table += a[:, 1:] * (np.arange(longest) > last[:, None])
    best = np.full(count, -1)
    beat = np.full(count, -np.inf, np.float32) if null is None else null
    newer = np.zeros(count, np.float32)
    for i in range(longest):
        # The null fact is of no time.
        plain = table[:, i] - np.where(best < 0, a[:, 1] * (i > last), 0)
        won = plain + newer > beat
        best = np.where(won, i, best)
        beat = np.where(won, table[:, i], beat)
        newer = np.where(won, a[:, 0], newer)
    return [int(i) for i in best]


def find_words(
    net: MemNN, features: FactFeatures, told: Sequence[Told], chains: Sequence[Sequence[int]]
) -> list[tuple[tuple[int, ...], float]]:
    """The numbers of the answer's words of each, and how sure it is of them, as a product over the words."""
    stop, w = len(features.words), net.of_words()
    spelled = list(features.words)
    sums = [asked(one, chain) for one, chain in zip(told, chains, strict=True)]
    found: list[list[int]] = [[] for _ in told]
    sure = [1.0] * len(told)
    going = list(range(len(told)))
    for number in range(HOPS if net.hops == 0 else 1):
        if not going:
            break
        scores = net.r(features.bags([sums[i] for i in going])) @ w.T
        if number == 0 or net.hops:
            scores[:, stop] = -torch.inf  # every answer has a word
        for i, best, p in zip(going, *_best(scores), strict=True):
            sure[i] *= p
            if best != stop:
                found[i].append(best)
                sums[i].append((said(number), (spelled[best],)))
        going = [i for i in going if len(found[i]) > number]
    return [(tuple(of_one), p) for of_one, p in zip(found, sure, strict=True)]


def _best(scores: torch.Tensor) -> tuple[list[int], list[float]]:
    """Per row the best number, and the softmax of the scores, in units of the margin, there."""
    p, best = torch.softmax(scores / GAMMA, 1).max(1)
    return best.tolist(), p.tolist()
