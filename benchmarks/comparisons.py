"""storyqa beside other tools at the same work: searching, encoding, reading, and the whole of answering."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from answering.book_qa import Ask, BookQA
from benchmarks.peers import Interpreters, Peer
from benchmarks.texts import Texts
from benchmarks.timing import Call, Timing, in_turns, race, timed
from encoders.bi_encoder import load_encoder
from evaluation.metrics.overlap import token_f1
from indexing.book import Passage
from indexing.index import BookIndex
from readers.default.span import SpanReader
from readers.reading import Reading
from retrieval import open_retriever
from text.words import words

OURS = "storyqa"
HAYSTACK = "Haystack"
PLAIN = "plain torch"
TXTAI = "txtai"
READ = 10  # passages for one question


@dataclass(frozen=True, slots=True)
class Sizes:
    """How often each thing is measured: questions searched and per turn, passages encoded, questions read."""

    searched: int = 300
    search_turn: int = 50
    encoded: int = 64
    encode_turns: int = 5
    read: int = 15


@dataclass(frozen=True, slots=True)
class Comparison:
    """Contenders at one kind of work.

    ``per_call`` is how many of ``unit`` one call did; ``facts`` are for the record.
    """

    name: str
    unit: str
    per_call: int
    timings: dict[str, Timing]
    facts: dict[str, Any]

    def summary(self) -> dict[str, Any]:
        """For the results file; ``times`` is how many times as long as storyqa each took, by medians."""
        ours = self.timings[OURS].median
        return {
            "name": self.name,
            "unit": self.unit,
            "per_call": self.per_call,
            "contenders": {
                name: {**timing.summary(), "times": timing.median / ours}
                for name, timing in self.timings.items()
            },
            "facts": self.facts,
        }


def passage_texts(index: BookIndex) -> list[str]:
    return [index.text(passage.start, passage.end) for passage in index.passages]


@contextmanager
def prepared(python: Path, tool: str, **arguments: Any) -> Iterator[Peer]:
    """A peer that has been given what it works on; that is not timed."""
    with Peer(python, tool) as peer:
        peer.call("prepare", **arguments)
        yield peer


def search(python: Path, index: BookIndex, texts: Texts, sizes: Sizes, k: int = 5) -> Comparison:
    """BM25 from the question as a string to the numbers of the best passages."""
    passages = passage_texts(index)
    ours = open_retriever("bm25", index)
    questions = texts.questions[: sizes.searched]
    with (
        prepared(python, "Bm25s", passages=passages) as bm25s,
        prepared(python, "Bm25sTokens", passages=[words(text) for text in passages]) as bm25s_tokens,
        prepared(python, "RankBm25", passages=passages) as rank_bm25,
        prepared(python, "HaystackBm25", passages=passages) as haystack,
    ):
        contenders: dict[str, Call[str, list[int]]] = {
            OURS: timed(lambda question: [hit.passage.number for hit in ours.search([question], k)[0]]),
            "bm25s": lambda question: bm25s.call("run", question=question, k=k),
            "bm25s, words given": lambda question: bm25s_tokens.call("run", question=words(question), k=k),
            "rank_bm25": lambda question: rank_bm25.call("run", question=question, k=k),
            HAYSTACK: lambda question: haystack.call("run", question=question, k=k),
        }
        done = race(contenders, in_turns(questions, sizes.search_turn), questions[:5])
    facts = {"passages": len(passages), "k": k}
    return Comparison("search", "question", 1, done.timings, facts)


def encode(pythons: Interpreters, model: Path, index: BookIndex, sizes: Sizes) -> Comparison:
    """Texts to vectors: the same passages in all, and also as indexing has them, in overlapping windows.

    ``model`` is the folder of the shipped encoder, as ``export_encoder`` writes it.
    """
    import numpy as np

    from indexing.vectors import windows

    encoder = load_encoder()
    count = sizes.encoded
    needed = count * (sizes.encode_turns + 1)
    passages = list(index.passages)
    chosen = [passages[i % len(passages)] for i in range(needed)]
    groups = in_turns(chosen, count)

    def texts_of(group: Sequence[Passage]) -> list[str]:
        return [index.text(passage.start, passage.end) for passage in group]

    def windows_of(group: Sequence[Passage]) -> list[str]:
        return windows(index.book.text, group)[0]

    def ours(cut: Callable[[Sequence[Passage]], list[str]], group: Sequence[Passage]) -> tuple[float, Any]:
        texts = cut(group)
        return timed(encoder.encode)(texts)

    def theirs(peer: Peer, group: Sequence[Passage]) -> tuple[float, Any]:
        return peer.call("run", texts=texts_of(group))

    folder = str(model)
    with (
        prepared(pythons.peers, "SentenceTransformers", model=folder) as torch,
        prepared(pythons.optimum, "SentenceTransformers", model=folder, backend="onnx") as onnx,
        prepared(pythons.optimum, "SentenceTransformers", model=folder, backend="openvino") as openvino,
        prepared(pythons.peers, "TxtaiEmbeddings", model=folder) as txtai,
    ):
        peers = {
            "sentence-transformers": torch,
            "sentence-transformers, ONNX": onnx,
            "sentence-transformers, OpenVINO": openvino,
            TXTAI: txtai,
        }
        contenders: dict[str, Call[Sequence[Passage], Any]] = {
            OURS: partial(ours, texts_of),
            "storyqa, as it indexes": partial(ours, windows_of),
            **{name: partial(theirs, peer) for name, peer in peers.items()},
        }
        done = race(contenders, [[group] for group in groups[1:]], groups[:1])
        vectors = {name: np.array(peer.call("last")[1]) for name, peer in peers.items()}
    exact = vectors["sentence-transformers"]  # in fp32
    vectors[OURS] = done.results[OURS][-1]
    facts = {
        "passages_per_call": count,
        "windows_per_passage": len(windows_of(chosen)) / len(chosen),
        "least_cosine_with_sentence_transformers": {
            name: float((found * exact).sum(1).min()) for name, found in vectors.items() if found is not exact
        },
    }
    return Comparison("encode", "passage", count, done.timings, facts)


def read(
    python: Path, model: Path, reader: SpanReader, index: BookIndex, texts: Texts, sizes: Sizes
) -> Comparison:
    """The span reader and others on the same weights, questions and passages."""
    bm25 = open_retriever("bm25", index)
    questions = texts.questions[: sizes.read + 1]
    readings = []
    for question, hits in zip(questions, bm25.search(questions, READ), strict=True):
        found = sorted((hit.passage for hit in hits), key=lambda passage: passage.start)
        readings.append(Reading(question, tuple(index.text(p.start, p.end) for p in found)))

    def theirs(peer: Peer, reading: Reading) -> tuple[float, Any]:
        return peer.call("run", question=reading.question, passages=list(reading.passages))

    with (
        prepared(python, "HaystackReader", model=str(model)) as haystack,
        prepared(python, "TxtaiQuestions", model=str(model)) as txtai,
        prepared(python, "PlainReader", model=str(model)) as plain,
    ):
        peers = {HAYSTACK: haystack, TXTAI: txtai, PLAIN: plain}
        contenders: dict[str, Call[Reading, Any]] = {
            OURS: timed(lambda reading: reader.read([reading], 3)[0]),
            **{name: partial(theirs, peer) for name, peer in peers.items()},
        }
        done = race(contenders, [[reading] for reading in readings[1:]], readings[:1])
    # The scores are the same; storyqa prefers short spans within one sentence, so that answers may differ.
    # txtai has an answer to each passage, and does not say which of them is the best.
    f1 = {
        name: [
            token_f1(ours[0].text, [answers[0]["text"]])
            for ours, answers in zip(done.results[OURS], done.results[name], strict=True)
        ]
        for name in (HAYSTACK, PLAIN)
    }
    facts = {
        "passages": READ,
        "questions": len(readings) - 1,
        "same_answer": {name: sum(one == 1.0 for one in of_one) / len(of_one) for name, of_one in f1.items()},
        "word_f1": {name: sum(of_one) / len(of_one) for name, of_one in f1.items()},
    }
    return Comparison("read", "question", 1, done.timings, facts)


def ask(python: Path, model: Path, qa: BookQA, index: BookIndex, texts: Texts, sizes: Sizes) -> Comparison:
    """The whole of answering: the same work in both (BM25, ten passages), and storyqa's own defaults."""
    questions = texts.questions[: sizes.read + 1]

    def ours(question: str, **options: Any) -> str:
        return qa.answer(Ask(index.id, question, **options)).text

    passages = passage_texts(index)
    with (
        prepared(python, "HaystackPipeline", model=str(model), passages=passages) as haystack,
        prepared(python, "PlainPipeline", model=str(model), passages=passages) as plain,
    ):
        contenders: dict[str, Call[str, Any]] = {
            OURS: timed(partial(ours, retriever="bm25", k=READ)),
            "storyqa, by default": timed(ours),
            HAYSTACK: lambda question: haystack.call("run", question=question, k=READ),
            PLAIN: lambda question: plain.call("run", question=question, k=READ),
        }
        done = race(contenders, [[question] for question in questions[1:]], questions[:1])
    return Comparison(
        "ask", "question", 1, done.timings, {"passages": READ, "book_words": index.manifest.counts.words}
    )
