"""Clozes: where the blank is, what the tokens are, and what readers that fill blanks share."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers import open_reader
from readers.cloze import Cloze, parse_cloze
from readers.filling import ClozeReader, Judged
from readers.reading import Answer, Reading, Span
from text.cloze import BLANK, NotACloze, blanks, cloze_tokens, find_blank

BAKERY = (
    "Old Wren baked a loaf for Hob. Hob ate the loaf, and wren-song filled the lane.",
    "`` No more , '' said Hob Wren , `` the oven is n't hot . ''",
)


class MostMentioned(ClozeReader):
    """Scores a candidate by how often it is mentioned, and its mentions by how late they stand."""

    def judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        return [
            Judged(
                [sum(m.candidate == i for m in cloze.mentions) for i in range(len(cloze.candidates))],
                [m.first for m in cloze.mentions],
            )
            for cloze in clozes
        ]


def texts(text: str) -> list[str]:
    return [text[start:end] for _, start, end in cloze_tokens(text)]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Hob ate the XXXXX .", "XXXXX"),
        ("@placeholder ate it", "@placeholder"),
        ("He ate the ____!", "____"),
        ("He ate ___, then slept", "___"),
        ("snake_case, XXXXXX, aXXXXX, @placeholders and __ are none", None),
    ],
)
def test_a_blank_is_written_in_one_of_three_ways(question: str, found: str | None) -> None:
    place = find_blank(question)
    assert (question[slice(*place)] if place else None) == found


def test_two_blanks_are_refused_with_their_number() -> None:
    assert blanks("XXXXX and ____") == [(0, 5), (10, 14)]
    with pytest.raises(NotACloze, match="has 2 blanks; wanted one"):
        find_blank("XXXXX and ____")


def test_tokens_are_words_clitics_marks_and_quotation_marks_and_a_marker_is_one() -> None:
    assert texts("“I’ve XXXXX,” said @entity12's 'cook'.") == (
        ["“", "I", "’ve", "XXXXX", ",", "”", "said", "@entity12", "s", "'", "cook", "'", "."]
    )


@pytest.mark.parametrize(
    ("raw", "parted"),
    [
        ('"Don\'t!" cried Ann\'s aunt; "it\'s hot."', "`` Do n't ! '' cried Ann 's aunt ; `` it 's hot . ''"),
        ("We cannot stay (he said).", "We can not stay ( he said ) ."),
        ("Mrs. Hale left--at last...", "Mrs. Hale left -- at last ..."),
    ],
)
def test_text_and_its_treebank_form_have_the_same_keys(raw: str, parted: str) -> None:
    assert [one.key for one in cloze_tokens(raw)] == [one.key for one in cloze_tokens(parted)]


@given(st.text(st.sampled_from("ab'’“”\"`.,-– XeN_@\n"), max_size=60))
def test_tokens_stand_in_order_and_leave_out_spaces_and_clitics_apostrophes_alone(text: str) -> None:
    covered, end = "", 0
    for token in cloze_tokens(text):
        assert end <= token.start < token.end
        covered += text[token.start : token.end]
        assert set(text[end : token.start]) <= set(" \n'’")
        end = token.end
    assert set(text[end:]) <= set(" \n'’")


def test_a_cloze_knows_its_tokens_its_blank_and_where_candidates_are_mentioned() -> None:
    cloze = parse_cloze(Reading("Then Hob ate a XXXXX .", BAKERY), ("loaf", "Hob", "hob wren", "moon"))
    assert cloze.query == ("then", "hob", "ate", "a", BLANK, ".")
    assert cloze.blank == 4
    assert cloze.query_spelled[:2] == ("Then", "Hob")
    mentioned = [(cloze.candidates[m.candidate], cloze.span(m)) for m in cloze.mentions]
    spelled = [(name, BAKERY[at.passage][at.start : at.end]) for name, at in mentioned]
    assert spelled == [
        ("loaf", "loaf"),
        ("Hob", "Hob"),
        ("Hob", "Hob"),
        ("loaf", "loaf"),
        ("Hob", "Hob"),
        ("hob wren", "Hob Wren"),
    ]


def test_a_candidate_is_not_mentioned_across_two_passages() -> None:
    cloze = parse_cloze(Reading("____ came", ("a tall Hob", "Wren sang")), ("Hob Wren",))
    assert cloze.mentions == ()


def test_the_best_mention_is_cited_and_one_that_is_spelled_otherwise_supports() -> None:
    [answers] = MostMentioned().read([Reading("____ sang", BAKERY, candidates=("hob", "loaf", "moon"))], 3)
    assert [one.text for one in answers] == ["hob", "loaf", "moon"]
    best, second, last = answers
    assert best.span is None
    assert best.support == Span(1, 21, 24)
    assert second.span == Span(0, 43, 47)
    assert BAKERY[0][43:47] == "loaf"
    assert last.span is None
    assert last.support is None


def test_of_mentions_that_say_as_much_the_one_spelled_as_the_candidate_is_cited() -> None:
    [[answer]] = open_reader("cloze-frequency").read(
        [Reading("____ bell", ("THE bell", "the Bell"), (), ("the",))]
    )
    assert answer.span == Span(1, 0, 3)


def test_spans_of_one_reading_never_overlap() -> None:
    [answers] = MostMentioned().read([Reading("____ sang", BAKERY[1:], candidates=("Hob", "Hob Wren"))], 2)
    assert sum(one.span is not None for one in answers) == 1
    assert all(one.span or one.support for one in answers)


def test_equal_scores_are_ordered_by_chance_and_always_so_for_one_reading() -> None:
    def first(question: str) -> str:
        reading = Reading(question, ("nothing is said",), candidates=("a1", "b2", "c3", "d4"))
        answers: list[Answer] = MostMentioned().read([reading], 1)[0]
        return answers[0].text

    questions = [f"{n} is ____" for n in range(200)]
    firsts = [first(question) for question in questions]
    assert firsts == [first(question) for question in questions]
    assert all(30 <= firsts.count(one) <= 70 for one in ("a1", "b2", "c3", "d4"))


def test_a_question_without_a_blank_is_refused() -> None:
    with pytest.raises(NotACloze, match="the question has no blank"):
        MostMentioned().read([Reading("Who sang?", BAKERY, candidates=("Hob", "Wren"))])


@pytest.mark.parametrize("passages", [(), ("",), (" \n",)])
def test_where_there_is_nothing_to_read_there_is_no_answer(passages: tuple[str, ...]) -> None:
    reading = Reading("____ sang", passages, candidates=("Hob", "Wren"))
    assert MostMentioned().read([reading]) == [[]]
    assert MostMentioned().rank(reading, reading.candidates) == [0.0, 0.0]
