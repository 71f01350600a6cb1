"""One probe: what is asked of whom, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answering.ask import Ask
from answering.configuration import Configuration
from answering.open_books import configured_reader
from evaluation.benchmarks.own_books import open_books
from evaluation.probing.asking import Said, Service, ask_reader, ask_service, ask_store
from evaluation.probing.fresh_questions import SkillQuestion, fingerprint, fresh
from evaluation.probing.regressions import check_same, read_baseline, worse_than
from evaluation.probing.skills import described
from evaluation.probing.story_books import plain_books, scattered_books
from evaluation.run import Progress
from indexing.book import Book
from indexing.store_protocol import Store
from readers import DEFAULT_READER, spec_of
from readers.choosing import check_reader
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS
from text.errors import StoryQAError
from text.registry import check_name

PASSAGES = 5  # that are found where no other number is asked for


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """Who is asked what: a reader by its full name (None for the default one), or the service at ``url``.

    ``per_task`` questions of each of the ``tasks``, of stories made by ``seed``. Their facts are ``inside`` a
    book, by its file or id, where that is not None; there, and in a service, ``k`` passages are found by
    ``retriever``. Raises ``StoryQAError`` for what cannot be asked.
    """

    reader: str | None
    url: str | None
    tasks: tuple[int, ...]
    per_task: int
    seed: int
    inside: str | None
    retriever: str | None
    k: int | None

    def __post_init__(self) -> None:
        if self.per_task < 1:
            raise StoryQAError(f"{self.per_task} questions of each task; wanted 1 or more")
        if self.url is not None and self.reader is not None:
            raise StoryQAError("a reader and the address of a service; wanted one of them")
        searched = self.url is not None or self.inside is not None
        if not searched and (self.retriever is not None or self.k is not None):
            raise StoryQAError(
                "nothing is searched where a reader is given the facts; leave --retriever and -k out, "
                "or name a book with --inside"
            )
        if self.k is not None:
            Ask("any", "Is k in bounds?", self.k)
        if self.url is None:
            spec_of(self.asked_reader)
            check_reader(self.asked_reader, "Where is Mary?")
            check_name("retriever", self.asked_retriever, RETRIEVERS)

    @property
    def asked_reader(self) -> str:
        """The reader's name where it is asked here."""
        return self.reader or DEFAULT_READER

    @property
    def asked_retriever(self) -> str:
        """The retriever's name where it is asked here."""
        return self.retriever or DEFAULT_RETRIEVER


def run_probe(
    options: ProbeOptions,
    configuration: Configuration,
    connect: Callable[[str], AbstractContextManager[Service]],
    baseline: Path | None,
    progress: Progress,
) -> dict[str, Any]:
    """What the probe found, as ``--json`` prints it, and beside it what is worse than in ``baseline``.

    ``connect`` opens the service at an address. Raises ``DataError`` for a baseline that cannot be compared
    with, before anything is asked, and as opening readers, books and services does.
    """
    before = None if baseline is None else read_baseline(baseline)
    book = None if options.inside is None else _one_book(options.inside, configuration.index_store())
    skills = [fresh(task, options.per_task, options.seed) for task in options.tasks]
    result = {
        "reader": options.asked_reader if options.url is None else None,
        "url": options.url,
        "tasks": list(options.tasks),
        "per_task": options.per_task,
        "seed": options.seed,
        "inside": None if book is None else book.id,
        "retriever": options.asked_retriever if options.url is None and book else options.retriever,
        "k": (options.k or PASSAGES) if options.url is None and book else options.k,
        "fingerprint": fingerprint(skills, book.text if book else ""),
    }
    if before is not None and baseline is not None:
        check_same(result, before, baseline)
    with nullcontext() if options.url is None else connect(options.url) as service:
        questions = [question for skill in skills for question in skill.questions]
        result |= described(skills, _said(options, questions, book, configuration, service, progress))
    worse = None if before is None else worse_than(before, result)
    return result | {"baseline": None if worse is None else {"file": str(baseline), "worse": worse}}


def _one_book(name: str, store: Store) -> Book:
    found = open_books([name], store)
    if len(found) != 1:
        raise StoryQAError(f"{name} holds {len(found)} books; wanted one to scatter facts through")
    return found[0].book


def _said(
    options: ProbeOptions,
    questions: Sequence[SkillQuestion],
    book: Book | None,
    configuration: Configuration,
    service: Service | None,
    progress: Progress,
) -> Iterator[Said]:
    if service is None:
        reader = configured_reader(options.asked_reader, configuration.reader_settings)
        reader.reach()
        if book is None:
            return ask_reader(options.asked_reader, reader, questions, progress)
    books = plain_books(questions) if book is None else scattered_books(questions, book, options.seed)
    if service is not None:
        search = {"retriever": options.retriever, "k": options.k}
        given = {name: value for name, value in search.items() if value is not None}
        return ask_service(books, service, given, progress)
    return ask_store(
        books,
        configuration,
        options.asked_retriever,
        options.asked_reader,
        options.k or PASSAGES,
        progress,
    )
