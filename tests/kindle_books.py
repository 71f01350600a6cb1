"""Kindle books without protection, as another program than the one that reads them would write them."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape

from manuscripts import Manuscript
from test_covers import GULL

NOWHERE = 0xFFFFFFFF
_RECORD = 4096  # bytes of text in a record
_CODES = {"utf-8": 65001, "cp1252": 1252}

Packing = Callable[[Sequence[bytes]], tuple[int, list[bytes], list[bytes]]]


def palm_database(records: Sequence[bytes], kind: bytes = b"BOOKMOBI") -> bytes:
    """A database of these records."""
    at = 78 + 8 * len(records) + 2
    offsets = b""
    for number, record in enumerate(records):
        offsets += struct.pack(">II", at, 2 * number)
        at += len(record)
    head = b"the_weigher".ljust(32, b"\0") + bytes(28) + kind + bytes(8)
    return head + struct.pack(">H", len(records)) + offsets + b"\0\0" + b"".join(records)


def stored(records: Sequence[bytes]) -> tuple[int, list[bytes], list[bytes]]:
    return 1, list(records), []


def palmdoc(records: Sequence[bytes]) -> tuple[int, list[bytes], list[bytes]]:
    return 2, list(map(compressed, records)), []


@cache
def compressed(data: bytes) -> bytes:
    """PalmDOC's compression."""
    out = bytearray()
    at = 0
    while at < len(data):
        for length in range(min(10, len(data) - at), 2, -1):
            # What is copied may reach into itself.
            found = data.rfind(data[at : at + length], max(0, at - 2047), at + length - 1)
            if 0 <= found < at:
                out += struct.pack(">H", 0x8000 | (at - found) << 3 | length - 3)
                at += length
                break
        else:
            byte = data[at]
            if byte == 0x20 and at + 1 < len(data) and 0x40 <= data[at + 1] < 0x80:
                out.append(data[at + 1] ^ 0x80)
                at += 2
            elif byte == 0 or 9 <= byte < 0x80:
                out.append(byte)
                at += 1
            else:
                run = re.compile(rb"[\x01-\x08\x80-\xff]{1,8}").match(data, at)
                assert run is not None
                out += bytes((len(run[0]),)) + run[0]
                at += len(run[0])
    return bytes(out)


def huffman(records: Sequence[bytes]) -> tuple[int, list[bytes], list[bytes]]:
    """HUFF/CDIC: the 32 most frequent phrases have codes of 6 bits, the others of 12.

    Phrases are words and bytes; of each word with a space before it, the phrase is two codes in turn.
    """
    words = Counter(re.findall(rb" ?[A-Za-z]{2,}", b"".join(records)))
    common = [word for word, _ in words.most_common(400)]
    phrases = [
        *common,
        *(word[1:] for word in common if word[:1] == b" "),
        *(bytes((b,)) for b in range(256)),
    ]
    phrases = list(dict.fromkeys(phrases))
    index = {phrase: number for number, phrase in enumerate(phrases)}
    token = re.compile(b"|".join(map(re.escape, sorted(phrases, key=len, reverse=True))), re.S)

    def codes(parts: Iterable[bytes]) -> bytes:
        bits = "".join(
            f"{63 - index[part]:06b}" if index[part] < 32 else f"{2079 - index[part]:012b}" for part in parts
        )
        # Ones at the end would be a code; zeros are the beginning of one that does not end.
        bits += "0" * (-len(bits) % 8)
        return int(f"1{bits}", 2).to_bytes(len(bits) // 8 + 1, "big")[1:]

    entries = b""
    offsets: list[int] = []
    for phrase in phrases:
        offsets.append(2 * len(phrases) + len(entries))
        if phrase[:1] == b" " and phrase[1:] in index:
            made = codes((b" ", phrase[1:]))
            entries += struct.pack(">H", len(made)) + made
        else:
            entries += struct.pack(">H", 0x8000 | len(phrase)) + phrase
    dictionary = b"CDIC" + struct.pack(">III", 16, len(phrases), 16)
    dictionary += b"".join(struct.pack(">H", offset) for offset in offsets) + entries
    by_byte = [63 << 8 | 0x80 | 6 if byte >= 0x80 else 9 for byte in range(256)]
    bounds = [[1 << length - 1, 0] for length in range(1, 33)]
    bounds[5], bounds[11] = [32, 63], [0, 2079]
    tables = struct.pack(">256I", *by_byte) + struct.pack(">64I", *(one for pair in bounds for one in pair))
    huff = b"HUFF" + struct.pack(">III", 24, 24, 24 + 1024) + bytes(8) + tables
    return 17480, [codes(token.findall(record)) for record in records], [huff, dictionary]


def long_number(value: int) -> bytes:
    """A number of as many bytes as it needs, seven bits each, the last marked."""
    pieces = [value & 0x7F | 0x80]
    while value := value >> 7:
        pieces.append(value & 0x7F)
    return bytes(reversed(pieces))


def index(
    entries: Sequence[tuple[bytes, Mapping[int, Sequence[int]]]],
    fields: Sequence[tuple[int, int, int]],
    labels: bytes = b"",
) -> list[bytes]:
    """The head, the entries and the labels of an index whose fields are ``(tag, numbers, mask)``."""
    table = b"".join(bytes((*field, 0)) for field in fields) + b"\0\0\0\1"
    head = b"INDX" + struct.pack(">I", 192) + bytes(12) + struct.pack(">IIII", 0, 1, 65001, NOWHERE)
    head += struct.pack(">I", len(entries)) + bytes(12) + struct.pack(">I", bool(labels))
    head = head.ljust(192, b"\0") + b"TAGX" + struct.pack(">II", 12 + len(table), 1) + table
    body, offsets = b"", b""
    for name, tags in entries:
        control, numbers = 0, b""
        for tag, count, mask in fields:
            if tag in tags:
                control |= (mask & -mask) * (len(tags[tag]) // count)
                numbers += b"".join(map(long_number, tags[tag]))
        offsets += struct.pack(">H", 192 + len(body))
        body += bytes((len(name),)) + name + bytes((control,)) + numbers
    record = b"INDX" + struct.pack(">I", 192) + bytes(12) + struct.pack(">II", 192 + len(body), len(entries))
    record = record.ljust(192, b"\0") + body + b"IDXT" + offsets
    return [head, record, *([labels] if labels else [])]


class _Records:
    """The records of one book: the first is made last, as it says where the others are."""

    def __init__(self, text: bytes, pack: Packing, encoding: str, version: int) -> None:
        cut = [text[at : at + _RECORD] for at in range(0, len(text), _RECORD)]
        self.compression, packed, self.dictionary = pack(cut)
        # Behind the text of each: an entry of three bytes, and none of a character that its end parts.
        self.records = [b"", *(record + b"\0" + b"xy\x83" for record in packed)]
        self.numbers = {12: len(packed), 28: _CODES[encoding], 36: version, 104: version, 196: 2, 240: 3}
        self.numbers |= dict.fromkeys((192, 244, 248, 252, 260), NOWHERE)
        self.encoding = encoding

    def add(self, records: Sequence[bytes], *fields: int) -> int:
        """Put records behind the others; the header names the first of them in those fields."""
        at = len(self.records)
        self.records += records
        self.numbers |= dict.fromkeys(fields, at)
        return at

    def finish(self, title: str, stated: Sequence[tuple[int, bytes]]) -> list[bytes]:
        """All records, with the header."""
        if self.dictionary:
            self.add(self.dictionary, 112)
            self.numbers[116] = len(self.dictionary)
        name = title.encode(self.encoding)
        exth = b"".join(struct.pack(">II", kind, 8 + len(value)) + value for kind, value in stated)
        exth = b"EXTH" + struct.pack(">II", 12 + len(exth), len(stated)) + exth
        self.numbers |= {20: 248, 84: 16 + 248 + len(exth), 88: len(name), 92: 0x0809, 128: 0x40}
        header = bytearray(16 + 248)
        header[16:20] = b"MOBI"
        for at, value in self.numbers.items():
            if at != 12:
                struct.pack_into(">I", header, at, value)
        struct.pack_into(">HHIHHI", header, 0, self.compression, 0, 0, self.numbers[12], _RECORD, 0)
        self.records[0] = bytes(header) + exth + name
        return self.records


def stated(manuscript: Manuscript, encoding: str = "utf-8") -> list[tuple[int, bytes]]:
    """What a book states: its authors, its title, its language."""
    return [
        *((100, author.encode(encoding)) for author in manuscript.author.split(", ")),
        (503, manuscript.title.upper().encode(encoding)),
        (524, b"en-GB"),
    ]


def mobipocket(
    manuscript: Manuscript,
    pack: Packing = palmdoc,
    encoding: str = "utf-8",
    contents: bool = True,
    cover: bytes | None = None,
    also: int | None = None,
) -> list[bytes]:
    """The records of a book of the older kind; without ``contents`` a page of links stands for its index.

    ``also`` is the record where the book begins as the other kind.
    """
    head = "<html><head><guide><reference type='toc' title='Contents' filepos={:010d} /></guide></head><body>"
    page = "<p>Contents</p>" + "".join(
        f"<p><a filepos={{:010d}}><i>{_in(encoding)(heading.replace(chr(10), ': '))}</i></a></p>"
        for heading, _ in manuscript.chapters
    )
    zeros = [0] * len(manuscript.chapters)
    text = (head.format(0) + page.format(*zeros)).encode(encoding)
    starts: list[int] = []
    for heading, paragraphs in manuscript.chapters:
        text += b"<mbp:pagebreak/>"
        starts.append(len(text))
        lines = "<br/>".join(map(_in(encoding), heading.split("\n")))
        body = "".join(f'<p height="0pt" width="1em">{_in(encoding)(one)}</p>' for one in paragraphs)
        text += f'<p height="2em"><font size="7"><b>{lines}</b></font></p>{body}'.encode(encoding)
    first = (head.format(len(head.format(0))) + page.format(*starts)).encode(encoding)
    text = first + text[len(first) :] + b"</body></html>"
    book = _Records(text, pack, encoding, 6)
    if contents:
        entries, labels = _contents(manuscript, encoding, ({1: [start]} for start in starts))
        book.add(index(entries, ((1, 1, 1), (3, 1, 2), (4, 1, 4)), labels), 244)
    said = stated(manuscript, encoding)
    if cover:
        book.add([b"a picture", cover], 108)
        said.append((201, struct.pack(">I", 1)))
    if also:
        said.append((121, struct.pack(">I", also)))
    return book.finish(manuscript.title, said)


def kf8(manuscript: Manuscript, pack: Packing = palmdoc, cover: bytes | None = None) -> list[bytes]:
    """The records of a book of the later kind, each chapter a skeleton and two fragments."""
    text = b""
    skeletons: list[tuple[bytes, dict[int, list[int]]]] = []
    fragments: list[tuple[bytes, dict[int, list[int]]]] = []
    for number, (heading, paragraphs) in enumerate(manuscript.chapters):
        head, tail = b"<html><head><title>x</title></head><body>", b"</body></html>"
        lines = "<br/>".join(map(escape, heading.split("\n")))
        body = "".join(f"<p>{escape(one)}</p>" for one in paragraphs)
        parts = f'<h2 aid="{number}">{lines}</h2>'.encode(), f'<div class="a">{body}</div>'.encode()
        skeletons.append((b"SKEL%010d" % number, {1: [2, 2], 6: [len(text), len(head + tail)] * 2}))
        goes = len(text) + len(head)
        for part in parts:
            tags = {2: [0], 3: [number], 4: [len(fragments)], 6: [0, len(part)]}
            fragments.append((b"%010d" % goes, tags))
            goes += len(part)
        text += head + tail + b"".join(parts)
    path = b"P-//*[@aid='0']"
    flows = struct.pack(">4sIIIIII", b"FDST", 12, 2, 0, len(text), len(text), len(text) + 12)
    book = _Records(text + b"p { margin:0}", pack, "utf-8", 8)
    book.add(index(skeletons, ((1, 1, 3), (6, 2, 12))), 252)
    labels = long_number(len(path)) + path
    book.add(index(fragments, ((2, 1, 1), (3, 1, 2), (4, 1, 4), (6, 2, 8)), labels), 248)
    places = ({6: [2 * number, 0]} for number in range(len(manuscript.chapters)))
    entries, labels = _contents(manuscript, "utf-8", places)
    book.add(index(entries, ((3, 1, 1), (4, 1, 2), (6, 2, 4)), labels), 244)
    book.add([flows], 192)
    said = stated(manuscript)
    if cover:
        book.add([cover], 108)
        said.append((201, struct.pack(">I", 0)))
    return book.finish(manuscript.title, said)


@cache
def both(manuscript: Manuscript) -> bytes:
    """A book as both kinds in one file; the older one says what nobody should read."""
    older = Manuscript((("Of old", ("Get a newer Kindle.",)),), manuscript.title, manuscript.author)
    first = mobipocket(older, cover=GULL, also=1)  # so many records as with the number that counts
    first = mobipocket(older, cover=GULL, also=len(first) + 1)
    return palm_database([*first, b"BOUNDARY", *kf8(manuscript)])


def _contents(
    manuscript: Manuscript, encoding: str, places: Iterable[dict[int, list[int]]]
) -> tuple[list[tuple[bytes, dict[int, list[int]]]], bytes]:
    """The entries of a table of contents and the record with their labels."""
    entries, labels = [], b""
    for number, ((heading, _), tags) in enumerate(zip(manuscript.chapters, places, strict=True)):
        label = heading.replace("\n", ": ").encode(encoding)
        entries.append((b"%03d" % number, {3: [len(labels)], 4: [0], **tags}))
        labels += long_number(len(label)) + label
    return entries, labels


def _in(encoding: str) -> Callable[[str], str]:
    """Text as markup in an encoding, its other characters as references."""
    return lambda text: escape(text).encode(encoding, "xmlcharrefreplace").decode(encoding)


@cache
def mobi(manuscript: Manuscript) -> bytes:
    return palm_database(mobipocket(manuscript, cover=GULL))


@cache
def azw3(manuscript: Manuscript) -> bytes:
    return palm_database(kf8(manuscript, cover=GULL))
