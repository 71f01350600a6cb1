"""Markdown (CommonMark, and tables): the text without its marks, by way of the HTML that it stands for."""

from __future__ import annotations

import codecs
import re

from indexing.formats.html import read_page
from indexing.formats.markup import Document, join

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n((?:[^\n]*\n){0,200}?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_STATED = re.compile(
    r"^(title|author|lang|language)[ \t]*:[ \t]*([^\n]+|(?:\n[ \t]*-[ \t][^\n]+)+)$", re.M | re.I
)
_ITEM = re.compile(r"^[ \t]*-[ \t]+", re.M)
# What CommonMark does not know: links to notes, the notes' own marks, and superscripts of pandoc's.
_NOTE = re.compile(r"^(\[\^[^\]\s]{1,50}\]):|\[\^[^\]\s]{1,50}\]|(?<=\w)\^(\w{1,10})\^", re.M)


def read_markdown(text: str, name: str) -> Document:
    """The document whose source is ``text``; ``name`` is said in errors.

    Title and author are those of the front matter (YAML between ``---``), else the title is the one
    heading of the first level, if there is one only.
    """
    from markdown_it import MarkdownIt

    stated: dict[str, str] = {}
    if matter := _FRONT_MATTER.match(text):
        stated = {key.lower(): _listed(value) for key, value in _STATED.findall(matter[1])}
        text = text[matter.end() :]
    text = _NOTE.sub(lambda match: match[2] or "", text)
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    content = join(read_page(codecs.BOM_UTF8 + html.encode("utf-8", "replace"), name).blocks)
    tops = [mark.label for mark in content.marks if mark.depth == 1]
    title = " ".join(tops[0].split()) if len(tops) == 1 else None
    language = stated.get("lang") or stated.get("language")
    return Document(content, stated.get("title") or title, stated.get("author"), language=language)


def _listed(value: str) -> str:
    """A value of the front matter, or those of a list, on one line."""
    return ", ".join(filter(None, (one.strip(" \t\"'") for one in _ITEM.sub("", value).split("\n"))))
