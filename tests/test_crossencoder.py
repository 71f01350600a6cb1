"""The cross-encoder: one pass for reranker and readers, read once, and the reranker's order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from novels import novel, questions

from encoders.adapters import load_weights, overlay
from encoders.backbone import load_backbone
from encoders.cross_encoder import CrossEncoder, load_crossencoder
from indexing.build import BuildSettings, build_book
from indexing.index import BookIndex
from indexing.store import IndexStore
from readers.default.generate import GenerateReader
from retrieval.rerank import FIRST_WEIGHT, RerankRetriever, rerank
from retrieval.sparse import Bm25Retriever

NOVEL = novel(words=2_000)
ASKED = [("Where did Maud hide the lamp?", ["She hid the lamp in an oak.", "The ferryman laughed. " * 60])]


class Counting(CrossEncoder):
    """Counts the windows that are put through the model."""

    passes = 0
    calls = 0

    def _read(self, windows):  # type: ignore[no-untyped-def]
        self.passes += len(windows)
        self.calls += 1
        return super()._read(windows)


@pytest.fixture(scope="module")
def tensors() -> dict[str, torch.Tensor]:
    from importlib.resources import files

    return load_weights(Path(str(files("encoders.weights"))) / "span.safetensors")


@pytest.fixture(scope="module")
def index(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> BookIndex:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(NOVEL, BuildSettings(words=60, encoder=str(tiny_bert)), store)
    return store.open(NOVEL.id)


def test_scores_are_linear_in_the_states_of_the_model_with_its_own_weights(
    tensors: dict[str, torch.Tensor],
) -> None:
    encoder = load_crossencoder()
    (windows,) = encoder.windows(ASKED)
    model = load_backbone(overlay({n: t for n, t in tensors.items() if not n.startswith("head.")}))
    for window, read, states in zip(windows, encoder.read(windows), encoder.states(windows), strict=True):
        with torch.inference_mode():
            hidden = model(
                input_ids=torch.tensor([window.ids]), token_type_ids=torch.tensor([window.types])
            ).last_hidden_state[0]
        scores = hidden @ tensors["head.weight"].float().T + tensors["head.bias"].float()
        inside = slice(window.first, window.first + len(window.offsets))
        torch.testing.assert_close(states.float(), hidden, atol=2e-2, rtol=2e-2)
        assert read.start == pytest.approx(scores[inside, 0].numpy(), abs=2e-2)
        assert read.end == pytest.approx(scores[inside, 1].numpy(), abs=2e-2)
        assert read.relevance == pytest.approx(scores[0, 2].item(), abs=2e-2)


def test_a_window_is_read_once_whoever_asks(tensors: dict[str, torch.Tensor]) -> None:
    encoder = Counting(tensors, "test")
    (windows,) = encoder.windows(ASKED)
    first = encoder.read(windows)
    assert encoder.passes == len(windows)
    assert encoder.read([*windows, *windows[:1]]) == [*first, first[0]]
    encoder.states(windows)
    assert encoder.passes == len(windows)


def test_retriever_and_reader_share_what_was_read(index: BookIndex) -> None:
    encoder = load_crossencoder()
    assert load_crossencoder(None) is encoder
    assert RerankRetriever(index, Bm25Retriever(index)).encoder is encoder
    assert GenerateReader.load(None).encoder is encoder


def test_the_candidates_are_ordered_by_relevance_and_the_rest_follow(index: BookIndex) -> None:
    question = questions(NOVEL, 3)[1]
    encoder = load_crossencoder()
    [before] = Bm25Retriever(index).search([question], 20)
    [after] = RerankRetriever(index, Bm25Retriever(index), encoder, candidates=6).search([question], 20)
    assert {hit.passage for hit in after[:6]} == {hit.passage for hit in before[:6]}
    assert [hit.passage for hit in after[6:]] == [hit.passage for hit in before[6:]]
    texts = [index.text(hit.passage.start, hit.passage.end) for hit in after[:6]]
    (windows,) = encoder.windows([(question, texts)])
    first = {hit.passage: hit.score for hit in before}
    best = [-np.inf] * 6
    for window, read in zip(windows, encoder.read(windows), strict=True):
        best[window.passage] = max(best[window.passage], read.relevance)
    for hit, relevance in zip(after, best, strict=False):
        assert hit.score == pytest.approx(relevance + FIRST_WEIGHT * first[hit.passage])
    scores = [hit.score for hit in after]
    assert scores == sorted(scores, reverse=True)


def test_many_searches_are_reranked_in_one_reading_as_each_alone(
    index: BookIndex, tensors: dict[str, torch.Tensor]
) -> None:
    asked = questions(NOVEL, 4)
    together, alone = Counting(tensors, "test"), Counting(tensors, "test")
    searches = [(asked[:2], 3, None), (asked[2:3], 8, index.characters // 2), (asked[3:], 1, None)]

    def retriever(encoder: CrossEncoder) -> RerankRetriever:
        return RerankRetriever(index, Bm25Retriever(index), encoder, candidates=5)

    at_once = rerank([retriever(together).first(*search) for search in searches])
    one_by_one = [retriever(alone).search(*search) for search in searches]
    assert together.calls == 1 < alone.calls
    for (_, k, _), of_search, wanted in zip(searches, at_once, one_by_one, strict=True):
        for hits, same in zip(of_search, wanted, strict=True):
            assert len(hits) == k
            assert [hit.passage for hit in hits] == [hit.passage for hit in same]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in same], abs=1e-2)
    assert rerank([]) == []
