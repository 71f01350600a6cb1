"""What stands around a story: told from it by kind and by title, readable, and not searched."""

from __future__ import annotations

from pathlib import Path

import pytest
from manuscripts import FILES, Manuscript
from test_epub import PROSE, pack, package, page

from answering.profiles import profile
from answering.quotes import story_text
from answering.recaps import recap
from indexing.book import Book, LeftOut
from indexing.build import BuildSettings, build_book
from indexing.characters import named
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
    assert [(one.start, one.end) for one in BookDetails.of_all(index).left_out] == [
        (one.start, one.end) for one in book.left_out
    ]
    whole = build_book(read(epub(), everything=True), settings, store)
    assert whole.status == "built"
    assert whole.manifest is not None
    assert whole.manifest.counts.passages > len(index.passages)


LISTED = "THE GULL\n\n\n\n  CONTENTS\n\n  I. The Weir\n  II. The Mill\n  III. Wilm Orr Speaks\n\n\n"
TOLD = "\n\n".join(
    f"CHAPTER {title}\n\n{PROSE}" for title in ("I. The Weir", "II. The Mill", "III. Wilm Orr Speaks")
)


def plain(text: str, everything: bool = False) -> Book:
    return read_book(Source("gull.txt", "gull", lambda: Fetched(text.encode())), everything=everything)


@pytest.mark.parametrize(
    "behind", ["", "LIST OF CHARACTERS\n\nWILM ORR, a miller\n\n\n", "PREFACE\n\nOf gulls.\n\n\n"]
)
def test_of_a_plain_text_title_page_and_contents_are_not_searched(behind: str) -> None:
    book = plain(LISTED + behind + TOLD)
    aside = [book.text[one.start : one.end].strip() for one in book.left_out]
    assert aside == ["THE GULL\n\n\n\n  CONTENTS\n\n  I. The Weir\n  II. The Mill\n  III. Wilm Orr Speaks"]
    assert [one.title for one in book.chapters][-1] == "CHAPTER III: Wilm Orr Speaks"
    assert plain(LISTED + behind + TOLD, everything=True).left_out == ()


@pytest.mark.parametrize(
    ("page", "behind"),
    [
        ("THE GULL\n\nBy Wilma Orr", ""),
        ('THE GULL\n\nBy Wilma Orr\n\nAuthor of "The Weir"\n\nLONDON 1907', ""),
        ("THE GULL, BY WILMA ORR.\n\n\nTo my sister", ""),
        ("The Gull\nby Wilma Orr", f"{PROSE}\n{PROSE}\n\n"),  # signed, and more follows before the chapters
        ("THE GULL\n\nby\n\nWilma Orr", "PREFACE\n\nOf gulls.\n\n"),
        ("THE GULL\n\nA PLAY", "PERSONS OF THE PLAY\n\nWILM ORR, a miller\n\n"),
    ],
)
def test_a_title_page_is_not_searched_and_what_follows_it_is(page: str, behind: str) -> None:
    book = plain(f"{page}\n\n\n{behind}{TOLD}")
    [aside] = book.left_out
    assert book.text[aside.start : aside.end] == page
    assert plain(f"{page}\n\n\n{behind}{TOLD}", everything=True).left_out == ()


def test_of_a_text_without_chapters_what_stands_down_to_its_author_is_not_searched() -> None:
    book = plain(f"The Gull\n\nBy Wilma Orr\n\n\n{PROSE}")
    assert [book.text[one.start : one.end] for one in book.left_out] == ["The Gull\n\nBy Wilma Orr"]


@pytest.mark.parametrize(
    "begin",
    [
        "The miller was struck\nby Wilm Orr.\n\n",
        f"{PROSE}\n{PROSE}\nby Wilm Orr\n\n",
        f"{'Nobody had seen the gull since the spring tide, and nobody missed it much. ' * 3}\n\n{TOLD}",
        "word " * 200 + "\n\n\n" + TOLD,
        "\n".join(["a short line of a poem that goes on"] * 40) + "\n\n\n" + TOLD,
    ],
)
def test_a_text_that_begins_with_what_it_tells_is_searched_from_there(begin: str) -> None:
    assert plain(f"{begin}{PROSE}").left_out == ()


def test_what_is_told_before_a_list_of_contents_is_searched() -> None:
    wide = f"{PROSE}\n{PROSE}"
    told = plain(f"A note on gulls.\n\n{wide}\n\n{LISTED}{TOLD}")
    [aside] = told.left_out
    assert told.text[aside.start : aside.end].strip().startswith("CONTENTS")
    preface = plain(f"PREFACE\n\nOf gulls.\n\n\n{LISTED}{TOLD}")
    [aside] = preface.left_out
    assert "Of gulls" not in preface.text[aside.start : aside.end]


@pytest.mark.parametrize(
    "text",
    [
        TOLD,
        f"Contents\n\n{TOLD}",  # of which nothing is listed
        f"{TOLD}\n\nCONTENTS\n\nA net, a knife.",  # of a sack, behind all chapters
        f"CONTENTS\n\n{PROSE}",
        "CONTENTS\n\n" + "A line of verse that is no entry\n" * 400 + TOLD,
    ],
)
def test_what_only_stands_under_the_word_is_searched(text: str) -> None:
    assert plain(text).left_out == ()


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
    aside = [book.text[one.start : one.end] for one in book.left_out]
    assert aside == ["Contents\n\nI. The Weir", "The Weir, the Mill."]


def test_a_document_may_say_of_its_body_and_of_its_section_what_it_is() -> None:
    def typed(body: str, *sections: tuple[str, str]) -> str:
        inner = "".join(f"<section epub:type='{kind}'>{text}</section>" for kind, text in sections)
        return page(inner).replace("<body", f"<body epub:type='{body}'")

    story = f"<p>{PROSE} {PROSE}</p>"
    files = {
        "OPS/text/a.xhtml": typed(
            "bodymatter z3998:fiction", ("chapter", story), ("colophon", "<p>Wet.</p>")
        ),
        "OPS/text/b.xhtml": typed(
            "backmatter", ("copyright-page", "<h2>Uncopyright</h2><p>May be copied.</p>")
        ),
        "OPS/package.opf": package(["a", "b"]),
    }
    [aside] = (book := read(pack(files))).left_out
    assert book.text[aside.start : aside.end] == "Uncopyright\n\nMay be copied."


IMPRINT = (
    "<p>Copyright \xa9 2020 by Anse Vell</p><p>Published by Herring House in Sandry. All rights reserved.</p>"
    f"<p>{'The gull is invented. ' * 20}</p>"
)


def test_title_pages_and_imprints_that_nothing_names_are_not_searched() -> None:
    pages = {
        "half": "<p>THE MILLER\u2019S GULL</p>",
        "title": "<p>The Miller's Gull</p><p>A Novel of the Weir</p><p>Anse Vell</p><p>Herring House</p>",
        "imprint": IMPRINT,
        "motto": "<p>The gull of the miller's, all rights reserved for it.</p>",
        "one": f"<h1>Chapter 1</h1><p>{PROSE * 3}</p>",
        "two": f"<h1>Chapter 2</h1><p>{PROSE * 3}</p>",
        "again": "<p>The Miller's Gull</p><p>It flew.</p>",
        "three": f"<h1>Chapter 3</h1><p>{PROSE * 3}</p>",
        "behind": IMPRINT,
    }
    opf = package([*pages]).replace("</metadata>", "<dc:creator>Anse Vell</dc:creator></metadata>")
    files = {f"OPS/text/{name}.xhtml": page(body) for name, body in pages.items()}
    book = read(pack({**files, "OPS/package.opf": opf}))
    first, last = (book.text[one.start : one.end] for one in book.left_out)
    assert first.startswith("THE MILLER\u2019S GULL\n\nThe Miller's Gull\n\nA Novel")
    assert first.endswith("is invented.")
    assert last.startswith("Copyright")


@pytest.mark.parametrize("format", FILES)
def test_a_title_page_is_not_searched_in_any_format_and_tells_the_author(format: str) -> None:
    name, write = FILES[format]
    front = ("The Gull", ("A Novel", "by Osk Tam", "Herring House"))
    chapters = ((f"Chapter {n}", (f"{PROSE} {PROSE}",)) for n in (1, 2, 3))
    story = Manuscript((front, *chapters), "The Gull", "user")
    book = read_book(Source(name, "gull", lambda: Fetched(write(story))))
    [aside] = book.left_out
    assert (aside.start, book.text[aside.end - 13 : aside.end]) == (0, "Herring House")
    assert (book.author, [one.title for one in book.chapters]) == (
        "Osk Tam",
        ["Chapter 1", "Chapter 2", "Chapter 3"],
    )


def test_nobody_is_told_of_by_it_and_nothing_recapped(tmp_path: Path, tiny_bert: Path) -> None:
    reviews = "<h1>Praise for the Gull</h1><p>A better herring, said Wilm Orr, he has never read.</p>"
    store = IndexStore(tmp_path)
    book = read(epub(reviews))
    build_book(book, BuildSettings(encoder=str(tiny_bert)), store)
    index = store.open("gull")
    assert any(one.name == "Wilm Orr" for one in named(book.text, tmp_path / "cache"))
    found = named(story_text(index, index.characters), tmp_path / "cache")
    places = [place for one in found for place in one.places]
    assert all(not one.start <= start < one.end for start, _ in places for one in book.left_out)
    with pytest.raises(UnknownCharacter):
        profile(index, "Wilm Orr", None, tmp_path / "cache")
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


# A preview of another book, in chapters of its own


def spine(*documents: tuple[str, int, str], listed: bool = True) -> bytes:
    """An EPUB of documents, each of its entry (none where ``listed`` is not), its depth and its heading."""
    names = [f"d{number}" for number in range(len(documents))]
    files = {
        f"OPS/text/{name}.xhtml": page(f"<h1>{heading}</h1><p>{heading} tells of herring. {PROSE}</p>")
        for name, (_, _, heading) in zip(names, documents, strict=True)
    }
    links = "".join(
        "<ol>" * depth + f'<li><a href="text/{name}.xhtml">{entry}</a></li>' + "</ol>" * depth
        for name, (entry, depth, _) in zip(names, documents, strict=True)
        if entry
    )
    nav = page(f'<nav epub:type="toc">{links}</nav>').replace("<html ", '<html xmlns:epub="e" ')
    item = '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    extra = {"OPS/nav.xhtml": nav} if listed else {}
    return pack({**files, **extra, "OPS/package.opf": package(names, item if listed else "")})


def chapters(first: int, last: int, depth: int = 1) -> list[tuple[str, int, str]]:
    return [(f"Chapter {n}", depth, f"Chapter {n}") for n in range(first, last + 1)]


def set_aside(book: Book) -> list[str]:
    """The headings of what is not searched."""
    told = "".join(f"{book.text[one.start : one.end]}\n\n" for one in book.left_out)
    return [paragraph for paragraph in told.split("\n\n") if paragraph and "herring" not in paragraph]


PREVIEW = ("An Excerpt from The Herring", 1, "An Excerpt from The Herring")
AUTHOR = ("About the Author", 1, "About the Author")
OWN = [PREVIEW[0], "Chapter 1", "Chapter 2"]


@pytest.mark.parametrize(
    ("documents", "aside"),
    [
        ([PREVIEW, *chapters(1, 2)], OWN),
        ([PREVIEW, *chapters(1, 2, depth=2)], OWN),
        ([PREVIEW, ("The Herring", 1, "The Herring"), *chapters(1, 2)], [OWN[0], "The Herring", *OWN[1:]]),
        ([PREVIEW, ("", 0, "The Net"), ("", 0, "The Fish")], [OWN[0], "The Net", "The Fish"]),
        (
            [PREVIEW, ("Prologue", 1, "Prologue"), AUTHOR, *chapters(1, 1)],
            [OWN[0], "Prologue", AUTHOR[0], OWN[1]],
        ),
        ([AUTHOR, PREVIEW, *chapters(1, 2), ("Afterword", 1, "Afterword")], [AUTHOR[0], *OWN]),
    ],
    ids=["flat", "deeper", "its title", "not listed", "prologue", "back matter"],
)
def test_the_chapters_of_a_preview_go_with_it(
    documents: list[tuple[str, int, str]], aside: list[str]
) -> None:
    assert set_aside(read(spine(*chapters(1, 14), *documents))) == aside
    everything = read(spine(*chapters(1, 14), *documents), everything=True)
    assert everything.left_out == ()


def test_a_preview_that_no_contents_name_is_known_by_the_headings_of_the_documents() -> None:
    documents = [*chapters(1, 14), PREVIEW, *chapters(1, 2)]
    assert set_aside(read(spine(*documents, listed=False))) == OWN
    unlisted = [
        (entry if n < 14 else "", depth, heading) for n, (entry, depth, heading) in enumerate(documents)
    ]
    assert set_aside(read(spine(*unlisted))) == OWN


@pytest.mark.parametrize(
    "documents",
    [
        [*chapters(1, 14), PREVIEW, *chapters(15, 16)],
        [*chapters(1, 14), PREVIEW, ("Book Two", 1, "Book Two"), *chapters(1, 2)],
        [*chapters(1, 14), PREVIEW, ("The Mill", 1, "The Mill"), *chapters(1, 2)],
        [*chapters(1, 7), PREVIEW, *chapters(1, 7)],
    ],
    ids=["counts on", "another part", "another story", "too long"],
)
def test_what_may_be_the_story_behind_a_chapter_called_so_is_searched(
    documents: list[tuple[str, int, str]],
) -> None:
    assert set_aside(read(spine(*documents))) == [PREVIEW[0]]


# Formats that know headings


AROUND_A_STORY = (
    ("Copyright", ("No herring of this book may be copied.",)),
    ("Table of\nContents", ("The Weir", "The Mill")),
    *((f"Chapter {n}", (f"The herring came on day {n}. {PROSE}",)) for n in range(1, 15)),
    ("About the Author", ("Anse Vell keeps herring.",)),
    ("A Sneak Peek from The Herring", ("The second herring swam in from Vell.",)),
    *((f"Chapter {n}", (f"Herring of another book. {PROSE}",)) for n in (1, 2)),
)


@pytest.mark.parametrize("format", FILES)
def test_headings_tell_it_in_other_formats(format: str) -> None:
    name, write = FILES[format]
    book = read_book(Source(name, "gull", lambda: Fetched(write(Manuscript(AROUND_A_STORY)))))
    searched = unsearched = ""
    at = 0
    for one in book.left_out:
        searched += book.text[at : one.start]
        unsearched += book.text[one.start : one.end]
        at = one.end
    searched += book.text[at:]
    assert [f"day {n}." in searched for n in range(1, 15)] == [True] * 14
    for told in ("may be copied", "The Mill", "keeps herring", "swam in", "another book"):
        assert told not in searched
        assert told in unsearched
