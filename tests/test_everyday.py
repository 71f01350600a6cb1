"""Our own questions about everyday texts: what each keeps to, and what is trained and chosen on."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest

from evaluation.benchmarks import domains, everyday
from evaluation.benchmarks.benchmark import Question
from evaluation.benchmarks.holdout import held_out_list
from text.sentences import sentence_spans
from text.words import words
from training.context_sampling import Sampling, sample_example
from training.corpora.corpus import Corpus, iter_questions
from training.corpora.everyday import EVERYDAY
from training.corpora.loading import load_corpus
from training.objectives.answer_selector import questions_to_read
from training.objectives.cross_encoder_batches import draw_questions
from training.objectives.cross_encoder_settings import CrossEncoderSettings

EVERY = everyday.load()
TEXTS = {id: load().text for id, load in EVERY.books.items()}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus([everyday.FOLDER])


def test_there_are_many_kinds_and_of_each_many_texts_and_questions() -> None:
    of_kind: dict[str, set[str]] = defaultdict(set)
    for question in EVERY.questions:
        assert question.kind is not None
        of_kind[question.kind].add(question.book)
    assert len(of_kind) == 48
    assert min(map(len, of_kind.values())) >= 10
    asked = Counter(question.book for question in EVERY.questions)
    assert asked.keys() == TEXTS.keys()
    assert all(6 <= number <= 9 for number in asked.values())
    assert len(set(TEXTS.values())) == len(TEXTS)


def test_every_answer_stands_where_it_is_said_to_and_is_a_short_span() -> None:
    assert len({question.id for question in EVERY.questions}) == len(EVERY.questions)
    assert len({(question.book, question.text.casefold()) for question in EVERY.questions}) == len(
        EVERY.questions
    )
    for question in EVERY.questions:
        text = TEXTS[question.book]
        assert question.answers
        assert tuple(text[start:end] for start, end in question.gold) == question.answers
        assert all(answer == answer.strip() and 1 <= len(words(answer)) <= 22 for answer in question.answers)
        assert question.text.strip() == question.text != ""


def test_questions_are_asked_in_other_words_than_the_text_has() -> None:
    """Of a question's longer words about half are the text's, too."""

    def shared(question: Question) -> tuple[int, int]:
        own = [word for word in words(question.text) if len(word) > 3]
        there = set(words(TEXTS[question.book]))
        return sum(word in there for word in own), len(own)

    both = [shared(question) for question in EVERY.questions]
    assert sum(there for there, _ in both) < 0.55 * sum(own for _, own in both)


def test_no_text_is_of_the_set_that_figures_are_taken_on() -> None:
    figures = domains.load()
    kept = {one.text for load in figures.books.values() for one in [load()]}
    theirs = {text[start:end] for text in kept for start, end in sentence_spans(text)}
    ours = {text[start:end] for text in TEXTS.values() for start, end in sentence_spans(text)}
    assert theirs
    assert not {one for one in theirs & ours if len(words(one)) > 3}
    assert not {one.kind for one in figures.questions} & {one.kind for one in EVERY.questions}


def test_kinds_are_held_out_of_training_and_are_what_may_be_chosen_by(corpus: Corpus) -> None:
    apart = {document.name for document in corpus.held_out}
    assert apart == {question.kind for question in everyday.load(held_out=True).questions}
    assert apart < held_out_list()
    assert {document.kind for document in (*corpus.train, *corpus.held_out)} == {EVERYDAY}
    assert len(corpus.train) == 44
    asked = [question.text for _, question in iter_questions([*corpus.train, *corpus.held_out])]
    assert sorted(asked) == sorted(question.text for question in EVERY.questions)


def test_a_question_is_shown_with_its_text_and_its_marked_answer(corpus: Corpus) -> None:
    rng = random.Random(3)
    beside = set()
    for document, question in random.Random(0).sample(list(iter_questions(corpus.train)), 200):
        example = sample_example(document, question, Sampling(), rng)
        assert example is not None
        beside.add(len(example.passages))
        [right] = example.right
        spans = {example.passages[target.text][target.start : target.end] for target in example.targets}
        assert {target.text for target in example.targets} == {right}
        assert spans == set(question.answers)
        assert example.marked
    assert beside == {1, 2}


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_a_run_sees_every_question_so_many_times(corpus: Corpus, passes: int) -> None:
    settings = CrossEncoderSettings(everyday=passes)
    seen = Counter(
        (document.name, question.text, question.gold)
        for document, question in draw_questions(corpus, settings)
    )
    every = {
        (document.name, question.text, question.gold) for document, question in iter_questions(corpus.train)
    }
    assert seen == dict.fromkeys(every, passes) if passes else not seen


def test_a_selector_is_fitted_to_those_held_out(corpus: Corpus) -> None:
    read = questions_to_read(corpus, most=50)
    assert len(read) == 50
    assert {where for where, _, _ in read} == {EVERYDAY}
    assert {document.name for _, document, _ in read} <= {document.name for document in corpus.held_out}
