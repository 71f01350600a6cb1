"""Modified Kneser-Ney against the formulas in exact fractions, and the reader that asks it."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from encoders.errors import ModelError
from readers import open_reader
from readers.baselines.ngram import NAME, KneserNeyReader, NgramModel, language_words
from readers.cloze import parse_cloze
from readers.reading import Ranker, Reading
from training.arpa import write_arpa
from training.objectives.kneser_ney import estimate, tune_cache

RNG = random.Random(14)
# Words of very different counts, so that all counts of counts are there for each length.
WORDS = [f"w{i}" for i in range(12)]
TEXT = [RNG.choices(WORDS, [1 / (i + 1) for i in range(12)], k=RNG.randint(1, 9)) for _ in range(150)]
FEW = [line.split() for line in ("the fox saw the goose", "the goose saw a fox", "a goose")]


class Reference:
    """The model by its definition, slowly: counts in dictionaries, probabilities as fractions."""

    def __init__(self, sentences: Sequence[Sequence[str]], order: int) -> None:
        raw: Counter[tuple[str, ...]] = Counter()
        for sentence in sentences:
            padded = ("<s>", *sentence, "</s>")
            for size in range(1, order + 1):
                raw.update(padded[i : i + size] for i in range(len(padded) - size + 1))
        before: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for gram in raw:
            before[gram[1:]].add(gram[0])
        self.order = order
        self.words = sorted({word for sentence in sentences for word in sentence})
        self.count: dict[tuple[str, ...], int] = {}
        for gram, times in raw.items():
            whole = len(gram) == order or gram[0] == "<s>"
            self.count[gram] = times if whole else len(before[gram])
        del self.count[("<s>",)]
        self.lost = [self._discounts(size) for size in range(1, order + 1)]
        self.after: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
        for gram, times in self.count.items():
            self.after[gram[:-1]][gram[-1]] = times

    def _discounts(self, size: int) -> tuple[Fraction, ...]:
        n = Counter(times for gram, times in self.count.items() if len(gram) == size)
        if not all(n[times] for times in (1, 2, 3, 4)):
            return Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2)
        y = Fraction(n[1], n[1] + 2 * n[2])
        found = tuple(times - (times + 1) * y * n[times + 1] / n[times] for times in (1, 2, 3))
        if not all(0 < lost < times for times, lost in enumerate(found, 1)):
            return Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2)
        return Fraction(0), *found

    def p(self, word: str, history: tuple[str, ...]) -> Fraction:
        """The probability of a word after a history of fewer words than the order."""
        if word == "<s>":
            return Fraction(0)
        shorter = self.p(word, history[1:]) if history else Fraction(1, len(self.words) + 2)
        after = self.after.get(history)
        if not after:
            return shorter
        lost = self.lost[len(history)]
        total = sum(after.values())
        left = sum((lost[min(times, 3)] for times in after.values()), Fraction()) / total
        times = after.get(word, 0)
        return (times - lost[min(times, 3)]) / total + left * shorter


def histories(sentences: Sequence[Sequence[str]], order: int) -> list[tuple[str, ...]]:
    """Every history of the sentences, and some that none of them has."""
    found = {
        ("<s>", *sentence[:i])[-(order - 1) :] for sentence in sentences for i in range(len(sentence) + 1)
    }
    seldom = [("w9", "w10", "w11", "w9"), ("<unk>", "w1"), ("w1", "<unk>", "w2")]
    return sorted(found if order > 1 else {()}) + [one[-(order - 1) :] for one in seldom if order > 1]


def asked(model: NgramModel, history: tuple[str, ...]) -> np.ndarray:
    """The probability of every word after the history."""
    absent = [-1] * (model.order - 1 - len(history))
    numbers = [model.numbers.get(word, 0) for word in history]
    return 10 ** model.log_probabilities(np.array([[*absent, *numbers, w] for w in range(len(model.words))]))


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_probabilities_are_those_of_the_formulas(order: int) -> None:
    model, reference = estimate(TEXT, order), Reference(TEXT, order)
    assert model.words == ["<unk>", "<s>", "</s>", *reference.words]
    for history in histories(TEXT, order):
        wanted = [float(reference.p(word, history)) for word in model.words]
        assert asked(model, history) == pytest.approx(wanted, rel=1e-5, abs=1e-12)


def test_discounts_fall_back_where_a_text_has_too_few_counts() -> None:
    model, reference = estimate(FEW), Reference(FEW, 5)
    for history in histories(FEW, 5):
        assert asked(model, history) == pytest.approx([float(reference.p(w, history)) for w in model.words])


@pytest.mark.parametrize("order", [1, 2, 5])
def test_probabilities_sum_to_1_after_every_history(order: int) -> None:
    model = estimate(TEXT, order)
    for history in histories(TEXT, order):
        assert asked(model, history).sum() == pytest.approx(1, abs=1e-6)


def test_a_bigram_by_hand() -> None:
    # Bigrams: <s> a, a b (twice: two sentences), b </s>, a </s>. "a" follows one word, so does "b"; </s> two.
    # Discounts fall back to 1/2, 1, 3/2. Unigrams: total 4; lost 1/2 + 1/2 + 1 = 2, so half goes to 1/4 each.
    model = estimate([["a", "b"], ["a", "b"], ["a"]], 2)
    assert model.words == ["<unk>", "<s>", "</s>", "a", "b"]
    one = [1 / 8, 0, 1 / 4 + 1 / 8, 1 / 8 + 1 / 8, 1 / 8 + 1 / 8]
    assert asked(model, ("<unk>",)) == pytest.approx(one)
    # After "a", three times: "b" twice, </s> once; lost 1 + 1/2, which is half of them.
    assert asked(model, ("a",))[4] == pytest.approx((2 - 1) / 3 + 1 / 2 * one[4])
    assert asked(model, ("a",))[2] == pytest.approx((1 - 1 / 2) / 3 + 1 / 2 * one[2])
    assert asked(model, ("a",))[3] == pytest.approx(1 / 2 * one[3])


def test_the_model_does_not_depend_on_the_order_of_sentences() -> None:
    one, other = estimate(TEXT), estimate(TEXT[::-1])
    assert one.words == other.words
    some, others = one.as_file().arrays, other.as_file().arrays
    assert all(np.array_equal(some[name], others[name]) for name in some)


def test_no_sentences_have_no_model() -> None:
    with pytest.raises(ValueError, match="no sentences"):
        estimate([])


def read_arpa(path: Path) -> dict[tuple[str, ...], tuple[float, float]]:
    """Probability and backoff of each n-gram."""
    grams = {}
    for line in path.read_text("utf-8").splitlines():
        cells = line.split("\t")
        if len(cells) > 1:
            grams[tuple(cells[1].split())] = float(cells[0]), float(cells[2]) if len(cells) > 2 else 0.0
    return grams


def test_an_arpa_file_holds_the_model(tmp_path: Path) -> None:
    model = estimate(TEXT, 3)
    path = write_arpa(model, tmp_path / "model.arpa")
    grams = read_arpa(path)
    sizes = Counter(map(len, grams))
    head = path.read_text("utf-8").split("\n\n")[0].splitlines()
    assert head == ["\\data\\", *(f"ngram {size}={sizes[size]}" for size in (1, 2, 3))]

    def log10(word: str, history: tuple[str, ...]) -> float:
        if (*history, word) in grams:
            return grams[*history, word][0]
        return grams.get(history, (0.0, 0.0))[1] + log10(word, history[1:])

    for first, second in product(["<s>", "w0", "w3", "w11"], ["w0", "w5", "w11"]):
        wanted = [10 ** log10(word, (first, second)) for word in model.words]
        assert asked(model, (first, second)) == pytest.approx(wanted, rel=1e-5)


def test_kenlm_says_the_same_of_an_arpa_file(tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed: it is LGPL, and only checks us")
    model = estimate(TEXT)
    theirs = kenlm.Model(str(write_arpa(model, tmp_path / "model.arpa")))
    for sentence in [*TEXT[:40], ["w1", "never", "w2", "w3"], ["w11"] * 8]:
        scores = [score for score, _, _ in theirs.full_scores(" ".join(sentence))]
        assert model.log_probabilities(model.grams(sentence)) == pytest.approx(scores, abs=1e-5)


def saved(model: NgramModel, folder: Path) -> Path:
    model.as_file().save(folder / "kneser-ney.safetensors")
    return folder


STORY = ("The fox saw the goose .", "`` A goose ! '' said the fox .", "The fox did n't wait .")


def model_of(*texts: str) -> NgramModel:
    return estimate([language_words(text) for text in texts], trained_on="three sentences")


def test_words_of_raw_and_of_parted_text_are_the_same_and_keep_their_case() -> None:
    raw = language_words("\u201cA Goose!\u201d said the Fox; he didn\u2019t wait for Maud\u2019s.")
    assert raw == language_words("`` A Goose ! '' said the Fox ; he did n't wait for Maud 's .")
    assert raw[:3] == ["``", "A", "Goose"]


def test_a_candidate_scores_log_p_of_the_whole_question(tmp_path: Path) -> None:
    model = model_of(*STORY)
    reader = cast(Ranker, open_reader(f"{NAME}:{saved(model, tmp_path)}"))
    candidates = ["goose", "fox", "old grey goose", "ox"]
    scores = reader.rank(Reading("The fox saw the XXXXX .", STORY), candidates)
    for candidate, score in zip(candidates, scores, strict=True):
        words = language_words(f"The fox saw the {candidate} .")
        log10 = model.log_probabilities(model.grams(words)).sum()
        assert score == pytest.approx(log10 * math.log(10))
    assert scores[0] == max(scores)


def test_confidence_is_the_probability_among_the_candidates(tmp_path: Path) -> None:
    reader = open_reader(f"{NAME}:{saved(model_of(*STORY), tmp_path)}")
    [answers] = reader.read([Reading("The XXXXX saw it .", STORY, candidates=("fox", "goose", "The"))], 3)
    assert sum(answer.confidence for answer in answers) == pytest.approx(1)
    assert reader.trained_on == "three sentences"
    assert reader.version


def test_the_cache_mixes_in_how_often_the_context_has_each_word(tmp_path: Path) -> None:
    model = model_of(*STORY)
    folder = saved(replace(model, cache=0.25), tmp_path)
    context = ("An ox , an owl and an ox .",)  # 9 tokens, "ox" twice
    reading = Reading("The XXXXX .", context)
    best = cast(Ranker, open_reader(f"{NAME}:{folder}@cache"))
    named = cast(Ranker, open_reader(f"{NAME}:{folder}@cache=0.25"))
    assert best.rank(reading, ["ox", "owl"]) == named.rank(reading, ["ox", "owl"])
    p = 10 ** model.log_probabilities(model.grams(["The", "ox", "."]))
    wanted = sum(math.log(0.75 * p[i] + 0.25 * share) for i, share in enumerate((0, 2 / 9, 1 / 9, 0)))
    assert best.rank(reading, ["ox"]) == [pytest.approx(wanted)]
    assert best.rank(reading, ["ox", "owl"])[0] > best.rank(reading, ["ox", "owl"])[1]
    plain = cast(Ranker, open_reader(f"{NAME}:{folder}"))
    assert plain.rank(reading, ["ox"]) == plain.rank(reading, ["owl"])  # both unknown


@pytest.mark.parametrize("owls", [1, 3, 9])
def test_the_weight_of_the_cache_is_the_smallest_that_fills_most_blanks(owls: int) -> None:
    model = model_of(*STORY * 5, "The ox saw the goose .")
    candidates = ("fox", "owl", "ox")
    contexts = ("ox " + "the " * 12 + "owl " * owls, "the ox saw an ox", "owl " * owls + "fox")
    right = ["owl", "ox", "fox"]
    readings = [
        Reading("The XXXXX saw the goose .", (context,), candidates=candidates) for context in contexts
    ]
    clozes = [parse_cloze(reading, candidates) for reading in readings]

    def rightly(weight: float) -> int:
        answers = KneserNeyReader(model, weight).read(readings)
        return sum(one.text == answer for [one], answer in zip(answers, right, strict=True))

    weights = [step / 50 for step in range(1, 31)]
    most = max(map(rightly, weights))
    tuned, share = tune_cache(model, clozes, right)
    assert tuned.cache == next(weight for weight in weights if rightly(weight) == most)
    assert share == pytest.approx(most / 3)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (NAME, "needs a folder: write kneser-ney:DIR"),
        (
            f"{NAME}:nowhere",
            "nowhere/kneser-ney.safetensors does not exist; train it: storyqa train cbt --system",
        ),
        (f"{NAME}:nowhere@window", "no option 'window'; wanted cache"),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_what_would(name: str, says: str) -> None:
    with pytest.raises(ModelError) as error:
        open_reader(name)
    assert says in str(error.value)


@pytest.mark.parametrize("weight", ["1", "-0.1", "nan", "much"])
def test_a_weight_of_the_cache_that_is_none_is_refused(tmp_path: Path, weight: str) -> None:
    folder = saved(model_of(*STORY), tmp_path)
    with pytest.raises(ModelError, match=f"cache={weight} for 'kneser-ney'; wanted the weight"):
        open_reader(f"{NAME}:{folder}@cache={weight}")
