"""What of a plain text's first pages is not searched: its title page, its list of contents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indexing.book import Chapter
from indexing.chapters.titles import find_contents, has_prose, is_contents

_FEWEST_ENTRIES = 2
_LONG_LIST = 5000  # characters of a list of contents, which may be more of a long book
_LONGEST_SHARE = 0.02
_PERSONS = re.compile(
    r"^[^\S\n]*_?(?:list of )?(?:the )?(?:(?:principal )?characters|dramatis person|persons)\b", re.M | re.I
)
_FIRST_PAGE = 1500  # characters
_LONGEST_LINE = 80  # characters of a title page's
_MOST_WORDS = 150


def unsearched(text: str, chapters: Sequence[Chapter], signed: int | None) -> tuple[tuple[int, int], ...]:
    """Where a text has its title page and its list of contents, in order, as one where nothing is between.

    ``signed`` is where the line ends that says who wrote it, None where none does.
    """
    listed = contents_span(text, chapters)
    title = title_page_end(text, chapters, signed, listed[0] if listed else None)
    if listed and title and not text[title : listed[0]].strip():
        return ((0, listed[1]),)
    return tuple(span for span in ((0, title), listed) if span and span[1])


def title_page_end(text: str, chapters: Sequence[Chapter], signed: int | None, contents: int | None) -> int:
    """Where the title page ends that a text begins with, 0 where it has none.

    It reaches up to the list of contents, which begins at ``contents`` if there is one, or to the first
    chapter, if nothing that is longer stands between, else down to who wrote the text. Searched, it would be
    a passage of few words, that fits whoever the title names.
    """
    first = next((one.start for one in chapters), None)
    if contents is not None:
        begins = first is None or first >= contents
        if contents <= _LONG_LIST and begins and not has_prose(text, 0, contents):
            return contents
        text = text[:contents]
    for end in (first, signed):
        if end is None or end > len(text):
            continue
        persons = _PERSONS.search(text, 0, end)
        page = text[: persons.start() if persons else end].rstrip()
        is_short = len(page) <= _FIRST_PAGE and len(page.split()) <= _MOST_WORDS
        if is_short and not is_contents(page) and not _has_prose(page):
            return len(page)
    return 0


def _has_prose(page: str) -> bool:
    return has_prose(page, 0, len(page)) or max(map(len, page.splitlines()), default=0) > _LONGEST_LINE


def contents_span(text: str, chapters: Sequence[Chapter]) -> tuple[int, int] | None:
    """Where a text's list of contents stands, up to its first chapter, or to the list of who is in it.

    None where it has none, where no chapter follows, or where it is longer than such lists are.
    """
    contents = find_contents(text)
    if contents is None:
        return None
    behind = next((one.start for one in chapters if one.start > contents.start), None)
    if behind is None:
        return None
    end = min(behind, contents.end)
    persons = _PERSONS.search(text, contents.start, end)
    end = persons.start() if persons else end
    listed = text[contents.start : end].rstrip()
    lines = [line for line in listed.splitlines() if line.strip()]
    is_list = len(lines) > _FEWEST_ENTRIES and len(listed) <= max(_LONG_LIST, _LONGEST_SHARE * len(text))
    return (contents.start, contents.start + len(listed)) if is_list else None
