"""What stands after an IR reader's name: ``ir-rouge-l@span=4,query=answer``, ``ir-cosine:PATH@span=8``."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.errors import ModelError
from readers.options import split_options

SPANS = ("sentence", "answer")  # or a number of tokens
QUERIES = ("question", "answer")
TIES = ("first", "random")
MOST_TOKENS = 100


@dataclass(frozen=True, slots=True)
class SimilarityOptions:
    """Which spans are compared with which query; ``span`` is one of ``SPANS`` or a number of tokens.

    ``ties`` says which of the spans that are equally similar is taken: the earliest, or any.
    """

    span: str
    query: str
    path: str | None
    ties: str = "first"


def parse_options(name: str, argument: str | None, span: str, takes_path: bool = False) -> SimilarityOptions:
    """The options in ``argument``; raises ``ModelError`` for what is none.

    The ``span`` is that of an answer's length where the query is the answer and none is named.
    """
    form = f"{name}{':PATH' if takes_path else ''}@span=4,query=answer"
    path, given = split_options(name, argument, form, valued=("span", "query", "ties"), takes_path=takes_path)
    query = given.get("query", "question")
    if query not in QUERIES:
        raise ModelError(f"query={query} for {name!r}; wanted {' or '.join(QUERIES)}")
    span = given.get("span", "answer" if query == "answer" else span)
    if span not in SPANS and not (span.isascii() and span.isdigit() and 1 <= int(span) <= MOST_TOKENS):
        raise ModelError(f"span={span} for {name!r}; wanted 1 to {MOST_TOKENS} tokens, {' or '.join(SPANS)}")
    if span == "answer" and query != "answer":
        raise ModelError(f"span=answer for {name!r} needs query=answer: a question does not tell the length")
    ties = given.get("ties", "first")
    if ties not in TIES:
        raise ModelError(f"ties={ties} for {name!r}; wanted {' or '.join(TIES)}")
    return SimilarityOptions(span, query, path, ties)
