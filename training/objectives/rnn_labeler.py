"""Training of ``rnn-labeler``: which words of a document are part of an answer, Hewlett et al. 2016, 3.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from readers.neural.layers import pad_sequences
from readers.neural.property_example import encode_property, places, sequence
from readers.neural.rnn_labeler import RnnLabeler, RnnLabelerReader
from readers.neural.vocabulary import Vocabulary
from training.corpora.wikireading import PropertyCorpus
from training.export import Trained
from training.invocation import Invocation
from training.objectives.property_settings import PropertyNetwork, PropertySettings
from training.objectives.property_values import Moment, learn_words, train_property


@dataclass(frozen=True, slots=True)
class Labelled:
    """``ids`` of property, separator and document, which begins at ``first``; the ``labels`` of its words."""

    ids: Sequence[int]
    first: int
    labels: Sequence[float]

    def __len__(self) -> int:
        return len(self.ids)


class LabelerObjective:
    """The binary cross entropy of each word; instances that the document does not answer are left out."""

    reader = RnnLabelerReader
    network = PropertyNetwork(words=5_000, batch=32)  # of 20,000 the held-out have .30, not .34

    def vocabulary(self, corpus: PropertyCorpus, words: int) -> Vocabulary:
        """See ``Objective.vocabulary``."""
        return learn_words(corpus, words, with_answers=False)

    def sizes(
        self, network: PropertyNetwork, corpus: PropertyCorpus, vocabulary: Vocabulary
    ) -> dict[str, int]:
        """See ``Objective.sizes``."""
        return {"d": network.width, "hidden": network.hidden or network.width, **network.sizes}

    def examples(self, corpus: PropertyCorpus, vocabulary: Vocabulary) -> list[Labelled]:
        """See ``Objective.examples``."""
        found = []
        for one in corpus.train:
            example = encode_property(one.property, one.document)
            right = places(example, one.answers)
            if right:
                labels = [0.0] * len(example.words)
                for first, last in right:
                    labels[first : last + 1] = [1.0] * (last + 1 - first)
                found.append(Labelled(*sequence(example, vocabulary), labels))
        return found

    def loss(
        self, net: RnnLabeler, batch: Sequence[Labelled], vocabulary: Vocabulary, moment: Moment
    ) -> torch.Tensor:
        """See ``Objective.loss``: the mean over all words."""
        device = net.v.weight.device
        logits = net(*pad_sequences([one.ids for one in batch], device))
        of_words = [row[one.first : len(one)] for row, one in zip(logits, batch, strict=True)]
        labels = torch.tensor([label for one in batch for label in one.labels], device=device)
        return binary_cross_entropy_with_logits(torch.cat(of_words), labels)


def train(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train rnn-labeler``."""
    return train_property(LabelerObjective(), run, settings)
