"""Proper names by their capitals: whose they are, which are one person's, and what is a place."""

from __future__ import annotations

import pytest

from text.coreference import pronoun_of_title
from text.named_entities import Entity, entities
from text.proper_names import proper_names

STORY = """Conan of the salt marsh came to Vell in the spring. The gate was shut, but Conan climbed. “Who is
there?” asked Mrs. Darrow from her window in Vell, and Conan said that it was Conan. Her husband, Mr. Darrow,
laughed at Conan, for Mr. Darrow had seen worse. They had a niece whom everyone called Pim. “Come in, Pim,”
said Mrs. Darrow. When old Aldous Darrow died at Quill, Pim went to Quill and came back to Vell. People said
that Aldous Darrow, who lived in Quill, had loved Pim. She told Conan so. Then Mrs. Darrow wept.

The Romans came in the autumn; the Romans took the salt. Conan drove the Romans from Vell.
"""


def found(text: str) -> dict[str, Entity]:
    return {one.name: one for one in entities(text, proper_names(text))}


def test_a_strange_name_is_counted_wherever_it_stands() -> None:
    conan = found(STORY)["Conan"]
    assert conan.is_person
    assert len(conan.places) == STORY.count("Conan")
    assert {STORY[start:end] for start, end in conan.places} == {"Conan"}


def test_what_is_said_to_be_in_or_at_is_a_place_and_nobody() -> None:
    named = found(STORY)
    for name in ("Vell", "Quill"):
        assert named[name].is_place
        assert not named[name].is_person


def test_husband_and_wife_are_two_persons() -> None:
    named = found(STORY)
    assert len(named["Mrs. Darrow"].places) == STORY.count("Mrs. Darrow")
    [husband] = [one for one in named.values() if "Mr. Darrow" in (one.name, *one.aliases)]
    assert husband is not named["Mrs. Darrow"]
    assert husband.is_person


def test_a_wife_by_her_husbands_first_name_is_not_he() -> None:
    text = (
        "They saw Lord Conan Darrow at the gate, and he bowed. “Good morning,” said Lord Conan, and he "
        "laughed. Lady Conan laughed, too. “Well,” said Lord Conan, and he sat down beside Lady Conan. "
        "Conan Darrow said that he was tired. “He is,” said Lady Conan, and Conan Darrow slept."
    )
    named = found(text)
    assert len(named["Lady Conan"].places) == text.count("Lady Conan")
    [husband] = [one for one in named.values() if "Lord Conan" in (one.name, *one.aliases)]
    assert "Conan Darrow" in (husband.name, *husband.aliases)
    assert "Lady Conan" not in husband.aliases


def test_a_name_that_ends_in_a_title_is_somebody_elses() -> None:
    text = (
        "The Red Queen laughed. “Well,” said the Red Queen to the Red Knight, and the Red Knight bowed. Then "
        "the Station Master came. “Here is the Station Master,” said the Red Queen, and the Red Knight slept."
    )
    persons = {name: len(one.places) for name, one in found(text).items() if one.is_person}
    assert persons == {"Red Queen": 3, "Red Knight": 3, "Station Master": 2}


def test_a_captain_is_not_his_daughter() -> None:
    text = (
        "They saw Sara Crewe, and she sang. “Here is Captain Crewe,” said Sara Crewe. He said that he was "
        "tired. Then Captain Crewe laughed, and he left. Miss Minchin told Sara Crewe that she was late, and "
        "Sara Crewe said that she knew. Then Sara Crewe wept, for she loved Captain Crewe, and he loved her. "
        "So Sara Crewe told her doll that she was alone. They found Ralph Crewe, and Ralph Crewe slept."
    )
    named = found(text)
    assert len(named["Sara Crewe"].places) == text.count("Sara Crewe")
    assert named["Ralph Crewe"].aliases == ("Captain Crewe",)


def test_a_captain_who_is_called_she_may_be_a_woman() -> None:
    spoken = "Then Captain Crewe said that she was late. " * 6
    text = f"They saw Sara Crewe, and she sang. {spoken}They left Sara Crewe, and she sang again."
    [crewe] = [one for one in found(text).values() if one.is_person]
    assert len(crewe.places) == 8
    assert pronoun_of_title("Captain Crewe") is None


def test_a_month_is_a_name_where_it_is_somebodys_often() -> None:
    said = "“It is late,” said Mrs. March to Jo. "
    assert found(said * 10)["Mrs. March"].is_person
    assert "Mrs. March" not in found(said * 9)
    told = "Then he saw Friday, and Friday said that it was so. "
    assert found(told * 10)["Friday"].is_person
    assert not found("They came on a Friday, and on Friday they left. " * 20)


def test_title_surname_and_full_name_are_one_person() -> None:
    text = (
        "They saw Fitzwilliam Darcy, and Mr. Darcy bowed. He said that Darcy was tired. “Well, Darcy,” said "
        "she. At last came Fitzwilliam Darcy alone, and she told Fitzwilliam so."
    )
    [darcy] = [one for one in found(text).values() if one.is_person]
    assert darcy.name == "Fitzwilliam Darcy"
    assert set(darcy.aliases) == {"Mr. Darcy", "Darcy", "Fitzwilliam"}
    assert len(darcy.places) == 6


def test_a_full_name_said_once_is_of_whom_a_part_of_it_names_where_no_other_can_be() -> None:
    text = "This was Mr. Crispin Lovage, the merchant. They all knew Mr. Lovage, and Mr. Lovage knew them."
    [lovage] = [one for one in found(text).values() if one.is_person]
    assert len(lovage.places) == 3
    assert "Mr. Crispin Lovage" in (lovage.name, *lovage.aliases)
    cousin = " Then came old Hugh Lovage. They had asked for Hugh Lovage, he said, and Hugh Lovage was there."
    [crispin] = [one for name, one in found(text + cousin).items() if "Crispin" in name]
    assert len(crispin.places) == 1


def test_the_speakers_of_a_play_are_counted_and_shortened_names_made_whole() -> None:
    lines = "".join(f"AMO. The {i}th word, sir.\n\nHEDON. No.\n\n" for i in range(6))
    text = f"{lines}Here comes Amorphus, said one, and Amorphus bowed to Hedon and Hedon to Amorphus.\n"
    persons = {name: len(one.places) for name, one in found(text).items() if one.is_person}
    assert persons == {"Amorphus": 9, "Hedon": 8}


@pytest.mark.parametrize("text", ["", "1 2 3\n", "ALL CAPITALS HERE.\n", "nothing at all, no names. None!\n"])
def test_a_text_without_names_has_none(text: str) -> None:
    assert proper_names(text) == []


def test_every_mention_spells_its_words() -> None:
    for one in proper_names(STORY):
        assert all(word in STORY[one.start : one.end] for word in one.words)
