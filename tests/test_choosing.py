"""Blanks and candidates for readers of every kind: those that choose, that rank, and that only write."""

from __future__ import annotations

import sys

import pytest
from chat_server import chatting, says

from readers import open_reader
from readers.candidates import MOST, NAMES_ALONE, find_candidates
from readers.choosing import FILLS, answers_to, check_reader, reader_for
from readers.reading import Answer, Reading
from text.cloze import NotACloze

FERRY = (
    "Maud carried the blue lamp over the hill. The ferryman could not see the far bank without it.",
    "That night the river took the landing. Maud Oakes hid the lamp in a hollow oak and walked home.",
)


def ask(name: str, question: str, candidates: tuple[str, ...] = (), n_best: int = 3) -> list[Answer]:
    [answers] = answers_to(name, open_reader(name), [Reading(question, FERRY, (), candidates)], n_best)
    return answers


def test_a_reader_that_ranks_fills_a_blank_with_one_of_the_candidates_and_cites_the_fitting_mention() -> None:
    [best, *_] = ask("overlap", "Maud hid the ____ in a hollow oak", ("ferryman", "lamp", "hill"))
    assert best.text == "lamp"
    assert best.span is not None
    assert best.span.passage == 1, "the lamp that is hidden, not the one that is carried"
    assert FERRY[1][best.span.start : best.span.end] == "lamp"


def test_a_blank_without_candidates_is_filled_with_a_name_or_noun_of_the_passages() -> None:
    answers = ask("overlap", "____ carried the blue lamp over the hill", n_best=20)
    words = {word.strip(".") for passage in FERRY for word in passage.split()}
    assert answers
    assert all(set(one.text.split()) <= words for one in answers)
    assert "carried" not in {one.text for one in answers}


def test_a_question_with_candidates_and_no_blank_is_answered_by_one_of_them() -> None:
    answers = ask("overlap", "Who could not see the far bank?", ("the ferryman", "a goose"))
    assert [one.text for one in answers] == ["the ferryman", "a goose"]
    assert answers[0].confidence > answers[1].confidence


def test_other_questions_of_one_batch_are_read_as_ever() -> None:
    reader = open_reader("overlap")
    free, cloze = Reading("Who carried the lamp?", FERRY), Reading("Maud hid the ____", FERRY)
    mixed = answers_to("overlap", reader, [free, cloze, free], 2)
    assert mixed[0] == mixed[2] == reader.read([free], 2)[0]
    assert mixed[1] == answers_to("overlap", reader, [cloze], 2)[0]


def test_a_reader_that_only_writes_is_asked_to_choose_and_its_answer_has_the_candidates_spelling() -> None:
    with chatting(
        says("ANSWER: the lamp.\nPASSAGE: 2\nQUOTE: Maud Oakes hid the lamp in a hollow oak")
    ) as server:
        name = f"chat:{server.url}@model=parrot"
        [answer] = ask(name, "Maud hid the ____", ("Lamp", "Oak"), 1)
        assert (answer.text, answer.span) == ("Lamp", None)
        assert answer.support is not None
        [asked] = server.asked
        assert "Fill in the blank: Maud hid the ____" in asked.question
        assert "Choose one of: Lamp; Oak" in asked.question


def test_a_reader_that_chooses_is_asked_to_and_cites_what_it_chose() -> None:
    [best, *_] = ask("cloze-distance", "Maud Oakes hid the ____ in a hollow oak", ("ferryman", "lamp"))
    assert best.text == "lamp"
    assert best.span is not None
    assert best.span.passage == 1


def test_names_come_before_nouns_and_neighbouring_ones_are_one() -> None:
    found, note = find_candidates(FERRY)
    assert note is None
    assert set(found[:2]) == {"Maud", "Maud Oakes"}
    assert {"lamp", "ferryman", "oak", "river"} <= set(found)
    assert not {"the", "carried", "blue", "."} & set(found)


def test_no_more_candidates_are_tried_than_the_most() -> None:
    words = [
        f"The {a}{b} fell."
        for a in "bcdfglmnprst"
        for b in ("ag", "eg", "ig", "og", "ug", "at", "et", "it", "ot")
    ]
    assert len(find_candidates(words)[0]) == MOST


def test_without_the_extra_names_alone_are_tried_and_the_answer_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from encoders import tagging

    monkeypatch.setitem(sys.modules, "spacy", None)  # as where it is not installed
    tagging.load_tagger.cache_clear()
    try:
        answers = ask("overlap", "____ hid the lamp", n_best=9)
    finally:
        tagging.load_tagger.cache_clear()
    assert {one.text for one in answers} == {"Maud", "Oakes"}
    assert {one.note for one in answers} == {NAMES_ALONE}


def test_auto_sends_a_cloze_to_the_reader_that_fills_best_and_no_other_question() -> None:
    assert reader_for("auto", "Maud hid the ____") == FILLS
    assert reader_for("auto", "What did Maud hide?") == "auto"
    assert reader_for("span", "Maud hid the ____") == "span"


def test_a_reader_that_fills_blanks_alone_is_not_asked_anything_else() -> None:
    check_reader(FILLS, "Maud hid the ____")
    check_reader("overlap", "What did Maud hide?")
    with pytest.raises(NotACloze, match=f"{FILLS.partition('@')[0]} fills blanks, and the question has none"):
        check_reader(FILLS, "What did Maud hide?")
