"""The paper's IR baselines and its random ranking, beyond what every reader promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server import serving

from encoders.errors import ModelError
from indexing.store import IndexStore
from readers import open_reader
from readers.baselines.similarity import CosineReader, SimilarityReader
from readers.baselines.similarity_options import SimilarityOptions, parse_options
from readers.reading import NeedsReferences, Reading
from service.settings import Settings

PASSAGES = (
    "Maud hid the lamp in a hollow oak. The ferryman, who was old, saw nothing of it.",
    "At night the river rose and took the landing. Maud came back for the lamp.",
)


def test_the_sentence_nearest_the_question_is_the_answer() -> None:
    [[answer]] = open_reader("ir-bleu1").read([Reading("What took the landing at night?", PASSAGES)])
    assert answer.text == "At night the river rose and took the landing."


def test_spans_have_the_tokens_asked_for_and_a_tie_goes_to_the_earlier() -> None:
    [[answer]] = open_reader("ir-rouge-l@span=4").read([Reading("Who had the lamp?", PASSAGES)])
    assert answer.text == "Maud hid the lamp"


@pytest.mark.parametrize("name", ["ir-bleu1", "ir-rouge-l", "ir-cosine:{glove}"])
def test_an_oracle_finds_the_answer_with_room_for_its_end_marker(name: str, tiny_glove: Path) -> None:
    oracle = open_reader(name.format(glove=tiny_glove) + "@query=answer")
    reading = Reading("Who saw nothing?", PASSAGES, ("the ferryman", "not read"))
    [[answer]] = oracle.read([reading])
    assert "ferryman" in answer.text
    assert len(answer.text.replace(",", " ,").split()) == 3
    assert isinstance(oracle, SimilarityReader)
    assert max(oracle.rank(reading, ["Maud", "the ferryman", "a hollow oak"])) == pytest.approx(1)
    assert oracle.rank(reading, ["the ferryman"])[0] == pytest.approx(1)


def test_other_vectors_in_the_file_are_another_version(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    versions = []
    for vectors in ("maud 1 0\nlamp 0 1\n", "maud 0 1\nlamp 1 0\n"):
        path.write_text(vectors, "utf-8")
        versions.append(CosineReader.load(str(path)).version)
    assert None not in versions
    assert versions[0] != versions[1]
    assert CosineReader.load(f"{path}@span=4").version == versions[1]


def test_of_equals_the_first_is_taken_or_any_but_always_the_same() -> None:
    passages = tuple(f"Maud saw ship {number}." for number in ["one", "two", "three", "four", "five", "six"])
    asked = [Reading("Maud? " + "Why? \ud800" * n, passages) for n in range(20)]
    first = open_reader("ir-bleu1@span=2").read(asked)
    assert {found[0].text for found in first} == {"Maud saw"}
    assert {found[0].span for found in first} == {first[0][0].span}
    drawn = open_reader("ir-bleu1@span=2,ties=random").read(asked)
    assert [found[0].score for found in drawn] == [found[0].score for found in first]
    assert len({found[0].span for found in drawn}) > 1
    assert open_reader("ir-bleu1@span=2,ties=random").read(asked[::-1]) == drawn[::-1]
    several = open_reader("ir-bleu1@span=2,ties=random").read(asked[:1], n_best=9)[0]
    assert [answer.score for answer in several] == sorted((a.score for a in several), reverse=True)
    assert several[0].score == first[0][0].score


@pytest.mark.parametrize("name", ["ir-bleu1", "ir-rouge-l"])
def test_to_an_oracle_the_end_of_the_text_is_a_token_that_is_never_said(name: str) -> None:
    oracle = open_reader(f"{name}@query=answer")
    for passages in (("Ann ran.", "She met Carl"), ("Ann ran.", "She met Carl \n", "", " ")):
        ((last,), (inside,)) = oracle.read([Reading("", passages, (name,)) for name in ("Carl", "Ann")])
        assert last.text == "Carl"
        assert last.score == pytest.approx(1)
        assert inside.text == "Ann ran"
        assert inside.score < 1
        for answer in (last, inside):
            place = answer.span
            assert place is not None
            assert passages[place.passage][place.start : place.end] == answer.text
    assert oracle.read([Reading("", ("", " "), ("Carl",))]) == [[]]


def test_an_oracle_that_is_not_told_the_answer_says_what_to_do() -> None:
    with pytest.raises(NeedsReferences, match=r"'ir-rouge-l' is an oracle.*Leave out query=answer"):
        open_reader("ir-rouge-l@query=answer").read([Reading("Who?", PASSAGES)])


def test_what_is_asked_does_not_matter_to_an_oracle_nor_the_answer_to_the_others() -> None:
    told = Reading("Who?", PASSAGES, ("a hollow oak",))
    other = Reading("Where?", PASSAGES, ("a hollow oak",))
    oracle = open_reader("ir-rouge-l@query=answer,span=4")
    assert oracle.read([told]) == oracle.read([other])
    reader = open_reader("ir-rouge-l@span=4")
    assert reader.read([told]) == reader.read([Reading("Who?", PASSAGES)])


@pytest.mark.parametrize(
    ("argument", "takes_path", "wanted"),
    [
        (None, False, SimilarityOptions("sentence", "question", None)),
        ("@span=8", False, SimilarityOptions("8", "question", None)),
        ("@query=answer", False, SimilarityOptions("answer", "answer", None)),
        ("@span=4,query=answer", False, SimilarityOptions("4", "answer", None)),
        (
            "a@b/glove.txt@query=answer,span=sentence",
            True,
            SimilarityOptions("sentence", "answer", "a@b/glove.txt"),
        ),
        ("@ties=random", False, SimilarityOptions("sentence", "question", None, "random")),
        ("a@b=c/glove.txt", True, SimilarityOptions("sentence", "question", "a@b=c/glove.txt")),
    ],
)
def test_options_stand_behind_the_last_at_sign(
    argument: str, takes_path: bool, wanted: SimilarityOptions
) -> None:
    assert parse_options("ir", argument, "sentence", takes_path) == wanted


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ir-bleu1:model", "has no model, so 'model' means nothing; write ir-bleu1@span=4,query=answer"),
        ("ir-bleu1@width=4", "no option 'width'; wanted span, query or ties"),
        ("ir-bleu1@ties=last", "ties=last for 'ir-bleu1'; wanted first or random"),
        ("ir-rouge-l@span=0", "span=0 for 'ir-rouge-l'; wanted 1 to 100 tokens, sentence or answer"),
        ("ir-rouge-l@span=²", "wanted 1 to 100 tokens"),
        ("ir-rouge-l@query=oracle", "query=oracle for 'ir-rouge-l'; wanted question or answer"),
        ("ir-rouge-l@span=answer", "needs query=answer"),
        ("ir-cosine", "needs word vectors: write ir-cosine:PATH"),
        ("ir-cosine@span=4", "needs word vectors: write ir-cosine:PATH"),
        ("ir-cosine:nowhere/glove.txt", "nowhere/glove.txt holds no word vectors"),
        ("random-rank:7", "has no model"),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_what_would(name: str, says: str) -> None:
    with pytest.raises(ModelError) as error:
        open_reader(name)
    assert says in str(error.value)


@settings(deadline=None)
@given(st.text(), st.lists(st.text(), max_size=5))
def test_chance_prefers_the_same_every_time(question: str, candidates: list[str]) -> None:
    reader = open_reader("random-rank")
    scores = reader.rank(Reading(question, ()), candidates)  # type: ignore[attr-defined]
    assert scores == reader.rank(Reading(question, ("other",)), candidates)  # type: ignore[attr-defined]
    assert all(0 <= score < 1 for score in scores)


def test_over_http_an_oracle_is_a_problem_of_the_request(shelf_store: IndexStore) -> None:
    settings = Settings(store=shelf_store.root, readers=("ir-bleu1@query=answer",), reader="overlap")
    with serving(settings) as client:
        asked = {"book_id": shelf_store.ids()[0], "question": "Who won?", "reader": "ir-bleu1@query=answer"}
        answer = client.post("/answer", json={**asked, "retriever": "bm25"})
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:storyqa:problem:needs-references"
    assert "is an oracle" in answer.json()["detail"]
