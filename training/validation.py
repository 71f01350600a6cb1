"""How good a model is on the held-out questions: retrieval, reading and the models trained from nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.cross_encoder import CrossEncoder
from evaluation.metrics.overlap import reciprocal_rank, rouge_l
from readers.default.generate import GenerateReader
from readers.default.span import SpanReader
from readers.neural.reader import NeuralReader
from readers.reading import Reader, Reading
from retrieval.hybrid import z_scores
from text.spans import overlaps
from training.context_sampling import nearest_passages
from training.contrastive_batches import document_windows
from training.corpora.corpus import Document, LabelledQuestion, iter_questions, sparse_index
from training.corpora.everyday import EVERYDAY
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.narrativeqa import SUMMARIES, TRAIN_STORIES
from training.corpora.novels import NOVELS
from training.corpora.squad import ARTICLES
from training.unanswerable import Unanswerable

if TYPE_CHECKING:
    from readers.default.pointer_generator import PointerDecoder

Encode = Callable[[Sequence[str]], NDArray[Any]]

DENSE_WEIGHTS = (1.0, 0.5, 0.3)  # of the dense scores beside those of BM25
SECTIONS, WHOLE, RELEVANCE = 240, 120, 60  # questions of each kind that the cross-encoder is asked
WRITTEN_SECTIONS, WRITTEN_WHOLE = 80, 40  # that a language model is asked, which takes seconds for each
CONFUSED = 2  # passages shown beside what answers a question about a novel
FOUND = 8  # passages that BM25 finds, to be put in order of relevance
ANSWERED, RANKED = 400, 120  # questions that a neural model is asked, and those whose candidates it ranks


def retrieval_scores(
    documents: Sequence[Document], encode: Encode, weights: Sequence[float] = DENSE_WEIGHTS
) -> dict[str, float]:
    """Recall at 1 and 5 and MRR of z-scored sums of BM25 and dense scores, by the weight of the latter.

    ``encode`` takes texts to unit vectors (texts, width). The documents are searched as one book.
    """
    texts = [text for document in documents for text in document.texts]
    places = [(document.name, place) for document in documents for place in document.passages]
    windows = [window for document in documents for window in document_windows(document)]
    # A passage begins wherever a window is the first of its passage.
    begins = [i for i, window in enumerate(windows) if window.first]
    vectors = encode([window.text for window in windows])
    sparse = sparse_index(texts)
    questions = [(document.name, question) for document in documents for question in document.questions]
    similarity = encode([question.text for _, question in questions]) @ vectors.T
    dense = np.maximum.reduceat(similarity, begins, axis=1)
    scores: dict[str, float] = {}
    for weight in weights:
        ranks = []
        for (name, question), row in zip(questions, dense, strict=True):
            fused = (1 - weight) * z_scores(sparse.bm25(question.text)) + weight * z_scores(row)
            order = np.argsort(-fused, kind="stable").tolist()
            gold = {i for i in order if places[i][0] == name and overlaps(places[i][1], question.gold)}
            ranks.append(next((rank for rank, i in enumerate(order, 1) if i in gold), 0))
        found = np.array(ranks, dtype=float)
        label = f"dense_{weight:.1f}"
        scores[f"{label}_recall_at_1"] = float((found == 1).mean())
        scores[f"{label}_recall_at_5"] = float(((found >= 1) & (found <= 5)).mean())
        scores[f"{label}_mrr"] = float(np.where(found > 0, 1 / np.maximum(found, 1), 0).mean())
    return scores


def reading_scores(
    encoder: CrossEncoder, decoder: PointerDecoder | None, held_out: Sequence[Document]
) -> dict[str, float]:
    """ROUGE-L of spans and of generated answers, and how often the right passage is ranked first.

    On a fixed sample of the held-out questions: FairytaleQA's with their sections, NarrativeQA's with
    their summaries, those about novels among what BM25 finds; ``relevance`` orders the passages that BM25
    finds in the question's story, ``relevance_novels`` in its novel.
    """
    span = SpanReader(encoder)
    readers: dict[str, Reader] = {"span": span}
    if decoder is not None:
        from readers.default.torch_decoding import TorchDecoding

        decoding = TorchDecoding(decoder, encoder.runtime.torch_device)
        readers["generate"] = GenerateReader(encoder, decoding)
    found = _answer_scores(readers, held_out, SECTIONS, WHOLE)
    ranked = {"relevance": _tales(held_out, SECTIONS), "relevance_novels": _answerable(held_out, WHOLE)}
    for name, pairs in ranked.items():
        if pairs:
            right = [_first_is_right(encoder, *pair) for pair in pairs[:RELEVANCE]]
            found[name] = sum(right) / len(right)
    return found


def writing_scores(reader: Reader, held_out: Sequence[Document]) -> dict[str, float]:
    """ROUGE-L of a language model's answers on a part of the questions of ``reading_scores``.

    ``write_refused`` is how often it says that the passages do not tell, beside those that BM25 finds for
    the question in another tale: the more the better.
    """
    found = _answer_scores({"write": reader}, held_out, WRITTEN_SECTIONS, WRITTEN_WHOLE)
    tales = _tales(held_out, WRITTEN_SECTIONS)
    elsewhere = Unanswerable([document for document in held_out if document.kind == FAIRYTALES])
    rng = random.Random(0)
    sampled = [elsewhere.of_another_document(document, question, rng) for document, question in tales]
    readings = [Reading(one.question, one.passages) for one in sampled if one is not None]
    if readings:
        refused = sum(not best or best[0].confidence == 0 for best in reader.read(readings))
        found["write_refused"] = refused / len(readings)
    return found


def _tales(held_out: Sequence[Document], most: int) -> list[tuple[Document, LabelledQuestion]]:
    return _sample([document for document in held_out if document.kind == FAIRYTALES], most)


def _answer_scores(
    readers: Mapping[str, Reader], held_out: Sequence[Document], sections: int, whole: int
) -> dict[str, float]:
    """ROUGE-L of each reader's answers, with so many tales' questions and so many summaries'."""
    found: dict[str, float] = {}
    summaries = _sample([document for document in held_out if document.kind == SUMMARIES], whole)
    given: dict[str, list[tuple[LabelledQuestion, tuple[str, ...]]]] = {
        "sections": [(q, tuple(d.text[s:e] for s, e in q.gold)) for d, q in _tales(held_out, sections)],
        "summaries": [(q, (d.text,)) for d, q in summaries],
        "novels": [
            (q, tuple(d.texts[n] for n in _confusable(d, q))) for d, q in _answerable(held_out, whole)
        ],
        "everyday": [
            (q, tuple(d.texts[n] for n in d.answering(q)))
            for d, q in _sample([document for document in held_out if document.kind == EVERYDAY], whole)
        ],
    }
    for where, questions in given.items():
        readings = [Reading(question.text, passages) for question, passages in questions]
        for name, reader in readers.items() if readings else ():
            answers = reader.read(readings)
            scores = [
                rouge_l(best[0].text, question.answers) if best else 0.0
                for best, (question, _) in zip(answers, questions, strict=True)
            ]
            found[f"{name}_{where}"] = sum(scores) / len(scores)
    return found


def _sample(documents: Sequence[Document], most: int) -> list[tuple[Document, LabelledQuestion]]:
    """A fixed sample of the questions about the documents."""
    questions = list(iter_questions(documents))
    return random.Random(0).sample(questions, min(most, len(questions)))


def _answerable(documents: Sequence[Document], most: int) -> list[tuple[Document, LabelledQuestion]]:
    """A fixed sample of the questions about novels that these answer."""
    sampled = _sample([document for document in documents if document.kind == NOVELS], most)
    return [(document, question) for document, question in sampled if question.gold]


def _confusable(document: Document, question: LabelledQuestion) -> list[int]:
    """The passages that answer and the two that BM25 takes for them, in story order."""
    right = document.answering(question)
    best = document.best(question.text, CONFUSED + len(right))
    return sorted({*right, *[number for number in best if number not in right][:CONFUSED]})


def _first_is_right(encoder: CrossEncoder, document: Document, question: LabelledQuestion) -> bool:
    best = document.best(question.text, FOUND)
    [encoded] = encoder.encode([(question.text, [document.texts[number] for number in best])])
    first = best[int(np.argmax([passage.relevance for passage in encoded]))]
    return overlaps(document.passages[first], question.gold)


def neural_scores(reader: NeuralReader, held_out: Sequence[Document], chunks: int) -> dict[str, float]:
    """ROUGE-L of the answers, and MRR among those of the same story, on a fixed sample of questions.

    Of a full story the reader is given the ``chunks`` passages nearest to the question, as in evaluation.
    """
    told = [document for document in held_out if document.kind != ARTICLES]
    sample = _sample(told, ANSWERED)
    readings = [Reading(question.text, _given(document, question, chunks)) for document, question in sample]
    if not readings:
        return {}
    rouge = [
        rouge_l(best[0].text if best else "", question.answers)
        for best, (_, question) in zip(reader.read(readings), sample, strict=True)
    ]
    ranks = []
    for reading, (document, question) in zip(readings[:RANKED], sample, strict=False):
        candidates = [other.answers[0] for other in document.questions]
        ranks.append(reciprocal_rank(reader.rank(reading, candidates), candidates.index(question.answers[0])))
    return {"rouge_l": sum(rouge) / len(rouge), "mrr": sum(ranks) / len(ranks)}


def _given(document: Document, question: LabelledQuestion, chunks: int) -> tuple[str, ...]:
    if document.kind == FAIRYTALES:
        return tuple(document.text[start:end] for start, end in question.gold)
    if document.kind == TRAIN_STORIES:
        return nearest_passages(document, question.text, chunks)
    return (document.text,)
