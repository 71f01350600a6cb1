"""What stands behind "Tell me", put as a question: "who Ines is", "the name of the dog"."""

from __future__ import annotations

import re

from text.bare_questions import bare_question

_BE = r"(?:is|was|are|were)"
_AMOUNT = r"(?:old|long|far|often|tall|big|large|high|deep)"
_NOUN = (
    r"(?:colou?r|age|year|day|month|time|name|number|size|shape|job|trade|rank|place|town|country|chapter"
    r"|page)s?"
)
_DETERMINER = r"(?:the|an?|this|that|these|those|his|her|its|their|my|your|our)"
_ITS_OWN = r"(?:the|this|that|these|those|his|her|its|their|my|your|our|he|she|it|they|there)"
_NAME = r"(?:(?-i:[^\W\d_a-z])|\w+['’]s\b|(?:mr|mrs|miss|dr)\b)"
_HOW = rf"(?:who|where|when|why|how|how {_AMOUNT})"
_WHAT = (
    rf"(?:what|how (?:many|much)|how many \w+s|(?:(?:in|on|at|of|from) )?(?:what|which) {_NOUN}"
    r"|(?:what|which) (?:kind|sort|type) of (?-i:[a-z]+)|whose \w+)"
)
_OTHER = rf"(?!{_DETERMINER}\b)\w+"


def _clauses(asks: str, subject: str, verb: str, rest: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<asks>{asks}) (?P<subject>{subject}) (?P<verb>{verb})(?P<rest>{rest})", re.IGNORECASE
    )


# What words may begin a subject tells where those end that ask. "How many Danes were lost?" has no such end.
_PLAIN = (
    _clauses(_HOW, rf"{_ITS_OWN}\b.*?", _BE, "(?: .+)?"),
    _clauses(_WHAT, rf"{_ITS_OWN}\b.*?", _BE, rf"(?: (?!{_DETERMINER}\b).+)?"),
)
# Behind "tell me" the subject may be a name, which in lower case may be any word.
_TOLD = (
    *_PLAIN,
    _clauses(_HOW, rf"{_NAME}.*?", _BE, "(?: .+)?"),
    _clauses(_WHAT, rf"{_NAME}.*?", _BE, ""),
    _clauses(r"(?:in|on) (?:what|which) (?:chapter|page)s?", rf"{_NAME}.*?", _BE, "(?: .+)?"),
    _clauses(rf"(?:who|where|when|why|how {_AMOUNT})", rf"{_OTHER}(?: {_OTHER})?", _BE, ""),
    _clauses(r"how (?:many|much) \w+", rf"(?:{_ITS_OWN}\b|{_NAME}).*?", "has|had", ""),
)
# A clause within the subject or behind the verb may be what the verb is of: "who the man that was ill is".
_CLAUSE = re.compile(
    rf"\b(?:{_BE}|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must|who|whom|whose"
    r"|what|which|where|when|why|how|that|if|and|or|but|said|says|thought|thinks|knows?|knew)\b",
    re.I,
)
_LONGEST_SUBJECT = 6  # words

# What is told of somebody or something in a few words. "The captain" and "the bell" are not: they may be told
# about, and "the plot" retold.
_KINDS_OF_NAME = r"(?:first|last|full|whole|complete|family|given|middle|real|true|christian)\s+name"
_OF_SOMETHING = (
    rf"(?:(?:{_KINDS_OF_NAME}|name|surname|nickname|title|age|job|occupation|profession|trade|colou?r|number|date"
    r"|year|price|cost|length|height|size|weight|reason|cause|genre|setting|point\s+of\s+view|address"
    r"|word\s+count|(?:(?:very\s+)?(?:first|last|opening|closing|final)\s+(?:sentence|line|words?)))s?"
    r"|(?:first|last)\s+names)"
)
_OF_SOMEBODY = (
    r"(?:author|writer|narrator|(?:main|central|leading)\s+(?:character|figure|person)|protagonist"
    r"|hero|heroine|villain|antagonist)s?"
)
_NO_OWNER = r"(?:about|of|if|whether|that|to|more|again|all|some|any|something|anything|everything)"
_OF = r"(?:\s+(?:of|for|in|behind|why|that|when|where)\s+.+)?"
_ATTRIBUTE = re.compile(
    rf"(?:the\s+(?P<one>{_OF_SOMETHING}|{_OF_SOMEBODY}){_OF}"
    rf"|(?:(?:his|her|its|their)|(?!{_NO_OWNER}\b)(?:\S+\s+){{0,4}}?\S+(?:['’]s|s['’]))"
    rf"\s+(?P<owned>{_OF_SOMETHING}))",
    re.I,
)
_PERSONS = re.compile(_OF_SOMEBODY, re.I)
_PLURAL = re.compile(r"[^s]s\Z", re.I)


def direct_question(clause: str, *, told: bool) -> str:
    """ "Who is Ines?" for "who Ines is", as a question has its words; what is no such clause as it stands.

    ``told`` where it stands behind "tell me" or such, and is no question by itself.
    """
    bare = bare_question(clause)
    found = next(filter(None, (one.fullmatch(bare) for one in (_TOLD if told else _PLAIN))), None)
    if found is None or len(found["subject"].split()) > _LONGEST_SUBJECT:
        return clause
    if _CLAUSE.search(found["subject"]) or _CLAUSE.search(found["rest"]):
        return clause
    return f"{found['asks']} {found['verb']} {found['subject']}{found['rest']}?"


def question_for(thing: str) -> str | None:
    """ "What is the name of the dog?" for "the name of the dog"; None for what is no such short fact."""
    bare = bare_question(thing)
    found = _ATTRIBUTE.fullmatch(bare)
    if found is None:
        return None
    noun = found["one"] or found["owned"]
    asks = "Who" if _PERSONS.fullmatch(noun) else "What"
    return f"{asks} {'are' if _PLURAL.search(noun) else 'is'} {bare}?"
