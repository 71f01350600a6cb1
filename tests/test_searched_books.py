"""Questions shown beside what answering finds for them: what is shown, and which of it is called right."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from indexing.passages import split
from training.context_sampling import Example, Sampling
from training.corpora.corpus import Document, LabelledQuestion
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.narrativeqa import STORIES
from training.distant_supervision import distant_gold
from training.searched_books import RIGHT, SHOWN, SearchedBooks

KEEPERS = [
    "Maud",
    "Osk",
    "Ines",
    "Pim",
    "Ruta",
    "Abel",
    "Tobias",
    "Wenna",
    "Corin",
    "Hesper",
    "Jory",
    "Lowen",
]
PLACES = ["oak", "well", "tower", "boat", "cellar", "chapel", "mill", "barn", "forge", "cave", "loft", "kiln"]


def _tale(number: int) -> Document:
    """A tale of two passages, 200 words each: where a keeper hid the lamp stands in the first."""
    name, place = KEEPERS[number], PLACES[number]
    hidden = f"{name} kept the lamp, and hid the lamp in the {place} of {name}."
    walked, waited = (" ".join(f"{name} {word}{n}." for n in range(100)) for word in ("walked", "waited"))
    first, second = (" ".join(text.split()[:200]) for text in (f"{hidden} {walked}", waited))
    text = f"{first} {second}"
    question = LabelledQuestion(f"Where did {name} hide the lamp?", (f"in the {place}",), ((0, len(hidden)),))
    passages = tuple((passage.start, passage.end) for passage in split(text))
    return Document(FAIRYTALES, f"Tale {number}", text, passages, (question,))


TALES = [_tale(number) for number in range(len(KEEPERS))]
TOLD: list[tuple[str, int, int]] = []


@pytest.fixture(scope="module")
def books() -> SearchedBooks:
    return SearchedBooks(TALES, lambda *told: TOLD.append(told))


def _shown(books: SearchedBooks, tale: Document) -> list[Example]:
    found = []
    for seed in range(40):
        example = books.sample(tale, tale.questions[0], Sampling(), random.Random(seed))
        assert example is not None
        found.append(example)
    return found


def test_what_answers_a_question_stands_among_what_is_found_for_it_in_all_tales(books: SearchedBooks) -> None:
    assert TOLD[-1][1:] == (1, 1)
    withheld = 0
    for number, tale in enumerate(TALES):
        for example in _shown(books, tale):
            assert len(example.passages) == SHOWN
            holding = [n for n, text in enumerate(example.passages) if f"the {PLACES[number]}" in text]
            assert len(example.right) <= RIGHT
            assert sorted(example.right) == holding
            assert [example.passages[t.text][t.start : t.end] for t in example.targets] == [
                f"in the {PLACES[number]}" for _ in holding
            ]
            of_others = [text for text in example.passages if KEEPERS[number] not in text]
            assert len(of_others) >= SHOWN - 2
            # In story order, as it is read.
            whose = [next(i for i, name in enumerate(KEEPERS) if name in text) for text in example.passages]
            assert whose == sorted(whose)
            withheld += not holding
    assert 0 < withheld < 0.2 * 40 * len(TALES)


def test_what_is_shown_differs_from_time_to_time_and_is_told_by_its_seed(books: SearchedBooks) -> None:
    shown = _shown(books, TALES[0])
    assert len({example.passages for example in shown}) > 5
    assert shown == _shown(books, TALES[0])


def test_of_a_story_likely_passages_are_right_and_a_question_without_any_is_not_shown() -> None:
    known = replace(TALES[3].questions[0], gold=())
    unknown = LabelledQuestion("Who sang?", ("nightingales",))
    text = "\n\n".join(tale.text for tale in TALES)
    passages = tuple((passage.start, passage.end) for passage in split(text))
    novel = Document(STORIES, "A Novel", text, passages, (known, unknown))
    likely = [novel.texts[number] for number in distant_gold(novel, known)]
    assert likely
    books = SearchedBooks([novel], lambda *_: None)
    for seed in range(20):
        example = books.sample(novel, known, Sampling(), random.Random(seed))
        assert example is not None
        assert {example.passages[number] for number in example.right} == set(likely)
        assert books.sample(novel, unknown, Sampling(), random.Random(seed)) is None


def test_of_a_document_that_is_not_searched_nothing_is_shown(books: SearchedBooks) -> None:
    other = replace(TALES[0], name="Unknown")
    assert books.sample(other, other.questions[0], Sampling(), random.Random(0)) is None
