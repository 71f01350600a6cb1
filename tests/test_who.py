"""Who somebody is, so far: which sentences tell it, whom a name means, and that nothing comes from later."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from server import problem, serving, wait_until_ready

from answering.of_itself import OfItself
from answering.profiles import Profile, profile
from answering.quotes import story_text
from answering.who_is import each_described, several_asked
from evaluation.sample import sample_story
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.character_lookup import find_character
from indexing.characters import named, persons
from indexing.errors import UnknownCharacter
from indexing.formats.read import read_book
from indexing.index import BookIndex
from indexing.sources.locate import find
from indexing.store import IndexStore
from retrieval.diversity import maximal_marginal_relevance
from service.cli import run
from service.client import Client
from service.settings import Settings

STORY = """\
The mayor of Sandry was Aldith Sarn, who owned two thirds of the salt pans. On Monday Aldith Sarn went
down to the harbour. "Is the boat in?" asked Tom Sarn. Nobody answered him, and the gulls went on with
their breakfast.

Peter Brown kept the ferry. He had never learned to swim. On Tuesday Peter Brown rowed the mayor across,
and she paid him in salt.

In the evening Mr. Brown told Mary Turner, the mayor's sister, what he had seen. Mary Turner laughed at
Peter. It was Aldith Sarn, he said, who had stolen the bell.
"""
LATER = STORY.index("In the evening")


def index_of(text: str, folder: Path) -> BookIndex:
    store = IndexStore(folder)
    build_book(Book("ferry", "The Ferry", text, "ferry.txt"), BuildSettings(words=40), store)
    return store.open("ferry")


def told(index: BookIndex, cache: Path, asked: str, before: int | None = None, k: int = 3) -> Profile:
    return profile(index, asked, before, cache, k)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> BookIndex:
    return index_of(STORY, tmp_path_factory.mktemp("ferry"))


def test_the_sentence_that_introduces_somebody_is_told_with_its_place(index: BookIndex, cache: Path) -> None:
    found = told(index, cache, "Aldith Sarn", k=1)
    [sentence] = found.sentences
    assert sentence.text == STORY[: STORY.index(" On Monday")]
    assert STORY[sentence.start : sentence.end] == sentence.text
    assert (found.name, found.count, sentence.passage) == ("Aldith Sarn", 3, 0)


def test_the_first_sentence_that_names_somebody_goes_before_and_one_that_calls_them_behind(
    tmp_path: Path, cache: Path
) -> None:
    first = "Odo Pell came in from the rain."
    text = (
        f"{first} He was late.\n\nOn Monday Odo Pell swept the mill floor. The river rose.\n\nOn Friday "
        "Odo Pell went up the hill to see the fair.\n\nThe miller of Vell stood at the door. “Where is the "
        "salt?” asked Odo Pell.\n\nThe miller laughed. “Come in, Odo Pell, miller of Vell!” said Wenna.\n"
    )
    for end in (text.index("The miller of"), len(text)):  # without those that call him, and with them
        [sentence] = told(index_of(text[:end], tmp_path / str(end)), cache, "Odo Pell", k=1).sentences
        assert sentence.text == first


def test_sentences_are_told_in_story_order(index: BookIndex, cache: Path) -> None:
    starts = [one.start for one in told(index, cache, "Peter Brown", k=10).sentences]
    assert len(starts) == 4  # one names nobody
    assert starts == sorted(starts)


@pytest.mark.parametrize("asked", ["Mary Turner", "Mary", "turner", "Miss Turner", "  Mary \n Turner "])
def test_any_part_of_a_name_will_do(index: BookIndex, cache: Path, asked: str) -> None:
    assert told(index, cache, asked).name == "Mary Turner"


def test_whoever_is_not_yet_named_is_unknown(index: BookIndex, cache: Path) -> None:
    with pytest.raises(UnknownCharacter, match="nobody is called 'Mary Turner' so far") as raised:
        told(index, cache, "Mary Turner", before=LATER)
    assert raised.value.near == ()


@pytest.mark.parametrize(
    ("asked", "near"), [("Petre Brown", "Peter Brown"), ("Marie Turner", "Mary Turner"), ("Aldit", None)]
)
def test_an_unknown_name_is_no_guess_but_names_who_is_near(
    index: BookIndex, cache: Path, asked: str, near: str | None
) -> None:
    with pytest.raises(UnknownCharacter, match="nobody is called") as raised:
        told(index, cache, asked)
    assert near is None or near in raised.value.near


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who are Peter Brown and Mary Turner?", ["Peter Brown", "Mary Turner"]),
        ("who were Peter, Mary, and Aldith Sarn again?", ["Peter", "Mary", "Aldith Sarn"]),
        ("Tell me about Mr. Brown and the Mayor", ["Mr. Brown", "the Mayor"]),
        ("Who Peter Brown and Mary are?", ["Peter Brown", "Mary"]),  # as it is behind "Can you tell me"
        ("Who are the main characters and why?", []),
        ("Who are Peter's father and mother?", []),
        ("Who are Peter and the others?", []),
        ("Who is Peter Brown?", []),
    ],
)
def test_who_several_are_is_asked_by_their_names(question: str, names: list[str]) -> None:
    assert several_asked(question) == names


def test_of_several_is_told_what_is_known_of_each_and_nothing_from_behind_the_limit(index: BookIndex) -> None:
    asked = ["Mary Turner", "Peter Brown"]
    for limit in (len(STORY), LATER):
        told = each_described(asked, OfItself(index, limit))
        assert told is not None
        [said] = told.candidates
        places = [one for one in (said.evidence, *said.also) if one is not None]
        assert [one.text for one in places] == said.text.split(" … ")
        assert len(places) == len({one.start for one in places})
        assert all(one.end <= limit for one in places)
        assert "Peter Brown kept the ferry." in said.text
        assert ("Turner" in said.text) == (limit > LATER)
        assert ("called Mary Turner so far" in str(said.note)) == (limit == LATER)
    assert each_described(["Tom Vell", "Osk"], OfItself(index, LATER)) is None


@pytest.mark.parametrize("asked", ["", "   ", "the", "?!", "🜁", "a" * 200, "(", "\ud800"])
def test_what_is_no_name_is_unknown(index: BookIndex, cache: Path, asked: str) -> None:
    with pytest.raises(UnknownCharacter, match="nobody is called"):
        told(index, cache, asked)


def test_a_name_of_several_is_said_to_be_one(index: BookIndex, cache: Path) -> None:
    with pytest.raises(UnknownCharacter, match="ask for one of them") as raised:
        told(index, cache, "Sarn")
    assert set(raised.value.near) == {"Aldith Sarn", "Tom Sarn"}


def test_a_title_tells_husband_and_wife_apart(tmp_path: Path) -> None:
    text = "Then came Mrs. Darrow with Mr. Darrow. “Sit,” said Mr. Darrow, and Mrs. Darrow sat by Mr. Darrow."
    found = named(text, tmp_path)
    for asked, count in (("Mrs. Darrow", 2), ("mr. darrow", 3)):
        assert len(find_character(text, found, asked).places) == count


def test_a_name_that_was_overlooked_is_found_as_it_is_written() -> None:
    text = "Slasher barked. Nobody but Slasher and Slashers came."
    assert find_character(text, [], "Slasher").places == ((0, 7), (27, 34))
    with pytest.raises(UnknownCharacter):
        find_character(text, [], "barked")


@pytest.mark.shipped
def test_what_is_told_does_not_depend_on_what_lies_behind_the_limit(tmp_path: Path, cache: Path) -> None:
    story = sample_story().read_text("utf-8")[:11_000]
    limit = story.index(" any other man in Sandry")  # within the sentence that introduces somebody
    other = (story[:limit] + "who Was, Lisbet Corrow is the Thief. " * len(story))[: len(story)]
    outcomes = []
    for number, text in enumerate((story, other)):
        index = index_of(text, tmp_path / str(number))
        people = persons(named(story_text(index, limit), cache))
        asked = [one.name for one in people[:2]]
        outcomes.append((people, [profile(index, name, limit, cache) for name in asked]))
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0][1]) == 2
    for one in outcomes[0][1]:
        assert one.sentences
        assert all(sentence.end <= limit for sentence in one.sentences)


def test_the_relevant_are_chosen_first_and_then_those_that_are_unlike_them() -> None:
    similarity = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    # By hand: 0 has 0.7; then 1 has 0.7 x 0.9 - 0.3 x 0.9 = 0.36, and 2 has 0.7 x 0.6 = 0.42.
    assert maximal_marginal_relevance([10.0, 9.0, 6.0, 0.0], np.pad(similarity, (0, 1)), 3) == [0, 2, 1]
    assert maximal_marginal_relevance([2.0, 2.0, 2.0], np.eye(3), 5) == [0, 1, 2]
    assert maximal_marginal_relevance([], np.zeros((0, 0)), 3) == []


def test_the_command_and_the_call_tell_the_same(
    index: BookIndex,
    cache: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index_of(STORY, tmp_path)
    monkeypatch.setenv("STORYQA_CACHE", str(cache))
    store = ["--store", str(tmp_path)]
    assert run(["who", "ferry", "Mary", "--json", *store]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert run(["who", "ferry", "Mary", *store]) == 0
    assert "passage" in capsys.readouterr().out
    assert run(["who", "ferry", "Mary", "--before", str(LATER), *store]) == 2
    assert "nobody is called 'Mary'" in capsys.readouterr().err
    with serving(Settings(store=tmp_path, cache=cache, retriever="bm25", reader="overlap")) as http:
        wait_until_ready(http)
        who = "/books/ferry/who"
        assert http.get(who, params={"name": "Mary"}).json() == printed
        with Client(str(http.base_url)) as ours:
            assert ours.who("ferry", "Mary").model_dump() == printed
        unknown = problem(http.get(who, params={"name": "Petre Brown"}), 404)
        assert unknown["type"] == "urn:storyqa:problem:unknown-character"
        assert unknown["near"] == ["Peter Brown"]
        early = problem(http.get(who, params={"name": "Mary Turner", "before": str(LATER)}), 404)
        assert "near" not in early or "Mary Turner" not in early["near"]
        assert problem(http.get(who), 422)["errors"][0]["pointer"] == "query/name"
        assert (
            problem(http.get(who, params={"name": "Mary", "k": 0}), 422)["errors"][0]["pointer"] == "query/k"
        )
        wrong = problem(http.get(who, params={"name": "Mary", "before": "half"}), 422)
        assert wrong["errors"][0]["pointer"] == "query/before"
        assert problem(http.get("/books/fery/who", params={"name": "Mary"}), 404)["near"] == ["ferry"]


def test_the_examples_in_the_docs_are_quoted_from_the_story_at_their_places() -> None:
    [source] = find(str(sample_story()))
    text = read_book(source).text
    docs = (Path(__file__).parents[1] / "docs" / "who.md").read_text("utf-8")
    examples = re.findall(r"^- (.+) \*\(.*, ([\d,]+) to ([\d,]+)\)\*$", docs, re.M)
    assert docs.count("**, `--before ") == 10
    assert len(examples) > 20
    for quoted, start, end in examples:
        assert quoted == " ".join(text[int(start.replace(",", "")) : int(end.replace(",", ""))].split())
