"""Windows cover a passage from end to end, each as long as may be, neighbours sharing what they should."""

from __future__ import annotations

import pytest

from encoders.backbone import load_tokenizer
from encoders.windows import Windower

QUESTION = "Who rang the bell of the drowned church?"
WORDS = "The miller's daughter counted forty-one strokes before the water took the tower again. "


@pytest.mark.parametrize(("longest", "overlap"), [(384, 64), (384, 128), (48, 8), (40, 12)])
@pytest.mark.parametrize("sentences", [1, 2, 5, 23, 90])
def test_no_token_of_a_passage_is_lost_between_windows(sentences: int, longest: int, overlap: int) -> None:
    passage = WORDS * sentences
    tokenizer = load_tokenizer()
    question, whole = (tokenizer.encode(text, add_special_tokens=False) for text in (QUESTION, passage))
    [windows] = Windower(tokenizer, longest, overlap)([(QUESTION, (passage,))])
    room = longest - len(question.ids) - 3
    for number, window in enumerate(windows):
        begin = number * (room - overlap)
        end = min(begin + room, len(whole.ids))
        assert window.offsets == whole.offsets[begin:end]
        assert window.ids[1 : window.first - 1] == question.ids
        assert window.ids[window.first : -1] == whole.ids[begin:end]
        assert len(window.ids) == len(window.types) <= longest
        assert len(window.words) == len(window.sentences) == len(window.offsets)
    assert windows[-1].offsets[-1] == whole.offsets[-1]
    assert all(window.offsets[-1] != whole.offsets[-1] for window in windows[:-1])


def test_a_blank_passage_has_no_window_and_the_others_keep_their_numbers() -> None:
    [windows] = Windower(load_tokenizer())([(QUESTION, (WORDS, " \n", WORDS))])
    assert [window.passage for window in windows] == [0, 2]


@pytest.mark.parametrize("end", ["", " ", '"', "\u201d ", ")"])
def test_a_question_without_its_mark_is_read_with_one(end: str) -> None:
    asked = QUESTION.rstrip("?") + end
    windows = Windower(load_tokenizer())([(question, (WORDS,)) for question in (asked, asked.rstrip() + "?")])
    assert windows[0] == windows[1]
    assert windows[0][0].offsets[0][0] == 0


@pytest.mark.parametrize(
    "asked", [QUESTION, 'Who sang "Whose bell?"', "Describe the church.", "Who rang!", "?", ""]
)
def test_a_question_that_ends_in_a_mark_is_read_as_it_stands(asked: str) -> None:
    tokenizer = load_tokenizer()
    [[window]] = Windower(tokenizer)([(asked, (WORDS,))])
    assert window.ids[1 : window.first - 1] == tokenizer.encode(asked, add_special_tokens=False).ids


@pytest.mark.parametrize("asked", [WORDS * 9, f"{QUESTION} {WORDS}"])
def test_a_question_that_would_leave_no_room_is_cut(asked: str) -> None:
    [windows] = Windower(load_tokenizer(), 48, 8)([(asked, (WORDS * 9,))])
    assert all(len(window.ids) <= 48 and len(window.offsets) > 8 for window in windows)
    half = load_tokenizer().encode(asked, add_special_tokens=False).ids[: (48 - 8) // 2]
    assert all(window.ids[1 : window.first - 1] == half for window in windows)
    assert windows[-1].offsets[-1][1] == len((WORDS * 9).rstrip())
