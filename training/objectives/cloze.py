"""``storyqa train cbt`` and ``cnn``: any system of ``CLOZE_SYSTEMS``; what its networks have in common."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import accumulate, islice
from typing import Any, Protocol

import torch

from encoders.device import pick_device
from evaluation.benchmarks.benchmark import Question
from readers import READERS, kind_of
from readers.cloze import Cloze
from readers.neural.checkpoint import SUFFIX, Checkpoint
from readers.neural.cloze_example import nearest
from readers.neural.cloze_reader import ClozeForm, NeuralClozeReader
from readers.neural.vocabulary import Vocabulary
from terminal.progress import ProgressBars
from text.cloze import BLANK, cloze_tokens
from text.registry import import_object, resolve
from training.corpora import cloze as corpora
from training.corpora.cloze import ClozeCorpus, clozes
from training.corpora.corpus import NoTrainingData
from training.export import Provenance, Trained, write_cloze_card
from training.invocation import Invocation, Outcome
from training.objectives.cloze_settings import ClozeSettings, check_settings, resolved, stages, system_of
from training.objectives.cloze_systems import ClozeSystem, Network
from training.trainer import Trainer


class Objective(Protocol):
    """What one kind of network learns of the data, and its loss."""

    @property
    def cased(self) -> bool:
        """Whether it reads text as it is spelled."""
        ...

    def sizes(self, network: Network, form: ClozeForm) -> dict[str, int]:
        """The keywords that the net is made with."""
        ...

    def examples(self, task: ClozeTask, corpus: ClozeCorpus) -> list[Any]:
        """All that is learnt from, encoded, in an order of no meaning."""
        ...

    def loss(self, net: Any, batch: Sequence[Any], task: ClozeTask, rng: random.Random) -> torch.Tensor:
        """The loss of some of the examples, a scalar."""
        ...


class ClozeTask:
    """A network for cloze questions that begins with random weights (a ``training.trainer.Task``).

    Weights are chosen by accuracy, the mean over the classes of questions, on the valid split.
    """

    chosen_by: Sequence[str] = ("accuracy",)

    def __init__(
        self, objective: Objective, system: ClozeSystem, settings: ClozeSettings, corpus: ClozeCorpus
    ) -> None:
        assert system.network is not None
        network = resolved(settings, system.network)
        self.objective, self.system, self.network = objective, system, network
        self.device = pick_device()
        self.reader: type[NeuralClozeReader] = resolve("reader", kind_of(settings.system), READERS)
        self.form: ClozeForm = self.reader.parse(f"@{settings.system.partition('@')[2]}")[1]
        self.anonymous = corpus.data_set == "cnn" or "anonymous" in self.form.trained_with
        self.unknown = settings.unknown
        self.settings: Mapping[str, Any] = {
            **asdict(replace(settings, system=self.form.written)),
            **{"epochs": network.epochs, "width": network.width, "hidden": network.hidden},
            **{"rate": network.rate, "batch": network.batch, "dropout": network.dropout},
        }
        self.optimisation = network.optimisation
        self.data = corpus.describe()
        self.fingerprint = corpus.fingerprint()
        self.vocabulary = learn_vocabulary(corpus, settings.words, objective.cased)
        self.held_out = [
            (question.kind or "", *_asked(question, one)) for question, one in clozes(corpus.held_out)
        ]
        self._examples = objective.examples(self, corpus)
        self._stages = stages(settings)
        learnt = [self._learnt(tokens) for tokens in self._stages]
        # The numbers of the examples of each pass, and the number of its first chunk.
        self._passes = [learnt[n * len(learnt) // network.epochs] for n in range(network.epochs)]
        self._first = [0, *accumulate(-(-len(one) // settings.chunk) for one in self._passes)]
        self.chunks = self._first[-1]
        torch.manual_seed(settings.seed)
        sizes = objective.sizes(network, self.form)
        self.model = self.reader.net(self.form, len(self.vocabulary), sizes).to(self.device)
        if network.dropout:
            set_dropout(self.model, network.dropout)
        self.model.train()

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(list(self.model.parameters()), self.network.rate)]

    def _learnt(self, tokens: int | None) -> list[int]:
        """The examples that can be learnt of so many tokens of their contexts."""
        everything = range(len(self._examples))
        found = [i for i in everything if tokens is None or nearest(self._examples[i], tokens) is not None]
        if not found:
            raise NoTrainingData(f"no question's answer is among the last {tokens} tokens of its context")
        return found

    def _example(self, i: int, tokens: int | None) -> Any:
        return self._examples[i] if tokens is None else nearest(self._examples[i], tokens)

    def batches(self, chunk: int) -> Iterator[tuple[list[Any], random.Random]]:
        """See ``Task.batches``; each with its own chance, for what is drawn anew."""
        epoch = bisect_right(self._first, chunk) - 1
        part = chunk - self._first[epoch]
        tokens = self._stages[epoch * len(self._stages) // len(self._passes)]
        order = list(self._passes[epoch])
        random.Random(f"{self.settings['seed']}/{epoch}").shuffle(order)
        size = self.settings["chunk"]
        rest = iter(order[part * size : (part + 1) * size])
        number = 0
        while members := list(islice(rest, self.network.batch)):
            rng = random.Random(f"{self.settings['seed']}/{chunk}/{number}")
            yield [self._example(i, tokens) for i in members], rng
            number += 1

    def questions(self, batch: tuple[list[Any], random.Random]) -> int:
        """See ``Task.questions``."""
        return len(batch[0])

    def losses(self, batch: tuple[list[Any], random.Random]) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        examples, rng = batch
        # In fp32 on a card, too: bf16 gains nothing in products as small as these; an adaptive softmax and
        # sums by index want numbers of one kind.
        with torch.autocast(self.device.type, enabled=False):
            loss = self.objective.loss(self.model, examples, self, rng)
        return {self.form.file: loss}

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``: accuracy, and that of each class; equals share their place."""
        reader = self.reader(self.form, [self.weights("")])
        right: dict[str, list[float]] = defaultdict(list)
        judged = reader.judge([one for _, one, _ in self.held_out])
        for (kind, _, answer), found in zip(self.held_out, judged, strict=True):
            best = max(found.scores)
            won = found.scores[answer] == best
            # Of a net that ran away no score is a number, and none equals another.
            right[kind].append(won / max(1, sum(score == best for score in found.scores)))
        means = {kind: sum(of_one) / len(of_one) for kind, of_one in sorted(right.items())}
        return {"accuracy": sum(means.values()) / len(means), **means}

    def weights(self, trained_on: str) -> Checkpoint:
        """The model as it is now, for a reader."""
        return replace(self._checkpoint(self.model.state_dict()), trained_on=trained_on)

    def _checkpoint(self, tensors: Mapping[str, torch.Tensor]) -> Checkpoint:
        sizes = self.objective.sizes(self.network, self.form)
        return Checkpoint(sizes, self.vocabulary, tensors, "", options={"anonymous": self.anonymous})


def _asked(question: Question, cloze: Cloze) -> tuple[Cloze, int]:
    return cloze, cloze.candidates.index(question.answers[0])


def learn_vocabulary(corpus: ClozeCorpus, words: int, cased: bool) -> Vocabulary:
    """The blank and the most frequent words of the passages, each of these counted once."""
    counts: Counter[str] = Counter()
    for _, sentence in corpus.sentences():
        for key, start, end in cloze_tokens(sentence):
            counts[sentence[start:end] if cased else key] += 1
    frequent = Vocabulary.learn(counts.elements(), words)
    return Vocabulary((BLANK, *frequent.words))


def set_dropout(net: torch.nn.Module, share: float) -> None:
    """Drop so much wherever the net drops anything."""
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = share


def train_network(objective: Objective, run: Invocation, settings: ClozeSettings) -> Trained:
    """Train a network on the train split, and write the weights that were best on the valid split."""
    system = system_of(settings)
    with ProgressBars("loading the questions"):
        corpus = corpora.load(
            run.data, settings.data_set, settings.count, settings.setting, settings.seed, run.cache
        )
    with ProgressBars("reading the questions"):
        task = ClozeTask(objective, system, settings, corpus)
    return export(run.train(task, validations=task.network.epochs), run.command)


def export(trainer: Trainer[ClozeTask], command: str) -> Trained:
    """Write the weights of the best accuracy, and their card."""
    task = trainer.task
    done = trainer.use_best("accuracy")
    ((works, questions),) = task.data.values()
    source = corpora.SOURCES[task.settings["data_set"]].partition(" (")[0]
    trained_on = f"{source} ({questions:,} questions of {works:,} works)"
    int8 = bool(task.settings["int8"])
    path = task.weights(trained_on).save(trainer.out / f"{task.form.file}{SUFFIX}", task.settings, int8)
    parameters = sum(parameter.numel() for parameter in task.model.parameters())
    what = (
        f"{task.form.written}: {task.system.does}. {task.system.source}.\n"
        f"{parameters:,} parameters, {'int8' if int8 else 'fp16'}; "
        f"{len(task.vocabulary.words):,} words, their vectors learnt here."
    )
    chosen = f"accuracy on {len(task.held_out):,} questions of the valid split, {done:.0%} into the run"
    write_cloze_card(path, what, trained_on, chosen, Provenance.of(trainer, command))
    return Trained((path,), trainer.seconds, trainer.scores)


def train_cbt(run: Invocation, settings: ClozeSettings) -> Outcome:
    """See ``storyqa train cbt``."""
    return _train(run, replace(settings, data_set="cbt"))


def train_cnn(run: Invocation, settings: ClozeSettings) -> Outcome:
    """See ``storyqa train cnn``."""
    return _train(run, replace(settings, data_set="cnn"))


def _train(run: Invocation, settings: ClozeSettings) -> Outcome:
    check_settings(settings)
    outcome: Outcome = import_object(system_of(settings).where)(run, settings)
    return outcome
