"""Properties as questions: what each is asked as, and what an answer must have to be a value of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Wanted = Literal["person", "place", "trade", "kind", "anything"]
"""What a value is: somebody, somewhere, what somebody does, a kind of book, or whatever is said."""

CHARACTER_PROPERTIES = ("occupation", "spouse", "parents", "residence")
_MOST_WORDS = 6  # of an occupation


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """A property of a book, or of ``of``, somebody in it, as the readers are asked for it.

    ``property`` is what extractors trained on WikiReading are asked. The sentence that a value rests on must
    have a word that ``cues`` finds, where there are any.
    """

    name: str
    of: str | None
    question: str
    property: str
    wanted: Wanted = "anything"
    cues: re.Pattern[str] | None = None
    most: int = 1


def _cues(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})", re.I)


_OF_CHARACTERS: dict[str, tuple[str, str, Wanted, re.Pattern[str] | None, int]] = {
    "occupation": ("What is {of}'s profession?", "occupation", "trade", None, 1),
    "spouse": (
        "Who is the husband or wife of {of}?",
        "spouse",
        "person",
        _cues(r"marri|marry|wife|husband|wed|bride|widow|spouse|honeymoon"),
        1,
    ),
    "parents": (
        "Who are the father and mother of {of}?",
        "father",
        "person",
        _cues(r"father|mother|parent|son\b|daughter|papa|mamma|mama|child|born"),
        2,
    ),
    "residence": (
        "Where does {of} live?",
        "residence",
        "place",
        _cues(r"liv(?:e|es|ed|ing)\b|dwel|resid|lodg|hous|home|cottage|apartment|rooms|settle|inhabit|stay"),
        1,
    ),
}
# Nouns of trades, offices and ranks; others end as they do.
TRADES = (
    r"(?:\w+(?:maker|smith|monger|wright|keeper|master|mistress|holder|owner|worker|driver|dealer|"
    r"ologist|grapher)|abbot|accountant|actor|actress|admiral|agent|ambassador|apothecary|archbishop|archer|barmaid|charwoman|"
    r"courtesan|critic|dealer|executor|huntsman|laundress|mathematician|milliner|notary|patriarch|peddler|"
    r"pedlar|philosopher|stationer|swineherd|trooper|"
    r"apprentice|architect|artist|artisan|attorney|author|baker|banker|barber|barman|barrister|"
    r"bishop|boatman|broker|builder|butcher|butler|captain|cardinal|carpenter|cashier|chaplain|"
    r"chauffeur|chemist|clergyman|clerk|coachman|colonel|composer|constable|cook|corporal|courtier|"
    r"cowboy|curate|dancer|deacon|dentist|deputy|designer|detective|diplomat|director|doctor|"
    r"druggist|editor|engineer|engraver|explorer|farmer|ferryman|financier|fireman|fisherman|"
    r"footman|forester|friar|gambler|gardener|general|gondolier|governess|governor|grocer|groom|"
    r"guard|guide|herald|herdsman|historian|housemaid|hunter|innkeeper|inspector|inventor|jailer|"
    r"jeweller|jockey|journalist|judge|knight|labou?rer|lawyer|lecturer|librarian|lieutenant|"
    r"magistrate|maid|major|manager|marquis|mason|mayor|mechanic|merchant|messenger|midwife|miller|"
    r"miner|minister|minstrel|missionary|monk|musician|naturalist|navigator|novelist|nun|nurse|"
    r"officer|official|organist|page|painter|parson|pastor|peasant|physician|pianist|pilot|pirate|"
    r"planter|playwright|poacher|poet|policeman|politician|porter|preacher|prefect|priest|printer|"
    r"prior|professor|publisher|rancher|ranger|rector|reporter|ringer|sailor|salesman|scholar|"
    r"scientist|scout|scribe|sculptor|seaman|seamstress|secretary|senator|sergeant|servant|sexton|"
    r"shepherd|sheriff|shoemaker|singer|soldier|solicitor|spy|squire|statesman|steward|student|"
    r"superintendent|surgeon|surveyor|tailor|teacher|thief|trader|translator|trapper|tutor|"
    r"undertaker|usher|valet|vicar|violinist|waiter|waitress|warden|warder|warrior|watchman|weaver|"
    r"writer)"
)
_A_TRADE = re.compile(rf"\b{TRADES}s?\b", re.I)
_GENRES = re.compile(
    r"\b(?:novels?|romances?|comed(?:y|ies)|traged(?:y|ies)|dramas?|plays?|poems?|poetry|satires?|memoirs?"
    r"|(?:auto)?biograph(?:y|ies)|essays?|fables?|legends?|(?:detective|love|ghost|short) stor(?:y|ies))\b",
    re.I,
)
_LOCATION = "narrative location"
_GENRE = "genre"


def character_question(property: str, of: str) -> FactQuestion:
    """The question for one of ``CHARACTER_PROPERTIES`` of somebody."""
    question, extracted, wanted, cues, most = _OF_CHARACTERS[property]
    return FactQuestion(property, of, question.format(of=of), extracted, wanted, cues, most)


def book_question(property: str) -> FactQuestion:
    """The question for any other property of a book, or of something in it; a question is asked as it is."""
    if property == _LOCATION:
        return FactQuestion(property, None, "Where does the story take place?", property, "place")
    if property == _GENRE:
        return FactQuestion(property, None, "What kind of book is this?", property, "kind", _GENRES)
    asked = property if property.endswith("?") else f"What is the {property}?"
    return FactQuestion(property, None, asked, property.rstrip("?"))


def is_trade(text: str) -> bool:
    """Whether a text may say what somebody does: a few words, one of them a trade's."""
    return len(text.split()) <= _MOST_WORDS and _A_TRADE.search(text) is not None


def is_kind(text: str) -> bool:
    """Whether a text may be a kind of book."""
    return len(text.split()) <= _MOST_WORDS and _GENRES.search(text) is not None
