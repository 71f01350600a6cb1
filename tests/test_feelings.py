"""How somebody feels, in a word: which questions ask it, and what is believed, learnt and given."""

from __future__ import annotations

import json
from pathlib import Path

import folktales
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from encoders.adapters import file_hash
from encoders.cross_encoder import WEIGHTS as ENCODER_WEIGHTS
from encoders.cross_encoder import EncodedWindow, load_crossencoder
from encoders.errors import ModelError
from encoders.sizes import LARGE, weights_folder
from encoders.windows import Window
from readers.default.auto import AutoReader
from readers.default.feelings import SPANS_SHARE, WEIGHTS, Feelings, felt_state, most_relevant
from readers.default.span import Believed, believed, candidate_spans
from readers.reading import Reading
from service.cli import run
from text.question_kinds import asks_feeling
from training.objectives.feelings import fit_words

FELT = Reading("How did the baker feel?", folktales.GOOSE)
WHO = Reading("Who was asleep on the moon?", folktales.GOOSE)


@pytest.fixture(scope="module")
def auto() -> AutoReader:
    return AutoReader.load(None)


def _naming(auto: AutoReader, words: tuple[str, ...], sure: float) -> AutoReader:
    """The reader with a model that always says the first of these words, by a chance that ``sure`` makes."""
    width = 2 * auto.encoder.base.width
    bias = np.array([sure, *[0.0] * (len(words) - 1)], dtype=np.float32)
    feelings = Feelings(words, np.zeros((len(words), width), dtype=np.float32), bias, "made up")
    return AutoReader(auto.encoder, auto._writer, auto._selector, None, feelings)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("How did Maud feel?", True),
        ("How does the ferryman feel about crossing at night?", True),
        ("When the lamp went out, how did she feel?", True),
        ("how was Osk feeling", True),
        ("How will everyone\nfeel then?", True),
        ("What did she feel in the bag?", False),
        ("Why did Maud feel lonely?", False),
        ("How did she get there?", False),
        ("How did they fell the tree?", False),
        ("How feeling is she?", False),
    ],
)
def test_a_question_asks_how_somebody_feels(question: str, asks: bool) -> None:
    assert asks_feeling(question) is asks


def test_only_a_question_about_a_feeling_is_answered_with_such_a_word(auto: AutoReader) -> None:
    naming = _naming(auto, ("homesick", "merry"), 9.0)
    plain = AutoReader(auto.encoder, auto._writer, auto._selector)
    assert naming.read([WHO], 5) == plain.read([WHO], 5)
    ((felt,),) = naming.read([FELT])
    assert (felt.text, felt.span) == ("homesick", None)
    [prepared] = naming.prepare([FELT])
    assert felt.support == candidate_spans(prepared)[0].span
    ((spoken,),) = plain.read([FELT])
    assert spoken.span is not None
    assert naming.read([Reading(FELT.question, ()), Reading(FELT.question, (" ",))]) == [[], []]


def test_a_word_that_the_passage_has_is_cited_where_it_stands(auto: AutoReader) -> None:
    reading = Reading("How did Wilm feel?", ("Wilm crossed the river. She was proud of that, and said so.",))
    ((best, *_),) = _naming(auto, ("proud", "merry"), 9.0).read([reading], 5)
    assert best.text == "proud"
    assert best.span is not None
    assert reading.passages[0][best.span.start : best.span.end] == "proud"


@given(sure=st.floats(-9, 9))
def test_what_is_believed_of_words_and_spans_is_one_whole(auto: AutoReader, sure: float) -> None:
    feelings = _naming(auto, ("merry", "sad", "afraid"), sure)._feelings
    assert feelings is not None
    [prepared] = auto.prepare([FELT])
    spans = believed(prepared, candidate_spans(prepared))
    both = feelings.beside(spans, prepared)
    assert sum(both.chances) == pytest.approx(1)
    count = len(spans.texts)
    assert both.chances[:count] == pytest.approx(SPANS_SHARE * spans.chances)
    weights = np.exp([sure, 0, 0])
    assert both.chances[count:] == pytest.approx((1 - SPANS_SHARE) * weights / weights.sum())
    alone = feelings.beside(Believed([], np.zeros(0), []), prepared)
    assert alone.texts == ["merry", "sad", "afraid"]
    assert sum(alone.chances) == pytest.approx(1)
    assert most_relevant(Reading(FELT.question, ())) is None


def test_the_states_are_the_same_from_torch() -> None:
    rng = np.random.default_rng(2)
    states = rng.normal(size=(6, 4)).astype(np.float16)
    window = Window(0, [1] * 6, [0] * 6, 2, [(0, 1), (2, 3), (4, 5)], [0, 1, 2], [0, 0, 0])
    start = np.log(np.array([1.0, 2.0, 1.0], dtype=np.float32))
    found = [
        felt_state(EncodedWindow(window, start, start, 0.0, one))
        for one in (states.astype(np.float32), torch.from_numpy(states))
    ]
    expected = np.concatenate([states[0], states[2] / 4 + states[3] / 2 + states[4] / 4])
    assert found[0] == pytest.approx(found[1])
    assert found[0] == pytest.approx(expected, abs=2e-3)


def test_the_words_are_learnt_from_states_that_tell_them_apart() -> None:
    rng = np.random.default_rng(5)
    words = ("sad", "merry", "proud")
    which = rng.integers(0, 3, 300)
    states = (rng.normal(size=(300, 8)) + 4 * np.eye(3, 8)[which]).astype(np.float32) * 7 + 100
    answers = [(f"{words[n].title()}.", "a long answer") for n in which] + [("furious",)] * 40
    states = np.concatenate([states, rng.normal(size=(40, 8)).astype(np.float32)])
    states += 5_000  # as some of an encoder's are: a weight that is rounded behind the bias misses by more
    weight, bias = fit_words(states, answers, words)
    assert (weight.shape, bias.shape) == ((3, 8), (3,))
    assert (weight == weight.astype(np.float16)).all()
    assert (np.argmax(states[:300] @ weight.T + bias, 1) == which).mean() > 0.9
    two, bias = fit_words(states[:300], [("sad",) if n else ("merry",) for n in which], ("sad", "merry"))
    said = np.argmax(states[:300] @ two.T + bias, 1)
    assert ((said == 0) == (which > 0)).mean() > 0.9


def test_several_right_words_share_what_is_believed() -> None:
    states = np.ones((30, 2), dtype=np.float32)
    weight, bias = fit_words(states, [("sad", "upset")] * 15 + [("sad",)] * 15, ("sad", "upset"))
    scores = states[0] @ weight.T + bias
    assert np.exp(scores[0] - scores[1]) == pytest.approx(3, rel=0.01)  # 22.5 to 7.5


@pytest.mark.parametrize("size", [None, LARGE])
def test_what_is_shipped_reads_the_states_of_the_shipped_encoder(size: str | None) -> None:
    from safetensors import safe_open

    path = weights_folder("readers.weights", size) / WEIGHTS
    with safe_open(path, "np") as file:
        known = file.metadata()
    assert known["encoder"] == file_hash(weights_folder("encoders.weights", size) / ENCODER_WEIGHTS)[:12]
    words = json.loads(known["words"])
    assert len(words) == len({*words}) == 60
    assert all(word.isalpha() and word == word.lower() for word in words)
    assert load_file(path)["weight"].shape[0] == len(words)


def test_the_version_tells_other_words_apart(auto: AutoReader) -> None:
    assert auto.version is not None
    assert auto.version.endswith(file_hash(weights_folder("readers.weights", None) / WEIGHTS)[:12])


def test_what_belongs_to_another_encoder_or_is_broken_is_refused(tmp_path: Path) -> None:
    encoder = load_crossencoder()
    assert Feelings.load(str(tmp_path), encoder) is None
    tensors: dict[str, NDArray[np.floating]] = {
        "weight": np.ones((2, 4), dtype=np.float16),
        "bias": np.zeros(2, dtype=np.float32),
    }
    info = {"words": '["sad", "merry"]', "encoder": "another"}
    save_file(tensors, tmp_path / WEIGHTS, info)
    with pytest.raises(ModelError, match=r"encoder another.*storyqa train feelings"):
        Feelings.load(str(tmp_path), encoder)
    save_file(tensors, tmp_path / WEIGHTS, info | {"encoder": encoder.version})
    read = Feelings.load(str(tmp_path), encoder)
    assert read is not None
    assert (read.words, read.version) == (("sad", "merry"), file_hash(tmp_path / WEIGHTS)[:12])
    assert (read.weight.sum(), read.bias.sum()) == (8, 0)
    for broken in (b"{", (tmp_path / WEIGHTS).read_bytes()[:-3]):
        (tmp_path / WEIGHTS).write_bytes(broken)
        with pytest.raises(ModelError, match="cannot be read"):
            Feelings.load(str(tmp_path), encoder)


@pytest.mark.training
def test_the_command_leaves_weights_and_a_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = folktales.write_many_tales(tmp_path / "data", "train", stories=12, felt=True)
    out = tmp_path / "out"
    start = weights_folder("encoders.weights", None)
    command = ["train", "feelings", "--start", str(start), "--out", str(out), "--json"]
    assert run([*command, "--data", str(data)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["weights"] == [str(out / WEIGHTS)]
    assert report["held_out"]["words"] == 1.0  # the stories held out are among the others by another name
    learnt = Feelings.load(str(out), load_crossencoder(str(start)))
    assert learnt is not None
    assert {*learnt.words} == {"unhappy", "tired", "content", "happy", "proud", "merry"}
    card = (out / WEIGHTS).with_suffix(".md").read_text(encoding="utf-8")
    assert load_crossencoder(str(start)).version in card
    assert "6 words" in card
    plain = folktales.write_many_tales(tmp_path / "plain", "train", stories=12)
    assert run([*command, "--data", str(plain)]) == 2
    assert "0 words answer questions about feelings" in capsys.readouterr().err
