"""What every reader of the table promises."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tiny_models import PROPERTY_SIZES

from encoders.backbone import SMOLLM2
from encoders.errors import ModelError
from evaluation.worlds.stories import Asked, Story
from readers import READERS, kind_of, open_reader, spec_of
from readers.reading import Answer, NeedsReferences, Reading
from text.equal_answers import answer_key
from text.registry import import_object, resolve
from training.objectives.babi_systems import BabiRun, system_of

FERRY = (
    "Maud carried the blue lamp over the hill. The ferryman could not see the far bank without it.",
    "One night it rained so hard that the river took the landing! She hid the lamp in a hollow oak and "
    "walked home in the dark, singing to herself because there was nobody else to sing to.",
    "The door stood open. Her sisters had gone after a white goose that spoke like a judge.",
)
READINGS = (
    Reading("Where did Maud hide the lamp?", FERRY),
    Reading("Who spoke like a judge?", FERRY[2:]),
    Reading("Why could the ferryman not see?", FERRY[:1]),
    Reading("What took the landing?", tuple(reversed(FERRY))),
    Reading("Where did Maud hide the lamp?", FERRY[:2]),
)
LONG = " ".join(random.Random(7).choices(" ".join(FERRY).split(), k=5_000))
ODD = {
    "no question": Reading("", FERRY),
    "a question of spaces": Reading(" \n ", FERRY),
    "a question of 1,000 words": Reading("where did she go and " * 200, FERRY),
    "an empty passage among others": Reading("Who laughed?", ("", FERRY[0], "  \n ")),
    "a passage of 5,000 words": Reading("What was hollow?", (FERRY[0], LONG)),
    "one word of 5,000 letters": Reading("Who?", ("o" * 5_000,)),
    "fifty passages": Reading("Who sang?", tuple(FERRY[i % 3] for i in range(50))),
    "emoji": Reading("Who is \U0001f980?", ("The \U0001f980\U0001f3fd\u200d\U0001f30a waved. \U0001f642!",)),
    "right to left": Reading("من أغلق الباب؟", ("أغلقت مريم الباب ثم نامت.", "הדלת נשארה סגורה.")),
    "letters in two code points": Reading(
        "Who is Zoe\u0308?", ("Zoe\u0308 is the baker\u2019s nie\u0301ce.",)
    ),
    "punctuation alone": Reading("?", ("... --- !!!",)),
    "no text of its own": Reading("\x00\ufffd", ("\u200b\ufeff \x07 \ufffd",)),
}
NOTHING = {
    "no passages": Reading("Who?", ()),
    "empty passages": Reading("Who?", ("", "")),
    "passages of spaces": Reading("Who?", (" ", "\n\t\u00a0")),
}
NAMES = {
    "overlap": "overlap",
    "auto": "auto",
    "span, shipped": "span",
    "generate": "generate",
    "span": "span:{tiny_bert}",
    "seq2seq, T5": "seq2seq:{tiny_t5}",
    "seq2seq, BART": "seq2seq:{tiny_bart}",
    "seq2seq, beams": "seq2seq:{tiny_t5}@beams=3",
    "write": "write:{tiny_write}",
    "auto-write": "auto-write:{tiny_write}",
    "chat": "chat:{chat_url}@model=parrot",
    "ir-bleu1": "ir-bleu1",
    "ir-bleu1, 4 tokens": "ir-bleu1@span=4",
    "ir-rouge-l": "ir-rouge-l",
    "ir-cosine": "ir-cosine:{tiny_glove}@span=8",
    "random-rank": "random-rank",
    "cloze-frequency": "cloze-frequency",
    "cloze-frequency, exclusive": "cloze-frequency@exclusive",
    "cloze-frequency, corpus": "cloze-frequency:{tiny_counts}@corpus",
    "cloze-sliding": "cloze-sliding",
    "cloze-distance": "cloze-distance",
    "cloze-frames": "cloze-frames",
    "kneser-ney": "kneser-ney:{tiny_counts}",
    "kneser-ney, cache": "kneser-ney:{tiny_counts}@cache=0.1",
    **{
        name: f"{name}:{{tiny_paper}}"
        for name, spec in READERS.items()
        if spec.where.startswith("readers.neural.") and spec.ranks and not spec.cloze
    },
    **{name: f"{name}:{{tiny_facts}}" for name in ("babi-ngram", "babi-lstm", "babi-svm")},
    **{name: f"{name}:{{tiny_properties}}" for name in PROPERTY_SIZES},
    "memnn": "memnn:{tiny_facts}/memnn@am,ng,nl",
}


@pytest.fixture(scope="session")
def tiny_facts(tiny_counts: Path) -> Path:
    """The folder of ``tiny_counts``, with what the readers of facts learn of the readings' own texts."""
    wanted = ("oak", "goose", "lamp", "river", "oak")
    questions = tuple(
        Asked(reading.question, (answer,), (0,), 3) for reading, answer in zip(READINGS, wanted, strict=True)
    )
    for name in (name for name in NAMES if "{tiny_facts}" in NAMES[name]):
        system, options = system_of(name + NAMES[name].partition("}")[2].removeprefix("/memnn"))
        out = tiny_counts / "memnn" if name == "memnn" else tiny_counts
        import_object(system.where)(BabiRun({1: [Story(FERRY, questions)]}, options, out, "tales", seed=1))
    return tiny_counts


class Blanked:
    """A reader of clozes that is asked what the others are, with a blank, and candidates for it."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.oracle = reader.oracle

    def read(self, readings: Iterable[Reading], n_best: int = 1) -> Any:
        return self._reader.read([blanked(reading) for reading in readings], n_best)

    def rank(self, reading: Reading, candidates: list[str]) -> Any:
        return self._reader.rank(blanked(reading), candidates)


def blanked(reading: Reading) -> Reading:
    choice = reading.candidates or ("Maud", "oak", "the", "hollow oak", "blue lamp", "MAUD", "ox")
    return replace(reading, question=f"{reading.question} XXXXX", candidates=choice)


def opened(request: pytest.FixtureRequest) -> Any:
    name = NAMES[request.param]
    places = re.findall(r"{(\w+)}", name)
    found = open_reader(name.format(**{place: request.getfixturevalue(place) for place in places}))
    return Blanked(found) if spec_of(name).cloze else found


# Shipped models, which take minutes for all of this.
SHIPPED = {"auto", "generate", "span, shipped"}


def parameters(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.shipped] * (name in SHIPPED)) for name in names]


@pytest.fixture(params=parameters(NAMES))
def reader(request: pytest.FixtureRequest) -> Any:
    return opened(request)


@pytest.fixture(params=parameters(name for name in NAMES if spec_of(NAMES[name]).ranks))
def ranker(request: pytest.FixtureRequest) -> Any:
    return opened(request)


def same(some: list[Answer], others: list[Answer]) -> bool:
    """Equal but for rounding: padding changes the order in which a GPU or BLAS adds."""
    return [(a.text, a.span) for a in some] == [(a.text, a.span) for a in others] and (
        [a.score for a in some] == pytest.approx([a.score for a in others], rel=1e-3, abs=1e-4)
    )


def check(reading: Reading, answers: list[Answer], n_best: int) -> None:
    assert len(answers) <= n_best
    assert [a.score for a in answers] == sorted((a.score for a in answers), reverse=True)
    for answer in answers:
        assert answer.text.strip()
        assert 0.0 <= answer.confidence <= 1.0
        assert answer.note is None or answer.note.strip()
        if answer.support is not None:
            assert answer.support.end <= len(reading.passages[answer.support.passage])
        if answer.span is not None:
            passage = reading.passages[answer.span.passage]
            assert answer.text == passage[answer.span.start : answer.span.end]
    keys = [answer_key(answer.text) for answer in answers]
    assert len(keys) == len(set(keys))
    for answer in answers:
        for place in answer.also:
            assert place.end <= len(reading.passages[place.passage])
            assert place != (answer.span or answer.support)
            if answer.span is not None:
                there = reading.passages[place.passage][place.start : place.end]
                assert answer_key(answer.text) in answer_key(there)
    spans = [answer.span for answer in answers if answer.span is not None]
    for one, other in combinations(spans, 2):
        assert one.passage != other.passage or one.end <= other.start or other.end <= one.start


def test_every_reader_of_the_table_is_under_contract() -> None:
    # Networks that fill blanks and answer no other question have a contract of their own: test_cloze_readers.
    others = {n for n, one in READERS.items() if one.cloze and one.where.startswith("readers.neural.")}
    assert {kind_of(name) for name in NAMES.values()} == set(READERS) - others


@pytest.mark.parametrize("name", READERS)
def test_a_reader_ranks_where_its_record_says_so(name: str) -> None:
    assert hasattr(resolve("reader", name, READERS), "rank") == READERS[name].ranks


@pytest.mark.parametrize("name", READERS)
def test_the_name_alone_opens_what_is_shipped_and_weights_tell_their_version_and_training(name: str) -> None:
    spec = READERS[name]
    if name.endswith("write") and not SMOLLM2.is_installed:
        with pytest.raises(ModelError, match="storyqa models fetch smollm2 --from FOLDER"):
            open_reader(name)
    elif spec.shipped:
        reader = open_reader(name)
        assert reader.version
        assert bool(reader.trained_on) == spec.trained
    elif spec.written[0] == name:
        assert open_reader(name).version is None  # it has no weights
    else:
        with pytest.raises(ModelError, match=f"{name}.*(needs|write|wanted|train it)"):
            open_reader(name)


def test_an_oracle_is_one_by_the_option_of_its_record(reader: Any, request: pytest.FixtureRequest) -> None:
    name = NAMES[request.node.callspec.params["reader"]]
    assert not reader.oracle
    option = spec_of(name).oracle
    if option is not None:
        places = {"tiny_glove": request.getfixturevalue("tiny_glove")}
        oracle = open_reader(f"{name.partition('@')[0].format(**places)}@{option}")
        assert oracle.oracle
        with pytest.raises(NeedsReferences):
            oracle.read(READINGS[:1])
        assert oracle.read([replace(READINGS[0], references=("a hollow oak",))])[0]


def test_given_candidates_those_who_choose_among_them_answer_with_one_of_them(
    reader: Any, request: pytest.FixtureRequest
) -> None:
    if spec_of(NAMES[request.node.callspec.params["reader"]]).candidates:
        choice = replace(READINGS[0], candidates=("Maud", "a hollow oak", "the ferry"))
        assert reader.read([choice])[0][0].text in choice.candidates


@pytest.mark.parametrize("name", [name for name in READERS if READERS[name].model == "none"])
def test_a_reader_without_a_model_loads_no_network(name: str, tiny_glove: Any, tiny_facts: Any) -> None:
    full = READERS[name].written[0].replace("VECTORS", str(tiny_glove)).replace("DIR", str(tiny_facts))
    code = (
        "import sys; from readers import open_reader; from readers.reading import Reading;"
        f"open_reader({full!r}).read([Reading('Who? ____', ('Maud.',))]);"
        "print(*{'torch', 'transformers'}.intersection(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize("n_best", [1, 2, 10])
def test_answers_stand_where_their_spans_say_best_first(reader: Any, n_best: int) -> None:
    for reading, answers in zip(READINGS, reader.read(READINGS, n_best), strict=True):
        assert answers
        check(reading, answers, n_best)


@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_read_like_any_other(reader: Any, name: str) -> None:
    [answers] = reader.read([ODD[name]], 3)
    check(ODD[name], answers, 3)


@pytest.mark.parametrize("name", NOTHING)
def test_no_answer_where_there_is_nothing_to_read(reader: Any, name: str) -> None:
    assert reader.read([NOTHING[name]], 3) == [[]]


def test_no_readings_have_no_answers(reader: Any) -> None:
    assert reader.read([], 3) == []


def test_fewer_than_one_answer_is_refused(reader: Any) -> None:
    with pytest.raises(ValueError, match="n_best 0"):
        reader.read(READINGS, 0)


def test_a_batch_answers_as_one_reading_at_a_time(reader: Any) -> None:
    mixed = [*READINGS, *NOTHING.values(), ODD["a passage of 5,000 words"]]
    for reading, together in zip(mixed, reader.read(mixed, 2), strict=True):
        [alone] = reader.read([reading], 2)
        assert same(alone, together), reading.question


def test_the_order_of_readings_does_not_matter(reader: Any) -> None:
    forwards = reader.read(READINGS, 2)
    backwards = reader.read(READINGS[::-1], 2)[::-1]
    assert all(map(same, forwards, backwards))


def test_reading_twice_gives_the_same(reader: Any) -> None:
    assert reader.read(READINGS, 3) == reader.read(READINGS, 3)


def test_the_best_answer_does_not_depend_on_how_many_are_wanted(reader: Any) -> None:
    best, several = reader.read(READINGS, 1), reader.read(READINGS, 3)
    assert all(same(one, more[:1]) for one, more in zip(best, several, strict=True))


def test_each_candidate_is_ranked_by_itself(ranker: Any) -> None:
    candidates = [
        "a hollow oak",
        "",
        "the ferryman",
        "Nobody answered, for nobody knew the law.",
        "a hollow oak",
    ]
    scores = ranker.rank(READINGS[0], candidates)
    assert scores[0] == pytest.approx(scores[4], rel=1e-4)
    assert ranker.rank(READINGS[0], candidates[::-1]) == pytest.approx(scores[::-1], rel=1e-3, abs=1e-4)
    for candidate, score in zip(candidates, scores, strict=True):
        assert ranker.rank(READINGS[0], [candidate]) == pytest.approx([score], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", [*ODD, *NOTHING])
def test_ranking_odd_texts_gives_a_number_per_candidate(ranker: Any, name: str) -> None:
    scores = ranker.rank({**ODD, **NOTHING}[name], ["Maud", "\U0001f980", "word " * 300])
    assert len(scores) == 3
    assert all(isinstance(score, float) and score == score for score in scores)


def test_no_candidates_have_no_ranks(ranker: Any) -> None:
    assert ranker.rank(READINGS[0], []) == []


def test_a_reader_is_opened_once_per_settings(tiny_t5: Any) -> None:
    plain, beams = open_reader(f"seq2seq:{tiny_t5}"), open_reader(f"seq2seq:{tiny_t5}", num_beams=2)
    assert plain is not beams
    assert open_reader(f"seq2seq:{tiny_t5}") is plain
    assert open_reader(f"seq2seq:{tiny_t5}", num_beams=2) is beams


def test_a_reader_is_opened_once_however_many_ask_for_it_together(tiny_t5: Any) -> None:
    name = f"seq2seq:{tiny_t5}@beams=2"
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(open_reader, [name] * 8))
    assert len({id(reader) for reader in opened}) == 1


def test_readers_may_be_used_from_several_threads(reader: Any) -> None:
    alone = reader.read(READINGS, 2)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda reading: reader.read([reading], 2)[0], READINGS * 2))
    assert all(map(same, alone * 2, together))
