"""Language models: each word of running text after those before it, Hill et al. 2016, section 4.4."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch

from readers.neural.cloze_example import Ids
from readers.neural.cloze_reader import ClozeForm
from readers.neural.contextual_lstm import ContextualLstm
from readers.neural.lexical_memory import LexicalMemory
from readers.neural.vocabulary import END, Vocabulary
from text.cloze import cloze_tokens
from training.corpora.cloze import ClozeCorpus
from training.export import Trained
from training.invocation import Invocation
from training.objectives.cloze import ClozeTask, train_network
from training.objectives.cloze_settings import ClozeSettings
from training.objectives.cloze_systems import Network

STEPS = 64  # words that are predicted in a row
CONTEXT = 400  # words that a contextual model attends to, about those of 20 sentences


@dataclass(frozen=True, slots=True)
class TextObjective:
    """-log p of each word: the mean over the rows of a batch of the sums over their steps.

    A row is ``STEPS`` words of one book and the word after each, with ``memories`` words before them for
    models that look back at these.
    """

    cased: bool = True
    memories: int = 0

    def sizes(self, network: Network, form: ClozeForm) -> dict[str, int]:
        """See ``Objective.sizes``."""
        if network.hidden is None:
            return {"p": network.width, **network.sizes}
        return {"d": network.width, "hidden": network.hidden, **network.sizes}

    def examples(self, task: ClozeTask, corpus: ClozeCorpus) -> list[Ids]:
        """Rows (memories + STEPS + 1,) of each book, ``END`` before its first word, -1 after its last."""
        rows = []
        for text in book_texts(corpus, task.vocabulary, self.cased):
            padded = np.concatenate([np.full(self.memories, END, np.int32), text])
            for first in range(0, len(text) - 1, STEPS):
                row = padded[first : first + self.memories + STEPS + 1]
                rows.append(np.pad(row, (0, self.memories + STEPS + 1 - len(row)), constant_values=-1))
        return rows

    def loss(self, net: Any, batch: Sequence[Ids], task: ClozeTask, rng: random.Random) -> torch.Tensor:
        """See ``Objective.loss``."""
        rows = torch.from_numpy(np.stack(batch)).long().to(task.device)
        read, targets = rows[:, :-1].clamp_min(0), rows[:, self.memories + 1 :]
        if isinstance(net, LexicalMemory):
            # q is what comes after n words, so that the last words read are the first memories.
            hidden = net(rows[:, 1:].clamp_min(0))
        elif isinstance(net, ContextualLstm):
            context, text = read[:, : self.memories], read[:, self.memories :]
            whole = torch.full((len(rows),), self.memories, device=task.device)
            hidden = net(text, context, whole)
        else:
            hidden = net(read)
        real = targets.flatten() >= 0
        log_p = net.u(hidden.flatten(0, 1)[real], targets.flatten()[real]).output
        loss: torch.Tensor = -log_p.sum() / len(rows)
        return loss


def book_texts(corpus: ClozeCorpus, vocabulary: Vocabulary, cased: bool) -> list[Ids]:
    """The ids of each book's words, ``END`` before the first and after each sentence."""
    texts = []
    for _, sentences in groupby(corpus.sentences(), key=lambda pair: pair[0]):
        ids = [END]
        for _, sentence in sentences:
            found = cloze_tokens(sentence)
            ids += vocabulary.ids(sentence[start:end] if cased else key for key, start, end in found)
            ids.append(END)
        texts.append(np.array(ids, np.int32))
    return texts


def train(run: Invocation, settings: ClozeSettings) -> Trained:
    """See ``storyqa train cbt``."""
    memories = CONTEXT if settings.system.startswith("contextual") else 0
    return train_network(TextObjective(memories=memories), run, settings)
