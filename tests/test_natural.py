"""The natural questions are well formed and stand where they say, and answers are judged as the rules say."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmarks.files import DataError
from evaluation.benchmarks.narrativeqa import read_story
from evaluation.natural import HALVES, KINDS, NaturalQuestion, natural_questions, read_questions
from evaluation.natural.judging import Key, answer_words, describe, first_holding, judge, parse_rule

QUESTIONS = natural_questions()
ANSWERABLE = [question for question in QUESTIONS if question.answerable]
# Kinds whose answers are names, places, dates and numbers: some accepted string stands in the text itself.
SHORT = ("who", "where", "when", "how many", "what", "other")
NEAR = 300  # characters around a place
# Three cats that the text names one by one, and a fraud that it leaves the reader to name.
IN_OTHER_WORDS = {"anne-05", "grassou-03"}
ROW: dict[str, Any] = {
    "id": "whale-01",
    "book": "0" * 40,
    "title": "The Whale",
    "half": "choose",
    "kind": "who",
    "question": "who sank the ship?",
    "answerable": True,
    "right": ["whale"],
    "places": [[3, 9]],
}


def name(question: NaturalQuestion) -> str:
    return question.id


def key(
    right: list[Any],
    partly: tuple[Any, ...] = (),
    wrong_if: tuple[Any, ...] = (),
    answerable: bool = True,
    longest: int = 40,
) -> Key:
    rules, some, against = (tuple(map(parse_rule, values)) for values in (right, partly, wrong_if))
    return Key(answerable, rules, some, against, longest)


def test_there_are_75_questions_of_each_half_about_five_books_each() -> None:
    assert Counter(question.half for question in QUESTIONS) == {"choose": 75, "figure": 75}
    for half in HALVES:
        questions = natural_questions(half)
        assert {question.half for question in questions} == {half}
        assert sorted(Counter(question.book for question in questions).values()) == [15] * 5


def test_every_kind_is_there_in_both_halves() -> None:
    for half in HALVES:
        assert {question.kind for question in natural_questions(half)} == set(KINDS)


def test_a_fifth_of_each_half_is_not_answerable() -> None:
    for half in HALVES:
        questions = natural_questions(half)
        share = sum(not question.answerable for question in questions) / len(questions)
        assert 0.18 <= share <= 0.22


def test_no_two_questions_have_one_id_or_wording() -> None:
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question.question.lower() for question in QUESTIONS}) == len(QUESTIONS)


def test_yes_is_right_about_as_often_as_no() -> None:
    yes = [
        judge(question.key, "Yes").verdict == "right" for question in QUESTIONS if question.kind == "yes/no"
    ]
    assert abs(2 * sum(yes) - len(yes)) <= 1


def test_an_unknown_half_is_refused() -> None:
    with pytest.raises(DataError, match=r"unknown half 'rest'.*choose, figure"):
        natural_questions("rest")


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"answer": "the whale"}, "unknown"),
        ({"id": "Whale 1"}, "is no id"),
        ({"book": "whale"}, "is no document of NarrativeQA"),
        ({"kind": "whose"}, "unknown kind 'whose'; choose from who, where"),
        ({"half": "rest"}, "unknown half 'rest'; choose from choose, figure"),
        ({"question": " "}, "empty"),
        ({"answerable": "yes"}, "answerable is 'yes'; wanted bool"),
        ({"right": []}, "wants strings that are right"),
        ({"right": "whale"}, "right is 'whale'; wanted a list"),
        ({"right": [3]}, "3 is no rule"),
        ({"right": ["the|whale"]}, "'the' of 'the|whale' has no words"),
        ({"right": [{"at_least": 3, "of": ["a whale", "a shark"]}]}, "3 of 2 rules are wanted"),
        ({"right": [{"at_least": True, "of": ["a whale"]}]}, "is no rule"),
        ({"places": []}, "places are wanted where the book answers"),
        ({"places": [[9, 3]]}, "has bounds [9, 3)"),
        ({"places": [[3.0, 9.0]]}, "is no place"),
        ({"answerable": False}, "places are wanted where the book answers, and there alone"),
        ({"answerable": False, "places": [], "partly": ["ship"]}, "nothing is partly right"),
        ({"kind": "follow-up"}, "a follow-up, and nothing else, follows another question"),
        ({"kind": "follow-up", "follows": "whale-09"}, "no question whale-09 about the same book"),
        ({"note": 3}, "note is 3; wanted text"),
    ],
)
def test_a_malformed_question_is_refused_with_its_file_and_line(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    path = written(tmp_path / "questions.jsonl", ROW, ROW | {"id": "whale-02"} | changed)
    with pytest.raises(DataError, match=re.escape(said)) as refused:
        read_questions(path)
    assert str(refused.value).startswith(f"{path}, line 2: ")


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({}, "there are two questions whale-01"),
        ({"id": "whale-02", "title": "Whales"}, "has another title or half above"),
        ({"id": "whale-02", "half": "figure"}, "has another title or half above"),
    ],
)
def test_questions_that_contradict_each_other_are_refused(
    tmp_path: Path, second: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        read_questions(written(tmp_path / "questions.jsonl", ROW, ROW | second))


def test_a_line_that_is_no_json_object_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    with pytest.raises(DataError, match=r"is missing; expected there: the natural questions"):
        read_questions(path)
    path.write_text("who?\n", "utf-8")
    with pytest.raises(DataError, match=r"questions\.jsonl, line 1: "):
        read_questions(path)
    path.write_text("[]\n", "utf-8")
    with pytest.raises(DataError, match="line 1: no JSON object"):
        read_questions(path)


def test_words_are_compared_without_case_marks_accents_articles_and_possessives() -> None:
    assert answer_words("The “photo-telephone” of Élie’s sister, $1,000—an heirloom’") == [
        "photo",
        "telephone",
        "of",
        "elie",
        "sister",
        "1000",
        "heirloom",
    ]


@pytest.mark.parametrize("answer", ["Elie Magus", "the dealer, Élie Magus.", "MAGUS'S SHOP"])
def test_a_string_is_found_as_whole_words_wherever_it_stands(answer: str) -> None:
    assert judge(key(["magus"]), answer).verdict == "right"


def test_a_word_within_a_word_is_not_found_but_the_beginning_of_one_with_a_star_is() -> None:
    assert judge(key(["art"]), "the party").verdict == "wrong"
    assert judge(key(["marr*"]), "They were married.").verdict == "right"
    assert judge(key(["marr*"]), "remarried").verdict == "wrong"


def test_any_alternative_suffices_and_all_members_of_a_list_are_needed() -> None:
    both = key([["alfred|husband", "evelyn|howard"]], partly=("alfred|husband", "evelyn|howard"))
    assert judge(both, "Her husband and Miss Howard").verdict == "right"
    assert judge(both, "Her husband").verdict == "partly"
    assert judge(both, "The doctor").verdict == "wrong"


def test_at_least_so_many_of_several_are_needed() -> None:
    two = key([{"at_least": 2, "of": ["egg", "moustache", "short|small"]}], partly=("egg", "moustache"))
    assert judge(two, "A small man with a moustache").verdict == "right"
    assert judge(two, "Short, small and tiny").verdict == "wrong"
    assert judge(two, "His head is like an egg").verdict == "partly"


def test_a_caret_asks_for_the_first_words() -> None:
    no = key(["^no|^she does not"], wrong_if=("^yes",))
    assert judge(no, "No, she laughs.").verdict == "right"
    assert judge(no, "She does not.").verdict == "right"
    assert judge(no, "There is no answer").verdict == "wrong"
    assert judge(no, "Yes and no").verdict == "wrong"


def test_what_makes_an_answer_wrong_outweighs_what_is_right_in_it() -> None:
    judged = judge(key(["john"], wrong_if=("lawrence",)), "John, Lawrence and Alfred")
    assert (judged.verdict, judged.reason) == ("wrong", "wrong if: lawrence")


def test_a_right_answer_that_is_too_long_is_partly_right() -> None:
    assert judge(key(["whale"], longest=3), "a grey old whale").verdict == "right"
    judged = judge(key(["whale"], longest=3), "a very grey old whale")
    assert (judged.verdict, judged.reason) == ("partly", "right: whale; but 4 words, over 3")


def test_to_decline_is_right_where_the_book_does_not_answer_and_no_answer_where_it_does() -> None:
    nowhere, somewhere = key([], answerable=False), key(["whale"])
    assert judge(nowhere, "the whale").verdict == "wrong"
    for answer, answerable in (("the whale", False), ("", True), ("The book does not say.", True)):
        assert judge(nowhere, answer, answerable).verdict == "right"
        assert judge(somewhere, answer, answerable).verdict == "declined"
    # The guess of a system that declines is not judged.
    assert judge(key(["whale"], wrong_if=("shark",)), "a shark", answerable=False).verdict == "declined"
    nowhere = key([], wrong_if=("shark",), answerable=False)
    assert judge(nowhere, "a shark", answerable=False).verdict == "right"


def test_a_false_premise_may_be_corrected_instead() -> None:
    unmarried = key(["never marr*"], answerable=False)
    assert judge(unmarried, "They never marry.").verdict == "right"
    assert judge(unmarried, "In June").verdict == "wrong"


def test_a_judgement_names_its_rule_in_a_line() -> None:
    rule = parse_rule([{"at_least": 1, "of": ["a whale|shark", "a boat"]}, "sank"])
    assert describe(rule) == "1 of (a whale|shark; a boat) & sank"
    assert judge(key([["ship", "sank"]]), "The ship sank.").reason == "right: ship & sank"


@pytest.mark.parametrize("question", QUESTIONS, ids=name)
def test_an_answer_that_says_nothing_is_never_right_nor_partly(question: NaturalQuestion) -> None:
    for answer in (question.question, question.title, "the", "he said so"):
        assert judge(question.key, answer).verdict in ("wrong", "declined"), answer


@cache
def story(folder: Path, book: str) -> str:
    return read_story(folder / "narrativeqa" / "tmp" / f"{book}.content", book).text


@pytest.mark.data
@pytest.mark.parametrize("question", ANSWERABLE, ids=name)
def test_places_lie_in_the_book_and_hold_an_accepted_string(
    question: NaturalQuestion, data_folder: Path
) -> None:
    text = story(data_folder, question.book)
    for start, end in question.places:
        assert end <= len(text)
        assert text[start:end].strip() == text[start:end]
    if question.kind in SHORT and question.id not in IN_OTHER_WORDS:
        near = (text[max(0, start - NEAR) : end + NEAR] for start, end in question.places)
        said = " ".join(answer_words(" ".join(near)))
        assert first_holding(question.key.right, said) is not None
