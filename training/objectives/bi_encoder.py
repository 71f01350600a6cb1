"""Trains the retriever's encoder: a question beside the windows of the text it was asked about."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import torch
import typer
from torch.nn import functional

from encoders.adapters import Weights, file_hash, load_weights
from encoders.backbone import BACKBONES, MINILM, Backbone, load_tokenizer
from encoders.batches import batches
from encoders.bi_encoder import LONGEST, WEIGHTS, Encoder, load_encoder, mean_pool
from encoders.device import pick_device
from training.adaptation import TrainableBackbone
from training.contrastive_batches import (
    QUESTIONS_OF_A_BOOK,
    ContrastiveBatch,
    batch_of_article,
    batch_of_book,
    batch_of_stories,
    mine_hard_negatives,
    pair_documents,
)
from training.corpora.corpus import Corpus, Document
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.narrativeqa import STORIES
from training.corpora.novels import NOVELS
from training.corpora.squad import ARTICLES
from training.export import Provenance, Trained, require_backbone, save_weights, write_card
from training.invocation import Invocation
from training.objectives.options import LEAST_RATE, Novels, Rank, Seed, Start
from training.trainer import ADAMW, Trainer, autocast
from training.validation import retrieval_scores

ENCODED = 8192  # tokens in one pass of the encoder
Teach = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="An encoder that is learnt from besides: large, or the folder of a run of train dense.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class BiEncoderSettings:
    """What a run depends on, beside its data.

    ``rank`` is that of the adapters, 0 for training whole layers; ``articles`` is how many batches are
    of SQuAD's articles. A question is drawn to the windows that answer it with ``temperature``.
    """

    seed: Seed = 13
    rank: Rank = 16
    rate: Annotated[float, typer.Option(min=LEAST_RATE, help="The learning rate.")] = 4e-4
    passes: Annotated[int, typer.Option(min=0, help="Passes over FairytaleQA.")] = 2
    articles: Annotated[int, typer.Option(min=0, help="Batches of SQuAD's articles.")] = 80
    book_passes: int = 1
    mined: Annotated[bool, typer.Option(help="Beside each story one that BM25 takes for it.")] = True
    temperature: float = 0.05
    chunk: int = 8
    backbone: Annotated[
        Literal["minilm", "mpnet"] | None,
        typer.Option(help="What is trained: the small backbone or the large one.", show_default=MINILM.name),
    ] = None  # the small one, as in runs that are older than the choice
    teacher: str | None = None  # the ``hash`` of the encoder that is learnt from, if one is
    novels: Novels = 0
    start: str | None = None  # the SHA-256 of the weights that the run began with, if any


def contrastive_loss(similarity: torch.Tensor, right: torch.Tensor, temperature: float) -> torch.Tensor:
    """Mean over questions of -log sum over right windows of softmax(similarity / temperature).

    ``similarity`` and the mask ``right`` have shape (questions, windows). All other windows are
    negatives (in-batch softmax: Karpukhin et al. 2020, equation 2), and which of a passage's
    windows answers is left open: the marginal over all of them.
    """
    scaled = similarity.float() / temperature
    marginal = scaled.masked_fill(~right, -1e9).logsumexp(1)
    return (scaled.logsumexp(1) - marginal).mean()


def taught_loss(similarity: torch.Tensor, taught: torch.Tensor, temperature: float) -> torch.Tensor:
    """Mean over questions of KL(teacher || student), both softmax(similarity / temperature) over windows.

    Both similarities have shape (questions, windows) (Hinton et al. 2015, in a batch's softmax).
    """
    found = torch.log_softmax(similarity.float() / temperature, 1)
    wanted = torch.log_softmax(taught.float() / temperature, 1)
    return functional.kl_div(found, wanted, reduction="batchmean", log_target=True)


class BiEncoderTask:
    """Fine-tunes the encoder on a corpus (a ``training.trainer.Task``)."""

    chosen_by: Sequence[str] = ()
    optimisation = ADAMW

    def __init__(
        self,
        settings: BiEncoderSettings,
        corpus: Corpus,
        teacher: Encoder | None = None,
        start: Weights | None = None,
    ) -> None:
        """``teacher`` is an encoder that is learnt from, beside what answers, ``start`` what to begin with.

        Raises ModelError where those are not what the run trains.
        """
        self._settings = settings
        self._teacher = teacher
        self._taught: dict[str, np.ndarray] = {}  # the teacher's vectors: each text is in several batches
        self.settings: Mapping[str, Any] = asdict(settings)
        self.data = corpus.describe()
        self.fingerprint = corpus.fingerprint()
        self.device = pick_device()
        torch.manual_seed(settings.seed)
        self.base: Backbone = BACKBONES[settings.backbone or MINILM.name]
        self._tokenizer = load_tokenizer(self.base)
        self.backbone = TrainableBackbone(self.base, settings.rank)
        if start is not None:
            require_backbone(start, self.base)
            self.backbone.begin_with(start.tensors)
        self.backbone.model.to(self.device)
        self._held_out = [document for document in corpus.held_out if document.kind == FAIRYTALES]
        self._drawn = self._draw(corpus)
        self.chunks = -(-len(self._drawn) // settings.chunk)

    def groups(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        """See ``Task.groups``."""
        return [(self.backbone.parameters(), self._settings.rate)]

    def _draw(self, corpus: Corpus) -> list[tuple[tuple[Document, ...], int]]:
        """The documents of every batch, and a seed for what is drawn from them."""
        rng = random.Random(self._settings.seed)
        tales, articles, books, novels = (corpus.of(kind) for kind in (FAIRYTALES, ARTICLES, STORIES, NOVELS))
        rivals = mine_hard_negatives(tales) if self._settings.mined and len(tales) > 1 else {}
        order: list[tuple[Document, ...]] = []
        for _ in range(self._settings.passes):
            order += pair_documents(tales, rivals, rng)
        for _ in range(self._settings.articles if articles else 0):
            order.append((rng.choice(articles),))
        for book in books * self._settings.book_passes + novels * self._settings.novels:
            order += [(book,)] * -(-len(book.questions) // QUESTIONS_OF_A_BOOK)
        rng.shuffle(order)
        return [(documents, rng.randrange(2**32)) for documents in order]

    def batches(self, chunk: int) -> Iterator[ContrastiveBatch]:
        """See ``Task.batches``."""
        first = chunk * self._settings.chunk
        for documents, seed in self._drawn[first : first + self._settings.chunk]:
            rng = random.Random(seed)
            kind = documents[0].kind
            if kind == FAIRYTALES:
                batch = batch_of_stories(documents)
            else:
                batch = (batch_of_article if kind == ARTICLES else batch_of_book)(documents[0], rng)
            if batch.questions:
                yield batch

    def questions(self, batch: ContrastiveBatch) -> int:
        """See ``Task.questions``."""
        return len(batch.questions)

    def losses(self, batch: ContrastiveBatch) -> Mapping[str, torch.Tensor]:
        """See ``Task.losses``."""
        vectors = self._encode([*batch.questions, *batch.windows])
        asked = len(batch.questions)
        similarity = vectors[:asked] @ vectors[asked:].T
        right = torch.zeros(similarity.shape, dtype=torch.bool, device=self.device)
        for row, windows in enumerate(batch.right):
            right[row, list(windows)] = True
        temperature = self._settings.temperature
        found = {"contrastive": contrastive_loss(similarity, right, temperature)}
        if self._teacher is not None:
            asking, holding = (self._told(texts) for texts in (batch.questions, batch.windows))
            found["taught"] = taught_loss(similarity, asking @ holding.T, temperature)
        return found

    def _told(self, texts: Sequence[str]) -> torch.Tensor:
        """The teacher's vectors of the texts, in order."""
        assert self._teacher is not None
        new = [text for text in dict.fromkeys(texts) if text not in self._taught]
        # Its encoder reads in the numbers in which it answers, whatever the student learns in.
        with torch.autocast(self.device.type, enabled=False):
            self._taught.update(zip(new, self._teacher.encode(new).astype(np.float16), strict=True))
        vectors = np.stack([self._taught[text] for text in texts])
        return torch.from_numpy(vectors).to(self.device).float()

    def _encode(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors of shape (texts, width), in order."""
        ids = [
            e.ids if len(e.ids) <= LONGEST else [*e.ids[: LONGEST - 1], e.ids[-1]]
            for e in self._tokenizer.encode_batch(list(texts))
        ]
        rows: list[torch.Tensor | None] = [None] * len(ids)
        for batch in batches([len(i) for i in ids], ENCODED):
            inputs = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor(ids[i]) for i in batch], batch_first=True, padding_value=self.base.pad
            )
            lengths = torch.tensor([len(ids[i]) for i in batch])
            mask = (torch.arange(inputs.shape[1]) < lengths[:, None]).long()
            inputs, mask = inputs.to(self.device), mask.to(self.device)
            for i, vector in zip(batch, mean_pool(self.backbone.model, inputs, mask), strict=True):
                rows[i] = vector
        return torch.stack([row for row in rows if row is not None])

    def validate(self) -> dict[str, float]:
        """Recall at 1 and 5, and MRR, over the passages of all held-out stories together."""
        if not self._held_out:
            return {}
        return retrieval_scores(self._held_out, self._vectors)

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        found = []
        with torch.inference_mode(), autocast(self.device):
            for first in range(0, len(texts), 256):
                found.append(self._encode(texts[first : first + 256]).float().cpu().numpy())
        return np.concatenate(found)

    def tensors(self) -> dict[str, torch.Tensor]:
        """The weights of the encoder, as ``encoders.adapters.overlay`` reads them."""
        return self.backbone.tensors()


def train(
    run: Invocation, settings: BiEncoderSettings, *, teacher: Teach = None, start: Start = None
) -> Trained:
    """See ``storyqa train dense``."""
    encoder = None if teacher is None else load_encoder(teacher)
    settings = replace(settings, teacher=encoder.hash if encoder else None)
    began = None
    if start is not None:
        began = load_weights(start / WEIGHTS)
        settings = replace(settings, start=file_hash(start / WEIGHTS))
    return export(run.train(BiEncoderTask(settings, run.corpus(), encoder, began)), run.command)


def export(trainer: Trainer[BiEncoderTask], command: str) -> Trained:
    """Write the encoder of the dense retriever and its card."""
    task = trainer.task
    base = f"`{task.base.name}` ({task.base.title})"
    what = (
        f"The encoder of the dense retriever: {base} with low-rank adapters of every "
        "linear map, to be added to its weights."
        if task.backbone.rank
        else f"The encoder of the dense retriever: the layers of {base}, trained."
    )
    path = save_weights(Weights(task.base, task.tensors()), trainer.out / WEIGHTS, task.settings)
    write_card(path, task.base, what, Provenance.of(trainer, command))
    return Trained((path,), trainer.seconds, trainer.scores)
