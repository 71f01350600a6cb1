"""Yes/no questions, also those that do not begin with their verb: "Wenna comes back, right?"."""

from __future__ import annotations

import re

from text.plain_questions import asks_whether

# What yes/no questions begin with.
AUXILIARIES = frozenset(
    {"am", "is", "are", "was", "were", "do", "does", "did", "has", "have", "had"}
    | {"can", "could", "will", "would", "shall", "should", "may", "might", "must"}
)
_VERB = rf"(?:(?:{'|'.join(sorted(AUXILIARIES))})(?:n['’]?t)?|(?:won|can|ain|shan)['’]?t)"
_PRONOUN = r"(?:i|he|she|it|we|they|there|that|this)"
_PAIR = r"(?:yes\s+or\s+no|true\s+or\s+false|y/n|t/f)"
# "Does she say yes or no?" asks what she says: the pair is the reader's where it stands apart.
_CHOICE = re.compile(
    rf"\A\W*{_PAIR}\s*[:,;.?!–—-]|[:,;.?!(–—-]\s*{_PAIR}\W*\Z|\btrue\s+or\s+false\s+that\b|"
    r"\bwhether\s+or\s+not\b|\bor\s+not(?=\s*[,;.?!)]|\s*\Z)",
    re.I,
)
_TAG = re.compile(
    rf"\W*\w+\W+\w.*(?:[,.;–—-]\s*(?:{_VERB}\s+{_PRONOUN}(?:\s+not)?|right|correct|am\s+i\s+right|"
    r"is\s+that\s+(?:right|true|correct|so)|(?:yes|no|true|huh|eh)(?=\s*\?))|"
    rf"\s(?=\w+n['’]?t\s){_VERB}\s+{_PRONOUN})\W*\Z",
    re.I | re.S,
)
# Not "Name the captain, can you?"
_BEHIND_OPENING = re.compile(rf"[,:;.?!–—-]\s*{_VERB}\s+(?!you\b)\w", re.I)
# "The captain, a stranger, is called what?"
_QUESTION_WORD = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b", re.I)
# "When the ferry came, did he leave?" begins with a clause; "When, exactly, did he leave?" does not.
_CLAUSE = re.compile(
    rf"\A\W*(?:when|where)(?:ever)?\s+"
    rf"(?!(?:{_VERB}|exactly|precisely|about|roughly|else|at|by|during|in|on)\b)",
    re.I,
)
_LAST_MARK = re.compile(r"[^\w?]*\Z")
_OR = re.compile(r"\bor\b", re.I)


def offers_yes_or_no(question: str) -> bool:
    """Whether it names both answers itself: "or not?", "true or false"."""
    return _CHOICE.search(question) is not None


def is_polar(question: str) -> bool:
    """Whether a question without a question word asks for yes or no, and not for one of several things."""
    if offers_yes_or_no(question):
        return True
    found = _TAG.match(question.strip()) or asks_whether(question) or _asks_behind_opening(question)
    return bool(found) and _OR.search(question) is None


def is_polar_behind_clause(question: str) -> bool:
    """Whether it is one behind a clause: "When the ferry came, did he leave?"."""
    return _asks_behind_opening(question) and _OR.search(question) is None


def _asks_behind_opening(question: str) -> bool:
    """Whether its verb stands behind a clause: "In the end, does Wenna come back?"."""
    marked = _LAST_MARK.sub("", question).endswith("?")
    question = _CLAUSE.sub("", question)
    return marked and not _QUESTION_WORD.search(question) and _BEHIND_OPENING.search(question) is not None
