"""Fifty questions of our own making, each with its answer in a short text: something to learn by heart."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import partial

from evaluation.benchmarks.benchmark import Benchmark, Question
from indexing.book import Book
from training.corpora.cloze import ClozeCorpus
from training.corpora.corpus import Corpus, Document, LabelledQuestion
from training.corpora.narrativeqa import TRAIN_SUMMARIES

_PEOPLE = re.findall(r"\w+", "miller weaver baker ferryman tinker widow shepherd smith cooper potter")
_VILLAGES = re.findall(r"\w+", "Dorrit Osk Wilm Marn Hob Tamsin Brack Lune Pell Edda")
_THINGS = re.findall(r"\w+", "kettle lantern ladder basket drum saddle mirror anchor spindle feather")
_KINDS = re.findall(r"\w+", "copper blue broken silver wooden green heavy little painted golden")
_PLACES = re.findall(r"\w+", "mill bridge harbour orchard tower cellar meadow chapel stable well")
_DEEDS = (("lost", "lose"), ("found", "find"), ("sold", "sell"), ("stole", "steal"), ("mended", "mend"))


def _village(number: int) -> Document:
    rng = random.Random(number)
    village = _VILLAGES[number]
    told, questions = [], []
    for n, ((past, deed), who) in enumerate(zip(_DEEDS, rng.sample(_PEOPLE, 5), strict=True)):
        thing = f"a {rng.choice(_KINDS)} {rng.choice(_THINGS)}"
        place = f"behind the {rng.choice(_PLACES)}"
        told.append(f"The {who} of {village} {past} {thing} {place}.")
        question, answer = (
            (f"What did the {who} {deed}?", thing) if n % 2 else (f"Where did the {who} {deed} it?", place)
        )
        questions.append(LabelledQuestion(question, (answer,)))
    text = " ".join(told)
    return Document(TRAIN_SUMMARIES, village, text, ((0, len(text)),), tuple(questions))


def fifty() -> Corpus:
    """Ten texts of five questions each, trained on and held out alike."""
    documents = tuple(_village(number) for number in range(10))
    return Corpus(documents, documents)


def fifty_clozes(texts: str = "villages") -> Benchmark:
    """Ten texts of five sentences, of each of which the person is blanked; to choose from are all five.

    The two words after the blank, which with those before it are all that some models read, stand once. With
    the texts ``"sentences"`` each sentence is a book; with ``"book"`` all are one, and the two sentences
    before each are its context.
    """
    questions, books = [], {}
    for number, village in enumerate(_VILLAGES):
        rng = random.Random(number)
        people = rng.sample(_PEOPLE, 5)
        told = [
            f"The {who} {past} {village}{house} 's {rng.choice(_KINDS)} {rng.choice(_THINGS)} yesterday ."
            for house, (past, _), who in zip("abcde", _DEEDS, people, strict=True)
        ]
        text = " ".join(told)
        given = tuple((text.index(sentence), text.index(sentence) + len(sentence)) for sentence in told)
        books[village] = partial(Book, village, village, text, "facts")
        questions += [
            Question(
                f"{village}-{n}",
                village,
                sentence.replace(who, "XXXXX"),
                (who,),
                village,
                given=given,
                kind="CN",
                candidates=tuple(sorted(people)),
            )
            for n, (who, sentence) in enumerate(zip(people, told, strict=True))
        ]
    whole = [one.text.replace("XXXXX", one.answers[0]) for one in questions]
    if texts == "sentences":
        books = {
            q.id: partial(Book, q.id, q.id, text, "facts") for q, text in zip(questions, whole, strict=True)
        }
        questions = [
            replace(q, book=q.id, given=((0, len(text)),)) for q, text in zip(questions, whole, strict=True)
        ]
    elif texts == "book":
        places = [(sum(map(len, whole[:n])), sum(map(len, whole[: n + 1]))) for n in range(len(whole))]
        books = {"all": partial(Book, "all", "all", "".join(whole), "facts")}
        questions = [
            replace(q, book="all", given=tuple(places[max(0, n - 2) : n]) or (places[-1],))
            for n, q in enumerate(questions)
        ]
    return Benchmark("cbt", "train", "all", tuple(questions), books, {id: id for id in books}, ranked=False)


def cloze_corpus(data_set: str = "cbt", texts: str = "villages") -> ClozeCorpus:
    """Fifty clozes to train on and to choose by."""
    return ClozeCorpus(data_set, fifty_clozes(texts), fifty_clozes(texts))
