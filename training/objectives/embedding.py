"""Embedding models: the right word among all words, Hill et al. 2016, section 4.3."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from readers.neural.cloze_example import Ids, draw_markers, encode_cloze
from readers.neural.cloze_reader import ClozeForm
from readers.neural.embedding import EmbeddingModel, input_passage, padded_passages
from readers.neural.vocabulary import UNKNOWN
from training.corpora.cloze import ClozeCorpus, clozes
from training.export import Trained
from training.invocation import Invocation
from training.objectives.cloze import ClozeTask, train_network
from training.objectives.cloze_settings import ClozeSettings
from training.objectives.cloze_systems import Network


@dataclass(frozen=True, slots=True)
class Passage:
    """What φ(q) counts, ids (words,), and the answer's id."""

    words: Ids
    answer: int


class EmbeddingObjective:
    """-log softmax over all words w of S(q, w); the gradients of a batch are summed, as in ``memn2n``."""

    cased = False

    def sizes(self, network: Network, form: ClozeForm) -> dict[str, int]:
        """See ``Objective.sizes``."""
        return {"p": network.width, **network.sizes}

    def examples(self, task: ClozeTask, corpus: ClozeCorpus) -> list[Passage]:
        """Every question whose answer is a known word."""
        found = []
        for question, cloze in clozes(corpus.train):
            example = encode_cloze(cloze, task.vocabulary, task.anonymous, question.answers[0])
            answer = int(example.candidates[example.answer])
            if answer != UNKNOWN:
                found.append(Passage(input_passage(example, task.form.kind), answer))
        return found

    def loss(
        self, net: EmbeddingModel, batch: Sequence[Any], task: ClozeTask, rng: random.Random
    ) -> torch.Tensor:
        """See ``Objective.loss``."""
        passages = [one.words for one in batch]
        answers = torch.tensor([one.answer for one in batch], device=task.device)
        if task.anonymous:
            drawn = [draw_markers(np.append(one.words, np.int32(one.answer)), rng) for one in batch]
            passages = [of_one[:-1] for of_one in drawn]
            answers = torch.tensor([int(of_one[-1]) for of_one in drawn], device=task.device)
        scores = net(padded_passages(passages, task.device))
        return cross_entropy(scores, answers, reduction="sum")


def train(run: Invocation, settings: ClozeSettings) -> Trained:
    """See ``storyqa train cbt``."""
    return train_network(EmbeddingObjective(), run, settings)
