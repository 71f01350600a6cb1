"""One training run that lives in a folder: the loop, the schedule, checkpoints, and the log of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from encoders.device import pick_dtype
from text.errors import StoryQAError
from training.prefetching import prefetched

WARMUP = 0.05  # share of the run
SMOOTHING = 0.98  # of the logged losses

Batch = TypeVar("Batch")
Kind = Literal["adamw", "sgd", "rmsprop"]


@dataclass(frozen=True, slots=True)
class Optimisation:
    """How weights are moved: by ``kind``, gradients together no longer than ``clip``, None for any length.

    The learning rate warms up and decays to 0 over the run, or, with ``shrink``, stays and is divided by that
    each time the first of the task's ``chosen_by`` is no better than before. RMSprop has a momentum of .9 and
    a decay of .95 (Hermann et al. 2015, appendix A).
    """

    kind: Kind = "adamw"
    clip: float | None = 1.0
    shrink: float | None = None

    def optimizer(self, groups: Sequence[dict[str, Any]]) -> torch.optim.Optimizer:
        """The optimiser of the parameters in ``groups``."""
        if self.kind == "sgd":
            return torch.optim.SGD(groups, lr=0.0)
        if self.kind == "rmsprop":
            return torch.optim.RMSprop(groups, alpha=0.95, momentum=0.9)
        return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


ADAMW = Optimisation()


def autocast(device: torch.device) -> torch.autocast:
    """What a model is trained in, and has to be asked in meanwhile: layers that are not trained may be in
    ``pick_dtype``'s numbers, beside parameters in fp32."""
    dtype = pick_dtype(device)
    return torch.autocast(device.type, dtype, enabled=dtype != torch.float32)


class RunExists(StoryQAError):
    """An output folder that holds another run."""


class Paused(StoryQAError):
    """A run whose time is up: its state is saved, and it can be gone on with."""


class Task(Protocol[Batch]):
    """What is trained, on what, and how good it has become."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that a run depends on, its ``seed`` among it: with equal settings and data go equal batches."""
        ...

    @property
    def optimisation(self) -> Optimisation:
        """How its weights are moved."""
        ...

    @property
    def chosen_by(self) -> Sequence[str]:
        """The scores by each of which the best weights are kept, none where the last ones are."""
        ...

    @property
    def data(self) -> Mapping[str, tuple[int, int]]:
        """Per kind of document, how many documents and questions there are."""
        ...

    @property
    def fingerprint(self) -> str:
        """A short hash of the documents' names and their questions, to tell one data set from another."""
        ...

    @property
    def chunks(self) -> int:
        """How many parts the work is cut into, between which a run can stop and go on."""
        ...

    @property
    def device(self) -> torch.device:
        """Where it is trained."""
        ...

    def groups(self) -> Sequence[tuple[Sequence[torch.nn.Parameter], float]]:
        """What is trained, always in the same order, and the highest learning rate of each group."""
        ...

    def batches(self, chunk: int) -> Iterable[Batch]:
        """The batches of one chunk; the same ones whenever it is asked for."""
        ...

    def questions(self, batch: Batch) -> int:
        """How many questions a batch has."""
        ...

    def losses(self, batch: Batch) -> Mapping[str, torch.Tensor]:
        """Losses by name, scalars that are summed."""
        ...

    def validate(self) -> Mapping[str, float]:
        """Scores on what was held out for choosing; none where nothing was."""
        ...


Trainable = TypeVar("Trainable", bound=Task[Any])


class Trainer(Generic[Trainable]):
    """Trains a task as its ``optimisation`` says: by default AdamW, a linear warm-up and decay to 0."""

    def __init__(self, task: Trainable, out: Path, workers: int = 0, within: float | None = None) -> None:
        """``workers`` processes make the batches ahead, as ``prefetched`` needs it; this one with 0.

        With ``within``, seconds of training in all, the run is planned anew after every chunk, so that it
        ends then: learning rates fall with the time that is left.
        """
        self.task, self.out = task, out
        self._workers, self._within = workers, within
        self.chunk = 0
        self.chunks = task.chunks  # as planned
        self.seconds = 0.0
        self.questions: int | None = 0  # that were seen; None where the run is older than the count
        self.scores: dict[str, float] = {}
        groups = [(list(parameters), rate) for parameters, rate in task.groups()]
        self._rates = [rate for _, rate in groups]
        self._parameters = [parameter for parameters, _ in groups for parameter in parameters]
        self._optimizer = task.optimisation.optimizer([{"params": parameters} for parameters, _ in groups])
        self._shrunk = 1.0  # what the learning rates are divided by
        self._running: dict[str, float] = {}
        self._stepped: list[dict[str, torch.Tensor]] = []  # the losses of the chunk, where they were computed
        self._best: dict[str, float] = {}

    @property
    def checkpoint(self) -> Path:
        """Where the state of the run is kept."""
        return self.out / "checkpoint.safetensors"

    @property
    def _log_file(self) -> Path:
        """A line for each chunk that was done."""
        return self.out / "log.jsonl"

    def train(
        self,
        on_progress: Callable[[int, int], None] | None = None,
        save_every_s: float = 240,
        validations: int = 4,
        until: float | None = None,
    ) -> None:
        """Train to the end; ``on_progress`` gets chunks done and all chunks.

        The held-out scores are taken ``validations`` times, the last time at the end. Raises Paused after the
        chunk in which the time ``until`` passes, as ``time.monotonic`` tells it.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        self._cut_log()
        began, saved = time.monotonic() - self.seconds, time.monotonic()
        if self._within is None:
            self.chunks = self.task.chunks
        validated = self.chunk * validations // max(1, self.chunks)
        left = range(self.chunk, self.task.chunks) if self.chunk < self.chunks else ()
        timed = None  # where the clock is read first: before, batches are waited for
        for batches in prefetched(self.task.batches, left, self._workers):
            # What is dropped depends on the chunk alone: a run that goes on drops what it would have.
            torch.manual_seed(self.task.settings["seed"] + 1_000 * self.chunk)
            for batch in batches:
                self._step(batch)
            self._smooth()
            self.chunk += 1
            if self._within is not None:
                self.seconds = time.monotonic() - began
                timed = timed or (self.chunk, self.seconds)
                self._plan(self._within, *timed)
            due = self.chunk * validations // self.chunks
            scored = due > validated
            if scored:
                validated = due
                self.scores = dict(self.task.validate())
                self._shrink_rates()
                self._keep_best()
            self.seconds = time.monotonic() - began
            self._log(with_scores=scored)
            if on_progress is not None:
                on_progress(self.chunk, self.chunks)
            paused = until is not None and time.monotonic() >= until and self.chunk < self.chunks
            if paused or time.monotonic() - saved > save_every_s:
                self.save()
                saved = time.monotonic()
            if paused:
                raise Paused(f"{self.out} is not finished; go on with --resume")
            if self.chunk >= self.chunks:
                break
        self.save()

    def _plan(self, within: float, chunk: int, seconds: float) -> None:
        """Plan as many chunks as can be done by then, by what those since ``chunk`` took, at ``seconds``."""
        done, taken = self.chunk - chunk, self.seconds - seconds
        if done and taken:
            left = max(0, round((within - self.seconds) * done / taken))
            self.chunks = min(self.task.chunks, self.chunk + left)

    def _step(self, batch: object) -> None:
        how = self.task.optimisation
        if self.questions is not None:
            self.questions += self.task.questions(batch)
        done = min(1.0, (self.chunk + 0.5) / self.chunks)
        share = min(done / WARMUP, (1 - done) / (1 - WARMUP)) if how.shrink is None else 1 / self._shrunk
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * share
        with autocast(self.task.device):
            losses = self.task.losses(batch)
        self._optimizer.zero_grad()
        torch.autograd.backward(torch.stack(list(losses.values())).sum())
        if how.clip is not None:
            torch.nn.utils.clip_grad_norm_(self._parameters, how.clip)
        self._optimizer.step()
        self._stepped.append({name: loss.detach() for name, loss in losses.items()})

    def _smooth(self) -> None:
        """Take the losses of the chunk into the smoothed ones: once a chunk, since to look at a loss waits
        for the card."""
        for losses in self._stepped:
            for name, loss in losses.items():
                found = loss.item()
                self._running[name] = SMOOTHING * self._running.get(name, found) + (1 - SMOOTHING) * found
        self._stepped.clear()

    def _cut_log(self) -> None:
        """Leave out of the log what a killed run did behind its last checkpoint, for that is done again."""
        if self._log_file.exists():
            lines = self._log_file.read_text(encoding="utf-8").splitlines(keepends=True)
            self._log_file.write_text("".join(lines[: self.chunk]), encoding="utf-8")

    def _log(self, with_scores: bool) -> None:
        entry: dict[str, object] = {
            "done": round(self.chunk / self.chunks, 6),
            "losses": {name: round(loss, 5) for name, loss in self._running.items()},
            "seconds": round(self.seconds),
        }
        if self.questions is not None:
            entry["questions"] = self.questions
        if with_scores:
            entry["validation"] = self.scores
        with self._log_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _shrink_rates(self) -> None:
        how = self.task.optimisation
        for name in self.task.chosen_by[: how.shrink is not None]:
            if self.scores.get(name, -1.0) <= self._best.get(name, -1.0):
                self._shrunk *= how.shrink or 1.0

    def _keep_best(self) -> None:
        for name in self.task.chosen_by:
            if self.scores.get(name, -1.0) > self._best.get(name, -1.0):
                self._best[name] = self.scores[name]
                info = {"scores": json.dumps(self.scores), "done": str(self.chunk / self.chunks)}
                self._write(self._parameters_now(), self._best_at(name), info)

    def use_best(self, name: str) -> float:
        """Take the weights of the best score ``name``, and all their scores.

        Returns the share that was done by then; 1, without a change, where nothing was held out.
        """
        if name not in self._best:
            return 1.0
        with safe_open(self._best_at(name), "pt") as file:
            info = file.metadata()
        state = load_file(self._best_at(name))
        for number, parameter in enumerate(self._parameters):
            parameter.data.copy_(state[f"model.{number}"])
        self.scores = json.loads(info["scores"])
        return float(info["done"])

    def _best_at(self, name: str) -> Path:
        return self.out / f"best-{name}.safetensors"

    def _parameters_now(self) -> dict[str, torch.Tensor]:
        return {f"model.{n}": parameter.detach().cpu() for n, parameter in enumerate(self._parameters)}

    @staticmethod
    def _write(state: Mapping[str, torch.Tensor], path: Path, info: Mapping[str, str]) -> None:
        """All or nothing, whenever the process is killed."""
        new = path.with_suffix(".new")
        save_file({name: tensor.contiguous() for name, tensor in state.items()}, new, metadata=dict(info))
        new.replace(path)

    def save(self) -> None:
        """Write the state of the run; a kill at any moment leaves the last one or this one."""
        self.out.mkdir(parents=True, exist_ok=True)
        state = self._parameters_now()
        for number, parameter in enumerate(self._parameters):
            for key, value in self._optimizer.state.get(parameter, {}).items():
                state[f"optimizer.{number}.{key}"] = value.cpu()
        info = {
            "chunk": str(self.chunk),
            "chunks": str(self.chunks),
            "seconds": str(self.seconds),
            "questions": json.dumps(self.questions),
            "running": json.dumps(self._running),
            "scores": json.dumps(self.scores),
            "best": json.dumps(self._best),
            "shrunk": str(self._shrunk),
            "settings": json.dumps(self.task.settings),
            "data": self.task.fingerprint,
            "within": json.dumps(self._within),
        }
        self._write(state, self.checkpoint, info)

    def resume(self) -> bool:
        """Go on from the folder's checkpoint, if there is one.

        Raises RunExists for other settings, other data or another ``within``.
        """
        if not self.checkpoint.is_file():
            return False
        with safe_open(self.checkpoint, "pt") as file:
            info = file.metadata()
        self._refuse_another(info)
        state = load_file(self.checkpoint)
        for number, parameter in enumerate(self._parameters):
            parameter.data.copy_(state[f"model.{number}"])
            entries = {
                name.rpartition(".")[2]: tensor
                for name, tensor in state.items()
                if name.startswith(f"optimizer.{number}.")
            }
            if entries:
                # A step that is not counted on the card stays beside it, as ``torch.optim`` begins it.
                beside = () if self.task.optimisation.kind == "adamw" else ("step",)
                self._optimizer.state[parameter] = {
                    key: tensor if key in beside else tensor.to(parameter.device)
                    for key, tensor in entries.items()
                }
        self.chunk, self.seconds = int(info["chunk"]), float(info["seconds"])
        self.chunks = int(info.get("chunks", self.task.chunks))
        self.questions = json.loads(info.get("questions", "null"))
        self._running, self.scores = json.loads(info["running"]), json.loads(info["scores"])
        self._best = json.loads(info.get("best", "{}"))
        self._shrunk = float(info.get("shrunk", "1"))
        return True

    def _refuse_another(self, info: Mapping[str, str]) -> None:
        """Raises RunExists for the checkpoint of another run; older ones do not tell all of it."""
        trained = None
        before, now = json.loads(info["settings"]), json.loads(json.dumps(self.task.settings))
        # A setting that the run is older than was 0 or none.
        other = [name for name in {**before, **now} if (before.get(name) or None) != (now.get(name) or None)]
        if other:
            said = "; ".join(f"{name} was {before.get(name)!r}, now {now.get(name)!r}" for name in other)
            trained = f"with other settings ({said})"
        elif info.get("data", self.task.fingerprint) != self.task.fingerprint:
            trained = "on other data than --data has"
        elif info.get("within", json.dumps(self._within)) != json.dumps(self._within):
            seconds = json.loads(info["within"])
            trained = "without --within" if seconds is None else f"with --within {seconds / 60:g}"
        if trained is not None:
            raise RunExists(
                f"{self.checkpoint} was trained {trained}; give the same options or another --out"
            )
