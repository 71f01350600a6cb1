"""The cross-encoder: what it says is passed on from reranker to readers, and the reranker's order."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path

import pytest
import torch
from novels import novel, questions

from encoders.adapters import Weights, load_weights, overlay
from encoders.backbone import base_tensors, load_backbone
from encoders.cross_encoder import BLANK, CrossEncoder, EncodedWindow, load_crossencoder
from encoders.runtime import pick_runtime
from encoders.windows import Window
from indexing.build import BuildSettings, build_book
from indexing.index import BookIndex
from indexing.store import IndexStore
from readers.default.generate import GenerateReader
from readers.default.span import SpanReader
from readers.reading import Reading
from retrieval.rerank import FEWEST, FIRST_WEIGHT, RerankRetriever
from retrieval.sparse import Bm25Retriever

NOVEL = novel(words=2_000)
ASKED = [("Where did Maud hide the lamp?", ["She hid the lamp in an oak.", "The ferryman laughed. " * 60])]


class Counting(CrossEncoder):
    """Counts the windows that are put through the model, and how often it is asked to."""

    passes = 0
    calls = 0

    def read_windows(self, windows: Sequence[Window]) -> list[EncodedWindow]:
        self.passes += len(windows)
        self.calls += 1
        return super().read_windows(windows)


def _close(in_fp32: float = 1e-3) -> float:
    """How near scores are that should be equal: bf16 has 8 significant bits, and 384 products are added."""
    return 1e-1 if pick_runtime().dtype == torch.bfloat16 else in_fp32


@pytest.fixture(scope="module")
def weights() -> Weights:
    from importlib.resources import files

    return load_weights(Path(str(files("encoders.weights"))) / "span.safetensors")


@pytest.fixture(scope="module")
def index(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> BookIndex:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(NOVEL, BuildSettings(words=60, encoder=str(tiny_bert)), store)
    return store.open(NOVEL.id)


def test_scores_are_linear_in_the_states_of_the_model_with_its_own_weights(
    weights: Weights,
) -> None:
    encoder = load_crossencoder()
    [passages] = encoder.encode(ASKED)
    tensors = weights.tensors
    trained = {n: t for n, t in tensors.items() if not n.startswith("head.")}
    model = load_backbone(overlay(trained, base_tensors()))
    assert [len(passage.windows) for passage in passages] == [1, 1]
    close = _close(2e-2)  # states are kept in fp16
    for read in (window for passage in passages for window in passage.windows):
        window = read.window
        with torch.inference_mode():
            hidden = model(
                input_ids=torch.tensor([window.ids]), token_type_ids=torch.tensor([window.types])
            ).last_hidden_state[0]
        scores = hidden @ tensors["head.weight"].float().T + tensors["head.bias"].float()
        inside = slice(window.first, window.first + len(window.offsets))
        torch.testing.assert_close(torch.as_tensor(read.states).float(), hidden, atol=close, rtol=2e-2)
        assert read.start == pytest.approx(scores[inside, 0].numpy(), abs=close)
        assert read.end == pytest.approx(scores[inside, 1].numpy(), abs=close)
        assert read.relevance == pytest.approx(scores[0, 2].item(), abs=close)


def test_what_is_asked_twice_is_read_once_and_every_passage_is_said_something_of(
    weights: Weights,
) -> None:
    encoder = Counting(weights, "test")
    [(question, texts)] = ASKED
    first, second = encoder.encode([(question, [*texts, " "]), (question, texts[::-1])])
    assert encoder.passes == len(texts)
    assert [*first[:2]] == second[::-1]
    assert (first[2].windows, first[2].relevance) == ((), BLANK)
    assert {passage.encoder for passage in first} == {"test"}
    assert encoder.encode([]) == []


def test_what_the_retriever_read_no_reader_reads_again(index: BookIndex, weights: Weights) -> None:
    encoder = Counting(weights, "test")
    question = questions(NOVEL, 3)[1]
    [hits] = RerankRetriever(index, Bm25Retriever(index), encoder, candidates=4, near=inf).search(
        [question], 6
    )
    texts = tuple(index.text(hit.passage.start, hit.passage.end) for hit in hits)
    reading = Reading(question, texts, encoded=tuple(hit.encoded for hit in hits))
    assert encoder.passes == 4
    reader = SpanReader(encoder)
    [prepared] = reader.prepare([reading])
    assert encoder.passes == len(texts) == 6
    assert prepared.encoded[:4] == reading.encoded[:4]
    [best] = reader.read([prepared])[0]
    assert reader.rank(prepared, [best.text]) == pytest.approx([best.score], abs=1e-6)
    assert reader.prepare([prepared]) == [prepared]
    assert encoder.passes == 6


def test_what_another_encoder_said_is_not_taken_for_ones_own(weights: Weights) -> None:
    ours, theirs = Counting(weights, "ours"), Counting(weights, "theirs")
    [(question, texts)] = ASKED
    [of_theirs] = SpanReader(theirs).prepare([Reading(question, tuple(texts))])
    [of_ours] = SpanReader(ours).prepare([of_theirs])
    assert {passage.encoder for passage in of_ours.encoded if passage} == {"ours"}
    assert ours.passes == len(texts)


def test_retriever_and_reader_share_what_was_read(index: BookIndex) -> None:
    encoder = load_crossencoder()
    assert load_crossencoder(None) is encoder
    assert RerankRetriever(index, Bm25Retriever(index)).encoder is encoder
    assert GenerateReader.load(None).encoder is encoder


def test_the_candidates_are_ordered_by_relevance_and_the_rest_follow(index: BookIndex) -> None:
    question = questions(NOVEL, 3)[1]
    encoder = load_crossencoder()
    [before] = Bm25Retriever(index).search([question], 20)
    [after] = RerankRetriever(index, Bm25Retriever(index), encoder, candidates=6, near=inf).search(
        [question], 20
    )
    assert {hit.passage for hit in after[:6]} == {hit.passage for hit in before[:6]}
    assert [hit.passage for hit in after[6:]] == [hit.passage for hit in before[6:]]
    texts = [index.text(hit.passage.start, hit.passage.end) for hit in after[:6]]
    [encoded] = encoder.encode([(question, texts)])
    first = {hit.passage: hit.score for hit in before}
    for hit, passage in zip(after, encoded, strict=False):
        assert hit.score == pytest.approx(passage.relevance + FIRST_WEIGHT * first[hit.passage], abs=_close())
        assert hit.encoded is not None
        assert hit.encoded.relevance == pytest.approx(passage.relevance, abs=_close())
    scores = [hit.score for hit in after]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("near", [0.0, 2.0, 5.0, 1000.0])
def test_what_is_far_behind_the_best_is_not_read(index: BookIndex, weights: Weights, near: float) -> None:
    question = questions(NOVEL, 3)[1]
    [before] = Bm25Retriever(index).search([question], 20)
    scores = [hit.score for hit in before]
    of_those = {0.0: FEWEST, 1000.0: 20}.get(near, sum(scores[0] - score < near for score in scores))
    assert of_those >= FEWEST
    encoder = Counting(weights, "test")
    retriever = RerankRetriever(index, Bm25Retriever(index), encoder, candidates=6, near=near)
    [after] = retriever.search([question], 20)
    read = min(6, of_those)
    assert encoder.passes == read
    assert [hit.encoded is not None for hit in after] == [True] * read + [False] * (20 - read)
    assert [hit.is_near for hit in after] == [True] * of_those + [False] * (20 - of_those)
    assert [hit.passage for hit in after[read:]] == [hit.passage for hit in before[read:]]


def test_many_searches_are_reranked_in_one_reading_as_each_alone(index: BookIndex, weights: Weights) -> None:
    asked = questions(NOVEL, 4)
    together, alone = Counting(weights, "test"), Counting(weights, "test")
    searches = [(asked[:2], 3, None), (asked[2:3], 8, index.characters // 2), (asked[3:], 1, None)]

    def retriever(encoder: CrossEncoder) -> RerankRetriever:
        return RerankRetriever(index, Bm25Retriever(index), encoder, candidates=5, near=inf)

    at_once = RerankRetriever.finish([retriever(together).begin(*search) for search in searches])
    one_by_one = [retriever(alone).search(*search) for search in searches]
    assert together.calls == 1 < alone.calls
    for (_, k, _), of_search, wanted in zip(searches, at_once, one_by_one, strict=True):
        for hits, same in zip(of_search, wanted, strict=True):
            assert len(hits) == k
            assert [hit.passage for hit in hits] == [hit.passage for hit in same]
            scores = [hit.score for hit in same]
            assert [hit.score for hit in hits] == pytest.approx(scores, abs=_close())
    assert RerankRetriever.finish([]) == []
