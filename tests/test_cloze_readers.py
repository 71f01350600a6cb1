"""What every neural reader that fills blanks promises, whatever it has learnt."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import facts
import pytest

from encoders.errors import ModelError
from readers import READERS, open_reader
from readers.neural.checkpoint import Checkpoint
from readers.neural.vocabulary import Vocabulary
from readers.reading import Reading
from text.cloze import BLANK, NotACloze, cloze_tokens
from text.registry import resolve

FORMS = (
    "memn2n@self",
    "memn2n@self,hard,exclude",
    "memn2n@self,anonymous",
    "memn2n@window",
    "memn2n@sentence",
    "memn2n@lexical",
    "embedding@context",
    "embedding@position",
    "lstm-lm@context",
    "lstm-lm@query",
    "contextual-lstm",
    "deep-lstm",
    "uniform",
    "attentive",
    "impatient",
)
ASKED = facts.fifty_clozes()
READINGS = [
    Reading(q.text, tuple(ASKED.books[q.book]().text[s:e] for s, e in q.given), candidates=q.candidates)
    for q in ASKED.questions[::9]
]
ODD = {
    "candidates that stand nowhere": Reading("XXXXX slept .", ("Osk woke .",), candidates=("a b", "c")),
    "a candidate of no words": Reading("XXXXX slept .", ("Osk woke .",), candidates=("Osk", "...", "-")),
    "one candidate": Reading("Who is ____ ?", ("Osk woke .",), candidates=("Osk",)),
    "an empty passage among others": Reading("XXXXX .", ("", "Osk woke .", " "), candidates=("Osk", "woke")),
    "a long passage": Reading("a XXXXX", ("the kettle of Osk " * 400,), candidates=("kettle", "Osk")),
    "emoji": Reading("XXXXX \U0001f980", ("\U0001f980 \U0001f642",), candidates=("\U0001f980", "\U0001f642")),
}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every model with weights that are noise, in one folder."""
    folder = tmp_path_factory.mktemp("weights")
    words = sorted({t.key for q in ASKED.questions for t in cloze_tokens(ASKED.books[q.book]().text)})
    vocabulary = Vocabulary((BLANK, *words))
    sizes: dict[str, dict[str, int]] = {
        "memn2n-sentence": {"p": 6, "kind": 1},
        "memn2n-lexical": {"p": 6, "hops": 2, "n": 8},
        "embedding-position": {"p": 6, "places": 5},
    }
    for form in FORMS:
        name, _, options = form.partition("@")
        reader = resolve("reader", name, READERS)
        _, parsed = reader.parse(f"@{options}")
        small = {"p": 6} if name in ("memn2n", "embedding") else {"d": 6, "hidden": 6}
        size = sizes.get(parsed.file, small)
        net = reader.net(parsed, len(vocabulary), size)
        anonymous = {"anonymous": "anonymous" in options or name in ("attentive", "impatient")}
        made = Checkpoint(size, vocabulary, net.state_dict(), "nothing", options=anonymous)
        made.save(folder / f"{parsed.file}.safetensors", {})
    return folder


@pytest.fixture(params=FORMS)
def reader(request: pytest.FixtureRequest, weights: Path) -> Any:
    name, _, options = request.param.partition("@")
    return open_reader(f"{name}:{weights}@{options}" if options else f"{name}:{weights}")


def test_it_answers_with_the_candidates_best_first_and_cites_a_mention(reader: Any) -> None:
    for reading, answers in zip(READINGS, reader.read(READINGS, 5), strict=True):
        assert sorted(answer.text for answer in answers) == sorted(reading.candidates)
        assert all(one.score >= other.score for one, other in pairwise(answers))
        assert sum(answer.confidence for answer in answers) == pytest.approx(1, abs=1e-4)
        for answer in answers:
            assert answer.span is not None
            passage = reading.passages[answer.span.passage]
            assert passage[answer.span.start : answer.span.end] == answer.text


def test_it_ranks_as_it_answers_and_a_batch_reads_as_one_at_a_time(reader: Any) -> None:
    for reading, answers in zip(READINGS, reader.read(READINGS, 5), strict=True):
        [alone] = reader.read([reading], 5)
        assert [answer.text for answer in alone] == [answer.text for answer in answers]
        ranks = dict(zip(reading.candidates, reader.rank(reading, reading.candidates), strict=True))
        assert [ranks[answer.text] for answer in answers] == pytest.approx(
            [answer.score for answer in answers], rel=1e-3, abs=1e-4
        )


@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_read_like_any_other(reader: Any, name: str) -> None:
    [answers] = reader.read([ODD[name]], 9)
    assert {answer.text for answer in answers} == set(ODD[name].candidates)
    assert all(score == score for score in reader.rank(ODD[name], ODD[name].candidates))


def test_nothing_to_read_or_no_blank_is_no_answer(reader: Any) -> None:
    assert reader.read([Reading("XXXXX .", ("", " "), candidates=("Osk",))]) == [[]]
    assert reader.rank(Reading("XXXXX .", (), candidates=("Osk",)), ["Osk"]) == [0.0]
    with pytest.raises(NotACloze):
        reader.read([Reading("Who?", ("Osk .",), candidates=("Osk",))])


def test_the_words_of_the_query_are_ruled_out_where_asked(weights: Path) -> None:
    reading = Reading("Osk told XXXXX .", ("Osk saw Anna . Osk slept .",), candidates=("Osk", "Anna"))
    reader = open_reader(f"memn2n:{weights}@self,hard,exclude")
    assert reader.read([reading])[0][0].text == "Anna"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("memn2n:{}@self,notime", "train cbt --system memn2n@self,notime --data"),
        ("memn2n:{}@loud", "no option 'loud'; wanted self, window"),
        ("memn2n:{}@self,window", "two are named: self, window"),
        ("attentive:{}@self", "no option 'self'; it has none"),
        ("lstm-lm", "train cbt --system lstm-lm --data"),
    ],
)
def test_a_name_that_leads_to_nothing_says_what_to_do(name: str, said: str, weights: Path) -> None:
    with pytest.raises(ModelError, match=said):
        open_reader(name.format(weights))
