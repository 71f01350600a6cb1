"""Bytes to clean text: the encoding found, line ends and accents made uniform, control characters dropped."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from indexing.chapters.divisions import divisions
from indexing.errors import SourceError
from indexing.formats.media_type import WANTED
from indexing.formats.mojibake import utf8_again, without_controls

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_STRAY = re.compile("[\udc80-\udcff]")
_HIGH = bytes(range(128, 256))
_HIGH_LETTERS = bytes(range(192, 256))
_WESTERN_SHARE = 0.08  # of a text's bytes; the accented letters of western languages stay below it
_FEWEST_LETTERS = 100
_OTHER_ENCODINGS = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
# Codecs of Python's that are no encodings of texts on the web; to decode Punycode takes quadratic time.
_NO_ENCODINGS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
_SAMPLE = 64_000  # bytes shown to the detector

_LINE_END = re.compile("(?<!\r)\r++\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Without the joiners, which some scripts are written with.
_NO_TEXT = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
_FEWEST_MACS = 3
_MAC_APOSTROPHE = re.compile(rb"[a-z]\xd5[a-z]")
_LIGATURE = re.compile("[\ufb00-\ufb06]")  # of the letters f, i, l, s and t, which words are not spelled with
_MOST_MARKS = 30  # that the text of any language sets on one letter (Unicode Standard Annex 15, section 13)
_LINE_SPACE = re.compile(r"(?<![^\S\n])[^\S\n]++(?=\n)")
_MOST_CONTROL = 0.02  # of the characters; more is no text
# Of a text whose paragraphs are one line each: how long its tenth longest in a hundred lines are, and how
# many are blank. Lines that were wrapped, and verses, are shorter; or they end amid sentences.
_LONGEST_WRAPPED = 200  # characters
_LONGEST_VERSE = 100
_MOST_BLANK = 0.05
_MOST_ENDED = 0.8
_FEWEST_INDENTED, _MOST_INDENTED = 0.03, 0.5  # of the lines, where indented ones begin paragraphs
_LONGEST_HEADING = 60  # characters
_LINE_STOP = re.compile("[.!?:\u2026\u2014][\"'\u2019\u201d)*_]*$")
_STOP_WITHIN = 5  # characters of a line's end
_FEWEST_LINES = 10
# A word that goes on in the next line, and what is written together with its end.
_PARTED = re.compile(
    r"(?<![^\W\d_])([^\W\d_]{2,50})[-\xac\u2010]\n[^\S\n]*([^\W\d_]{2,50})([^\s-]{0,9})([^\S\n]*)"
)
_WRITTEN = re.compile(r"[^\W\d_]++(?:-[^\W\d_]++)*")
_FEWEST_PARTED = 10  # words that are written as one elsewhere


def decode(data: bytes, name: str, declared: str | None = None) -> str:
    """The text that ``data`` holds.

    A byte order mark decides; else UTF-8 wherever it decodes; else that of old Macs where apostrophes are so;
    else the ``declared`` encoding, if it does; else the western one-byte encoding, unless so many letters lie
    outside ASCII that charset-normalizer's finding is worth more. What was decoded wrongly before is mended
    where it is UTF-8. ``name`` is the source, for the ``SourceError`` that bytes which are no text raise.
    """
    text = utf8_again(_decode(data, declared))
    control = sum(map(text.count, map(chr, (*range(9), *range(14, 32), 0xFFFD))))
    if control > _MOST_CONTROL * len(text):
        raise SourceError(f"{name} holds binary data, not text; {WANTED}: convert it to one of these")
    return text


def normalise(text: str) -> str:
    """The final form of a text: ``\\n`` line ends, NFC, nothing invisible, no space at the end of a line.

    Control characters, soft hyphens, zero-width spaces, marks of direction, byte order marks and lone
    surrogates are dropped; Latin ligatures become their letters, and control characters that Windows has
    marks for these. Normalising again changes nothing.
    """
    text = _NO_TEXT.sub("", _LINE_END.sub("\n", without_controls(text)))
    text = _LIGATURE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = unicodedata.normalize("NFC", _with_sorted_marks(text))
    return _LINE_SPACE.sub("", text).strip()


def with_blank_lines(text: str) -> str:
    """A normalised text, its paragraphs a blank line apart where each is one line, as Word saves them.

    So they are, and headings that count, where each begins with a line that is indented as the others are.
    """
    lines = text.split("\n")
    written = [line for line in lines if line]
    if len(written) < _FEWEST_LINES or len(lines) - len(written) > _MOST_BLANK * len(lines):
        return text
    long = sorted(map(len, written))[-len(written) // 10]
    ended = sum(_LINE_STOP.search(line[-_STOP_WITHIN:]) is not None for line in written)
    is_one_each = long > _LONGEST_WRAPPED or (long > _LONGEST_VERSE and ended >= _MOST_ENDED * len(written))
    return "\n\n".join(written) if is_one_each else _with_indents_apart(text, lines)


def _with_indents_apart(text: str, lines: Sequence[str]) -> str:
    indents = [len(line) - len(line.lstrip()) for line in lines]
    if not any(indents):
        return text
    short = ((at, line.strip()) for at, line in enumerate(lines) if len(line.strip()) <= _LONGEST_HEADING)
    headings = {at for at, line in short if line.isupper() or (not line[:1].islower() and divisions(line))}
    counts = Counter(indent for at, indent in enumerate(indents) if indent and at not in headings)
    usual, times = max(counts.items(), key=lambda each: each[1], default=(0, 0))
    if not _FEWEST_INDENTED * len(lines) <= times <= _MOST_INDENTED * len(lines):
        return text
    first = [at for at, indent in enumerate(indents) if at and indent == usual]
    ended = sum(
        at - 1 in headings or _LINE_STOP.search(lines[at - 1][-_STOP_WITHIN:]) is not None for at in first
    )
    if ended < _MOST_ENDED * times:
        return text
    begin = {*first, *headings, *(at + 1 for at in headings)} - {0}
    return "\n".join(f"\n{line}" if at in begin else line for at, line in enumerate(lines))


def with_whole_words(text: str) -> str:
    """A normalised text, the words whole that its lines part by hyphens, where it has many, as scans have.

    Hyphens that a word has elsewhere, too, stay: most texts part their lines at no other.
    """
    parted = [match for match in _PARTED.finditer(text) if match[2][0].islower()]
    if len(parted) < _FEWEST_PARTED:
        return text
    written = {match[0].lower() for match in _WRITTEN.finditer(text)}
    compounds = {match.start() for match in parted if f"{match[1]}-{match[2]}".lower() in written}
    words = sum(f"{match[1]}{match[2]}".lower() in written for match in parted)
    if words < max(_FEWEST_PARTED, 2 * len(compounds)):
        return text

    def whole(match: re.Match[str]) -> str:
        if match.start() in compounds or not match[2][0].islower():
            return match[0]
        return f"{match[1]}{match[2]}{match[3]}" + ("\n" if match[4] else "")

    return _PARTED.sub(whole, text)


def _with_sorted_marks(text: str) -> str:
    """An equivalent text whose long runs of combining marks are in canonical order.

    ``unicodedata`` orders a run by insertion, in quadratic time where it is not in order.
    """
    if len(text) <= _MOST_MARKS or text.isascii():
        return text
    marks = [c for c in set(text) if unicodedata.combining(unicodedata.normalize("NFD", c)[0])]
    if not marks:
        return text
    run = re.compile(f"[{re.escape(''.join(sorted(marks)))}]{{{_MOST_MARKS},}}")
    return run.sub(lambda match: _in_canonical_order(match[0]), text)


def _in_canonical_order(marks: str) -> str:
    decomposed = "".join(unicodedata.normalize("NFD", mark) for mark in marks)
    return "".join(sorted(decomposed, key=unicodedata.combining))


def _decode(data: bytes, declared: str | None) -> str:
    for mark, marked in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(marked, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    if (wide := _wide_encoding(data)) is not None:
        return data.decode(wide, "replace")
    if len(_MAC_APOSTROPHE.findall(data)) >= _FEWEST_MACS and b"\x92" not in data:
        return data.decode("mac_roman")
    mended = _mend_utf8(data)
    if mended is not None:
        return mended
    for encoding in (declared, _detected(data), "cp1252"):
        if encoding is not None:
            try:
                return data.decode(_superset(encoding))
            except (ValueError, LookupError):  # not only UnicodeDecodeError: it may hold a NUL
                continue
    return data.decode("cp1252", "replace")  # a stray byte is lost, and no quotation mark or dash with it


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of western text is zero."""
    head = data[:4000]
    half = len(head) // 2
    if half and head[1::2].count(0) > 0.7 * half and head[0::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if half and head[0::2].count(0) > 0.7 * half and head[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    return None


def _mend_utf8(data: bytes) -> str | None:
    """UTF-8 with a few bytes of another encoding in it (pasted text, a cut at the end), or None."""
    text = data.decode("utf-8", "surrogateescape")
    stray = len(_STRAY.findall(text))
    sound = len(text) - stray - len(data.translate(None, _HIGH))
    if stray * 10 > sound:
        return None
    return _STRAY.sub(lambda match: bytes([ord(match[0]) - 0xDC00]).decode("cp1252", "replace"), text)


def _superset(encoding: str) -> str:
    """Windows-1252 for what is called Latin-1 or ASCII, as the web platform reads them; or LookupError."""
    name = codecs.lookup(encoding).name
    if name in _NO_ENCODINGS:
        raise LookupError(f"{name} is no encoding of texts")
    return "cp1252" if name in ("iso8859-1", "ascii") else name


def _detected(data: bytes) -> str | None:
    """What charset-normalizer finds, where there are letters enough that western languages do not explain."""
    letters = len(data) - len(data.translate(None, _HIGH_LETTERS))
    if letters < max(_FEWEST_LETTERS, _WESTERN_SHARE * len(data)):
        return None
    from charset_normalizer import from_bytes  # here, because most texts never need it

    best = from_bytes(data[:_SAMPLE], cp_isolation=list(_OTHER_ENCODINGS)).best()
    return None if best is None else best.encoding
