"""Questions as people type them, put plainly: "Hi! Can you tell me who rang the bell?" asks who rang it."""

from __future__ import annotations

import re
from functools import lru_cache

from text.book_words import THE_BOOK, WORK
from text.indirect_questions import direct_question, question_for
from text.names import ARTICLES

_ASKS = (
    r"(?:(?:in|on|at|to|for|from|by|with|of|about|under|until|since)\s+)?"
    r"(?:who|whom|whose|what|which|when|where|why|how)(?:['’]?s|['’](?:d|re|ve|ll))?\b"
)
SOMEBODY = r"(?:you|anyone|anybody|someone|somebody)"
_GREETINGS = (
    r"(?:hi|hello|hey|hiya|good\s+(?:morning|afternoon|evening))(?:\s+there)?",
    r"(?:so|well|ok|okay|um|uh|hm+|please)",
    r"(?:(?:just\s+a\s+)?quick\s+question|question|just\s+curious|out\s+of\s+curiosity)",
    r"(?:great|cool|nice|perfect|thanks|thank\s+you|thx|i\s+see|got\s+it)\s*[,.!]",
)
_KNOWING = (
    rf"(?:do|does|would)\s+{SOMEBODY}\s+(?:happen\s+to\s+)?(?:know|remember|recall)",
    r"(?:i|we)(?:['’]d|\s+would)\s+(?:like|love)\s+to\s+(?:know|ask)",
    r"(?:i|we)\s+(?:want(?:ed)?|need|have)\s+to\s+(?:know|ask)",
    r"(?:i|we)\s+(?:do\s+not|don['’]?t|can\s?not|can['’]?t)\s+(?:know|remember|recall|understand)",
    r"(?:i|we)\s+(?:forgot|forget|have\s+forgotten)",
    r"(?:i\s+am|i['’]m|we\s+are|we['’]re)\s+trying\s+to\s+(?:find\s+out|work\s+out|remember|recall|understand)",
    r"(?:can|could|may|might)\s+(?:i|we)\s+(?:(?:please|just)\s+)?(?:ask|know)(?:\s+you)?",
)
_CAN_YOU = rf"(?:can|could|would|will)\s+{SOMEBODY}\s+(?:(?:please|kindly|perhaps|maybe)\s+)?"
_FRAMES = (
    *_GREETINGS,
    *_KNOWING,
    rf"{_CAN_YOU}(?:tell|remind|show|explain|describe|say)(?:\s+(?:to\s+)?(?:me|us))?(?:\s+(?:please|again))?",
    r"(?:tell|remind)\s+(?:me|us)(?:\s+(?:please|again))?",
    r"(?:explain|describe|say)(?:\s+to\s+(?:me|us))?",
    r"let\s+(?:me|us)\s+know",
    r"(?:i|we)\s+wonder(?:ed)?",
    r"(?:(?:i\s+am|i['’]m|i\s+was|we\s+are|we['’]re|we\s+were)\s+)?(?:just\s+)?(?:wondering|curious)",
    rf"(?:(?:(?:do|have|does|has)\s+)?{SOMEBODY}\s+(?:have\s+|has\s+|got\s+)?)?any\s+(?:idea|clue)",
)
# What is asked for behind these is a thing: "the name of the dog".
_REQUESTS = (
    rf"(?:{_CAN_YOU})?(?:(?:tell|give|show|remind)\s+(?:me|us)(?:\s+of)?|name|quote|state)(?:\s+(?:please|again))?",
    r"(?:i|we)\s+(?:need|want)",
    r"(?:(?:i\s+am|i['’]m|we\s+are|we['’]re)\s+)?looking\s+for",
)
_BEHIND_FRAME = r"(?:\s*[,:.!?;…-]+\s*|\s+)"
_WHETHER = re.compile(rf"\s*(?:(?:{'|'.join(_FRAMES)}){_BEHIND_FRAME})+(?:if|whether)\b", re.I)
_OF_BOOK = rf"(?:in|from|according\s+to|throughout)\s+{THE_BOOK}"
_THANKS = re.compile(
    r"(?<=[?.!,;])\s*(?:please|pls|thanks|thank\s+you|thx|cheers)"
    r"(?:\s+(?:very\s+much|so\s+much|a\s+lot|in\s+advance))?[\s.!]*(?P<mark>\??)\s*\Z",
    re.I,
)
_REQUESTED = re.compile(
    rf"\s*(?:(?:{'|'.join((*_GREETINGS, *_KNOWING, *_REQUESTS))}){_BEHIND_FRAME}(?:(?:and|but)\s+)?)+", re.I
)
_ASKED = re.compile(_ASKS, re.I)
_SHORT_CHAPTER = re.compile(r"\bch(?:ap)?\b\.?\s*(?=[0-9]|(?-i:[IVXLC]+)\b)|\bch(?:ap)?(?=[0-9])", re.I)
_WITHOUT_APOSTROPHE = re.compile(r"\A(\s*(?:who|what|where|when|why|how))(s)\b", re.I)
_TITLE_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SUBTITLE = re.compile(r"[:;(\[–—]|\bor,\s")
_LONGEST_TITLE = 200  # characters; nobody types more of one
_APART = r"[\W_]+"
_SMALL = ARTICLES | frozenset(
    {"and", "at", "by", "for", "from", "in", "of", "on", "or", "to", "with"}
    | {"her", "his", "its", "my", "our", "their"}
)
_QUOTES = "[\"'“”‘’*_]"
_FEWEST = 3  # words of a title, its article aside, that nobody bears and no place has
_PARTS = (
    r"(?:end|ending|beginning|start|middle|plot|author|writer|narrator|protagonist|antagonist|hero|heroine|"
    r"villain|setting|theme|moral|characters?)"
)


def plain_question(question: str, title: str = "") -> str:
    """The question without what is polite before and behind it, and without what says which book is asked.

    ``title`` is that of the book: "In The Salt Road, who ...?" asks who, and "How does The Salt Road end?"
    how the book ends. "Tell me who Ines is" asks "Who is Ines", and so does "Give me the name of the dog" ask
    what it is. "Ch. 3" is chapter 3. What does not ask who, what, where, when, why, how or which is else left
    as it stands, and so is a title that may be meant for whom or what it names.
    """
    question = _SHORT_CHAPTER.sub("chapter ", question)
    name = _title_pattern(title)
    begins = _opening(name).match(question)
    plain = question[begins.end() :] if begins else question
    if _ASKED.match(plain.lstrip()):
        plain = _WITHOUT_APOSTROPHE.sub(r"\1'\2", _without_thanks(plain))
        plain = direct_question(plain, told=begins is not None)
    else:
        requested = _REQUESTED.match(question)
        thing = question_for(_without_thanks(question[requested.end() :])) if requested else None
        if thing is None:
            return question
        plain = thing
    if name:
        plain = _of_the_book(plain, name)
    return question if plain == question else plain[:1].upper() + plain[1:]


def _without_thanks(question: str) -> str:
    thanks = _THANKS.search(question)
    if thanks is None:
        return question
    bare = question[: thanks.start()].rstrip(" ,;")
    return bare if bare.endswith(("?", ".", "!")) else bare + thanks["mark"]


@lru_cache(256)
def _opening(name: str) -> re.Pattern[str]:
    """What may stand before a question, with the name of the book where it has one."""
    frames = [*_FRAMES, _OF_BOOK]
    if name:
        by = r"(?:\s+by\s+[^,?]{2,40}(?=,))?"
        frames.append(rf"(?:in|from|according\s+to|throughout)\s+(?:(?:the|this)\s+{WORK}\s+)?{name}{by}")
    return re.compile(rf"\s*(?:(?:{'|'.join(frames)}){_BEHIND_FRAME}(?:(?:and|but)\s+)?)+(?={_ASKS})", re.I)


@lru_cache(256)
def _title_pattern(title: str) -> str:
    """A pattern of the title as people write it: in any case, in quotes or not, with its subtitle or not."""
    title = title[:_LONGEST_TITLE]
    short = _SUBTITLE.split(title, maxsplit=1)[0]
    names = dict.fromkeys(_words_pattern(one) for one in (title, short) if _TITLE_WORD.search(one))
    return rf"(?P<open>{_QUOTES}*)(?P<title>{'|'.join(names)})(?!\w){_QUOTES}*" if names else ""


def _words_pattern(title: str) -> str:
    first, *rest = _TITLE_WORD.findall(title)
    if rest and first.lower() in ARTICLES:
        return r"(?:(?:the|a|an)\s+)?" + _APART.join(map(re.escape, rest))
    return _APART.join(map(re.escape, [first, *rest]))


def asks_whether(question: str) -> bool:
    """Whether it asks politely if something is so: "I wonder if Wenna comes back"."""
    return _WHETHER.match(question) is not None


def _of_the_book(question: str, name: str) -> str:
    """The question with "the book" for its title where that can be nothing else."""
    for before, behind in (
        (rf"\b{_PARTS}\s+(?:of|in)\s+", ""),
        (r"\bwhat(?:['’]?s|\s+is|\s+was)\s+", r"(?=\s+about\b)"),
        (r"\bwho\s+(?:wrote|authored)\s+", r"(?=[\s?.!]*\Z)"),
        (r"\b(?:when|year)\s+was\s+", r"(?=\s+(?:first\s+)?published\b)"),
        (r"\bwhat\s+happen(?:s|ed)\s+in\s+", r"(?=[\s?.!]*\Z)"),
        (r"\b(?:main|major|key|central|important)\s+events\s+(?:of|in)\s+", ""),
        (r"\bhow\s+(?:does|did)\s+", r"(?=\s+(?:all\s+)?(?:end|finish|begin|start)\b)"),
    ):
        question = re.sub(rf"(?P<before>{before}){name}{behind}", r"\g<before>the book", question, flags=re.I)
    return re.sub(rf"(?P<before>\b(?:in|from)\s+){name}", _named_work, question, flags=re.I)


def _named_work(match: re.Match[str]) -> str:
    """ "in the book" for "in The Salt Road" and for "in 'Emma'", but not for "in Emma", who may be meant."""
    found = _TITLE_WORD.findall(match["title"])
    titled = all(word[0].isupper() or word[0].isdigit() for word in found if word.lower() not in _SMALL)
    long = len(found) - (found[0].lower() in ARTICLES) >= _FEWEST
    works = bool(match["open"]) or (long and titled)
    return f"{match['before']}the book" if works else match[0]
