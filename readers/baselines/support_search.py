"""Which facts support an answer: a search over triples of facts, by hashed features of their pairs.

S(x, f1, f2, f3) = θ · [g(x, f1), g(x, f2), g(x, f3), g(f1, f2), g(f2, f3), g(f1, f3)]

g has an indicator for each pair of words, for the distance and the order, for each pair of verbs and each
pair of arguments with their verbs; some facts of a triple may be empty, its last ones. A fact has to share a
word that is no determiner with x or with another fact of the triple. Weston et al. 2015, appendix B.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from readers.baselines.shallow_roles import DETERMINERS, clause_of, resolve_mentions
from readers.facts import Told

_BITS = 18
BUCKETS = 1 << _BITS  # of the hashed features
MOST = 3  # facts of an answer
_BEAM = 1_024  # pairs that are searched on, the best ones; up to 31 facts that is all of them
_FAR = 255  # facts that are farther apart count as this far
_SLOTS = ((0, 1), (0, 2), (1, 2))  # of the pairs of facts: blocks 3, 4 and 5; 0, 1 and 2 are those with x
_ANSWER = 6  # the block of the words of x, where an answer is looked for
_FORBIDDEN = np.float32(-1e9)

Codes = NDArray[np.uint32]
Sentence = tuple[Codes, Codes, Codes]  # what is paired: words, the verb, and arguments with their verb
Theta = NDArray[np.float32]


@lru_cache(maxsize=16_384)  # the same sentences are told again and again
def sentence_of(words: tuple[str, ...]) -> Sentence:
    """The sentence with these words; without words, the empty fact."""
    clause = clause_of(words)
    said = sorted(set(words) - DETERMINERS) or ["<empty>"]
    arguments = [f"{clause.verb}|{role}|{name}" for role, name in clause.arguments]
    verbs = [clause.verb or "<empty>"]
    return _codes("w", said), _codes("v", verbs), _codes("a", arguments)


def _codes(family: str, names: Iterable[str]) -> Codes:
    return np.array([zlib.crc32(f"{family}:{name}".encode()) for name in names], dtype=np.uint32)


def buckets(one: Codes, other: Codes) -> NDArray[np.int32]:
    """Where θ has the feature of each pair of codes in block 0, (one, other)."""
    mixed = one[:, None] * np.uint32(0x9E3779B1) + other[None, :] * np.uint32(0x85EBCA77)
    mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(0xC2B2AE3D)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0x27D4EB2F)
    found: NDArray[np.int32] = (mixed >> np.uint32(32 - _BITS)).astype(np.int32)
    return found


def in_block(found: NDArray[np.int32], block: int) -> NDArray[np.int32]:
    """Where θ has the same features in another block."""
    moved: NDArray[np.int32] = found ^ np.int32((block * 0x9E3779B1 >> 7) % BUCKETS)
    return moved


_ONE = _codes("d", [""])
_DISTANCES = buckets(_ONE, _codes("d", map(str, range(_FAR + 1))))[0]
_ORDERS = buckets(_ONE, _codes("d", ["after", "before"]))[0]


@dataclass(frozen=True)
class Family:
    """One family's codes among the sentences of a story: ``has`` (kinds, codes) says which have which."""

    codes: Codes
    has: NDArray[np.float32]
    with_x: NDArray[np.int32]  # (codes of x, codes)
    pairs: NDArray[np.int32]  # (codes, codes)


@dataclass(frozen=True)
class Asked:
    """A question as the search sees it: x, and the facts by kind; equal ones are of one kind.

    ``kind`` says which of the distinct sentences each fact is, and the empty fact after them, (facts + 1,).
    ``linked`` and ``shared`` say whether a fact shares a word with x, (facts + 1,), and with each other fact,
    (facts + 1, facts + 1); the empty fact is linked.
    """

    x: Sentence
    kind: NDArray[np.int64]
    linked: NDArray[np.bool_]
    shared: NDArray[np.bool_]
    families: tuple[Family, ...]

    @property
    def facts(self) -> int:
        """How many facts were told."""
        return len(self.kind) - 1


def asked(told: Told) -> Asked:
    """A question and its facts, pronouns replaced by whom they mean."""
    numbers: dict[tuple[str, ...], int] = {}
    facts = resolve_mentions(fact.words for fact in told.facts)
    for words in facts:
        numbers.setdefault(words, len(numbers))
    kind = np.array([*(numbers[words] for words in facts), len(numbers)])
    x = sentence_of(told.question)
    kinds = [sentence_of(words) for words in (*numbers, ())]
    families = tuple(_family(x[n], [one[n] for one in kinds]) for n in range(len(x)))
    said = families[0]
    alike = said.has @ said.has.T > 0
    linked = said.has @ np.isin(said.codes, x[0]) > 0
    alike[-1] = alike[:, -1] = False
    linked[-1] = True
    return Asked(x, kind, linked[kind], alike[kind][:, kind], families)


def _family(x: Codes, kinds: Sequence[Codes]) -> Family:
    codes, place = np.unique(np.concatenate(kinds), return_inverse=True)
    has = np.zeros((len(kinds), len(codes)), dtype=np.float32)
    has[np.repeat(np.arange(len(kinds)), list(map(len, kinds))), place] = 1
    return Family(codes, has, buckets(x, codes), buckets(codes, codes))


@dataclass(frozen=True)
class Scores:
    """``a`` of x with a fact in each place, (3, facts + 1), ``b`` of two, (3, facts + 1, facts + 1)."""

    a: NDArray[np.float32]
    b: NDArray[np.float32]


def scores(theta: Theta, one: Asked) -> Scores:
    """θ · g for every pair of a question."""
    n = one.facts
    far = np.minimum(n - np.arange(n), _FAR)
    apart = np.subtract.outer(np.arange(n), np.arange(n))
    order, apart = (apart < 0).astype(np.int64), np.minimum(np.abs(apart), _FAR)
    a, b = [], []
    for block in range(MOST):
        by_family = [theta[in_block(f.with_x, block)].sum(0) @ f.has.T for f in one.families]
        scored = np.sum(by_family, 0)[one.kind]
        scored[:n] += theta[in_block(_DISTANCES, block)][far]
        a.append(scored)
    for block in range(MOST, 2 * MOST):
        by_family = [f.has @ theta[in_block(f.pairs, block)] @ f.has.T for f in one.families]
        table = np.sum(by_family, 0)[one.kind][:, one.kind]
        table[:n, :n] += theta[in_block(_DISTANCES, block)][apart] + theta[in_block(_ORDERS, block)][order]
        b.append(table)
    return Scores(np.stack(a), np.stack(b))


Triple = tuple[int, int, int]  # numbers of facts; the number of facts for the empty one


def score_of(found: Scores, triple: Triple) -> float:
    """S of a triple."""
    pairs = (found.b[p, triple[i], triple[j]] for p, (i, j) in enumerate(_SLOTS))
    return float(sum(found.a[s, i] for s, i in enumerate(triple)) + sum(pairs))


def best_triple(one: Asked, found: Scores, wanted: Triple | None = None) -> Triple:
    """The triple of the largest S; with ``wanted`` of S and a point for each fact that is another."""
    n = one.facts
    a = found.a
    if wanted is not None:
        a = a + 1
        a[range(MOST), wanted] -= 1
    pair = a[0][:, None] + a[1][None] + found.b[0]
    pair[range(n), range(n)] = _FORBIDDEN
    pair[n, :n] = _FORBIDDEN
    if pair.size > _BEAM:
        kept = np.argpartition(-pair, _BEAM, axis=None)[:_BEAM]
        i, j = np.unravel_index(np.sort(kept), pair.shape)
    else:
        i, j = (numbers.ravel() for numbers in np.indices(pair.shape))
    total = pair[i, j][:, None] + a[2] + found.b[1][i] + found.b[2][j]
    rows = np.arange(len(i))
    linked, shared = one.linked, one.shared
    ij = shared[i, j][:, None]
    allowed = (ij | linked[i][:, None] | shared[i]) & (ij | linked[j][:, None] | shared[j])
    allowed &= linked | shared[i] | shared[j]
    allowed[rows[i < n], i[i < n]] = False
    allowed[rows[j < n], j[j < n]] = False
    allowed[j == n, :n] = False
    total[~allowed] = _FORBIDDEN
    row, k = divmod(int(total.argmax()), n + 1)
    return int(i[row]), int(j[row]), k


def features(one: Asked, triple: Triple) -> NDArray[np.int32]:
    """The buckets of Σ g of a triple."""
    n = one.facts
    found = []
    for block, i in enumerate(triple):
        for family in one.families:
            found.append(in_block(family.with_x[:, family.has[one.kind[i]] > 0], block).ravel())
        if i < n:
            found.append(in_block(_distance(n - i), block))
    for block, (p, q) in enumerate(_SLOTS, MOST):
        i, j = triple[p], triple[q]
        for family in one.families:
            mine, other = family.has[one.kind[i]] > 0, family.has[one.kind[j]] > 0
            found.append(in_block(family.pairs[mine][:, other], block).ravel())
        if i < n and j < n:
            found += [in_block(_distance(abs(i - j)), block), in_block(_ORDERS[int(i < j) :][:1], block)]
    return np.concatenate(found)


def _distance(apart: int) -> NDArray[np.int32]:
    found: NDArray[np.int32] = _DISTANCES[min(apart, _FAR) :][:1]
    return found


def answer_features(one: Asked, triple: Triple) -> NDArray[np.int32]:
    """The buckets of what an answer follows from, each once: words of x, and pairs of x with each fact."""
    found = [in_block(buckets(_ONE, one.x[0]), _ANSWER).ravel()]
    for block, i in enumerate(triple):
        for family in one.families:
            found.append(in_block(family.with_x[:, family.has[one.kind[i]] > 0], block).ravel())
    distinct: NDArray[np.int32] = np.unique(np.concatenate(found))
    return distinct
