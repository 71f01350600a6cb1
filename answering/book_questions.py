"""Plain questions about a book itself, told from those about what happens in it."""

from __future__ import annotations

import re

from answering.chapter_references import LAST_BUT_ONE, PART
from answering.of_itself import AUTHOR, CHARACTERS, FIRST_PUBLISHED, GENRE, LOCATION, TITLE
from indexing.chapters.numerals import NUMERAL
from text.bare_questions import bare_question
from text.book_words import THE_BOOK

MAIN_CHARACTER, NARRATOR, POINT_OF_VIEW = "main character", "narrator", "point of view"
CHAPTERS, CHAPTER_TITLES, CHAPTER_TITLE = "chapters", "chapter titles", "chapter title"
FIRST_SENTENCE, LAST_SENTENCE = "first sentence", "last sentence"
LENGTH, PAGES, READING_TIME = "length", "pages", "reading time"
CHARACTER_COUNT, CHAPTER_CHARACTERS, PLACES = "number of characters", "characters of a chapter", "places"
CHAPTER_OPENING, CHAPTER_CLOSING = "first sentence of a chapter", "last sentence of a chapter"
CHAPTER_LENGTH = "length of a chapter"
LONGEST_CHAPTER, SHORTEST_CHAPTER = "longest chapter", "shortest chapter"

# Of what happens in a book people say the story, too; whoever wrote the story may be somebody in it.
_THIS = r"(?:(?:this|the|that) (?:book|novel|novella)|this(?: (?:story|tale|play|text|one))?)"
_STORY = rf"(?:{_THIS}|{THE_BOOK}|(?:the|that) (?:plot|action))"
_SET = rf"(?:(?:most of |the majority of )?{_STORY}|it)"
_IN = rf"(?: (?:of|in|from) {_STORY}| here)?"
_IS, _ARE = r"(?:['’]?s| is| was)", r"(?:['’]re| are| were)"
_MOSTLY = r"(?:mostly |mainly )?"
_MAIN = r"(?:main|central|leading|lead|principal|primary|most important|key)"
_ONE = rf"(?:{_MAIN} (?:character|person|figure|protagonist)|protagonist|hero)"
_SEVERAL = rf"(?:{_MAIN} (?:characters|people|persons|figures|protagonists)|protagonists|heroes)"
_LINE = r"(?:sentence|line|words?)"
_A_CHAPTER = re.compile(
    rf"(?:{PART},? )?(?:(?:the )?(?:chapter|canto|act) (?:{NUMERAL})|the last chapter but one"
    rf"|the (?:{NUMERAL}|last|final|{LAST_BUT_ONE}) chapter)"
    rf"(?: (?:of|in) {PART})?",
    re.I,
)
_IN_ONE = ("chapter", "canto ", "act ")  # without any of these there is none, which is seen sooner
# Stands for one where a question, which has no line break, is matched: with its numbers a pattern is long.
_NUMBERED = "\n#"
_CHAPTER = rf"(?:{_NUMBERED}|this chapter|the current chapter)"
_NAMED = r"(?:named|mentioned)"
_YEAR = r"(?:when|(?:in )?(?:what|which) year)"
_PERSON = r"(?:the )?(?:first|third)[ -]person(?: (?:point of view|perspective|narration))?"
_CHAPTERS = r"(?:chapters|chapter (?:titles|names|headings|list))"
_SHOW = r"(?:list|name|give(?: me)?|show(?: me)?)"
_BEGIN = rf"(?:does|did) {_STORY} (?:begin|start|open)"
_END = rf"(?:does|did) {_STORY} (?:end|close|finish)"
_READ = rf"(?:read|finish) (?:{_STORY}|it)"
_WHAT_PLACE = r"(?:what|which) (?:place|location|city|town)"

_ASKED = {
    AUTHOR: (
        rf"who{_IS} the (?:author|writer) of {_STORY}",
        rf"who{_IS} the author",
        rf"who (?:wrote|authored) {_THIS}",
        rf"by whom (?:is|was) {_THIS}(?: written)?",
        rf"who{_IS} {_THIS} (?:written )?by",
        rf"what{_IS} the (?:author['’]?s name|name of the (?:author|writer))(?: of {_STORY})?",
        r"(?:the )?author",
    ),
    TITLE: (
        rf"what{_IS} the (?:title of {_STORY}|name of {_THIS})",
        rf"what{_IS} {_THIS} called",
        rf"what{_IS} the title",
        r"(?:which|what) (?:book|novel|story|play) is this",
        r"(?:the )?title",
    ),
    FIRST_PUBLISHED: (
        rf"{_YEAR} was (?:{_THIS}|it) (?:first )?(?:published|printed|released)",
        rf"{_YEAR} was {_THIS} (?:first )?written",
        rf"{_YEAR} did (?:{_THIS}|it) (?:first )?come out",
        rf"{_YEAR} did {_THIS} (?:first )?appear",
        rf"what{_IS} the (?:publication (?:date|year)|(?:date|year) of publication)(?: of {_THIS})?",
    ),
    MAIN_CHARACTER: (
        rf"(?:(?:who|what|which character){_IS} )?(?:the )?{_ONE}{_IN}",
        rf"what{_IS} (?:the {_ONE}['’]?s name|the name of the {_ONE}){_IN}",
        rf"who{_IS} {_STORY} {_MOSTLY}about",
        rf"(?:who|(?:which|what) (?:character|person)){_IS} {_NAMED} (?:the )?most(?: often)?{_IN}",
        rf"(?:who|(?:which|what) (?:character|person)) appears (?:the )?most(?: often)?{_IN}",
    ),
    CHARACTERS: (
        rf"(?:(?:who|which characters|what){_ARE} )?(?:all )?(?:the )?(?:{_SEVERAL}|characters){_IN}",
        rf"(?:list|name)(?: all)?(?: the)? (?:{_MAIN} )?(?:characters|people|persons){_IN}",
        rf"what{_ARE} the names of the {_SEVERAL}{_IN}",
    ),
    CHARACTER_COUNT: (
        rf"how many (?:different |named )?characters{_ARE}(?: there)?(?: {_NAMED})?{_IN}",
        rf"how many (?:different )?(?:people|persons){_ARE} {_NAMED}{_IN}",
        rf"how many (?:different |named )?characters (?:does|did) (?:{_STORY}|it) have",
        rf"how many (?:different |named )?characters has (?:{_STORY}|it)(?: got)?",
        rf"(?:what{_IS} )?the number of characters{_IN}",
    ),
    LOCATION: (
        rf"where (?:does|did) {_SET} {_MOSTLY}(?:take place|happen|play|occur)",
        rf"where{_IS} {_SET} {_MOSTLY}set",
        rf"(?:(?:where|what){_IS} )?(?:the )?(?:main )?setting{_IN}",
        rf"(?:in|at) {_WHAT_PLACE} (?:does|did) {_SET} {_MOSTLY}take place",
        rf"(?:in|at) {_WHAT_PLACE}{_IS} {_SET} {_MOSTLY}set",
        rf"{_WHAT_PLACE} (?:does|did) {_SET} {_MOSTLY}take place in",
        rf"{_WHAT_PLACE}{_IS} {_SET} {_MOSTLY}set in",
    ),
    NARRATOR: (
        rf"(?:who{_IS} )?(?:the )?(?:narrator|storyteller){_IN}",
        rf"who{_IS} (?:narrating|telling) {_STORY}",
        rf"who (?:tells|told|narrates|narrated) {_STORY}",
        r"who narrates",
        rf"what{_IS} the narrator['’]?s name{_IN}",
        rf"(?:from )?whose (?:point of view|perspective){_IS} (?:{_STORY}|it) told(?: from| in)?",
    ),
    POINT_OF_VIEW: (
        rf"(?:what{_IS} )?(?:the )?(?:narrative )?(?:point of view|perspective){_IN}",
        rf"(?:(?:from|in) )?(?:what|which) (?:point of view|perspective|person){_IS} (?:{_STORY}|it)"
        r"(?: (?:told|written|narrated))?(?: (?:from|in))?",
        rf"(?:is|was) (?:{_STORY}|it) (?:told|written|narrated) (?:in|from) {_PERSON}"
        rf"(?: or (?:in |from )?{_PERSON})?",
    ),
    CHAPTERS: (
        rf"how many chapters{_ARE}(?: there)?{_IN}",
        rf"how many chapters (?:does|did) (?:{_STORY}|it) have",
        rf"how many chapters has (?:{_STORY}|it)(?: got)?",
        rf"how many chapters|(?:what{_IS} )?the number of chapters{_IN}",
    ),
    CHAPTER_TITLES: (
        rf"what{_ARE} (?:all )?the (?:titles|names) of the chapters{_IN}",
        rf"what{_ARE} the chapters (?:called|named|titled){_IN}",
        rf"(?:(?:what{_ARE}|{_SHOW}) )?(?:all )?(?:the )?{_CHAPTERS}{_IN}",
        rf"(?:(?:what{_IS}|{_SHOW}) )?(?:the )?(?:table of )?contents{_IN}",
    ),
    CHAPTER_TITLE: (
        rf"what{_IS} {_NUMBERED} (?:called|named|titled){_IN}",
        rf"what{_IS} the (?:title|name|heading) of {_NUMBERED}{_IN}",
        rf"(?:the )?(?:title|name|heading) of {_NUMBERED}{_IN}",
    ),
    CHAPTER_CHARACTERS: (
        rf"(?:who|(?:which|what) (?:characters|people)) (?:appears?|occurs?|comes?|is|are) in {_CHAPTER}",
        rf"(?:who|(?:which|what) (?:characters|people)) (?:is|are) {_NAMED} in {_CHAPTER}",
        rf"(?:(?:who{_ARE}|{_SHOW}) )?(?:all )?(?:the )?(?:characters|people) (?:in|of) {_CHAPTER}",
    ),
    CHAPTER_OPENING: (
        rf"(?:what{_IS} )?(?:the )?(?:very )?(?:first|opening) {_LINE} (?:of|in) {_CHAPTER}",
        rf"what{_ARE} the (?:very )?(?:first|opening) (?:words|lines) (?:of|in) {_CHAPTER}",
        rf"how (?:does|did) {_CHAPTER} (?:begin|start|open)",
    ),
    CHAPTER_CLOSING: (
        rf"(?:what{_IS} )?(?:the )?(?:very )?(?:last|final|closing) {_LINE} (?:of|in) {_CHAPTER}",
        rf"what{_ARE} the (?:very )?(?:last|final|closing) (?:words|lines) (?:of|in) {_CHAPTER}",
    ),
    CHAPTER_LENGTH: (
        rf"how long{_IS} {_CHAPTER}",
        rf"how many words (?:does|did) {_CHAPTER} have",
        rf"how many words (?:are|were)(?: there)? in {_CHAPTER}",
        rf"what{_IS} the (?:length|word count) of {_CHAPTER}",
    ),
    LONGEST_CHAPTER: (
        rf"(?:(?:which|what){_IS} )?(?:the )?longest chapter{_IN}",
        rf"(?:which|what) chapter{_IS} (?:the )?longest{_IN}",
    ),
    SHORTEST_CHAPTER: (
        rf"(?:(?:which|what){_IS} )?(?:the )?shortest chapter{_IN}",
        rf"(?:which|what) chapter{_IS} (?:the )?shortest{_IN}",
    ),
    PLACES: (
        rf"(?:what|which) (?:places|locations|towns|cities|countries) (?:are|were) {_NAMED}{_IN}",
        rf"(?:what|which) (?:places|locations)(?: does)? {_STORY} (?:mentions?|names?)",
        rf"(?:(?:what{_ARE}|{_SHOW}) )?(?:all )?(?:the )?(?:places|locations|settings){_IN}",
    ),
    FIRST_SENTENCE: (
        rf"(?:what{_IS} )?(?:the )?(?:very )?(?:first|opening) {_LINE}{_IN}",
        rf"what{_ARE} the (?:very )?(?:first|opening) (?:words|lines){_IN}",
        rf"how (?:{_BEGIN}|{_STORY} (?:begins|starts|opens))",
        rf"(?:(?:with )?(?:what|which)) {_LINE} {_BEGIN}(?: with)?",
    ),
    LAST_SENTENCE: (
        rf"(?:what{_IS} )?(?:the )?(?:very )?(?:last|final|closing) (?:sentence|line){_IN}",
        rf"what{_ARE} the (?:very )?(?:last|final|closing) (?:words|lines) (?:of|in) {_STORY}",
        rf"what{_IS} the (?:very )?(?:last|final|closing) word (?:of|in) {_STORY}",
        rf"(?:(?:with )?(?:what|which)) {_LINE} {_END}(?: with)?",
    ),
    LENGTH: (
        rf"how long{_IS} {_STORY}",
        rf"how many words (?:does|did) (?:{_STORY}|it) have",
        rf"how many words (?:are|were)(?: there)? in {_STORY}",
        rf"how many words (?:is|has) {_STORY}(?: got)?",
        rf"what{_IS} the length of {_STORY}",
        rf"(?:what{_IS} )?(?:the )?word count(?: of {_STORY})?",
        rf"how many words|(?:what{_IS} )?the number of words(?: in {_STORY})?",
    ),
    PAGES: (
        rf"how many pages (?:does|did) (?:{_STORY}|it) have",
        rf"how many pages (?:are|were)(?: there)?(?: in {_STORY})?",
        rf"how many pages (?:is|has) (?:{_STORY}|it)(?: got)?",
        rf"how many pages|(?:what{_IS} )?the number of pages(?: (?:of|in) {_STORY})?",
    ),
    READING_TIME: (
        rf"how long (?:does|will|would) it take(?: (?:me|one|you|us))? to (?:{_READ}|read)",
        rf"how long (?:does|will|would|do) (?:I|we|one|you) need (?:to {_READ}|for (?:{_STORY}|it))",
        rf"how (?:many hours|much time) (?:does|will|would) it take(?: (?:me|one|you|us))? to {_READ}",
        rf"what{_IS} the reading time(?: (?:of|for) {_STORY})?",
    ),
    GENRE: (
        rf"(?:(?:what|which){_IS} )?(?:the )?genre{_IN}",
        rf"(?:what|which) genre{_IS} {_STORY}(?: in)?",
        rf"what (?:kind|sort|type) of (?:a )?(?:book|novel|story|text|work){_IS} (?:this|it|{_STORY})",
    ),
}
_PATTERNS = {name: re.compile("|".join(patterns), re.I) for name, patterns in _ASKED.items()}

_TAKES_PLACE = re.compile(
    r"where (?P<what>(?:(?:most|the majority) of )?(?:the|this) .+|it) (?:takes|took) place", re.I
)


def asked_of_book(question: str) -> str | None:
    """What a question asks of a book, by the names above and of ``answering.of_itself``; None for others."""
    bare = _direct(bare_question(question))
    if any(word in bare.lower() for word in _IN_ONE):
        bare = _A_CHAPTER.sub(_NUMBERED, bare)
    return next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(bare)), None)


def _direct(question: str) -> str:
    """ "Where does it take place" for "where it takes place", as it stands behind "Can you tell me"."""
    match = _TAKES_PLACE.fullmatch(question)
    return question if match is None else f"where does {match['what']} take place"
