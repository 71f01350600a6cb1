"""Manuscripts typeset as PDFs by ReportLab: with running heads, page numbers, hyphens and an outline."""

from __future__ import annotations

import io
from dataclasses import dataclass

from manuscripts import Manuscript
from reportlab.lib import pagesizes
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas


@dataclass(frozen=True)
class Design:
    """How a book looks; lengths in points. ``gap`` is between paragraphs, ``mirrored`` margins lie inside.

    ``initial`` is how many lines the first letter of a chapter is high; ``raised`` ones stand on the first,
    so many points before the rest of their word.
    """

    font: str = "Times-Roman"
    size: float = 11
    leading: float = 14
    page: tuple[float, float] = pagesizes.A5
    indent: float = 14
    gap: float = 0
    justified: bool = True
    hyphens: bool = True
    mirrored: bool = False
    head: str = "title"
    numbers: str = "foot"
    outline: bool = True
    heading_size: float = 16
    new_pages: bool = True
    initial: int = 1
    raised: float | None = None


DESIGNS = (
    Design(),
    Design(head="none", justified=False, hyphens=False),
    Design(font="Helvetica", size=10, leading=13, indent=0, gap=7, hyphens=False),
    Design(numbers="head", mirrored=True, head="chapter"),
    Design(page=pagesizes.A4, size=12, leading=18, outline=False),
    Design(outline=False, heading_size=11, new_pages=False, gap=2),
    Design(initial=2),
    Design(initial=3, font="Helvetica", size=10, leading=13, indent=0, gap=7, outline=False),
    Design(initial=2, justified=False, outline=False),
    Design(initial=3, mirrored=True, head="chapter"),
    Design(initial=2, raised=0, outline=False),
)


def pdf(
    manuscript: Manuscript,
    design: Design = DESIGNS[0],
    first_page: int = 1,
    labels: bool = True,
    front_matter: tuple[str, ...] = (),
) -> bytes:
    """A PDF whose pages are numbered from ``first_page``, behind a page of each text of ``front_matter``.

    ``labels`` is whether the file says the numbers, too.
    """
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=design.page, invariant=1)
    canvas.setTitle(manuscript.title.upper())
    canvas.setAuthor(manuscript.author)
    if labels:
        canvas.addPageLabel(0, style="ARABIC", start=first_page)
    for text in front_matter:
        canvas.drawString(45, design.page[1] / 2, text)
        canvas.showPage()
    _Typesetter(canvas, manuscript, design, first_page).set()
    canvas.save()
    return buffer.getvalue()


class _Typesetter:
    def __init__(self, canvas: Canvas, manuscript: Manuscript, design: Design, number: int) -> None:
        self.canvas, self.manuscript, self.design, self.number = canvas, manuscript, design, number
        self.width, self.height = design.page
        self.chapter = ""
        self.begin_page()

    @property
    def left(self) -> float:
        return 60.0 if self.design.mirrored and self.number % 2 else 45.0

    @property
    def measure(self) -> float:
        return self.width - 105.0

    def begin_page(self) -> None:
        self.y = self.height - 70

    def end_page(self) -> None:
        design, canvas = self.design, self.canvas
        canvas.setFont(design.font, 9)
        head = {"title": self.manuscript.title, "chapter": self.chapter, "none": ""}[design.head]
        if design.numbers == "head":
            head = f"{self.number}   {head}" if self.number % 2 == 0 else f"{head}   {self.number}"
        elif design.numbers == "foot":
            canvas.drawCentredString(self.width / 2, 30, str(self.number))
        canvas.drawCentredString(self.width / 2, self.height - 40, head)
        canvas.showPage()
        self.number += 1
        self.begin_page()

    def line(self, text: str, inside: float, space: float = 0.0) -> None:
        if self.y < 60:
            self.end_page()
        written = self.canvas.beginText(self.left + inside, self.y)
        written.setFont(self.design.font, self.design.size)
        written.setWordSpace(space)
        written.textOut(text)
        self.canvas.drawText(written)
        self.y -= self.design.leading

    def set(self) -> None:
        for number, (heading, paragraphs) in enumerate(self.manuscript.chapters):
            if number and (self.design.new_pages or self.y < 160):
                self.end_page()
            self.chapter = heading.split("\n")[-1]
            self.heading(heading, number)
            for place, paragraph in enumerate(paragraphs):
                self.paragraph(paragraph, 1 if place else self.design.initial)
        self.end_page()

    def heading(self, heading: str, number: int) -> None:
        design = self.design
        self.y -= 20
        if design.outline:
            self.canvas.bookmarkHorizontal(f"c{number}", 0, self.y + design.heading_size)
            self.canvas.addOutlineEntry(" ".join(heading.split("\n")), f"c{number}", 0)
        for text in heading.split("\n"):
            self.canvas.setFont(design.font, design.heading_size)
            self.canvas.drawCentredString(self.left + self.measure / 2, self.y, text)
            self.y -= 1.2 * design.heading_size
        self.y -= 20

    def paragraph(self, text: str, initial: int) -> None:
        design = self.design
        lines: list[tuple[list[str], float]] = []
        cap = self.initial(text, initial) if initial > 1 else ""
        beside = stringWidth(cap, design.font, self.initial_size(initial)) + (
            2 if design.raised is None else design.raised
        )
        words, indent = text[len(cap) :].split(" "), beside if cap else design.indent
        current: list[str] = []
        while words:
            room = self.measure - indent
            if self.wide(" ".join([*current, words[0]])) <= room:
                current.append(words.pop(0))
                continue
            first, rest = self.parted(words[0])
            if rest and self.wide(" ".join([*current, first])) <= room:
                current.append(first)
                words[0] = rest
            lines.append((current, indent))
            current, indent = [], beside if cap and len(lines) < initial and design.raised is None else 0.0
        for row, inside in lines:
            spare = self.measure - inside - self.wide(" ".join(row))
            space = spare / max(1, len(row) - 1) if design.justified else 0.0
            self.line(" ".join(row), inside, space)
        self.line(" ".join(current), indent)
        self.y -= design.gap

    def initial_size(self, lines: int) -> float:
        """So that capitals, 0.66 of a size high, are as high as those lines from the last baseline up."""
        return ((lines - 1) * self.design.leading + 0.66 * self.design.size) / 0.66

    def initial(self, text: str, lines: int) -> str:
        """Draw the first letter of a paragraph, with the quotation mark before it."""
        cap = text[: 1 if text[0].isalpha() else 2]
        self.canvas.setFont(self.design.font, self.initial_size(lines))
        below = 0 if self.design.raised is not None else (lines - 1) * self.design.leading
        self.canvas.drawString(self.left, self.y - below, cap)
        return cap

    def wide(self, text: str) -> float:
        return float(stringWidth(text, self.design.font, self.design.size))

    def parted(self, word: str) -> tuple[str, str]:
        """A word's two parts at a line's end, at its own hyphen or at a new one."""
        first, hyphen, rest = word.partition("-")
        if hyphen and first.isalpha() and rest[:1].isalpha():
            return f"{first}-", rest
        if self.design.hyphens and word.isalpha() and word.islower() and len(word) >= 7:
            return f"{word[:4]}-", word[4:]
        return word, ""


def two_pages_of_pictures() -> bytes:
    """A scan: no letters but page numbers."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for number in (1, 2):
        canvas.rect(50, 50, 400, 600, fill=1)
        canvas.drawString(200, 30, str(number))
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def with_password(manuscript: Manuscript) -> bytes:
    """A PDF that only a password opens."""
    from reportlab.lib.pdfencrypt import StandardEncryption

    buffer = io.BytesIO()
    canvas = Canvas(buffer, encrypt=StandardEncryption("gull"))
    canvas.drawString(50, 500, manuscript.title)
    canvas.save()
    return buffer.getvalue()
