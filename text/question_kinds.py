"""What a question asks for, told by its words: a person, a reason, yes or no, a summary, ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

from text.book_words import THE_BOOK
from text.plain_questions import SOMEBODY, plain_question
from text.polar_questions import AUXILIARIES, is_polar, is_polar_behind_clause, offers_yes_or_no
from text.summary_requests import asks_summary
from text.tokens import Token, tokens


class Kind(StrEnum):
    """What has to be answered."""

    WHO = "who"
    WHERE = "where"
    WHEN = "when"
    WHY = "why"
    HOW_MANY = "how many"
    HOW = "how"
    YES_NO = "yes or no"
    DESCRIBE = "describe"
    SUMMARISE = "summarise"
    MEANING = "meaning"
    WHAT = "what"
    OTHER = "other"


_OF_WORD = {
    "who": Kind.WHO,
    "whom": Kind.WHO,
    "whose": Kind.WHO,
    "where": Kind.WHERE,
    "when": Kind.WHEN,
    "why": Kind.WHY,
    "how": Kind.HOW,
    "what": Kind.WHAT,
    "which": Kind.WHAT,
}
_AMOUNTS = frozenset({"many", "much", "old", "long", "far", "often", "tall", "big", "large", "high", "deep"})
_PERSON_NOUNS = frozenset({"name", "person", "man", "woman", "boy", "girl", "character"})
# They have the form of yes/no questions, and ask for a name or a thing.
_POLITE_REQUEST = re.compile(
    r"\W*(?:(?:can|could|would|will)\s+(?:you\s+(?:please\s+|kindly\s+)?(?:give|identify|find)|"
    rf"{SOMEBODY}\s+(?:please\s+|kindly\s+)?(?:name|list|quote))|"
    rf"(?:do|does|would)\s+{SOMEBODY}\s+(?:happen\s+to\s+)?(?:know|remember|recall)\s+"
    r"(?:the|his|her|its|their|any)\s+(?:[\w'’]+\s+){0,4}(?:names?|year|date|place|reason|title))\b",
    re.I,
)
_IS_OR_WAS = r"(?:['’]?s| is| was| are| were)"
_OVERALL = r"(?:main |central |key |major |underlying |overall )?"
_OF_IT = rf" (?:of|in|behind) (?:it|{THE_BOOK}|(?:the|this) title)"
_TAUGHT = r"(?:message|point|lessons?|significance)"  # "What was the message?" may be of one that is brought
_MEANINGS = re.compile(
    rf"what{_IS_OR_WAS} the {_OVERALL}(?:themes?|morals?|meaning)(?:{_OF_IT})?|"
    rf"what(?:{_IS_OR_WAS} the {_OVERALL}{_TAUGHT}{_OF_IT}|(?:['’]?s| is| are) the {_OVERALL}{_TAUGHT})|"
    r"what (?:do|does|did) .+ symboli[sz]e|"
    r"what (?:do|can|should) (?:we|i|readers?|the reader) learn from (?:it|(?:the|this) \w+)|"
    r"what (?:is|was) the author (?:trying to say|saying)",
    re.I | re.S,
)
# Not "Who was the one that the dog did not like?" nor "Who is it that he looks like?"
_CLAUSE_WITH_LIKE = (
    r"(?:.*\b(?:that|who|whom|which|do|does|did|would|could|not|looks?|looked|seem(?:s|ed)?)\b|.*n['’]t\b"
    r"|.*\bto like\Z)"
)
GIVE_DESCRIPTION = (
    r"give (?:me|us) (?:an? |the |some |more )?(?:\w+ )?(?:description|portrait|info(?:rmation)?|details?)"
    r" (?:of|about|on)"
)
_DESCRIPTIONS = re.compile(
    r"(?:(?:and|so|please|can you|could you|would you) )*"
    r"(?:(?:describe|explain|compare|tell (?:me|us) (?:more )?about)\b.*|"
    rf"{GIVE_DESCRIPTION} .*|"
    rf"(?:what|who) (?:is|was|are|were) (?!{_CLAUSE_WITH_LIKE}).+ like|"
    r"what do(?: we|es (?:one|the reader)) (?:know|learn) (?:about|of) .*|"
    r"what (?:can|could) (?:you|one|anybody|anyone) (?:tell|say)(?: (?:me|us))? (?:about|of) .*)",
    re.I | re.S,
)
_COMPARISONS = re.compile(
    r"\bcompare(?:d|s)?\b|\b(?:difference|differences|similarit(?:y|ies)) between\b|"
    r"\bhow (?:do|does|did|are|is|was|were) .+ (?:differ|different|alike|similar)\b|\bin common\b",
    re.I | re.S,
)
_FEELINGS = re.compile(
    r"\bhow (?:am|is|are|was|were|do|does|did|can|could|will|would|shall|should|may|might|must)\b.*"
    r"\bfeel(?:ing)?\b",
    re.I | re.S,
)
_COMMANDS = frozenset(
    {"describe", "compare", "explain", "summarise", "summarize", "tell", "give", "name", "list", "recap"}
)
OPENERS = frozenset({"and", "but", "so", "then", "also", "or", "well", "ok", "okay", "please", "hey", "hi"})


def question_kind(question: str) -> Kind:
    """The kind of a question, by its first word that tells one; what it is put politely with tells none."""
    question = plain_question(question)
    keys = [token.key for token in tokens(question)]
    while keys and keys[0] in OPENERS:
        del keys[0]
    # "In which year ...", "When they met, who ...": the word that asks need not be the first.
    asking = [
        at for at, key in enumerate(keys) if key in _OF_WORD and (at == 0 or not _is_relative(keys, at))
    ]
    if asks_summary(question, has_question_word=bool(asking)):
        return Kind.SUMMARISE
    if _DESCRIPTIONS.fullmatch(question.strip(" ?!.")):
        return Kind.DESCRIBE
    if _MEANINGS.fullmatch(question.strip(" ?!.")):
        return Kind.MEANING
    if keys and keys[0] in AUXILIARIES:
        if _POLITE_REQUEST.match(question):
            return Kind.OTHER
        return Kind.OTHER if "or" in keys and not offers_yes_or_no(question) else Kind.YES_NO
    if not asking:
        return Kind.YES_NO if is_polar(question) else Kind.OTHER
    if asking == [0] and is_polar_behind_clause(question):
        return Kind.YES_NO
    after_clause = [at for at in asking if at and keys[at - 1] == ","]
    at = after_clause[0] if after_clause and keys[asking[0]] in {"when", "where"} else asking[0]
    return _refined(_OF_WORD[keys[at]], keys[at + 1 :])


def asks_feeling(question: str) -> bool:
    """Whether a question asks how somebody feels."""
    return _FEELINGS.search(question) is not None


def is_comparison(question: str) -> bool:
    """Whether a question asks what is alike in two, or different."""
    return _COMPARISONS.search(question) is not None


def _is_relative(keys: list[str], at: int) -> bool:
    """Whether the word begins a clause about what stands before it: "the man who laughed"."""
    return keys[at - 1] != "," and keys[at - 1] not in PREPOSITIONS


def _refined(kind: Kind, rest: list[str]) -> Kind:
    if kind == Kind.HOW and rest and rest[0] in _AMOUNTS:
        return Kind.HOW_MANY
    if kind == Kind.HOW and rest[:1] == ["come"]:
        return Kind.WHY
    if kind == Kind.WHAT and rest:
        if "for" in rest[-2:] and rest[0] in AUXILIARIES:
            return Kind.WHY
        if rest[0] in {"time", "year", "day", "month", "season", "date"}:
            return Kind.WHEN
        if rest[0] in {"place", "city", "town", "country"}:
            return Kind.WHERE
        if rest[0] in _PERSON_NOUNS - {"name"}:
            return Kind.WHO
    return kind


_SUBJECTS = frozenset({"he", "she", "they"})
_OBJECTS = frozenset({"him", "them"})
_POSSESSIVES = frozenset({"his", "their", "hers", "theirs"})
_PRONOUNS = _SUBJECTS | _OBJECTS | _POSSESSIVES | {"her", "it"}
PREPOSITIONS = frozenset({"in", "at", "on", "to", "by", "for", "from", "with", "of", "until", "and", "when"})
_DETERMINERS = frozenset(
    {"the", "a", "an", "this", "that", "these", "those", "my", "our", "your", "every", "each"}
)
_SEARCHABLE = 2  # words that tell something, with which a question can be looked up
TELLING_NOTHING = (
    _PRONOUNS
    | PREPOSITIONS
    | AUXILIARIES
    | _AMOUNTS
    | OPENERS
    | _OF_WORD.keys()
    | {
        "its",
        "you",
        "your",
        "not",
        "too",
        "that",
        "this",
        "there",
        "here",
        "then",
        "now",
        "about",
        "into",
        "out",
    }
    | {"off", "over", "away", "back", "before", "after", "actually", "really", "finally", "even", "ever"}
    | {"never", "always", "again", "just", "still", "first", "last", "next", "else", "both", "end", "than"}
    | {"come", "came", "get", "got", "going", "doing", "done", "make", "made", "say", "said", "thing"}
    | {"things", "something", "anything", "happen", "happened", "happens", "because", "instead", "like"}
)
_ASKING = frozenset({"who", "whom", "whose", "which", "what"})
# Of whom or what the same may be asked. "What about Pim made Ruta laugh?" goes on.
ANOTHER = r"(?:(?:the|an?|this|that|my|your|his|her|its|our|their) )?(?:[\w'’.-]+ )?[\w'’.-]+"
_COUNTED = frozenset({"many", "much"})
_BARE = re.compile(
    r"(?:and |but |so |then )*(?:why|how|how so|how come|why not|what|who|when|where|what else|who else|"
    r"what then|what next|then|what happen(?:s|ed) (?:next|then|after that)|go on|(?:tell me )?more|really|"
    rf"(?:what|how) about {ANOTHER})",
    re.I,
)


def needs_conversation(question: str) -> bool:
    """Whether a question is about something said before: "And then?", or pronouns and nothing to search for.

    Only where it begins as questions do. One that names or describes something, before its pronoun or behind
    it, can be looked up in a book, though it may be answered of another "she".
    """
    bare = question.strip().rstrip("?!. ")
    if _BARE.fullmatch(bare):
        return True
    found = list(tokens(question))
    keys = [token.key for token in found]
    asking = next((key for key in keys if key not in OPENERS), "")
    if asking not in _OF_WORD and asking not in AUXILIARIES:
        return False  # words to look for, or a piece of the text
    if any(describes(question, found, at) for at in range(len(found))):
        return False
    telling = {key for key in keys if key.isalpha() and len(key) > 2 and key not in TELLING_NOTHING}
    if any(one in _COUNTED and other in telling for one, other in pairwise(keys)):
        return False  # "How many spoons did they have?"
    return len(telling) < _SEARCHABLE and any(_is_open_pronoun(keys, at) for at in range(len(keys)))


def opens_question(key: str) -> bool:
    """Whether a first word is one that questions begin with, whose capital makes it no name."""
    return any(key in words for words in (_OF_WORD, AUXILIARIES, OPENERS, _PRONOUNS, _COMMANDS))


def describes(question: str, found: Sequence[Token], at: int) -> bool:
    """Whether the word at that place of the question's tokens begins a name or "the landing"."""
    token = found[at]
    following = "".join(one.key for one in found[at + 1 : at + 2])
    return (
        (question[token.start].isupper() and token.key != "i" and (at > 0 or not opens_question(token.key)))
        or (token.key in _DETERMINERS and following.isalpha() and following not in TELLING_NOTHING)
        or (following == "s" and not opens_question(token.key))  # "mistress's"
    )


def _is_open_pronoun(keys: Sequence[str], at: int) -> bool:
    """Whether the word is a pronoun that stands for nothing in the question."""
    key, following = keys[at], "".join(keys[at + 1 : at + 2])
    asked = not _ASKING.isdisjoint(keys[:at])
    if key in _SUBJECTS or key in _OBJECTS:
        return True
    if key == "her":  # "Who lost her hat?" says whose; "Who saw her?" does not
        return not (asked and following.isalpha() and following not in PREPOSITIONS)
    if key in _POSSESSIVES:
        return not asked
    return key == "it" and len(keys) <= 5 and following in {"", "?", "about", "for"}
