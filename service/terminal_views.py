"""What people see in a terminal: answers in their sentence, passages, progress of long work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from terminal.output import printable

if TYPE_CHECKING:
    from answering.book_qa import CitedAnswer, Evidence, Found, PassageRead
    from answering.quotes import Quote

_HIGHLIGHT = "bold black on yellow"
_MOST_ALSO = 5  # further places of an answer that are listed
_ABOVE = {
    "maybe": "Maybe:",
    "none": "The book may not say; the best guess is:",
}


def answer_panel(question: str, cited: CitedAnswer, *, plain: bool, titled: bool = False) -> Panel:
    """A question, as it was answered where that is otherwise, its answer, its sentence and where that is.

    ``plain`` marks the answer in its sentence with asterisks, for output without colours. ``titled`` names
    the book of each place.
    """
    lines = [Text(_one_line(question), style="bold")]
    if cited.rewritten:
        lines.append(Text(f"asked as: {_one_line(cited.rewritten)}", style="dim"))
    lines.append(Text())
    if cited.text and cited.verdict in _ABOVE:
        lines.append(Text(_ABOVE[cited.verdict], style="yellow"))
    lines.append(_answer_line(cited.text, cited.confidence))
    lines += _note_lines(cited.note)
    if cited.evidence is None and cited.verdict != "answer" and (cited.text or cited.note is None):
        lines.append(Text("nothing in what was read supports an answer", style="dim"))
    elif cited.evidence is not None:
        lines += [
            Text(),
            _sentence(cited.evidence, plain),
            Text(_where(cited.evidence, titled), style="dim"),
        ]
        lines += [line for best in cited.candidates[:1] for line in _also_lines(best.also, titled)]
    lines += [line for best in cited.candidates[:1] for line in _chain_lines(best.chain, titled)]
    others = [candidate for candidate in cited.candidates[1:] if candidate.text]
    if others:
        lines += [Text(), Text("or", style="dim")]
    for other in others:
        lines.append(Text(f"{other.confidence:.2f}  {_one_line(other.text)}"))
        lines += _note_lines(other.note, indent=6)
        if other.evidence is not None:
            lines.append(Text(f"      {_where(other.evidence, titled)}", style="dim"))
        lines += _also_lines(other.also, titled, indent=6)
        lines += _chain_lines(other.chain, titled, indent=6)
    if cited.verdict == "none" and cited.passages:
        lines += _nearest_lines(cited.passages, titled)
    return Panel(Group(*lines), padding=(0, 1))


def _nearest_lines(passages: Sequence[PassageRead], titled: bool) -> list[Text]:
    """Where to look oneself: the passages that fit the question best."""
    lines = [Text(), Text("what fits the question best", style="dim")]
    for one in passages:
        book, page = one.title if titled else None, one.page and f"page {one.page}"
        where = (
            f"passage {one.number}",
            *map(_one_line, filter(None, (book, one.chapter, page))),
            f"characters {one.start:,} to {one.end:,}",
        )
        lines.append(Text(f"  {' · '.join(where)}", style="dim"))
    return lines


def _answer_line(text: str, confidence: float) -> Text:
    answer = Text(_one_line(text) or "no answer", style="bold green" if text else "bold red")
    return answer.append(f"   confidence {confidence:.2f}", style="not bold default")


def _note_lines(note: str | None, indent: int = 0) -> list[Text]:
    return [] if note is None else [Text(f"{' ' * indent}note: {_one_line(note)}", style="yellow")]


def _also_lines(also: Sequence[Evidence], titled: bool, indent: int = 0) -> list[Text]:
    space = " " * indent
    lines = [Text(f"{space}also: {_where(place, titled)}", style="dim") for place in also[:_MOST_ALSO]]
    rest = len(also) - _MOST_ALSO
    return [*lines, Text(f"{space}and {rest:,} more places", style="dim")] if rest > 0 else lines


def _chain_lines(chain: Sequence[Evidence], titled: bool, indent: int = 0) -> list[Text]:
    """The facts that an answer was inferred from, each with its place."""
    space = " " * indent
    return [
        Text.assemble(f"{space}follows from: {_one_line(fact.text)} ", (f"({_where(fact, titled)})", "dim"))
        for fact in chain
    ]


def _sentence(evidence: Evidence, plain: bool) -> Text:
    """The sentence on one line, the evidence in it marked."""
    start = evidence.start - evidence.sentence_start
    end = evidence.end - evidence.sentence_start
    before, answer, after = evidence.sentence[:start], evidence.sentence[start:end], evidence.sentence[end:]
    mark = "**" if plain else ""
    return Text.assemble(
        printable(before), (f"{mark}{printable(answer)}{mark}", "" if plain else _HIGHLIGHT), printable(after)
    )


def quote_lines(quotes: Sequence[Quote]) -> list[Text]:
    """Sentences of the book, each with its place."""
    return [Text.assemble(f"\n{_one_line(one.text)}\n", (place(one), "dim")) for one in quotes] or [
        Text("nothing is told of that yet", style="dim")
    ]


def _where(evidence: Evidence, titled: bool) -> str:
    return f"{_one_line(evidence.title)} · {place(evidence)}" if titled else place(evidence)


def place(evidence: Evidence | Quote) -> str:
    """Where something stands in the book, on one line."""
    chapter = f"{_one_line(evidence.chapter)} · " if evidence.chapter else ""
    page = f"page {_one_line(evidence.page)} · " if evidence.page else ""
    return (
        f"{chapter}{page}{evidence.percent:g} % into the book · "
        f"characters {evidence.start:,} to {evidence.end:,} · passage {evidence.passage}"
    )


def _one_line(text: str) -> str:
    return printable(text).strip()


def hits_table(found: Found) -> Table:
    """The passages found, best first, each with how it begins."""
    from answering.book_qa import passages_read
    from answering.scope import is_one_book

    table = Table(title=Text(_one_line(found.ask.question)), title_justify="left", show_lines=True)
    several = not is_one_book(found.ask.book_id)
    if several:
        table.add_column("book", overflow="fold")
    for name in ("score", "passage", "characters"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("chapter", overflow="fold")
    table.add_column("text", ratio=1, overflow="fold")
    for placed, hit in zip(found.hits, passages_read(found.hits), strict=True):
        text = _one_line(placed.book.index.text(hit.start, hit.end))
        table.add_row(
            *([Text(_one_line(hit.title))] if several else []),
            f"{hit.score:.3f}",
            str(hit.number),
            f"{hit.start:,} to {hit.end:,}",
            Text(_one_line(" · ".join(filter(None, (hit.chapter, hit.page and f"page {hit.page}"))))),
            Text(text[:300] + ("…" if len(text) > 300 else "")),
        )
    return table


def facts(rows: Sequence[tuple[str, str]]) -> Table:
    """Names and values in two columns."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table
