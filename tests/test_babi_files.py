"""bAbI's files: what is read of them, what is written, and what is said of a line that is malformed."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.benchmarks.babi import load
from evaluation.benchmarks.files import DataError
from evaluation.worlds.stories import TASKS, Asked, Story, read_stories, task_numbers, write_stories

TOLD = (
    Story(
        ("Nell went to the mill.", "Nell took the lamp there.", "Hob moved to the barn."),
        (
            Asked("Where is Nell?", ("mill",), (0,), 2),
            Asked("Where is the lamp?", ("mill",), (1, 0), 3),
        ),
    ),
    Story(("Hob went to the loft.",), (Asked("Where is Hob?", ("loft",), (0,), 1),)),
)


@pytest.mark.parametrize("task", TASKS)
def test_what_is_written_is_read_again(task: int, tmp_path: Path) -> None:
    path = tmp_path / f"qa{task}_any-name_train.txt"
    path.write_text(write_stories(TOLD, task), "utf-8")
    assert tuple(read_stories(path)) == TOLD


def test_lines_are_numbered_with_the_questions_and_begin_again_with_each_story() -> None:
    assert write_stories(TOLD, 2).splitlines() == [
        "1 Nell went to the mill.",
        "2 Nell took the lamp there.",
        "3 Where is Nell? \tmill\t1",
        "4 Hob moved to the barn.",
        "5 Where is the lamp? \tmill\t2 1",
        "1 Hob went to the loft.",
        "2 Where is Hob? \tloft\t1",
    ]


def test_each_question_is_read_with_the_facts_told_before_it(tmp_path: Path) -> None:
    (tmp_path / "qa2_two_test.txt").write_text(write_stories(TOLD, 2), "utf-8")
    benchmark = load(tmp_path)
    first, second, third = benchmark.questions
    text = benchmark.books[second.book]().text
    assert [text[a:b] for a, b in second.given] == list(TOLD[0].facts)
    assert [text[a:b] for a, b in second.gold] == ["Nell took the lamp there.", "Nell went to the mill."]
    assert len(first.given) == 2
    assert (third.text, third.answers, third.kind) == ("Where is Hob?", ("loft",), "2")


@pytest.mark.parametrize(
    ("task", "right"), [(8, ("lamp,rope", "rope,lamp")), (19, ("lamp,rope",))], ids=["a set", "a path"]
)
def test_several_words_are_right_in_any_order_where_they_are_a_set(
    task: int, right: tuple[str, ...], tmp_path: Path
) -> None:
    told = Story(("Nell took the lamp.",), (Asked("What is Nell carrying?", ("lamp", "rope"), (0,), 1),))
    (tmp_path / f"qa{task}_x_test.txt").write_text(write_stories([told], task), "utf-8")
    assert load(tmp_path, setting=str(task)).questions[0].answers == right


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Nell went to the mill.\n", 1, "wanted ID text"),
        ("1 Nell went to the mill.\n3 Hob went to the barn.\n", 2, "ID 3 after 1"),
        ("1 Nell went to the mill.\n2 Where is Nell?\tmill\n", 2, "2 cells"),
        ("1 Nell went to the mill.\n2 Where is Nell?\t\t1\n", 2, "3 cells"),
        ("1 Nell went to the mill.\n2 Where is Nell?\tmill\t2\n", 2, "support '2'"),
        ("1 Nell went to the mill.\n2 Where is Nell?\tmill\tone\n", 2, "support 'one'"),
    ],
)
def test_a_malformed_line_is_named(text: str, line: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "qa1_x_test.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=rf"qa1_x_test\.txt, line {line}: .*{said}"):
        read_stories(path)


def test_other_bytes_and_a_folder_without_files_are_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no qaN_\*test\.txt"):
        load(tmp_path)
    (tmp_path / "qa1_x_test.txt").write_bytes(b"1 \xff\n")
    with pytest.raises(DataError, match="cannot be read"):
        load(tmp_path)


def test_of_the_publishers_archive_the_folders_that_have_the_split_are_named(tmp_path: Path) -> None:
    for name, split in (("en", "test"), ("hn", "test"), ("en-valid", "valid")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"qa1_any-name_{split}.txt").write_text(write_stories(TOLD, 1), "utf-8")
    with pytest.raises(DataError, match=r"has no qaN_\*test\.txt; its folders en, hn have; expected"):
        load(tmp_path)


def test_tasks_are_named_by_numbers_and_ranges() -> None:
    assert task_numbers("1-20") == list(TASKS)
    assert task_numbers("7-9, 3,1") == [1, 3, 7, 8, 9]


@pytest.mark.parametrize("text", ["", "0", "21", "3-1", "two", "1,,2", "-4"])
def test_other_tasks_are_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"wanted numbers|choose from 1 to 20"):
        task_numbers(text)
