"""What the objectives of models trained from nothing have in common: settings, task and export."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol

import torch
import typer

from encoders.batches import batches
from encoders.device import pick_device
from readers.neural.checkpoint import RANKING_SUFFIX, SUFFIX, Checkpoint
from readers.neural.entities import find_entities
from readers.neural.reader import NeuralReader
from readers.neural.vocabulary import Vocabulary
from training.context_sampling import NeuralExample, sample_neural_example
from training.corpora.corpus import Corpus, Document, LabelledQuestion, iter_questions
from training.corpora.squad import ARTICLES
from training.export import Provenance, Trained, summarise_data, write_neural_card
from training.invocation import Invocation
from training.objectives import OBJECTIVES
from training.objectives.options import Seed
from training.trainer import ADAMW, Trainer
from training.validation import neural_scores

SMALLEST = 6  # samples of a batch, however long their contexts
LONGEST = 30  # words of an answer that are learnt

Epochs = Annotated[int, typer.Option(min=1, help="Passes over the data.")]
VocabularySize = Annotated[int, typer.Option(min=0, help="The most frequent words, to be known.")]
Width = Annotated[int, typer.Option(min=1, help="Of the word vectors.")]
Hidden = Annotated[int, typer.Option(min=1, help="Of the LSTMs, in each direction.")]
Articles = Annotated[int, typer.Option(min=0, help="Questions of SQuAD in each pass.")]
Chunks = Annotated[
    int,
    typer.Option(
        min=0,
        help="Learn NarrativeQA's full stories, so many passages nearest to the answer; 0 learns summaries.",
    ),
]
Around = Annotated[
    int,
    typer.Option(min=0, help="Every other time so many words of a fairy tale, not its sections alone."),
]


@dataclass(frozen=True, slots=True)
class NeuralSettings:
    """What a run depends on, beside its data.

    ``words`` are those of the vocabulary, and ``epochs`` the passes over the data, of SQuAD ``articles``
    questions in each, drawn anew. ``chunks`` is how many passages of a full story are read, ``around`` how
    many words of a fairy tale. ``batch`` bounds the padded tokens of a batch; ``chunk`` questions lie
    between two points at which the run can stop. ``SIZES`` are the settings that are dimensions of the
    model, each with the name that its constructor has for it.
    """

    seed: Seed = 13
    epochs: Epochs = 10
    words: VocabularySize = 6_000
    width: Width = 64
    articles: int = 0
    chunks: int = 0
    around: int = 0
    rate: float = 4e-3
    batch: int = 2_048
    chunk: int = 512

    SIZES: ClassVar[Mapping[str, str]] = {"width": "d"}

    def sizes(self) -> dict[str, int]:
        """The keywords that the model is made with."""
        return {keyword: getattr(self, setting) for setting, keyword in self.SIZES.items()}

    def record(self, model: str) -> dict[str, Any]:
        """As checkpoints and cards keep them."""
        others = {name: value for name, value in asdict(self).items() if name not in self.SIZES}
        return {"model": model, "sizes": self.sizes(), **others}


@dataclass(frozen=True, slots=True)
class Sample:
    """An example, what is learnt from it, where a span begins and ends or an answer's words, and its size."""

    example: Any
    target: tuple[int, ...]
    size: int


class NeuralObjective(Protocol):
    """What one model learns from an example, and its loss."""

    @property
    def reader(self) -> type[NeuralReader]:
        """The reader that the model is for."""
        ...

    def sample(self, example: NeuralExample, vocabulary: Vocabulary, rng: random.Random) -> Sample | None:
        """What is learnt from an example, markers drawn anew by ``rng``; None where nothing can be."""
        ...

    def loss(
        self, model: Any, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """The mean loss of a batch, a scalar."""
        ...


def learn_vocabulary(documents: Sequence[Document], words: int) -> Vocabulary:
    """The most frequent words of the documents, their questions and answers; names are markers, not words."""

    def keys() -> Iterator[str]:
        for document in documents:
            entities = find_entities([document.text], random.Random(0))
            asked = (text for question in document.questions for text in (question.text, *question.answers))
            for text in (document.text, *asked):
                yield from (key for key in entities.mark(text) if not key.startswith("@entity"))

    return Vocabulary.learn(keys(), words)


class NeuralTask:
    """A model that begins with random weights (a ``training.trainer.Task``).

    Weights are chosen twice, by ROUGE-L and by MRR (Kočiský et al. 2018, section 5.2), on stories that
    are held out.
    """

    chosen_by: Sequence[str] = ("rouge_l", "mrr")
    optimisation = ADAMW

    def __init__(self, objective: NeuralObjective, settings: NeuralSettings, corpus: Corpus) -> None:
        self.objective = objective
        self.name = objective.reader.name
        self._settings = settings
        self.settings: Mapping[str, Any] = settings.record(self.name)
        self.data = corpus.describe()
        self.fingerprint = corpus.fingerprint()
        self.device = pick_device()
        self.vocabulary = learn_vocabulary(corpus.train, settings.words)
        torch.manual_seed(settings.seed)
        self.model = objective.reader.model(len(self.vocabulary), **settings.sizes()).to(self.device)
        self.model.train()
        self._held_out = corpus.held_out
        self._order = self._draw(corpus.train)
        self.chunks = -(-len(self._order) // settings.chunk)

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(list(self.model.parameters()), self._settings.rate)]

    def _draw(self, documents: Sequence[Document]) -> list[tuple[Document, LabelledQuestion]]:
        """The questions of every epoch, in the order in which they are learnt."""
        rng = random.Random(self._settings.seed)
        told = list(iter_questions([document for document in documents if document.kind != ARTICLES]))
        marked = list(iter_questions([document for document in documents if document.kind == ARTICLES]))
        order: list[tuple[Document, LabelledQuestion]] = []
        for _ in range(self._settings.epochs):
            epoch = told + rng.sample(marked, min(self._settings.articles, len(marked)))
            rng.shuffle(epoch)
            order += epoch
        return order

    def batches(self, chunk: int) -> Iterator[list[Sample]]:
        """See ``Task.batches``."""
        settings = self._settings
        rng = random.Random(f"{settings.seed}/{chunk}")
        first = chunk * settings.chunk
        samples = []
        for document, question in self._order[first : first + settings.chunk]:
            example = sample_neural_example(document, question, settings.chunks, settings.around, rng)
            sample = example and self.objective.sample(example, self.vocabulary, rng)
            if sample:
                samples.append(sample)
        longest = max((sample.size for sample in samples), default=0)
        groups = batches([s.size for s in samples], max(settings.batch, SMALLEST * longest))
        rng.shuffle(groups)
        for group in groups:
            yield [samples[i] for i in group]

    def questions(self, batch: list[Sample]) -> int:
        """See ``Task.questions``."""
        return len(batch)

    def losses(self, batch: list[Sample]) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        # On a CPU bf16 gains nothing in products as small as an LSTM's steps, and what is learnt by heart in
        # fp32 is not in bf16.
        with torch.autocast("cpu", enabled=False):
            return {self.name: self.objective.loss(self.model, self.vocabulary, batch, self.device)}

    def validate(self) -> dict[str, float]:
        """See ``Task.validate``."""
        reader = self.objective.reader(self.weights(""))
        return neural_scores(reader, self._held_out, self._settings.chunks)

    def weights(self, trained_on: str) -> Checkpoint:
        """The model as it is now, for a reader."""
        return Checkpoint(self._settings.sizes(), self.vocabulary, self.model.state_dict(), trained_on)


def train_from_scratch(objective: NeuralObjective, run: Invocation, settings: NeuralSettings) -> Trained:
    """Train the model on the official splits, and write its weights."""
    task = NeuralTask(objective, settings, run.official_corpus(stories=settings.chunks > 0))
    return export(run.train(task, validations=settings.epochs), run.command)


def export(trainer: Trainer[NeuralTask], command: str) -> Trained:
    """Write the weights of the best ROUGE-L, and, where others have the best MRR, those too."""
    name = trainer.task.name
    done = trainer.use_best("rouge_l")
    scores = dict(trainer.scores)
    paths = [_export(trainer, name, f"ROUGE-L on the held-out stories, {done:.0%} into the run", command)]
    other = trainer.use_best("mrr")
    (trainer.out / f"{name}{RANKING_SUFFIX}{SUFFIX}").unlink(missing_ok=True)
    if other != done:
        chosen = f"MRR on the held-out stories, {other:.0%} into the run"
        paths.append(_export(trainer, name + RANKING_SUFFIX, chosen, command))
    return Trained(tuple(paths), trainer.seconds, scores)


def _export(trainer: Trainer[NeuralTask], name: str, chosen: str, command: str) -> Path:
    task = trainer.task
    spec = OBJECTIVES[task.name]
    trained_on = summarise_data(task.data, task.settings["articles"])
    path = task.weights(trained_on).save(trainer.out / f"{name}{SUFFIX}", task.settings)
    parameters = sum(parameter.numel() for parameter in task.model.parameters())
    what = (
        f"{spec.model} {spec.paper}, section {spec.section}.\n"
        f"{parameters:,} parameters, fp16; {len(task.vocabulary.words):,} words, their vectors learnt here."
    )
    write_neural_card(path, what, trained_on, chosen, Provenance.of(trainer, command))
    return path
