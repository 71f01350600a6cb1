"""Questions that what is read does not answer: asked of another document, or about somebody else."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from training.context_sampling import Example
from training.corpora.corpus import Document, LabelledQuestion

MOST = 3  # passages of another document
# Names as they stand inside a question: its first word has a capital whatever it is.
_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")


class Unanswerable:
    """Makes examples without an answer of questions about a collection of documents.

    Negatives made of answerable questions teach a reader when to keep silent (Rajpurkar et al. 2018,
    section 1; Hu et al. 2019). Everything is drawn by the caller's random numbers.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            self._documents[document.kind].append(document)

    def of_another_document(
        self, document: Document, question: LabelledQuestion, rng: random.Random
    ) -> Example | None:
        """The question beside what BM25 finds for it in another document of its kind, if there is one."""
        others = [other for other in self._documents[document.kind] if other.name != document.name]
        if not others:
            return None
        other = rng.choice(others)
        best = other.best(question.text, rng.randint(1, MOST))
        texts = tuple(other.texts[number] for number in sorted(best))
        return Example(question.text, texts, (), (), question.answers)

    def instead_of(
        self,
        example: Example,
        document: Document,
        question: LabelledQuestion,
        rng: random.Random,
        shares: tuple[float, float],
    ) -> Example:
        """The example of a question, or for some of them another, which has no answer.

        ``shares`` of them are asked of another document, and about somebody else.
        """
        elsewhere, renamed = shares
        if not elsewhere + renamed or (chance := rng.random()) >= elsewhere + renamed:
            return example
        if chance < elsewhere:
            return self.of_another_document(document, question, rng) or example
        return self.about_somebody_else(document, example, rng) or example

    def about_somebody_else(self, document: Document, example: Example, rng: random.Random) -> Example | None:
        """The example with a name in its question replaced by one that its document never mentions.

        None where the question has no name, or none is left to take its place.
        """
        found = [match for match in _NAME.finditer(example.question) if match.group() in document.text]
        if not found:
            return None
        names = self._names[document.kind]
        # The first in a random order: to look for all of them in a long text takes longer than to learn.
        name = next((one for one in rng.sample(names, len(names)) if one not in document.text), None)
        if name is None:
            return None
        match = rng.choice(found)
        question = example.question[: match.start()] + name + example.question[match.end() :]
        return replace(example, question=question, right=(), targets=())

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The names in the questions about each kind of document, each once."""
        return {
            kind: sorted(
                {
                    match.group()
                    for document in documents
                    for question in document.questions
                    for match in _NAME.finditer(question.text)
                }
            )
            for kind, documents in self._documents.items()
        }
