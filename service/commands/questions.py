"""``storyqa search`` and ``storyqa ask``: one question to one book."""

from __future__ import annotations

from typing import Annotated

import typer

from service.commands.options import (
    AsJson,
    BookIds,
    Limits,
    Passages,
    Question,
    ReaderName,
    RetrieverName,
    Store,
)
from terminal.draft import Draft
from terminal.output import console, marks_by_style, print_json
from terminal.progress import ProgressBars


def search(
    book_id: BookIds,
    question: Question,
    k: Passages = 5,
    retriever: RetrieverName = None,
    before: Limits = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Find the passages of a book that fit a question, best first."""
    with ProgressBars("searching"):
        from answering.book_qa import Ask, BookQA
        from service.book_arguments import full_ids, limits
        from service.schemas import SearchResponse
        from service.settings import load_settings
        from service.terminal_views import hits_table

        settings = load_settings(store)
        qa = BookQA.of(settings.configuration())
        ids = full_ids(qa.store, book_id)
        asked = Ask(ids, question, k=k, retriever=retriever or settings.retriever, before=limits(before))
        [searched] = qa.search_many([asked])
    if as_json:
        print_json(SearchResponse.of(searched).model_dump())
    elif searched.found.hits:
        console().print(hits_table(searched.found))
    else:
        console().print("nothing found")


def ask(
    book_id: BookIds,
    question: Question,
    k: Passages = 5,
    retriever: RetrieverName = None,
    reader: ReaderName = None,
    n_best: Annotated[int, typer.Option("--n-best", help="How many answers to give.")] = 3,
    candidate: Annotated[
        list[str] | None,
        typer.Option("--candidate", help="One of the answers to choose from; may be repeated."),
    ] = None,
    before: Limits = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question from a book and show where in the book the answer stands.

    A question with a blank, XXXXX or ____, is filled in: with a --candidate, or where there are none with a
    name or noun of the passages.

    On a terminal the words of a language model are shown as it writes them, then the answer with its places.

    Where the confidence is below STORYQA_ANSWERABLE, it says that the book may not say, and lists the nearest
    passages.
    """
    with ProgressBars("answering") as bars, Draft(bars) as draft:
        from answering.book_qa import Ask, BookQA
        from answering.scope import is_one_book
        from encoders.sizes import check_ahead
        from service.book_arguments import full_ids, limits
        from service.schemas import AnswerResponse
        from service.settings import load_settings
        from service.terminal_views import answer_panel

        settings = load_settings(store)
        qa = BookQA.of(settings.configuration())
        asked = Ask(
            full_ids(qa.store, book_id),
            question,
            k=k,
            retriever=retriever or settings.retriever,
            reader=reader or settings.reader,
            n_best=n_best,
            before=limits(before),
            candidates=tuple(candidate or ()),
        )
        qa.check(asked)
        check_ahead()
        qa.reach(asked)  # before the book is searched, which loads models
        hears = draft if Draft.is_wanted() and not as_json else None
        [cited] = qa.answer_many([asked], on_words=[hears])
    if as_json:
        print_json(AnswerResponse.of(cited).model_dump())
        return
    out = console()
    titled = not is_one_book(asked.book_id)
    out.print(answer_panel(question, cited, plain=not marks_by_style(out), titled=titled))
