"""The reader ``memn2n``: end-to-end memory networks over a cloze's context, Hill et al. 2016, section 3.

c_i = A φ(s_i),  m_i = B φ(s_i),  q = A φ(q)                              section 3.1
α = softmax(c_i . q),  o = sum of α_i m_i                                 equation 1
q' = H q + o, K times;  a = softmax(U q')                                 section 3.2

φ are words in their places of a window (``memories``), words of a sentence weighted by their places, or
single words (``lexical_memory``). With self-supervision (section 3.3) a candidate scores the sum of the α of
its windows, and there is no B, H or U.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.nn import Embedding, Linear, Module, Parameter
from torch.nn.functional import embedding_bag

from readers.cloze import Cloze
from readers.filling import Judged
from readers.neural.cloze_example import read_example
from readers.neural.cloze_reader import Attention, ClozeForm, LoadedCloze, NeuralClozeReader
from readers.neural.lexical_memory import LexicalMemory, lexical_scores
from readers.neural.memories import (
    TIME,
    MemoryBatch,
    WindowEmbedding,
    group_max,
    memory_batch,
    output_layer,
    sentence_example,
    softmax_by,
    window_example,
)

_NEVER = 1e-30  # the probability of a candidate that no memory speaks for
_EXCLUDED = -1e4  # added to the score of a candidate that is ruled out


class SelfMemory(Module):
    """The scores of window memories alone, section 3.3.

    With ``targets`` training also asks for the right word among all words, of the one memory that supports
    it: softmax(U (H q + B φ(s))), appendix E's "all targets".
    """

    def __init__(self, words: int, p: int, time: int = 1, targets: int = 0) -> None:
        super().__init__()
        self.a = WindowEmbedding(words, p, time=bool(time))
        self.b = WindowEmbedding(words, p, time=bool(time)) if targets else None
        self.h = Linear(p, p, bias=False) if targets else None
        self.u = output_layer(p, words) if targets else None

    def forward(self, batch: MemoryBatch) -> torch.Tensor:
        """c_i . q, (memories,)."""
        scores: torch.Tensor = (
            self.a(batch.memories, batch.time) * self.a(batch.queries)[batch.example]
        ).sum(1)
        return scores


class SentenceEmbedding(Module):
    """A φ(s) of sentences with positions encoded, Sukhbaatar et al. 2015, section 4.1.

    A φ(s) = sum over j of l_j * A x_j + a_t ``TIME`` i,  l_kj = (1 - j/J) - (k/p)(1 - 2j/J), k = 1 .. p
    """

    def __init__(self, words: int, p: int, time: bool = True) -> None:
        super().__init__()
        self.table = Embedding(words, p, sparse=True)
        torch.nn.init.normal_(self.table.weight, std=0.1)
        self.time = Parameter(torch.zeros(p)) if time else None

    def forward(self, sentences: torch.Tensor, time: torch.Tensor | None = None) -> torch.Tensor:
        """(memories, p) of ``sentences`` (memories, J), -1 after their ends, and their index (memories,)."""
        real = sentences >= 0
        # (memories, J): j/J of each word, of which there are J in its own sentence.
        weight = self.table.weight
        share = real.cumsum(1).to(weight.dtype) / real.sum(1, keepdim=True).clamp_min(1)
        words, p = sentences.clamp_min(0), self.table.embedding_dim
        one, other = (
            embedding_bag(words, weight, mode="sum", sparse=True, per_sample_weights=by_place * real)
            for by_place in (1 - share, 1 - 2 * share)
        )
        found = one - torch.arange(1, p + 1, device=words.device) / p * other
        if time is not None and self.time is not None:
            found = found + TIME * time[:, None] * self.time
        return found


class MemN2N(Module):
    """Soft attention over window or sentence memories, K hops, and a softmax over all words.

    ``kind`` is 0 for windows and 1 for sentences. A and B are the same in all hops, as is H.
    """

    def __init__(self, words: int, p: int, hops: int = 1, time: int = 1, kind: int = 0) -> None:
        super().__init__()
        embedding: type[Module] = SentenceEmbedding if kind else WindowEmbedding
        self.a, self.b = (embedding(words, p, time=bool(time)) for _ in range(2))
        self.h, self.u = Linear(p, p, bias=False), output_layer(p, words)
        self.hops = hops

    def forward(self, batch: MemoryBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """q after the last hop, (examples, p), and the α of the first, (memories,)."""
        q = self.a(batch.queries)
        c, m = self.a(batch.memories, batch.time), self.b(batch.memories, batch.time)
        first = None
        for _ in range(self.hops):
            alpha = softmax_by((c * q[batch.example]).sum(1), batch.example, len(q))
            q = self.h(q).index_add(0, batch.example, alpha[:, None] * m)
            first = alpha if first is None else first
        assert first is not None
        return q, first


@dataclass(frozen=True, slots=True)
class Found:
    """P of each candidate of the batch, (all,), and what each memory counts, (memories,)."""

    candidates: torch.Tensor
    memories: torch.Tensor


def judge_windows(net: Module, batch: MemoryBatch, hard: bool) -> Found:
    """P(candidate) of the softmax over all words, or, of a model that supervises itself, Σ α of its windows.

    With ``hard`` the α of the best of these alone.
    """
    if isinstance(net, MemN2N):
        q, alpha = net(batch)
        log_p = net.u(q).log_softmax(1)
        return Found(log_p[batch.of_candidate, batch.candidates].exp(), alpha)
    alpha = softmax_by(net(batch), batch.example, len(batch.queries))
    owned, count = batch.owner >= 0, len(batch.candidates)
    if hard:
        best = group_max(alpha[owned], batch.owner[owned], count)
        return Found(best.clamp_min(0), alpha)
    total = alpha.new_zeros(count)
    return Found(total.index_add(0, batch.owner[owned], alpha[owned]), alpha)


class MemN2NReader(NeuralClozeReader):
    """Fills a blank with the candidate that the memories speak for; cites the window of most attention.

    Options of reading: ``hard``, the best window of a candidate counts alone; ``exclude``, candidates that
    stand in the query come last. Options that weights are trained with: ``notime``, memories have no index;
    ``all-windows``, memories of all words compete; ``all-targets``, the right word is also asked for among
    all words; ``lm``, every word of the books is asked for; ``anonymous``, candidates are markers.
    """

    name = "memn2n"
    kinds = ("self", "window", "sentence", "lexical")
    training_options = ("notime", "all-windows", "all-targets", "lm", "anonymous")
    reading_options = ("hard", "exclude")

    def attention(self, cloze: Cloze) -> Attention:
        """See ``NeuralClozeReader.attention``: one row, what the window of a mention counts on its words."""
        if self.form.kind in ("sentence", "lexical"):
            return super().attention(cloze)
        [judged] = self.judge([cloze])
        weights = [0.0] * len(cloze.spelled)
        for mention, weight in zip(cloze.mentions, judged.weights, strict=True):
            for at in range(mention.first, mention.last):
                weights[at] += weight
        return Attention([*cloze.spelled], [""], [weights])

    @classmethod
    def net(cls, form: ClozeForm, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``NeuralClozeReader.net``."""
        if form.kind == "lexical":
            return LexicalMemory(words, **sizes)
        return SelfMemory(words, **sizes) if form.kind == "self" else MemN2N(words, **sizes)

    def _judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        if self.form.kind == "lexical":
            return self.judge_text(clozes, lexical_scores, cased=False)
        found = [self._found(model, clozes) for model in self._models]
        judged = []
        for n, cloze in enumerate(clozes):
            # An ensemble's probability is the mean of its members'.
            p = torch.stack([of_model[n][0] for of_model in found]).mean(0)
            weights = torch.stack([of_model[n][1] for of_model in found]).mean(0)
            scores = p.clamp_min(_NEVER).log().tolist()
            if "exclude" in self.form.options:
                scores = [s + _EXCLUDED * spelled_in(cloze, i) for i, s in enumerate(scores)]
            judged.append(Judged(scores, weights.tolist() if self.form.kind != "sentence" else (), True))
        return judged

    def _found(self, model: LoadedCloze, clozes: Sequence[Cloze]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Per cloze P of its candidates and the weight of each of ``Cloze.mentions``."""
        make = sentence_example if self.form.kind == "sentence" else window_example
        examples = [make(read_example(cloze, model.vocabulary, model.anonymous)) for cloze in clozes]
        found = judge_windows(model.net, memory_batch(examples, self._device), "hard" in self.form.options)
        memories = torch.split(found.memories.cpu(), [len(one.memories) for one in examples])
        candidates = torch.split(found.candidates.cpu(), [len(cloze.candidates) for cloze in clozes])
        result = []
        for cloze, one, p, alpha in zip(clozes, examples, candidates, memories, strict=True):
            weights = torch.zeros(len(cloze.mentions))
            if self.form.kind != "sentence":
                weights[torch.from_numpy(one.mentions).long()] = alpha
            result.append((p, weights))
        return result


def spelled_in(cloze: Cloze, candidate: int) -> bool:
    """Whether the query spells the candidate."""
    keys = cloze.keys[candidate]
    return any(cloze.query[i : i + len(keys)] == keys for i in range(len(cloze.query) if keys else 0))
