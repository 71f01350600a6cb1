"""What storyqa is measured beside: each other tool does the work that its row of the tables says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from installed_peers import INTERPRETERS, needs_peers
from novels import novel, questions

from benchmarks import comparisons
from benchmarks.comparisons import HAYSTACK, OURS, PLAIN, TXTAI, Sizes, prepared
from benchmarks.exported import export_encoder, export_reader, shipped_tensors
from benchmarks.peers import CONTENDERS, Peer, PeerError
from benchmarks.texts import Texts
from encoders.adapters import Weights
from encoders.backbone import MINILM
from encoders.cross_encoder import CrossEncoder
from indexing.build import BuildSettings, build_book
from indexing.index import BookIndex
from indexing.store import IndexStore
from readers.default.span import LONGEST_ANSWER, SpanReader

ROOT = Path(__file__).parents[1]
HERE = Path(sys.executable)
PASSAGES = ["The ferryman laughed at the rain.", "Maud hid the lamp in a hollow oak.", "The miller slept."]
QUESTION = "Where did Maud hide the lamp?"
NOVEL = novel(words=4_000)
ASKED = tuple(dict.fromkeys(questions(NOVEL, 8)))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The span reader's weights as the other tools load them."""
    folder = tmp_path_factory.mktemp("models") / "exported"
    export_reader(shipped_tensors(), folder)
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> BookIndex:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(NOVEL, BuildSettings(), store)
    return store.open(NOVEL.id)


@pytest.fixture(scope="module")
def texts() -> Texts:
    return Texts("a novel", NOVEL.text, ASKED)


def test_whatever_is_compared_is_a_tool_of_the_worker() -> None:
    code = [(ROOT / "benchmarks" / name).read_text() for name in ("comparisons.py", "growth.py")]
    used = {tool for text in code for tool in re.findall(r'prepared\([\w.]+, "(\w+)"', text)}
    listing = "import json, worker; print(json.dumps([*worker.TOOLS]))"
    done = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True, cwd=CONTENDERS
    )
    assert used == set(json.loads(done.stdout))


@pytest.mark.parametrize("file", ["peers.txt", "peers_optimum.txt"])
def test_every_tool_is_pinned(file: str) -> None:
    lines = (ROOT / "benchmarks" / file).read_text().splitlines()
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in lines if not line.startswith("#"))


def test_no_file_of_the_contenders_hides_a_module_that_they_import() -> None:
    """Their folder is the first on the path of their process."""
    named = {path.stem for path in CONTENDERS.glob("*.py")}
    pinned = {
        line.partition("==")[0].replace("-", "_")
        for file in ("peers.txt", "peers_optimum.txt")
        for line in (ROOT / "benchmarks" / file).read_text().splitlines()
    }
    assert not named & (sys.stdlib_module_names | pinned | {"haystack", "optimum", "rank_bm25", "numpy"})


def test_a_peer_answers_from_a_process_of_its_own_and_passes_on_what_it_raises() -> None:
    with prepared(HERE, "RankBm25", passages=PASSAGES) as peer:
        seconds, found = peer.call("run", question=QUESTION, k=2)
        assert seconds > 0
        assert (found[0], len(found)) == (1, 2)
        with pytest.raises(PeerError, match=r"RankBm25: (?s:.*)unexpected keyword"):
            peer.call("run", questions=[QUESTION])
    with pytest.raises(PeerError, match="ended with code"), Peer(HERE, "Unknown") as unknown:
        unknown.call("run")


@pytest.mark.processes
def test_the_plain_reader_finds_the_likeliest_span_of_each_window_by_the_weights_that_storyqa_reads_with(
    model: Path,
) -> None:
    far = "The ferryman laughed at the rain. " * 90  # two windows, and the answer in the second
    passages = [*PASSAGES, f"{far}Maud hid the lamp beneath the mill wheel."]
    encoder = CrossEncoder(Weights(MINILM, shipped_tensors()), "test")
    [encoded] = encoder.encode([(QUESTION, passages)])
    with prepared(HERE, "PlainReader", model=str(model)) as peer:
        _, found = peer.call("run", question=QUESTION, passages=passages)
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert {(one["passage"], one["text"]) for one in found[:2]} == {
        (1, "in a hollow oak"),
        (3, "beneath the mill wheel"),
    }
    for one in found:
        best = max(
            window.start[i] + window.end[i : i + LONGEST_ANSWER].max()
            for window in encoded[one["passage"]].windows
            for i in range(len(window.start))
        )
        assert one["score"] == pytest.approx(best, abs=0.5)  # int8 and bf16 here, fp32 there


@pytest.mark.processes
def test_the_plain_pipeline_reads_what_bm25_finds_of_many_passages(model: Path) -> None:
    passages = [*PASSAGES, *(f"Nobody asked about day {number}." for number in range(40))]
    with prepared(HERE, "PlainPipeline", model=str(model), passages=passages) as peer:
        _, found = peer.call("run", question=QUESTION, k=10)
    assert found[0]["text"] == "in a hollow oak"


@needs_peers
@pytest.mark.processes
@pytest.mark.usefixtures("all_instructions")
def test_whoever_encodes_says_the_same_of_the_same_texts(index: BookIndex, tmp_path: Path) -> None:
    export_encoder(tmp_path / "encoder")
    done = comparisons.encode(INTERPRETERS, tmp_path / "encoder", index, Sizes(encoded=3, encode_turns=1))
    cosines = done.facts["least_cosine_with_sentence_transformers"]
    assert set(cosines) == set(done.timings) - {"storyqa, as it indexes", "sentence-transformers"}
    assert min(cosines.values()) > 0.99


@needs_peers
@pytest.mark.processes
@pytest.mark.usefixtures("all_instructions")
def test_whoever_reads_is_given_the_same_passages_and_answers_each_question(
    model: Path, index: BookIndex, texts: Texts
) -> None:
    reader = SpanReader(CrossEncoder(Weights(MINILM, shipped_tensors()), "test"))
    done = comparisons.read(INTERPRETERS.peers, model, reader, index, texts, Sizes(read=4))
    assert set(done.timings) == {OURS, HAYSTACK, TXTAI, PLAIN}
    assert set(done.facts["word_f1"]) == {HAYSTACK, PLAIN}
    with prepared(INTERPRETERS.peers, "TxtaiQuestions", model=str(model)) as txtai:
        _, found = txtai.call("run", question=QUESTION, passages=PASSAGES)
    assert (len(found), found[1]) == (3, "in a hollow oak")
