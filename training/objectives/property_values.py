"""What the trainers of WikiReading's networks have in common: a task, its choice of weights, and export."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Protocol

import torch

from encoders.device import pick_device
from evaluation.metrics.overlap import set_f1
from readers.neural.checkpoint import SUFFIX, Checkpoint
from readers.neural.property_example import encode_property, spelled
from readers.neural.property_reader import PropertyReader
from readers.neural.vocabulary import Vocabulary
from readers.reading import Reading
from terminal.progress import ProgressBars
from training.corpora import wikireading
from training.corpora.wikireading import PropertyCorpus
from training.export import Provenance, Trained, write_property_card
from training.invocation import Invocation
from training.objectives.property_settings import (
    PropertyNetwork,
    PropertySettings,
    check_settings,
    resolved,
)
from training.trainer import Optimisation, Trainer

_OF_THE_SYSTEM = ("sizes", "without", "in_paper")  # of a network, what no setting says


@dataclass(frozen=True, slots=True)
class Moment:
    """Where in a run a batch is: ``done`` is the share of the run before it, and ``rng`` its own chance."""

    done: float
    rng: random.Random


class Objective(Protocol):
    """What one kind of network learns of the data, and its loss."""

    @property
    def reader(self) -> type[PropertyReader]:
        """The reader that the network is trained for."""
        ...

    @property
    def network(self) -> PropertyNetwork:
        """How it is trained unless the settings say otherwise."""
        ...

    def vocabulary(self, corpus: PropertyCorpus, words: int) -> Vocabulary:
        """What it knows of the words, and the values if it chooses among some."""
        ...

    def sizes(
        self, network: PropertyNetwork, corpus: PropertyCorpus, vocabulary: Vocabulary
    ) -> dict[str, int]:
        """The keywords that the net is made with."""
        ...

    def examples(self, corpus: PropertyCorpus, vocabulary: Vocabulary) -> list[Any]:
        """All that is learnt from, encoded, each with a length of ``len``."""
        ...

    def loss(self, net: Any, batch: Sequence[Any], vocabulary: Vocabulary, moment: Moment) -> torch.Tensor:
        """The mean loss of some of the examples, a scalar."""
        ...


class PropertyTask:
    """A network that says values of properties, random at first (a ``training.trainer.Task``)."""

    chosen_by: Sequence[str] = ("mean_f1",)

    def __init__(
        self,
        objective: Objective,
        settings: PropertySettings,
        corpus: PropertyCorpus,
        start: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        """``start`` are the weights to begin with, None for random ones."""
        network = resolved(settings, objective.network)
        self.objective, self.network = objective, network
        self.device = pick_device()
        self.settings: Mapping[str, Any] = {
            **asdict(settings),
            **{name: value for name, value in asdict(network).items() if name not in _OF_THE_SYSTEM},
            "system": objective.reader.name,
        }
        self.optimisation = Optimisation("adamw", clip=network.clip)
        self.data = corpus.describe()
        self.fingerprint = corpus.fingerprint()
        self.held_out = corpus.held_out
        self.vocabulary = objective.vocabulary(corpus, network.words)
        self._examples = objective.examples(corpus, self.vocabulary)
        torch.manual_seed(settings.seed)
        self._sizes = objective.sizes(network, corpus, self.vocabulary)
        self.model = objective.reader.net(len(self.vocabulary), self._sizes).to(self.device)
        if start is not None:
            self.model.load_state_dict(start)
        for module in self.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = network.dropout
        self._chunks_an_epoch = -(-len(self._examples) // settings.chunk)
        self.chunks = network.epochs * self._chunks_an_epoch

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(list(self.model.parameters()), self.network.rate)]

    def batches(self, chunk: int) -> Iterator[tuple[list[Any], Moment]]:
        """See ``Task.batches``: examples of about one length, each batch with its own chance."""
        epoch, part = divmod(chunk, self._chunks_an_epoch)
        seed = self.settings["seed"]
        order = list(range(len(self._examples)))
        random.Random(f"{seed}/{epoch}").shuffle(order)
        size = self.settings["chunk"]
        rng = random.Random(f"{seed}/{epoch}/{part}")
        near = {
            i: len(self._examples[i]) * rng.uniform(1, 1.2) for i in order[part * size : (part + 1) * size]
        }
        rest = iter(sorted(near, key=near.__getitem__))
        found = list(iter(lambda: list(islice(rest, self.network.batch)), []))
        rng.shuffle(found)
        for members in found:
            yield (
                [self._examples[i] for i in members],
                Moment(chunk / self.chunks, random.Random(rng.random())),
            )

    def questions(self, batch: tuple[list[Any], Moment]) -> int:
        """See ``Task.questions``."""
        return len(batch[0])

    def losses(self, batch: tuple[list[Any], Moment]) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        self.model.train()
        examples, moment = batch
        # As in ``NeuralTask``: on a CPU bf16 gains nothing in products as small as these.
        with torch.autocast("cpu", enabled=False):
            loss = self.objective.loss(self.model, examples, self.vocabulary, moment)
        return {self.objective.reader.name: loss}

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``: mean F1 on the documents held out."""
        if not self.held_out:
            return {}
        reader = self.objective.reader(self.weights(""))
        readings = [Reading(one.property, (one.document,)) for one in self.held_out]
        found = [answers[0].text if answers else "" for answers in reader.read(readings)]
        scores = [set_f1(text, one.answers) for text, one in zip(found, self.held_out, strict=True)]
        return {"mean_f1": sum(scores) / len(scores)}

    def weights(self, trained_on: str) -> Checkpoint:
        """The model as it is now, for a reader."""
        return Checkpoint(self._sizes, self.vocabulary, self.model.state_dict(), trained_on)


class FirstStage(PropertyTask):
    """Learns what another task begins with, to its end (a ``training.trainer.Task``)."""

    chosen_by: Sequence[str] = ()

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``: none."""
        return {}


def learn_words(corpus: PropertyCorpus, most: int, with_answers: bool) -> Vocabulary:
    """The words of properties, then the most frequent of documents, and of answers if those are written."""
    asked: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for document in corpus.documents().values():
        counts.update(encode_property("", document).words)
    for one in corpus.train:
        asked.update(spelled(one.property))
        for answer in one.answers if with_answers else ():
            counts.update(spelled(answer))
    of_properties = Vocabulary.learn(asked.elements(), most).words
    frequent = Vocabulary.learn(counts.elements(), most).words
    return Vocabulary([*dict.fromkeys((*of_properties, *frequent))][:most])


def train_property(objective: Objective, run: Invocation, settings: PropertySettings) -> Trained:
    """Train a network on the train split, and write the weights that were best on what is held out of it."""
    check_settings(settings, objective.network)
    with ProgressBars("reading the instances"):
        corpus = wikireading.load(run.data, settings.count)
        task = PropertyTask(objective, settings, corpus)
    return export(run.train(task, validations=task.network.epochs), run.command)


def export(trainer: Trainer[PropertyTask], command: str) -> Trained:
    """Write the weights of the best mean F1, and their card."""
    task = trainer.task
    done = trainer.use_best("mean_f1")
    ((documents, instances),) = task.data.values()
    trained_on = f"WikiReading train ({instances:,} instances of {documents:,} documents)"
    name = task.objective.reader.name
    int8 = bool(task.settings["int8"])
    path = task.weights(trained_on).save(trainer.out / f"{name}{SUFFIX}", task.settings, int8)
    parameters = sum(parameter.numel() for parameter in task.model.parameters())
    what = f"{parameters:,} parameters, {'int8' if int8 else 'fp16'}; {len(task.vocabulary.words):,} words."
    chosen = (
        f"mean F1 on {len(task.held_out):,} instances held out of the train split, {done:.0%} into the run"
    )
    write_property_card(path, what, trained_on, chosen, Provenance.of(trainer, command))
    return Trained((path,), trainer.seconds, trainer.scores)
