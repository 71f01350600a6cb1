"""The reader of frames: the rules of the paper's table 4, each by an example of its own."""

from __future__ import annotations

from typing import cast

import pytest

from readers import open_reader
from readers.reading import Ranker, Reading

PEOPLE = ("Anna", "Tom", "Kim", "Susan", "Mike")


@pytest.mark.parametrize(
    ("question", "passages", "right"),
    [
        ("XXXXX loves Susan .", ("Susan loves Anna .", "Kim loves Susan ."), "Kim"),  # (x, V, y)
        (
            "XXXXX is the president .",
            ("Anna met Mike .", "Mike is the new president ."),
            "Mike",
        ),  # by its head
        ("XXXXX won the race .", ("Anna met Tom .", "Tom won a medal ."), "Tom"),  # (x, V, z)
        ("XXXXX hated Susan .", ("Anna saw Kim .", "Susan hated Tom ."), "Tom"),  # (y, V, x)
        ("Susan hated XXXXX .", ("Anna saw Kim .", "Tom hated Susan ."), "Tom"),
        ("XXXXX likes Susan .", ("Anna saw Kim .", "Tom loves Susan ."), "Tom"),  # (x, Z, y)
        ("Susan was seen by XXXXX .", ("Anna met Kim .", "Tom saw Susan ."), "Tom"),  # in any voice
        ("Susan saw XXXXX .", ("Susan met Anna .", "Susan saw Kim ."), "Kim"),  # the blank as object
        ("XXXXX slept .", ("Anna met Kim .", "Kim saw Tom ."), "Kim"),  # the most frequent one
    ],
)
def test_a_frame_is_found_by_the_rules_of_the_paper(
    question: str, passages: tuple[str, ...], right: str
) -> None:
    reader, reading = open_reader("cloze-frames"), Reading(question, passages, candidates=PEOPLE)
    [[answer]] = reader.read([reading])
    assert answer.text == right
    assert answer.span is not None
    best, second = sorted(cast(Ranker, reader).rank(reading, PEOPLE), reverse=True)[:2]
    assert best > second  # not by chance


def test_the_first_rule_that_fires_goes_before_the_others() -> None:
    passages = ("Tom loves Susan .", "Anna hated Kim .", "Mike hated Susan .")
    reader = cast(Ranker, open_reader("cloze-frames"))
    people = ["Mike", "Anna", "Tom", "Kim", "Bob"]
    mike, anna, tom, kim, bob = reader.rank(Reading("XXXXX hated Susan .", passages), people)
    assert mike > anna > tom > kim > bob
