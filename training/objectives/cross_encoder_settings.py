"""The settings of the cross-encoder's three objectives: everything together, relevance, the decoder alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from encoders.backbone import MINILM, MPNET
from training.objectives.options import LEAST_RATE, Everyday, Novels, Rank, Seed

Fairytales = Annotated[int, typer.Option(min=0, help="Passes over FairytaleQA.")]
Summaries = Annotated[int, typer.Option(min=0, help="Passes over NarrativeQA's summaries.")]
Stories = Annotated[int, typer.Option(min=0, help="Passes over NarrativeQA's full stories.")]
Articles = Annotated[
    int, typer.Option(min=0, help="How many questions of SQuAD to see, the first ones again after the last.")
]
Mctest = Annotated[int, typer.Option(min=0, help="Passes over MCTest.")]
Clozes = Annotated[int, typer.Option(min=0, help="How many clozes of --cloze to see before all else.")]
Rate = Annotated[float, typer.Option(min=LEAST_RATE, help="The highest learning rate.")]
Unlabelled = Annotated[
    float,
    typer.Option(
        min=0, max=1, help="Beside --teacher: the share of questions asked of passages that nobody labelled."
    ),
]
Reworded = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="Beside --teacher: the share of questions asked in other words, some replaced by near ones.",
    ),
]
Searched = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="The share of questions about fairy tales and full stories that are shown beside what is found "
        "for them in all tales as one book, or in the story.",
    ),
]
MarkedAlone = Annotated[
    bool,
    typer.Option(
        "--marked-alone",
        help="Beside --teacher: do not ask it about questions whose answers the data set marks, as SQuAD "
        "does: two of them are seen in the time of one.",
    ),
]
GenerateWeight = Annotated[
    float,
    typer.Option(min=0, help="How much the loss of written answers counts; 0 trains no decoder."),
]
Examples = Annotated[int | None, typer.Option(min=1, help="End after so many questions; by default all.")]
Copies = Annotated[bool, typer.Option(help="The decoder may copy, or only generate.")]


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """Beside which backbone a run trains, and which questions it sees.

    ``fairytales``, ``summaries``, ``stories``, ``novels`` and ``everyday`` say how often a question of each
    kind is seen, ``articles`` how many of SQuAD's are, and ``clozes`` how many clozes come before them all;
    of ``elsewhere`` and ``renamed`` shares of them the question is asked of another document, or a name in it
    replaced.
    """

    seed: Seed = 13
    backbone: str = MINILM.name
    fairytales: Fairytales = 1
    summaries: Summaries = 1
    stories: Stories = 1
    articles: Articles = 2_500
    novels: Novels = 0
    everyday: Everyday = 0
    mctest: Mctest = 1
    clozes: Clozes = 0
    elsewhere: float = 0.0
    renamed: float = 0.0


@dataclass(frozen=True, slots=True)
class CrossEncoderSettings(QuestionSettings):
    """What a run depends on, beside its data.

    The weights are those of the losses, 0 leaves one out. ``rank`` is that of adapters beside the
    encoder's layers, 0 trains the layers themselves, and ``frozen`` none of the encoder. ``start`` is the
    SHA-256 of the weights that the run began with, ``teacher`` that of those it learns from besides, by the
    same weights of losses; ``unlabelled`` is the share of questions beside passages that only the teacher
    knows the answers in, ``reworded`` that of questions in other words (``Rewording``), and ``searched`` that
    of questions about tales and stories beside what ``SearchedBooks`` finds for them. With
    ``marked_alone`` the teacher is not asked about questions whose answers the data set marks.
    ``bridge`` trains nothing but a map from the encoder's states to those that the decoder knows.
    ``examples`` ends the run after so many.
    """

    unlabelled: Unlabelled = 0.0
    reworded: Reworded = 0.0
    searched: Searched = 0.0
    marked_alone: MarkedAlone = False
    rate: Rate = 6e-5
    decoder_rate: float = 4e-4
    rank: Rank = 0
    frozen: bool = False
    batch_tokens: int = 3_000
    span_weight: float = 1.0
    relevance_weight: float = 0.5
    generate_weight: GenerateWeight = 0.3
    distractors: Annotated[bool, typer.Option(help="Show passages that do not answer, too.")] = True
    marginal: Annotated[bool, typer.Option(help="All spans that come close are right, or one.")] = True
    copies: Copies = True
    bridge: bool = False
    start: str | None = None
    teacher: str | None = None
    examples: Examples = None
    chunk: int = 256


@dataclass(frozen=True, slots=True)
class RerankSettings(CrossEncoderSettings):
    """Relevance alone, of passages: a summary has but one."""

    rank: Rank = 16
    summaries: int = 0
    span_weight: float = 0.0
    relevance_weight: float = 1.0
    generate_weight: float = 0.0
    distractors: bool = True
    marginal: bool = True
    copies: bool = True


@dataclass(frozen=True, slots=True)
class GenerateSettings(CrossEncoderSettings):
    """The decoder alone, on an encoder that stays as it is."""

    fairytales: Fairytales = 4
    summaries: Summaries = 2
    stories: Stories = 0
    articles: Articles = 5_000
    unlabelled: float = 0.0
    reworded: float = 0.0
    marked_alone: bool = False
    rank: int = 0
    frozen: bool = True
    span_weight: float = 0.0
    relevance_weight: float = 0.0
    generate_weight: float = 1.0
    distractors: bool = True
    marginal: bool = True
    bridge: Annotated[
        bool,
        typer.Option(
            "--bridge",
            help="Beside --start with a large encoder: train a map from its states to those that the shipped "
            "decoder reads, and nothing else.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class LargeSettings(CrossEncoderSettings):
    """Spans and relevance on the large backbone, by adapters that may be shipped.

    Chunks are small: on a CPU 256 of its questions take ten minutes, which a run that is stopped would lose.
    """

    backbone: str = MPNET.name
    fairytales: Fairytales = 2
    summaries: Summaries = 2
    articles: Articles = 22_000
    elsewhere: float = 0.05
    renamed: float = 0.05
    rate: Rate = 3e-4
    rank: Rank = 32
    generate_weight: float = 0.0
    distractors: bool = True
    marginal: bool = True
    copies: bool = True
    chunk: int = 64
