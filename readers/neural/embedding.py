"""The reader ``embedding``: a bag of words beside each candidate, a memory network without memories.

Hill et al. 2016, section 4.3, after Weston et al. 2010: S(q, w) = φ(q) Aᵀ B φ(w). What φ(q) counts are the
words of context and query, of the query, of the window round the blank, or of that window each in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch.nn import Embedding, Linear, Module
from torch.nn.functional import embedding_bag

from readers.cloze import Cloze
from readers.filling import Judged
from readers.neural.cloze_example import ClozeExample, Ids, read_example
from readers.neural.cloze_reader import ClozeForm, NeuralClozeReader
from readers.neural.layers import pad_sequences, sequence_mask
from readers.neural.memories import WINDOW, output_layer, windows_at

KINDS = ("window", "context", "query", "position")


class EmbeddingModel(Module):
    """S(q, w) of every word w; ``places`` is b where each place has an A of its own, else 1."""

    def __init__(self, words: int, p: int, places: int = 1) -> None:
        super().__init__()
        self.a = Embedding(words * places, p, sparse=True)
        torch.nn.init.normal_(self.a.weight, std=0.1)
        self.b: Linear = output_layer(p, words)
        self._words, self._places = words, places

    def forward(self, passage: torch.Tensor) -> torch.Tensor:
        """(rows, words) of ``passage`` (rows, longest), ids of words, -1 where there are no more."""
        places = torch.arange(passage.shape[1], device=passage.device) % self._places
        ids = passage.clamp_min(0) + places * self._words
        weights = (passage >= 0).to(self.a.weight.dtype)
        q = embedding_bag(ids, self.a.weight, mode="sum", sparse=True, per_sample_weights=weights)
        scores: torch.Tensor = self.b(q)
        return scores


def input_passage(example: ClozeExample, kind: str) -> Ids:
    """The words that φ(q) counts; the blank is none, but in its own place of a window by places."""
    if kind == "position":
        blank = np.array([example.blank])
        window: Ids = windows_at(example.query, blank, blank + 1, WINDOW)[0]
        return window
    query: Ids = np.delete(example.query, example.blank)
    if kind == "context":
        whole: Ids = np.concatenate([example.context, query])
        return whole
    if kind == "window":
        reach = (WINDOW - 1) // 2
        return query[max(0, example.blank - reach) : example.blank + reach]
    return query


def padded_passages(passages: Sequence[Ids], device: torch.device) -> torch.Tensor:
    """(rows, longest), -1 where a passage has no more words."""
    ids, lengths = pad_sequences([[*one.tolist()] for one in passages], device)
    return ids.masked_fill(~sequence_mask(lengths, ids.shape[1]), -1)


class EmbeddingReader(NeuralClozeReader):
    """Fills a blank with the candidate of the highest S; of several models the mean S counts."""

    name = "embedding"
    kinds = KINDS
    training_options = ("anonymous",)

    @classmethod
    def net(cls, form: ClozeForm, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``NeuralClozeReader.net``."""
        return EmbeddingModel(words, **sizes)

    def _judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        found = []
        for model in self._models:
            examples = [read_example(cloze, model.vocabulary, model.anonymous) for cloze in clozes]
            passages = [input_passage(example, self.form.kind) for example in examples]
            scores = model.net(padded_passages(passages, self._device)).cpu()
            found.append(
                [
                    row[torch.from_numpy(one.candidates).long()]
                    for row, one in zip(scores, examples, strict=True)
                ]
            )
        means = [torch.stack(of_one).mean(0) for of_one in zip(*found, strict=True)]
        return [Judged(scores.tolist(), (), True) for scores in means]
