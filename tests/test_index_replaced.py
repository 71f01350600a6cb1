"""A run whose index another one replaces says so, whatever it measures, and gives no figure of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import shelf

from answering.configuration import Configuration
from evaluation import book_facts, unanswerable
from evaluation.benchmarks.benchmark import Benchmark, Question
from evaluation.benchmarks.narrativeqa import read_story
from evaluation.natural import NaturalQuestion, measuring
from evaluation.natural.judging import Key, parse_rule
from evaluation.run import Progress, evaluate
from evaluation.run_options import Options
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from text.errors import StoryQAError

BOOK = "0" * 40
ASKED = "Who kept the lighthouse at Quill Point for thirty years?"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / f"{BOOK}.content").write_text(shelf.LANTERN, "utf-8")
    row = (BOOK, "The Lamp", "Odo Marsh", "1901", "Quill Point", "Ines;Tobias")
    lines = [",".join(one) for one in (book_facts.COLUMNS, row)]
    (tmp_path / "book_facts.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


def benchmark(data: Path) -> Benchmark:
    story = partial(read_story, data / "tmp" / f"{BOOK}.content", BOOK)
    question = Question("lamp-1", BOOK, ASKED, ("Ines",), BOOK)
    return Benchmark("tales", "val", "stories", (question,), {BOOK: story}, {BOOK: BOOK})


def of_the_benchmark(data: Path, progress: Progress) -> Any:
    store = IndexStore(data / "store")
    return evaluate(benchmark(data), Options("bm25", "overlap"), data / "out", store, progress=progress)


def without_answers(data: Path, progress: Progress) -> Any:
    configuration = Configuration(data / "store", data)
    return unanswerable.measure(benchmark(data), configuration, "bm25", "overlap", 2, None, 0, progress)


def natural(data: Path, progress: Progress) -> Any:
    key = Key(right=(parse_rule("ines"),), partly=(), wrong_if=(), longest=40, answerable=True)
    asked = NaturalQuestion("lamp-01", BOOK, "The Lamp", "choose", "who", ASKED, key, ((0, 5),))
    return measuring.measure(
        [asked], data, Configuration(data / "store", data), "bm25", "overlap", 2, progress
    )


def facts(data: Path, progress: Progress) -> Any:
    models = ("bm25", "overlap", "overlap")
    return book_facts.measure(
        data, data, Configuration(data / "store", data / "cache"), models, None, progress
    )


@pytest.mark.parametrize("measure", [of_the_benchmark, without_answers, natural, facts])
def test_an_index_that_another_run_replaces_is_an_error_and_the_next_run_is_right(
    measure: Callable[[Path, Progress], Any], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_CACHE", str(data / "cache"))
    store = IndexStore(data / "store")

    def another_run(what: str, done: int, total: int) -> None:
        if what == "indexing" and done == total:
            build_book(benchmark(data).books[BOOK](), BuildSettings(words=50), store)

    def alone(what: str, done: int, total: int) -> None:
        pass

    with pytest.raises(StoryQAError, match=f"index of {BOOK} in .*store is .*another run.*--store"):
        measure(data, another_run)
    replaced = store.manifest(BOOK).version
    kept = data / "out" / "predictions.jsonl"
    assert not kept.exists() or not kept.read_text("utf-8")
    assert measure(data, alone)
    assert store.manifest(BOOK).version != replaced
