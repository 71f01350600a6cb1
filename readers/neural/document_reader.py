"""What the readers of Hermann et al. 2015, section 3.2, have in common: g of a document and a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch.nn import Module

from readers.cloze import Cloze
from readers.filling import Judged
from readers.neural.cloze_example import ClozeExample, read_example
from readers.neural.cloze_reader import Attention, ClozeForm, NeuralClozeReader
from readers.neural.layers import pad_sequences


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """``document`` (rows, longest) and ``query`` (rows, longest), ids of words, each before its lengths."""

    document: torch.Tensor
    documents: torch.Tensor
    query: torch.Tensor
    queries: torch.Tensor


def document_batch(examples: Sequence[ClozeExample], device: torch.device) -> DocumentBatch:
    """The examples together."""
    document = pad_sequences([one.context.tolist() for one in examples], device)
    query = pad_sequences([one.query.tolist() for one in examples], device)
    return DocumentBatch(*document, *query)


class DocumentModel(Protocol):
    """p(a | d, q) is proportional to exp(W(a) g(d, q)) for every word a."""

    def __call__(self, batch: DocumentBatch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """W g, (rows, words), and s, (rows, query tokens or 1, document tokens), None where there is none."""
        ...


class DocumentReader(NeuralClozeReader):
    """Fills a blank with the candidate of the highest W(a) g; several models' probabilities are averaged.

    Where there is attention, the mention of most of it is cited.
    """

    model: ClassVar[type[Module]]

    @classmethod
    def net(cls, form: ClozeForm, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``NeuralClozeReader.net``."""
        return cls.model(words, **sizes)

    def attention(self, cloze: Cloze) -> Attention:
        """See ``NeuralClozeReader.attention``: a row, or one for each token of the query."""
        model = self._models[0]
        example = read_example(cloze, model.vocabulary, model.anonymous)
        with torch.inference_mode():
            _, s = model.net(document_batch([example], self._device))
        if s is None:
            return super().attention(cloze)
        ends = [*example.tokens[1:].tolist(), len(cloze.spelled)]
        words = [" ".join(cloze.spelled[i:j]) for i, j in zip(example.tokens.tolist(), ends, strict=True)]
        keys = [model.vocabulary.key(id) for id in example.query.tolist()]
        return Attention(words, keys if s.shape[1] > 1 else [""], s[0].cpu().tolist())

    def _judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        found: list[list[torch.Tensor]] = [[] for _ in clozes]
        weights: list[tuple[float, ...]] = [() for _ in clozes]
        for model in self._models:
            examples = [read_example(cloze, model.vocabulary, model.anonymous) for cloze in clozes]
            logits, s = model.net(document_batch(examples, self._device))
            for n, (cloze, example) in enumerate(zip(clozes, examples, strict=True)):
                of_one = logits[n].float().cpu()[torch.from_numpy(example.candidates).long()]
                found[n].append(of_one.softmax(0))
                if s is not None and not weights[n]:
                    weights[n] = _of_mentions(cloze, example, s[n].mean(0).cpu())
        return [
            Judged(torch.stack(p).mean(0).clamp_min(1e-30).log().tolist(), of_one, True)
            for p, of_one in zip(found, weights, strict=True)
        ]


def _of_mentions(cloze: Cloze, example: ClozeExample, s: torch.Tensor) -> tuple[float, ...]:
    """The attention on each of ``Cloze.mentions``; 0 on those that are part of another."""
    weights = [0.0] * len(cloze.mentions)
    for _, first, last, number in example.mentions.tolist():
        weights[number] = float(s[first:last].sum())
    return tuple(weights)
