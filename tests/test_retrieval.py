"""What every retriever promises, over every line of the table, and what each is for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from novels import novel, questions

from encoders.device import pick_device, pick_dtype
from encoders.sizes import LARGE
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.index import BookIndex
from indexing.store import IndexStore
from retrieval import DEFAULT_RETRIEVER, LARGE_RERANK, RETRIEVERS, open_retriever, retriever_class
from retrieval.hits import Hit, best_hits
from retrieval.hybrid import DenseRetriever, HybridRetriever, dense_weight, z_scores
from retrieval.lda import TopicModel, symmetric_divergence
from retrieval.span_overlap import SPAN_TOKENS
from text.registry import UnknownName
from text.tokens import tokens

NOVEL = novel(words=1_500)
ASKED = questions(NOVEL, 24)


def asked(name: str) -> list[str]:
    """The questions for a retriever: few where it reads passages, a second or two for each question."""
    if name == LARGE_RERANK:
        return ASKED[:2]
    return ASKED[:4] if retriever_class(name).passages_read else ASKED


@pytest.fixture(scope="module")
def shelf(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    """A novel, a book of one passage, and one whose passages are all the same."""
    store = IndexStore(tmp_path_factory.mktemp("store"))
    settings = BuildSettings(words=50, encoder=str(tiny_bert))
    build_book(NOVEL, settings, store)
    build_book(Book("short", "Short", "The ferry sank at dawn.", "short.txt"), settings, store)
    chorus = " ".join(["row the boat to the far bank and back"] * 100)
    build_book(Book("chorus", "Chorus", chorus, "chorus.txt"), BuildSettings(9, 0, str(tiny_bert)), store)
    return store


@pytest.fixture(scope="module")
def index(shelf: IndexStore) -> BookIndex:
    return shelf.open(NOVEL.id)


def numbers(hits: list[Hit]) -> list[int]:
    return [hit.passage.number for hit in hits]


every_retriever = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[
                *[pytest.mark.shipped] * (retriever_class(name).passages_read > 0),
                *[pytest.mark.large] * (name == LARGE_RERANK),
            ],
        )
        for name in RETRIEVERS
    ],
)


@every_retriever
@pytest.mark.parametrize("k", [1, 5, 1000])
def test_hits_are_k_different_passages_of_the_book_best_first(index: BookIndex, name: str, k: int) -> None:
    for hits in open_retriever(name, index).search(asked(name), k):
        assert len(hits) == min(k, len(index.passages))
        assert len(set(numbers(hits))) == len(hits)
        assert all(hit.passage == index.passages[hit.passage.number] for hit in hits)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert np.isfinite(scores).all()


@every_retriever
def test_fewer_hits_are_the_first_of_more(index: BookIndex, name: str) -> None:
    retriever = open_retriever(name, index)
    for few, many in zip(retriever.search(asked(name), 3), retriever.search(asked(name), 20), strict=True):
        assert numbers(few) == numbers(many)[:3]


@every_retriever
def test_ties_go_to_the_earlier_passage(shelf: IndexStore, name: str) -> None:
    for k in (1, 4, 100):
        for hits in open_retriever(name, shelf.open("chorus")).search(["Who rows the boat?", "zzyzx"], k):
            assert len(hits) == k
            assert len({round(hit.score, 6) for hit in hits}) <= 2  # nothing stands before the first
            assert hits == sorted(hits, key=lambda hit: (-round(hit.score, 6), hit.passage.number))


@every_retriever
def test_nothing_that_ends_after_before_is_found(index: BookIndex, name: str) -> None:
    retriever = open_retriever(name, index)
    for before in (0, index.passages[0].end - 1, index.passages[0].end, index.passages[7].end + 3):
        seen = sum(passage.end <= before for passage in index.passages)
        for hits in retriever.search(asked(name)[:5], 1000, before=before):
            assert sorted(numbers(hits)) == list(range(seen))
    whole = retriever.search(asked(name), 5)
    assert retriever.search(asked(name), 5, before=len(NOVEL.text)) == whole
    assert retriever.search(asked(name), 5, before=10**9) == whole


@every_retriever
def test_a_search_is_the_same_every_time_and_in_any_company(index: BookIndex, name: str) -> None:
    together = open_retriever(name, index).search(asked(name), 5)
    assert open_retriever(name, index).search(asked(name), 5) == together
    if retriever_class(name).second_phase is not None:
        return  # a batch's company may change the last digits of what a model reads in it
    for question, hits in zip(asked(name), together, strict=True):
        assert open_retriever(name, index).search([question], 5) == [hits]


@pytest.mark.shipped
@pytest.mark.parametrize("name", ["rerank", pytest.param(LARGE_RERANK, marks=pytest.mark.large)])
def test_company_changes_what_a_model_reads_in_the_last_digits_alone(index: BookIndex, name: str) -> None:
    retriever = open_retriever(name, index)
    within = 1e-3 if pick_dtype(pick_device()) == torch.float32 else 0.15
    for question, hits in zip(asked(name), retriever.search(asked(name), 1000), strict=True):
        [alone] = retriever.search([question], 1000)
        scores = {hit.passage: hit.score for hit in alone}
        assert [scores[hit.passage] for hit in hits] == pytest.approx([hit.score for hit in hits], abs=within)


@every_retriever
def test_hits_are_encoded_where_a_second_phase_reads_passages(index: BookIndex, name: str) -> None:
    kind = retriever_class(name)
    assert (kind.second_phase is None) == (kind.passages_read == 0)
    [hits] = open_retriever(name, index).search(ASKED[:1], 5)
    assert any(hit.encoded is not None for hit in hits) == (kind.passages_read > 0)


@every_retriever
@pytest.mark.parametrize("question", ["", "?", "zzyzx", "\u6d77", "the " * 3000])
def test_any_question_at_all_has_hits(index: BookIndex, name: str, question: str) -> None:
    assert [len(hits) for hits in open_retriever(name, index).search([question, question], 5)] == [5, 5]


@every_retriever
def test_no_questions_have_no_hits(index: BookIndex, name: str) -> None:
    assert open_retriever(name, index).search([], 5) == []


@every_retriever
def test_a_book_of_one_passage_can_be_searched(shelf: IndexStore, name: str) -> None:
    retriever = open_retriever(name, shelf.open("short"))
    assert [numbers(hits) for hits in retriever.search(["When did the ferry sink?"], 5)] == [[0]]
    assert retriever.search(["When did the ferry sink?"], 5, before=3) == [[]]


@every_retriever
def test_less_than_one_passage_cannot_be_asked_for(index: BookIndex, name: str) -> None:
    with pytest.raises(ValueError, match="0 passages asked for; wanted 1 or more"):
        open_retriever(name, index).search(ASKED, 0)


@pytest.mark.parametrize("name", ["tfidf", "bm25"])
def test_a_question_in_the_passages_own_words_finds_it(index: BookIndex, name: str) -> None:
    retriever = open_retriever(name, index)
    for passage in index.passages:
        words = index.text(passage.start, passage.end).split()
        (hits,) = retriever.search([" ".join(words[:30])], 1)
        assert numbers(hits) == [passage.number]


def test_dense_finds_a_window_by_its_own_text(index: BookIndex) -> None:
    retriever = open_retriever("dense", index)
    for passage in index.passages:
        window = " ".join(index.text(passage.start, passage.end).split()[:80])
        (hits,) = retriever.search([window], 3)
        assert passage.number in numbers(hits)
        assert hits[0].score == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("weight", "alone"), [(0, "bm25"), (1, "dense")])
def test_hybrid_with_all_the_weight_on_one_side_ranks_as_that_one(
    index: BookIndex, weight: float, alone: str
) -> None:
    fused = HybridRetriever(index, weight).search(ASKED, 30)
    single = open_retriever(alone, index).search(ASKED, 30)
    assert [numbers(hits) for hits in fused] == [numbers(hits) for hits in single]


@pytest.mark.parametrize("weight", [None, 0.3])
@pytest.mark.parametrize("passages", [8, None])
def test_hybrid_adds_z_scores_of_what_may_be_read_by_their_weights(
    index: BookIndex, weight: float | None, passages: int | None
) -> None:
    before = None if passages is None else index.passages[passages - 1].end
    of_words = [index.sparse.bm25(question)[:passages] for question in ASKED[:4]]
    of_meaning = DenseRetriever(index).scores(ASKED[:4])[:, :passages].astype(float)
    share = 0.6 if weight is None else weight
    found = HybridRetriever(index, weight).search(ASKED[:4], 1000, before)
    for hits, by_words, by_meaning in zip(found, of_words, of_meaning, strict=True):
        wanted = (1 - share) * (by_words - by_words.mean()) / by_words.std()
        wanted += share * (by_meaning - by_meaning.mean()) / by_meaning.std()
        assert [hit.score for hit in hits] == pytest.approx(sorted(wanted, reverse=True), abs=1e-4)
        assert [wanted[number] for number in numbers(hits)] == pytest.approx([hit.score for hit in hits])


def test_meaning_counts_for_more_beside_the_large_encoder() -> None:
    assert (dense_weight(LARGE), dense_weight("any other")) == (0.7, 0.6)


def test_z_scores_have_mean_0_and_deviation_1_unless_all_are_the_same() -> None:
    z = z_scores(np.array([3.0, 4.0, 8.0, 9.0]))
    assert z.mean() == pytest.approx(0)
    assert z.std() == pytest.approx(1)
    assert z_scores(np.full(3, 0.1, dtype=np.float32)).tolist() == [0, 0, 0]
    assert z_scores(np.zeros(0)).tolist() == []


def test_the_best_of_many_are_those_of_a_stable_sort(index: BookIndex) -> None:
    random = np.random.default_rng(3)
    for k in range(1, len(index.passages) + 2):
        scores = random.integers(0, 4, len(index.passages)).astype(float)
        wanted = np.argsort(-scores, kind="stable")[:k].tolist()
        assert numbers(best_hits(index.passages, scores, k)) == wanted


@pytest.mark.parametrize("name", ["rouge-span", "bleu-span"])
def test_eight_tokens_of_a_passage_find_it_with_the_full_score(index: BookIndex, name: str) -> None:
    retriever = open_retriever(name, index)
    for passage in index.passages[:-1]:
        text = index.text(passage.start, passage.end)
        inside = list(tokens(text))[20 : 20 + SPAN_TOKENS]
        (hits,) = retriever.search([text[inside[0].start : inside[-1].end]], 1)
        assert numbers(hits) == [passage.number]
        assert hits[0].score == pytest.approx(1)


def test_a_question_about_a_topic_finds_the_passages_about_it() -> None:
    sea, wood = "ferry river boat oar sail harbour", "oak axe saw forest timber log"
    model = TopicModel([sea, wood] * 20)
    for question, about in (("Who rowed the boat over the river?", 0), ("Who felled the oak?", 1)):
        divergence = symmetric_divergence(model.passages, model.topics(question))
        assert set(np.argsort(divergence, kind="stable")[:20] % 2) == {about}


def test_the_divergence_is_symmetric_zero_for_the_same_and_by_hand_for_two_topics() -> None:
    one, other = np.array([0.25, 0.75]), np.array([0.5, 0.5])
    assert symmetric_divergence(np.stack([one, other]), one)[0] == 0
    by_hand = -0.25 * np.log(0.5) + 0.25 * np.log(1.5)
    assert symmetric_divergence(one[None], other)[0] == pytest.approx(by_hand)
    assert symmetric_divergence(other[None], one)[0] == pytest.approx(by_hand)


def test_an_unknown_retriever_is_answered_with_the_choices(index: BookIndex) -> None:
    with pytest.raises(UnknownName, match=r"unknown retriever 'bm52' \(did you mean 'bm25'\?\); choose from"):
        open_retriever("bm52", index)
    assert DEFAULT_RETRIEVER in RETRIEVERS


def test_importing_the_packages_loads_no_numbers() -> None:
    code = (
        "import sys, retrieval, indexing.store, indexing.build_many, retrieval.hybrid, retrieval.sparse\n"
        "assert not {'numpy', 'torch', 'faiss', 'sklearn', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)
