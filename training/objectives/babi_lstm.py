"""Training of ``babi-lstm``: the likelihood of the answers alone; what supports them is not seen."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from encoders.device import pick_device
from readers.neural.babi_lstm import NAME, AskedStory, StoryLstm, asked_stories
from readers.neural.checkpoint import SUFFIX, Checkpoint
from readers.neural.vocabulary import Vocabulary
from training.corpora.babi import Example, examples, words_of
from training.objectives.babi_systems import BabiRun
from training.trainer import Optimisation, Trainer

_SETTINGS = {"epochs": 10, "batch": 32, "rate": 0.002, "width": 50}
_HELD_OUT = 10  # one story in so many chooses among the epochs

Stories = Sequence[Sequence[Example]]  # the questions of each


@dataclass(frozen=True, slots=True)
class LstmBatch:
    """Stories that are read together, by word ids, with the classes of the answers (questions,)."""

    stories: Sequence[AskedStory]
    questions: Sequence[Sequence[int]]
    answers: torch.Tensor


class BabiLstmTask:
    """An LSTM and the stories that it learns from (a ``training.trainer.Task``)."""

    optimisation = Optimisation("adamw", clip=1.0)

    def __init__(self, run: BabiRun) -> None:
        self.settings: Mapping[str, Any] = {
            **{"system": NAME, "trained_on": run.trained_on, "seed": run.seed, **_SETTINGS},
            **({"epochs": run.epochs} if run.epochs else {}),
        }
        self.device = pick_device()
        stories = [[*examples([story])] for of_task in run.stories.values() for story in of_task]
        stories = [story for story in stories if story]
        found = [one for story in stories for one in story]
        self.words = words_of(found)
        self.answers = sorted({",".join(one.answers) for one in found})
        self._ids = {word: id for id, word in enumerate(self.words, 1)}
        self._classes = {answer: number for number, answer in enumerate(self.answers)}
        random.Random(run.seed).shuffle(stories)
        held_out = len(stories) // _HELD_OUT
        self.stories, self.held_out = stories[held_out:], stories[:held_out]
        self.chosen_by: Sequence[str] = ("accuracy",) if held_out else ()
        self.data = {"babi": (len(stories), len(found))}
        self.fingerprint = run.fingerprint
        torch.manual_seed(run.seed)
        width = self.settings["width"]
        self.sizes = {"words": len(self.words), "answers": len(self.answers), "d": width, "hidden": width}
        self.model = StoryLstm(**self.sizes).to(self.device)
        self.chunks: int = self.settings["epochs"]

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(list(self.model.parameters()), self.settings["rate"])]

    def batches(self, chunk: int) -> Iterator[LstmBatch]:
        """See ``Task.batches``: stories of about one length, until they ask as much as a batch holds."""
        rng = random.Random(f"{self.settings['seed']}/{chunk}")
        length = {id(story): _length(story) * rng.uniform(1, 1.2) for story in self.stories}
        groups: list[list[Sequence[Example]]] = [[]]
        for story in sorted(self.stories, key=lambda story: length[id(story)]):
            if sum(map(len, groups[-1])) >= self.settings["batch"]:
                groups.append([])
            groups[-1].append(story)
        rng.shuffle(groups)
        yield from map(self.batch, groups)

    def batch(self, stories: Stories) -> LstmBatch:
        """The questions of the stories by ids."""
        found = [one for story in stories for one in story]
        facts = [[self._numbers(fact.words) for fact in one.told.facts] for one in found]
        answers = [self._classes[",".join(one.answers)] for one in found]
        return LstmBatch(
            asked_stories(facts),
            [self._numbers(one.told.question) for one in found],
            torch.tensor(answers, device=self.device),
        )

    def _numbers(self, words: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._ids[word] for word in words)

    def questions(self, batch: LstmBatch) -> int:
        """See ``Task.questions``."""
        return len(batch.questions)

    def losses(self, batch: LstmBatch) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        with torch.autocast(self.device.type, enabled=False):  # so small a network gains nothing by bf16
            return {"answers": cross_entropy(self.model(batch.stories, batch.questions), batch.answers)}

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """See ``Task.validate``: how many answers are right in the stories held out."""
        if not self.held_out:
            return {}
        self.model.eval()
        batch = self.batch(self.held_out)
        right = self.model(batch.stories, batch.questions).argmax(1) == batch.answers
        self.model.train()
        return {"accuracy": right.float().mean().item()}


def _length(story: Sequence[Example]) -> int:
    return max(sum(len(fact.words) for fact in one.told.facts) for one in story)


def learn(run: BabiRun) -> Path:
    """Train to the end, or go on, and write the weights that were best on the stories held out."""
    task = BabiLstmTask(run)
    trainer = Trainer(task, run.out)
    trainer.resume()
    trainer.train(validations=task.chunks)
    for name in task.chosen_by:
        trainer.use_best(name)
    vocabulary = Vocabulary([*task.words, *task.answers])
    weights = Checkpoint(task.sizes, vocabulary, task.model.state_dict(), run.trained_on)
    return weights.save(run.out / f"{NAME}{SUFFIX}", task.settings)
