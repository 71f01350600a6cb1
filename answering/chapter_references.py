"""Which part of a book a question names: a chapter by number or title, this one, the last, the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from answering.quotes import paragraph_around
from answering.readable_chapters import chapters_until
from indexing.book import Chapter
from indexing.chapters.headings import CHAPTERS_ELSEWHERE, PARTS_ELSEWHERE
from indexing.chapters.numerals import NUMERAL, numeral
from indexing.chapters.ordinals import ordinal_elsewhere
from retrieval.hits import Hit, Readable
from text.bare_questions import bare_question
from text.book_words import THE_BOOK
from text.question_kinds import TELLING_NOTHING, Kind, needs_conversation, question_kind
from text.quotations import place_once, quotation
from text.words import words

NO_CHAPTERS = "the book has no chapters that are marked as such"
NO_PAGES = "the book's file has no page numbers"
NO_SUCH_CHAPTER = "no chapter of that number begins in what has been read"
NO_CHAPTER_BEGUN = "no chapter has been begun in what has been read"
SEVERAL_CHAPTERS = "more than one chapter has that number: name its part, too, as in part 2, chapter 1"
NOT_READ = "the question is about a part of the book that has not been read"

_ACT = r"(?<=\b(?:in|of|is) )act"  # a play's, and nothing that is done
_ABOVE = "book|part|volume"  # of chapters, in some books; in others they are what a chapter is
_PARTS = rf"(?:the\s+)?(?:({_ABOVE})\s+(?:the\s+)?({NUMERAL})|({NUMERAL})\s+({_ABOVE})\b)"
PART = re.sub(r"\((?!\?)", "(?:", _PARTS)  # without groups, to be a piece of other patterns
_BEFORE, _OF_PART = rf"(?:{PART},?\s+)?", rf"(?:,?\s+(?:of|in)\s+{PART})?"
# "The chapter I read": whoever asks, and no numeral.
_READER = (
    r"(?!I\s+(?:am|have|just|read|finished|last|like|liked|reached)\b|(?<=\bthe chapter )I\s+\w"
    r"|(?<=\b(?:last|next) chapter )I\b)"
)
_NUMBERED = re.compile(
    rf"{_BEFORE}(?:(?:\bchapter|\bcanto|{_ACT})\s+(?:the\s+)?{_READER}({NUMERAL})|\b({NUMERAL})\s+chapter\b)"
    rf"{_OF_PART}",
    re.IGNORECASE,
)
_IN_PART = re.compile(_PARTS, re.IGNORECASE)
_CHAPTER_WORD = r"(?:chapter|chap\b\.?|ch\b\.?)(?:\s+(?:number|no\.))?"
_UNIT = "|".join(
    (
        _CHAPTER_WORD,
        "canto|stave|letter|act|adventure|story|tale|sketch|section|episode",
        *CHAPTERS_ELSEWHERE,
    )
)
_LABEL = rf"(?:{_UNIT}|number|no\.)"
_BEHIND = rf"\b(?!\s+(?:{_ABOVE}))[\s.:,;)—–-]*"
_HEADING = re.compile(rf"\A\s*(?:(?:{_LABEL}|{_ABOVE})\s+)?(?:the\s+)?({NUMERAL}){_BEHIND}", re.I)
_NUMBER = re.compile(rf"\s*(?:{_LABEL}\s+)?(?:the\s+)?({NUMERAL}){_BEHIND}", re.I)
_PLAIN_NUMBER = re.compile(rf"\s*(?:{_CHAPTER_WORD}\s+(?:the\s+)?({NUMERAL})|({NUMERAL})(?=[.:)]))", re.I)
# Behind a part. What else begins with a number there is a title: "Number Forty", "I Go to Bristol".
_INNER = re.compile(
    rf"(?:{_UNIT})\s+(?:the\s+)?({NUMERAL})|(?:the\s+)?({NUMERAL})\s+(?:{_UNIT})\b"
    rf"|({NUMERAL})(?=[.:)]|\s*[—–]|\s+-|\s*\Z)",
    re.I,
)
_CHAPTER_ELSEWHERE, _PART_ELSEWHERE = (
    re.compile(rf"(?:{kinds}) ([^:]+)|([^:]+) (?:{kinds})(?=:|\Z)", re.I)
    for kinds in map("|".join, (CHAPTERS_ELSEWHERE, PARTS_ELSEWHERE))
)
_THE = r"(?:(?:the|an?)\s+)?"
_ADVENTURE = re.compile(rf"{_THE}(?:(?:adventure|story|tale)\s+of\s+{_THE})?", re.I)
_IN = re.compile(
    rf"\b(?:in|from|of)\s+the\s+(?:chapter|story|tale|adventure)\s+(?:of\s+|called\s+)?\W*{_THE}", re.I
)
_THIS = re.compile(r"\b(?:this|the current) chapter\b", re.IGNORECASE)
_READ_LAST = re.compile(
    r"\bthe (?:(?:last|latest) )?chapter (?:(?:that|which) )?I(?:['’](?:ve|m)| have| had| am| was)?"
    r"(?: (?:just|last|now|currently|recently))* (?:read(?:ing)?|finish(?:ed|ing)|reached|on|in|at)\b",
    re.IGNORECASE,
)
_NOT_OF_READER = r"(?! (?:(?:that|which) )?I\b)"
LAST_BUT_ONE = r"(?:(?:second|next)[ -]to[ -]last|second[ -]last|last[ -]but[ -]one|penultimate)"
_CHAPTER = (
    rf"(?:(?:the\s+(?:{LAST_BUT_ONE}\s+chapter|last\s+chapter\s+but\s+one)\b"
    rf"|(?:this|the\s+current|the\s+(?:last|final|closing))\s+chapter\b{_NOT_OF_READER}"
    rf"|{_BEFORE}(?:the\s+)?(?:(?:chapter|canto|act)\s+{_READER}(?:{NUMERAL})|(?:{NUMERAL})\s+chapter\b))"
    rf"{_OF_PART})"
)
_IN_CHAPTER = rf"(?:in|during|of)\s+{_CHAPTER}"
# "And in chapter 3?", "What about the last chapter?"
_ALONE = re.compile(
    rf"\s*(?:(?:and|but|so|then|ok(?:ay)?)\b,?\s+)*(?:(?:(?:what|how)\s+about|and)\s+(?:in\s+)?|in\s+)"
    rf"(?P<chapter>{_CHAPTER})[\s?.!]*",
    re.IGNORECASE,
)
_SOME_CHAPTER = re.compile(rf"(?:(?<=\bin )|(?<=\bof )|\b(?!act\b)){_CHAPTER}", re.IGNORECASE)
_IN_BOOK = re.compile(rf"\s+(?:in|of)\s+{THE_BOOK}\Z", re.IGNORECASE)
_OPENING = re.compile(
    rf"\s*(?:{_IN_CHAPTER}[\s,:;–—-]*|(?P<named>{_CHAPTER})(?:\s*[,:;–—-]\s*"
    r"|\s+(?=(?:who|whom|whose|what|which|where|when|why|how)\b)))",
    re.IGNORECASE,
)
_CLOSING = re.compile(rf"[\s,]+{_IN_CHAPTER}(?=[\s?.!]*\Z)", re.IGNORECASE)
_LAST = re.compile(
    rf"\b(?<!\bto[ -])(?:last|final|closing) chapter\b{_NOT_OF_READER}{_OF_PART}", re.IGNORECASE
)
_BUT_ONE = re.compile(rf"\b(?:{LAST_BUT_ONE} chapter|last chapter but one)\b{_OF_PART}", re.IGNORECASE)
_ENDS = re.compile(rf"\bhow (?:does|did) (?:it|{THE_BOOK}) (?:all )?(?:end|finish|conclude)\b", re.IGNORECASE)
_END = 0.1  # of a book's characters
_SMALL = 0.2  # of a passage's
_SHORTEST_TITLE = 4
_AROUND = 400  # characters


@dataclass(frozen=True, slots=True)
class Part:
    """``book.text[start:end]``, in which alone the answer is to be searched, or in one of the ``others``.

    ``missing`` says why nothing is found where there is no such part, or it may not be read.
    """

    start: int
    end: int
    missing: str = NOT_READ
    others: tuple[tuple[int, int], ...] = ()

    def of(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits in this part, cut at its bounds; no small rest of a passage where there are others."""
        found: list[Hit] = []
        rests: list[Hit] = []
        for hit, (first, last) in product(hits, [(self.start, self.end), *self.others]):
            start, end = max(hit.passage.start, first), min(hit.passage.end, last)
            if start < end:
                small = end - start < _SMALL * (hit.passage.end - hit.passage.start)
                cut = replace(hit, passage=replace(hit.passage, start=start, end=end))
                (rests if small else found).append(cut)
        return found or rests


def part_asked(question: str, book: Readable) -> Part | None:
    """The part that a question is about, None where it names none.

    That is a chapter by its number, by its title where the question says that it is one, the last, or this
    one, the last that was begun before the limit; the last tenth of a book for how it ends; and what stands
    around a quotation that is in one place of the book. It is all chapters of a number that several have.
    """
    index, end = book.index, book.end
    chapters = chapters_until(index, end)
    read_last = end < index.characters and _READ_LAST.search(question) is not None
    if index.chapters and (read_last or names_this_chapter(question)):
        return Part(chapters[-1].start, chapters[-1].end) if chapters else Part(0, 0, NO_CHAPTER_BEGUN)
    # Of a book that has none marked, any passage may be of a third chapter.
    numbered = numbered_chapters(question, chapters, index.chapters) if index.chapters else None
    if numbered is not None:
        first, *others = [(one.start, one.end) for one in numbered] or [(0, 0)]
        return Part(*first, missing=NO_SUCH_CHAPTER, others=tuple(others))
    if (last := last_chapter(question, index.chapters)) is not None:
        return Part(*last, missing=NOT_READ if last[1] else NO_SUCH_CHAPTER)
    if _ENDS.search(question):
        return Part(round((1 - _END) * index.characters), index.characters)
    said = [_words(question[match.end() :]) for match in _IN.finditer(question)]
    titled = next((one for one in chapters if any(_begins(words, one.title) for words in said)), None)
    return _around_quotation(question, book) if titled is None else Part(titled.start, titled.end)


def _around_quotation(question: str, book: Readable) -> Part | None:
    """The paragraph of a quotation and what is next to it, where a question quotes what is said only once."""
    quoted = quotation(question)
    if quoted is None:  # of most questions: the text is not read for them
        return None
    text = book.read_so_far()
    place = place_once(quoted, text)
    if place is None:
        return None
    start, end = paragraph_around(text, place[0])
    return Part(max(0, start - _AROUND), min(len(text), end + _AROUND))


def apart_from_chapter(question: str) -> str:
    """The question without the chapter before or behind it, which no passage of the chapter names.

    It stays where it would ask nothing without, "What happens in chapter 3?", and goes there from before a
    question that would else be none: "In chapter 3 what did they lose".
    """
    opening = _OPENING.match(question)
    bare = question[opening.end() :] if opening else _CLOSING.sub("", question)
    kind = question_kind(bare)
    tells = any(word not in TELLING_NOTHING for word in words(bare))
    asks = kind == Kind.YES_NO or not (kind == Kind.OTHER or needs_conversation(bare))
    given = question_kind(question)
    if tells and asks and given != Kind.SUMMARISE:
        return bare[:1].upper() + bare[1:]
    if opening is None or kind == Kind.OTHER or given != Kind.OTHER:
        return question
    chapter = f"in {opening['named']}" if opening["named"] else opening[0].strip(" ,:;–—-")
    return f"{bare[:1].upper()}{bare_question(bare)[1:]} {chapter[:1].lower()}{chapter[1:]}?"


def chapter_alone(question: str) -> str | None:
    """The chapter of which the same is asked as before: chapter 3, of "And in chapter 3?"; None of others."""
    match = _ALONE.fullmatch(question)
    return None if match is None else match["chapter"]


def asked_of_chapter(question: str, chapter: str) -> str:
    """What a question asks, of another chapter than it names, or of that one alone where it names none."""
    bare = bare_question(question)
    if _SOME_CHAPTER.search(bare):
        return f"{_SOME_CHAPTER.sub(lambda _: chapter, bare)}?"
    return f"{_IN_BOOK.sub('', bare)} in {chapter}?"


def of_whole_book(question: str) -> str | None:
    """What a question asks of a chapter, asked of the book; None where none stands at its end."""
    closing = _CLOSING.search(question)
    return None if closing is None else f"{question[: closing.start()]} in the book?"


def numbered_chapter(
    question: str, chapters: Sequence[Chapter], of_book: Sequence[Chapter]
) -> tuple[int, int] | None:
    """The bounds of the first chapter of the number asked for, (0, 0) where no such one is there."""
    found = numbered_chapters(question, chapters, of_book)
    return None if found is None else next(((one.start, one.end) for one in found), (0, 0))


def numbered_chapters(
    question: str, chapters: Sequence[Chapter], of_book: Sequence[Chapter]
) -> list[Chapter] | None:
    """Those of ``chapters`` that a question asks for by number, and by part if it names one; None for others.

    They are several where each part counts its own and none is named. Where none has a number in the book, it
    is the one at that place; so it is in a part that is named and whose numbers go on from the part before.
    """
    match = _NUMBERED.search(question)
    if match is None:
        return None
    number, numbers = numeral(match[1] or match[2]), numbers_of(chapters, of_book)
    inside = _named_part(match[0], of_book)
    if not any(numbers):
        places = enumerate(chapters if inside is None else _without_openings(inside), 1)
        return [one for at, one in places if at == number and one in chapters]
    found = [one for one, its in zip(chapters, numbers, strict=True) if its == number]
    if inside is None:
        return found
    if own := [one for one in found if one in inside]:
        return own
    counted = [(one, its) for one, its in zip(inside, numbers_of(inside, of_book), strict=True) if its]
    if not number or not counted or counted[0][1] == 1:
        return []
    return [one for one, _ in counted[number - 1 : number] if one in chapters]


def last_chapter(question: str, chapters: Sequence[Chapter]) -> tuple[int, int] | None:
    """The bounds of the last of a book's chapters, or the one before it, read or not, where that is asked.

    Of a part, if one is named; (0, 0) where that has none.
    """
    match = _BUT_ONE.search(question)
    back = 2 if match else 1
    match = match or _LAST.search(question)
    if match is None:
        return None
    inside = _named_part(match[0], chapters)
    if inside is None:
        return (chapters[-back].start, chapters[-back].end) if back <= len(chapters) else None
    return (inside[-back].start, inside[-back].end) if back <= len(inside) else (0, 0)


def titled_chapter(question: str, chapters: Sequence[Chapter]) -> tuple[int, int] | None:
    """The bounds of the chapter whose title is in a question."""
    named = [one for one in chapters if _is_named(one.title, question)]
    if not named:
        return None
    longest = max(named, key=lambda chapter: len(chapter.title))
    return longest.start, longest.end


def names_this_chapter(question: str) -> bool:
    """Whether a question says "this chapter"."""
    return _THIS.search(question) is not None


def this_chapter(question: str, chapters: Sequence[Chapter]) -> tuple[int, int] | None:
    """The bounds of the last of ``chapters``, which have been begun, where a question says "this chapter".

    Whoever has just finished one is in it still, until the next one's heading is read.
    """
    return (chapters[-1].start, chapters[-1].end) if chapters and names_this_chapter(question) else None


def numbers_of(chapters: Sequence[Chapter], of_book: Sequence[Chapter]) -> list[int | None]:
    """The numbers of some of a book's chapters, as all of it has them, read or not."""
    numbers = dict(zip(of_book, chapter_numbers(of_book), strict=True))
    return [numbers[one] for one in chapters]


def chapter_numbers(chapters: Sequence[Chapter]) -> list[int | None]:
    """The number of each chapter: 12 of "Chapter XII. The Bell", or of "Part I, XII".

    Those that have one make up half of the text at least, or nobody has: a number is but a word of some
    titles. Parts count where chapters do not, and most of them are one chapter each.
    """
    own = [_own_number(one.title) for one in chapters]
    if _are_most(own, chapters):
        return own
    parts = [numeral(match[1]) if (match := _HEADING.match(one.title)) else None for one in chapters]
    counted = [number for number in parts if number]
    if _are_most(parts, chapters) and 2 * len({*counted}) > len(counted):
        return parts
    return [None] * len(chapters)


def _own_number(title: str) -> int | None:
    """The number that a title begins with, or the innermost of its pieces; None for a part's."""
    match = _PLAIN_NUMBER.match(title)
    if match is None:
        inner = [found for piece in title.split(", ")[1:] if (found := _INNER.match(piece))]
        match = inner[-1] if inner else _NUMBER.match(title)
    if match is None:
        return _number_elsewhere(_CHAPTER_ELSEWHERE, title.rpartition(", ")[2])
    return numeral(next(filter(None, match.groups())))


def _are_most(numbers: Sequence[int | None], chapters: Sequence[Chapter]) -> bool:
    """Whether what has a number is half of the text of all chapters or more."""
    sizes = [one.end - one.start for one in chapters]
    return 2 * sum(size for size, number in zip(sizes, numbers, strict=True) if number) >= sum(sizes)


def _named_part(asked: str, chapters: Sequence[Chapter]) -> list[Chapter] | None:
    """Those of a book's chapters whose titles name the part that is asked for.

    None where no part is, and where no title names one of that kind.
    """
    part = _IN_PART.search(asked)
    if part is None:
        return None
    kind, number = _kind_and_number(part)
    parts = [set(filter(None, map(_part_of_title, one.title.split(", ")))) for one in chapters]
    if all(kind != its for of_one in parts for its, _ in of_one):
        return None
    return [one for one, of_one in zip(chapters, parts, strict=True) if (kind, number) in of_one]


def _part_of_title(piece: str) -> tuple[str, int | None] | None:
    """The kind and the number of the part that a piece of a title names, if it does."""
    match = _IN_PART.match(piece)
    if match is not None:
        return _kind_and_number(match)
    number = _number_elsewhere(_PART_ELSEWHERE, piece)
    return ("part", number) if number else None


def _kind_and_number(part: re.Match[str]) -> tuple[str, int | None]:
    return (part[1] or part[4]).lower(), numeral(part[2] or part[3])


def _number_elsewhere(kind: re.Pattern[str], piece: str) -> int | None:
    """The number in a piece of a title in another language: of ``Zweiter Teil``, ``Capítulo primero``."""
    match = kind.match(piece)
    said = (match[1] or match[2]).rstrip(".") if match else ""
    return numeral(said) or ordinal_elsewhere(said)


def _without_openings(chapters: Sequence[Chapter]) -> list[Chapter]:
    """The chapters of a part without the one that is the part itself, before its first."""
    return [
        one for one in chapters if not any(other.title.startswith(f"{one.title}, ") for other in chapters)
    ]


def _is_named(title: str, question: str) -> bool:
    """Whether the question has the words of a title, its number aside."""
    its = _words(_HEADING.sub("", title, count=1))
    return len(its) >= _SHORTEST_TITLE and f" {its} " in f" {_words(question)} "


def _begins(said: str, title: str) -> bool:
    """Whether what is said begins with the words of a title, its number and "The Adventure of" aside."""
    bare = _HEADING.sub("", title, count=1)
    its = _words(bare[match.end() :] if (match := _ADVENTURE.match(bare)) else bare)
    return bool(its) and f"{said} ".startswith(f"{its} ")


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
