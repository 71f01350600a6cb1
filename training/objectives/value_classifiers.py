"""Training of WikiReading's classifiers: an instance for each value, Hewlett et al. 2016, section 3.1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from readers.neural.document_reader import DocumentBatch
from readers.neural.entities import MARKERS
from readers.neural.property_example import PropertyExample, encode_property
from readers.neural.value_bags import (
    AveragesReader,
    ParagraphsReader,
    WordSetsReader,
    paragraph_loss,
    paragraph_vectors,
    shares,
)
from readers.neural.value_classifier import VALUES, ValueClassifierReader, value_batch
from readers.neural.value_memory import SentenceMemoriesReader
from readers.neural.value_recurrent import AttentiveReaderOfValues, LstmReaderOfValues
from readers.neural.vocabulary import FIRST_MARKER, Vocabulary
from terminal.progress import ProgressBars
from training.corpora import wikireading
from training.corpora.wikireading import PropertyCorpus
from training.export import Trained
from training.invocation import Invocation
from training.objectives.property_settings import PropertyNetwork, PropertySettings, check_settings
from training.objectives.property_values import (
    FirstStage,
    Moment,
    PropertyTask,
    export,
    learn_words,
    train_property,
)

MOST_VALUES = 50_000
# Of 5,000 words each, behind the ids of none, the paper's has the 500 M parameters of its table 3 for 50,000
# values; of 50,000, as its table 4 has it, it were ten times as large.
_MOST = FIRST_MARKER + MARKERS + 5_000
WORD_SETS = PropertyNetwork(
    hidden=None,
    rate=4e-3,
    dropout=0.0,
    sizes={"read": 4_900, "asked": 600},
    without=("width", "dropout"),
    in_paper={"words": 10_000, "sizes": {"read": _MOST, "asked": _MOST}},
)
OFTEN = 2  # instances that a value has, to be one: what is seen once is hardly learnt, and costs as much


@dataclass(frozen=True, slots=True)
class Chosen:
    """An example and the number of one of its values."""

    example: PropertyExample
    value: int

    def __len__(self) -> int:
        return len(self.example.words)


class ClassifierObjective:
    """-log P of the value."""

    def __init__(self, reader: type[ValueClassifierReader], network: PropertyNetwork, *sized: str) -> None:
        """``sized`` are the keywords of the net that are sizes of the ``network``: d, hidden."""
        self.reader, self.network, self._sized = reader, network, sized
        self._words = Vocabulary(())

    def vocabulary(self, corpus: PropertyCorpus, words: int) -> Vocabulary:
        """See ``Objective.vocabulary``: the words, and behind them the values that stand often enough."""
        self._words = learn_words(corpus, words, with_answers=False)
        return Vocabulary((*self._words.words, *values_of(corpus)))

    def sizes(
        self, network: PropertyNetwork, corpus: PropertyCorpus, vocabulary: Vocabulary
    ) -> dict[str, int]:
        """See ``Objective.sizes``."""
        known = {"d": network.width, "hidden": network.hidden or network.width}
        sized = {name: known[name] for name in self._sized}
        return {VALUES: len(values_of(corpus)), **sized, **network.sizes}

    def examples(self, corpus: PropertyCorpus, vocabulary: Vocabulary) -> list[Chosen]:
        """See ``Objective.examples``: one for each value that is known."""
        numbers = {value: number for number, value in enumerate(values_of(corpus))}
        return [
            Chosen(example, numbers[answer])
            for one in corpus.train
            if (example := encode_property(one.property, one.document)).words
            for answer in one.answers
            if answer in numbers
        ]

    def loss(self, net: Any, batch: Sequence[Chosen], vocabulary: Vocabulary, moment: Moment) -> torch.Tensor:
        """See ``Objective.loss``."""
        device = next(net.parameters()).device
        values = torch.tensor([one.value for one in batch], device=device)
        read = value_batch([one.example for one in batch], self._words, device)
        return self.loss_of(net, read, values, moment)

    def loss_of(self, net: Any, batch: DocumentBatch, values: torch.Tensor, moment: Moment) -> torch.Tensor:
        """That of documents and properties by ids, and the numbers of their values (rows,)."""
        return cross_entropy(net(batch), values)


class MemoryObjective(ClassifierObjective):
    """-log P of the value, less λ H(p): attention is spread at first, for λ falls to 0."""

    SPREAD = 0.2  # λ at first

    def sizes(
        self, network: PropertyNetwork, corpus: PropertyCorpus, vocabulary: Vocabulary
    ) -> dict[str, int]:
        """See ``Objective.sizes``."""
        return {**super().sizes(network, corpus, vocabulary), "stop": vocabulary.ids(["."])[0]}

    def loss_of(self, net: Any, batch: DocumentBatch, values: torch.Tensor, moment: Moment) -> torch.Tensor:
        """See ``ClassifierObjective.loss_of``."""
        logits, log_p = net.attend(batch)
        entropy = -(log_p.exp() * log_p).sum(1).mean()
        loss: torch.Tensor = cross_entropy(logits, values) - self.SPREAD * (1 - moment.done) * entropy
        return loss


class ParagraphObjective(ClassifierObjective):
    """-log p of each document's words, by the vectors that fit it best now: U alone is moved.

    Where v is at its best, the gradient for U is that of both together.
    """

    def loss_of(self, net: Any, batch: DocumentBatch, values: torch.Tensor, moment: Moment) -> torch.Tensor:
        """See ``ClassifierObjective.loss_of``."""
        seen = shares(batch, len(net.u))
        return paragraph_loss(net.u, paragraph_vectors(net.u.detach(), seen), seen).mean()


def values_of(corpus: PropertyCorpus) -> list[str]:
    """The values that stand ``OFTEN`` times or more, at most ``MOST_VALUES``, more frequent ones first."""
    counts = Counter(answer for one in corpus.train for answer in one.answers)
    often = sorted((value for value in counts if counts[value] >= OFTEN), key=lambda v: (-counts[v], v))
    return often[:MOST_VALUES]


def train_bow(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-bow``."""
    return train_property(ClassifierObjective(WordSetsReader, WORD_SETS), run, settings)


def train_average(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-average``."""
    network = PropertyNetwork(hidden=None, rate=5e-3)
    return train_property(ClassifierObjective(AveragesReader, network, "d"), run, settings)


def train_lstm(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-lstm``."""
    objective = ClassifierObjective(LstmReaderOfValues, PropertyNetwork(), "d", "hidden")
    return train_property(objective, run, settings)


def train_attentive(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-attentive``."""
    objective = ClassifierObjective(AttentiveReaderOfValues, PropertyNetwork(), "d", "hidden")
    return train_property(objective, run, settings)


def train_memory(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-memory``."""
    network = PropertyNetwork(hidden=None, words=10_000)
    return train_property(MemoryObjective(SentenceMemoriesReader, network, "d"), run, settings)


def train_paragraph(run: Invocation, settings: PropertySettings) -> Trained:
    """See ``storyqa train wr-paragraph``: the paragraph vectors in OUT/vectors first."""
    network = PropertyNetwork(hidden=None, words=8_000, rate=5e-3)
    check_settings(settings, network)
    vectors = replace(network, rate=2e-2, epochs=3)
    with ProgressBars("reading the instances"):
        corpus = wikireading.load(run.data, settings.count)
        first = FirstStage(ParagraphObjective(ParagraphsReader, vectors, "d"), settings, corpus)
    replace(run, out=run.out / "vectors").train(first)
    objective = ClassifierObjective(ParagraphsReader, network, "d")
    task = PropertyTask(objective, settings, corpus, first.model.state_dict())
    return export(run.train(task, validations=task.network.epochs), run.command)
