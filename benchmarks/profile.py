"""Where the time of a question goes, by step and by layer of the encoder, as a picture and a table.

    python -m benchmarks.profile [--data FOLDER] [--questions 12] [--words 60000] [--docs DOCS]

Ten passages that BM25 finds are read by the default reader; figures are means of the questions.
``--data`` holds the data sets as their publishers lay them out; without it the texts are made up.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answering.book_qa import Ask, BookQA
from benchmarks import growth
from benchmarks.comparisons import READ
from benchmarks.machine import commit, machine
from benchmarks.profile_report import write
from benchmarks.steps import GRAPH, OBSERVING, StepClock
from benchmarks.texts import generated, real
from encoders.runtime import OPENVINO, pick_runtime
from indexing.store import IndexStore

if TYPE_CHECKING:
    from encoders.openvino_layers import Compiled

ROOT = Path(__file__).parents[1]
WORDS = 60_000  # of the book
LINEAR, ATTENTION, REST = KINDS = ("linear maps", "attention", "rest")
_WARM_UP = 3  # questions
log = logging.getLogger("benchmarks")


@dataclass(frozen=True, slots=True)
class Profile:
    """Milliseconds of a question: in all, by step, and by layer of the encoder and kind of node.

    ``steps`` are without the layers, and with what calls of graphs took beside their nodes.
    """

    total: float
    steps: dict[str, float]
    layers: tuple[dict[str, float], ...]


def kind(node: Any) -> str:
    """What one of OpenVINO's nodes computes."""
    if node.node_type.startswith("FullyConnected"):
        return LINEAR
    # Attention is one Subgraph, named for the last of its parts, or where it cannot be, two products.
    return ATTENTION if node.node_type in ("Subgraph", "MatMul", "Softmax") else REST


def by_layer(nodes: Sequence[Any]) -> list[dict[str, float]]:
    """Milliseconds of a graph's nodes, which come as they are executed, by layer and kind.

    A layer ends with the second of its norms; the first norm of all is that of the embeddings, and counts
    to the first layer.
    """
    layers = max(1, sum(node.node_type == "MVN" for node in nodes) // 2)
    found = _none(range(layers))
    norms = 0
    for node in nodes:
        # What is behind the last norm is of the last layer.
        found[min(max(0, norms - 1) // 2, layers - 1)][kind(node)] += node.real_time.total_seconds() * 1000
        norms += node.node_type == "MVN"
    return found


class NodeClock:
    """Adds up the nodes of the encoder's graphs: of several, the layers of the next follow those before.

    Others, such as the decoder's, are a part of their step.
    """

    def __init__(self, steps: StepClock) -> None:
        self._steps = steps
        self._calls: Counter[Compiled] = Counter()
        self._all: dict[Compiled, list[dict[str, float]]] = {}  # milliseconds of all calls
        self._counted: dict[Compiled, list[dict[str, float]]] = {}  # of the encoder's, as they come

    def __call__(self, graph: Compiled, request: Any) -> None:
        """See ``Compiled.observer``. What a node took is the mean of all calls so far."""
        self._calls[graph] += 1
        found = [
            {name: mean * self._calls[graph] for name, mean in layer.items()}
            for layer in by_layer(request.profiling_info)
        ]
        before, self._all[graph] = self._all.get(graph, _none(found)), found
        if self._steps.outer == GRAPH:
            sums = self._counted.setdefault(graph, _none(found))
            for counted, now, then in zip(sums, found, before, strict=True):
                for name in KINDS:
                    counted[name] += now[name] - then[name]

    def layers(self, questions: int) -> tuple[dict[str, float], ...]:
        """Milliseconds of a question by layer, from the first, and kind."""
        return tuple(
            {name: milliseconds / questions for name, milliseconds in layer.items()}
            for graph in self._counted.values()
            for layer in graph
        )


def _none(layers: Sequence[object]) -> list[dict[str, float]]:
    return [dict.fromkeys(KINDS, 0.0) for _ in layers]


@contextmanager
def observed(clock: NodeClock) -> Iterator[None]:
    """Whatever graph is compiled in the block tells ``clock`` of its nodes from then on."""
    from encoders.openvino_layers import Compiled

    Compiled.observer = clock
    try:
        yield
    finally:
        Compiled.observer = None


def profile(store: IndexStore, book: str, questions: Sequence[str]) -> Profile:
    """The means of ``questions`` but the first ones, which warm up. No model may be loaded before."""
    asks = [Ask(book, question, retriever="bm25", k=READ) for question in questions]
    steps = StepClock()
    nodes = NodeClock(steps)
    with observed(nodes):
        qa = BookQA(store)
        for ask in asks[:_WARM_UP]:
            qa.answer(ask)  # outside of any step
    measured = asks[_WARM_UP:]
    with steps:
        for ask in measured:
            qa.answer(ask)
    layers = nodes.layers(len(measured))
    found = {name: 1000 * took / len(measured) for name, took in steps.seconds.items() if name != OBSERVING}
    total = sum(found.values())
    found[GRAPH] -= sum(sum(layer.values()) for layer in layers)
    return Profile(total, found, layers)


def main() -> None:
    parser = argparse.ArgumentParser(description="Profile the answering of a question by step and layer.")
    parser.add_argument("--data", type=Path, help="the data sets' folder; made-up texts without it")
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--words", type=int, default=WORDS, help="how long the book is")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where performance.md is")
    given = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    log.setLevel(logging.INFO)
    if pick_runtime().name != OPENVINO:
        log.warning("not profiled: the models run in %s, and OpenVINO's nodes are timed", pick_runtime())
        return
    words = given.words
    texts = real(given.data, words) if given.data else generated(words)
    with tempfile.TemporaryDirectory() as scratch:
        store = IndexStore(Path(scratch))
        growth.build_lengths(texts, [words], store)
        found = profile(
            store, growth.index_of(store, words).id, texts.questions[: _WARM_UP + given.questions]
        )
    where = f"commit `{commit()}`, {datetime.now(UTC).date()}, on {machine()['processor']}"
    write(found, f"Profiled at {where}: means of {given.questions} questions.", given.docs)
    log.info("a question is profiled")


if __name__ == "__main__":
    main()
