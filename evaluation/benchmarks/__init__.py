"""The data sets: one file each, one line of this table, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from text.registry import Spec, by_name, import_object

if TYPE_CHECKING:
    from evaluation.benchmarks.benchmark import Benchmark


@dataclass(frozen=True, slots=True)
class BenchmarkSpec(Spec):
    """One data set, of which ``storyqa evaluate NAME`` is made; ``does`` says in a sentence what is asked.

    ``where`` is the ``"module:function"`` that makes a ``Benchmark`` of ``data``, a folder or a file, unless
    that comes with storyqa; its other parameters are options of the command, with the help that their
    annotations give. The first of the ``settings``, and of the ``splits`` as published, is the default.
    ``searched`` says that there is a setting in which passages are to be found, ``ranked`` that a story's
    answers are candidates for each of its questions (MRR), ``cloze`` that each question has a blank and
    candidates.
    """

    settings: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    searched: bool = False
    ranked: bool = False
    cloze: bool = False

    @property
    def load(self) -> Callable[..., Benchmark]:
        """The loader itself."""
        load: Callable[..., Benchmark] = import_object(self.where)
        return load


BENCHMARKS: dict[str, BenchmarkSpec] = by_name(
    BenchmarkSpec(
        "narrativeqa",
        "evaluation.benchmarks.narrativeqa:load",
        "NarrativeQA: summaries, or full stories in which passages are found first.",
        "Kočiský et al. 2018",
        settings=("summaries", "stories", "whole-stories"),
        splits=("valid", "test", "train"),
        searched=True,
        ranked=True,
    ),
    BenchmarkSpec(
        "fairytaleqa",
        "evaluation.benchmarks.fairytaleqa:load",
        "FairytaleQA: whole short stories, with the sections that hold each answer.",
        "Xu et al. 2022",
        settings=("sections", "stories", "collection"),
        splits=("val", "test", "train"),
        searched=True,
        ranked=True,
    ),
    BenchmarkSpec(
        "squad",
        "evaluation.benchmarks.squad:load",
        "SQuAD v1.1: a paragraph is given, and the answer stands in it.",
        "Rajpurkar et al. 2016",
        settings=("paragraphs",),
        splits=("dev-v1.1", "train-v1.1"),
    ),
    BenchmarkSpec(
        "domains",
        "evaluation.benchmarks.domains:load",
        "News, reviews, a forum and letters, our own writing: a text is given, and the answer stands in it.",
        settings=("all", "news", "reviews", "forum", "letters"),
        splits=("own",),
    ),
    BenchmarkSpec(
        "everyday",
        "evaluation.benchmarks.everyday:load",
        "Recipes, manuals, minutes and more, our own writing: a text is given, and the answer stands in it.",
        settings=("texts",),
        splits=("own",),
    ),
    BenchmarkSpec(
        "novels",
        "evaluation.benchmarks.novels:load",
        "Whole novels, and natural questions about them of our own, with the places that answer them.",
        settings=("books",),
        splits=("own",),
        searched=True,
    ),
    BenchmarkSpec(
        "mctest",
        "evaluation.benchmarks.mctest:load",
        "MCTest: a short story for children is given, and one of four choices is right.",
        "Richardson et al. 2013",
        settings=("stories",),
        splits=("dev", "train"),
    ),
    BenchmarkSpec(
        "cbt",
        "evaluation.benchmarks.cbt:load",
        "Children's Book Test: which of ten words was blanked, after 20 sentences of a book.",
        "Hill et al. 2016",
        settings=("all", "NE", "CN", "V", "P"),
        splits=("valid", "test", "train"),
        cloze=True,
    ),
    BenchmarkSpec(
        "cnn",
        "evaluation.benchmarks.cnn:load",
        "CNN and Daily Mail: which entity of an article a bullet point leaves out; or of a book, a sentence.",
        "Hermann et al. 2015",
        settings=("articles", "books"),
        splits=("valid", "test", "train"),
        cloze=True,
    ),
    BenchmarkSpec(
        "lambada",
        "evaluation.benchmarks.lambada:load",
        "LAMBADA: the last word of a passage, without candidates.",
        "Paperno et al. 2016",
        settings=("passages",),
        splits=("test", "valid"),
    ),
    BenchmarkSpec(
        "babi",
        "evaluation.benchmarks.babi:load",
        "bAbI: twenty tasks, each of one skill, about short simulated stories.",
        "Weston et al. 2015",
        settings=("all", *map(str, range(1, 21))),
        splits=("test", "valid", "train"),
    ),
    BenchmarkSpec(
        "wikireading",
        "evaluation.benchmarks.wikireading:load",
        "WikiReading: a document is given and a property asked, whose values are all answers.",
        "Hewlett et al. 2016",
        settings=("all", "categorical", "relational", "date"),
        splits=("validation", "test", "train"),
    ),
    BenchmarkSpec(
        "cloze",
        "evaluation.benchmarks.own_books:load",
        "One's own books: a blank is filled from passages found before it; no labels are needed.",
        settings=("all", "NE", "CN", "V", "P", "entity"),
        splits=("own",),
        searched=True,
    ),
)
