"""An HTML page as blocks of text: paragraphs and headings in reading order, whatever is not text left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import html5
from typing import Any

from indexing.decoding import decode, normalise

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        """address article aside blockquote body caption center dd details div dl dt fieldset figcaption
        figure footer form header hr html li main ol p pre section summary table tbody tfoot thead tr ul""",
    )
) | set(_HEADINGS)
_LEFT_OUT = frozenset(
    re.findall(
        r"\w+",
        """applet audio button canvas embed head iframe input map math nav noframes noscript object option rp
        rt script select style svg template textarea title video""",
    )
)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_DECLARED = re.compile(
    rb"<\?xml[^>]*encoding\s*=\s*[\"']([\w.:-]+)|<meta[^>]*charset\s*=\s*[\"']?([\w.:-]+)", re.I
)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_ENTITY = re.compile(r"&(\w+;)")
_XML_ENTITIES = ("amp;", "lt;", "gt;", "quot;", "apos;")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph or heading; ``level`` is 1 to 6 for ``h1`` to ``h6`` and 0 for the rest.

    ``anchors`` are the ids of elements that begin in it or between it and the block before.
    """

    text: str
    level: int
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page: its ``<title>``, if it has one, and its blocks."""

    title: str | None
    blocks: tuple[Block, ...]


def read_page(data: bytes, name: str, charset: str | None = None) -> Page:
    """The page that ``data`` holds; ``name`` is said in errors, ``charset`` is what its server stated."""
    declared = _DECLARED.search(data[:4096])
    stated = (declared[1] or declared[2]).decode("ascii") if declared else charset
    text = decode(data, name, stated)
    root = _parse(_XML_DECLARATION.sub("", text), is_xml=text.lstrip().startswith("<?xml"))
    if root is None:
        return Page(None, ())
    title = next((normalise(_SPACE.sub(" ", element.text or "")) for element in root.iter("title")), None)
    return Page(title or None, tuple(_blocks(root)))


def _parse(text: str, is_xml: bool) -> Any:
    """The root of the page's tree, or None when there is none.

    XHTML goes to the XML parser, as an empty ``<title/>`` would swallow a page read as HTML. Nothing
    outside the page is ever loaded.
    """
    from lxml import etree  # type: ignore[import-untyped]

    if is_xml or "http://www.w3.org/1999/xhtml" in text[:1000]:
        text = _ENTITY.sub(
            lambda match: match[0] if match[1] in _XML_ENTITIES else html5.get(match[1], ""), text
        )
        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=True)
        root = etree.fromstring(text.encode(), parser)
        if root is not None:
            for element in root.iter(etree.Element):
                element.tag = etree.QName(element).localname
            if root.find(".//body") is not None:
                return root
    html = etree.HTMLParser(no_network=True, huge_tree=True, encoding="utf-8")
    return etree.fromstring(text.encode(), html)


def _blocks(root: Any) -> Iterator[Block]:
    """The blocks of a tree, walked without recursion, as pages can be nested deeply."""
    from lxml import etree

    pieces: list[str] = []
    anchors: list[str] = []
    level = preformatted = left_out = 0

    def flush() -> Iterator[Block]:
        lines = "".join(pieces).split("\n")
        pieces.clear()
        text = normalise("\n".join(line if preformatted else line.strip(" ") for line in lines))
        if text:
            yield Block(text, level, tuple(anchors))
            anchors.clear()

    def add(text: str | None) -> None:
        if text and not left_out:
            pieces.append(text if preformatted else _SPACE.sub(" ", text))

    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        tag = element.tag
        if event in ("comment", "pi"):
            add(element.tail)
        elif event == "start":
            if tag in _BLOCKS:
                yield from flush()
            left_out += tag in _LEFT_OUT
            anchors += [value for key in ("id", "name") if (value := element.get(key)) and tag != "meta"]
            level = _HEADINGS.get(tag, level)
            preformatted += tag == "pre"
            if tag == "br":
                pieces.append("\n")
            elif tag in ("td", "th", "img"):
                pieces.append(" ")
            add(element.text)
        else:
            if tag in _BLOCKS:
                yield from flush()
            left_out -= tag in _LEFT_OUT
            level = 0 if tag in _HEADINGS else level
            preformatted -= tag == "pre"
            add(element.tail)
    yield from flush()
