"""Training of ``memnn``: margin ranking hop by hop after the true facts, Weston et al. 2014, equation 8.

For every hop: sum over the other facts of max(0, γ - s(x, y) + s(x, y') - E_x . T t); then for every word of
the answer the sum over all words of max(0, γ - s_R(x, w) + s_R(x, w')). The supporting facts are known.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import relu

from encoders.device import pick_device
from readers.neural.checkpoint import SUFFIX, Checkpoint
from readers.neural.fact_features import CANDIDATE, HOPS, FactFeatures, said
from readers.neural.memory_network import GAMMA, NAME, PLACES, MemNN, Parts, asked, file_name
from readers.neural.vocabulary import Vocabulary
from training.corpora.babi import Example, examples, words_of
from training.objectives.babi_systems import MULTITASK, BabiRun
from training.trainer import Optimisation, Trainer

_EPOCHS, _BATCH, _RATE, _WIDTH = 20, 32, 0.01, 50
_NONLINEAR_EPOCHS = 40  # it learns what no sum of words tells (6, 9, 10) late
_MULTITASK = ("am", "ng", "nl")


class MemNNTask:
    """A memory network and the stories that it learns from (a ``training.trainer.Task``)."""

    chosen_by: Sequence[str] = ()
    optimisation = Optimisation("adamw", clip=None)

    def __init__(self, run: BabiRun) -> None:
        options = {*run.options, *(_MULTITASK if MULTITASK in run.options else ())}
        epochs = run.epochs or (_NONLINEAR_EPOCHS if "nl" in options else _EPOCHS)
        self.settings: Mapping[str, Any] = {
            "system": "@".join(filter(None, [NAME, ",".join(run.options)])),
            **{
                "trained_on": run.trained_on,
                "seed": run.seed,
                "epochs": epochs,
                "batch": _BATCH,
                "rate": _RATE,
                "width": _WIDTH,
            },
        }
        self.data = {"babi": (sum(map(len, run.stories.values())), 0)}
        self.fingerprint = run.fingerprint
        self.device = pick_device()
        self.examples = [one for stories in run.stories.values() for one in examples(stories)]
        self.vocabulary = Vocabulary(spelled_words(self.examples))
        adaptive = "am" in options
        deepest = max(len(one.support) for one in self.examples)
        self.hops = 0 if adaptive else min(2, deepest)
        n = 3 if "ng" in options else 1
        places = PLACES if "multilinear" in options else 1
        lowered = [word.lower() for word in self.vocabulary.words]
        self.o, self.r = (FactFeatures.learn(lowered, met, n, places) for met in self._met())
        self._spelled = lowered
        self._numbers = {word: number for number, word in enumerate(self.vocabulary.words)}
        torch.manual_seed(run.seed)
        self.sizes = {
            **{"o": len(self.o), "r": len(self.r), "d": _WIDTH, "hops": self.hops},
            **{"nl": int("nl" in options), "n": n, "places": places},
        }
        self.model = MemNN(len(lowered), **self.sizes).to(self.device)
        self.model.register_buffer("o_features", self.o.rows())
        self.model.register_buffer("r_features", self.r.rows())
        self.chunks = epochs

    def _met(self) -> tuple[list[Any], list[Any]]:
        """The sentences that each of the two scores meets, in their parts."""
        o: list[tuple[int, tuple[str, ...]]] = []
        r: list[tuple[int, tuple[str, ...]]] = []
        for one in self.examples:
            parts = asked(one.told, one.support[:HOPS])
            o += parts
            o += [(CANDIDATE, fact.words) for fact in one.told.facts]
            r += parts
            r += [(said(j), (answer.lower(),)) for j, answer in enumerate(one.answers)]
        return o, r

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(list(self.model.parameters()), _RATE)]

    def batches(self, chunk: int) -> Iterator[list[Example]]:
        """See ``Task.batches``."""
        order = list(self.examples)
        random.Random(f"{self.settings['seed']}/{chunk}").shuffle(order)
        for first in range(0, len(order), _BATCH):
            yield order[first : first + _BATCH]

    def questions(self, batch: list[Example]) -> int:
        """See ``Task.questions``."""
        return len(batch)

    def losses(self, batch: list[Example]) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        with torch.autocast("cpu", enabled=False):
            return {"facts": self._facts(batch), "words": self._words(batch)}

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``: nothing is held out, since nothing is chosen."""
        return {}

    def _facts(self, batch: Sequence[Example]) -> torch.Tensor:
        sentences: dict[tuple[str, ...], int] = {}
        parts: list[Parts] = []
        rows, targets, chains = [], [], []
        for one in batch:
            row = [sentences.setdefault(fact.words, len(sentences)) for fact in one.told.facts]
            for k in range(hops_of(one, self.hops)):
                parts.append(asked(one.told, one.support[:k]))
                rows.append(row)
                targets.append(one.support[k] if k < len(one.support) else -1)
                chains.append(one.support[:k])
        net = self.model
        y = net.o(self.o.bags([[(CANDIDATE, found)] for found in sentences]))
        x = net.o(self.o.bags(parts))
        return ranking(x @ y.T, x @ net.t, x @ net.null, rows, targets, chains, adaptive=net.hops == 0)

    def _words(self, batch: Sequence[Example]) -> torch.Tensor:
        parts: list[Parts] = []
        targets = []
        net = self.model
        stop = len(self._spelled)
        for one in batch:
            found = asked(one.told, one.support[: net.hops or HOPS])
            answers = [self._numbers[answer] for answer in one.answers]
            wanted = [*answers, stop] if net.hops == 0 else answers[:1]
            for number, word in enumerate(wanted):
                parts.append(list(found))
                targets.append(word)
                if word != stop:
                    found.append((said(number), (self._spelled[word],)))
        scores = net.r(self.r.bags(parts)) @ net.of_words().T
        if net.hops:
            scores = scores[:, :stop]
        wanted_scores = scores.gather(1, torch.tensor(targets, device=scores.device)[:, None])
        # What is right is beside itself, too, by the margin: a constant, which teaches nothing.
        return relu(GAMMA - wanted_scores + scores).sum() / len(batch)


def ranking(
    scores: torch.Tensor,
    a: torch.Tensor,
    null: torch.Tensor,
    rows: Sequence[Sequence[int]],
    targets: Sequence[int],
    chains: Sequence[Sequence[int]],
    adaptive: bool,
) -> torch.Tensor:
    """The margin ranking loss of hops (M), a mean over them.

    ``scores`` (M, sentences) of x with every sentence, ``a`` (M, 2) what time counts, ``null`` (M,) of x with
    the null fact; ``rows`` are the sentences that are told, ``targets`` which of them is to be found, -1 for
    the null fact, ``chains`` those that were found before and compete no more.
    """
    device = scores.device
    longest = max(map(len, rows))
    table = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=device)
    length = torch.tensor([len(row) for row in rows], device=device)
    at = torch.arange(longest, device=device)
    target = torch.tensor(targets, device=device)
    last = torch.tensor([chain[-1] if chain else longest for chain in chains], device=device)
    competing = (at < length[:, None]) & (at != target[:, None])
    for i, chain in enumerate(chains):
        competing[i, list(chain)] = False
    s = scores.gather(1, table)
    real = (target >= 0)[:, None]
    place = target.clamp_min(0)[:, None]
    newer = torch.sign(place - at)
    after = (place > last[:, None]).float() - (at > last[:, None]).float()
    beside_fact = s.gather(1, place) - s + a[:, :1] * newer + a[:, 1:] * after
    beside_null = null[:, None] - s
    margins = torch.where(real, beside_fact, beside_null)
    loss = (relu(GAMMA - margins) * competing).sum()
    if adaptive:
        loss = loss + (relu(GAMMA - s.gather(1, place) + null[:, None]) * real).sum()
    return loss / len(rows)


def hops_of(one: Example, hops: int) -> int:
    """The hops that the example teaches: all of its support and the null fact, or as many as ``hops``."""
    if hops == 0:
        return min(len(one.support) + (len(one.support) < len(one.told.facts)), HOPS)
    return min(hops, len(one.support))


def spelled_words(found: Sequence[Example]) -> list[str]:
    """All words, spelled as in the answers where they are in one, else in lower case."""
    spelled = {word: word for word in words_of(found)}
    spelled.update((answer.lower(), answer) for one in found for answer in one.answers)
    return [spelled[word] for word in sorted(spelled)]


def learn(run: BabiRun) -> Path:
    """Train to the end, or go on, and write the weights into ``run.out``."""
    task = MemNNTask(run)
    trainer = Trainer(task, run.out)
    trainer.resume()
    trainer.train(validations=1)
    weights = Checkpoint(task.sizes, task.vocabulary, task.model.state_dict(), run.trained_on)
    return weights.save(run.out / f"{file_name(run.options)}{SUFFIX}", task.settings)
