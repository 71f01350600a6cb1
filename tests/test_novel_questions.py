"""Our own questions about novels: what every one of them keeps to, and what is trained and chosen on."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from encoders.cross_encoder import load_crossencoder
from evaluation.benchmarks import novels
from evaluation.benchmarks.files import DataError
from evaluation.benchmarks.narrativeqa import half, read_story
from evaluation.benchmarks.novels import Novel
from evaluation.natural import natural_questions
from indexing.passages import split
from training.context_sampling import Sampling, sample_example
from training.contrastive_batches import batch_of_book
from training.corpora.corpus import Corpus, Document, LabelledQuestion
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.loading import load_corpus
from training.corpora.novels import NOVELS
from training.objectives.cross_encoder import CrossEncoderTask
from training.objectives.cross_encoder_settings import CrossEncoderSettings
from training.searched_books import SearchedBooks
from training.validation import reading_scores

KINDS = {"who", "where", "when", "why", "how", "how many", "what", "how it ends", "other"}
EVERY = novels.novels()
HELD_OUT, TRAINED = "14375", "21935"


@pytest.mark.parametrize("novel", EVERY, ids=lambda novel: novel.id[:8])
def test_every_question_has_a_place_with_the_words_that_answer_or_no_answer_at_all(novel: Novel) -> None:
    assert len({question.text.casefold() for question in novel.questions}) == len(novel.questions)
    unanswered = [question for question in novel.questions if not question.answers]
    assert 4 <= len(unanswered) <= len(novel.questions) / 10
    for question in novel.questions:
        assert question.kind in KINDS
        assert question.text.strip() == question.text
        assert question.text
        assert bool(question.answers) == bool(question.place) == bool(question.span)
        if question.place is not None and question.span is not None:
            assert 0 <= question.place[0] <= question.span[0] < question.span[1] <= question.place[1]
            assert question.place[1] <= novel.characters
            assert all(0 < len(answer.split()) <= 20 for answer in question.answers)


def test_no_novel_is_one_that_figures_are_taken_on() -> None:
    assert len({novel.id for novel in EVERY}) == len(EVERY)
    assert not {novel.id for novel in EVERY} & {question.book for question in natural_questions()}
    of_narrativeqa = [novel.id for novel in EVERY if len(novel.id) == 40]
    assert of_narrativeqa
    assert {half(id) for id in of_narrativeqa} == {"A"}
    assert 0 < sum(novel.held_out for novel in EVERY) < len(EVERY) / 4


def _write(folder: Path, *ids: str) -> Path:
    """Texts of our own, as long as the novels of these ids."""
    for id in ids:
        [characters] = [novel.characters for novel in EVERY if novel.id == id]
        text = "".join(f"The miller's boat {number} lay at anchor. " for number in range(characters // 30))
        (folder / f"{id}.txt").write_text(f"{text[: characters - 1]}.", "utf-8")
    return folder


def test_a_folder_of_novels_is_asked_about_and_another_edition_is_left_out(tmp_path: Path) -> None:
    folder = _write(tmp_path, HELD_OUT, TRAINED)
    (folder / "12.txt").write_text("Another edition of a book about a looking-glass.", "utf-8")
    benchmark = novels.load(folder)
    assert set(benchmark.books) == {HELD_OUT, TRAINED}
    assert [one.story for one in benchmark.left_out] == ["12"]
    assert "another" not in benchmark.left_out[0].reason
    assert "wanted the edition of" in benchmark.left_out[0].reason
    for question in benchmark.questions:
        [place] = question.gold
        text = benchmark.books[question.book]().text
        assert question.answers[-1] in text[slice(*place)]
    held_out = novels.load(folder, held_out=True)
    assert set(held_out.books) == {HELD_OUT}
    assert {question.story for question in held_out.questions} == {HELD_OUT}


def test_a_story_of_narrativeqa_is_the_book_that_its_benchmark_has(tmp_path: Path) -> None:
    [novel] = [novel for novel in EVERY if novel.title == "Beyond the Black River"]
    path = _write(tmp_path, novel.id, HELD_OUT) / f"{novel.id}.content"
    (tmp_path / f"{novel.id}.txt").rename(path)
    books = novels.load(tmp_path).books
    assert books[novel.id]() == read_story(path, novel.id)
    assert books[HELD_OUT]().source == f"gutenberg:{HELD_OUT}"


def test_a_folder_without_novels_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no novel that there are questions about"):
        novels.load(tmp_path)
    with pytest.raises(DataError, match="each <Gutenberg id>"):
        novels.load(tmp_path / "nowhere")


def test_novels_are_trained_on_but_for_those_held_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = _write(tmp_path, HELD_OUT, TRAINED)
    (folder / "120.txt").write_text("Another edition of a book about an island.", "utf-8")
    corpus = load_corpus([folder])
    assert [document.name for document in corpus.of(NOVELS)] == [f"gutenberg-{TRAINED}"]
    assert [document.name for document in corpus.held_out] == [f"gutenberg-{HELD_OUT}"]
    assert "another edition of Treasure Island" in caplog.text
    for document in (*corpus.train, *corpus.held_out):
        for question in document.questions:
            assert question.exact
            assert bool(question.gold) == bool(question.answers)


def _novel(length: int = 800) -> Document:
    """A text of so many sentences, 20 to a passage, of which one alone tells where the lamp is."""
    told = "Corin hid the lamp beneath the ferry."
    sentences = [
        f"The lamp of keeper {number} burns in house {number} all night." for number in range(length)
    ]
    sentences[length // 3] = told
    text = " ".join(sentences)
    start = text.index("beneath the ferry")
    asked = LabelledQuestion(
        "Where is Corin's lamp?",
        ("under the ferry", "beneath the ferry"),
        ((start, start + len("beneath the ferry")),),
        exact=True,
    )
    unanswered = LabelledQuestion("Who stole the lamp of Corin?", (), (), exact=True)
    passages = tuple((passage.start, passage.end) for passage in split(text))
    return Document(NOVELS, "Lamps", text, passages, (asked, unanswered))


def test_what_is_marked_is_learnt_and_without_an_answer_that_nothing_shown_is_right() -> None:
    novel = _novel()
    asked, unanswered = novel.questions
    searched = SearchedBooks([novel], lambda *_: None)
    withheld = 0
    for seed in range(40):
        rng = random.Random(seed)
        for example in (
            sample_example(novel, asked, Sampling(), rng),
            searched.sample(novel, asked, Sampling(), rng),
        ):
            assert example is not None
            assert len(example.passages) > len(example.right)
            found = [example.passages[one.text][one.start : one.end] for one in example.targets]
            assert found == ["beneath the ferry"] * len(example.right)
            withheld += not example.right
        for example in (
            sample_example(novel, unanswered, Sampling(), rng),
            searched.sample(novel, unanswered, Sampling(), rng),
        ):
            assert example is not None
            assert example.passages
            assert (example.right, example.targets) == ((), ())
    assert 0 < withheld < 20  # now and then what answers is not shown


@pytest.mark.training
@pytest.mark.parametrize(("passes", "books"), [(0, 1), (1, 2)])
def test_novels_are_searched_only_where_they_are_learnt_from(passes: int, books: int) -> None:
    novel = _novel(60)
    corpus = Corpus((novel, replace(novel, kind=FAIRYTALES, name="A tale")), ())
    searched = []
    settings = CrossEncoderSettings(fairytales=1, novels=passes, searched=1.0, generate_weight=0.0)
    CrossEncoderTask(settings, corpus, tell=lambda _, done, of: searched.append((done, of)))
    assert searched[-1] == (books, books)


def test_the_windows_that_hold_what_is_marked_are_right_for_the_retriever() -> None:
    novel = _novel()
    batch = batch_of_book(novel, random.Random(0))
    assert batch.questions == (novel.questions[0].text,)
    [right] = batch.right
    assert [n for n, text in enumerate(batch.windows) if "beneath the ferry" in text] == list(right)
    assert len(batch.windows) > len(right)


def test_models_are_told_how_they_fare_on_novels_that_are_held_out() -> None:
    scores = reading_scores(load_crossencoder(), None, [_novel()])
    assert scores == {"span_novels": 1.0, "relevance_novels": 1.0}
