"""How a reading becomes one prompt, and what is cut when it is too long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.external.fair_shares import fair_shares
from readers.external.huggingface.prompts import count_tokens, prompt
from readers.reading import Reading

SHORT = "The lamp was blue."
LONG = "Maud carried it over the hill to the ferry because the ferryman could not see the far bank. " * 30
QUESTION = "Where did she leave it?"


@pytest.fixture(params=["tiny_t5", "tiny_bart"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    from transformers import AutoTokenizer

    folder: Path = request.getfixturevalue(request.param)
    return AutoTokenizer.from_pretrained(folder)


@given(st.lists(st.integers(0, 500), max_size=20), st.integers(-5, 2_000))
def test_shares_are_max_min_fair(wanted: list[int], total: int) -> None:
    shares = fair_shares(wanted, total)
    assert sum(shares) == min(sum(wanted), max(0, total))
    assert all(0 <= share <= wish for share, wish in zip(shares, wanted, strict=True))
    cut = [share for share, wish in zip(shares, wanted, strict=True) if share < wish]
    assert not cut or min(cut) >= max(shares) - 1


def test_a_short_reading_is_given_whole_in_story_order(tokenizer: Any) -> None:
    reading = Reading("Where did\n she go?", ("First  one.", " ", "Then\nanother."))
    expected = "question: Where did she go? context: First one. | Then another."
    assert prompt(reading, tokenizer, 256) == expected
    assert prompt(reading, tokenizer, 256, " // ") == expected.replace(" | ", " // ")


@pytest.mark.parametrize("longest", [120, 177, 256])
def test_the_long_passages_share_what_the_short_ones_leave(tokenizer: Any, longest: int) -> None:
    text = prompt(Reading(QUESTION, (LONG, SHORT, LONG[5:])), tokenizer, longest)
    assert text is not None
    head, context = text.split(" context: ")
    first, short, last = context.split(" | ")
    assert head == f"question: {QUESTION}"
    assert short == SHORT
    assert LONG.startswith(first + " ")
    assert LONG[5:].startswith(last + " ")
    longest_word = max(count_tokens(tokenizer, " " + word, special=False) for word in LONG.split())
    sizes = [count_tokens(tokenizer, part, special=False) for part in (first, last)]
    assert abs(sizes[0] - sizes[1]) <= longest_word + 1
    # What stays unused is at most a word of each cut passage, and what joining them saves.
    assert longest - 3 * longest_word <= count_tokens(tokenizer, text) <= longest


@pytest.mark.parametrize(
    "passage",
    ["\U0001f980" * 900, "o" * 3_000, "e\u0301" * 900, "أغلقت مريم الباب ثم نامت. " * 90],
    ids=["emoji", "one word", "accents", "Arabic"],
)
def test_any_writing_is_cut_to_fit(tokenizer: Any, passage: str) -> None:
    text = prompt(Reading(QUESTION, (passage, SHORT, passage)), tokenizer, 128)
    assert text is not None
    assert SHORT in text
    whole = len(text) > 2 * len(passage)  # T5 reads a run of unknown letters as one token
    assert whole or count_tokens(tokenizer, text) >= 100
    assert count_tokens(tokenizer, text) <= 128


def test_a_hundred_passages_all_fit(tokenizer: Any) -> None:
    text = prompt(Reading(QUESTION, (SHORT,) * 100), tokenizer, 256)
    assert text is not None
    assert count_tokens(tokenizer, text) <= 256


def test_the_question_is_never_cut(tokenizer: Any) -> None:
    asked = "and where did she go then " * 6
    for longest in range(8, 256, 8):
        text = prompt(Reading(asked, (LONG,)), tokenizer, longest)
        assert text is None or text.startswith(f"question: {asked.strip()} context: ")
    assert text is not None


def test_a_tokenizer_without_offsets_is_cut_to_fit_too(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(tokenizer), "is_fast", property(lambda _: False))
    text = prompt(Reading(QUESTION, (LONG, SHORT)), tokenizer, 128)
    assert text is not None
    assert text.endswith(f" | {SHORT}")
    assert 100 <= count_tokens(tokenizer, text) <= 128
