"""The systems that ``storyqa train cbt`` and ``storyqa train cnn`` can train: a line each.

A new one is one record: ``where`` leads to ``train(run, settings) -> Outcome``, which finds the data
set in ``settings.data_set`` and its folder in ``run.data`` (``training.corpora.cloze.load`` reads both
splits). Systems that only count need no trainer: their ``train`` counts, writes its file into ``run.out`` and
returns a ``training.export.Trained``; they have no ``network``. Networks have their settings here, those of
the papers, and train by ``training.objectives.cloze.train_network``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from text.registry import Spec, by_name
from training.trainer import Optimisation

OF_NETWORKS = ("epochs", "count", "words", "width", "hidden", "rate", "batch", "dropout", "int8")
_HERE = "training.objectives"
_HILL, _HERMANN = "Hill et al. 2016", "Hermann et al. 2015"


@dataclass(frozen=True, slots=True)
class Network:
    """How a network is trained unless the command line says otherwise.

    ``rate`` is the learning rate, ``rates`` those that a data set has of its own; ``width`` is that of the
    word vectors (the papers' p), ``hidden`` that of the LSTMs, None where there are none; ``batch`` is in
    examples, and ``sizes`` are keywords that the net is made with besides.
    """

    rate: float
    width: int
    epochs: int
    batch: int
    optimisation: Optimisation
    hidden: int | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    dropout: float = 0.0
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClozeSystem(Spec):
    """One line of ``CLOZE_SYSTEMS``: ``name`` is the reader's, with its kind, but without options.

    ``beside`` are the settings that it alone knows, beside those of every network. ``nearest`` is among them
    where it can learn of near contexts first.
    """

    network: Network | None = None
    beside: tuple[str, ...] = ()

    def knows(self, setting: str) -> bool:
        """Whether the setting changes anything of what is trained."""
        if self.network is None or setting not in OF_NETWORKS:
            return setting in self.beside
        if setting == "dropout":
            return self.network.dropout > 0
        return setting != "hidden" or self.network.hidden is not None


_SGD = Optimisation("sgd", clip=None, shrink=2.0)
_RMSPROP = Optimisation("rmsprop", clip=10.0, shrink=1.0)


def _memory(name: str, does: str, section: str, network: Network, *beside: str) -> ClozeSystem:
    return ClozeSystem(name, f"{_HERE}.memn2n:train", does, _HILL, section, network=network, beside=beside)


def _embedding(kind: str, does: str, rate: float) -> ClozeSystem:
    network = Network(rate, 300, 5, 32, _SGD, sizes={"places": 5} if kind == "position" else {})
    return ClozeSystem(f"embedding@{kind}", f"{_HERE}.embedding:train", does, _HILL, "4.3", network=network)


def _document(name: str, does: str, network: Network) -> ClozeSystem:
    where, beside = f"{_HERE}.document:train", ("nearest",)
    return ClozeSystem(name, where, does, _HERMANN, "3.2", network=network, beside=beside)


CLOZE_SYSTEMS: dict[str, ClozeSystem] = by_name(
    _memory(
        "memn2n@self",
        "window memories that supervise themselves",
        "3.3",
        Network(0.01, 300, 10, 64, _SGD, rates={"cnn": 0.025}),
        "unknown",
    ),
    _memory("memn2n@window", "window memories", "3.2", Network(0.005, 100, 5, 32, _SGD), "unknown"),
    _memory(
        "memn2n@sentence",
        "sentence memories with positions encoded",
        "3.2",
        Network(0.001, 100, 5, 32, _SGD, sizes={"kind": 1}),
        "unknown",
    ),
    _memory(
        "memn2n@lexical",
        "memories of single words",
        "3.2",
        Network(0.01, 200, 3, 8, Optimisation("sgd", clip=50.0, shrink=2.0), sizes={"hops": 7, "n": 200}),
    ),
    # It sums some 500 words: at the others' rate, and at a tenth of it, it runs away within a few steps.
    _embedding("context", "words of context and query", 1e-4),
    _embedding("query", "words of the query", 0.01),
    _embedding("window", "words round the blank", 0.005),
    _embedding("position", "words round the blank, each in its place", 0.01),
    ClozeSystem(
        "lstm-lm",
        f"{_HERE}.language_model:train",
        "an LSTM language model; it reads the context or the query alone",
        _HILL,
        "4.4",
        network=Network(0.5, 512, 4, 16, Optimisation("sgd", clip=5.0, shrink=2.0), hidden=512),
    ),
    ClozeSystem(
        "contextual-lstm",
        f"{_HERE}.language_model:train",
        "a language model that attends to the context",
        _HILL,
        "4.4",
        network=Network(0.5, 256, 4, 16, Optimisation("sgd", clip=10.0, shrink=2.0), hidden=256),
    ),
    ClozeSystem(
        "kneser-ney",
        f"{_HERE}.counting:train_kneser_ney",
        "an n-gram language model, and the weight of its cache",
        _HILL,
        "4.2",
        beside=("arpa",),
    ),
    ClozeSystem(
        "cloze-frequency@corpus",
        f"{_HERE}.counting:train_frequency",
        "how often the books have each word",
        _HILL,
        "4.1",
    ),
    _document(
        "deep-lstm",
        "a deep LSTM over query and document",
        Network(1e-3, 128, 5, 32, _RMSPROP, hidden=128, dropout=0.1, sizes={"depth": 2, "query_first": 1}),
    ),
    _document(
        "uniform",
        "the Attentive Reader with all attention equal",
        Network(5e-5, 256, 5, 32, _RMSPROP, hidden=256, dropout=0.2),
    ),
    _document(
        "attentive",
        "attention over the document's tokens",
        Network(5e-5, 256, 5, 32, _RMSPROP, hidden=256, dropout=0.2),
    ),
    _document(
        "impatient",
        "attention over the document's tokens at each token of the query",
        Network(5e-5, 256, 5, 32, _RMSPROP, hidden=256, dropout=0.3),
    ),
)
