"""Trains the reading models together: spans, relevance and generated answers from one cross-encoder."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from encoders.adapters import overlay
from encoders.backbone import WIDTH, base_tensors, load_tokenizer
from encoders.batches import batches
from encoders.cross_encoder import CrossEncoder, collate
from encoders.device import pick_device
from encoders.windows import Window, Windower
from readers.default.pointer_generator import LONGEST, PointerDecoder
from training.adaptation import Adaptable
from training.context_sampling import Example, Showing, everything, show
from training.corpora.corpus import ARTICLES, FAIRYTALES, STORIES, SUMMARIES, Asked, Library, Work
from training.reading_validation import reading_scores

PARAGRAPH_WORDS = 160  # the longer tenth of SQuAD buys fewest questions for the time


@dataclass(frozen=True, slots=True)
class ReadingTraining:
    """What a run depends on, beside its data.

    ``passes`` and ``articles`` say how often a question of each kind is seen (``articles`` how many of
    SQuAD's); the weights are those of the losses, 0 leaves one out. ``rank`` is that of adapters
    beside the encoder's layers, 0 trains the layers themselves, and ``frozen`` none of the
    encoder. ``start`` is the SHA-256 of the weights that the run began with. ``examples`` ends
    the run after so many.
    """

    seed: int = 13
    fairytales: int = 1
    summaries: int = 1
    stories: int = 1
    articles: int = 2_500
    rate: float = 6e-5
    decoder_rate: float = 4e-4
    rank: int = 0
    frozen: bool = False
    batch_tokens: int = 3_000
    span_weight: float = 1.0
    relevance_weight: float = 0.5
    generate_weight: float = 0.3
    distractors: bool = True
    marginal: bool = True
    copies: bool = True
    start: str | None = None
    examples: int | None = None
    chunk: int = 256


@dataclass(frozen=True, slots=True)
class ReadingBatch:
    """Windows of several examples, each example's in a row.

    ``rows`` are the windows of each example; ``spans`` its targets as (row, first token, last token,
    weight) with rows counted within the example; ``right`` the rows of right passages; ``answers``
    the tokens of one of its references, end token included.
    """

    windows: list[Window]
    rows: list[slice]
    spans: list[list[tuple[int, int, int, float]]]
    right: list[list[int]]
    answers: list[list[int]]


def target_tokens(example: Example, windows: Sequence[Window]) -> list[tuple[int, int, int, float]]:
    """Where the targets lie whole in a window: (row, first token, last token, weight), in the window."""
    found = []
    for row, window in enumerate(windows):
        for target in example.targets:
            if target.text != window.passage:
                continue
            inside = [i for i, (s, e) in enumerate(window.offsets) if s < target.end and target.start < e]
            if inside:
                first, last = inside[0], inside[-1]
                if window.offsets[first][0] <= target.start and target.end <= window.offsets[last][1]:
                    found.append((row, window.first + first, window.first + last, target.weight))
    return found


def span_loss(
    start: torch.Tensor,
    end: torch.Tensor,
    context: torch.Tensor,
    rows: Sequence[slice],
    spans: Sequence[Sequence[tuple[int, int, int, float]]],
) -> torch.Tensor:
    """Mean over examples that have targets of -log sum_t w_t p(start_t) p(end_t).

    ``start`` and ``end`` are scores of shape (windows, tokens), ``context`` is True at the tokens
    that may be answered with. p is a softmax over all windows of the example: shared
    normalisation, Clark and Gardner 2018, equation 3, with the marginal of section 3. 0 where no
    example has a target.
    """
    start = start.float().masked_fill(~context, -1e9)
    end = end.float().masked_fill(~context, -1e9)
    losses = []
    for block, right in zip(rows, spans, strict=True):
        if right:
            row, first, last = torch.tensor([t[:3] for t in right], device=start.device).unbind(1)
            weight = torch.tensor([t[3] for t in right], device=start.device).log()
            total = torch.logsumexp(start[block].flatten(), 0) + torch.logsumexp(end[block].flatten(), 0)
            chosen = start[block][row, first] + end[block][row, last] + weight
            losses.append(total - torch.logsumexp(chosen, 0))
    return torch.stack(losses).mean() if losses else start.sum() * 0


def relevance_loss(
    relevance: torch.Tensor, rows: Sequence[slice], right: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Mean over examples of -log of the probability of a right window, or of none where none is right.

    ``relevance`` (windows,) are scores against that of answering nothing, which is 0: a softmax
    over an example's windows and nothing (Nogueira and Cho 2019, with a null class).
    """
    losses = []
    for block, answering in zip(rows, right, strict=True):
        scores = torch.nn.functional.pad(relevance[block].float(), (1, 0))  # nothing comes first
        chosen = scores[[1 + row for row in answering] or [0]]
        losses.append(scores.logsumexp(0) - chosen.logsumexp(0))
    return torch.stack(losses).mean()


class ReadingTask:
    """One cross-encoder with a span head, a relevance head and a decoder (a ``training.trainer.Task``)."""

    chosen_by: Sequence[str] = ()

    def __init__(
        self,
        settings: ReadingTraining,
        library: Library,
        start: Mapping[str, torch.Tensor] | None = None,
        decoder: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        """``start`` holds weights of a cross-encoder to begin with, ``decoder`` those of a decoder."""
        self._settings = settings
        self.settings: Mapping[str, Any] = asdict(settings)
        self.data = library.describe()
        self.device = pick_device()
        torch.manual_seed(settings.seed)
        start = dict(start or {})
        layers = overlay({name: tensor for name, tensor in start.items() if not name.startswith("head.")})
        self._layers = layers
        self.backbone = Adaptable(settings.rank, layers if settings.rank else None)
        if not settings.rank:
            self.backbone.begin_with(layers)
        if settings.frozen:
            self.backbone.model.requires_grad_(False)
        self.backbone.model.to(self.device)
        self.head = torch.nn.Linear(WIDTH, 3)
        torch.nn.init.normal_(self.head.weight, std=0.02)
        torch.nn.init.zeros_(self.head.bias)
        for name in ("weight", "bias"):
            known = start.get(f"head.{name}")
            if known is not None:  # the first readers had no relevance
                getattr(self.head, name).data[: len(known)] = known.float()
        self.head.to(self.device)
        self.decoder = PointerDecoder.born(settings.copies)
        if decoder is not None:
            self.decoder.load_state_dict({name: tensor.float() for name, tensor in decoder.items()})
        self.decoder.to(self.device)
        self.windower = Windower(load_tokenizer(), overlap=128)
        self._showing = Showing(settings.distractors, settings.marginal)
        # What a frozen encoder says of a window is computed once: about 0.8 kB a token.
        self._states: dict[tuple[int, ...], torch.Tensor] = {}
        self.order = self._order(library)
        self.chunks = -(-len(self.order) // settings.chunk)
        self._held_out = library.held_out

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        found = []
        if not self._settings.frozen:
            found.append(([*self.backbone.parameters(), *self.head.parameters()], self._settings.rate))
        if self._settings.generate_weight:
            found.append((list(self.decoder.parameters()), self._settings.decoder_rate))
        return found

    def _order(self, library: Library) -> list[tuple[Work, Asked]]:
        settings = self._settings
        rng = random.Random(settings.seed)
        order: list[tuple[Work, Asked]] = []
        for kind, passes in (
            (FAIRYTALES, settings.fairytales),
            (SUMMARIES, settings.summaries),
            (STORIES, settings.stories),
        ):
            order += list(everything(library.of(kind))) * passes
        articles = [
            (work, one)
            for work, one in everything(library.of(ARTICLES))
            if one.gold and _paragraph_words(work, one) <= PARAGRAPH_WORDS
        ]
        rng.shuffle(articles)
        order += articles[: settings.articles]
        rng.shuffle(order)
        return order[: settings.examples]

    def batches(self, chunk: int) -> Iterator[ReadingBatch]:
        """See ``Task.batches``."""
        rng = random.Random(f"{self._settings.seed}/{chunk}")
        first = chunk * self._settings.chunk
        examples = [
            example
            for work, one in self.order[first : first + self._settings.chunk]
            if (example := show(work, one, self._showing, self._shown_by(work, one, rng))) is not None
        ]
        found = self.windower([(e.question, e.passages) for e in examples])
        lengths = [max(len(window.ids) for window in windows) for windows in found]
        groups = batches(lengths, self._settings.batch_tokens, [len(windows) for windows in found])
        rng.shuffle(groups)
        for group in groups:
            batch = ReadingBatch([], [], [], [], [])
            for i in group:
                example, windows = examples[i], found[i]
                batch.rows.append(slice(len(batch.windows), len(batch.windows) + len(windows)))
                batch.windows.extend(windows)
                batch.spans.append(target_tokens(example, windows))
                batch.right.append(_right_rows(example, windows, batch.spans[-1]))
                batch.answers.append(self._answer(rng.choice(example.answers)))
            yield batch

    def _shown_by(self, work: Work, one: Asked, rng: random.Random) -> random.Random:
        """What an example is drawn by: with a frozen encoder the same one each time it is seen."""
        if not self._settings.frozen:
            return rng
        return random.Random(f"{self._settings.seed}/{work.kind}/{work.name}/{one.question}")

    def _answer(self, text: str) -> list[int]:
        """The tokens of an answer, end token included: what stands before the answer begins is [CLS]."""
        return load_tokenizer().encode(text).ids[1:][-LONGEST:]

    def losses(self, batch: ReadingBatch) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        settings = self._settings
        ids, types, mask = (None if t is None else t.to(self.device) for t in collate(batch.windows))
        assert ids is not None
        if settings.frozen:
            hidden = self._known_states(batch.windows)
        else:
            hidden = self.backbone.model(
                input_ids=ids, token_type_ids=types, attention_mask=mask
            ).last_hidden_state
        found: dict[str, torch.Tensor] = {}
        if not settings.frozen:
            start, end, relevance = self.head(hidden).unbind(-1)
            context = _context(batch.windows, ids)
            if settings.span_weight:
                found["span"] = settings.span_weight * span_loss(start, end, context, batch.rows, batch.spans)
            if settings.relevance_weight:
                found["relevance"] = settings.relevance_weight * relevance_loss(
                    relevance[:, 0], batch.rows, batch.right
                )
        if settings.generate_weight:
            found["generate"] = settings.generate_weight * self._generate_loss(batch, hidden, ids)
        return found

    @torch.no_grad()
    def _known_states(self, windows: Sequence[Window]) -> torch.Tensor:
        """The frozen encoder's last states, (windows, tokens, width), those seen before from memory."""
        keys = [tuple(window.ids) for window in windows]
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in self._states}
        if new:
            ids, types, mask = (None if t is None else t.to(self.device) for t in collate(list(new.values())))
            hidden = self.backbone.model(input_ids=ids, token_type_ids=types, attention_mask=mask)
            for key, row in zip(new, hidden.last_hidden_state, strict=True):
                self._states[key] = row[: len(key)].half().cpu()
        rows = [self._states[key] for key in keys]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(self.device).float()

    def _generate_loss(self, batch: ReadingBatch, hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """-log P of the answers' tokens, mean over the answers that the passages hold."""
        answerable = [i for i, right in enumerate(batch.right) if right]
        if not answerable:
            return self.decoder.bias.sum() * 0  # nothing to learn from, yet something to step by
        lengths = [len(window.ids) for window in batch.windows]
        context = _context(batch.windows, ids)
        states, tokens, copied = [], [], []
        for i in answerable:
            rows = range(batch.rows[i].start, batch.rows[i].stop)
            states.append(torch.cat([hidden[row, : lengths[row]] for row in rows]))
            tokens.append(torch.cat([ids[row, : lengths[row]] for row in rows]))
            copied.append(torch.cat([context[row, : lengths[row]] for row in rows]))
        pad = torch.nn.utils.rnn.pad_sequence
        memory_ids = pad(tokens, batch_first=True)
        mask = pad([torch.ones_like(t, dtype=torch.bool) for t in tokens], batch_first=True)
        memory = self.decoder.memory(
            pad(states, batch_first=True), memory_ids, mask, pad(copied, batch_first=True)
        )
        answers = [torch.tensor(batch.answers[i], device=self.device) for i in answerable]
        targets = pad(answers, batch_first=True)
        real = pad([torch.ones_like(a, dtype=torch.bool) for a in answers], batch_first=True)
        begins = ids[0, 0].expand(len(answers), 1)
        words = self.backbone.model.embeddings.word_embeddings.weight
        step = self.decoder(torch.cat([begins, targets[:, :-1]], 1), memory, words)
        log_probability = step.log_probability(targets, memory_ids)
        loss: torch.Tensor = -(log_probability * real).sum() / real.sum()
        return loss

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``."""
        tensors = {name: tensor.cpu().clone() for name, tensor in self.tensors().items()}
        decoder = copy.deepcopy(self.decoder) if self._settings.generate_weight else None
        return reading_scores(CrossEncoder(tensors, "training"), decoder, self._held_out)

    def tensors(self) -> dict[str, torch.Tensor]:
        """The weights of the cross-encoder and its heads."""
        trained = self.backbone.tensors()
        if self._layers and (self._settings.rank or self._settings.frozen):
            # What the run began with is a part of what it leaves; adapters are added to it.
            adapters = {name: tensor.cpu() for name, tensor in trained.items()}
            trained = {**self._layers, **overlay(adapters, {**base_tensors(), **self._layers})}
        return {
            **trained,
            "head.weight": self.head.weight.detach(),
            "head.bias": self.head.bias.detach(),
        }

    def decoder_tensors(self) -> dict[str, torch.Tensor]:
        """The weights of the decoder."""
        return dict(self.decoder.state_dict())


def _paragraph_words(work: Work, one: Asked) -> int:
    place = one.gold[0]
    return next((len(work.text[s:e].split()) for s, e in work.passages if s <= place[0] and place[1] <= e), 0)


def _right_rows(
    example: Example, windows: Sequence[Window], spans: Sequence[tuple[int, int, int, float]]
) -> list[int]:
    """The windows of right passages: those that hold a target where any does."""
    holding = sorted({row for row, _, _, _ in spans})
    return holding or [row for row, window in enumerate(windows) if window.passage in example.right]


def _context(windows: Sequence[Window], ids: torch.Tensor) -> torch.Tensor:
    """(windows, tokens), True at the tokens of passages."""
    context = torch.zeros(ids.shape, dtype=torch.bool)
    for row, window in enumerate(windows):
        context[row, window.first : window.first + len(window.offsets)] = True
    return context.to(ids.device)
