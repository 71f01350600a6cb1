"""Office documents, e-books, Markdown and RTF: the words, chapters, title and author that the story has."""

from __future__ import annotations

import zipfile
from functools import partial
from io import BytesIO

import pytest
from manuscripts import AUTHOR, FILES, TITLE, Manuscript, docx_by_word, fb2, odt, rtf, sample, twelve, zipped

from indexing.book import Book
from indexing.errors import SourceError
from indexing.formats.metadata import in_normal_case, stated_author, stated_title
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source


def read(name: str, data: bytes | str) -> Book:
    return read_book(Source(name, "gull", partial(Fetched, data.encode() if isinstance(data, str) else data)))


def titles(book: Book) -> list[str]:
    return [chapter.title for chapter in book.chapters]


def check_chapters(book: Book, manuscript: Manuscript) -> None:
    """Chapters begin at their headings and hold their paragraphs, and nothing lies between them."""
    assert len(book.chapters) == len(manuscript.chapters), titles(book)
    for chapter, (heading, paragraphs) in zip(book.chapters, manuscript.chapters, strict=True):
        told = book.text[chapter.start : chapter.end]
        assert told.split() == " ".join((heading, *paragraphs)).split()
        assert chapter.title.endswith(heading.split("\n")[-1])


@pytest.mark.parametrize("format", FILES)
def test_a_story_has_the_same_words_chapters_and_title_in_every_format(format: str) -> None:
    name, write = FILES[format]
    book = read(name, write(sample()))
    assert book.text.split()[-len(sample().words) :] == sample().words
    check_chapters(book, sample())
    assert book.title == TITLE
    assert book.author == (None if format == "markdown with underlines" else AUTHOR)


@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("number", range(12))
def test_twelve_books_of_each_format_are_read_word_for_word(format: str, number: int) -> None:
    name, write = FILES[format]
    manuscript = twelve()[number]
    book = read(name, write(manuscript))
    assert book.text.split()[-len(manuscript.words) :] == manuscript.words
    check_chapters(book, manuscript)


@pytest.mark.parametrize("format", [format for format in FILES if "markdown" not in format])
def test_a_file_is_known_by_what_is_in_it_whatever_its_name(format: str) -> None:
    name, write = FILES[format]
    assert read("weigher.content", write(sample())).text == read(name, write(sample())).text


def test_a_paragraph_of_a_docx_is_what_is_seen_of_it() -> None:
    body = (
        "<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>three</w:t></w:r>"
        "<w:del><w:r><w:t>gone</w:t></w:r></w:del><w:hyperlink><w:r><w:t> four</w:t></w:r></w:hyperlink>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:tab/><w:t>unseen</w:t></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>, seen</w:t><w:br w:type="page"/><w:t>next</w:t></w:r>'
        "</w:p>"
        '<w:p><w:pPr><w:pStyle w:val="c"/></w:pPr><w:r><w:t>Chapter I .... 1</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>five</w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>"
        "<w:p><w:r><w:t>box</w:t></w:r></w:p>"
        "</w:txbxContent></mc:Choice><mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
        "</w:r><w:r><w:t>six</w:t></w:r></w:p>"
    )
    files = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document xmlns:w='w' xmlns:mc='m'><w:body>{body}</w:body></w:document>",
        "word/styles.xml": "<s xmlns:w='w'><w:style w:styleId='c'><w:name w:val='toc 1'/></w:style></s>",
    }
    assert read("gull.docx", zipped(files)).text == "One two\nthree four, seen\n\nnext\n\nfive\n\nbox\n\nsix"


def docx_with_notes(number: str = "") -> bytes:
    def note(kind: str, id: str, text: str) -> str:
        runs = f'<w:r><w:{kind}Ref/></w:r><w:r><w:t xml:space="preserve"> {text}</w:t></w:r>'
        return f'<w:{kind} w:id="{id}"><w:p>{runs}</w:p></w:{kind}>'

    def reference(kind: str, id: str) -> str:
        return f'<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:{kind}Reference w:id="{id}"/></w:r>'

    own = '<w:r><w:footnoteReference w:id="3" w:customMarkFollows="1"/><w:t>*</w:t></w:r>'
    body = (
        f"<w:p><w:pPr><w:outlineLvl w:val='0'/></w:pPr><w:r><w:t>The Weir</w:t></w:r>{own}</w:p>"
        f"<w:p><w:r><w:t>The gull</w:t></w:r>{reference('footnote', '1')}<w:r><w:t xml:space='preserve"
        f"'> sat.</w:t></w:r>{reference('endnote', '1')}</w:p><w:p><w:r><w:t>It slept.</w:t></w:r></w:p>"
    )
    relations = "".join(
        f'<Relationship Type="http://x/{kind}s" Target="{kind}s{number}.xml"/>'
        for kind in ("footnote", "endnote")
    )
    feet = note("footnote", "1", "Osk.") + note("footnote", "2", "Unseen.") + note("footnote", "3", "Of Orr.")
    names = "xmlns:w='w'"
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {names}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": f"<r>{relations}</r>",
            f"word/footnotes{number}.xml": f"<w:n {names}>{feet}</w:n>",
            f"word/endnotes{number}.xml": f"<w:n {names}>{note('endnote', '1', 'Grey.')}</w:n>",
        }
    )


def odt_with_notes() -> bytes:
    def note(kind: str, text: str) -> str:
        return (
            f'<t:note t:note-class="{kind}"><t:note-citation>1</t:note-citation>'
            f"<t:note-body><t:p>{text}</t:p></t:note-body></t:note>"
        )

    body = (
        f'<t:h t:outline-level="1">The Weir{note("footnote", "Of Orr.")}</t:h>'
        f"<t:p>The gull{note('footnote', 'Osk.')} sat.{note('endnote', 'Grey.')}</t:p><t:p>It slept.</t:p>"
    )
    content = f'<o:d xmlns:o="o" xmlns:t="t"><o:body><o:text>{body}</o:text></o:body></o:d>'
    return zipped({"content.xml": content}, ("mimetype", "application/vnd.oasis.opendocument.text"))


NOTES = ((1, "Osk."), (2, "Grey."))


def fb2_with_notes(title: str = "<title><p>{}</p></title>") -> bytes:
    def link(number: int, mark: str, type: str = "note") -> str:
        return f'<a l:href="#n{number}" type="{type}">{mark}</a>'

    notes = "".join(
        f'<section id="n{number}">{title.format(number)}<p>{text}</p></section>'
        for number, text in enumerate(("Of Orr.", "Osk.", "Grey.", "Unseen."), 1)
    )
    story = (
        f"<section><title><p>The Weir{link(1, '*')}</p></title>"
        f"<p>The gull{link(2, '<sup>[2]</sup>', '')} sat.{link(3, '3')}</p>"
        f"<p>It slept.{link(2, '2')}</p></section>"
    )
    return (
        f'<FictionBook xmlns:l="l"><body>{story}</body><body name="notes"><title><p>Notes</p></title>{notes}'
        "</body></FictionBook>"
    ).encode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("gull.docx", docx_with_notes()),
        ("gull.docx", docx_with_notes(number="2")),
        ("gull.odt", odt_with_notes()),
        (
            "gull.rtf",
            rb"{\rtf1 \pard\outlinelevel0 The Weir{\footnote \pard\plain {\super\chftn} Of Orr.}\par"
            rb"\pard The gull{\super\chftn{\footnote\chftn Osk.\par}} sat.{\footnote\ftnalt Grey.}\par "
            rb"It slept.}",
        ),
        ("gull.fb2", fb2_with_notes()),
        ("gull.fb2", fb2_with_notes(title="")),
    ],
)
def test_notes_stand_behind_the_paragraph_that_leads_to_them(name: str, data: bytes) -> None:
    book = read(name, data)
    text, _, others = book.text.partition("\n\nNotes\n\n")
    assert text == "The Weir\n\nOf Orr.\n\nThe gull sat.\n\nOsk.\n\nGrey.\n\nIt slept."
    assert "Unseen." in others if name.endswith(".fb2") else not others


def test_notes_of_an_fb2_that_nothing_leads_to_stand_at_its_end() -> None:
    notes = "".join(f"<section><title><p>{at}</p></title><p>{text}</p></section>" for at, text in NOTES)
    story = "<section><title><p>The Weir</p></title><p>The gull [1] sat [2].</p></section>"
    notes = f"<body name='notes'><title><p>Of gulls</p></title>{notes}</body>"
    fb2 = f"<FictionBook><body>{story}</body>{notes}</FictionBook>"
    book = read("gull.fb2", fb2)
    assert book.text == "The Weir\n\nThe gull [1] sat [2].\n\nOf gulls\n\n1 Osk.\n\n2 Grey."


def test_styles_that_are_based_on_headings_are_headings() -> None:
    styles = (
        "<s xmlns:w='w'><w:style w:styleId='a'><w:name w:val='heading 2'/></w:style>"
        "<w:style w:styleId='b'><w:name w:val='Kapitel'/><w:basedOn w:val='a'/></w:style>"
        "<w:style w:styleId='x'><w:name w:val='x'/><w:basedOn w:val='y'/></w:style>"
        "<w:style w:styleId='y'><w:name w:val='y'/><w:basedOn w:val='x'/></w:style></s>"
    )
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in (("b", "The Weir"), ("x", "water"), ("b", "The Mill"), ("y", "flour"))
    )
    files = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>",
        "word/styles.xml": styles,
    }
    assert titles(read("gull.docx", zipped(files))) == ["The Weir", "The Mill"]


def test_verses_of_an_fb2_are_lines_and_sections_in_sections_are_chapters_of_parts() -> None:
    chapter = (
        "<section><title><p>{}</p></title><p>Water.</p>"
        "<poem><title><p>A Song</p></title><stanza><v>Oh gull</v><v>oh weir</v></stanza></poem></section>"
    )
    parts = "".join(
        f"<section><title><p>{part}</p></title>{''.join(map(chapter.format, names))}</section>"
        for part, names in (("Before", ("The Weir", "The Mill")), ("After", ("The Gull",)))
    )
    book = read("gull.fb2", f"<FictionBook><body><title><p>The Gull</p></title>{parts}</body></FictionBook>")
    assert titles(book) == ["Before, The Weir", "Before, The Mill", "After, The Gull"]
    assert "Water.\n\nA Song\n\nOh gull\noh weir\n\n" in book.text


def test_an_rtf_is_read_in_the_code_pages_of_its_fonts() -> None:
    data = (
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f0 caf\'e9 "
        rb"{\f1 \'cc\'e8\'f0}"
        rb" \u8212\'97 \u-10179?\u-8704? {\v hidden}\{x\}\~y\par}"
    )
    assert read("gull.rtf", data).text == "caf\u00e9 \u041c\u0438\u0440 \u2014 \U0001f600 {x}\u00a0y"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (rb"{\rtf1\mac caf\'8e \'d2oui\'d3\par}", "caf\u00e9 \u201coui\u201d"),
        (rb"{\rtf1\pc caf\'82\par}", "caf\u00e9"),
        (rb"{\rtf1\ansi One {\deleted gone }two \deleted gone \deleted0 three\par}", "One two three"),
        (rb"{\rtf1\ansi A\nestcell B\nestcell\nestrow C\column D\par}", "A B\n\nC\nD"),
    ],
)
def test_an_rtf_is_read_as_its_program_shows_it(written: bytes, text: str) -> None:
    assert read("gull.rtf", written).text == text


def test_the_title_of_an_odt_may_be_set_in_a_style_made_of_that_of_titles() -> None:
    style = '<style:style style:name="P3" style:parent-style-name="Title"/>'
    content = (
        '<o:d xmlns:o="o" xmlns:text="t" xmlns:style="s"><o:automatic-styles>'
        f"{style}</o:automatic-styles><o:body><text:p>For Anse.</text:p>"
        '<text:p text:style-name="P3">The Gull</text:p></o:body></o:d>'
    )
    data = zipped({"content.xml": content}, ("mimetype", "application/vnd.oasis.opendocument.text"))
    assert read("weir.odt", data).title == "The Gull"


def test_markdown_is_read_without_its_marks_and_its_front_matter_tells_title_and_author() -> None:
    text = (
        "---\ntitle: 'The Gull'\ntags: [a]\nauthor: Anse Vell\n---\n\n"
        "The **gull** sat on [the weir](http://x),\n"
        "`still`.\n\n> It watched.\n\n* one\n* two\n\n"
        "![a picture](x.png)\n\n| a | b |\n|---|---|\n| c | d |\n"
    )
    book = read("gull.md", text)
    assert book.text == "The gull sat on the weir, still.\n\nIt watched.\n\none\n\ntwo\n\na b\n\nc d"
    assert (book.title, book.author) == ("The Gull", "Anse Vell")


@pytest.mark.parametrize(
    "head",
    [
        '---\ntitle: The Gull # of the weir\nauthor: ["Anse Vell", Wilm Orr]\n---\n',
        "---\ntitle: >-\n  The\n  Gull\nauthor:\n  - name: Anse Vell\n    affiliation: The Mill\n"
        "  - affiliation: The Weir\n    name: 'Wilm Orr'\n---\n",
        '---\ntitle: |\n  The Gull\nauthor: # both\n- "Anse Vell"\n- Wilm Orr # miller\nlang: en\n---\n',
        "% The\n  Gull\n% Anse Vell; Wilm Orr\n% 1850\n",
        "% The Gull\n% Anse Vell\n  Wilm Orr\n",
    ],
)
def test_title_and_authors_of_markdown_are_stated_in_many_ways(head: str) -> None:
    book = read("gull.md", f"{head}\n# Of a Gull\n\nIt watched.\n")
    assert (book.title, book.author) == ("The Gull", "Anse Vell, Wilm Orr")
    assert book.text == "Of a Gull\n\nIt watched."


def test_pandoc_s_names_and_styles_are_no_text() -> None:
    chapter = "## Chapter {0} {{#c{0} .unnumbered}}\n\n::: {{.motto lang=fr}}\nWet.\n:::\n\nIt {{flew}}.\n\n"
    text = "The Gull {-}\n========\n\n" + "".join(map(chapter.format, (1, 2)))
    book = read("gull.md", text)
    assert book.text == "The Gull" + "".join(f"\n\nChapter {n}\n\nWet.\n\nIt {{flew}}." for n in (1, 2))
    assert [chapter.title for chapter in book.chapters] == ["Chapter 1", "Chapter 2"]


def test_notes_strikes_and_superscripts_of_markdown_leave_no_marks() -> None:
    text = (
        "---\nauthor:\n- Anse Vell\n- 'Wilm Orr'\ntitle: The Gull\n---\n"
        "On the 3^rd^ day,[^one] ~~four~~ five sacks.\n\n[^one]: A *wet* day.\n"
    )
    book = read("gull.md", text)
    assert book.text == "On the 3rd day, four five sacks.\n\nA wet day."
    assert (book.title, book.author) == ("The Gull", "Anse Vell, Wilm Orr")


def test_several_authors_are_told_apart_by_commas() -> None:
    assert stated_author("ANSE VELL; Wilm Orr;") == "Anse Vell, Wilm Orr"
    assert stated_author("Vell, Anse; Orr, Wilm") == "Vell, Anse; Orr, Wilm"


def test_titles_and_names_in_capitals_are_written_as_titles_and_names_are() -> None:
    assert in_normal_case("THE WEIGHER OF SANDRY QUAY") == "The Weigher of Sandry Quay"
    assert in_normal_case("HENRY VIII: A PLAY") == "Henry VIII: A Play"
    assert in_normal_case("R. MARCHBANKS") == "R. Marchbanks"
    assert in_normal_case("It and DNA") == "It and DNA"
    assert in_normal_case("R. M.") == "R. M."
    assert in_normal_case("THE CIVIL GULL: AN ILL DUTY, XIV") == "The Civil Gull: An Ill Duty, XIV"
    assert in_normal_case("D'ORR AND O\u2019VELL DON'T") == "D'Orr and O\u2019Vell Don't"


def test_what_programs_fill_in_is_neither_title_nor_author() -> None:
    assert [
        stated_title(one) for one in ("Microsoft Word - gull.doc", "Untitled", "gull.indd", " ", None)
    ] == [None] * 5
    assert [stated_author(one) for one in ("python-docx", "Administrator", "", None)] == [None] * 4


@pytest.mark.parametrize("number", range(5))
def test_a_document_that_breaks_off_is_refused_with_what_is_wrong(number: int) -> None:
    data = docx_by_word(twelve()[0])
    with pytest.raises(SourceError, match=r"cannot be read as a DOCX document|no book|binary"):
        read("gull.docx", data[: len(data) * number // 5 + 10])


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (
            "gull.odt",
            zipped({}, ("mimetype", "application/vnd.oasis.opendocument.text")),
            "content.xml is missing",
        ),
        (
            "gull.ods",
            zipped({}, ("mimetype", "application/vnd.oasis.opendocument.spreadsheet")),
            "holds no text",
        ),
        ("gull.xlsx", zipped({"[Content_Types].xml": "", "xl/workbook.xml": ""}), "holds no text"),
        ("gull.docx", zipped({"[Content_Types].xml": "", "word/document.xml": ""}), "is no XML"),
        ("gull.docx", b"\xd0\xcf\x11\xe0gull", "with a password"),
        ("gull.docx", b"gull", "named DOCX but holds text"),
        ("gull.fb2", b"gull", "cannot be read as an FB2 book"),
        ("gull.fb2.zip", zipped({"gull.fb2": "<gull/>"}), "cannot be read as an FB2 book"),
        ("gull.rtf", rb"{\rtf1 {\*\x gull}}", "no text"),
        ("gull.kfx", b"CONT\2\0gull", r"Kindle book \(KFX\); wanted .*: convert it to EPUB, with Calibre"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_is_wrong(name: str, data: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said) as caught:
        read(name, data)
    assert name in str(caught.value)


def test_an_odt_with_a_password_is_refused() -> None:
    data = BytesIO(odt(twelve()[0]))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("META-INF/manifest.xml", "<m:manifest xmlns:m='m'><m:encryption-data/></m:manifest>")
    with pytest.raises(SourceError, match="password"):
        read("gull.odt", data.getvalue())


@pytest.mark.parametrize("format", ["docx of the web", "odt", "fb2 in an archive"])
def test_documents_that_unpack_beyond_the_limit_are_refused(
    format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexing.formats.archive._LARGEST_MEMBER", 2**14)
    name, write = FILES[format]
    with pytest.raises(SourceError, match="unpacks to more than"):
        read(name, write(sample()))


def test_entities_of_xml_are_neither_expanded_nor_fetched() -> None:
    entities = '<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY a "gullgull">]>'
    text = fb2(twelve()[0]).decode().replace("?>\n", f"?>{entities}", 1).replace("<p>", "<p>&f;&a;", 1)
    assert "gullgull" not in read("gull.fb2", text).text
    assert "root:" not in read("gull.fb2", text).text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1251"])
def test_characters_of_xml_may_have_the_names_that_html_gives_them(encoding: str) -> None:
    head = "<description><title-info><book-title>Anse &amp; Osk</book-title></title-info></description>"
    named = "Osk&nbsp;R&eacute;my &mdash; " if encoding != "utf-16" else ""
    text = f"{named}&lt;gull&gt; <![CDATA[& <weir> &amp;]]>"
    body = f"<FictionBook>{head}<body><p>{text}</p></body></FictionBook>"
    written = f'<?xml version="1.0" encoding="{encoding}"?>{body}'
    book = read("gull.fb2", written.encode(encoding))
    assert book.title == "Anse & Osk"
    assert book.text == ("Osk\u00a0R\u00e9my \u2014 " if named else "") + "<gull> & <weir> &amp;"


@pytest.mark.parametrize("fault", ["& mill", "&gull;", "\x0c", "</b>", "&#0;"])
def test_behind_a_fault_of_xml_no_character_is_lost(fault: str) -> None:
    body = f"<body><p>Weir {fault}.</p><p>The &lt;gull&gt; &amp; Osk.</p></body>"
    first, second = read("gull.fb2", f"<FictionBook>{body}</FictionBook>").text.split("\n\n")
    assert second == "The <gull> & Osk."
    assert first.startswith("Weir & mill" if fault == "& mill" else "Weir")


def test_groups_of_an_rtf_may_stay_open() -> None:
    data = rtf(twelve()[0])
    assert (
        read("gull.rtf", data[:-1]).text
        == read("gull.rtf", data).text
        == read("gull.rtf", data + b"}" * 9).text
    )
