"""The structured SVM over facts: its search and its features against brute force, and what it learns."""

from __future__ import annotations

import random
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from tiny_worlds import asked_of, learnt, right, walks

from encoders.errors import ModelError
from evaluation.worlds.stories import Asked as AskedIn
from evaluation.worlds.stories import Story
from readers import open_reader
from readers.baselines.array_file import ArrayFile
from readers.baselines.shallow_roles import DETERMINERS
from readers.baselines.support_search import (
    BUCKETS,
    Triple,
    answer_features,
    asked,
    best_triple,
    features,
    score_of,
    scores,
)
from readers.facts import Told, told_in
from readers.reading import Reading
from training.objectives.babi_svm import fit_answers

STORY = (
    "Orla walked to the mill.",
    "Pim took the kettle there.",
    "Then he rode to the harbour.",
    "Wenna is tired.",
    "Pim dropped the kettle.",
)
TOLD = told_in(Reading("Where is the kettle?", STORY))


def random_theta(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=BUCKETS).astype(np.float32)


def allowed(told: Told, triple: Triple) -> bool:
    """Whether a search may find it, as the paper says; ``he`` is Pim."""
    empty = len(told.facts)
    facts = [i for i in triple if i != empty]
    words = [set(fact.words) - DETERMINERS for fact in told.facts]
    words[2] |= {"pim"}
    return (
        triple[: len(facts)] == tuple(facts)
        and len(set(facts)) == len(facts)
        and all(
            words[i] & set(told.question) or any(words[i] & words[j] for j in facts if j != i) for i in facts
        )
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("wanted", [None, (4, 2, 5), (1, 4, 2), (5, 5, 5)])
def test_the_search_finds_what_brute_force_finds_with_and_without_the_loss(
    seed: int, wanted: Triple | None
) -> None:
    one = asked(TOLD)
    found = scores(random_theta(seed), one)

    def total(triple: Triple) -> float:
        loss = 0 if wanted is None else sum(i != j for i, j in zip(triple, wanted, strict=True))
        return score_of(found, triple) + loss

    places = range(6)
    triples = [(i, j, k) for i, j, k in product(places, places, places) if allowed(TOLD, (i, j, k))]
    best = max(triples, key=total)
    assert best_triple(one, found, wanted) == best


def test_the_score_of_a_triple_is_the_sum_of_the_weights_of_its_features() -> None:
    one, theta = asked(TOLD), random_theta(1)
    found = scores(theta, one)
    for triple in [(4, 2, 1), (4, 2, 5), (0, 5, 5), (5, 5, 5)]:
        assert score_of(found, triple) == pytest.approx(theta[features(one, triple)].sum(), abs=1e-3)


def test_the_features_of_a_pair_are_those_counted_by_hand() -> None:
    one = asked(told_in(Reading("Where is Pim?", ("Orla met Pim.", "Pim went home."))))
    # x has the words where, is and pim, the verb is, and the arguments pim and where; the fact the words pim,
    # went and home, the verb went, and the arguments pim and home; the empty fact one word and one verb.
    x_fact = 3 * 3 + 1 * 1 + 2 * 2 + 1  # and their distance
    x_empty = fact_empty = 3 * 1 + 1 * 1
    empty_empty = 1 * 1 + 1 * 1
    assert len(features(one, (2, 2, 2))) == 3 * x_empty + 3 * empty_empty
    assert len(features(one, (1, 2, 2))) == x_fact + 2 * x_empty + 2 * fact_empty + empty_empty
    fact_fact = 3 * 3 + 1 * 1 + 2 * 1 + 2  # met is no known verb: all is the subject
    assert len(features(one, (1, 0, 2))) == (
        (x_fact + fact_fact + fact_empty) + (3 * 3 + 1 * 1 + 2 * 1 + 1) + x_empty + fact_empty
    )


def test_pronouns_are_read_as_whom_they_mean() -> None:
    he = asked(told_in(Reading("Where is Pim?", ("Pim took the kettle.", "Then he rode to the mill."))))
    pim = asked(told_in(Reading("Where is Pim?", ("Pim took the kettle.", "Then Pim rode to the mill."))))
    assert features(he, (1, 0, 2)).tolist() == features(pim, (1, 0, 2)).tolist()
    assert answer_features(he, (1, 0, 2)).tolist() == answer_features(pim, (1, 0, 2)).tolist()


def test_learning_finds_the_support_and_the_answers_of_a_small_world(tmp_path: Path) -> None:
    stories = walks(30)
    reader = learnt("babi-svm", stories, tmp_path, epochs=12)
    assert right(reader, stories) == 1
    chains = [[span.passage for span in one[0].chain] for one in reader.read(asked_of(stories))]
    assert chains == [[*one.support] for story in stories for one in story.asked]
    assert reader.trained_on == "tales"


def test_the_answer_that_features_have_in_common_is_told_from_the_others() -> None:
    rows = [np.array(row, dtype=np.int32) for row in ([1, 2], [2, 3], [1, 3])]
    weights = fit_answers(rows, [0, 1, 2], answers=3, epochs=200, seed=1)
    assert [int(weights[row].sum(0).argmax()) for row in rows] == [0, 1, 2]
    assert not weights[[0, 4]].any()


def test_the_latest_fact_is_found_among_more_than_are_searched_exhaustively(tmp_path: Path) -> None:
    people = ("Orla", "Pim")
    rng = random.Random(2)
    stories = []
    for _ in range(40):
        told = [(rng.choice(people), rng.choice(("mill", "harbour"))) for _ in range(45)]
        who = told[-1][0]
        last = max(i for i, (name, _) in enumerate(told) if name == who)
        asked_for = AskedIn(f"Where is {who}?", (told[last][1],), (last,), 45)
        stories.append(Story(tuple(f"{name} went to the {place}." for name, place in told), (asked_for,)))
    reader = learnt("babi-svm", stories, tmp_path, epochs=3)
    assert right(reader, stories) == 1


def test_equal_facts_told_twice_are_two_facts() -> None:
    one = asked(told_in(Reading("Where is Pim?", ("Pim went home.",) * 3)))
    assert one.facts == 3
    found = scores(random_theta(4), one)
    assert len({score_of(found, (i, 3, 3)) for i in range(3)}) == 3  # they are not equally far
    assert all(i != j for i, j in combinations([k for k in best_triple(one, found) if k < 3], 2))


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    ArrayFile({"counts": np.zeros(3)}, ["orla"], "tales").save(tmp_path / "babi-svm.safetensors")
    with pytest.raises(ModelError, match="no weights of facts in the file"):
        open_reader(f"babi-svm:{tmp_path}")
    with pytest.raises(ModelError, match="storyqa train babi --system babi-svm"):
        open_reader(f"babi-svm:{tmp_path / 'elsewhere'}")
