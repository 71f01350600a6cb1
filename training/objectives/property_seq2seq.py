"""Training of ``wr-seq2seq`` and ``wr-placeholder``: the likelihood of a value, Hewlett et al. 2016, 3.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch.nn.functional import cross_entropy

from readers.neural.layers import pad_sequences
from readers.neural.property_example import PropertyExample, encode_property, spelled
from readers.neural.property_seq2seq import (
    LONGEST,
    PlaceholderReader,
    PropertySeq2Seq,
    PropertySeq2SeqReader,
    numbered,
)
from readers.neural.vocabulary import BEGIN, END, Vocabulary
from training.corpora.wikireading import PropertyCorpus
from training.export import Trained
from training.invocation import Invocation
from training.objectives.property_settings import PropertyNetwork, PropertySettings
from training.objectives.property_values import Moment, learn_words, train_property


@dataclass(frozen=True, slots=True)
class Valued:
    """An example and the words of each of its values."""

    example: PropertyExample
    values: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self.example.words)


class Seq2SeqObjective:
    """-log p of the words of a value and its end; of several values one is drawn each time."""

    def __init__(self, reader: type[PropertySeq2SeqReader], network: PropertyNetwork) -> None:
        self.reader = reader
        plain = {"sizes": {"attention": 0}}
        self.network = replace(network, sizes={"attention": 1}, in_paper=plain)

    def vocabulary(self, corpus: PropertyCorpus, words: int) -> Vocabulary:
        """See ``Objective.vocabulary``."""
        return learn_words(corpus, words, with_answers=True)

    def sizes(
        self, network: PropertyNetwork, corpus: PropertyCorpus, vocabulary: Vocabulary
    ) -> dict[str, int]:
        """See ``Objective.sizes``."""
        return {"d": network.width, "hidden": network.hidden or network.width, **network.sizes}

    def examples(self, corpus: PropertyCorpus, vocabulary: Vocabulary) -> list[Valued]:
        """See ``Objective.examples``."""
        found = []
        for one in corpus.train:
            example = encode_property(one.property, one.document)
            values = [words[:LONGEST] for words in map(spelled, one.answers) if words]
            if example.words and values:
                found.append(Valued(example, values))
        return found

    def loss(
        self, net: PropertySeq2Seq, batch: Sequence[Valued], vocabulary: Vocabulary, moment: Moment
    ) -> torch.Tensor:
        """See ``Objective.loss``: the mean over all words that are written."""
        device = net.b.device
        drawn = moment.rng if self.reader.placeholders else None
        seen = [numbered(one.example, vocabulary, drawn) for one in batch]
        targets = [
            [*ids.target(moment.rng.choice(one.values), one.example, vocabulary), END]
            for ids, one in zip(seen, batch, strict=True)
        ]
        memory = net.encode(*pad_sequences([one.ids for one in seen], device))
        before, _ = pad_sequences([[BEGIN, *target[:-1]] for target in targets], device)
        logits, _ = net(before, memory.last[None].contiguous(), memory)
        written = [row[: len(target)] for row, target in zip(logits, targets, strict=True)]
        wanted = torch.tensor([id for target in targets for id in target], device=device)
        return cross_entropy(torch.cat(written), wanted)


def train_words(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-seq2seq``."""
    return train_property(Seq2SeqObjective(PropertySeq2SeqReader, PropertyNetwork()), run, settings)


def train_placeholder(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-placeholder``."""
    # Words that it does not know have placeholders: of 5,000 the held-out have .68, of 20,000 .67.
    network = PropertyNetwork(words=5_000)
    return train_property(Seq2SeqObjective(PlaceholderReader, network), run, settings)
