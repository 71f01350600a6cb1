"""What stands around a story: licence, reviews, contents, a preview of another book; by kind or by title."""

from __future__ import annotations

import re
from collections.abc import Iterable

from indexing.book import LeftOut

# Of EPUB 3's structural semantics and EPUB 2's guide. Prologues, prefaces and epilogues are as the story.
KINDS = frozenset(
    re.findall(
        r"\S+",
        """cover titlepage title-page halftitlepage half-title-page copyright-page toc landmarks page-list loi
        lot lov index colophon imprint imprimatur acknowledgements acknowledgments other-credits contributors
        bibliography seriespage dedication ads other.ads other.praise other.copyright other.reviews""",
    )
)
_TITLE = re.compile(
    r"""(?:title|half[- ]?title|copyright|series)(?:\ page)?|cover|colophon|imprint|index|bibliography|credits
    |(?:table\ of\ )?contents|(?:list\ of\ )?illustrations|permissions|dedication|acknowledge?ments?
    |(?:advance\ )?praise\ (?:for|from)\b.*|(?:more\ )?reviews\ (?:for|of)\b.*|(?:critical\ )?acclaim\ for\b.*
    |(?:also|other\ (?:books|titles|works)|more\ (?:books|titles)|books|novels)\ (?:by|in\ this\ series)\b.*
    |about\ the\ (?:authors?|publisher|translator|illustrator)|advertisements?|terms\ of\ use
    |(?:an?\ )?(?:(?:exclusive|sneak|special)\ )?(?:preview|excerpt|extract|peek)(?:\ (?:from|of|at)\b.*)?
    |(?:an?\ )?(?:teaser|sample\ chapter)\b.*|coming\ soon.*|(?:sign\ up|subscribe)\b.*|newsletter\b.*
    |(?:the\ )?(?:full\ )?project\ gutenberg(?:™|\(tm\)|-tm)?\ license|licen[cs]e
    |(?:reading\ group|book\ club|discussion)\ (?:guide|questions).*|questions\ for\ discussion""",
    re.I | re.X,
)
_MOST = 0.5  # of a book's text: where more of it is called so, it is called so by mistake


def is_apparatus(kinds: Iterable[str], title: str | None) -> bool:
    """Whether a part of that kind, or under that heading, belongs to the book but not to its story."""
    named = " ".join((title or "").split()).strip(" .:*_")
    return any(kind in KINDS for kind in kinds) or bool(named and _TITLE.fullmatch(named))


def left_out(parts: Iterable[LeftOut], characters: int) -> tuple[LeftOut, ...]:
    """The parts, neighbours as one; none where they would leave less than half of the book."""
    joined: list[LeftOut] = []
    for part in sorted(parts, key=lambda one: one.start):
        if joined and part.start <= joined[-1].end + 2:  # a blank line between them
            joined[-1] = LeftOut(joined[-1].start, max(part.end, joined[-1].end))
        else:
            joined.append(part)
    return tuple(joined) if sum(one.end - one.start for one in joined) <= _MOST * characters else ()
