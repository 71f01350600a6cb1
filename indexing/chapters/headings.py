"""What a heading is, and what a line of plain text must look like to be one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Levels: the smaller, the wider the division.
PART, STORY, ACT, CHAPTER, SCENE = 0, 1, 2, 3, 4
# What chapters are called in French, German, Spanish and Portuguese, Italian, Dutch and Russian.
CHAPTERS_ELSEWHERE = ("chapitre", "kapitel", "capítulo", "capitulo", "capitolo", "hoofdstuk", "глава")
PARTS_ELSEWHERE = ("partie", "teil", "parte", "deel", "часть")
BACK_MATTER = -9  # belongs to no part

# Kinds that no number counts.
TITLE, FRONT, BACK, NOTES, SHOT = "title", "front matter", "back matter", "notes", "scene heading"

# Indentation, and what stands before a heading of a plain text: marks of emphasis, of Markdown, or a rule,
# which where it is of dashes has to stand behind it, too, or it may be a list's or a speech's.
EDGE = (
    r"[^\S\n]*+(?:\[Illustration: (?=[^\n]*\]\s*$)|[_*=~\[\"\u201c]{0,2}+|[#*=~_+<]{1,80}+[^\S\n]*+"
    r"|[-\u2013\u2014]{1,80}+[^\S\n]*+(?=[^\n]{1,200}[-\u2013\u2014][^\S\n]*$))"
)
_RULE = re.compile(r"(?:[^\S\n]*+[-=_*~#+\u2013\u2014\u2500]){3,80}+[^\S\n]*+$", re.M)
_FOOTNOTE = re.compile(r"(?<!\s)\s*+(?:[\[(](?:\d+|\*)[\])]|\[[A-Z]\])$")
_PAGE_NUMBER = re.compile(r"(?<![\s.])(?=\s\s|\t|\s?\.\s?\.)[\s.]++\d+$")
_LONGEST_LINE = 100


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at ``text[start:end]``, its title on the lines below included.

    ``kind`` and ``number`` say what it counts (``chapter`` 12), so that a series, and its
    repetition in a list of contents, can be known.
    """

    start: int
    end: int
    level: int
    kind: str
    number: int | None
    title: str

    @property
    def key(self) -> tuple[str, int | None, str]:
        """Equal for two headings of the same thing."""
        return (self.kind, self.number, self.title.lower() if self.number is None else "")


def is_title(line: str) -> bool:
    """Whether a line by itself reads as a title rather than as a sentence."""
    line = line.strip(" _*\"'\u201c\u201d\u2018\u2019")
    if not 1 < len(line) <= _LONGEST_LINE or not line[0].isalnum() or not any(map(str.isalpha, line)):
        return False
    if line.isupper():
        return True
    weighty = [word for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", line) if len(word) > 3]
    capitals = sum(word[0].isupper() for word in weighty)
    return line[-1] not in ".,;:!-\u2014" and line[0].isupper() and 2 * capitals >= len(weighty)


def has_page_number(line: str) -> bool:
    """Whether a line ends as those of a list of contents do, with a page number set apart."""
    return _PAGE_NUMBER.search(line) is not None


def lines_alone(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Matches of a pattern for a line, where it is short, below a blank line and without a page number.

    A rule may be between.
    """
    at = 0
    while at >= 0:
        match = pattern.match(text, at)
        if match is None and (above := _RULE.match(text, at)):
            match = pattern.match(text, above.end() + 1)
        if match and len(match[0].strip()) <= _LONGEST_LINE and not has_page_number(match[0]):
            yield match
        at = text.find("\n\n", at)
        while 0 <= at < len(text) and text[at] == "\n":
            at += 1


def paragraph_end(text: str, start: int) -> int:
    """Where the paragraph that holds ``start`` ends."""
    end = text.find("\n\n", start)
    return len(text) if end < 0 else end


def lines_below(text: str, end: int, most: int) -> tuple[list[str], int]:
    """At most ``most`` lines of the paragraph below the line that ends at ``end``, and the end of the last.

    No more of the text is looked at, for a paragraph may have a million lines that ask for this.
    """
    lines: list[str] = []
    while len(lines) < most and text.startswith("\n", end) and text[end + 1 : end + 2] not in ("", "\n"):
        start = end + 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        lines.append(text[start:end])
    return lines, end


def is_rule(line: str) -> bool:
    """Whether a line is of strokes or stars alone."""
    return _RULE.fullmatch(line) is not None


def without_footnote(line: str) -> str:
    """A line without the mark of a footnote at its end."""
    return _FOOTNOTE.sub("", line)


def clean(title: str) -> str:
    """A title on one line, without the marks of emphasis and the punctuation around it."""
    return re.sub(r"\s+", " ", without_footnote(title)).strip(" _*=~[]#+<>").rstrip(".:,;-\u2013\u2014 ")


def in_order(headings: list[Heading]) -> list[Heading]:
    """Headings by their place in the text; of those that overlap, the one that begins first."""
    kept: list[Heading] = []
    for heading in sorted(headings, key=lambda heading: heading.start):
        if not kept or heading.start >= kept[-1].end:
            kept.append(heading)
    return kept
