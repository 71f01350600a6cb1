"""Memory networks: the right word among all words, or supervision by what the memories themselves score."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from readers.neural.cloze_example import ClozeExample, draw_markers, encode_cloze
from readers.neural.cloze_reader import ClozeForm
from readers.neural.memn2n import SelfMemory
from readers.neural.memories import (
    WINDOW,
    MemoryBatch,
    MemoryExample,
    group_max,
    memory_batch,
    sentence_example,
    softmax_by,
    window_example,
)
from readers.neural.vocabulary import UNKNOWN
from training.corpora.cloze import ClozeCorpus, clozes
from training.export import Trained
from training.invocation import Invocation
from training.objectives.cloze import ClozeTask, train_network
from training.objectives.cloze_settings import ClozeSettings, system_of
from training.objectives.cloze_systems import Network
from training.objectives.language_model import TextObjective


class MemoryObjective:
    """-log softmax(U q')[answer], Hill et al. 2016, section 3.2, or self-supervision, section 3.3.

    The gradients of a batch are summed: the papers' rates are for steps of one example.
    """

    cased = False

    def sizes(self, network: Network, form: ClozeForm) -> dict[str, int]:
        """See ``Objective.sizes``."""
        sizes = {"p": network.width, **network.sizes}
        if "notime" in form.trained_with:
            sizes["time"] = 0
        if {"all-targets", "lm"} & {*form.trained_with}:
            sizes["targets"] = 1
        return sizes

    def examples(self, task: ClozeTask, corpus: ClozeCorpus) -> list[MemoryExample]:
        """The memories of every question whose answer has one; with ``lm`` any word may be asked for."""
        every_word = bool({"all-windows", "lm"} & {*task.form.trained_with})
        rng = random.Random(task.settings["seed"])
        found = []
        for question, cloze in clozes(corpus.train):
            example = encode_cloze(cloze, task.vocabulary, task.anonymous, question.answers[0])
            if "lm" in task.form.trained_with:
                example = any_word(example, rng)
            if task.form.kind == "sentence":
                found.append(sentence_example(example))
            elif (example.mentions[:, 0] == example.answer).any():
                found.append(window_example(example, every_word))
        return found

    def loss(
        self, net: Any, batch: Sequence[MemoryExample], task: ClozeTask, rng: random.Random
    ) -> torch.Tensor:
        """See ``Objective.loss``."""
        if task.anonymous:
            batch = [redraw(one, rng) for one in batch]
        memories = forget(memory_batch(batch, task.device), task.unknown, task.form.kind)
        if isinstance(net, SelfMemory):
            return self_loss(net, memories)
        q, _ = net(memories)
        right = memories.candidates[memories.answers]
        return cross_entropy(net.u(q), right, reduction="sum")


def self_loss(net: SelfMemory, batch: MemoryBatch) -> torch.Tensor:
    """-log of m̃'s softmax among itself and the memories of other candidates, where one of these is best.

    m̃ is the right candidate's memory that scores best by itself; where it is also the best of all there is no
    step. Hill et al. 2016, section 3.3.
    """
    count = len(batch.queries)
    with torch.no_grad():
        scores = net(batch)
        right = batch.owner == batch.answers[batch.example]
        best = group_max(scores.masked_fill(~right, -torch.inf), batch.example, count)
        rival = group_max(scores.masked_fill(right, -torch.inf), batch.example, count)
        wrong = rival >= best
        supporting = first_of(right & (scores == best[batch.example]), batch.example)
        kept = (wrong[batch.example] & (~right | supporting)).nonzero()[:, 0]
    # A gradient where nothing was wrong, too, but a sparse one: else each step would touch the whole table.
    loss: torch.Tensor = 0 * net.a(batch.queries[:1]).sum()
    if len(kept):
        among = replace(
            batch,
            memories=batch.memories[kept],
            time=batch.time[kept],
            example=batch.example[kept],
            owner=batch.owner[kept],
        )
        alpha = softmax_by(net(among), among.example, count)
        loss = loss - alpha[supporting[kept]].clamp_min(1e-12).log().sum()
    if net.u is not None and net.b is not None and net.h is not None:
        chosen = supporting.nonzero()[:, 0]
        of = batch.example[chosen]
        o = net.b(batch.memories[chosen], batch.time[chosen])
        asked = net.u(net.h(net.a(batch.queries[of])) + o)
        loss = loss + cross_entropy(asked, batch.candidates[batch.answers[of]], reduction="sum")
    return loss


def first_of(chosen: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
    """The first of each group's ``chosen`` (all,), where several are equally good."""
    places = chosen.nonzero()[:, 0]
    of = groups[places]
    new = torch.ones_like(of, dtype=torch.bool)
    new[1:] = of[1:] != of[:-1]
    found = torch.zeros_like(chosen)
    found[places[new]] = True
    return found


def forget(batch: MemoryBatch, share: float, kind: str) -> MemoryBatch:
    """So many of the words as unknown ones, but for those in the middle of windows."""
    if not share:
        return batch
    found = []
    for words in (batch.memories, batch.queries):
        lost = torch.rand(words.shape, device=words.device) < share
        if kind != "sentence":
            lost[:, (WINDOW - 1) // 2] = False
        found.append(words.masked_fill(lost & (words >= 0), UNKNOWN))
    return replace(batch, memories=found[0], queries=found[1])


def redraw(example: MemoryExample, rng: random.Random) -> MemoryExample:
    """The example with its markers drawn anew."""
    parts = [example.memories.ravel(), example.query, example.candidates]
    ends = np.cumsum([len(part) for part in parts])[:-1]
    memories, query, candidates = np.split(draw_markers(np.concatenate(parts), rng), ends)
    return replace(
        example, memories=memories.reshape(example.memories.shape), query=query, candidates=candidates
    )


def any_word(example: ClozeExample, rng: random.Random) -> ClozeExample:
    """The query with another of its words blanked that stands in the context: appendix E's "LM"."""
    blank = example.query[example.blank]
    query = example.query.copy()
    query[example.blank] = example.candidates[example.answer]
    standing = set(example.context.tolist()) - {UNKNOWN}
    places = [i for i, id in enumerate(query.tolist()) if id in standing]
    if not places:
        return example
    place = rng.choice(places)
    word = query[place]
    query[place] = blank
    at = np.flatnonzero(example.context == word).astype(np.int32)
    numbers = np.stack([np.zeros_like(at), at, at + 1, np.full_like(at, -1)], 1)
    return replace(
        example, query=query, blank=place, candidates=np.array([word], np.int32), mentions=numbers, answer=0
    )


def train(run: Invocation, settings: ClozeSettings) -> Trained:
    """See ``storyqa train cbt``."""
    if system_of(settings).name.endswith("@lexical"):
        return train_network(TextObjective(cased=False, memories=200), run, settings)
    return train_network(MemoryObjective(), run, settings)
