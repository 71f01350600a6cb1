"""What stands around a story: told from it by kind and by title, readable, and not searched."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_epub import PROSE, pack, package, page

from answering.profiles import profile
from answering.recaps import recap
from indexing.book import Book, LeftOut
from indexing.build import BuildSettings, build_book
from indexing.characters import find_names, names_until
from indexing.errors import UnknownCharacter
from indexing.formats.apparatus import is_apparatus, left_out
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source
from indexing.store import IndexStore
from retrieval import open_retriever
from service.book_schemas import BookDetails


def epub(reviews: str = "<h1>Praise for the Gull</h1><p>A masterly herring, says Anse Vell.</p>") -> bytes:
    """A story with what publishers put around it: four documents told by four means."""
    story = "".join(f"<h1>Chapter {number}</h1><p>{PROSE}</p>" for number in (1, 2, 3))
    files = {
        "OPS/text/rights.xhtml": page("<p>No herring of this book may be copied.</p>").replace(
            "<body", '<body epub:type="copyright-page"'
        ),
        "OPS/text/praise.xhtml": page(reviews),
        "OPS/text/story.xhtml": page(f"<h1>Prologue</h1><p>The herring came late.</p>{story}"),
        "OPS/text/list.xhtml": page("<p>Herring, 3. Gull, 7.</p>"),
        "OPS/text/next.xhtml": page("<p>The second herring swam in from Vell.</p>"),
        "OPS/nav.xhtml": page(
            '<nav epub:type="toc"><ol><li><a href="text/story.xhtml">The Gull</a></li>'
            '<li><a href="text/next.xhtml">An Excerpt from The Herring</a></li></ol></nav>'
            '<nav epub:type="landmarks"><ol><li><a epub:type="index" href="text/list.xhtml">I</a></li></ol>'
            "</nav>"
        ).replace("<html ", '<html xmlns:epub="http://www.idpf.org/2007/ops" '),
        "OPS/package.opf": package(
            ["rights", "praise", "story", "list", "next"],
            '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>',
        ).replace("</metadata>", "<dc:language>en_GB</dc:language></metadata>"),
    }
    return pack(files)


def read(data: bytes, everything: bool = False) -> Book:
    return read_book(Source("gull.epub", "gull", lambda: Fetched(data)), everything=everything)


def test_what_is_not_the_story_is_told_by_kind_landmark_entry_and_heading() -> None:
    book = read(epub())
    aside = [book.text[one.start : one.end] for one in book.left_out]
    assert aside == [
        "No herring of this book may be copied.\n\nPraise for the Gull\n\n"
        "A masterly herring, says Anse Vell.",
        "Herring, 3. Gull, 7.\n\nThe second herring swam in from Vell.",
    ]
    assert book.language == "en-GB"
    assert read(epub(), everything=True).left_out == ()


def test_it_can_be_read_but_is_not_searched(tmp_path: Path, tiny_bert: Path) -> None:
    settings = BuildSettings(words=20, overlap=5, encoder=str(tiny_bert))
    store = IndexStore(tmp_path)
    book = read(epub())
    build_book(book, settings, store)
    index = store.open("gull")
    assert index.book == book
    covered = {i for one in index.passages for i in range(one.start, one.end)}
    aside = {i for one in book.left_out for i in range(one.start, one.end)}
    assert covered.isdisjoint(aside)
    assert {i for i, c in enumerate(book.text) if not c.isspace()} <= covered | aside
    assert [one.number for one in index.passages] == list(range(len(index.passages)))
    [hits] = open_retriever("bm25", index).search(["Where is the herring?"], 3)
    assert "herring came late" in index.text(hits[0].passage.start, hits[0].passage.end)
    assert [(one.start, one.end) for one in BookDetails.of(index.manifest).left_out] == [
        (one.start, one.end) for one in book.left_out
    ]
    whole = build_book(read(epub(), everything=True), settings, store)
    assert whole.status == "built"
    assert whole.manifest is not None
    assert whole.manifest.counts.passages > len(index.passages)


STORIES = ("Prologue", "Preface", "Epilogue", "Chapter 1", "The Index of Ships", "A Peek into the Weir")
NEITHER = ("Praise", "", "Also the Gull", "The Contents of the Box", "Books", "Cover Me", "About the Gull")
AROUND = ("Copyright", "PRAISE FOR THE GULL", "Also by Anse Vell", "Table of Contents", "About the Author")
BEHIND = ("Acknowledgments.", "An Excerpt from The Herring", "Excerpt", "The Full Project Gutenberg License")


def test_a_document_in_which_the_story_begins_is_searched_whatever_else_is_in_it() -> None:
    story = f"<h1 id='toc'>Contents</h1><p>I. The Weir</p><h1 id='c1'>I. The Weir</h1><p>{PROSE}</p>"
    long = f"<h1>II. The Mill</h1><p>{PROSE} {PROSE}</p>"
    places = ("a.xhtml#toc", "b.xhtml")
    guide = "".join(f'<reference type="toc" href="text/{place}"/>' for place in places)
    files = {
        "OPS/text/a.xhtml": page(story),
        "OPS/text/b.xhtml": page("<p>The Weir, the Mill.</p>"),
        "OPS/text/c.xhtml": page(long),
        "OPS/package.opf": package(["a", "b", "c"]).replace(
            "</package>", f"<guide>{guide}</guide></package>"
        ),
    }
    book = read(pack(files))
    assert [book.text[one.start : one.end] for one in book.left_out] == ["The Weir, the Mill."]


def test_nobody_is_told_of_by_it_and_nothing_recapped(tmp_path: Path, tiny_bert: Path) -> None:
    reviews = "<h1>Praise for the Gull</h1><p>Wilm Orr has never read a better herring, he told us.</p>"
    store = IndexStore(tmp_path)
    book = read(epub(reviews))
    build_book(book, BuildSettings(encoder=str(tiny_bert)), store)
    index = store.open("gull")
    names = names_until(index.book, find_names(index.book, tmp_path / "cache"), None)
    assert all(not one.start <= name.start < one.end for name in names for one in book.left_out)
    with pytest.raises(UnknownCharacter):
        profile(index, names, "Wilm Orr", None)
    told = [one.text for part in recap(index, None, 10) for one in part.sentences]
    assert "The gull sat on the weir and watched the miller count his sacks." in told
    assert not any("Orr" in one or "swam" in one for one in told)


@pytest.mark.parametrize("title", [*AROUND, *BEHIND])
def test_these_titles_are_not_of_a_story(title: str) -> None:
    assert is_apparatus([], title)


@pytest.mark.parametrize("title", [*STORIES, *NEITHER, None])
def test_these_may_be(title: str | None) -> None:
    assert not is_apparatus(["bodymatter", "chapter", "prologue"], title)


def test_a_book_that_is_mostly_called_so_is_left_whole() -> None:
    assert left_out([LeftOut(0, 60)], 100) == ()
    assert left_out([LeftOut(20, 30), LeftOut(0, 18)], 100) == (LeftOut(0, 30),)
    assert left_out([], 0) == ()
