"""What a book's first pages say of the book itself: title, author, year and genre, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexing.book import Chapter
from indexing.formats.metadata import in_normal_case

FIRST_PAGES = 3500  # characters
FIRST_PAGE = 1500  # the same, where no chapter says where the first pages end
_SHORTEST = 100  # characters of first pages: a heading above them is the title's
_LONGEST_TITLE = 100
_LONGEST_LINE = 70  # of a title page: a longer one is of running text, whose years are any

_NAME_WORD = r"[^\W\d_a-z][\w.'\u2019-]*"
_NAME = rf"(?:{_NAME_WORD}|[dv]e|von|van|der|la|le|du|and|&)"
_BY = re.compile(
    rf"(?:^[^\S\n]*_?(?i:by)[.:]?|^(?=\S)[^\n]{{2,90}}?,?[^\S\n](?i:by))_?\s+_?"
    rf"(?P<name>{_NAME_WORD}(?:[^\S\n]+{_NAME}){{0,6}}?)[\s_.,]*$",
    re.M,
)
_SAID = re.compile(rf"\b[Tt]he author is (?P<name>{_NAME_WORD}(?:\s+{_NAME_WORD}){{1,4}})")
_OTHERS = re.compile(r"\b(?:translat|edit|illustrat|introduc|drawing|preface|produced|transcribed)", re.I)
_ALONE = re.compile(rf"[^\S\n]*_?(?P<name>{_NAME_WORD}(?:[^\S\n]+{_NAME_WORD}){{1,3}})_?[^\S\n]*")
_NO_NAME = frozenset(
    re.findall(
        r"\S+",
        """a an and of the to in on for or act author book books by canto cast chapter chapters characters
        comedy company contents copyright dramatis edition first illustrated illustrations
        introduction london new novel part persons play poems preface press prologue published
        romance scene second series story table tale tragedy volume york""",
    )
)

_YEAR = re.compile(r"(?<![\w-])(?P<year>1[4-9]\d\d|20\d\d|M[DCLXVI]{3,})(?![\w-])(?!-)")
_FIRST = re.compile(r"first\W+(?:published|printed|issued|edition)|originally\W+published", re.I)
_COPYRIGHT = re.compile(r"copyright|\u00a9", re.I)
_OTHER_YEAR = re.compile(
    r"\bborn\b|\bdied\b|prepared|produced|this edition|e-?text|e-?book|gutenberg|reprint|impression", re.I
)
_ROMAN = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}

_GENRE = re.compile(
    r"\b(?P<genre>(?:science fiction|historical|detective|gothic|short|love|fairy|ghost|adventure)"
    r"\s(?:novels?|romances?|stor(?:y|ies)|tales?)|novel(?:la|ette)?|romance|(?:tragi)?comedy|comedietta"
    r"|tragedy|farce|melodrama|drama|play|poems?|satire|allegory|memoirs?|autobiography|biography|essays?"
    r"|fables?|legends?|stories|tale|scientifiction|mystery)\b",
    re.I,
)
_TITLE_PAGE = 1000  # characters in which a subtitle stands
_LONGEST_SUBTITLE = 200
_CONTENTS = re.compile(
    r"[_\s]*(?:the )?(?:table of )?(?:contents|to\b|preface|introduct|persons|characters|dramatis)", re.I
)
_OTHER_BOOKS = re.compile(r"[\[_\s]*(?:author|illustrat|transcrib|note)", re.I)
_ACT = re.compile(r"\s*(?:the )?(?:first )?act\b", re.I)
_CANTO = re.compile(r"\s*(?:the )?(?:first )?canto\b", re.I)


@dataclass(frozen=True, slots=True)
class Stated:
    """``value`` as ``text[start:end]`` states it, and how surely that is meant."""

    value: str
    start: int
    end: int
    confidence: float


class TitlePage:
    """The first pages of a text whose ``chapters`` those are, as far as it is given."""

    def __init__(self, text: str, chapters: Sequence[Chapter]) -> None:
        first = next((one.start for one in chapters if one.start >= _SHORTEST), None)
        self._chapters = chapters
        self._text = text[:FIRST_PAGES]
        self._end = min(FIRST_PAGE if first is None else first, FIRST_PAGES, len(text))

    def place_of(self, name: str) -> tuple[int, int] | None:
        """Where the first pages have a name, in whatever letters and however parted into lines."""
        parts = re.findall(r"\w+", name)
        if not parts:
            return None
        words = r"[\W_]+".join(map(re.escape, parts))
        match = re.compile(rf"(?<![^\W_]){words}(?![^\W_])", re.I).search(self._text)
        return None if match is None else match.span()

    def title(self) -> Stated | None:
        """What stands first, where it is short, and above the author or in capitals."""
        by = _BY.search(self._text, 0, self._end)
        author = self.author()
        for start, end in self._paragraphs():
            line = self._text[start:end]
            if line.startswith(("[", "*", "+", "|", "Transcriber")):
                continue
            if by is not None and start <= by.start("name") < end:
                end = start + len(re.split(r",?\s+_?by\b", line, maxsplit=1, flags=re.I)[0])
            if end - start > _LONGEST_TITLE:  # with a subtitle
                end = start + len(self._text[start:end].split("\n", 1)[0])
            title = " ".join(self._text[start:end].split()).strip(" _*.,:;")
            below = author is not None and author.start > end
            if not title or len(title) > _LONGEST_TITLE or not (by or below or title.isupper()):
                return None
            return Stated(in_normal_case(title), start, end, 0.8)
        return None

    def author(self) -> Stated | None:
        """The name behind ``by``, or below the title."""
        for match in _BY.finditer(self._text, 0, self._end):
            above = self._text[: match.start("name")].rstrip().rsplit("\n", 2)[-2:]
            others = _OTHERS.search("\n".join(above))
            if not others and not _is_no_name(match["name"]) and _has_capitals(match["name"]):
                return self._named(match, 0.9)
        if said := _SAID.search(self._text):
            return self._named(said, 0.9)
        for start, end in list(self._paragraphs())[1:3]:
            alone = _ALONE.fullmatch(self._text, start, end)
            if alone and not _is_no_name(alone["name"]) and _has_capitals(alone["name"]):
                return self._named(alone, 0.6)
        return None

    def first_published(self) -> Stated | None:
        """The year of the first edition, else that of the copyright, else one alone on its line."""
        found: list[tuple[int, int, Stated]] = []
        for match in _YEAR.finditer(self._text, 0, self._end):
            first = self._text.rfind("\n", 0, match.start()) + 1
            last = self._text.find("\n", match.end())
            line = self._text[first : last if last >= 0 else len(self._text)]
            near = self._text[max(0, match.start() - 120) : match.end()]
            year = _year(match["year"])
            rank = self._rank(line, near[-120:], match["year"])
            if year is not None and rank is not None:
                place = Stated(str(year), match.start("year"), match.end("year"), (0.9, 0.6, 0.5)[rank])
                found.append((rank, year, place))
        return min(found, key=lambda one: one[:2])[2] if found else None

    def genre(self) -> Stated | None:
        """A kind of book that a line of the title page names; of a play, that it has acts."""
        for start, end in self._paragraphs():
            line = self._text[start:end]
            if end > _TITLE_PAGE or _CONTENTS.match(line):
                break
            match = _GENRE.search(self._text, start, end)
            if match and len(line) <= _LONGEST_SUBTITLE and not _OTHER_BOOKS.match(line):
                genre = " ".join(match["genre"].lower().split())
                return Stated(genre, match.start("genre"), match.end("genre"), 0.7)
        for chapter in self._chapters[:3]:
            for heading, genre in ((_ACT, "play"), (_CANTO, "poem")):
                part = chapter.title.rsplit(", ", 1)[0]
                if heading.match(part) and len(self._text) > chapter.start + len(part):
                    return Stated(genre, chapter.start, chapter.start + len(part.split(":")[0]), 0.6)
        return None

    def _paragraphs(self) -> Iterator[tuple[int, int]]:
        for match in re.finditer(r"\S(?:[^\n]|\n(?![^\S\n]*\n))*", self._text[: self._end]):
            yield match.start(), match.start() + len(match[0].rstrip())

    def _named(self, match: re.Match[str], confidence: float) -> Stated:
        start, end = match.span("name")
        while end > start and self._text[end - 1] in " _.,\n":
            end -= 1
        if re.search(r"\b[^\W\d_]$", self._text[start:end]) and self._text[end : end + 1] == ".":
            end += 1  # an initial's
        name = " ".join(self._text[start:end].replace("_", " ").split())
        return Stated(in_normal_case(name), start, end, confidence)

    def _rank(self, line: str, near: str, written: str) -> int | None:
        """How well a year is stated to be the book's first, 0 the best; None where it is another's."""
        if _FIRST.search(near) and not re.search(r"this\W[^.]{0,20}edition", near, re.I):
            return 0
        if _OTHER_YEAR.search(line) or len(line) > _LONGEST_LINE or re.search(r"\(\d{4}", line):
            return None
        if _COPYRIGHT.search(near):
            return 1
        rest = line.replace(written, "").strip(" _.,;:-\u2014()[]")
        alone = not rest or rest.isupper() or rest.istitle()
        return 2 if alone and line.rstrip(" _.,;:)]").endswith(written) else None


def _is_no_name(name: str) -> bool:
    return any(word.strip("._'").lower() in _NO_NAME - {"and", "a"} for word in name.split())


def _has_capitals(name: str) -> bool:
    return all(word[0].isupper() for word in (name.split()[0], name.split()[-1]))


def _year(written: str) -> int | None:
    if written.isdigit():
        return int(written)
    values = [_ROMAN[letter] for letter in written]
    pairs = zip(values, [*values[1:], 0], strict=True)
    year = sum(-value if value < behind else value for value, behind in pairs)
    return year if 1400 <= year < 2100 else None
