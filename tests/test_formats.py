"""Files of every format read into books."""

from __future__ import annotations

import re
from functools import partial
from textwrap import wrap

import pytest

from indexing.book import Book
from indexing.errors import SourceError
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source
from text.errors import StoryQAError
from text.sentences import sentence_spans

STORY = "The gull sat on the weir.\n\nThe miller counted his sacks."
PROSE = " ".join(["The gull sat on the weir and watched the miller count his sacks."] * 12)


def read(name: str, data: bytes | str, content_type: str | None = None) -> Book:
    fetched = Fetched(data.encode() if isinstance(data, str) else data, content_type)
    return read_book(Source(name, "gull", partial(Fetched, fetched.data, fetched.content_type)))


LINE = "The miller looked at the weir for a while, and then he took his hat and went to the gull, which flew."


def titles(book: Book) -> list[str]:
    return [chapter.title for chapter in book.chapters]


def test_a_text_is_normalised_and_offsets_point_into_what_is_kept() -> None:
    book = read(
        "gull.txt",
        "\ufeffThe Miller\u2019s Gull\r\n\r\nby Anse\r\n\r\nCHAPTER I\r\n\r\nCafe\u0301 \U0001f433\r\n",
    )
    assert book.text == "The Miller\u2019s Gull\n\nby Anse\n\nCHAPTER I\n\nCaf\u00e9 \U0001f433"
    assert (book.id, book.title, book.source) == ("gull", "The Miller\u2019s Gull", "gull.txt")
    [chapter] = book.chapters
    assert book.text[chapter.start : chapter.end] == "CHAPTER I\n\nCaf\u00e9 \U0001f433"


def test_id_and_title_may_be_given_and_an_id_must_be_a_slug() -> None:
    source = Source("shelf/gull.txt", "gull", partial(Fetched, STORY.encode()))
    assert read_book(source).title == "gull"
    book = read_book(source, id="g1", title="The  Gull")
    assert (book.id, book.title) == ("g1", "The  Gull")
    with pytest.raises(StoryQAError, match="would do"):
        read_book(source, id="The Gull")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("gull.txt", b"", "is empty"),
        ("gull.txt", b" \r\n\0\0", "is empty"),
        ("gull.txt", b"\xef\xbb\xbf * * *\n", "holds no text"),
        ("gull.txt", b"<!DOCTYPE html><html><body>404</body></html>", "HTML page where text was expected"),
        (
            "gull.txt",
            b"\n<?xml version='1.0'?>\n<!-- x --><html></html>",
            "HTML page where text was expected",
        ),
        ("gull.html", b"<html><body><img src='1.png'></body></html>", "holds no text"),
        ("gull.html", b"<html><head><script>gull()</script></head></html>", "holds no text"),
        ("gull.txt", bytes(range(256)) * 9, "binary data"),
        ("gull.txt", b"%PDF-1.7", "as a PDF"),
        ("gull.doc", b"\xd0\xcf\x11\xe0gull", "Word"),
        ("gull.txt.gz", b"\x1f\x8bgull", "gzip"),
        ("gull.azw1", b"TPZ0gull", "Kindle book .Topaz"),
        ("gull.zip", b"PK\x03\x04gull", "no book"),
        ("gull.epub", b"gull", "named EPUB"),
    ],
)
def test_what_is_no_book_is_refused_by_name_with_what_is_wrong(name: str, data: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said) as caught:
        read(name, data)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["gull.xml", "gull.txt", "gull.fodt"])
def test_xml_that_is_neither_a_page_nor_fictionbook_is_refused(name: str) -> None:
    with pytest.raises(SourceError, match=f"{name} is XML of a kind that is not read"):
        read(name, '<?xml version="1.0"?>\n<TEI><text><p>The gull sat on the weir.</p></text></TEI>')


def test_a_page_may_begin_with_several_instructions() -> None:
    head = '<?xml version="1.0"?>\n<?xml-stylesheet href="gull.css"?>\n<!-- a gull -->\n'
    page = f"{head}<html><body><p>Wet.</p></body></html>"
    assert [read(name, page).text for name in ("gull.xhtml", "gull.xml", "gull")] == ["Wet."] * 3


def test_paragraphs_that_are_a_line_each_are_set_apart() -> None:
    lines = [
        line for number in range(1, 5) for line in (f"Chapter {number}", PROSE, f"{number} gulls.", PROSE)
    ]
    book = read("gull.txt", "\r\n".join(lines))
    assert book.text == "\n\n".join(lines)
    assert titles(book) == ["Chapter 1", "Chapter 2", "Chapter 3", "Chapter 4"]
    for width in (70, 150):
        wrapped = "\n".join(wrap(" ".join([PROSE] * 9), width))
        assert read("gull.txt", wrapped).text == wrapped


def test_paragraphs_of_a_line_each_may_be_short_where_they_end_as_sentences_do() -> None:
    said = (
        "\u201cA gull,\u201d she said, \u201cis on the weir.\u201d",
        "He saw it, but he said no word.",
        LINE,
    )
    lines = [line for number in range(1, 5) for line in (f"Chapter {number}", *said, *said)]
    book = read("gull.txt", "\n".join(lines))
    assert book.text == "\n\n".join(lines)
    assert titles(book) == ["Chapter 1", "Chapter 2", "Chapter 3", "Chapter 4"]
    verses = "\n".join(["The gull is on the weir.", "It has no fear."] * 9)
    assert read("gull.txt", verses).text == verses


def test_words_that_a_scan_parts_at_the_ends_of_lines_are_whole_again() -> None:
    parted = "The mil-\nler, it was said, saw the long-\nlegged gull, a wa-\nter-bird. "
    whole = "The miller,\nit was said, saw the long-\nlegged gull, a water-bird. "
    elsewhere = "A miller has no long-legged gull, and the Mill-\nHouse no water."
    assert read("gull.txt", parted * 10 + elsewhere).text == whole * 10 + elsewhere


def test_a_text_that_parts_its_lines_at_hyphens_alone_keeps_them() -> None:
    text = (
        "The long-\nlegged gull, a well-\nfed water-\nbird.\n\n" * 20 + "A long-legged, well-fed waterbird."
    )
    assert read("gull.txt", text).text == text


def test_several_books_of_project_gutenberg_in_one_file_are_searched_without_their_licences() -> None:
    mark = "*** {} OF THE PROJECT GUTENBERG EBOOK THE GULL ***"
    one = f"Title: The Gull\n\n{mark.format('START')}\n\n{PROSE}\n\n{mark.format('END')}\n\nMuch licence.\n\n"
    book = read("gull.txt", one * 2)
    [aside] = book.left_out
    assert book.text[: aside.start].strip() == book.text[aside.end :].strip() == PROSE
    assert "Much licence." in book.text[aside.start : aside.end]


def test_a_story_without_a_telling_suffix_may_be_text_or_a_page() -> None:
    assert read("0123abcd.content", STORY).text == STORY
    assert read("0123abcd.content", f"<html><body><pre>{STORY}</pre></body></html>").text == STORY


def test_a_page_gives_its_paragraphs_and_nothing_that_is_not_read() -> None:
    book = read(
        "gull.html",
        """<!DOCTYPE html><html><head><title>The Gull &amp; Co</title><style>p {gull: 1}</style></head><body>
        <nav><a href="#1">Home</a></nav><!-- a comment --><script>let gull;</script>
        <p>The <i>gull</i>,<br>na&iuml;ve &mdash; sat
        on <b>the</b>&nbsp;weir.</p><div>One<p>Two</p>Three</div><ul><li>Four</li><li>Five</li></ul>
        <table><tr><td>Six</td><td>seven</td></tr></table><pre>  Eight
          nine</pre></body></html>""",
    )
    assert book.title == "The Gull & Co"
    assert book.text == (
        "The gull,\nna\u00efve \u2014 sat on the\u00a0weir.\n\nOne\n\nTwo\n\nThree\n\nFour\n\nFive\n\n"
        "Six seven\n\nEight\n          nine"
    )


@pytest.mark.parametrize(
    "head",
    [
        "<meta charset='windows-1252'>",
        "<meta http-equiv=Content-Type content='text/html; charset=iso-8859-1'>",
        "",
    ],
)
def test_a_page_is_read_in_the_encoding_that_it_declares(head: str) -> None:
    page = f"<html><head>{head}</head><body><p>caf\u00e9 \u2019</p></body></html>"
    assert read("gull.html", page.encode("cp1252")).text == "caf\u00e9 \u2019"
    assert read("gull.html", page.encode("utf-8")).text == "caf\u00e9 \u2019"


@pytest.mark.parametrize("charset", ["undefined", "unicode_escape", "punycode", "idna", "utf-7", "hex", "no"])
def test_a_page_that_declares_no_encoding_of_texts_is_read_all_the_same(charset: str) -> None:
    page = f"<html><head><meta charset={charset}></head><body><p>caf\u00e9 \u2019 \\q</p></body></html>"
    assert read("gull.html", page.encode("cp1252")).text == "caf\u00e9 \u2019 \\q"


def test_an_encoding_whose_name_holds_a_nul_is_none() -> None:
    book = read("gull.txt", b"Project Gutenberg\nCharacter set encoding: a\0b\ncaf\xe9")
    assert book.text.endswith("caf\u00e9")


def test_xhtml_with_empty_elements_and_entities_is_read_whole() -> None:
    page = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml">'
        '<head><title/></head><body><a id="p1"/><p>The&nbsp;gull &amp; caf&eacute;</p><p>'
        "left &gull; &#8212;</p></body></html>"
    )
    assert read("gull.xhtml", page).text == "The\u00a0gull & caf\u00e9\n\nleft &gull; \u2014"


def test_entities_are_never_expanded_from_outside_or_to_a_great_size() -> None:
    page = (
        '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY a "gullgull">]>'
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>one &f; two &a; three</p></body></html>'
    )
    assert read("gull.xhtml", page).text == "one &f; two &a; three"


def test_pages_with_thousands_of_open_elements_are_read_to_the_end() -> None:
    page = f"<html><body>{'<div><font>' * 3000}gull<p>weir</body></html>"
    assert read("gull.html", page).text == "gull\n\nweir"


def test_what_is_left_open_does_not_swallow_the_story() -> None:
    page = (
        "<html><head><title>The Gull<body><p>One<select><option>a<option>b</select> two"
        "<p>\u9dd7<ruby>\u5830<rp>(<rt>seki</ruby> <h2>Three<p>four"
    )
    book = read("gull.html", page)
    assert book.text == "One two\n\n\u9dd7\u5830\n\nThree\n\nfour"
    assert book.title == "The Gull"


def test_headings_of_a_page_are_chapters_and_its_title_and_contents_are_not() -> None:
    book = read(
        "gull.html",
        f"<html><body><h1>The Gull</h1><h2>Contents</h2><p>The Weir</p><p>The Mill</p>"
        f"<h2>The Weir</h2><p>{PROSE}</p><h3>A note</h3><p>{PROSE}</p>"
        f"<h2>The<br>Mill</h2><p>{PROSE}</p></body></html>",
    )
    assert titles(book) == ["The Weir", "The Mill"]
    assert book.text[book.chapters[0].start :].startswith("The Weir\n\nThe gull")
    assert book.text[book.chapters[1].start : book.chapters[1].end] == f"The\nMill\n\n{PROSE}"


def test_a_title_page_is_no_chapter_and_the_authors_that_a_page_states_are_the_books() -> None:
    head = (
        "<title>The Gull</title><meta name=author content='Anse  Vell'><meta name=AUTHOR content='Wilm Orr'>"
    )
    page = f"{head}<h1>The Gull</h1><h1>Wilm Orr</h1><h1>The Weir</h1><p>a</p><h1>The Gull</h1><p>b</p>"
    book = read("gull.html", page)
    assert [chapter.title for chapter in book.chapters] == ["The Weir", "The Gull"]
    assert book.author == "Anse Vell, Wilm Orr"


def test_a_page_of_printed_pages_cites_them() -> None:
    mark = '<span class="pagenum"><a name="Page_{0}" id="Page_{0}">[Pg {0}]</a></span>'
    head = f"<h2>{mark.format(7)}The Weir</h2><p>The gull {mark.format(8)}sat.</p>"
    book = read("gull.html", f"{head}{mark.format(9)}<p>{PROSE}</p>")
    assert [(one.label, book.text[one.start :].split()[0]) for one in book.pages] == [
        ("7", "The"),
        ("8", "sat."),
        ("9", PROSE.split()[0]),
    ]
    misread = f"{mark.format(8)}<p>a</p>{mark.format(7)}<p>b</p>"
    assert read("gull.html", misread).pages == read("gull.html", '<p id="page1">a</p>').pages == ()


@pytest.mark.parametrize(
    "head",
    [
        "<title>The Gull, by Anse Vell\u2014A Project Gutenberg eBook</title><h1>THE GULL</h1>"
        "<h2>BY ANSE VELL</h2>",
        "<title>The Gull - anse - Weirs</title><h1>The Gull</h1>"
        "<p>by <a rel='author' href='x'>Anse Vell</a></p>",
        "<title>The Gull | Tales of a Weir</title><h1>The Gull</h1><h2>Anse Vell</h2><p>by Anse Vell</p>",
    ],
)
def test_a_page_is_called_what_its_story_is_and_whoever_wrote_it_is_no_chapter(head: str) -> None:
    book = read("gull.html", f"{head}<h2>The Weir</h2><p>{PROSE}</p><h2>The Mill</h2><p>{PROSE}</p>")
    assert (book.title, book.author) == ("The Gull", "Anse Vell")
    assert titles(book) == ["The Weir", "The Mill"]


@pytest.mark.parametrize(
    "link",
    [
        '<sup><a href="#n1" role="doc-noteref">1</a></sup>',
        '<a class="x footnote-ref" href="#n1"><sup>1</sup></a>',
        '<a epub:type="noteref" href="#n1">1</a>',
        '<a class="fnanchor" href="#n1">[1]</a>',
    ],
)
def test_links_to_notes_and_back_are_not_read_and_the_notes_are(link: str) -> None:
    note = '<p>Wet. <a role="doc-backlink" href="#r">up</a></p>'
    text = "The day was wet, said he.\n\nA weir.\n\nWet."
    assert (
        read("gull.html", f"<p>The day was wet,{link} said he.</p><p>A <a>weir</a>.</p>{note}").text == text
    )
    unclosed = link.replace("</a>", "")
    assert read("gull.html", f"<p>The day{unclosed}</p><p>A <a>weir</a>.</p>").text == "The day\n\nA weir."


@pytest.mark.parametrize(
    "number",
    [
        '<span class="pagenum"><a id="Page_12"></a>[Pg <span>12</span>]</span>',
        '<a class="x pageno" id="Page_12">12</a>',
        '<span epub:type="pagebreak" id="Page_12">12</span>',
        '<span role="doc-pagebreak" id="Page_12" title="12"/>',
    ],
)
def test_numbers_of_printed_pages_are_not_read(number: str) -> None:
    assert read("gull.html", f"<p>The day was {number}wet.</p><p>A <span>weir</span>.</p>").text == (
        "The day was wet.\n\nA weir."
    )


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ('<span class="initial"><img src="ill_t.png" width="80" alt="T" /></span>HE day was', "THE day was"),
        ('<img alt="A"/>fter that', "After that"),
        ('<a href="t.png"><img alt="\u201cW\n"/></a><b>ell</b>, said he', "\u201cWell, said he"),
        ('\u201c<img alt="I"/>\u2019ll weigh it', "\u201cI\u2019ll weigh it"),
        ('Wet.<br/><img alt="E&#769;"/>tude', "Wet.\n\u00c9tude"),
        ('It was wet.<img alt="T"/>hen', "It was wet. Then"),
        ('<img alt="\u201cI"/> weigh it', "\u201cI weigh it"),
    ],
)
def test_an_initial_that_is_a_picture_is_read_with_its_word(written: str, text: str) -> None:
    assert read("gull.html", f"<p>{written}</p><p>A weir.</p>").text == f"{text}\n\nA weir."


@pytest.mark.parametrize(
    "written",
    [
        'Wet <img alt="T"/> was <img alt="the weir"/>he day',  # words on both sides; a picture of something
        'Wet <img alt="T"/><span class="hidden">T</span>was <img alt="1"/>he day',
        'Wet <img alt="T"/>1 was <img/>he day',
        '<img alt="T"/> the day was wet',  # no word of one letter
        'Wet <img alt="A"/> was the day',
        '<a href="#n"><sup><img alt="T"/>1</sup></a>We<i>nt</i>',
        'Wet <nav><img alt="T"/></nav>was the day',
    ],
)
def test_other_pictures_leave_no_letters(written: str) -> None:
    seen = read("gull.html", f"<p>{written}</p><p>A weir.</p>").text
    assert seen == read("gull.html", f"<p>{re.sub('alt=.*?/', '/', written)}</p><p>A weir.</p>").text


def test_quotation_marks_that_a_browser_writes_are_written() -> None:
    page = (
        '<html lang="en-GB"><body><p><q>The <q>gull</q>,</q> said Anse</q>, <q>is wet.</p><p><q>No.</q></p>'
        f"<p>{PROSE}</p></body></html>"
    )
    book = read("gull.html", page)
    assert book.text == (
        f"\u201cThe \u2018gull\u2019,\u201d said Anse, \u201cis wet.\n\n\u201cNo.\u201d\n\n{PROSE}"
    )
    assert book.language == "en-GB"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n", "\u2028"])
def test_lines_may_end_as_any_system_ends_them(end: str) -> None:
    assert read("gull.txt", f"The gull{end}flew.{end}{end}It slept.{end}") == read(
        "gull.txt", "The gull\nflew.\n\nIt slept.\n"
    )


@pytest.mark.parametrize("name", ["gull.txt", "gull.md", "gull.html"])
def test_ligatures_are_letters_and_what_nobody_sees_is_not_read(name: str) -> None:
    written = "Five \ufb01sh \ufb02ew o\ufb00 the\u200e weir\u202e to\u2066 a\u2069 \u200ccliff\U000e0041."
    page = f"<html><body><p>{written}</p></body></html>" if name.endswith("html") else written
    assert read(name, page).text == "Five fish flew off the weir to a \u200ccliff."


def test_a_script_is_no_comment_though_one_begins_in_it() -> None:
    page = f"<p>{PROSE}</p><script>var a = '<!--';</script><p>A weir.</p><script src='a.js'/><p>Wet.</p>"
    assert read("gull.html", page).text == f"{PROSE}\n\nA weir.\n\nWet."


def test_parts_and_subtitles_marked_in_a_page_are_joined_to_chapters() -> None:
    chapters = "".join(f"<h3>CHAPTER {n}</h3><h4>The Weir {n}</h4><p>{PROSE}</p>" for n in ("I", "II"))
    book = read(
        "gull.html", f"<html><body><h2>PART ONE</h2>{chapters}<h2>PART TWO</h2>{chapters}</body></html>"
    )
    assert titles(book) == [
        "PART ONE, CHAPTER I: The Weir I",
        "PART ONE, CHAPTER II: The Weir II",
        "PART TWO, CHAPTER I: The Weir I",
        "PART TWO, CHAPTER II: The Weir II",
    ]


@pytest.mark.parametrize(
    ("number", "title"), [("h2", "h2"), ("h3", "h2"), ("h2", "h3")], ids=["as large", "larger", "smaller"]
)
@pytest.mark.parametrize(
    "numbers",
    [("1", "2"), ("II", "III"), ("CHAPTER ONE", "CHAPTER TWO"), ("One", "Twenty-two"), ("Chapter<br>1", "2")],
)
def test_the_heading_below_a_number_alone_is_the_title_of_that_chapter(
    numbers: tuple[str, str], number: str, title: str
) -> None:
    page = "".join(
        f"<{number}>{label}</{number}><{title}>The {name}</{title}><p>{PROSE}</p>"
        for label, name in zip(numbers, ("Weir", "Mill"), strict=True)
    )
    book = read("gull.html", f"<html><body>{page}</body></html>")
    first, second = (label.replace("<br>", " ") for label in numbers)
    assert titles(book) == [f"{first}: The Weir", f"{second}: The Mill"]


def test_years_and_names_are_no_numbers_of_chapters() -> None:
    heads = ("1914", "Vi", "Six")
    page = "".join(f"<h2>{head}</h2><h2>The {head}</h2><p>{PROSE}</p>" for head in heads)
    book = read("gull.html", f"<html><body>{page}</body></html>")
    assert titles(book) == ["1914", "The 1914", "Vi", "The Vi", "Six: The Six"]


def test_a_page_without_marked_headings_is_searched_like_a_text() -> None:
    book = read(
        "gull.html",
        f"<html><body><p>CHAPTER I</p><p>{PROSE}</p><p>CHAPTER II</p><p>{PROSE}</p></body></html>",
    )
    assert titles(book) == ["CHAPTER I", "CHAPTER II"]


def test_a_screenplay_in_a_page_has_its_scenes() -> None:
    script = "\n\n".join(f"<b>INT. MILL {n} - NIGHT</b>\n\n     MILLER\n  That gull again." for n in range(4))
    book = read("0123abcd.content", f"<html><body><pre>{script}</pre></body></html>")
    assert titles(book) == [f"INT. MILL {n} - NIGHT" for n in range(4)]


def test_gutenberg_pages_lose_their_licence_and_keep_their_offsets() -> None:
    book = read(
        "1234.html",
        "<html><head><title>The Project Gutenberg eBook of The Gull</title></head><body>"
        "<div>The Project Gutenberg eBook of The Gull</div><p>Title: The Gull</p>"
        "<div>*** START OF THE PROJECT GUTENBERG EBOOK THE GULL ***</div>"
        f"<h2>CHAPTER I</h2><p>{PROSE}</p><h2>CHAPTER II</h2><p>{PROSE}</p>"
        "<div>*** END OF THE PROJECT GUTENBERG EBOOK THE GULL ***</div>"
        "<h2>THE FULL PROJECT GUTENBERG LICENSE</h2><p>Licence.</p></body></html>",
    )
    assert book.title == "The Gull"
    assert titles(book) == ["CHAPTER I", "CHAPTER II"]
    assert [book.text[chapter.start : chapter.end] for chapter in book.chapters] == [
        f"CHAPTER I\n\n{PROSE}",
        f"CHAPTER II\n\n{PROSE}",
    ]


@pytest.mark.parametrize(
    "junk", ["<", "<p ", "<p a='", "</", "<!--", "<!DOCTYPE [", "<a/", "<script>", "&#", "<div><b>"]
)
def test_broken_pages_take_no_longer_than_their_length(junk: str) -> None:
    assert "gull" in read("gull.html", f"<p>gull</p>{junk * 20_000}").text  # minutes, if time were quadratic


@pytest.mark.parametrize(
    "junk", [".", ". ", "\n", "\t", "_", "I\n\n", "CHAPTER I\n\n", "CONTENTS\n\n", "Gull . . . 7\n\n"]
)
def test_strange_texts_take_no_longer_than_their_length(junk: str) -> None:
    book = read("gull.txt", f"The gull.\n\n{junk * 20_000}\n\nThe end.")
    assert book.text.endswith("The end.")
    assert sentence_spans(book.text)[0] == (0, 9)
