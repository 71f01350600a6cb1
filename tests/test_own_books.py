"""Questions with a blank of one's own books: written down, read back, and asked; and LAMBADA's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmarks import cbt, cnn, lambada, own_books
from evaluation.benchmarks.benchmark import given_reading
from evaluation.benchmarks.files import DataError
from evaluation.sample import sample_story
from indexing.formats.read import read_book
from indexing.sources.locate import find
from readers.cloze import parse_cloze
from service.cli import run
from text.cloze import cloze_tokens

STORY = str(sample_story())


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a store of the tests' own."""
    folder = tmp_path_factory.getbasetemp() / "own-books"
    monkeypatch.setenv("STORYQA_CACHE", str(folder / "cache"))
    monkeypatch.setenv("STORYQA_STORE", str(folder / "store"))
    return folder / "cache"


def text_of_story() -> str:
    [source] = find(STORY)
    return read_book(source).text


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("kind", ["all", "entity"])
def test_json_lines_have_places_in_the_book(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "blanks.jsonl"
    assert run(["cloze", STORY, "--class", kind, "--count", "8", "--out", str(out)]) == 0
    rows, text = lines(out), text_of_story()
    assert len(rows) == (8 if kind == "entity" else 32)
    for row in rows:
        assert [text[start:end] for start, end in row["context_places"]] == row["context"]
        (start, end), (first, last) = row["query_place"], row["answer_place"]
        assert row["context_places"][-1][1] <= start <= first < last <= end
        assert row["answer"] in row["candidates"]
        if kind == "all":
            assert text[first:last] == row["answer"]


def test_nothing_after_the_place_read_is_used(tmp_path: Path) -> None:
    out = tmp_path / "blanks.jsonl"
    assert run(["cloze", STORY, "--before", "30%", "--class", "V", "--out", str(out)]) == 0
    assert max(row["query_place"][1] for row in lines(out)) <= 0.3 * len(text_of_story())


def test_what_was_made_is_told_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "blanks.jsonl"
    command = ["cloze", STORY, "--before", "30%", "--class", "V", "--count", "3", "--out", str(out)]
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    [book] = told.pop("books")
    assert {row["book"] for row in lines(out)} == {book}
    assert told == {"out": str(out), "format": "jsonl", "seed": 0, "questions": 3}


def test_words_written_as_cbt_has_them_are_read_back(tmp_path: Path, cache: Path) -> None:
    out = tmp_path / "V.txt"
    assert run(["cloze", STORY, "--class", "V", "--count", "12", "--format", "cbt", "--out", str(out)]) == 0
    read = cbt.load(out)
    made = own_books.load([STORY], "V", given=True, count=12, cache=cache)
    text = text_of_story()
    for back, question in zip(read.questions, made.questions, strict=True):
        assert back.candidates == tuple(one.replace("’", "'") for one in question.candidates)
        assert back.answers == question.answers
        book = read.books[back.book]().text
        for (start, end), (first, last) in zip(back.given, question.given, strict=True):
            written, original = (
                [one.key for one in cloze_tokens(part)] for part in (book[start:end], text[first:last])
            )
            assert written == original


def test_entities_written_as_cnn_has_them_are_read_back(tmp_path: Path, cache: Path) -> None:
    out = tmp_path / "questions"
    command = ["cloze", STORY, "--class", "entity", "--count", "6", "--format", "question", "--out", str(out)]
    assert run(command) == 0
    read = cnn.load(out)
    made = own_books.load([STORY], "entity", given=True, count=6, cache=cache)
    for back, question in zip(read.questions, made.questions, strict=True):
        assert (back.answers, back.candidates) == (question.answers, question.candidates)
        ours = parse_cloze(given_reading(question, text_of_story()), question.candidates)
        theirs = parse_cloze(given_reading(back, read.books[back.book]().text), back.candidates)
        assert [one.candidate for one in theirs.mentions] == [one.candidate for one in ours.mentions]


FAULTS = {
    "a class that there is not": (["--class", "adverbs"], "unknown class 'adverbs'"),
    "a layout that there is not": (["--format", "xml"], "unknown format 'xml'"),
    "entities as CBT": (["--class", "entity", "--format", "cbt"], "no questions about entities"),
    "words as CNN": (["--format", "question"], "no questions about words"),
    "no question": (["--count", "0"], "count 0; wanted 1 or more"),
    "too little read": (["--before", "1%"], "makes no question"),
    "no such place": (["--before", "half"], "wanted a character offset"),
    "the same book twice": ([STORY], "is named twice"),
    "no such book": (["nowhere.txt"], "unknown book 'nowhere.txt'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_made_is_one_line(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, message = FAULTS[fault]
    assert run(["cloze", STORY, *options, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.shipped
def test_passages_are_found_before_the_blank_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "cloze", "--book", STORY, "--setting", "CN", "--count", "12", "--json"]
    command += ["--reader", "random-rank", "--retriever", "bm25", "--out", str(tmp_path / "run")]
    assert run(command) == 0
    assert json.loads(capsys.readouterr().out)["questions"] == 12
    for row in lines(tmp_path / "run" / "predictions.jsonl"):
        blank = int(row["id"].rpartition(":")[2])
        assert all(end <= blank for _, end in row["passages"])


PASSAGE = "she took the goose to the ferry . `` where is wilm ? '' asked osk . nobody had seen wilm"


def test_lambada_asks_for_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "lambada_test_plain_text.txt").write_text(f"{PASSAGE}\n", "utf-8")
    benchmark = lambada.load(tmp_path)
    [question] = benchmark.questions
    text = benchmark.books[question.book]().text
    assert (question.text, question.answers) == ("nobody had seen XXXXX", ("wilm",))
    assert [text[start:end] for start, end in question.given] == [
        "she took the goose to the ferry .",
        "`` where is wilm ? ''",
        "asked osk .",
    ]


def test_a_passage_of_one_sentence_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "lambada_test_plain_text.txt").write_text(f"{PASSAGE}\nonly this\n", "utf-8")
    with pytest.raises(DataError, match=r"plain_text\.txt, line 2: found one sentence, 'only this'"):
        lambada.load(tmp_path)
