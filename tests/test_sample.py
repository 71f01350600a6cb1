"""The sample story is long enough, and its questions are fair: what they claim stands in it."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from evaluation.sample import SampleQuestion, sample_questions, sample_story

QUESTIONS = sample_questions()
EXPLICIT = [question for question in QUESTIONS if question.explicit]
ANSWERABLE = [question for question in QUESTIONS if question.kind != "unanswerable"]
CHAPTER_LINE = r"(?m)^CHAPTER [IVX]+$"


def spaced(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def name(question: SampleQuestion) -> str:
    return question.id


@pytest.fixture(scope="module")
def story() -> str:
    return sample_story().read_text(encoding="utf-8")


def test_the_story_has_at_least_8000_words_in_nine_to_twelve_chapters(story: str) -> None:
    assert len(story.split()) >= 8_000
    assert 9 <= len(re.findall(CHAPTER_LINE, story)) <= 12


def test_every_chapter_has_a_title_and_front_matter_stands_before_the_first(story: str) -> None:
    front, *chapters = re.split(CHAPTER_LINE, story)
    assert "EDITOR'S NOTE" in front
    assert all(re.match(r"\n[A-Z][^\n]+\n\n", chapter) for chapter in chapters)


def test_there_are_enough_questions_of_every_kind() -> None:
    kinds = Counter(question.kind for question in QUESTIONS)
    wanted = {"who": 8, "what": 10, "where": 6, "when": 4, "why": 7, "unanswerable": 6}
    assert len(QUESTIONS) >= 48
    assert {kind for kind, least in wanted.items() if kinds[kind] < least} == set()
    assert kinds["how"] + kinds["how many"] >= 6


def test_ids_and_questions_are_unique() -> None:
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question.question for question in QUESTIONS}) == len(QUESTIONS)


def test_every_answerable_question_has_two_reference_answers() -> None:
    assert {len(question.answers) for question in ANSWERABLE} == {2}


def test_the_demonstration_asks_five_explicit_questions_of_different_kinds_and_chapters() -> None:
    shown = [question for question in QUESTIONS if question.demo]
    assert len(shown) == len({q.kind for q in shown}) == len({q.chapter for q in shown}) == 5
    assert all(question.explicit for question in shown)


@pytest.mark.parametrize("question", ANSWERABLE, ids=name)
def test_the_evidence_stands_exactly_once_in_the_story_and_in_its_chapter(
    question: SampleQuestion, story: str
) -> None:
    assert question.evidence is not None
    assert question.chapter is not None
    assert spaced(story).count(question.evidence) == 1
    assert question.evidence in spaced(re.split(CHAPTER_LINE, story)[question.chapter])


@pytest.mark.parametrize("question", EXPLICIT, ids=name)
def test_explicit_answers_stand_in_the_chapter_of_their_evidence(
    question: SampleQuestion, story: str
) -> None:
    assert question.chapter is not None
    chapter = spaced(re.split(CHAPTER_LINE, story)[question.chapter]).lower()
    assert [answer for answer in question.answers if answer.lower() not in chapter] == []


def test_a_question_with_answers_but_no_evidence_is_refused() -> None:
    with pytest.raises(ValueError, match="q00 wants answers, chapter and evidence"):
        SampleQuestion("q00", "Who?", ("Nobody",), "who", True, 1, None, False)


def test_a_question_of_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'whose'; choose from who, what"):
        SampleQuestion("q00", "Whose?", (), "whose", False, None, None, False)
