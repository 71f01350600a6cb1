"""Trains the span reader: marginal likelihood of all right spans, normalised over all passages read."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from evaluation.metrics import rouge_l
from indexing.backbone import SHA256, WIDTH, load_backbone, load_tokenizer
from indexing.batches import batches
from indexing.device import pick_device, pick_dtype
from indexing.errors import ModelError, StoryQAError
from readers.reading import Reading
from readers.span import WEIGHTS, BackboneScorer, SpanReader, collate, load_weights
from readers.windows import Window, Windower
from training.data import training_questions
from training.examples import Example, LabelledQuestion, show

WARMUP = 0.05  # share of the run


class RunExists(StoryQAError):
    """An output folder that holds another run."""


@dataclass(frozen=True, slots=True)
class SpanTraining:
    """What a run depends on; two runs with equal fields and data see the same batches.

    ``frozen`` bottom layers and the embeddings keep their pretrained values: they are shared with
    the other models of the process and are not stored again. ``start`` is the SHA-256 of the
    weights that the run began with, None for the encoder's own and a new head. ``examples`` ends
    the run after so many; a ``chunk`` of them is prepared, sorted by length and batched together.
    """

    seed: int = 13
    squad: int = 42_000
    fairytale_passes: int = 2
    held_out: float = 0.05
    rate: float = 1.2e-4
    batch_tokens: int = 2_000
    frozen: int = 0
    start: str | None = None
    examples: int | None = None
    chunk: int = 512


Batch = tuple[list[Window], list[slice], list[list[tuple[int, int, int]]]]
"""Windows, the rows of each example, and each example's targets as (row, first token, last token)."""


def target_tokens(example: Example, windows: Sequence[Window]) -> list[tuple[int, int, int]]:
    """Where the targets lie whole in a window: (row, first token, last token), positions in the window."""
    found = []
    for row, window in enumerate(windows):
        for passage, start, end in example.targets:
            if passage != window.passage:
                continue
            inside = [i for i, (s, e) in enumerate(window.offsets) if s < end and start < e]
            if inside and window.offsets[inside[0]][0] <= start and end <= window.offsets[inside[-1]][1]:
                found.append((row, window.first + inside[0], window.first + inside[-1]))
    return found


def span_loss(
    start: torch.Tensor,
    end: torch.Tensor,
    context: torch.Tensor,
    rows: Sequence[slice],
    targets: Sequence[Sequence[tuple[int, int, int]]],
) -> torch.Tensor:
    """Mean over examples of -log sum_t p(start_t) p(end_t), with t over the example's targets.

    ``start`` and ``end`` are scores of shape (windows, tokens), ``context`` is True at the tokens
    that may be answered with. p is a softmax over all windows of the example: shared
    normalisation, Clark and Gardner 2018, equation 3, with the marginal of section 3.
    """
    start = start.float().masked_fill(~context, -1e9)
    end = end.float().masked_fill(~context, -1e9)
    losses = []
    for block, right in zip(rows, targets, strict=True):
        row, first, last = torch.tensor(right, device=start.device).unbind(1)
        total = torch.logsumexp(start[block].flatten(), 0) + torch.logsumexp(end[block].flatten(), 0)
        losses.append(total - torch.logsumexp(start[block][row, first] + end[block][row, last], 0))
    return torch.stack(losses).mean()


class SpanTrainer:
    """One training run that lives in a folder: checkpoints, ``log.jsonl``, and the finished weights."""

    def __init__(
        self, settings: SpanTraining, data: Sequence[Path], out: Path, start: Path | None = None
    ) -> None:
        """``start`` holds a span reader's weights to begin with."""
        if start is not None:
            with start.open("rb") as file:
                settings = replace(settings, start=hashlib.file_digest(file, "sha256").hexdigest())
        self.settings, self.out = settings, out
        fairytale, squad, self.validation = training_questions(
            list(data), settings.squad, settings.held_out, settings.seed
        )
        self.order: list[LabelledQuestion] = fairytale * settings.fairytale_passes + squad
        random.Random(settings.seed).shuffle(self.order)
        self.order = self.order[: settings.examples]
        self.chunks = -(-len(self.order) // settings.chunk)
        self.device = pick_device()
        self.windower = Windower(load_tokenizer(), overlap=128)
        self._make_model()
        if start is not None:
            self._begin_with(load_weights(start))
        self.chunk = 0
        self.seconds = 0.0

    def _make_model(self) -> None:
        torch.manual_seed(self.settings.seed)
        backbone = load_backbone()
        head = torch.nn.Linear(WIDTH, 2)
        torch.nn.init.normal_(head.weight, std=0.02)
        torch.nn.init.zeros_(head.bias)
        for layer in backbone.encoder.layer[self.settings.frozen :]:
            for parameter in layer.parameters():
                # A copy: the pretrained values are shared with every other model of the process.
                parameter.data = parameter.data.clone()
                parameter.requires_grad_(True)
        torch.nn.Module.to(backbone, self.device)
        self.backbone, self.head = backbone, head.to(self.device)
        self.scorer = BackboneScorer(self.backbone, self.head.weight, self.head.bias)
        body = [p for p in backbone.parameters() if p.requires_grad]
        self.trained = body + list(head.parameters())
        self.optimizer = torch.optim.AdamW(
            self.trained,
            lr=self.settings.rate,
            betas=(0.9, 0.98),
            weight_decay=0.01,
            fused=True,
        )

    def _begin_with(self, weights: Mapping[str, torch.Tensor]) -> None:
        trained = self.tensors()
        for name, tensor in weights.items():
            if name not in trained:
                raise ModelError(f"the weights to start from have {name}, which this run keeps frozen")
            trained[name].copy_(tensor)

    def tensors(self) -> dict[str, torch.Tensor]:
        """The trained parameters by name, fp32."""
        body = {n: p.detach() for n, p in self.backbone.named_parameters() if p.requires_grad}
        return {**body, "head.weight": self.head.weight.detach(), "head.bias": self.head.bias.detach()}

    def batches_of(self, chunk: int) -> Iterator[Batch]:
        """The batches of one chunk of the order; the same ones whenever it is asked for."""
        rng = random.Random(f"{self.settings.seed}/{chunk}")
        first = chunk * self.settings.chunk
        examples = [show(labelled, rng) for labelled in self.order[first : first + self.settings.chunk]]
        found = self.windower([Reading(e.question, e.passages) for e in examples])
        usable = [
            (windows, targets)
            for example, windows in zip(examples, found, strict=True)
            if (targets := target_tokens(example, windows))
        ]
        lengths = [max(len(window.ids) for window in windows) for windows, _ in usable]
        counts = [len(windows) for windows, _ in usable]
        groups = batches(lengths, self.settings.batch_tokens, counts)
        rng.shuffle(groups)
        for group in groups:
            windows: list[Window] = []
            rows: list[slice] = []
            right: list[list[tuple[int, int, int]]] = []
            for i in group:
                rows.append(slice(len(windows), len(windows) + len(usable[i][0])))
                windows += usable[i][0]
                right.append(usable[i][1])
            yield windows, rows, right

    def run(self, on_progress: Callable[[int, int], None] | None = None, save_every_s: float = 240) -> None:
        """Train to the end; ``on_progress`` gets chunks done and all chunks."""
        self.out.mkdir(parents=True, exist_ok=True)
        began, saved = time.monotonic() - self.seconds, time.monotonic()
        running = None
        while self.chunk < self.chunks:
            tokens, chunk_began = 0, time.monotonic()
            for windows, rows, targets in self.batches_of(self.chunk):
                loss = self._step(windows, rows, targets)
                running = loss if running is None else 0.98 * running + 0.02 * loss
                tokens += sum(len(w.ids) for w in windows)
            self.chunk += 1
            self.seconds = time.monotonic() - began
            self._log(
                chunk=self.chunk,
                of=self.chunks,
                loss=running,
                seconds=round(self.seconds),
                tokens_per_s=round(tokens / (time.monotonic() - chunk_began)),
            )
            if on_progress is not None:
                on_progress(self.chunk, self.chunks)
            if time.monotonic() - saved > save_every_s:
                self.save()
                saved = time.monotonic()
        self.save()

    def validate(self) -> float | None:
        """Mean ROUGE-L of the best span on the held-out stories' gold sections; None without any."""
        if not self.validation:
            return None
        readings = [Reading(q.question, q.passages) for q in self.validation]
        answers = self.reader().read(readings)
        scores = [
            rouge_l(best[0].text, question.answers) if best else 0.0
            for best, question in zip(answers, self.validation, strict=True)
        ]
        return sum(scores) / len(scores)

    def _step(
        self, windows: list[Window], rows: list[slice], targets: list[list[tuple[int, int, int]]]
    ) -> float:
        done = min(1.0, (self.chunk + 0.5) / self.chunks)
        scale = min(done / WARMUP, (1 - done) / (1 - WARMUP))
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate * scale
        ids, types, mask = collate(windows)
        context = torch.zeros(ids.shape, dtype=torch.bool)
        for row, window in enumerate(windows):
            context[row, window.first : window.first + len(window.offsets)] = True
        ids, types, context = (t.to(self.device) for t in (ids, types, context))
        mask = None if mask is None else mask.to(self.device)
        dtype = pick_dtype(self.device)
        with torch.autocast(self.device.type, dtype, enabled=dtype != torch.float32):
            start, end = self.scorer(ids, types, mask)
        loss = span_loss(start, end, context, rows, targets)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        return loss.item()

    def _log(self, **entry: object) -> None:
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def save(self) -> None:
        """Write the state of the run; a kill at any moment leaves the last one or this one."""
        self.out.mkdir(parents=True, exist_ok=True)
        state = {f"model.{n}": t.cpu() for n, t in self.tensors().items()}
        for number, parameter in enumerate(self.trained):
            for key, value in self.optimizer.state.get(parameter, {}).items():
                state[f"optimizer.{number}.{key}"] = value.cpu()
        new = self.out / "checkpoint.new"
        info = {
            "chunk": str(self.chunk),
            "seconds": str(self.seconds),
            "settings": json.dumps(asdict(self.settings)),
        }
        save_file({n: t.contiguous() for n, t in state.items()}, new, metadata=info)
        new.replace(self.out / "checkpoint.safetensors")

    def resume(self) -> bool:
        """Go on from the folder's checkpoint, if there is one. Raises RunExists for other settings."""
        from safetensors import safe_open

        path = self.out / "checkpoint.safetensors"
        if not path.is_file():
            return False
        with safe_open(path, "pt") as file:
            info = file.metadata()
        if json.loads(info["settings"]) != asdict(self.settings):
            raise RunExists(
                f"{path} was trained with {info['settings']}; give the same options or another --out"
            )
        state = load_file(path)
        for name, tensor in self.tensors().items():
            tensor.copy_(state[f"model.{name}"])
        for number, parameter in enumerate(self.trained):
            entries = {
                name.rpartition(".")[2]: tensor
                for name, tensor in state.items()
                if name.startswith(f"optimizer.{number}.")
            }
            if entries:
                self.optimizer.state[parameter] = entries
        self.chunk, self.seconds = int(info["chunk"]), float(info["seconds"])
        return True

    def export(self) -> Path:
        """Write the weights: the trained parameters in fp16, for ``readers/weights``."""
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / WEIGHTS
        info = {"backbone": SHA256, "settings": json.dumps(asdict(self.settings))}
        save_file({n: t.half().cpu().contiguous() for n, t in self.tensors().items()}, path, metadata=info)
        return path

    def reader(self) -> SpanReader:
        """A reader on a copy of the parameters as they stand."""
        return SpanReader.from_tensors({n: t.cpu().clone() for n, t in self.tensors().items()})
