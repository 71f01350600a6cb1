"""Clozes that reading models learn first: of books, before all else, marked where the text spells them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import folktales
import pytest

from evaluation.sample import sample_story
from text.cloze import blanks
from text.spans import overlaps
from training.context_sampling import Sampling, sample_example
from training.corpora import cloze_documents
from training.corpora.cloze_documents import CLOZES
from training.corpora.corpus import Corpus
from training.corpora.loading import load_corpus
from training.objectives.cross_encoder import CrossEncoderTask
from training.objectives.cross_encoder_batches import draw_questions
from training.objectives.cross_encoder_settings import CrossEncoderSettings
from training.trainer import RunExists, Trainer

COUNT = 24


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Tiny fairy tales, and clozes of a part of the sample story."""
    folder = tmp_path_factory.mktemp("data")
    told = load_corpus([folktales.write_fairytaleqa(folder, "train")])
    books = folder / "books"
    books.mkdir()
    (books / "weigher.txt").write_text(sample_story().read_text("utf-8")[:12_000], "utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(folder))
        return replace(told, train=(*told.train, *cloze_documents.load(books, COUNT)))


def test_a_cloze_is_marked_wherever_its_sentences_spell_the_answer(corpus: Corpus) -> None:
    documents = corpus.of(CLOZES)
    assert len(documents) == COUNT
    for document in documents:
        [question] = document.questions
        assert len(blanks(question.text)) == 1
        assert question.gold
        for start, end in question.gold:
            assert document.text[start:end].lower() == question.answers[0].lower()


def test_all_passages_of_a_cloze_are_read_and_those_that_spell_the_answer_are_right(corpus: Corpus) -> None:
    for document in corpus.of(CLOZES):
        [question] = document.questions
        example = sample_example(document, question, Sampling(), random.Random(0))
        assert example is not None
        assert example.passages == document.texts
        held = [n for n, place in enumerate(document.passages) if overlaps(place, question.gold)]
        assert list(example.right) == held
        assert {example.passages[t.text][t.start : t.end].lower() for t in example.targets} == {
            question.answers[0].lower()
        }


def test_clozes_are_seen_before_all_else_and_no_more_of_them_than_is_said(corpus: Corpus) -> None:
    plain = draw_questions(corpus, CrossEncoderSettings())
    assert not any(document.kind == CLOZES for document, _ in plain)
    order = draw_questions(corpus, CrossEncoderSettings(clozes=10))
    assert [document.kind == CLOZES for document, _ in order] == [True] * 10 + [False] * len(plain)
    assert order[10:] == plain


def test_a_run_from_before_a_setting_was_there_goes_on_and_one_with_other_clozes_does_not(
    corpus: Corpus, tmp_path: Path
) -> None:
    settings = CrossEncoderSettings(examples=2, chunk=1, batch_tokens=800, generate_weight=0.0)
    older = CrossEncoderTask(settings, corpus)
    older.settings = {name: value for name, value in older.settings.items() if name != "clozes"}
    Trainer(older, tmp_path).save()
    assert Trainer(CrossEncoderTask(settings, corpus), tmp_path).resume()
    with pytest.raises(RunExists, match="give the same options"):
        Trainer(CrossEncoderTask(replace(settings, clozes=2), corpus), tmp_path).resume()
