"""The reader of n-grams: what it counts, what it learns, and that its file is enough."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tiny_worlds import asked_of, learnt, right, walks

from encoders.errors import ModelError
from evaluation.worlds.stories import Asked, Story
from readers import open_reader
from readers.baselines.babi_ngram import ngrams
from readers.facts import told_in
from readers.reading import Reading

PIM = Reading("Where is Pim?", ("Pim rode to the mill.", "Orla rode to the mill.", "Old Pim fell ill."))


def test_ngrams_are_those_of_the_facts_that_share_a_word_with_the_question() -> None:
    assert sorted(ngrams(told_in(Reading("Who fell?", PIM.passages)))) == sorted(
        ["old", "pim", "fell", "ill", "old pim", "pim fell", "fell ill", "old pim fell", "pim fell ill"]
    )


def test_ngrams_are_counted_as_scikit_learn_counts_them() -> None:
    from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]

    counter = CountVectorizer(ngram_range=(1, 3))
    counts = counter.fit_transform([PIM.passages[0], PIM.passages[2]]).toarray().sum(0)
    expected = dict(zip(counter.get_feature_names_out(), counts, strict=True))
    assert Counter(ngrams(told_in(PIM))) == expected


def test_a_world_whose_answers_are_in_the_words_is_learnt_by_heart(tmp_path: Path) -> None:
    stories = [
        Story(
            (f"{who} is {how}.", f"{other} is glad."),
            (Asked(f"Is {who} glad?", ("yes" if how == "glad" else "no",), (0,), 1),),
        )
        for who, other in (("Orla", "Pim"), ("Pim", "Wenna"), ("Wenna", "Orla"))
        for how in ("glad", "sad", "cross")
    ]
    assert right(learnt("babi-ngram", stories, tmp_path), stories) == 1


def test_margins_are_those_of_scikit_learn(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    stories = walks(20)
    wanted = [one.answers[0] for story in stories for one in story.asked]
    told = [told_in(reading) for reading in asked_of(stories)]
    peer = make_pipeline(CountVectorizer(analyzer=ngrams), LinearSVC(random_state=1)).fit(told, wanted)
    answers = learnt("babi-ngram", stories, tmp_path).read(asked_of(stories))
    assert [one[0].text for one in answers] == peer.predict(told).tolist()


def test_answers_of_several_words_are_one_class_and_two_of_equal_margins_share_the_confidence(
    tmp_path: Path,
) -> None:
    stories = [
        Story(
            ("Orla has a kettle.", "Orla has a drum."),
            (Asked("What has Orla?", ("kettle", "drum"), (0,), 2),),
        )
    ] * 3
    reader = learnt("babi-ngram", stories, tmp_path)
    [[answer]] = reader.read(asked_of(stories)[:1])
    assert (answer.text, answer.confidence) == ("kettle,drum", 1.0)  # it knows no other
    assert reader.trained_on == "tales"


def test_where_no_fact_shares_a_word_with_its_question_all_answers_are_equally_likely(tmp_path: Path) -> None:
    stories = [Story(("Orla slept.",), (Asked("Who?", (who,), (0,), 1),)) for who in ("Orla", "Pim")]
    [[answer]] = learnt("babi-ngram", stories, tmp_path).read(asked_of(stories)[:1])
    assert answer.confidence == 0.5


def test_a_question_with_an_unknown_word_has_no_answer_and_neither_has_one_without_facts(
    tmp_path: Path,
) -> None:
    reader = learnt("babi-ngram", walks(3), tmp_path)
    unknown = Reading("Where is Tamsin?", PIM.passages)
    assert reader.read([unknown, Reading("Where is Pim?", ())]) == [[], []]


def test_a_folder_without_the_classifier_is_told_how_it_is_trained(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"storyqa train babi --system babi-ngram --data DATA --out "):
        open_reader(f"babi-ngram:{tmp_path}")
    with pytest.raises(ModelError, match="needs a folder: write babi-ngram:DIR"):
        open_reader("babi-ngram")
