"""Trains a small language model to write answers from passages, or that they do not tell: by adapters."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import torch
import typer
from torch.nn.functional import cross_entropy

from encoders.adapters import Weights
from encoders.backbone import LANGUAGE_MODELS, SMOLLM2, Backbone
from encoders.batches import batches
from encoders.causal_lm import load_causal_lm
from encoders.device import pick_device, pick_dtype, sent
from readers.default.writer import WEIGHTS, WriteReader
from readers.default.writer_prompt import LONGEST, REFUSAL, WritePrompts
from training.adaptation import AdaptedModel
from training.context_sampling import Example, Sampling, sample_example
from training.corpora.corpus import Corpus, Document, LabelledQuestion
from training.export import Provenance, Trained, save_weights, write_card
from training.invocation import Invocation
from training.objectives.cross_encoder_batches import draw_questions
from training.objectives.cross_encoder_settings import Articles, Examples, QuestionSettings, Rate, Stories
from training.prefetching import spare_processes
from training.trainer import ADAMW, Trainer
from training.unanswerable import Unanswerable
from training.validation import writing_scores

AdapterRank = Annotated[
    int, typer.Option(min=1, help="Of the adapters (LoRA); 16 makes a file of just below 10 MB.")
]
BatchTokens = Annotated[int, typer.Option(min=1, help="Tokens of a batch, padding included.")]
Longest = Annotated[int, typer.Option(min=256, help="Tokens of a prompt; passages are cut to fit.")]
Elsewhere = Annotated[
    float, typer.Option(min=0, max=1, help="The share of questions that are asked of another document.")
]
Renamed = Annotated[
    float, typer.Option(min=0, max=1, help="The share of questions in which a name is replaced by another.")
]


@dataclass(frozen=True, slots=True)
class WriterSettings(QuestionSettings):
    """What a run depends on, beside its data; ``longest`` is the limit on a prompt's tokens.

    Chunks are small: on a CPU 64 of its questions take minutes, which a run that is stopped would lose.
    """

    backbone: str = SMOLLM2.name
    stories: Stories = 0
    articles: Articles = 2_500
    clozes: int = 0
    elsewhere: Elsewhere = 0.1
    renamed: Renamed = 0.05
    rate: Rate = 2e-4
    rank: AdapterRank = 16
    batch_tokens: BatchTokens = 3_000
    longest: Longest = LONGEST
    examples: Examples = None
    chunk: int = 64


@dataclass(frozen=True, slots=True)
class WriterBatch:
    """Prompts, each followed by the answer to write: row i's answer begins at ``starts[i]``."""

    rows: list[list[int]]
    starts: list[int]


class WriterTask:
    """Adapters beside a language model that writes answers (a ``training.trainer.Task``)."""

    chosen_by: Sequence[str] = ()
    optimisation = ADAMW

    def __init__(self, settings: WriterSettings, corpus: Corpus) -> None:
        self._settings = settings
        self.settings: Mapping[str, Any] = asdict(settings)
        self.data = corpus.describe()
        self.device = pick_device()
        self.base: Backbone = LANGUAGE_MODELS[settings.backbone]
        torch.manual_seed(settings.seed)
        model, self._tokenizer = load_causal_lm(self.base)
        self.adapted = AdaptedModel(model, self.base.adapted, settings.rank)
        self.adapted.model.to(self.device)
        self._prompts = WritePrompts(self._tokenizer, settings.longest)
        self._order = draw_questions(corpus, settings)[: settings.examples]
        self._unanswerable = Unanswerable(corpus.train)
        self._held_out = corpus.held_out
        self.chunks = -(-len(self._order) // settings.chunk)

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(self.adapted.parameters(), self._settings.rate)]

    def batches(self, chunk: int) -> Iterator[WriterBatch]:
        """See ``Task.batches``."""
        rng = random.Random(f"{self._settings.seed}/{chunk}")
        first = chunk * self._settings.chunk
        pairs: list[tuple[list[int], list[int]]] = []
        for document, question in self._order[first : first + self._settings.chunk]:
            example = self._sample(document, question, rng)
            prompt = None if example is None else self._prompts(example.question, example.passages)
            if example is not None and prompt is not None:
                # Where nothing that is shown answers, the model learns to say so.
                target = rng.choice(example.answers) if example.right else REFUSAL
                pairs.append((prompt, self._prompts.answer(target)))
        groups = batches([len(prompt) + len(answer) for prompt, answer in pairs], self._settings.batch_tokens)
        rng.shuffle(groups)
        for group in groups:
            chosen = [pairs[i] for i in group]
            yield WriterBatch([[*prompt, *answer] for prompt, answer in chosen], [len(p) for p, _ in chosen])

    def _sample(self, document: Document, question: LabelledQuestion, rng: random.Random) -> Example | None:
        example = sample_example(document, question, Sampling(), rng)
        if example is None:
            return None
        shares = (self._settings.elsewhere, self._settings.renamed)
        return self._unanswerable.instead_of(example, document, question, rng, shares)

    def losses(self, batch: WriterBatch) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``: the mean cross-entropy of the answers' tokens."""
        width = max(map(len, batch.rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in batch.rows])
        places = [
            (number, place)
            for number, (row, start) in enumerate(zip(batch.rows, batch.starts, strict=True))
            for place in range(start, len(row))
        ]
        rows, columns = (sent(one, self.device) for one in torch.tensor(places).unbind(1))
        ids = sent(ids, self.device)  # (examples, tokens)
        # Padding stands behind every token, and none looks ahead: it needs no mask.
        model = self.adapted.model
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state  # (examples, tokens, width)
        # Each token is told by the state before it; logits of all places would be larger than the model.
        logits = model.lm_head(hidden[rows, columns - 1])  # (answers' tokens, vocabulary)
        return {"write": cross_entropy(logits.float(), ids[rows, columns])}

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``."""
        dtype = pick_dtype(self.device)
        reader = WriteReader(self.adapted.model, self._tokenizer, longest=self._settings.longest)
        with torch.autocast(self.device.type, dtype, enabled=dtype != torch.float32):
            return writing_scores(reader, self._held_out)

    def weights(self) -> Weights:
        """The adapters."""
        return Weights(self.base, self.adapted.tensors())


def train(run: Invocation, settings: WriterSettings) -> Trained:
    """See ``storyqa train write``."""
    task = WriterTask(settings, run.corpus())
    return export(run.train(task, validations=4, workers=spare_processes(task.device)), run.command)


def export(trainer: Trainer[WriterTask], command: str) -> Trained:
    """Write the adapters and their card."""
    task = trainer.task
    path = save_weights(task.weights(), trainer.out / WEIGHTS, task.settings)
    what = (
        f"Adapters of rank {task.settings['rank']} beside all linear maps of `{task.base.name}` "
        f"({task.base.title}), which write an answer from passages, or that the passages do not tell."
    )
    write_card(path, task.base, what, Provenance.of(trainer, command))
    return Trained((path,), trainer.seconds, trainer.scores)
