"""What of a plain text's first pages is not searched: its title page, its list of contents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indexing.book import Chapter
from indexing.chapters.titles import find_contents, has_prose

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
    title = title_page_end(text[: listed[0]] if listed else text, chapters, signed)
    if not title:
        return (listed,) if listed else ()
    if listed is None:
        return ((0, title),)
    return ((0, title), listed) if text[title : listed[0]].strip() else ((0, listed[1]),)


def title_page_end(text: str, chapters: Sequence[Chapter], signed: int | None) -> int:
    """Where the title page ends that a text begins with, 0 where it has none.

    It reaches up to the first chapter if nothing that is longer stands between, else down to who wrote the
    text. Searched, it would be a passage of few words, that fits whoever the title names.
    """
    first = next((one.start for one in chapters), None)
    for end in (first, signed):
        if end is None or end > len(text):
            continue
        persons = _PERSONS.search(text, 0, end)
        page = text[: persons.start() if persons else end].rstrip()
        if len(page) <= _FIRST_PAGE and len(page.split()) <= _MOST_WORDS and not _has_prose(page):
            return len(page)
    return 0


def _has_prose(page: str) -> bool:
    return has_prose(page, 0, len(page)) or max(map(len, page.splitlines()), default=0) > _LONGEST_LINE


def contents_span(text: str, chapters: Sequence[Chapter]) -> tuple[int, int] | None:
    """Where a text's list of contents stands, up to its first chapter, or to the list of who is in it.

    With the title page before it, if that is all there is: alone it would be a passage of a few words, which
    fits whoever the title names. None where it has none, where no chapter follows, or where it is longer than
    such lists are.
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
    if not is_list:
        return None
    is_title_page = (
        contents.start <= _LONG_LIST
        and not any(one.start < contents.start for one in chapters)
        and not has_prose(text, 0, contents.start)
    )
    return (0 if is_title_page else contents.start), contents.start + len(listed)
