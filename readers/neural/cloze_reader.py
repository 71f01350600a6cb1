"""What the neural readers that fill blanks have in common: names, weights, ensembles, batches."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from encoders.device import pick_device
from encoders.errors import ModelError
from readers.cloze import Cloze
from readers.filling import ClozeReader, Judged
from readers.neural import checkpoint
from readers.neural.checkpoint import SUFFIX, Checkpoint
from readers.neural.running_text import Continuation, cloze_continuation
from readers.neural.vocabulary import Vocabulary

BATCH = 32  # clozes judged together
_OPTIONS = re.compile(r"@([^@/]*)$")


@dataclass(frozen=True, slots=True)
class ClozeForm:
    """What stands after a reader's name: the ``kind`` of the model, and ``options``, in the table's order.

    ``file`` is the name of its weights: the reader's, the kind's and those of the options that weights are
    trained with.
    """

    name: str
    kind: str
    options: tuple[str, ...]
    trained_with: tuple[str, ...]

    @property
    def file(self) -> str:
        """Such as ``memn2n-self``."""
        return "-".join(filter(None, [self.name, self.kind, *self.trained_with]))

    @property
    def written(self) -> str:
        """Such as ``memn2n@self``, as ``storyqa train cbt --system`` has it."""
        parts = ",".join(filter(None, [self.kind, *self.trained_with]))
        return f"{self.name}@{parts}" if parts else self.name


class NeuralClozeReader(ClozeReader):
    """Fills blanks by a model of our own training, or by the mean of several of one kind (an ensemble).

    A subclass names itself, its ``kinds``, the first of which is meant where none is named, the options that
    its weights may be trained with and those of reading, and makes a net of a checkpoint. A folder that has
    no weights of its own, but folders that have, is an ensemble of these.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ()
    training_options: ClassVar[tuple[str, ...]] = ()
    reading_options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, form: ClozeForm, weights: Sequence[Checkpoint]) -> None:
        self.form = form
        self._device = pick_device()
        self.trained_on = weights[0].trained_on
        self.version = "+".join(filter(None, (one.version for one in weights))) or None
        self._models = [self._load(one) for one in weights]

    @classmethod
    def load(cls, argument: str | None = None) -> Self:
        """The shipped model, or those of a folder where ``storyqa train`` left them; raises ModelError."""
        folder, form = cls.parse(argument)
        if folder is None:
            return cls(form, [checkpoint.load(form.file, None, _remedy(form, "FOLDER"))])
        members = sorted(Path(folder).glob(f"*/{form.file}{SUFFIX}"))
        if members and not (Path(folder) / f"{form.file}{SUFFIX}").is_file():
            remedy = _remedy(form, folder)
            return cls(form, [checkpoint.load(form.file, str(path.parent), remedy) for path in members])
        return cls(form, [checkpoint.load(form.file, folder, _remedy(form, folder))])

    @classmethod
    def parse(cls, argument: str | None) -> tuple[str | None, ClozeForm]:
        """The folder and the form in ``DIR@kind,option``; raises ModelError for what is none."""
        argument = argument or ""
        match = _OPTIONS.search(argument)
        folder = argument[: match.start()] if match else argument
        given = [part for part in match[1].split(",") if part] if match else []
        known = (*cls.kinds, *cls.training_options, *cls.reading_options)
        for part in given:
            if part not in known:
                wanted = f"wanted {', '.join(known)}" if known else "it has none"
                raise ModelError(f"{cls.name!r} has no option {part!r}; {wanted}")
        kinds = [part for part in given if part in cls.kinds] or list(cls.kinds[:1])
        if len(kinds) > 1:
            raise ModelError(
                f"{cls.name!r} is one of {', '.join(cls.kinds)}; two are named: {', '.join(kinds)}"
            )
        trained_with = tuple(part for part in cls.training_options if part in given)
        options = (*trained_with, *(part for part in cls.reading_options if part in given))
        return folder or None, ClozeForm(cls.name, kinds[0] if kinds else "", options, trained_with)

    def judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        """See ``ClozeReader.judge``."""
        with torch.inference_mode():
            return [
                one
                for first in range(0, len(clozes), BATCH)
                for one in self._judge(clozes[first : first + BATCH])
            ]

    @abstractmethod
    def _judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        """What each candidate of a batch scores; without gradients."""

    def judge_text(
        self,
        clozes: Sequence[Cloze],
        scores: Callable[[Any, Sequence[Continuation], torch.device], torch.Tensor],
        cased: bool,
    ) -> list[Judged]:
        """What a language model says: ``scores`` are log p of the candidates of all clozes, (all,).

        Of several models the mean of these.
        """
        found = []
        for model in self._models:
            parts = [cloze_continuation(cloze, model.vocabulary, cased) for cloze in clozes]
            found.append(scores(model.net, parts, self._device).float().cpu())
        split = torch.split(torch.stack(found).mean(0), [len(cloze.candidates) for cloze in clozes])
        return [Judged(of_one.tolist(), (), True) for of_one in split]

    def attention(self, cloze: Cloze) -> Attention:
        """What the first model attends to; raises ModelError for one that attends to nothing."""
        raise ModelError(f"{self.form.written!r} attends to nothing that can be shown; choose another reader")

    @classmethod
    @abstractmethod
    def net(cls, form: ClozeForm, words: int, sizes: Mapping[str, int]) -> torch.nn.Module:
        """A net of this form for so many words, made with the keywords ``sizes``."""

    def _load(self, weights: Checkpoint) -> LoadedCloze:
        net = self.net(self.form, len(weights.vocabulary), weights.sizes)
        weights.load_into(net)
        anonymous = bool(weights.options.get("anonymous"))
        return LoadedCloze(net.to(self._device).eval(), weights.vocabulary, anonymous)


@dataclass(frozen=True, slots=True)
class Attention:
    """What a model attends to: ``weights`` (rows, words) of ``words``, a row per label.

    A model that reads the context once has one row.
    """

    words: list[str]
    labels: list[str]
    weights: list[list[float]]


@dataclass(frozen=True, slots=True)
class LoadedCloze:
    """A net in memory, its vocabulary, and whether it knows candidates by markers alone."""

    net: torch.nn.Module
    vocabulary: Vocabulary
    anonymous: bool


def _remedy(form: ClozeForm, folder: str) -> str:
    return f"storyqa train cbt --system {form.written} --data DATA --out {folder}"
