"""What LibreOffice and calibre make of headings, notes and authors, in small, for machines without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from kindle_books import mobipocket, palm_database, stored
from manuscripts import Manuscript, zipped
from test_documents import read, titles

from indexing.formats.metadata import stated_author


def fb2(sections: str) -> str:
    return (
        "<FictionBook><description><title-info><book-title>The Gull</book-title><lang>de</lang></title-info>"
        f"</description><body>{sections}</body></FictionBook>"
    )


def test_a_strong_paragraph_is_the_heading_of_a_section_of_an_fb2_where_it_comes_first() -> None:
    section = (
        "<section><empty-line/><p><strong>{}</strong></p><p>Water.</p><p><strong>Oh!</strong></p></section>"
    )
    book = read("gull.fb2", fb2("".join(map(section.format, ("The Weir", "The Mill")))))
    assert (titles(book), book.language) == (["The Weir", "The Mill"], "de")
    plain = "<section><p><strong>Gulls</strong> sat.</p></section><section><p>So.</p></section>"
    assert titles(read("gull.fb2", fb2(plain))) == []


def test_the_styles_of_an_rtf_say_what_is_a_heading_and_its_first_author_wrote_it() -> None:
    text = (
        r"{\rtf1{\stylesheet{\s0 Normal;}{\s1\fs32\outlinelevel0 heading 1;}}"
        r"{\info{\title The Gull}{\author Anse Vell}{\author Wilm Orr}}"
        r"{\s1{\b{\ql The Weir\par\pard\plain}\par\pard}}{ Water.\par\pard}"
        r"{\s1{\b The Mill\par\pard\plain}}{ Flour.\par}}"
    )
    book = read("gull.rtf", text)
    assert (titles(book), book.author) == (["The Weir", "The Mill"], "Anse Vell")
    assert book.text == "The Weir\n\nWater.\n\nThe Mill\n\nFlour."


@pytest.mark.parametrize(
    ("stated", "author"),
    [("Anse Vell & Wilm Orr", "Anse Vell, Wilm Orr"), ("?ucja ????", None), ("Vell, Anse", "Vell, Anse")],
)
def test_authors_are_read_as_programs_write_them(stated: str, author: str | None) -> None:
    assert stated_author(stated) == author


def docx(body: str) -> bytes:
    styles = (
        "<s xmlns:w='w'><w:style w:styleId='h'><w:name w:val='heading 1'/></w:style>"
        "<w:style w:styleId='r'><w:name w:val='r'/><w:rPr><w:vertAlign w:val='superscript'/></w:rPr>"
        "</w:style></s>"
    )
    core = (
        "<c xmlns:dc='d'><dc:title>The Gull</dc:title><dc:creator>Anse Vell</dc:creator>"
        "<dc:language>en-GB</dc:language></c>"
    )
    files = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>",
        "word/styles.xml": styles,
        "docProps/core.xml": core,
    }
    return zipped(files)


def heading(text: str) -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="h"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def test_a_link_above_the_line_leads_to_a_note_and_is_no_text() -> None:
    link = "<w:hyperlink><w:r><w:rPr>{}</w:rPr><w:t>{}</w:t></w:r></w:hyperlink>"
    raised = '<w:rStyle w:val="r"/>', '<w:vertAlign w:val="superscript"/>', ""
    for mark, shown in zip(raised, ("The gull sat.", "The gull sat.", "The gull7 sat."), strict=True):
        body = f"<w:p><w:r><w:t>The gull</w:t></w:r>{link.format(mark, 7)}<w:r><w:t> sat.</w:t></w:r></w:p>"
        book = read("gull.docx", docx(body))
        assert (book.text, book.language) == (shown, "en-GB")


@pytest.mark.parametrize(
    "page",
    [
        '<p>The gull<a href="#n"><sup>7</sup></a> sat.</p>',
        '<p>The gull<sup><a href="#n">[7]</a></sup> sat.</p>',
        '<p>The gull<a class="sdfootnoteanc" href="#n">7</a> sat.</p>',
        '<p>The gull sat.</p><div title="footer"><p>12</p></div>',
    ],
)
def test_marks_of_notes_and_page_feet_are_no_text_of_a_page(page: str) -> None:
    assert read("gull.html", f"<html><body>{page}</body></html>").text == "The gull sat."


def test_raised_numbers_that_lead_nowhere_and_links_on_the_line_are_text() -> None:
    linked = '<a href="#n">1851</a><sup>th</sup>, <a href="#b"><sup>old</sup></a>'
    page = f"<p>The 10<sup>3</sup> gulls of {linked}.</p>"
    assert read("gull.html", f"<html><body>{page}</body></html>").text == "The 103 gulls of 1851th, old."


def test_a_title_page_behind_a_table_of_contents_is_no_chapter() -> None:
    told = "<w:p><w:r><w:t>Water.</w:t></w:r></w:p>"
    names = ("Table of Contents", "The Gull", "The Weir", "The Mill")
    assert titles(read("gull.docx", docx(told.join(map(heading, names)) + told))) == ["The Weir", "The Mill"]
    dedicated = ("Dedication", "The Weir", "The Mill")
    assert titles(read("gull.docx", docx(told.join(map(heading, dedicated)) + told))) == [*dedicated]


def test_entries_of_a_flat_list_that_begin_no_page_belong_to_those_that_do() -> None:
    chapters = tuple((name, ("Water.",)) for name in ("The Weir", "Of gulls", "The Mill", "Of flour"))
    records = mobipocket(Manuscript(chapters), stored)
    for name in (b"Of gulls", b"Of flour"):
        before, rest = records[1].rsplit(name, 1)
        begin, rest_of_head = before.rsplit(b"<mbp:pagebreak/>", 1)
        records[1] = begin + b"<i>gull</i>".ljust(16) + rest_of_head + name + rest
    assert titles(read("gull.mobi", palm_database(records))) == ["The Weir", "The Mill"]


def test_a_number_above_the_line_of_a_pdf_leads_to_a_note(tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "gull.pdf"))
    text = canvas.beginText(72, 700)
    text.setFont("Times-Roman", 12)
    text.textOut("The gull sat on the weir")
    text.setRise(4)
    text.setFont("Times-Roman", 7)
    text.textOut("12")
    text.setRise(0)
    text.setFont("Times-Roman", 12)
    text.textOut(" and watched room B7 of the mill.")
    canvas.drawText(text)
    canvas.save()
    book = read("gull.pdf", (tmp_path / "gull.pdf").read_bytes())
    assert book.text == "The gull sat on the weir and watched room B7 of the mill."
