"""The tokens of cloze questions beside nltk's, and blanks however they are written."""

from __future__ import annotations

import pytest

from evaluation.sample import sample_story
from indexing.tagged_book import sentences_of
from text.cloze import BLANK, NotACloze, blanks, cloze_tokens, find_blank

STORY = sample_story().read_text("utf-8")


def test_the_sample_story_has_the_tokens_of_nltk_s_treebank_tokenizer() -> None:
    wanted, found = [], []
    for (start, end), words in sentences_of(STORY):
        wanted += words
        found += [(start + one.start, start + one.end) for one in cloze_tokens(STORY[start:end])]
    differing = sorted({STORY[start:end] for start, end in set(wanted) - set(found)})
    # Of 15,822 two: nltk takes a full stop off at the very end of a sentence alone.
    assert len(wanted) == 15_822
    assert differing == ["2.0.", "FERRYMAN."]


def test_text_parted_by_spaces_has_the_keys_that_it_has_as_it_was_written() -> None:
    for (start, end), words in sentences_of(STORY):
        if "FERRYMAN." in STORY[start:end]:
            continue  # nltk leaves the full stop with the word
        parted = " ".join(STORY[first:last] for first, last in words)
        written = [one.key for one in cloze_tokens(STORY[start:end])]
        assert [one.key for one in cloze_tokens(parted) if one.key not in ("``", "''")] == [
            key for key in written if key not in ("``", "''")
        ], parted


@pytest.mark.parametrize("blank", ["XXXXX", "@placeholder", "____", "___"])
def test_a_blank_is_one_token_however_it_is_written(blank: str) -> None:
    question = f"The goose of {blank}'s baker, said Osk."
    assert [one.key for one in cloze_tokens(question)][:5] == ["the", "goose", "of", BLANK, "s"]
    start, end = find_blank(question) or (0, 0)
    assert question[start:end] == blank


def test_no_blank_is_seen_in_other_words_and_of_two_none_is_chosen() -> None:
    assert blanks("XXXXXX is no blank, nor are XXXX, a_____b, @placeholders or __") == []
    with pytest.raises(NotACloze, match="has 2 blanks"):
        find_blank("XXXXX met ____ .")
