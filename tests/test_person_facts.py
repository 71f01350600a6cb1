"""Somebody's occupation, spouse, parents and home: counted in a novel, and said where it is borne out."""

from __future__ import annotations

from pathlib import Path

import pytest
from counted_books import long_story, store_of

from answering.book_qa import BookQA
from answering.facts import FactFinder, Facts
from answering.of_itself import OfItself
from answering.person_facts import PersonFacts
from indexing.store import IndexStore

SCENES = (
    "Orla Osk ran down the stair. Orla said that she had seen a seal. She laughed, and her husband, "
    "Bram Osk, laughed, too. Bram Osk was late, and he had lost his hat. Bram's wife, Orla, found it, "
    "for she was quick. ",
    "Edmund Pell mended a net, for he was a netmaker. “You are late,” said Edmund. Edmund Pell, the "
    "netmaker, said that his net had a hole. His daughter Orla held it, and she sang, and Edmund "
    "laughed. ",
    "In the spring Orla had married Bram. Bram had a new hat, and his wife Orla said that she liked it. "
    "Orla's husband, Bram, wore it. Edmund Pell said that he had never seen such a hat. ",
    "Edmund's daughter, Orla Osk, was the first to see the flood, and she called. Her father, Edmund "
    "Pell, lost his net. Orla's father, Edmund, said that he was too old for it. Orla held her hat. "
    "Bram said that he knew. ",
    "Orla Osk lived in Farrow, and it was in Farrow that she had her home. Then Orla lived in Farrow "
    "until she was old. In the yard Tarn Hale said that he had a wife, and so Tarn Hale was asked where "
    "she was. “At the fair,” said Tarn. Bram was away, and he wrote. Edmund said that he and Tarn had "
    "seen a judge. ",
    "Below the lock Tarn Hale sang of his wife, and Bram Osk heard him. “My wife,” said Tarn, “is at "
    "the fair.” Bram said that he knew. At night Tarn slept, and he dreamt of a doctor. There was Tarn, "
    "and he snored. ",
    "Wenda Crake sang, and she laughed. At noon Wenda Crake swam, for she was quick. Jory Crake rowed, and "
    "he sang. Wenda's father, Jory Crake, lost his hat, and Wenda Crake found it, for she was quick. In the "
    "evening Jory Crake slept, and he dreamt. Jory Crake's wife, Wenda, was late, and she knew. ",
    "Wenda Crake sat down, and she sang. Wenda's father, Jory, sat down, and he slept. Wenda's husband, Jory "
    "Crake, slept until he was cold. Jory's daughter Wenda said that she knew. Then Wenda Crake left, for "
    "she was late. Wenda Crake came back, for she was cold. Nobody saw Wenda Crake, and she slept. At dawn "
    "Wenda Crake rose, and she ate. Wenda's father, Jory Crake, said that he was not. ",
)
STORY = long_story(SCENES)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    return store_of(SCENES, tmp_path_factory.mktemp("store"))


def facts(store: IndexStore, cache: Path, properties: list[str], limit: int | None = None) -> Facts:
    """Found with a reader that there is none of: who reads passages for them fails."""
    finder = FactFinder(BookQA(store), cache, "bm25", f"span:{cache / 'none'}")
    return finder.find(store.open("lock"), limit, properties)


@pytest.mark.parametrize(
    ("property", "value"),
    [
        ("spouse of Orla Osk", "Bram Osk"),
        ("spouse of Bram", "Orla Osk"),
        ("parents of Orla", "Edmund Pell"),
        ("residence of Orla", "Farrow"),
        ("occupation of Edmund Pell", "netmaker"),
    ],
)
def test_what_is_borne_out_is_said_of_a_novel_without_a_reader(
    store: IndexStore, tmp_path: Path, property: str, value: str
) -> None:
    found = facts(store, tmp_path, [property])
    [only] = found.facts[0].values
    assert (only.text, only.answerable, only.source) == (value, True, "names")
    assert only.evidence is not None
    assert STORY[only.evidence.start : only.evidence.end] == only.evidence.text
    assert found.not_said == ()


@pytest.mark.parametrize(
    "property",
    [
        "spouse of Tarn Hale",  # Bram is named beside "his wife", and is another's husband
        "spouse of Wenda Crake",  # Jory is called her father oftener than her husband
        "parents of Edmund Pell",  # whose child is not his parent
        "parents of Bram Osk",  # Edmund is named beside the word, and nowhere is Bram his son
        "occupation of Tarn Hale",  # a doctor and a judge are named beside him, and he is neither
    ],
)
def test_what_is_but_named_beside_the_word_is_a_guess_at_most(
    store: IndexStore, tmp_path: Path, property: str
) -> None:
    found = facts(store, tmp_path, [property])
    assert found.not_said == (property,)
    assert all(not one.answerable and one.confidence < 0.3 for one in found.facts[0].values)


def test_nothing_is_counted_behind_the_limit(store: IndexStore, tmp_path: Path) -> None:
    limit = STORY.index("Edmund's daughter, Orla")
    found = facts(store, tmp_path, ["parents of Orla", "residence of Orla"], limit)
    ends = [one.evidence.end for fact in found.facts for one in fact.values if one.evidence]
    assert all(end <= limit for end in ends)
    assert "residence of Orla" in found.not_said


def test_a_short_story_is_read_and_so_is_of_nobody(store: IndexStore) -> None:
    short, novel = (store.open(id) for id in ("short", "lock"))
    assert PersonFacts(OfItself(short, short.characters)).values("spouse", "Orla Osk") is None
    assert PersonFacts(OfItself(novel, novel.characters)).values("spouse", "Zora") is None
