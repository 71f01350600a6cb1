"""The similarities of spans, against their plain definitions on small random texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.rouge.rouge import my_lcs  # type: ignore[import-untyped]

from encoders.errors import ModelError
from encoders.word_vectors import Cosine, WordVectors
from text.similarity import BETA, Similarity, bleu1, longest_common, rouge_l
from text.spans import Spans, TokenText
from text.tokens import tokens

WORDS = ["a", "b", "c", "d", "e"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join), max_size=4)
queries = st.lists(st.sampled_from([*WORDS, "z"]), max_size=9)
VECTORS = WordVectors(
    {word: i for i, word in enumerate(WORDS)},
    np.random.default_rng(5).normal(size=(5, 3)).astype(np.float32),
)


def kinds(text: TokenText) -> list[Spans]:
    return [text.windows(1), text.windows(4), text.windows(100), text.sentences(), text.whole()]


def keys(text: TokenText, spans: Spans) -> list[list[str]]:
    """The tokens of each span."""
    words = list(text.vocabulary)
    return [
        [words[i] for i in text.ids[begin:end]] for begin, end in zip(spans.begin, spans.end, strict=True)
    ]


def plain_bleu1(span: Sequence[str], query: Sequence[str]) -> float:
    if not span:
        return 0.0
    brevity = 1.0 if len(span) >= len(query) else math.exp(1 - len(query) / len(span))
    return brevity * (Counter(span) & Counter(query)).total() / len(span)


def plain_rouge_l(span: Sequence[str], query: Sequence[str]) -> float:
    common = my_lcs(query, span)
    if not common:
        return 0.0
    precision, recall = common / len(span), common / len(query)
    return float((1 + BETA**2) * precision * recall / (recall + BETA**2 * precision))


def plain_cosine(span: Sequence[str], query: Sequence[str]) -> float:
    one, other = (
        sum((VECTORS.units[VECTORS.words[w]] / 2**20 for w in words if w in VECTORS.words), np.zeros(3))
        for words in (span, query)
    )
    norms = np.linalg.norm(one) * np.linalg.norm(other)
    return float(one @ other / norms) if norms else 0.0


@settings(deadline=None)
@given(texts, queries)
def test_every_span_has_the_similarity_of_the_plain_definition(passages: list[str], query: list[str]) -> None:
    text = TokenText(passages)
    for spans in kinds(text):
        of_spans = keys(text, spans)
        for fast, plain in ((bleu1, plain_bleu1), (rouge_l, plain_rouge_l), (Cosine(VECTORS), plain_cosine)):
            scores = fast(text, spans, query)
            assert scores.shape == (len(spans),)
            assert scores.tolist() == pytest.approx([plain(span, query) for span in of_spans], abs=1e-6)


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=60, max_size=200), texts)
def test_queries_longer_than_a_machine_word_are_compared_as_well(
    query: list[str], passages: list[str]
) -> None:
    text = TokenText([*passages, " ".join(query[::-1])])
    spans = text.whole()
    assert longest_common(text, spans, query).tolist() == [my_lcs(query, span) for span in keys(text, spans)]


@settings(deadline=None)
@given(texts)
def test_spans_lie_inside_one_passage_and_windows_are_all_there_are(passages: list[str]) -> None:
    text = TokenText(passages)
    for spans in kinds(text)[:-1]:
        assert (spans.lengths > 0).all()
        assert [passages[p] for p in text.passage_of(spans)] == [
            passages[text.place(int(begin), int(end))[0]]
            for begin, end in zip(spans.begin, spans.end, strict=True)
        ]
    words = [passage.split() for passage in passages]
    wanted = [of_one[i : i + 4] for of_one in words if of_one for i in range(max(1, len(of_one) - 3))]
    assert keys(text, text.windows(4)) == wanted


def test_equal_spans_have_equal_similarities_however_far_apart() -> None:
    text = TokenText(["b a d " + "e c b " * 5_000 + "d a b " + "a b d"])
    for similarity in (bleu1, Cosine(VECTORS)):
        scores = similarity(text, text.windows(3), ["a", "b"])
        assert scores[0] == scores[-1] == scores[-4]


@pytest.mark.parametrize("similarity", [bleu1, rouge_l, Cosine(VECTORS)])
def test_an_empty_query_is_like_nothing(similarity: Similarity) -> None:
    text = TokenText(["a b c", "", "..."])
    assert similarity(text, text.whole(), []).tolist() == [0, 0, 0]


@settings(deadline=None)
@given(st.text() | st.text("aZ'’.,:;-5 \n\"`&n"))
def test_tokens_stand_where_they_say_and_do_not_overlap(text: str) -> None:
    last = 0
    for token in tokens(text):
        assert last <= token.start < token.end <= len(text)
        assert not any(c.isspace() for c in text[token.start : token.end])
        last = token.end


def test_word_vectors_are_read_plain_or_with_word2vecs_first_line(tmp_path: Path) -> None:
    plain, counted = tmp_path / "v.txt", tmp_path / "w.txt"
    plain.write_text("goose 0.5 -1\n. . 2 0.25\n", "utf-8")
    counted.write_text("2 2\ngoose 0.5 -1\n. . 2 0.25\n", "utf-8")
    for path in (plain, counted):
        vectors = WordVectors.load(path)
        assert vectors.words == {"goose": 0, ". .": 1}
        assert (vectors.units / 2**20).tolist() == [[0.5, -1], [2, 0.25]]


@pytest.mark.parametrize(
    "content", ["", "goose 1 2\nstar 3\n", "goose one two\n", "goose 1 nan\n", "goose\n"]
)
def test_what_is_no_word_vectors_is_refused_with_the_format_wanted(tmp_path: Path, content: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(content, "utf-8")
    with pytest.raises(ModelError, match="GloVe's format"):
        WordVectors.load(path)
    with pytest.raises(ModelError, match="GloVe's format"):
        WordVectors.load(tmp_path / "missing.txt")
