"""The model-free readers of clozes, against counts by hand; permuted markers change none of them."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.errors import ModelError
from readers import open_reader
from readers.baselines.frequency import WordCounts
from readers.cloze import anonymise, parse_cloze
from readers.filling import ClozeReader
from readers.reading import Answer, Named, Ranker, Reading, Span
from text.cloze import NotACloze

MILL = (
    "Maud carried the lamp to the miller .",
    "The miller thanked Maud and the goose .",
    "Orla met the king , and the king praised Orla .",
    "Old Tom is the president of the mill .",
)
SYSTEMS = ("cloze-frequency", "cloze-frequency@exclusive", "cloze-sliding", "cloze-distance", "cloze-frames")


def ranked(
    name: str, question: str, candidates: Sequence[str], passages: Sequence[str] = MILL
) -> list[float]:
    reader = cast(Ranker, open_reader(name))
    return reader.rank(Reading(question, tuple(passages)), candidates)


def answered(
    name: str, question: str, candidates: Sequence[str], passages: Sequence[str] = MILL, n_best: int = 1
) -> list[Answer]:
    [answers] = open_reader(name).read(
        [Reading(question, tuple(passages), candidates=tuple(candidates))], n_best
    )
    return answers


def test_frequency_counts_mentions_in_any_case_and_of_several_words() -> None:
    assert ranked("cloze-frequency", "XXXXX slept .", ["maud", "Goose", "Old Tom", "old", "ox"]) == [
        2,
        1,
        1,
        1,
        0,
    ]


def test_exclusive_frequency_takes_what_is_in_the_question_last() -> None:
    candidates = ["Maud", "lamp", "king", "ox"]
    assert answered("cloze-frequency", "Maud saw XXXXX .", candidates[:2])[0].text == "Maud"
    answers = answered("cloze-frequency@exclusive", "Maud and the king saw XXXXX .", candidates, n_best=4)
    assert [answer.text for answer in answers][:2] == ["lamp", "ox"]
    assert ranked("cloze-frequency@exclusive", "The Tom saw XXXXX .", ["Old Tom"]) == [1]


def test_corpus_frequency_counts_what_was_trained_on_and_the_rarest_of_several_words(tmp_path: Path) -> None:
    counts = WordCounts.count(iter(["the", "old", "the", "old", "king", "the"]), "tales")
    counts.as_file().save(tmp_path / "cloze-frequency-corpus.safetensors")
    name = f"cloze-frequency:{tmp_path}@corpus"
    assert ranked(name, "XXXXX slept .", ["The", "old king", "old", "Maud"]) == [3, 1, 2, 0]
    reader = open_reader(name)
    assert reader.trained_on == "tales"
    assert reader.version


def test_a_sliding_window_is_worth_the_rarity_of_what_it_shares() -> None:
    # The window is of 4 tokens: "orla met the king" has all of "XXXXX met the king", "the" standing 8 times;
    # without "orla" that window is still the best.
    twice, once, eight = math.log(1 + 1 / 2), math.log(2), math.log(1 + 1 / 8)
    [orla, maud] = ranked("cloze-sliding", "XXXXX met the king", ["Orla", "Maud"])
    assert orla == pytest.approx(twice + once + eight + twice)
    assert maud == pytest.approx(once + eight + twice)
    assert orla > maud


def test_a_sliding_window_longer_than_the_context_is_the_context() -> None:
    [score] = ranked("cloze-sliding", "A very very long question about XXXXX .", ["fox"], ["A fox ."])
    assert score == pytest.approx(3 * math.log(2))


@pytest.mark.parametrize(
    ("name", "m"), [("cloze-distance", 8), ("cloze-distance@m=5", 5), ("cloze-distance@m=1", 1)]
)
def test_the_distance_is_of_the_nearest_equal_word_and_at_most_m(name: str, m: int) -> None:
    # The second "miller" has both words where they should be. The first "orla", token 16, wants them at 17
    # and 18, and they are at 10 and 11; the second is farther. Without a mention it is worse than at any.
    assert ranked(name, "XXXXX thanked Maud", ["miller", "Orla", "ox"]) == [0, -2 * min(m, 7), -(2 * m + 1)]
    assert ranked(name, "XXXXX Orla met", ["goose"]) == [-2]


def test_words_behind_the_blank_lie_behind_the_last_word_of_a_mention() -> None:
    assert ranked(
        "cloze-distance", "The goose . XXXXX met the king", ["orla"], ["The goose . Orla met the king"]
    ) == [0]
    assert ranked("cloze-distance", "a XXXXX b", ["c d"], ["a c d b"]) == [0]
    assert ranked("cloze-distance", "a XXXXX b", ["c"], ["a c d b"]) == [-1]


def test_within_aligns_no_word_beside_the_stretch_that_the_question_lies_over() -> None:
    # "XXXXX thanked Maud" lies over "Orla met the": the words are at 10 and 11 of the text, not in there.
    assert ranked("cloze-distance@m=8", "XXXXX thanked Maud", ["Orla"]) == [-14]
    assert ranked("cloze-distance@m=8,within", "XXXXX thanked Maud", ["Orla"]) == [-16]
    assert ranked("cloze-distance@within", "XXXXX thanked Maud", ["miller"]) == [0]
    # The stretch is as long before the first word of a mention and behind its last as the question is.
    assert ranked("cloze-distance@within", "a XXXXX b", ["c d"], ["b a c d b"]) == [0]
    assert ranked("cloze-distance@within", "a XXXXX b f", ["c d"], ["a e c d f b"]) == [-8 - 1 - 1]


def test_a_question_of_the_blank_alone_leaves_all_candidates_at_no_distance() -> None:
    assert ranked("cloze-distance", "XXXXX", ["Maud", "ox"]) == [0, -1]


def by_definition(query: Sequence[str], context: Sequence[str], candidate: str, m: int, within: bool) -> int:
    blank = query.index("xxxxx")
    sums = []
    for place, word in enumerate(context):
        if word == candidate:
            start = place - blank  # where the question begins, its blank laid on the mention
            stretch = set(range(len(context)))
            if within:
                stretch &= set(range(start, start + len(query)))
            sums.append(
                sum(
                    min([m, *(abs(start + i - j) for j in stretch if context[j] == asked)])
                    for i, asked in enumerate(query)
                    if i != blank
                )
            )
    return -min(sums, default=m * (len(query) - 1) + 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=30),
    st.lists(st.sampled_from("abcdz"), max_size=6),
    st.integers(0, 6),
    st.integers(1, 9),
    st.booleans(),
)
def test_the_distance_is_that_of_the_definition(
    context: list[str], words: list[str], blank: int, m: int, within: bool
) -> None:
    query = [*words[:blank], "xxxxx", *words[blank:]]
    name = f"cloze-distance@m={m}{',within' if within else ''}"
    found = ranked(name, " ".join(query).upper(), list("abz"), [" ".join(context)])
    assert found == [by_definition(query, context, candidate, m, within) for candidate in "abz"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_equal_candidates_are_each_chosen_for_some_question(name: str) -> None:
    passages = ("North came .", "South came .", "East came .", "West came .")
    chosen = {
        answered(name, f"XXXXX {verb} .", ["North", "South", "East", "West"], passages)[0].text
        for verb in (f"word{i}" for i in range(60))
    }
    assert len(chosen) == 4


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_cited_is_a_mention_of_the_answer(name: str) -> None:
    for answer in answered(name, "The miller thanked XXXXX .", ["Maud", "Orla", "Old Tom", "ox"], n_best=4):
        if answer.text == "ox":
            assert (answer.span, answer.support) == (None, None)
        else:
            assert answer.span is not None
            assert MILL[answer.span.passage][answer.span.start : answer.span.end] == answer.text


@pytest.mark.parametrize("name", SYSTEMS)
def test_nothing_to_read_or_to_choose_from_has_no_answer(name: str) -> None:
    assert answered(name, "XXXXX slept .", ["Maud"], ()) == []
    assert answered(name, "XXXXX slept .", ["Maud"], ("", " ")) == []
    assert answered(name, "XXXXX slept .", []) == []
    assert ranked(name, "XXXXX slept .", ["Maud"], ()) == [0]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("question", ["Who slept?", "XXXXX saw XXXXX .", "@placeholder and ____ ."])
def test_a_question_with_no_blank_or_several_is_refused(name: str, question: str) -> None:
    with pytest.raises(NotACloze, match="wanted one XXXXX, @placeholder or ____"):
        answered(name, question, ["Maud"])


MARKED = (
    "@entity3 carried the lamp to @entity12 .",
    "@entity12 thanked @entity3 , and @entity7 laughed .",
    "In the evening @entity7 and @entity40 met the king of @entity5 .",
)
ASKED = ("@placeholder thanked @entity3 .", "the king of @entity5 met @placeholder .", "@placeholder sang .")


def permuted(texts: Sequence[str], order: dict[str, str]) -> tuple[str, ...]:
    return tuple(re.sub(r"@entity\d+", lambda match: order[match[0]], text) for text in texts)


@pytest.mark.parametrize("name", SYSTEMS)
def test_permuted_markers_change_no_answer(name: str) -> None:
    markers = sorted(set(re.findall(r"@entity\d+", " ".join(MARKED))))
    rng = random.Random(4)
    for _ in range(8):
        order = dict(zip(markers, rng.sample([f"@entity{i}" for i in range(60)], len(markers)), strict=True))
        shuffled = rng.sample(markers, len(markers))
        for question in ASKED:
            plain = answered(name, question, markers, MARKED, n_best=5)
            other = answered(
                name, permuted([question], order)[0], permuted(shuffled, order), permuted(MARKED, order), 5
            )
            assert [order[answer.text] for answer in plain] == [answer.text for answer in other]
            assert [answer.score for answer in plain] == [answer.score for answer in other]


NAMED_STORY = ("Old Tom thanked Maud Lee , and Tom left .", "Maud met the king . Orla saw Maud Lee .")
NAMED = Reading(
    "____ met Orla .",
    NAMED_STORY,
    candidates=("Old Tom", "Maud Lee", "Orla"),
    named=(
        Named(2, -1, 9, 13),
        Named(0, 0, 0, 7),
        Named(1, 0, 16, 24),
        Named(0, 0, 31, 34),
        Named(1, 1, 0, 4),
        Named(2, 1, 20, 24),
        Named(1, 1, 29, 37),
    ),
)


def test_all_names_of_an_entity_count_for_it() -> None:
    assert cast(Ranker, open_reader("cloze-frequency")).rank(NAMED, NAMED.candidates) == [2, 3, 1]
    [[answer]] = open_reader("cloze-frames").read([NAMED])
    assert (answer.text, answer.support) == ("Maud Lee", Span(1, 0, 4))  # (x, V, z): there it is "Maud"


@pytest.mark.parametrize("name", SYSTEMS)
def test_markers_drawn_anew_for_named_entities_change_no_score(name: str) -> None:
    reader = cast(ClozeReader, open_reader(name))
    cloze = parse_cloze(NAMED, NAMED.candidates)
    [judged] = reader.judge([cloze])
    for seed in range(5):
        [again] = reader.judge([anonymise(cloze, random.Random(seed))])
        assert (again.scores, again.weights) == (judged.scores, judged.weights)


def test_markers_and_plain_names_are_answered_alike() -> None:
    names = {
        "@entity3": "Maud",
        "@entity12": "Orla",
        "@entity7": "Tom",
        "@entity40": "Bess",
        "@entity5": "Ur",
    }
    for name in SYSTEMS:
        assert answered(name, ASKED[0], list(names), MARKED)[0].text == "@entity12" or "frequency" in name
        plain = ranked(name, permuted(ASKED, names)[0], list(names.values()), permuted(MARKED, names))
        assert plain == pytest.approx(ranked(name, ASKED[0], list(names), MARKED))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cloze-frequency@inclusive", "no option 'inclusive'; wanted exclusive or corpus"),
        ("cloze-frequency@exclusive,corpus", "takes one of its options"),
        ("cloze-frequency@exclusive=1", "option 'exclusive=1' of 'cloze-frequency'; wanted exclusive"),
        ("cloze-frequency:books", "reads 'books' with @corpus alone"),
        ("cloze-frequency@corpus", "needs a folder: write cloze-frequency:DIR@corpus"),
        ("cloze-frequency:nowhere@corpus", "storyqa train cbt --system cloze-frequency@corpus --data"),
        ("cloze-sliding:books", "has no model, so 'books' means nothing; write cloze-sliding"),
        (
            "cloze-distance@m=0",
            "m=0 for 'cloze-distance'; wanted the farthest distance that counts, 1 to 100",
        ),
        ("cloze-distance@n=3", "no option 'n'; wanted within or m, as in cloze-distance@m=8"),
        ("cloze-frames:books", "has no model"),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_what_would(name: str, says: str) -> None:
    with pytest.raises(ModelError) as error:
        open_reader(name)
    assert says in str(error.value)


def test_a_file_of_other_arrays_is_no_file_of_counts(tmp_path: Path) -> None:
    path = tmp_path / "cloze-frequency-corpus.safetensors"
    path.write_bytes(b"not arrays")
    with pytest.raises(ModelError, match="cannot be read"):
        open_reader(f"cloze-frequency:{tmp_path}@corpus")


def test_tokens_of_raw_and_of_parted_text_have_the_same_mentions() -> None:
    raw = parse_cloze(Reading("XXXXX's hat.", ("\u201cMaud's goose,\u201d said Maud.",)), ["Maud"])
    parted = parse_cloze(Reading("XXXXX 's hat .", ("`` Maud 's goose , '' said Maud .",)), ["Maud"])
    assert raw.mentions == parted.mentions
