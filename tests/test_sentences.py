"""Sentences of prose, verse and plays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from text.sentences import sentence_spans

ANY = st.text(alphabet=st.sampled_from("aI A.!?\u2026\"\u201d'\n\n \u3002Mr,\u00e9-"), max_size=120)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@settings(max_examples=60, deadline=None)
@given(ANY)
def test_sentences_cover_every_non_space_character_once_and_in_order(text: str) -> None:
    spans = sentence_spans(text)
    covered = [at for start, end in spans for at in range(start, end)]
    assert covered == sorted(set(covered))
    assert [at for at in covered if not text[at].isspace()] == [
        at for at, character in enumerate(text) if not character.isspace()
    ]
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert not any("\n\n" in text[start:end] for start, end in spans)


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Quill met Dr. Ambrose in St. Orla.",
        "A letter from J. R. Quill lay on the table.",
        "The ship left at 5 p.m. on a Tuesday.",
        "The U.S. consul was asleep.",
        "It stood in No. 7 of the row.",
        "She waited . . . and waited.",
        "\u201cWhere is it?\u201d she asked the gull.",
        "\u201cNever!\u201d cried the cook.",
        "He read vol. 3, pp. 12 to 19, e.g. the part on eels.",
        "The well (It was dry!) stood open.",
        "It stands in Vol. I of the set, chap. IV, and Bk. 3.",
        "She sailed on Jan. 5 and was back on Sept. 12.",
        "Mr.[1] Quill came.",
        "He paid \u00a31 10s. 6d. for the weir, or 2l. 3s. in all.",
        "It was built in A.D. 1500 or c. 1520, say ca. 1510.",
        "Geo. Quill, Wm. Orr and the Rt. Hon. Osk Tam sat with Brig. Gen. Vell.",
        "12. The gull has the weir.",
    ],
)
def test_one_sentence_is_not_cut(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "The gull flew. | It came back.",
        "\u201cNo.\u201d | He turned away.",
        "\u201cI will not. | You know it.\u201d | She left.",
        "Was it he? | It was I. | Nobody else came.",
        "They ran!! | Nobody followed...",
        "He shut the door at 5 p.m. | Then he slept.",
        "So he said. | 12 men left.",
        "*It was over.* | The rain began.",
        "It was June.[12] | The rain began.\u201d[*] | It ended.",
        "He is a good sort of chap. | I know him.",
        "He sold one vol. | Its price was low.",
        "They will not go before Mar. | The ice is thick.",
        "He owed me 10s. | Six of them were for the gull.",
        "It fell in the year 40 B.C. | 12 men were under it.",
        "How many? | 12. | The gull ate one.",
    ],
)
def test_sentences_end_at_stops_and_their_quotes(text: str) -> None:
    assert sentences(text.replace(" | ", " ")) == text.split(" | ")


def test_a_blank_line_ends_a_sentence_without_a_stop() -> None:
    text = "CHAPTER I\n\nThe gull\nflew over\n \t\nthe weir, and\nthe miller\n\n\n"
    assert sentences(text) == ["CHAPTER I", "The gull\nflew over", "the weir, and\nthe miller"]


def test_a_speakers_name_stays_with_the_words_spoken() -> None:
    text = "MILLER. The gull again!\nWIDOW ANSE. It is no gull. Look."
    assert sentences(text) == ["MILLER. The gull again!", "WIDOW ANSE. It is no gull.", "Look."]


def test_wide_full_stops_need_no_space() -> None:
    assert sentences("\u9dd7\u98db\u4e86\u3002\u4ed6\u8d70\u4e86\u3002") == [
        "\u9dd7\u98db\u4e86\u3002",
        "\u4ed6\u8d70\u4e86\u3002",
    ]
