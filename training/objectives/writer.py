"""Trains a small language model to write answers from passages, or that they do not tell: by adapters."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import torch
import typer
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from encoders.adapters import Weights, file_hash, load_weights
from encoders.backbone import LANGUAGE_MODELS, SMOLLM2, Backbone
from encoders.batches import batches
from encoders.causal_lm import attend_by_steps, load_causal_lm
from encoders.device import pick_device, pick_dtype, sent
from readers.default.writer import WEIGHTS, WriteReader
from readers.default.writer_prompt import LONGEST, REFUSAL, WritePrompts
from text.spans import overlaps
from training.adaptation import AdaptedModel
from training.context_sampling import Example, Sampling, sample_example
from training.corpora.corpus import Corpus, Document, LabelledQuestion
from training.export import Provenance, Trained, save_weights, write_card
from training.invocation import Invocation
from training.objectives.cross_encoder_batches import draw_questions
from training.objectives.cross_encoder_settings import Articles, Examples, QuestionSettings, Rate, Stories
from training.objectives.options import Start
from training.prefetching import spare_processes
from training.trainer import ADAMW, Trainer, autocast
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
Compiled = Annotated[
    bool,
    typer.Option(
        "--compiled", help="Compile the layers: a minute, and a C++ compiler, for a fifth of the time."
    ),
]
SHARING = 8  # questions in a row, at most, about the same passages


@dataclass(frozen=True, slots=True)
class WriterSettings(QuestionSettings):
    """What a run depends on, beside its data; ``longest`` is the limit on a prompt's tokens.

    ``start`` is the SHA-256 of the adapters that the run began with, ``compiled`` whether its layers were.

    Chunks are small: on a CPU 64 of its questions take minutes, which a run that is stopped would lose.
    """

    backbone: str = SMOLLM2.name
    stories: Stories = 0
    articles: Articles = 2_500
    clozes: int = 0
    elsewhere: Elsewhere = 0.1
    renamed: Renamed = 0.05
    rate: Rate = 5e-4
    rank: AdapterRank = 16
    batch_tokens: BatchTokens = 3_000
    longest: Longest = LONGEST
    examples: Examples = None
    compiled: Compiled = False
    start: str | None = None
    chunk: int = 64


@dataclass(frozen=True, slots=True)
class Row:
    """Passages, and behind them questions about them, each with the answer to write.

    A question sees the passages and itself alone, so it is read as if it were the only one, while the
    passages, most of what there is to read, are read once for all. ``tokens`` are the passages', then
    those of each question and its answer; ``branches`` says per token 0 for the passages', n for the n-th
    question's; ``answers`` are the places of the answers' tokens.
    """

    tokens: list[int]
    branches: list[int]
    answers: list[int]

    @classmethod
    def of(cls, shared: Sequence[int], asked: Sequence[tuple[list[int], list[int]]]) -> Row:
        """A row of the passages' tokens, and per question its own and its answer's."""
        row = cls(list(shared), [0] * len(shared), [])
        for number, (question, answer) in enumerate(asked, 1):
            row.tokens.extend((*question, *answer))
            row.answers.extend(range(len(row.tokens) - len(answer), len(row.tokens)))
            row.branches.extend([number] * (len(question) + len(answer)))
        return row

    def positions(self) -> list[int]:
        """Where each token would stand if its question were the only one."""
        seen: Counter[int] = Counter()
        places = []
        for branch in self.branches:
            places.append(seen[branch] + (seen[0] if branch else 0))
            seen[branch] += 1
        return places


def attention_bias(branches: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What is added to attention's scores, (rows, 1, tokens, tokens), of (rows, tokens) branches.

    0 where a token sees another, which stands before it in its own question or in the passages, else -inf.
    """
    own = branches.unsqueeze(2) == branches.unsqueeze(1)
    shared = (branches == 0).unsqueeze(1)
    seen = (own | shared).tril().unsqueeze(1)
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -math.inf)


class WriterTask:
    """Adapters beside a language model that writes answers (a ``training.trainer.Task``)."""

    chosen_by: Sequence[str] = ()
    optimisation = ADAMW

    def __init__(self, settings: WriterSettings, corpus: Corpus, start: Weights | None = None) -> None:
        """``start`` has the adapters to go on with; raises ModelError for others than the run trains."""
        self._settings = settings
        self.settings: Mapping[str, Any] = asdict(settings)
        self.data = corpus.describe()
        self.fingerprint = corpus.fingerprint()
        self.device = pick_device()
        self.base: Backbone = LANGUAGE_MODELS[settings.backbone]
        torch.manual_seed(settings.seed)
        model, self._tokenizer = load_causal_lm(self.base)
        self.adapted = AdaptedModel(model, self.base.adapted, settings.rank)
        if start is not None:
            self.adapted.begin_with(start.tensors)
        self.adapted.model.to(self.device)
        attend_by_steps(self.adapted.model)
        if settings.compiled:
            for layer in self.adapted.model.model.layers:
                layer.compile(dynamic=True)
        self._prompts = WritePrompts(self._tokenizer, settings.longest)
        self._order = beside_each_other(draw_questions(corpus, settings))[: settings.examples]
        self._unanswerable = Unanswerable(corpus.train)
        self._held_out = corpus.held_out
        self.chunks = -(-len(self._order) // settings.chunk)

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(self.adapted.parameters(), self._settings.rate)]

    def batches(self, chunk: int) -> Iterator[list[Row]]:
        """See ``Task.batches``."""
        rng = random.Random(f"{self._settings.seed}/{chunk}")
        first = chunk * self._settings.chunk
        asked: defaultdict[tuple[int, ...], list[tuple[list[int], list[int]]]] = defaultdict(list)
        for document, question in self._order[first : first + self._settings.chunk]:
            example = self._sample(document, question, rng)
            prompt = None if example is None else self._prompts.parts(example.question, example.passages)
            if example is not None and prompt is not None:
                # Where nothing that is shown answers, the model learns to say so.
                target = rng.choice(example.answers) if example.right else REFUSAL
                asked[tuple(prompt[0])].append((prompt[1], self._prompts.answer(target)))
        rows = [Row.of(shared, questions) for shared, questions in asked.items()]
        groups = batches([len(row.tokens) for row in rows], self._settings.batch_tokens)
        rng.shuffle(groups)
        for group in groups:
            yield [rows[i] for i in group]

    def _sample(self, document: Document, question: LabelledQuestion, rng: random.Random) -> Example | None:
        example = sample_example(document, question, Sampling(), rng)
        if example is None:
            return None
        shares = (self._settings.elsewhere, self._settings.renamed)
        return self._unanswerable.instead_of(example, document, question, rng, shares)

    def questions(self, batch: Sequence[Row]) -> int:
        """See ``Task.questions``."""
        return sum(max(row.branches) for row in batch)

    def losses(self, batch: Sequence[Row]) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``: the mean cross-entropy of the answers' tokens."""
        ids, branches, positions = (
            sent(pad_sequence([torch.tensor(line) for line in lines], batch_first=True), self.device)
            for lines in zip(*((row.tokens, row.branches, row.positions()) for row in batch), strict=True)
        )  # (rows, tokens) each
        places = torch.tensor([(number, place) for number, row in enumerate(batch) for place in row.answers])
        rows, columns = sent(places, self.device).unbind(1)
        model = self.adapted.model
        # (rows, tokens, width); padding stands behind every token, and none looks ahead.
        bias = attention_bias(branches, pick_dtype(self.device))
        hidden = model.model(
            input_ids=ids, attention_mask=bias, position_ids=positions, use_cache=False
        ).last_hidden_state
        # Each token is told by the state before it; logits of all places would be larger than the model.
        logits = model.lm_head(hidden[rows, columns - 1])  # (answers' tokens, vocabulary)
        return {"write": cross_entropy(logits.float(), ids[rows, columns])}

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``."""
        reader = WriteReader(self.adapted.model, self._tokenizer, longest=self._settings.longest)
        with (
            autocast(self.device),
            # Compiled once more for each of the forms that writing has, training would run out of such.
            torch.compiler.set_stance("force_eager"),
        ):
            return writing_scores(reader, self._held_out)

    def weights(self) -> Weights:
        """The adapters."""
        return Weights(self.base, self.adapted.tensors())


def beside_each_other(
    questions: Sequence[tuple[Document, LabelledQuestion]], most: int = SHARING
) -> list[tuple[Document, LabelledQuestion]]:
    """The questions in an order where those about the same place follow one another, ``most`` at most.

    Groups come in the order of their first questions. A question that is seen again is in another group.
    """
    times: Counter[tuple[str, str]] = Counter()
    groups: list[list[tuple[Document, LabelledQuestion]]] = []
    open_groups: dict[tuple[str, int, tuple[int, ...]], int] = {}
    for document, question in questions:
        passes = times[document.name, question.text]
        times[document.name, question.text] += 1
        right = (n for n, place in enumerate(document.passages) if overlaps(place, question.gold))
        key = (document.name, passes, tuple(right))
        if key not in open_groups or len(groups[open_groups[key]]) == most:
            open_groups[key] = len(groups)
            groups.append([])
        groups[open_groups[key]].append((document, question))
    return [one for group in groups for one in group]


def train(run: Invocation, settings: WriterSettings, *, start: Start = None) -> Trained:
    """See ``storyqa train write``."""
    begun = None
    if start is not None:
        begun = load_weights(start / WEIGHTS, known=LANGUAGE_MODELS)
        settings = replace(settings, start=file_hash(start / WEIGHTS))
    task = WriterTask(settings, run.corpus(), begun)
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
