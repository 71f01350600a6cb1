"""``memnn``: its features, its comparisons and its loss by their definitions, and what it learns by heart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import ceil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from encoders.errors import ModelError
from evaluation.worlds.stories import Asked, Story
from readers import open_reader
from readers.facts import Fact, Told
from readers.neural.fact_features import CANDIDATE, QUESTION, FactFeatures, hop
from readers.neural.memory_network import MemNN, asked, find_facts
from readers.reading import Reading, Span
from training.objectives.babi_systems import BabiRun
from training.objectives.memnn import learn, ranking

ACTORS, PLACES, THINGS = ("Nell", "Hob", "Ada"), ("mill", "barn", "loft"), ("lamp", "rope")


def carrying(count: int, seed: int) -> list[Story]:
    """Stories in which somebody takes things and goes, with questions of two supports and of lists."""
    rng = random.Random(seed)
    stories = []
    for _ in range(count):
        actor, place = rng.choice(ACTORS), rng.choice(PLACES)
        things = rng.sample(THINGS, 2)
        facts = [f"{actor} took the {thing}." for thing in things]
        other = next(one for one in ACTORS if one != actor)
        facts += [f"{other} went to the {rng.choice(PLACES)}.", f"{actor} went to the {place}."]
        stories.append(
            Story(
                tuple(facts),
                (
                    Asked(f"What is {actor} carrying?", tuple(things), (0, 1), 2),
                    Asked(f"Where is the {things[1]}?", (place,), (1, 3), 4),
                ),
            )
        )
    return stories


def read(argument: str, facts: Sequence[str], question: str) -> tuple[str, list[int]]:
    """The answer, and the numbers of the facts that it follows from."""
    [answers] = open_reader(f"memnn:{argument}").read([Reading(question, tuple(facts))])
    return answers[0].text, [span.passage for span in answers[0].chain]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of all extensions that has learnt forty stories."""
    out = tmp_path_factory.mktemp("memnn")
    learn(BabiRun({2: carrying(40, 1)}, ("am", "ng", "nl"), out, "stories of the test", 5, epochs=30))
    return out


def test_what_it_learnt_it_answers_with_the_facts_that_support_it(folder: Path) -> None:
    for story in carrying(40, 1):
        for one in story.asked:
            found = read(f"{folder}@am,ng,nl", story.facts[: one.after], one.text)
            assert found == (",".join(one.answers), list(one.support))


def test_stories_it_never_saw_it_mostly_answers(folder: Path) -> None:
    right = [
        read(f"{folder}@am,ng,nl", story.facts[: one.after], one.text)[0] == ",".join(one.answers)
        for story in carrying(40, 2)
        for one in story.asked
    ]
    assert sum(right) / len(right) > 0.9


def test_facts_are_found_among_sentences_of_other_words(folder: Path) -> None:
    facts = ("It rained.", "Nell took the lamp.", "Nobody spoke of it.", "Nell went to the barn.")
    assert read(f"{folder}@am,ng,nl", facts, "Where is the lamp?") == ("barn", [1, 3])


def test_a_word_of_an_answer_is_cited_where_it_stands(folder: Path) -> None:
    passage = "Nell took the rope. Nell went to the mill."
    reader = open_reader(f"memnn:{folder}@am,ng,nl")
    [[answer]] = reader.read([Reading("Where is the rope?", (passage,))])
    assert answer.span is not None
    assert passage[answer.span.start : answer.span.end] == answer.text == "mill"
    found = [passage[one.start : one.end] for one in answer.chain]
    assert found == ["Nell took the rope.", "Nell went to the mill."]
    assert 0 < answer.confidence <= 1


@pytest.mark.parametrize(
    ("facts", "question"),
    [
        ((), "Where is Nell?"),
        (("Nell went to the barn.",), "Where is Sir Roland?"),
        (("It rained.",), "Where is Nell?"),
    ],
    ids=["nothing told", "an unknown word", "nothing known told"],
)
def test_of_nothing_it_knows_there_is_no_answer(folder: Path, facts: tuple[str, ...], question: str) -> None:
    assert open_reader(f"memnn:{folder}@am,ng,nl").read([Reading(question, facts)]) == [[]]


def test_answers_do_not_depend_on_what_is_read_beside(folder: Path) -> None:
    reader = open_reader(f"memnn:{folder}@am,ng,nl")
    readings = [
        Reading(one.text, story.facts[: one.after]) for story in carrying(6, 3) for one in story.asked
    ]
    together = reader.read(readings)
    for reading, answers in zip(readings, together, strict=True):
        [alone] = reader.read([reading])
        assert [one.text for one in alone] == [one.text for one in answers]
        assert [one.chain for one in alone] == [one.chain for one in answers]


def test_other_options_and_a_folder_without_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no option deep; it has am, ng"):
        open_reader(f"memnn:{tmp_path}@deep")
    with pytest.raises(ModelError, match="storyqa train babi --system memnn@am"):
        open_reader(f"memnn:{tmp_path}@am")


@pytest.mark.parametrize("options", [(), ("am",), ("am", "multilinear")], ids=["plain", "am", "multilinear"])
def test_every_kind_learns_one_supporting_fact(options: tuple[str, ...], tmp_path: Path) -> None:
    stories = [
        Story((f"{a} went to the {b}.", f"{c} went to the {d}."), (Asked(f"Where is {a}?", (b,), (0,), 2),))
        for a in ACTORS
        for c in ACTORS
        if c != a
        for b in PLACES
        for d in PLACES
    ]
    learn(BabiRun({1: stories}, options, tmp_path, "stories of the test", 5))
    name = f"{tmp_path}@{','.join(options)}"
    for story in stories:
        assert read(name, story.facts, story.asked[0].text) == (story.asked[0].answers[0], [0])


def test_n_grams_have_features_of_their_own_in_each_part() -> None:
    vocabulary = ["nell", "went", "home"]
    sentence = ("nell", "went", "home")
    features = FactFeatures.learn(vocabulary, [(QUESTION, sentence), (CANDIDATE, sentence)], 3)
    assert len(features) == 12  # three words, two pairs and the triple, in each of two parts
    grams = [tuple(features.rows()[row].tolist()) for row, _ in features.of(CANDIDATE, sentence)]
    assert grams == [
        (CANDIDATE, 0, -1, -1),
        (CANDIDATE, 1, -1, -1),
        (CANDIDATE, 2, -1, -1),
        (CANDIDATE, 0, 1, -1),
        (CANDIDATE, 1, 2, -1),
        (CANDIDATE, 0, 1, 2),
    ]
    assert features.of(hop(0), sentence) == ()


@pytest.mark.parametrize("length", [1, 2, 5, 7])
def test_words_belong_to_the_places_of_the_paper(length: int) -> None:
    vocabulary = [f"w{i}" for i in range(length)]
    features = FactFeatures.learn(vocabulary, [(QUESTION, tuple(vocabulary))], 1, places=5)
    found = [place + 1 for _, place in features.of(QUESTION, tuple(vocabulary))]
    assert found == [ceil(i * 5 / length) for i in range(1, length + 1)]


def net_of(features: FactFeatures, hops: int) -> MemNN:
    torch.manual_seed(3)
    net = MemNN(3, len(features), 1, 8, hops)
    torch.nn.init.normal_(net.t, std=0.5)
    torch.nn.init.normal_(net.o.u.weight, std=0.5)
    return net.eval()


@pytest.mark.parametrize("hops", [2, 0], ids=["two hops", "adaptive"])
def test_facts_are_found_by_comparisons_in_pairs_from_the_oldest(hops: int) -> None:
    told = [
        Told(("who",), tuple(Fact((f"f{i}",), Span(i, 0, 1)) for i in rng.sample(range(9), 7)))
        for rng in map(random.Random, range(20))
    ]
    vocabulary = ["who", *(f"f{i}" for i in range(9))]
    parts = [(part, (word,)) for part in range(CANDIDATE + 1) for word in vocabulary]
    features = FactFeatures.learn(vocabulary, parts, 1)
    net = net_of(features, hops)
    with torch.inference_mode():
        assert find_facts(net, features, told) == [_found(net, features, one) for one in told]


def _found(net: MemNN, features: FactFeatures, one: Told) -> tuple[int, ...]:
    """The definition: each comparison by itself."""
    y = net.o(features.bags([[(CANDIDATE, fact.words)] for fact in one.facts]))
    chain: list[int] = []
    for _ in range(net.hops or 10):
        x = net.o(features.bags([asked(one, chain)]))[0]
        best: int | None = None
        for i in range(len(one.facts)):
            if i in chain:
                continue
            if best is None:
                won = net.hops > 0 or float(x @ y[i] - x @ net.null) > 0
            else:
                older = [float(bool(chain) and chain[-1] < at) for at in (i, best)]
                t = torch.tensor([1.0, older[0] - older[1]])
                won = float(x @ y[i] - x @ y[best] + x @ net.t @ t) > 0
            best = i if won else best
        if best is None:
            break
        chain.append(best)
    return tuple(chain)


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_loss_is_the_sum_of_the_margins_that_are_too_small(adaptive: bool) -> None:
    torch.manual_seed(1)
    scores, a, null = torch.randn(3, 5), torch.randn(3, 2), torch.randn(3)
    rows, targets, chains = [[0, 1, 2], [4, 3, 2, 1, 0], [1, 1]], [1, 3, -1], [(), (2,), (0,)]
    gamma = 0.1  # docs/babi.md
    expected = 0.0
    for m, (row, target, chain) in enumerate(zip(rows, targets, chains, strict=True)):
        for i, sentence in enumerate(row):
            if i == target or i in chain:
                continue
            if target < 0:
                margin = null[m] - scores[m, sentence]
            else:
                newer = 1.0 if target > i else -1.0
                after = [float(bool(chain) and chain[-1] < at) for at in (target, i)]
                margin = scores[m, row[target]] - scores[m, sentence]
                margin += a[m, 0] * newer + a[m, 1] * (after[0] - after[1])
            expected += max(0.0, gamma - float(margin))
        if adaptive and target >= 0:
            expected += max(0.0, gamma - float(scores[m, row[target]] - null[m]))
    found = ranking(scores, a, null, rows, targets, chains, adaptive)
    np.testing.assert_allclose(float(found), expected / 3, rtol=1e-5)


def test_the_same_stories_and_seed_make_the_same_weights(tmp_path: Path) -> None:
    runs = [
        BabiRun({2: carrying(12, 1)}, ("am",), tmp_path / name, "stories of the test", 5, epochs=2)
        for name in ("one", "other")
    ]
    one, other = (load_file(learn(run)) for run in runs)
    assert all(torch.equal(one[name], other[name]) for name in one)
