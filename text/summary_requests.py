"""Whether a summary is asked for, of a book or a part of it: "Sum it up", "What is the ending?"."""

from __future__ import annotations

import re

from text.book_words import THE_BOOK

_CHAPTER = r"(?:chapter \w+|(?:the|this) (?:\w+ )?chapter)"
_TOLD = rf"(?:it|this|that|everything|{THE_BOOK}|{_CHAPTER})"
_TITLE = r"(?-i:[A-Z\"'“‘]).*"  # where it is not known of which book
# "How does it end for the miller?" and "What was it about the mill that ..." ask for something of it.
_ENDS = r"(?=\s*(?:[,;:.?!]|\Z|(?:so far|overall|exactly|actually|really|again|in (?:short|general))\b))"
_OF_NOBODY = r"(?![^.?!]* (?:to|when)\b)"
_QUESTIONS = re.compile(
    rf"\b(?:what happens? in (?:{THE_BOOK}|(?:the|this) chapter)\b{_OF_NOBODY}|"
    rf"what happens? (?:in|at) the (?:very )?(?:end|beginning|start|middle)(?: of (?:{_TOLD}|{_TITLE}))?"
    rf"{_ENDS}|"
    rf"what happen(?:s|ed) in {_CHAPTER}\b{_OF_NOBODY}|"
    r"what(?: has|['’]s)? happen(?:s|ed) so far|"
    rf"what(?:['’]?s| is| was) (?:it|{THE_BOOK}|{_CHAPTER}) about{_ENDS}|"
    rf"how (?:(?:does|did) (?:it|{THE_BOOK}) (?:all )?(?:end|finish)|"
    rf"(?:it|{THE_BOOK}) (?:all )?(?:ends|ended|finishes|finished)){_ENDS})",
    re.I,
)
_PLOT = r"plot(?! (?:against|to|of (?:land|ground))\b)"
_NOUNS = rf"(?:summary|summaries|synopsis|recap|overview|gist|tl;?\s?dr|{_PLOT})"
_EVENTS = r"(?:main|major|key|central|(?:most )?important) events"
_VERBS = rf"(?:summari[sz]e|recap|sum up|sum {_TOLD} up)"
_OF_IT = rf"(?: (?:of|in) (?:{_TOLD}|{_TITLE}))?"
_REQUESTS = re.compile(
    rf"\b(?:{_NOUNS}|{_VERBS})\b|\b(?:the ending|(?:the|list|all) {_EVENTS}){_OF_IT}\W*\Z", re.I
)
_STATED = re.compile(r"\W*(?:(?:and|but|so)\s+)?(?:is|are|was|were|do|does|did|has|have|had)\b", re.I)
_WHAT = rf"what(?:['’]?s| is| was| are| were)(?: the| an?| its| {THE_BOOK}['’]s)?"
_WHOLE_QUESTIONS = re.compile(
    r"(?:(?:and|but|so) )?(?:"
    rf"{_WHAT} (?:(?:main|basic|overall|general|whole|short|brief|quick) )*"
    rf"(?:{_NOUNS}|ending|{_EVENTS}){_OF_IT}(?: so far)?|"
    r"what happen(?:s|ed)(?: in it)?|"
    rf"how (?:would|could|can|do|might|should) (?:you|one|we|i) {_VERBS}\b.*|"
    r"how (?:does|did) the (?:plot|story) (?:go|unfold|develop|progress))",
    re.I | re.S,
)


def asks_summary(question: str, has_question_word: bool) -> bool:
    """Whether a question, or what is no question but a request, is for a summary.

    One with a question word mostly asks for a fact beside such a word: "Who found out about the plot?"
    """
    if _QUESTIONS.search(question) or _WHOLE_QUESTIONS.fullmatch(question.strip(" ?!.")):
        return True
    return not has_question_word and not _STATED.match(question) and bool(_REQUESTS.search(question))
