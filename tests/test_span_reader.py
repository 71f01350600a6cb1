"""The default reader: its windows, its decoding, and its scores."""

from __future__ import annotations

import re
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from encoders.backbone import load_tokenizer
from encoders.cross_encoder import EncodedWindow
from encoders.errors import ModelError
from encoders.windows import Window, Windower
from readers.default.span import (
    SENTENCE_COST,
    WORD_COST,
    Candidate,
    SpanReader,
    candidate_spans,
    expected_f1,
    pool,
    probabilities,
    window_candidates,
)
from readers.reading import Reading, Span

TALE = "The cooper of Vane kept seven geese. One winter's night, a fox took the grey one. " * 40


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load_tokenizer()


@pytest.mark.parametrize(("longest", "overlap"), [(64, 16), (128, 40), (384, 64)])
def test_every_word_of_a_long_passage_lies_in_a_window(
    tokenizer: Tokenizer, longest: int, overlap: int
) -> None:
    (windows,) = Windower(tokenizer, longest, overlap)([("Who took the goose?", (TALE,))])
    covered = {i for window in windows for start, end in window.offsets for i in range(start, end)}
    assert all(i in covered for i, c in enumerate(TALE) if not c.isspace())
    assert all(len(window.ids) <= longest for window in windows)


def test_a_question_longer_than_a_window_leaves_room_for_the_passage(tokenizer: Tokenizer) -> None:
    (windows,) = Windower(tokenizer, 64, 16)([("why " * 500, (TALE,))])
    assert windows[0].offsets
    assert all(len(window.ids) <= 64 for window in windows)


def test_blank_passages_have_no_windows_and_keep_their_numbers(tokenizer: Tokenizer) -> None:
    (windows,) = Windower(tokenizer)([("Who?", ("", " \n", "The fox."))])
    assert [window.passage for window in windows] == [2]


@pytest.mark.parametrize("model", ["tiny_bert", "tiny_t5", "tiny_bart"])
@pytest.mark.parametrize("text", ["The fox slept. ", " \n A fox", "Fox.\n\n Goose? \n", "\u00e9 \U0001f98a "])
def test_space_at_either_end_is_read_with_any_tokenizer(
    request: pytest.FixtureRequest, model: str, text: str
) -> None:
    tokenizer = Tokenizer.from_file(str(request.getfixturevalue(model) / "tokenizer.json"))
    ((window,),) = Windower(tokenizer)([("Who?", (text,))])
    assert len(window.words) == len(window.sentences) == len(window.offsets) > 0
    assert window.sentences == sorted(window.sentences)


def _encoded(window: Window, start: NDArray[np.float32], end: NDArray[np.float32]) -> EncodedWindow:
    return EncodedWindow(window, start, end, 0.0, torch.zeros(0, 0))


def _window(words: int) -> Window:
    return Window(0, [], [], 0, [(3 * i, 3 * i + 2) for i in range(words)], list(range(words)), [0] * words)


@settings(max_examples=60)
@given(st.data())
def test_the_best_span_is_the_one_that_a_search_of_all_spans_finds(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    scores = st.lists(st.floats(-9, 9, width=32), min_size=n, max_size=n)
    start, end = (np.array(data.draw(scores), dtype=np.float32) for _ in range(2))
    longest = data.draw(st.integers(1, 6))
    found = window_candidates(0, _encoded(_window(n), start, end), longest, keep=n)
    everything = {
        (i, j): start[i] + end[j] - WORD_COST * (j - i + 1)
        for i, j in product(range(n), repeat=2)
        if i <= j < i + longest
    }
    assert found[0].score == pytest.approx(max(everything.values()), abs=1e-5)
    assert all(c.span.end - c.span.start <= 3 * longest for c in found)


def test_spans_begin_and_end_with_whole_words() -> None:
    window = Window(0, [], [], 0, [(0, 3), (3, 6), (7, 9)], [0, 0, 1], [0, 0, 0])
    start = np.array([0.0, 9.0, 0.0], dtype=np.float32)  # the best start is inside a word
    end = np.array([9.0, 0.0, 0.0], dtype=np.float32)  # so is the best end
    spans = {(c.span.start, c.span.end) for c in window_candidates(0, _encoded(window, start, end), 5, 9)}
    assert spans == {(0, 6), (7, 9), (0, 9)}


@pytest.mark.parametrize("untrimmed", [False, True])
@pytest.mark.parametrize("model", ["tiny_bert", "tiny_t5", "tiny_bart"])
@pytest.mark.parametrize("text", ["It was dark,  and Maud's goose\n\nslept. \n", " \u2014 lamp, lamps "])
def test_spans_are_whole_words_without_space_with_any_tokenizer(
    request: pytest.FixtureRequest, model: str, untrimmed: bool, text: str
) -> None:
    tokenizer = Tokenizer.from_file(str(request.getfixturevalue(model) / "tokenizer.json"))
    if untrimmed:  # as byte-level ones of others have it: a word's offsets begin with the space before it
        tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A $B")
    whole = Windower(tokenizer)([("Who?", (text,))])
    # Cut anywhere, too: a window may end in a token of space alone.
    for window in (*whole[0], *Windower(tokenizer, 16, 7)([("?", (text,))])[0]):
        tokens = len(window.offsets)
        scores = np.zeros(tokens, dtype=np.float32)
        found = window_candidates(0, _encoded(window, scores, scores), tokens, tokens**2)
        assert found
        for span in (one.span for one in found):
            assert text[span.start : span.end] == text[span.start : span.end].strip()
            if window in whole[0]:
                assert not any(re.match(r"\w['.,]?\w", text[i - 1 :]) for i in (span.start, span.end) if i)


@pytest.mark.parametrize("word", ["I'd", "o\u2019clock", "1,500", "3.5"])
def test_a_word_that_the_tokenizer_parts_is_not_cut(tokenizer: Tokenizer, word: str) -> None:
    text = f"Well, {word} said the fox."
    ((window,),) = Windower(tokenizer)([("What?", (text,))])
    place = range(text.index(word), text.index(word) + len(word))
    inside = [n for n, (start, _) in zip(window.words, window.offsets, strict=True) if start in place]
    assert len(inside) > 1
    assert len(set(inside)) == 1


def test_a_span_seen_from_two_windows_counts_once_with_its_better_score() -> None:
    span, other = Span(0, 0, 3), Span(1, 0, 3)
    pooled = pool([Candidate(span, 1.0), Candidate(other, 1.5), Candidate(span, 2.0)], keep=5)
    assert [(c.span, c.score) for c in pooled] == [(span, 2.0), (other, 1.5)]


def test_probabilities_are_normalised_over_all_passages() -> None:
    spans = [Candidate(Span(0, 0, 1), np.log(3.0)), Candidate(Span(7, 0, 1), np.log(1.0))]
    assert probabilities(spans) == pytest.approx([0.75, 0.25])


def test_the_expected_f1_is_the_one_counted_by_hand() -> None:
    # "the grey fox" shares 2 of 3 + 2 words with "grey fox" (F1 4/5) and none with "a goose".
    f1 = expected_f1(["The grey fox", "a goose"], ["grey fox", "a goose"], np.array([0.75, 0.25]))
    assert f1 == pytest.approx([0.75 * 0.8, 0.25])


def test_a_phrase_that_several_spans_agree_on_beats_a_likelier_lone_one() -> None:
    texts = ["the old mill", "old mill", "a boat"]
    f1 = expected_f1(texts, texts, np.array([0.32, 0.3, 0.38]))
    assert int(np.argmax(f1)) != 2


def test_scores_are_those_of_the_model_run_by_transformers(tiny_bert: Path) -> None:
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    reading = Reading("Who answered the goose?", ("Nobody answered, for nobody knew the law.",))
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    encoded = tokenizer(
        reading.question, reading.passages[0], return_tensors="pt", return_offsets_mapping=True
    )
    offsets = encoded.pop("offset_mapping")[0].tolist()
    model = AutoModelForQuestionAnswering.from_pretrained(tiny_bert).eval()
    with torch.inference_mode():
        output = model(**encoded)
    start, end = output.start_logits[0].double(), output.end_logits[0].double()
    context = [i for i, s in enumerate(encoded.encodings[0].sequence_ids) if s == 1]
    text = f" {reading.passages[0]} "  # a character more on either side
    whole = {
        (offsets[i][0], offsets[j][1]): float(start[i] + end[j])
        for i, j in product(context, repeat=2)
        if i <= j
        and not text[offsets[i][0] : offsets[i][0] + 2].isalnum()
        and not text[offsets[j][1] : offsets[j][1] + 2].isalnum()
    }
    reader = SpanReader.load(str(tiny_bert))
    candidates = candidate_spans(*reader.prepare([reading]))
    assert len(candidates) >= 10

    def cost(start: int, end: int) -> float:
        return WORD_COST * len(reading.passages[0][start:end].split())

    whole = {place: score - cost(*place) for place, score in whole.items()}
    for candidate in candidates:
        assert candidate.score == pytest.approx(whole[candidate.span.start, candidate.span.end], abs=1e-4)
    assert candidates[0].score == pytest.approx(max(whole.values()), abs=1e-4)


def test_a_span_pays_for_running_on_into_another_sentence() -> None:
    apart = Window(0, [], [], 0, [(0, 2), (3, 5)], [0, 1], [0, 1])
    together = Window(0, [], [], 0, [(0, 2), (3, 5)], [0, 1], [0, 0])
    start, end = np.array([1.0, -9.0], dtype=np.float32), np.array([-9.0, 1.0], dtype=np.float32)
    paid, free = (
        window_candidates(0, _encoded(w, start, end), 5, keep=1)[0].score for w in (apart, together)
    )
    assert paid == pytest.approx(free - SENTENCE_COST)


def test_a_model_of_ones_own_has_another_version_where_its_weights_are_others(
    tiny_bert: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(tiny_bert, tmp_path / "copy")
    before = SpanReader.load(str(copy)).version
    assert before == SpanReader.load(str(tiny_bert)).version
    weights = load_file(copy / "model.safetensors")
    save_file({name: 2 * one for name, one in weights.items()}, copy / "model.safetensors", {"format": "pt"})
    assert SpanReader.load(str(copy)).version not in (before, None)


def test_an_answer_in_a_later_window_of_a_long_passage_is_found(tiny_bert: Path) -> None:
    reader = SpanReader.load(str(tiny_bert))
    [reading] = reader.prepare([Reading("Who took the goose?", (TALE,))])
    [encoded] = reading.encoded
    assert encoded is not None
    assert len(encoded.windows) > 3
    later = encoded.windows[-1].window.offsets[0][0]
    candidates = candidate_spans(reading)
    assert all(TALE[c.span.start : c.span.end].strip() for c in candidates)
    assert any(c.span.start >= later for c in window_candidates(0, encoded.windows[-1], 40, 20))


def test_ranking_prefers_the_candidate_that_was_read(tiny_bert: Path) -> None:
    reader = SpanReader.load(str(tiny_bert))
    reading = Reading("Who answered the goose?", ("Nobody answered, for nobody knew the law.",))
    best = reader.read([reading])[0][0].text
    scores = reader.rank(reading, ["zebra quartet", best])
    assert scores[1] > scores[0] == 0.0


def test_a_model_without_a_span_head_is_refused(tiny_t5: Path, tmp_path: Path) -> None:
    for folder in (tiny_t5, tmp_path):
        with pytest.raises(ModelError, match="save"):
            SpanReader.load(str(folder))
