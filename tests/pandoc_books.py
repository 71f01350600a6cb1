"""Twelve books of our own prose with all that real ones have in them, as files that pandoc writes."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from manuscripts import sample

NAMES = ("Łucja Żółć", "Søren Ångström", "Владимир Орлов", "José Núñez", "Θάλεια Δρόσου", "李雷")
NOTE = "Thus in the blue exercise book, and nowhere else."


@dataclass(frozen=True)
class PandocBook:
    """A book as pandoc's Markdown: ``chapters`` are headings with the blocks of text below them."""

    title: str
    authors: tuple[str, ...]
    chapters: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def source(self) -> str:
        """All of it, with what pandoc calls metadata."""
        authors = "".join(f"- '{author}'\n" for author in self.authors)
        head = f"---\ntitle: '{self.title}'\nauthor:\n{authors}lang: en-GB\n---\n\n"
        return head + "\n\n".join("\n\n".join((f"# {heading}", *blocks)) for heading, blocks in self.chapters)

    @property
    def words(self) -> list[list[str]]:
        """The words of each chapter, its heading's and its blocks', as they are seen; notes are not."""
        return [words_of("\n".join((heading, *map(_seen, blocks)))) for heading, blocks in self.chapters]


def words_of(text: str) -> list[str]:
    """Words in order; without the marks of lists, which some formats write out, and dashes alone."""
    quotes = str.maketrans("\u2018\u2019\u201c\u201d\u00a0", "''\"\" ")
    words = text.translate(quotes).replace("...", "\u2026").split()
    return [word for word in words if re.search(r"\w", word) and not re.fullmatch(r"\d{1,2}[.)]", word)]


def _seen(block: str) -> str:
    """A block without its marks."""
    block = re.sub(r"\[\^\w+\](?!:)", "", re.sub(r"^\[\^\w+\]: .*$", "", block, flags=re.M))
    block = re.sub(r"^(?:[>|] ?|[-*:] +|#+ |\|?-[-|: ]+$)", "", block, flags=re.M)
    return re.sub(r"(\*\*|\*|\^|~~|`|\||\\$)", lambda mark: " " if mark[0] == "|" else "", block, flags=re.M)


def _decorated(paragraphs: tuple[str, ...], number: int, name: str) -> Iterator[str]:
    """The paragraphs as blocks, with one of each kind between them."""
    extra = (
        f'> "Weigh it again," said {name}, *and* the **second** time as well.\n>\n> > Twice is once.',
        f"- a bag of salt\n- the heron of {name}\n\n    which was *not* his\n- rope",
        "1.  Polish the beam.\n2.  Hang it level.\n3.  Let nobody speak.",
        "| Day    | Pans | Weigher |\n|--------|-----:|---------|\n| Friday | 41   | "
        f"{name} |\n| Sunday | none | nobody  |",
        f"| The heron looks to the water,\n| {name} looks to the land,\n| and nobody looks up.",
        "* * *",
        f"It was the 30^th^ of May --- or the ~~31st~~ first? --- and {name} wrote `nil`\\\nand shut it...",
        "heron\n:   a bird, and the arms of the town\n\npan\n:   that which is weighed upon",
        " ".join(paragraphs[:6]),  # a line of some thousand characters
        "## Of what is weighed",
    )
    for at, paragraph in enumerate(paragraphs):
        first, space, rest = paragraph.partition(" ")
        yield f"*{first}*{space}{rest}" if at % 3 == 0 and first.isalpha() else paragraph
        if at % 2 == 1 and at // 2 < len(extra):
            yield extra[at // 2]
    last = f"n{number}"
    yield f"And so it was, said {name},[^{last}] and so it *is*.\n\n[^{last}]: {NOTE}"


@cache
def pandoc_books() -> tuple[PandocBook, ...]:
    """Three parts of the sample story, their headings of four kinds, their authors one or two."""
    kinds = ("Chapter {n}: {title}", "{title}", "{n}. {title}", "CHAPTER {roman}")
    whole = sample().chapters[1:]
    books: list[PandocBook] = []
    for first, last in ((0, 4), (4, 8), (8, 12)):
        for kind in kinds:
            number = len(books)
            chapters = []
            for n, (heading, paragraphs) in enumerate(whole[first:last], 1):
                roman, title = ("I", "II", "III", "IV")[n - 1], heading.split("\n")[-1]
                name = NAMES[(number + n) % len(NAMES)]
                # A number and a stop would begin a list in Markdown.
                shown = kind.format(n=n, roman=roman, title=title)
                chapters.append((shown, tuple(_decorated(paragraphs, n, name))))
            authors = (NAMES[number % 6],) if number % 3 else (NAMES[number % 6], "Robin Marchbanks")
            title = ("The Weigher", "Old Patience: A Tale", "Salt & Wool")[number % 3]
            books.append(PandocBook(f"{title}, Part {first // 4 + 1}", authors, tuple(chapters)))
    return tuple(books)


def write(book: PandocBook, to: str, *options: str) -> bytes:
    """The file that pandoc makes of a book, in the format that it calls ``to``."""
    import pypandoc

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "book"
        pypandoc.convert_text(
            book.source, to, "markdown", outputfile=str(file), extra_args=["--standalone", *options]
        )
        return file.read_bytes()
