"""EPUB files, made here: in order, with their chapters, and none of a bomb's weight."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from functools import partial

import pytest

from indexing.book import Book
from indexing.errors import SourceError
from indexing.formats.epub import read_epub
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/package.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
PROSE = " ".join(["The gull sat on the weir and watched the miller count his sacks."] * 5)


def page(body: str) -> str:
    return f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{body}</body></html>'


def package(
    spine: list[str], extra: str = "", toc: str = "", attributes: dict[str, str] | None = None
) -> str:
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>' for name in spine
    )
    references = "".join(f'<itemref idref="{name}" {(attributes or {}).get(name, "")}/>' for name in spine)
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Miller\'s Gull</dc:title></metadata>'
        f"<manifest>{items}{extra}</manifest><spine {toc}>{references}</spine></package>"
    )


def pack(files: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", CONTAINER)
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def read(data: bytes, name: str = "gull.epub", id: str = "gull") -> Book:
    return read_book(Source(name, id, partial(Fetched, data)))


def titles(book: Book) -> list[str]:
    return [chapter.title for chapter in book.chapters]


def test_documents_are_read_in_the_order_of_the_spine_and_not_of_the_archive() -> None:
    files = {
        "OPS/text/b.xhtml": page("<p>Second.</p>"),
        "OPS/text/a.xhtml": page("<p>First.</p>"),
        "OPS/text/notes.xhtml": page("<p>Left out.</p>"),
        "OPS/package.opf": package(["a", "notes", "b"], attributes={"notes": 'linear="no"'}),
    }
    book = read(pack(files))
    assert (book.text, book.title) == ("First.\n\nSecond.", "The Miller's Gull")


def test_authors_are_the_creators_that_are_said_to_be_nothing_else() -> None:
    creators = (
        "<dc:creator>ANSE  VELL</dc:creator><dc:creator opf:role='ill'>Ib Sun</dc:creator>"
        "<dc:creator id='a'>Wilm Orr</dc:creator><meta refines='#a' property='role'>aut</meta>"
        "<dc:creator id='t'>Osk Tam</dc:creator><meta refines='#t' property='role'>trl</meta>"
    )
    opf = package(["a"]).replace("</metadata>", f"{creators}</metadata>")
    opf = opf.replace("<package ", "<package xmlns:opf='o' ")
    book = read(pack({"OPS/text/a.xhtml": page("<p>First.</p>"), "OPS/package.opf": opf}))
    assert book.author == "Anse Vell, Wilm Orr"


def test_an_epub_is_known_whatever_its_name() -> None:
    data = pack({"OPS/text/a.xhtml": page("<p>First.</p>"), "OPS/package.opf": package(["a"])})
    assert read(data, "gull.content").text == read(data, "gull.txt").text == "First."


NAV = page(
    '<nav epub:type="toc" xmlns:epub="http://www.idpf.org/2007/ops">'
    '<ol><li><a href="text/a.xhtml">Before the Flood</a><ol>'
    '<li><a href="text/a.xhtml#c1">The Weir</a></li><li><a href="text/a.xhtml#c2">The Mill</a></li></ol></li>'
    '<li><a href="text/b.xhtml">After the Flood</a><ol>'
    '<li><a href="text/b.xhtml#c3">The  Gull</a></li></ol></li></ol></nav>'
)
NCX = (
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>'
    '<navPoint><navLabel><text>Before the Flood</text></navLabel><content src="text/a.xhtml"/>'
    '<navPoint><navLabel><text>The Weir</text></navLabel><content src="text/a.xhtml#c1"/></navPoint>'
    '<navPoint><navLabel><text>The Mill</text></navLabel><content src="text/a.xhtml#c2"/></navPoint>'
    "</navPoint>"
    '<navPoint><navLabel><text>After the Flood</text></navLabel><content src="text/b.xhtml"/>'
    '<navPoint><navLabel><text>The Gull</text></navLabel><content src="text/b.xhtml#c3"/></navPoint>'
    "</navPoint></navMap></ncx>"
)


def test_parts_that_a_table_of_contents_names_without_a_link_hold_their_chapters() -> None:
    linked = '<a href="text/{0}.xhtml">{1}</a>'
    nav = NAV.replace(linked.format("a", "Before the Flood"), "<span>Before the Flood</span>")
    nav = nav.replace(linked.format("b", "After the Flood"), "<span>After  the Flood</span>")
    item = '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    first = f"<h2 id='c1'>The Weir</h2><p>{PROSE}</p><h2 id='c2'>The Mill</h2><p>{PROSE}</p>"
    files = {
        "OPS/nav.xhtml": nav,
        "OPS/text/a.xhtml": page(first),
        "OPS/text/b.xhtml": page(f"<h2 id='c3'>The Gull</h2><p>{PROSE}</p>"),
        "OPS/package.opf": package(["a", "b"], item),
    }
    assert titles(read(pack(files))) == [
        "Before the Flood, The Weir",
        "Before the Flood, The Mill",
        "After the Flood, The Gull",
    ]


def test_headings_that_are_pictures_are_read_by_what_stands_for_them() -> None:
    body = '<h1><img src="1.png" alt="{}"/></h1><p>' + PROSE + "</p>"
    names = ("CHAPTER ONE: The Weir", "An ornament", "Chapter Two")
    files = {f"OPS/text/{key}.xhtml": page(body.format(name)) for key, name in zip("abc", names, strict=True)}
    book = read(pack({**files, "OPS/package.opf": package(["a", "b", "c"])}))
    assert titles(book) == ["CHAPTER ONE: The Weir", "Chapter Two"]
    assert "ornament" not in book.text


@pytest.mark.parametrize(
    ("path", "content", "extra", "toc"),
    [
        (
            "OPS/nav.xhtml",
            NAV,
            '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>',
            "",
        ),
        (
            "OPS/toc.ncx",
            NCX,
            '<item id="x" href="toc.ncx" media-type="application/x-dtbncx+xml"/>',
            'toc="x"',
        ),
    ],
)
def test_the_table_of_contents_names_the_chapters(path: str, content: str, extra: str, toc: str) -> None:
    files = {
        path: content,
        "OPS/text/a.xhtml": page(
            f'<p>Part the first</p><p id="c1">{PROSE}</p><p>More.</p><p id="c2">{PROSE}</p>'
        ),
        "OPS/text/b.xhtml": page(f'<div>Part the second</div><div id="c3"><p>{PROSE}</p></div>'),
        "OPS/package.opf": package(["a", "b"], extra, toc),
    }
    book = read(pack(files))
    assert titles(book) == [
        "Before the Flood, The Weir",
        "Before the Flood, The Mill",
        "After the Flood, The Gull",
    ]
    assert [book.text[chapter.start :].split("\n")[0] for chapter in book.chapters] == [
        "Part the first",
        PROSE,
        "Part the second",
    ]


PARTS = (("Part One: Water", "The Weir", "The Flood"), ("Part Two: Fire", "The Spark", "The Ash"))
NUMBERED_PARTS = (("PART I", "Chapter 1", "Chapter 2"), ("PART II", "Chapter 3", "Chapter 4"))


@pytest.mark.parametrize("tag", ["h2", "p"])
@pytest.mark.parametrize("parts", [PARTS, NUMBERED_PARTS])
def test_a_part_and_its_first_chapter_may_begin_at_one_place(
    parts: tuple[tuple[str, str, str], ...], tag: str
) -> None:
    files, entries = {}, ""
    for number, (part, first, second) in enumerate(parts):
        one, other = f"text/a{number}.xhtml", f"text/b{number}.xhtml"
        files[f"OPS/{one}"] = page(f"<{tag}>{part}</{tag}><{tag}>{first}</{tag}><p>{PROSE}</p>")
        files[f"OPS/{other}"] = page(f"<{tag}>{second}</{tag}><p>{PROSE}</p>")
        entries += (
            f'<li><a href="{one}">{part}</a><ol><li><a href="{one}">{first}</a></li>'
            f'<li><a href="{other}">{second}</a></li></ol></li>'
        )
    files["OPS/nav.xhtml"] = page(f'<nav type="toc"><ol>{entries}</ol></nav>')
    nav = '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    files["OPS/package.opf"] = package(["a0", "b0", "a1", "b1"], nav)
    book = read(pack(files))
    assert titles(book) == [f"{part}, {chapter}" for part, *chapters in parts for chapter in chapters]
    begins = [book.text[chapter.start :].split("\n")[0] for chapter in book.chapters]
    assert begins == [name for part, _, second in parts for name in (part, second)]


def with_headings(documents: Mapping[str, str], contents: Mapping[str, str]) -> Book:
    """A book of these documents, whose table of contents names some of them."""
    files = {f"OPS/text/{name}.xhtml": page(body) for name, body in documents.items()}
    entries = "".join(f'<li><a href="text/{name}.xhtml">{label}</a></li>' for name, label in contents.items())
    files["OPS/nav.xhtml"] = page(f'<nav type="toc"><ol>{entries}</ol></nav>')
    nav = '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    return read(pack({**files, "OPS/package.opf": package([*documents], nav)}))


def test_what_a_table_of_contents_lists_at_one_place_stays_in_order() -> None:
    story = f"<h1>PART {{0}}</h1><h2>Chapter {{0}}</h2><h3>Wet</h3><p>{PROSE}</p><h3>Dry</h3><p>{PROSE}</p>"
    files = {f"OPS/text/{name}.xhtml": page(story.format(n)) for n, name in enumerate("ab", 1)}
    entries = ""
    for number, name in enumerate("ab", 1):
        labels = (f"Part {number}", f"Chapter {number}", "Weir", "Dry", "Wet", "Mill")
        here = "".join(f'<ol><li><a href="text/{name}.xhtml">{label}</a>' for label in labels)
        entries += here.removeprefix("<ol>") + "</li></ol>" * 5 + "</li>"
    files["OPS/nav.xhtml"] = page(f'<nav type="toc"><ol>{entries}</ol></nav>')
    nav = '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    book = read(pack({**files, "OPS/package.opf": package([*"ab"], nav)}))
    assert titles(book) == ["Part 1, Chapter 1: Weir", "Part 2, Chapter 2: Weir"]


def test_a_part_that_the_table_of_contents_lists_within_its_first_chapter_is_read() -> None:
    files = {f"OPS/text/{name}.xhtml": page(f"<p>{name}</p><p>{PROSE}</p>") for name in "ab"}
    entries = "".join(
        f'<li><a href="text/{name}.xhtml">Chapter {number}</a>'
        f'<ol><li><a href="text/{name}.xhtml">Part {number}</a></li></ol></li>'
        for number, name in enumerate("ab", 1)
    )
    files["OPS/nav.xhtml"] = page(f'<nav type="toc"><ol>{entries}</ol></nav>')
    nav = '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    book = read(pack({**files, "OPS/package.opf": package([*"ab"], nav)}))
    assert [(one.title, book.text[one.start]) for one in book.chapters] == [("Part 1", "a"), ("Part 2", "b")]


@pytest.mark.parametrize("label", ["Chapter {}", "{}"])
def test_chapters_that_the_table_of_contents_leaves_out_are_told_by_their_headings(label: str) -> None:
    chapters = {f"c{n}": f"<h2>{label.format(n)}</h2><p>{PROSE}</p>" for n in range(1, 8)}
    numbered = [label.format(n) for n in range(1, 8)]
    behind = {"thanks": f"<h1>Acknowledgements</h1><p>{PROSE}</p>"}
    book = with_headings({**chapters, **behind}, {"c1": "Begin Reading", "thanks": "Acknowledgements"})
    assert titles(book) == [*numbered, "Acknowledgements"]
    first, *rest = chapters
    parts = {"p1": "<h1>Part One</h1>", first: chapters[first], "p2": "<h1>Part Two</h1>"}
    book = with_headings(
        {**parts, **{name: chapters[name] for name in rest}}, {"p1": "Part I", "p2": "Part II"}
    )
    assert titles(book) == [f"Part One, {numbered[0]}", *(f"Part Two, {name}" for name in numbered[1:])]


def test_sections_of_what_the_table_of_contents_lists_are_no_chapters() -> None:
    names = {"a": "The Weir", "b": "The Mill", "c": "The Gull"}
    sections = "".join(f"<h3>{n}</h3><p>{PROSE}</p>" for n in range(1, 4))
    everywhere = {name: f"<h2>{label}</h2>{sections * 2}" for name, label in names.items()}
    in_one = {name: f"<p>{label}</p>{sections if name == 'b' else PROSE}" for name, label in names.items()}
    for documents in (everywhere, in_one):
        assert titles(with_headings(documents, names)) == [*names.values()]


@pytest.mark.parametrize(
    "kind", ["text/x-oeb1-document", "application/xml", "text/xml", "application/xhtml+xml; charset=utf-8"]
)
def test_documents_are_known_by_their_names_where_their_type_is_an_old_or_a_wrong_one(kind: str) -> None:
    opf = package(["a", "b"], '<item id="c" href="c.css" media-type="text/css"/>')
    opf = opf.replace("application/xhtml+xml", kind).replace("</spine>", '<itemref idref="c"/></spine>')
    files = {f"OPS/text/{name}.xhtml": page(f"<p>Text {name}.</p>") for name in "ab"}
    book = read(pack({**files, "OPS/package.opf": opf, "OPS/c.css": "p {}"}))
    assert book.text == "Text a.\n\nText b."


def test_without_a_table_of_contents_headings_are_chapters() -> None:
    files = {
        "OPS/text/a.xhtml": page(f"<h2>The Weir</h2><p>{PROSE}</p>"),
        "OPS/text/b.xhtml": page(f"<h2>The Mill</h2><p>{PROSE}</p>"),
        "OPS/package.opf": package(["a", "b"]),
    }
    assert titles(read(pack(files))) == ["The Weir", "The Mill"]


def test_a_document_that_unpacks_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = page(f"<p>{'gull ' * 1_000_000}</p>")
    data = pack({"OPS/text/a.xhtml": bomb, "OPS/package.opf": package(["a"])})
    assert len(data) < len(bomb) // 100
    monkeypatch.setattr("indexing.formats.archive._LARGEST_MEMBER", 2**20)
    with pytest.raises(SourceError, match="unpacks to more than 1 MB"):
        read(data)


def test_documents_that_together_unpack_beyond_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"p{number}" for number in range(9)]
    files = {f"OPS/text/{name}.xhtml": page(f"<p>{'gull ' * 50_000}</p>") for name in names}
    monkeypatch.setattr("indexing.formats.archive._LARGEST_BOOK", 2**20)
    with pytest.raises(SourceError, match="unpacks to more"):
        read(pack({**files, "OPS/package.opf": package(names)}))


def test_an_archive_of_too_many_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexing.formats.archive._MOST_MEMBERS", 3)
    with pytest.raises(SourceError, match="more than the 3 allowed"):
        read(pack({f"{number}.txt": "" for number in range(4)}))


ENCRYPTION = (
    '<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:CipherReference URI="{}"/></encryption>'
)


def test_protected_books_are_refused_and_protected_fonts_do_not_matter() -> None:
    files: dict[str, str | bytes] = {
        "OPS/text/a.xhtml": page("<p>First.</p>"),
        "OPS/package.opf": package(["a"]),
    }
    with pytest.raises(SourceError, match="DRM"):
        read(pack({**files, "META-INF/encryption.xml": ENCRYPTION.format("OPS/text/a.xhtml")}))
    assert (
        read(pack({**files, "META-INF/encryption.xml": ENCRYPTION.format("OPS/font.otf")})).text == "First."
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "package.opf is missing"),
        ({"OPS/package.opf": package(["a"])}, "a.xhtml is missing"),
        ({"OPS/package.opf": package([])}, "no text"),
        ({"OPS/package.opf": ""}, "is no XML"),
    ],
)
def test_a_damaged_epub_is_refused_with_what_is_missing(files: dict[str, str | bytes], said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read(pack(files))


def test_a_truncated_archive_is_refused() -> None:
    data = pack({"OPS/text/a.xhtml": page("<p>First.</p>"), "OPS/package.opf": package(["a"])})
    with pytest.raises(SourceError, match="zip archive cannot be read"):
        read(data[: len(data) // 2])


def test_a_damaged_member_is_refused() -> None:
    data = bytearray(
        pack({"OPS/text/a.xhtml": page(f"<p>{PROSE * 9}</p>"), "OPS/package.opf": package(["a"])})
    )
    at = data.index(b"OPS/text/a.xhtml") + 40
    data[at : at + 20] = b"\xff" * 20
    with pytest.raises(SourceError, match="cannot be unpacked"):
        read_epub(bytes(data), "gull.epub")


def test_an_archive_of_an_unknown_version_is_refused() -> None:
    data = bytearray(pack({"OPS/text/a.xhtml": page("<p>First.</p>"), "OPS/package.opf": package(["a"])}))
    data[data.index(b"PK\1\2") + 6] = 255  # the version that unpacking the first member needs
    with pytest.raises(SourceError, match="zip archive cannot be read"):
        read(bytes(data))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_is_damaged_is_refused_however_it_is_packed(compression: int) -> None:
    data = bytearray(
        pack({"OPS/text/a.xhtml": page(f"<p>{PROSE}</p>"), "OPS/package.opf": package(["a"])}, compression)
    )
    at = data.index(b"OPS/text/a.xhtml") + 30
    data[at : at + 20] = b"\xff" * 20
    with pytest.raises(SourceError, match="cannot be unpacked"):
        read_epub(bytes(data), "gull.epub")


def test_an_element_whose_prefix_nothing_declares_is_passed_over() -> None:
    files = {"OPS/text/a.xhtml": page("<p>First.</p>"), "OPS/package.opf": package(["a"], "<x:y/>")}
    assert read(pack(files)).text == "First."


def test_printed_pages_are_told_by_their_marks_where_the_book_has_no_list_of_them() -> None:
    first = (
        '<div role="doc-pagebreak" aria-label="Page xi"/><p>The gull</p>'
        '<p>sat<span epub:type="pagebreak" title="1"/> here.</p>'
    )
    second = '<p><a class="pagenum" id="Page_2">[Pg 2]</a>The weir.</p>'
    files = {"OPS/text/a.xhtml": page(first), "OPS/text/b.xhtml": page(second)}
    book = read(pack({**files, "OPS/package.opf": package(["a", "b"])}))
    assert book.text == "The gull\n\nsat here.\n\nThe weir."
    assert [(one.label, book.text[one.start :].split()[0]) for one in book.pages] == [
        ("xi", "The"),
        ("1", "here."),
        ("2", "The"),
    ]
    assert read(pack({"OPS/text/b.xhtml": page(second * 2), "OPS/package.opf": package(["b"])})).pages == ()


NAV_PAGES = (
    '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>'
    '<nav epub:type="page-list"><ol><li><a href="text/a.xhtml#p9">9</a></li><li><a href="text/a.xhtml#p10">10'
    '</a></li><li><a href="text/b.xhtml">11</a></li><li><a href="text/none.xhtml">12</a></li></ol></nav>'
    "</body></html>"
)
NCX_PAGES = (
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap/><pageList>'
    + "".join(
        f'<pageTarget><navLabel><text>{label}</text></navLabel><content src="text/{target}"/></pageTarget>'
        for label, target in (("9", "a.xhtml#p9"), ("10", "a.xhtml#p10"), ("11", "b.xhtml"))
    )
    + "</pageList></ncx>"
)


@pytest.mark.parametrize(
    ("path", "content", "extra", "toc"),
    [
        (
            "OPS/nav.xhtml",
            NAV_PAGES,
            '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>',
            "",
        ),
        (
            "OPS/toc.ncx",
            NCX_PAGES,
            '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>',
            'toc="n"',
        ),
    ],
)
def test_the_list_of_pages_gives_each_page_its_exact_place(
    path: str, content: str, extra: str, toc: str
) -> None:
    turned = '<p id="p9">The gull&#173; sat <em>on  the</em> weir <span id="p10"/>and saw the miller.</p>'
    files = {
        "OPS/text/a.xhtml": page(f"<h1>The Gull</h1>{turned}"),
        "OPS/text/b.xhtml": page("<p>The mill stood.</p>"),
        "OPS/package.opf": package(["a", "b"], extra, toc),
        path: content,
    }
    book = read(pack(files))
    assert [(one.label, book.text[one.start :].split()[:2]) for one in book.pages] == [
        ("9", ["The", "gull"]),
        ("10", ["and", "saw"]),
        ("11", ["The", "mill"]),
    ]
