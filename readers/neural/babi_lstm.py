"""The reader ``babi-lstm``: an LSTM that reads the story, then the question, word by word.

Weston et al. 2015, section 5; the LSTM is that of Hochreiter and Schmidhuber 1997:

i, f, o = sigmoid(W x_t + R h_{t-1} + b), each with its own W, R and b
c_t = f * c_{t-1} + i * tanh(W_c x_t + R_c h_{t-1} + b_c),  h_t = o * tanh(c_t)
p(answer | story, question) = softmax(V h + b), h the state at the question's last word

An answer of several words is one class. A story that is asked several questions is read once: each of them is
read on from the state at which it was asked.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import torch
from torch.nn import LSTM, Embedding, Linear, Module
from torch.nn.utils.rnn import pack_padded_sequence

from encoders.device import pick_device
from encoders.errors import ModelError
from readers.facts import FactReader, Inferred, Told
from readers.neural import checkpoint
from readers.neural.checkpoint import Checkpoint
from readers.neural.layers import pad_sequences

NAME = "babi-lstm"
REMEDY = f"storyqa train babi --system {NAME} --data DATA --out FOLDER"


@dataclass(frozen=True, slots=True)
class AskedStory:
    """A story cut where it is asked: ``parts[k]`` are the word ids since the last cut, none of them empty.

    ``asked[k]`` are the numbers of the questions that are asked after it.
    """

    parts: tuple[tuple[int, ...], ...]
    asked: tuple[tuple[int, ...], ...]


class StoryLstm(Module):
    """See the formulas of the module; ``words`` are ids from 1, ``answers`` the classes."""

    def __init__(self, words: int, answers: int, d: int, hidden: int) -> None:
        super().__init__()
        self.words = Embedding(words + 1, d, padding_idx=0)
        self.lstm = LSTM(d, hidden, batch_first=True)
        self.v = Linear(hidden, answers)

    def forward(self, stories: Sequence[AskedStory], questions: Sequence[Sequence[int]]) -> torch.Tensor:
        """The logits (questions, answers); every question is asked in one of the stories."""
        device = self.v.weight.device
        h = torch.zeros(1, len(stories), self.lstm.hidden_size, device=device)
        c = torch.zeros_like(h)
        going = list(range(len(stories)))  # the stories that h and c are of
        order: list[int] = []
        at_h, at_c = [], []
        for k in range(max(len(story.parts) for story in stories)):
            kept = [row for row, i in enumerate(going) if len(stories[i].parts) > k]
            going = [going[row] for row in kept]
            h, c = self._read([stories[i].parts[k] for i in going], h[:, kept], c[:, kept])
            rows = [row for row, i in enumerate(going) for _ in stories[i].asked[k]]
            order += chain.from_iterable(stories[i].asked[k] for i in going)
            at_h.append(h[:, rows])
            at_c.append(c[:, rows])
        last, _ = self._read([questions[n] for n in order], torch.cat(at_h, 1), torch.cat(at_c, 1))
        place = torch.tensor(order, device=device).argsort()
        logits: torch.Tensor = self.v(last[0, place])
        return logits

    def _read(
        self, rows: Sequence[Sequence[int]], h: torch.Tensor, c: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The states (1, rows, hidden) after the last word of each row, from those before its first."""
        ids, lengths = pad_sequences(rows, h.device)
        packed = pack_padded_sequence(self.words(ids), lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (h, c) = self.lstm(packed, (h, c))
        return h, c


def asked_stories(facts: Sequence[Sequence[tuple[int, ...]]]) -> list[AskedStory]:
    """Stories in which each question is asked, once, after its ``facts``, lists of word ids.

    Questions share a story where the facts of one go on from those of another.
    """
    order = sorted(range(len(facts)), key=lambda n: list(facts[n]))
    stories: list[AskedStory] = []
    parts: list[tuple[int, ...]] = []
    asked: list[tuple[int, ...]] = []
    before: Sequence[tuple[int, ...]] = ()

    def end() -> None:
        if parts:
            stories.append(AskedStory(tuple(parts), tuple(asked)))
        parts.clear()
        asked.clear()

    for n in order:
        told = facts[n]
        if list(told[: len(before)]) != list(before):
            end()
            before = ()
        if parts and len(told) == len(before):
            asked[-1] = (*asked[-1], n)
        else:
            parts.append(tuple(chain.from_iterable(told[len(before) :])))
            asked.append((n,))
        before = told
    end()
    return stories


class BabiLstmReader(FactReader):
    """Answers with the likeliest class; its confidence is the probability."""

    def __init__(self, weights: Checkpoint) -> None:
        self.trained_on, self.version = weights.trained_on, weights.version
        words = weights.sizes["words"]
        self._ids = {word: id for id, word in enumerate(weights.vocabulary.words[:words], 1)}
        self._answers = [tuple(answer.split(",")) for answer in weights.vocabulary.words[words:]]
        net = StoryLstm(**weights.sizes)
        weights.load_into(net)
        self._net = net.to(pick_device()).eval()

    @classmethod
    def load(cls, argument: str | None = None) -> Self:
        """The model of a folder where ``storyqa train babi`` left it; raises ModelError."""
        if argument is None:
            raise ModelError(f"the reader {NAME!r} needs a folder: write {NAME}:DIR, or train it: {REMEDY}")
        return cls(checkpoint.load(NAME, argument, REMEDY))

    @property
    def known(self) -> Container[str]:
        """See ``FactReader.known``."""
        return self._ids

    @torch.inference_mode()
    def infer(self, told: Sequence[Told]) -> list[Inferred]:
        """See ``FactReader.infer``."""
        if not told:
            return []
        facts = [[tuple(self._ids[word] for word in fact.words) for fact in one.facts] for one in told]
        questions = [[self._ids[word] for word in one.question] for one in told]
        p, best = self._net(asked_stories(facts), questions).softmax(1).max(1)
        return [Inferred(self._answers[i], x) for x, i in zip(p.tolist(), best.tolist(), strict=True)]
