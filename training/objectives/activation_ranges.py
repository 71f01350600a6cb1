"""Measures the ranges of what a trained encoder's linear maps are given, for fixed 8-bit scales."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from torch import nn

from encoders import bi_encoder, cross_encoder
from encoders.activation_ranges import save_ranges
from encoders.adapters import Weights, file_hash, load_weights, overlay
from encoders.backbone import base_tensors, load_backbone, load_tokenizer
from encoders.device import pick_device
from encoders.errors import ModelError
from encoders.transformer import Transformer
from encoders.windows import Windower
from terminal.progress import ProgressBars
from training.context_sampling import Sampling, sample_example
from training.contrastive_batches import document_windows
from training.corpora.corpus import Document, LabelledQuestion, NoTrainingData, iter_questions
from training.export import Provenance, Trained
from training.invocation import Invocation

SEED = 13
TEXTS = 320  # that are read; as many held-out ones are counted
# So often a text is but a few letters of it: what is odd is given larger numbers. What another encoder than a
# cross-encoder reads has them many times, too: without, the cosine of such a text with its own was .94.
ODD, MOST_LETTERS, MOST_TIMES = 0.25, 24, 40
Ids = list[tuple[list[int], list[int]]]
"""The token ids and segment types of texts."""
Bounds = tuple[Mapping[str, Any], Mapping[str, Any]]
"""By the name of a map the least and the largest number of each input, arrays (inputs,) of fp32."""

# Maps that are given what another of the layer is given.
_SHARED = (".key", ".value", ".k", ".v")


def train(
    run: Invocation,
    *,
    start: Annotated[
        Path, typer.Option(exists=True, file_okay=False, help="The folder of a trained encoder's weights.")
    ],
    texts: Annotated[int, typer.Option(min=1, help="How many windows are read.")] = TEXTS,
) -> Trained:
    """See ``storyqa train ranges``. Raises ModelError for a folder without weights of an encoder."""
    found = [start / name for name in (cross_encoder.WEIGHTS, bi_encoder.WEIGHTS) if (start / name).is_file()]
    if not found:
        raise ModelError(
            f"{start} has neither {cross_encoder.WEIGHTS} nor {bi_encoder.WEIGHTS}; "
            "wanted the folder of a run of: storyqa train span, large or dense"
        )
    corpus = run.corpus()
    began = time.monotonic()
    saved = []
    scores: dict[str, float] = {}
    for weights in found:
        loaded = load_weights(weights)
        model = _load(loaded)
        learnt, others = (
            read_texts(weights, loaded, documents, texts) for documents in (corpus.train, corpus.held_out)
        )
        if not learnt:
            raise NoTrainingData(
                f"{', '.join(map(str, run.data))}: nothing to read; wanted stories with questions"
            )
        with ProgressBars() as tell:
            watched = Watched(model)
            for done, text in enumerate(learnt, 1):
                watched.read(text)
                tell("measuring", done, len(learnt))
        cut = {f"{weights.stem}_cut_per_million": 1e6 * share_cut(model, watched.bounds, others)}
        scores |= cut
        run.out.mkdir(parents=True, exist_ok=True)
        path = save_ranges(*watched.bounds, run.out / weights.name, file_hash(weights))
        made = Provenance(
            corpus.describe(),
            SEED,
            run.command,
            json.dumps({"texts": texts}),
            f"{time.monotonic() - began:.0f} seconds",
            cut,
        )
        _write_card(path, weights, made)
        saved.append(path)
    return Trained(tuple(saved), time.monotonic() - began, scores)


def _load(weights: Weights) -> Transformer:
    trained = {name: one for name, one in weights.tensors.items() if not name.startswith("head.")}
    model = load_backbone(overlay(trained, base_tensors(weights.backbone)), weights.backbone)
    return nn.Module.to(model, pick_device())


def read_texts(path: Path, weights: Weights, documents: Sequence[Document], most: int) -> Ids:
    """Texts as the encoder of these weights reads them, at most so many, always the same ones.

    A cross-encoder's are windows of questions with their passages; another's an index's windows and
    questions.
    """
    rng = random.Random(SEED)
    asked = _in_turn(documents, rng)
    tokenizer = load_tokenizer(weights.backbone)
    if path.name == bi_encoder.WEIGHTS:
        some = itertools.islice(asked, most // 2 + 1)
        chosen = [
            text
            for document, question in some
            for text in (rng.choice(document_windows(document)).text, question.text)
        ]
        encodings = tokenizer.encode_batch([_at_times_odd(text, rng, MOST_TIMES) for text in chosen[:most]])
        return [(one.ids[: bi_encoder.LONGEST], one.type_ids[: bi_encoder.LONGEST]) for one in encodings]
    cut = Windower(tokenizer, cross_encoder.LONGEST)
    found: Ids = []
    for document, question in asked:
        example = sample_example(document, question, Sampling(), rng)
        if example is not None:
            [windows] = cut([(example.question, [_at_times_odd(one, rng) for one in example.passages])])
            found += [(one.ids, one.types) for one in rng.sample(windows, min(1, len(windows)))]
        if len(found) >= most:
            break
    return found


def _at_times_odd(text: str, rng: random.Random, times: int = 1) -> str:
    """The text, or a few letters of it, once or at most so many times."""
    if rng.random() >= ODD:
        return text
    few = text[: rng.randint(1, MOST_LETTERS)]
    return " ".join([few] * rng.choice((1, rng.randint(1, times))))


def _in_turn(
    documents: Sequence[Document], rng: random.Random
) -> Iterator[tuple[Document, LabelledQuestion]]:
    """The questions about documents in random order, of each kind of document in turn."""
    by_kind: dict[str, list[tuple[Document, LabelledQuestion]]] = defaultdict(list)
    for document, question in iter_questions(documents):
        by_kind[document.kind].append((document, question))
    for some in by_kind.values():
        rng.shuffle(some)
    for row in itertools.zip_longest(*by_kind.values()):
        yield from (one for one in row if one is not None)


class Watched:
    """A model, and the ``bounds`` of what its layers' linear maps have been given so far."""

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self._lowest: dict[str, torch.Tensor] = {}
        self._highest: dict[str, torch.Tensor] = {}

    def read(self, text: tuple[list[int], list[int]]) -> None:
        """Have the model read a text."""
        for name, given in _given(self._model, text):
            lowest, highest = given.aminmax(dim=0)
            self._lowest[name] = torch.minimum(self._lowest.get(name, lowest), lowest)
            self._highest[name] = torch.maximum(self._highest.get(name, highest), highest)

    @property
    def bounds(self) -> Bounds:
        """The least and the largest number of each input."""
        lowest, highest = (
            {name: one.cpu().numpy() for name, one in found.items()}
            for found in (self._lowest, self._highest)
        )
        return lowest, highest


def share_cut(model: Transformer, bounds: Bounds, texts: Ids) -> float:
    """The share of the numbers that maps are given which lie outside; 0 where nothing is read."""
    outside = every = 0
    for text in texts:
        for name, given in _given(model, text):
            lowest, highest = (torch.from_numpy(found[name]).to(given.device) for found in bounds)
            outside += int(((given < lowest) | (given > highest)).sum())
            every += given.numel()
    return outside / max(every, 1)


def _given(model: Transformer, text: tuple[list[int], list[int]]) -> Iterator[tuple[str, torch.Tensor]]:
    """By name what each linear map of the layers is given for a text, (tokens, inputs) in fp32."""
    seen: list[tuple[str, torch.Tensor]] = []

    def watch(name: str) -> torch.utils.hooks.RemovableHandle:
        def hook(_: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            seen.append((name, inputs[0][0].float()))

        return modules[name].register_forward_pre_hook(hook)

    modules: Mapping[str, nn.Module] = dict(model.named_modules())
    handles = [
        watch(name)
        for name, module in modules.items()
        if isinstance(module, nn.Linear) and not name.endswith(_SHARED)
    ]
    device = next(model.parameters()).device
    ids, types = (torch.tensor([one], device=device) for one in text)
    try:
        with torch.inference_mode():
            model(ids, None, types)
    finally:
        for handle in handles:
            handle.remove()
    yield from seen


def _write_card(path: Path, weights: Path, made: Provenance) -> None:
    path.with_suffix(".md").write_text(
        f"""# {path.name}

Within what each input of the linear maps of `{weights.name}` lay, in two bytes, deflated: by these 8-bit
integers are scaled on CPUs that multiply them. SHA-256 of those weights:
`{file_hash(weights)}`.

- **Data**, of which some windows were read; held-out stories tell how much is larger than the ranges:
{made.data_lines()}
- **Licence**: Apache-2.0
{made.closing_lines(path)}
""",
        encoding="utf-8",
    )
