"""The Children's Book Test: questions made of books by its rule, and the publisher's own files."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from encoders.tagging import tag
from evaluation.benchmarks.benchmark import Benchmark, Question
from evaluation.benchmarks.cbt import load, running_text
from evaluation.benchmarks.files import DataError
from evaluation.cloze.blanked_words import CLASSES, is_of
from evaluation.sample import sample_story
from indexing.tagged_book import sentences_of
from readers.cloze import parse_cloze
from readers.reading import Reading
from service.cli import run
from text.cloze import find_blank

COUNT = 60  # questions a class
LIST = "file\ttitle\tsplit\nweigher.txt\tThe weigher\tvalid\n"


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with half of the sample story, listed as a valid book."""
    folder = tmp_path_factory.mktemp("books")
    (folder / "weigher.txt").write_text(sample_story().read_text("utf-8")[:30_000], "utf-8")
    (folder / "books.tsv").write_text(LIST, "utf-8")
    return folder


@pytest.fixture(scope="module")
def made(books: Path) -> Benchmark:
    """Sixty questions of each class."""
    return load(books, count=COUNT, cache=books / "cache")


def words_before(benchmark: Benchmark, question: Question) -> list[list[str]]:
    """The words of the sentences that the question's candidates are drawn from."""
    text = benchmark.books[question.book]().text
    return [
        [text[start + a : start + b] for _, words in sentences_of(text[start:end]) for a, b in words]
        for start, end in question.given
    ]


def test_a_book_makes_as_many_questions_of_each_class_as_are_wanted(made: Benchmark) -> None:
    assert Counter(question.kind for question in made.questions) == dict.fromkeys(CLASSES, COUNT)
    assert len({question.id for question in made.questions}) == COUNT * len(CLASSES)


def test_each_question_is_the_sentence_after_twenty_with_a_word_of_it_blanked(made: Benchmark) -> None:
    text = made.books["weigher"]().text
    sentences = [place for place, _ in sentences_of(text)]
    for question in made.questions:
        first = sentences.index(question.given[0])
        start, end = sentences[first + 20]
        answer, at = question.answers[0], int(question.id.rpartition(":")[2])
        assert list(question.given) == sentences[first : first + 20]
        assert text[at : at + len(answer)] == answer
        assert start <= at < end
        assert "".join(question.text.replace("XXXXX", answer).split()) == "".join(text[start:end].split())


def test_candidates_are_ten_sorted_words_of_the_class_in_the_context(made: Benchmark) -> None:
    for question in made.questions[::7]:
        sentences = words_before(made, question)
        # A name that has fewer than nine others beside it takes common nouns.
        kinds = ("NE", "CN") if question.kind == "NE" else (question.kind or "",)
        of_class = {
            one.text
            for words in tag(sentences)
            for one in words
            if any(is_of(kind, one.tag, one.entity) for kind in kinds)
        }
        assert list(question.candidates) == sorted(set(question.candidates))
        assert len(question.candidates) == 10
        assert question.answers[0] in question.candidates
        assert question.answers[0] in {word for words in sentences for word in words}
        assert set(question.candidates) - set(question.answers) <= of_class


def test_every_question_is_a_cloze_whose_context_spells_its_candidates(made: Benchmark) -> None:
    for question in made.questions:
        text = made.books[question.book]().text
        passages = tuple(text[start:end] for start, end in question.given)
        cloze = parse_cloze(Reading(question.text, passages), question.candidates)
        assert find_blank(question.text) is not None
        assert {mention.candidate for mention in cloze.mentions} == set(range(10)), question.candidates


def test_the_same_seed_draws_the_same_questions_kept_or_built_anew(books: Path, made: Benchmark) -> None:
    for cache in ("cache", "other"):
        assert load(books, count=COUNT, cache=books / cache).questions == made.questions
    assert load(books, count=COUNT, seed=1, cache=books / "cache").questions != made.questions


def test_one_class_alone_has_the_questions_it_has_among_all(books: Path, made: Benchmark) -> None:
    verbs = load(books, setting="V", count=COUNT, cache=books / "cache").questions
    assert verbs == tuple(question for question in made.questions if question.kind == "V")


def test_what_is_kept_and_damaged_is_built_again(books: Path, made: Benchmark) -> None:
    for spoil in (lambda text: text[:5000], lambda text: "".join(text.splitlines(True)[:100]), lambda _: ""):
        for kept in (books / "cache" / "cloze").glob("*.jsonl"):
            kept.write_text(spoil(kept.read_text("utf-8")), "utf-8")
        assert load(books, count=COUNT, cache=books / "cache").questions == made.questions


def test_books_still_packed_make_the_same_questions(books: Path, made: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "books.tsv").write_text(LIST, "utf-8")
    with tarfile.open(tmp_path / "books.tar.xz", "w:xz") as archive:
        archive.add(books / "weigher.txt", "weigher.txt")
    assert load(tmp_path, count=COUNT, cache=books / "cache").questions == made.questions


def test_books_that_nothing_lists_are_of_whatever_split_is_asked_for(
    books: Path, made: Benchmark, tmp_path: Path
) -> None:
    (tmp_path / "weigher.txt").write_bytes((books / "weigher.txt").read_bytes())
    assert load(tmp_path, "test", count=COUNT, cache=books / "cache").questions == made.questions


def test_books_that_a_list_leaves_out_are_its_test_books(
    books: Path, made: Benchmark, tmp_path: Path
) -> None:
    (tmp_path / "books.tsv").write_text(LIST, "utf-8")
    text = (books / "weigher.txt").read_bytes()
    (tmp_path / "weigher.txt").write_bytes(text)
    (tmp_path / "other.txt").write_bytes(text[:8000])
    assert list(load(tmp_path, "test", count=5, cache=tmp_path / "cache").titles) == ["other"]
    assert load(tmp_path, count=COUNT, cache=books / "cache").questions == made.questions


@pytest.mark.parametrize("name", ["cbtest_NE_valid_2000ex.txt", "short.txt"])
def test_data_without_a_question_are_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("" if name.startswith("cbtest") else "A goose. It slept.\n", "utf-8")
    with pytest.raises(DataError, match="makes no question of the split 'valid' and the setting 'all'"):
        load(tmp_path, cache=tmp_path / "cache")


def test_two_books_of_one_id_are_named(tmp_path: Path) -> None:
    for name in ("Повесть 1.txt", "Роман 1.txt"):
        (tmp_path / name).write_text("A goose. It slept.\n", "utf-8")
    with pytest.raises(
        DataError, match=r"Повесть 1\.txt and .*Роман 1\.txt have the same id '1'; rename one"
    ):
        load(tmp_path, cache=tmp_path / "cache")


def test_a_list_without_the_split_names_those_it_has(books: Path) -> None:
    with pytest.raises(DataError, match=r"no book of the split 'train'; it has valid"):
        load(books, "train")


def test_the_raw_layout_is_read_by_its_lines_and_spaces(books: Path, tmp_path: Path) -> None:
    text = (books / "weigher.txt").read_text("utf-8")
    lines = [" ".join(text[a:b] for a, b in words) for _, words in sentences_of(text)]
    (tmp_path / "cbt_valid.txt").write_text("_BOOK_TITLE_ : Weigher.txt\n" + "\n".join(lines) + "\n", "utf-8")
    benchmark = load(tmp_path, count=COUNT, cache=tmp_path / "cache")
    assert list(benchmark.titles.values()) == ["Weigher.txt"]
    assert len(benchmark.questions) == COUNT * len(CLASSES)
    for question in benchmark.questions:
        book = benchmark.books[question.book]().text
        first = lines.index(book[slice(*question.given[0])])
        assert [book[start:end] for start, end in question.given] == lines[first : first + 20]
        assert question.text.replace("XXXXX", question.answers[0]) == lines[first + 20]


def test_the_raw_text_of_one_split_is_not_read_as_another(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        (tmp_path / f"cbt_{split}.txt").write_text(f"_BOOK_TITLE_ : {split}.txt\nOsk slept .\n", "utf-8")
    assert [work for work, _ in running_text(tmp_path, "valid")] == ["cbt_valid-1-valid"]
    with pytest.raises(DataError, match="holds no books of the split 'test'"):
        list(running_text(tmp_path, "test"))


OFFICIAL = [f"{n} Wilm rowed boat number {n} past the hill , and Osk saw it ." for n in range(1, 21)]
QUERY = "21 Then XXXXX slept .\tOsk\t\tDorrit|Lune|Osk|Wilm|boat|goose|hill|moon|oar|stove"


def official(folder: Path, *questions: list[str]) -> Path:
    """The folder with these questions in each class's file of valid."""
    text = "".join("\n".join(lines) + "\n\n" for lines in questions)
    for kind in CLASSES:
        (folder / f"cbtest_{kind}_valid_2000ex.txt").write_text(text, "utf-8")
    return folder


def test_the_official_files_are_read_in_their_order(tmp_path: Path) -> None:
    other = QUERY.replace("slept", "woke")
    benchmark = load(official(tmp_path, [*OFFICIAL, QUERY], [*OFFICIAL, other]), setting="NE")
    first, second = benchmark.questions
    assert (first.text, second.text) == ("Then XXXXX slept .", "Then XXXXX woke .")
    assert first.answers == ("Osk",)
    assert first.kind == "NE"
    assert len(first.candidates) == 10
    for question in benchmark.questions:
        text = benchmark.books[question.book]().text
        assert [text[start:end] for start, end in question.given] == [
            line.split(" ", 1)[1] for line in OFFICIAL
        ]


def test_a_line_in_an_official_query_is_not_a_second_blank(tmp_path: Path) -> None:
    lined = QUERY.replace("slept", "met Lady ____ there")
    [question] = load(official(tmp_path, [*OFFICIAL, lined]), setting="NE").questions
    found = find_blank(question.text)
    assert found is not None
    assert question.text[slice(*found)] == "XXXXX"
    assert question.text.startswith("Then XXXXX met Lady _")


def test_the_publishers_archive_is_read_as_it_unpacks(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    official(tmp_path / "data", [*OFFICIAL, QUERY])
    assert load(tmp_path).questions == load(tmp_path / "data").questions
    assert list(running_text(tmp_path, "valid")) == list(running_text(tmp_path / "data", "valid"))


def test_texts_tell_one_data_set_from_another(tmp_path: Path) -> None:
    before = load(official(tmp_path, [*OFFICIAL, QUERY]))
    fingerprint = before.fingerprint()
    assert load(tmp_path).fingerprint() == fingerprint
    after = load(official(tmp_path, [*OFFICIAL[:-1], OFFICIAL[-1].replace("Osk", "Ulf"), QUERY]))
    assert after.questions == before.questions
    assert after.fingerprint() != fingerprint


def test_heat_maps_are_of_the_reader_that_fills_blanks(tmp_path: Path) -> None:
    official(tmp_path, [*OFFICIAL, QUERY])
    command = ["evaluate", "cbt", "--data", str(tmp_path), "--setting", "NE", "--heat-maps", "1"]
    assert run([*command, "--out", str(tmp_path / "out")]) == 0
    assert "Attention of memn2n@self" in (tmp_path / "out" / "attention.html").read_text("utf-8")


def test_all_classes_are_those_whose_files_are_there(tmp_path: Path) -> None:
    official(tmp_path, [*OFFICIAL, QUERY])
    (tmp_path / "cbtest_P_valid_2000ex.txt").unlink()
    assert [question.kind for question in load(tmp_path).questions] == ["NE", "CN", "V"]
    with pytest.raises(DataError, match=r"lacks cbtest_P_valid_2000ex\.txt"):
        load(tmp_path, setting="P")


def test_so_many_official_questions_are_drawn_by_the_seed(tmp_path: Path) -> None:
    asked = [[*OFFICIAL, QUERY.replace("slept", f"slept {n} times")] for n in range(40)]
    official(tmp_path, *asked)
    few = load(tmp_path, setting="V", count=10).questions
    assert few == load(tmp_path, setting="V", count=10).questions
    assert len(few) == 10
    assert set(few) < set(load(tmp_path, setting="V").questions)


def test_a_part_of_the_split_is_not_told_to_be_of_more_stories_than_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    official(tmp_path, *([*OFFICIAL, QUERY.replace("slept", f"slept {n} times")] for n in range(8)))
    command = ["evaluate", "cbt", "--data", str(tmp_path), "--setting", "NE", "--reader", "random-rank"]
    assert run([*command, "--out", str(tmp_path / "out"), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert "these are 8 of the split's 8,000 questions" in notes


@pytest.mark.parametrize("split", ["test", "train"])
def test_a_file_of_one_split_is_not_read_as_another(split: str, tmp_path: Path) -> None:
    path = official(tmp_path, [*OFFICIAL, QUERY]) / "cbtest_NE_valid_2000ex.txt"
    assert load(path).questions[0].kind == "NE"
    with pytest.raises(DataError, match=f"is of the split 'valid', not of '{split}'"):
        load(path, split)
    with pytest.raises(DataError, match=f"is of the split 'valid', not of '{split}'"):
        list(running_text(path, split))


def test_running_text_of_one_official_file_is_its_sentences(tmp_path: Path) -> None:
    path = official(tmp_path, [*OFFICIAL, QUERY]) / "cbtest_NE_valid_2000ex.txt"
    lines = [line.partition(" ")[2] for line in OFFICIAL]
    assert [text for _, text in running_text(path, "valid")] == [*lines, "Then Osk slept ."]


MALFORMED: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "a sentence too few": (
        lambda lines: [*lines[:19], "20" + lines[20][2:]],
        "line 42: found 19 sentences before the query; wanted 20",
    ),
    "a sentence too many": (
        lambda lines: [*lines[:20], "21 And more .", "22" + lines[20][2:]],
        "line 44: found 21 sentences before the query; wanted 20",
    ),
    "a number left out": (
        lambda lines: [*lines[:4], *lines[5:]],
        "line 27: found '6 Wilm rowed boat number 6 past the hill'; wanted sentence 5",
    ),
    "nine candidates": (
        lambda lines: [*lines[:20], lines[20].replace("|moon", "")],
        "line 43: found 9 candidates; wanted 10",
    ),
    "another answer": (
        lambda lines: [*lines[:20], lines[20].replace("\tOsk\t", "\tNobody\t")],
        "line 43: found the answer 'Nobody'; wanted one of the candidates Dorrit",
    ),
    "no blank": (
        lambda lines: [*lines[:20], lines[20].replace("XXXXX", "he")],
        "line 43: found 0 blanks in the query; wanted one XXXXX",
    ),
    "two blanks": (
        lambda lines: [*lines[:20], lines[20].replace("slept", "XXXXX")],
        "line 43: found 2 blanks in the query; wanted one XXXXX",
    ),
}


@pytest.mark.parametrize("fault", MALFORMED)
def test_a_malformed_question_is_named_by_file_and_line(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, message = MALFORMED[fault]
    official(tmp_path, [*OFFICIAL, QUERY], spoil([*OFFICIAL, QUERY]))
    command = ["evaluate", "cbt", "--data", str(tmp_path), "--reader", "random-rank"]
    assert run(command) == 2
    error = capsys.readouterr().err
    assert f"cbtest_NE_valid_2000ex.txt, {message}" in error
    assert error.count("\n") == 1
