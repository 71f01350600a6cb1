"""The readers of a document and a query: the right word among all words, Hermann et al. 2015, section 3.2."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from readers.neural.cloze_example import ClozeExample, draw_example, encode_cloze
from readers.neural.cloze_reader import ClozeForm
from readers.neural.document_reader import document_batch
from readers.neural.vocabulary import UNKNOWN
from training.corpora.cloze import ClozeCorpus, clozes
from training.export import Trained
from training.invocation import Invocation
from training.objectives.cloze import ClozeTask, train_network
from training.objectives.cloze_settings import ClozeSettings
from training.objectives.cloze_systems import Network


class DocumentObjective:
    """-log p(a | d, q), the mean of a batch; markers are drawn anew each time."""

    cased = False

    def sizes(self, network: Network, form: ClozeForm) -> dict[str, int]:
        """See ``Objective.sizes``."""
        assert network.hidden is not None
        return {"d": network.width, "hidden": network.hidden, **network.sizes}

    def examples(self, task: ClozeTask, corpus: ClozeCorpus) -> list[ClozeExample]:
        """Every question whose answer is a known word."""
        found = [
            encode_cloze(cloze, task.vocabulary, task.anonymous, question.answers[0])
            for question, cloze in clozes(corpus.train)
        ]
        return [one for one in found if one.candidates[one.answer] != UNKNOWN]

    def loss(
        self, net: Any, batch: Sequence[ClozeExample], task: ClozeTask, rng: random.Random
    ) -> torch.Tensor:
        """See ``Objective.loss``."""
        drawn = [draw_example(one, rng) for one in batch]
        logits, _ = net(document_batch(drawn, task.device))
        answers = torch.tensor([int(one.candidates[one.answer]) for one in drawn], device=task.device)
        return cross_entropy(logits, answers)


def train(run: Invocation, settings: ClozeSettings) -> Trained:
    """See ``storyqa train cnn``."""
    return train_network(DocumentObjective(), run, settings)
