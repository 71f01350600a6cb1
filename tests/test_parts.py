"""Parts of a split: the halves of NarrativeQA valid, and what is held out of the training data."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import folktales
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.benchmarks import everyday, fairytaleqa, narrativeqa
from evaluation.benchmarks.benchmark import Benchmark
from evaluation.benchmarks.files import DataError
from evaluation.benchmarks.holdout import FAIRYTALEQA_SHARE, NARRATIVEQA_SHARE, held_out, held_out_list
from evaluation.benchmarks.narrativeqa import half
from evaluation.benchmarks.novels import novels as every_novel
from training.corpora.loading import load_corpus

IDS = [f"{number:02x}" * 20 for number in range(0, 256, 16)]  # eight in each half


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NarrativeQA with sixteen documents, one for each first digit; every other one has its story."""
    folder = folktales.write_narrativeqa(tmp_path_factory.mktemp("narrativeqa"))
    for path in (*folder.glob("*.csv"), folder / "third_party" / "wikipedia" / "summaries.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns, rows = list(reader.fieldnames or ()), list(reader)
        of_one = [row for row in rows if row["document_id"] == folktales.PAIRED]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows({**row, "document_id": id} for id in IDS for row in of_one)
    story = (folder / "tmp" / f"{folktales.PAIRED}.content").read_bytes()
    for id in IDS[::2]:
        (folder / "tmp" / f"{id}.content").write_bytes(story)
    return folder


def _stories(benchmark: Benchmark) -> set[str]:
    return {question.story for question in benchmark.questions}


def test_a_half_is_told_by_the_first_digit_of_the_id() -> None:
    assert [half(id) for id in IDS] == ["A"] * 8 + ["B"] * 8
    assert [half(digit + "0" * 39) for digit in "0123456789abcdef"] == ["A"] * 8 + ["B"] * 8


@pytest.mark.parametrize("setting", narrativeqa.SETTINGS)
def test_the_halves_are_apart_and_together_the_split(documents: Path, setting: str) -> None:
    whole = narrativeqa.load(documents, "valid", setting)
    halves = [narrativeqa.load(documents, "valid", setting, half=name) for name in "AB"]
    assert _stories(halves[0]).isdisjoint(_stories(halves[1]))
    assert sorted(q.id for part in halves for q in part.questions) == sorted(q.id for q in whole.questions)
    assert [part.part for part in halves] == ["half A", "half B"]
    for name, part in zip("AB", halves, strict=True):
        assert {half(story) for story in _stories(part)} == {name}
        assert {half(one.story) for one in part.left_out} <= {name}
        assert set(part.books) == set(part.titles) == _stories(part)
        assert part.story_answers() == {s: c for s, c in whole.story_answers().items() if half(s) == name}


def test_questions_are_the_same_in_a_half_and_in_the_whole(documents: Path) -> None:
    whole = {question.id: question for question in narrativeqa.load(documents).questions}
    for name in "AB":
        for question in narrativeqa.load(documents, half=name).questions:
            assert question == whole[question.id]


@pytest.mark.parametrize("setting", narrativeqa.SETTINGS)
def test_held_out_documents_are_of_half_a_and_the_same_in_both_settings(
    documents: Path, setting: str
) -> None:
    part = narrativeqa.load(documents, "valid", setting, held_out=True)
    same = narrativeqa.load(documents, "valid", setting, half="A", held_out=True)
    assert (part.fingerprint(), part.part) == (same.fingerprint(), same.part)
    chosen = held_out([id for id in IDS if half(id) == "A"], NARRATIVEQA_SHARE)
    assert _stories(part) | {one.story for one in part.left_out} == chosen
    assert part.part == "held out"


def test_evaluation_holds_out_what_training_holds_out(documents: Path, tmp_path: Path) -> None:
    tales = folktales.write_many_tales(tmp_path, "train", 20)
    library = load_corpus([tales, documents])
    trained_on = {work.name for work in library.train}
    parts = {
        "fairytales": fairytaleqa.load(tales, "train", "collection", held_out=True),
        "summaries": narrativeqa.load(documents, "valid", "summaries", held_out=True),
        "stories": narrativeqa.load(documents, "valid", "stories", held_out=True),
    }
    for kind, part in parts.items():
        assert _stories(part) == {work.name for work in library.held_out if work.kind == kind}
        assert _stories(part).isdisjoint(trained_on)
    assert len(_stories(parts["fairytales"])) == 2


def test_the_held_out_collection_is_the_held_out_stories_as_one_book(tmp_path: Path) -> None:
    tales = folktales.write_many_tales(tmp_path, "train", 20)
    stories = fairytaleqa.load(tales, "train", "stories", held_out=True)
    whole = fairytaleqa.load(tales, "train", "collection", held_out=True)
    [book] = [load() for load in whole.books.values()]
    assert book.text == "\n\n".join(load().text for load in stories.books.values())
    assert len(_stories(whole)) == round(FAIRYTALEQA_SHARE * 20)
    for question in whole.questions:
        for start, end in question.gold:
            assert book.text[start:end] in (*folktales.GOOSE, *folktales.FERRY)
    assert not {book.id} & set(fairytaleqa.load(tales, "train", "collection").books)


@given(st.sets(st.text(min_size=1, max_size=8), max_size=60), st.floats(0, 1), st.floats(0, 1))
def test_a_share_is_held_out_and_a_smaller_one_is_part_of_it(
    stories: set[str], first: float, second: float
) -> None:
    small, large = sorted((first, second))
    assert len(held_out(stories, small)) == round(small * len(stories))
    assert held_out(stories, small) <= held_out(stories, large) <= stories
    assert held_out(sorted(stories, reverse=True), large) == held_out(stories, large)


def test_what_is_held_out_is_so_in_every_process() -> None:
    code = (
        "from evaluation.benchmarks.holdout import held_out; "
        "print(sorted(held_out(list(map(str, range(50))), 0.2)))"
    )
    root = Path(__file__).parents[1]
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    drawn = ["11", "2", "24", "27", "30", "34", "38", "39", "41", "49"]  # as ever: models were trained so
    assert sorted(held_out(list(map(str, range(50))), 0.2)) == drawn
    assert printed == {f"{drawn}\n"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"half": "C"}, "unknown half 'C'; NarrativeQA valid has A, B"),
        ({"half": "B", "held_out": True}, "documents are held out of half A alone"),
    ],
)
def test_a_part_that_valid_does_not_have_is_refused(
    documents: Path, options: dict[str, str | bool], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        narrativeqa.load(documents, "valid", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"half": "A"}, {"held_out": True}])
def test_another_split_of_narrativeqa_has_no_parts(tmp_path: Path, options: dict[str, str | bool]) -> None:
    folktales.write_narrativeqa(tmp_path)
    path = tmp_path / "qaps.csv"
    path.write_text(path.read_text("utf-8").replace(",valid,", ",test,"), "utf-8")
    assert narrativeqa.load(tmp_path, "test").questions
    with pytest.raises(
        DataError, match="NarrativeQA valid alone has halves and held-out documents, not 'test'"
    ):
        narrativeqa.load(tmp_path, "test", **options)  # type: ignore[arg-type]


def test_val_of_fairytaleqa_holds_nothing_out(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="held out of FairytaleQA train alone, not of 'val'"):
        fairytaleqa.load(folktales.write_fairytaleqa(tmp_path), "val", held_out=True)


def test_data_too_little_to_hold_anything_out_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too little: no held-out story"):
        fairytaleqa.load(folktales.write_fairytaleqa(tmp_path / "f", "train"), "train", held_out=True)
    (tmp_path / "n").mkdir()
    with pytest.raises(DataError, match="too little: no held-out document"):
        narrativeqa.load(folktales.write_narrativeqa(tmp_path / "n"), held_out=True)


@pytest.mark.data
def test_the_halves_of_the_published_valid_split(data_folder: Path) -> None:
    folder = data_folder / "narrativeqa"
    halves = [narrativeqa.load(folder, half=name) for name in "AB"]
    assert sum(len(part.titles) for part in halves) == 115
    assert sum(len(part.questions) for part in halves) == 3461
    part = narrativeqa.load(folder, held_out=True)
    assert len(part.titles) == round(NARRATIVEQA_SHARE * len(halves[0].titles))


def test_the_list_of_held_out_stories_is_what_is_held_out_wherever_one_is() -> None:
    listed = held_out_list()
    assert len(listed) == 33
    assert held_out([*listed, "another"], 0.5) == listed
    few = sorted(listed)[:3]
    assert held_out([*few, *map(str, range(40))], 0.5) == frozenset(few)


@pytest.mark.data
def test_every_story_on_the_list_is_in_the_published_data(data_folder: Path) -> None:
    tales = fairytaleqa.load(data_folder / "fairytaleqa", "train", "stories", held_out=True)
    documents = narrativeqa.load(data_folder / "narrativeqa", held_out=True)
    novels = {novel.name for novel in every_novel() if novel.held_out}
    kinds = {question.kind for question in everyday.load(held_out=True).questions}
    assert _stories(tales) | _stories(documents) | novels | kinds == held_out_list()
