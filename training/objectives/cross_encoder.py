"""Trains the reading models together: spans, relevance and generated answers from one cross-encoder."""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import typer

from encoders.adapters import DOWN, UP, Weights, file_hash, load_weights, overlay
from encoders.backbone import BACKBONES, MINILM, Backbone, base_tensors, load_tokenizer
from encoders.batches import batches
from encoders.cross_encoder import WEIGHTS, CrossEncoder, collate, load_crossencoder
from encoders.device import pick_device
from encoders.runtime import TORCH, pick_runtime
from encoders.windows import Windower
from readers.default.decoder_weights import WEIGHTS as DECODER_WEIGHTS
from readers.default.decoder_weights import decoder_tensors, shipped_decoder, word_ids
from readers.default.pointer_generator import PointerDecoder
from readers.default.torch_decoding import words_of
from terminal.progress import ProgressBars
from training.adaptation import TrainableBackbone
from training.bridging import QUESTIONS, fit_bridge
from training.context_sampling import Example, Sampling, sample_example, sample_unlabelled
from training.corpora import cloze_documents
from training.corpora.corpus import Corpus, Document, LabelledQuestion
from training.export import Provenance, Trained, load_start, require_backbone, save_weights, write_card
from training.frozen_states import FrozenStates
from training.invocation import Invocation
from training.objectives.cross_encoder_batches import (
    CrossEncoderBatch,
    context_mask,
    draw_questions,
    make_batch,
)
from training.objectives.cross_encoder_losses import generate_loss, relevance_loss, span_loss, taught_losses
from training.objectives.cross_encoder_options import NO_BRIDGE, Cloze, Teach, check_options
from training.objectives.cross_encoder_settings import CrossEncoderSettings
from training.objectives.options import Start, Within
from training.prefetching import spare_processes
from training.rewording import Rewording
from training.searched_books import SearchedBooks, Tell
from training.teacher import Teacher
from training.trainer import ADAMW, Trainer
from training.unanswerable import Unanswerable
from training.validation import reading_scores

CLOZES_FIRST = 20_000  # where --clozes does not say


class CrossEncoderTask:
    """One cross-encoder with a span head, a relevance head and a decoder (a ``training.trainer.Task``)."""

    chosen_by: Sequence[str] = ()
    optimisation = ADAMW

    def __init__(
        self,
        settings: CrossEncoderSettings,
        corpus: Corpus,
        start: Weights | None = None,
        decoder: Weights | None = None,
        teacher: Teacher | None = None,
        tell: Tell = lambda step, done, of: None,
    ) -> None:
        """``start`` holds weights of a cross-encoder to begin with, ``decoder`` those of a decoder.

        ``tell(step, done, of)`` is told how far the search for what is read is, where there is one.
        """
        self._settings = settings
        self._teacher = teacher
        self._start = start
        self.settings: Mapping[str, Any] = asdict(settings)
        self.data = corpus.describe()
        self.fingerprint = corpus.fingerprint()
        self.device = pick_device()
        self._multiple = pick_runtime(TORCH).multiple
        torch.manual_seed(settings.seed)
        self.base = BACKBONES[settings.backbone]
        begun = _begun(self.base, start)
        known = {name: tensor for name, tensor in begun.items() if not name.startswith("head.")}
        goes_on = _is_of_rank(known, settings.rank)  # with the very adapters that it is given
        self._layers = {} if goes_on else overlay(known, base_tensors(self.base))
        self.backbone = TrainableBackbone(self.base, settings.rank, self._layers if settings.rank else None)
        if goes_on or not settings.rank:
            self.backbone.begin_with(known if goes_on else self._layers)
        if settings.frozen:
            self.backbone.model.requires_grad_(False)
        self.backbone.model.to(self.device)
        self.head = torch.nn.Linear(self.base.width, 3)
        torch.nn.init.normal_(self.head.weight, std=0.02)
        torch.nn.init.zeros_(self.head.bias)
        for name in ("weight", "bias"):
            head = begun.get(f"head.{name}")
            if head is not None:  # the first readers had no relevance
                getattr(self.head, name).data[: len(head)] = head.float()
        self.head.to(self.device)
        self.decoder = _decoder(settings, self.base, decoder)
        self._words = words_of(self.device)
        self._ids: torch.Tensor | None = (
            None  # the decoder's numbers of the encoder's tokens, where they differ
        )
        if self.decoder is not None:
            self.decoder.to(self.device)
            if self.base != MINILM:
                self._ids = torch.from_numpy(word_ids(self.base)).to(self.device)
        self.windower = Windower(load_tokenizer(self.base), overlap=128)
        self._sampling = Sampling(settings.distractors, settings.marginal)
        self._frozen_states = FrozenStates(self.backbone.model, self.base, self.device)
        self._order = draw_questions(corpus, settings)[: settings.examples]
        self._unanswerable = Unanswerable(corpus.train)
        self._rewording = Rewording() if settings.reworded else None
        kinds = {document.kind for document, _ in self._order}
        documents = [document for document in corpus.train if document.kind in kinds]
        self._books = SearchedBooks(documents, tell) if settings.searched else None
        self.chunks = -(-len(self._order) // settings.chunk)
        self._held_out = corpus.held_out
        if settings.bridge:
            self._begin_bridge()

    def _begin_bridge(self) -> None:
        """The map begins as the nearest to what the shipped encoder says, and is all that is trained."""
        assert self.decoder is not None
        rng = random.Random(self._settings.seed)
        sampled = [self._sample(document, question, rng) for document, question in self._order[:QUESTIONS]]
        asked = [(one.question, one.passages) for one in sampled if one is not None]
        weight, bias = fit_bridge(self._frozen_states, self.windower, load_crossencoder(), asked)
        self.decoder.requires_grad_(False)
        for parameter, fitted in zip(self._bridge, (weight, bias), strict=True):
            parameter.data.copy_(fitted)
            parameter.requires_grad_(True)

    @property
    def _bridge(self) -> list[torch.nn.Parameter]:
        """Weight and bias of the map."""
        assert self.decoder is not None
        assert self.decoder.narrow is not None
        return list(self.decoder.narrow.parameters())

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        found = []
        if not self._settings.frozen:
            found.append(([*self.backbone.parameters(), *self.head.parameters()], self._settings.rate))
        if self.decoder is not None:
            trained = self._bridge if self._settings.bridge else list(self.decoder.parameters())
            found.append((trained, self._settings.decoder_rate))
        return found

    def batches(self, chunk: int) -> Iterator[CrossEncoderBatch]:
        """See ``Task.batches``."""
        rng = random.Random(f"{self._settings.seed}/{chunk}")
        first = chunk * self._settings.chunk
        examples = [
            example
            for document, question in self._order[first : first + self._settings.chunk]
            if (example := self._sample(document, question, rng)) is not None
        ]
        found = self.windower([(e.question, e.passages) for e in examples])
        lengths = [max(len(window.ids) for window in windows) for windows in found]
        groups = batches(lengths, self._settings.batch_tokens, [len(windows) for windows in found])
        rng.shuffle(groups)
        for group in groups:
            yield make_batch([(examples[i], found[i]) for i in group], rng)

    def _sample(self, document: Document, question: LabelledQuestion, rng: random.Random) -> Example | None:
        """An example; with a frozen encoder always the same one, its states known by then."""
        if self._settings.frozen:
            rng = random.Random(f"{self._settings.seed}/{document.kind}/{document.name}/{question.text}")
        example = self._as_asked(document, question, rng)
        if example is None or self._rewording is None or rng.random() >= self._settings.reworded:
            return example
        asked = self._rewording(example.question, rng)
        return replace(example, question=asked, right=(), targets=(), labelled=False, marked=False)

    def _as_asked(self, document: Document, question: LabelledQuestion, rng: random.Random) -> Example | None:
        """An example of the question as it stands."""
        if self._settings.unlabelled and rng.random() < self._settings.unlabelled:
            return sample_unlabelled(document, question, rng)
        example = None
        if self._books is not None and rng.random() < self._settings.searched:
            example = self._books.sample(document, question, self._sampling, rng)
        if example is None:
            example = sample_example(document, question, self._sampling, rng)
        if example is None:
            return None
        shares = (self._settings.elsewhere, self._settings.renamed)
        return self._unanswerable.instead_of(example, document, question, rng, shares)

    def questions(self, batch: CrossEncoderBatch) -> int:
        """See ``Task.questions``."""
        return len(batch.rows)

    def losses(self, batch: CrossEncoderBatch) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        settings = self._settings
        inputs = collate(batch.windows, self.base.pad, self.base.typed, self._multiple).to(self.device)
        if settings.frozen:
            hidden = self._frozen_states(batch.windows)
        else:
            hidden = self.backbone.model(**inputs.named).last_hidden_state
        found: dict[str, torch.Tensor] = {}
        if not settings.frozen:
            start, end, relevance = self.head(hidden).unbind(-1)
            context = context_mask(batch.windows, inputs.ids)
            if settings.span_weight:
                found["span"] = settings.span_weight * span_loss(start, end, context, batch.rows, batch.spans)
            if settings.relevance_weight:
                known = [i for i, labelled in enumerate(batch.labelled) if labelled]
                found["relevance"] = settings.relevance_weight * relevance_loss(
                    relevance[:, 0], [batch.rows[i] for i in known], [batch.right[i] for i in known]
                )
            taught = [] if self._teacher is None else self._taught(batch)
            if self._teacher is not None and taught:
                part, rows = batch.part(taught)
                lesson = self._teacher.taught(part.windows, start.shape[1], self.device)
                spans, right = taught_losses(
                    lesson, part.rows, start[rows], end[rows], relevance[rows, 0], context[rows]
                )
                share = len(taught) / len(batch.rows)
                found["taught_span"] = settings.span_weight * share * spans
                found["taught_relevance"] = settings.relevance_weight * share * right
        if self.decoder is not None:
            ids = inputs.ids if self._ids is None else self._ids[inputs.ids]
            context = context_mask(batch.windows, ids)
            loss = generate_loss(self.decoder, batch, hidden, ids, context, self._words)
            found["generate"] = settings.generate_weight * loss
        return found

    def _taught(self, batch: CrossEncoderBatch) -> list[int]:
        """The examples that the teacher is asked about."""
        return [i for i, marked in enumerate(batch.marked) if not (marked and self._settings.marked_alone)]

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``."""
        weights = self.weights()
        copied = {name: tensor.cpu().clone() for name, tensor in weights.tensors.items()}
        encoder = CrossEncoder(Weights(weights.backbone, copied), "training")
        return reading_scores(encoder, copy.deepcopy(self.decoder), self._held_out)

    def weights(self) -> Weights:
        """Those of the cross-encoder and its heads."""
        if self._start is not None and self._settings.frozen:
            return replace(
                self._start, tensors={name: tensor.float() for name, tensor in self._start.tensors.items()}
            )
        trained = self.backbone.tensors()
        if self._layers and self._settings.rank:
            # What the run began with is a part of what it leaves; adapters are added to it.
            adapters = {name: tensor.cpu() for name, tensor in trained.items()}
            trained = {**self._layers, **overlay(adapters, {**base_tensors(self.base), **self._layers})}
        head = {"head.weight": self.head.weight.detach(), "head.bias": self.head.bias.detach()}
        return Weights(self.base, {**trained, **head})

    def decoder_weights(self) -> Weights:
        """Those of the decoder, as far as they were trained."""
        assert self.decoder is not None
        state = self.decoder.tensors()
        if not self._settings.bridge:
            return Weights(self.base, state)
        trained = {name: tensor for name, tensor in state.items() if name.startswith("narrow.")}
        return Weights(self.base, trained, rest=file_hash(shipped_decoder()))


def description(base: Backbone) -> str:
    """What a card says that the weights beside a backbone are."""
    return (
        f"A cross-encoder: `{base.name}` ({base.title}) reading a question beside a passage, with a "
        "start and an end score for every token and the relevance of every window. Embeddings are the "
        "encoder's own."
    )


def decoder_description(encoder: str, rest: str | None) -> str:
    """What a card says that a decoder's weights are, beside the cross-encoder of that SHA-256.

    ``rest`` is that of the decoder whose other parameters they are read with, if any.
    """
    states = f"the states of the cross-encoder `{WEIGHTS}` (SHA-256 `{encoder}`)"
    if rest is None:
        return f"A pointer-generator's decoder over {states}."
    return (
        f"A linear map from {states} to those that the shipped decoder (SHA-256 `{rest}`) reads: all other "
        "parameters are that decoder's."
    )


def _begun(base: Backbone, start: Weights | None) -> Mapping[str, torch.Tensor]:
    """The weights that a run begins with, if any; raises ModelError for another backbone's."""
    if start is None:
        return {}
    require_backbone(start, base)
    return start.tensors


def _is_of_rank(tensors: Mapping[str, torch.Tensor], rank: int) -> bool:
    """Whether these are adapters of that rank, all of them."""
    ranks = {len(tensor) for name, tensor in tensors.items() if name.endswith(DOWN)}
    return ranks == {rank} and all(name.endswith((DOWN, UP)) for name in tensors)


def _decoder(settings: CrossEncoderSettings, base: Backbone, start: Weights | None) -> PointerDecoder | None:
    """The decoder to train, where one is."""
    if not settings.generate_weight:
        return None
    decoder = PointerDecoder.from_backbone(settings.copies, base.width)
    if start is not None:
        # Of the shipped decoder nothing narrows the states: that is what is trained then.
        decoder.load_state_dict(decoder_tensors(start), strict=not settings.bridge)
    return decoder


def train(
    run: Invocation,
    settings: CrossEncoderSettings,
    *,
    start: Start = None,
    cloze: Cloze = None,
    teacher: Teach = None,
    within: Within = None,
) -> Trained:
    """See ``storyqa train span``, ``large``, ``rerank`` and ``generate``."""
    check_options(settings, run.out, start, cloze, teacher)
    corpus = run.corpus()
    if cloze is not None:
        settings = replace(settings, clozes=settings.clozes or CLOZES_FIRST)
        corpus = replace(
            corpus, train=(*corpus.train, *cloze_documents.load(cloze, settings.clozes, run.cache))
        )
    began = load_start(start)
    if began.encoder is not None and settings.frozen:
        settings = replace(settings, backbone=began.encoder.backbone.name)
    if settings.bridge:
        if BACKBONES[settings.backbone].width == MINILM.width:
            raise typer.BadParameter(NO_BRIDGE, param_hint="--bridge")
        began = replace(began, decoder=load_weights(shipped_decoder()))
    kept = run.out if pick_runtime().device == "cpu" else None
    taught_by = None if teacher is None else Teacher(teacher, BACKBONES[settings.backbone], kept)
    settings = replace(settings, start=began.sha256, teacher=taught_by.sha256 if taught_by else None)
    with ProgressBars() as tell:
        task = CrossEncoderTask(settings, corpus, began.encoder, began.decoder, taught_by, tell)
    trainer = run.train(task, workers=spare_processes(task.device), within=within)
    if trainer.chunk < task.chunks:
        task.settings = {**task.settings, "examples": trainer.chunk * settings.chunk}
    return export(trainer, run.command, start)


def export(trainer: Trainer[CrossEncoderTask], command: str, start: Path | None = None) -> Trained:
    """Write the cross-encoder and, where it was trained, the decoder, with their cards.

    A cross-encoder that was not trained is the file in ``start``, byte for byte.
    """
    task, made = trainer.task, Provenance.of(trainer, command)
    base = task.base
    if start is not None and task.settings["frozen"]:
        for file in start.glob(f"{Path(WEIGHTS).stem}.*"):
            shutil.copyfile(file, trainer.out / file.name)
        paths = [trainer.out / WEIGHTS]
    else:
        paths = [save_weights(task.weights(), trainer.out / WEIGHTS, task.settings)]
        write_card(paths[0], base, description(base), made)
    if task.decoder is not None:
        paths.append(save_weights(task.decoder_weights(), trainer.out / DECODER_WEIGHTS, task.settings))
        what = decoder_description(file_hash(paths[0]), task.decoder_weights().rest)
        write_card(paths[1], base, what, made)
    return Trained(tuple(paths), trainer.seconds, trainer.scores)
