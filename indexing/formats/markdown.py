"""Markdown (CommonMark, and tables): the text without its marks, by way of the HTML that it stands for."""

from __future__ import annotations

import codecs
import re

from indexing.formats.html import read_page
from indexing.formats.markup import Document, join

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n((?:[^\n]*\n){0,200}?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
# A value, and the lines below that go on with it or are its list.
_STATED = re.compile(
    r"^(title|author|lang|language)[ \t]*:[ \t]*([^\n]*(?:\n(?:[ \t]+\S|-[ \t])[^\n]*)*)$", re.M | re.I
)
_SCALAR = re.compile(r"""(["'])(.*)\1[ \t]*(?:#.*)?|(.*?)(?:(?:\A|(?<![ \t])[ \t]+)#.*)?""")
_FOLDED = re.compile(r"[>|][+-]?")  # what says that the value is the lines below
_ITEM = re.compile(r"[ \t]*-[ \t]+")
_NAME = re.compile(r"[ \t]*(?:-[ \t]+)?name[ \t]*:[ \t]*(.*)", re.I)
# The title and the authors as pandoc has them at the head, each behind a mark.
_TITLE_BLOCK = re.compile(
    r"\A%[ \t]+([^\n]+(?:\n[ \t]+[^\n]+)*)(?:\n%[ \t]*([^\n]*(?:\n[ \t]+[^\n]+)*))?(?:\n%[^\n]*)?(?=\n\n|\Z)"
)
# What CommonMark does not know: links to notes, the notes' own marks, and superscripts of pandoc's.
_NOTE = re.compile(r"^(\[\^[^\]\s]{1,50}\]):|\[\^[^\]\s]{1,50}\]|(?<=\w)\^(\w{1,10})\^", re.M)
# Pandoc's, too: names and styles of headings, and the marks around what has a style.
_STYLES = re.compile(r"(?<![ \t])[ \t]*\{(?:-|[#.][^{}\n]{1,200})\}$|^[ \t]*:::[^\n]*$", re.M)


def read_markdown(text: str, name: str) -> Document:
    """The document whose source is ``text``; ``name`` is said in errors.

    Title and author are those of the front matter (YAML between ``---``, or pandoc's lines that begin with
    ``%``), else the title is the one heading of the first level, if there is one only.
    """
    from markdown_it import MarkdownIt

    stated: dict[str, str] = {}
    if matter := _FRONT_MATTER.match(text):
        stated = {key.lower(): _on_one_line(value) for key, value in _STATED.findall(matter[1])}
        text = text[matter.end() :]
    elif block := _TITLE_BLOCK.match(text):
        stated = {
            "title": block[1],
            "author": "; ".join(filter(None, map(str.strip, (block[2] or "").split("\n")))),
        }
        text = text[block.end() :]
    text = _STYLES.sub("", _NOTE.sub(lambda match: match[2] or "", text))
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    content = join(read_page(codecs.BOM_UTF8 + html.encode("utf-8", "replace"), name).blocks)
    tops = [mark.label for mark in content.marks if mark.depth == 1]
    title = " ".join(tops[0].split()) if len(tops) == 1 else None
    language = stated.get("lang") or stated.get("language")
    return Document(content, stated.get("title") or title, stated.get("author"), language=language)


def _on_one_line(value: str) -> str:
    """A value of the front matter, or those of a list, whose items may have a ``name``."""
    first, *below = value.split("\n")
    first = _scalar(first)
    if first.startswith("[") and first.endswith("]"):
        return ", ".join(filter(None, map(_scalar, first[1:-1].split(","))))
    if first and not _FOLDED.fullmatch(first):
        return " ".join((first, *map(str.strip, below)))
    names = [match[1] for match in map(_NAME.match, below) if match]
    items = names or [line[match.end() :] for line in below if (match := _ITEM.match(line))]
    return ", ".join(filter(None, map(_scalar, items))) if items else " ".join(map(str.strip, below))


def _scalar(written: str) -> str:
    """What is written without quotation marks around it and a comment behind it."""
    match = _SCALAR.fullmatch(written.strip())
    return (match[2] or match[3] or "").strip() if match else ""
