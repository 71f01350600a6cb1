"""What a blank could be filled with where nobody says so: the names of the passages, then their nouns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from encoders.tagging import MissingTagger, Tagged, tag
from text.cloze import cloze_tokens
from text.sentences import sentence_spans

MOST = 100
NAMES_ALONE = (
    "only names were tried in the blank, for without the extra cloze nouns are not known "
    "(pip install 'storyqa[cloze]')"
)

_NAMES, _NOUNS = frozenset({"NNP", "NNPS"}), frozenset({"NN", "NNS"})
_WORD = re.compile(r"\w")


def find_candidates(passages: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """Names, then nouns, the more frequent first and ``MOST`` in all; and what to say of them, if anything.

    Neighbouring proper nouns are one name. Without a tagger the names are the words that stand in the
    passages with a capital alone, twice or not at the beginning of a sentence.
    """
    sentences = [
        [passage[start:end][token.start : token.end] for token in cloze_tokens(passage[start:end])]
        for passage in passages
        for start, end in sentence_spans(passage)
    ]
    try:
        tagged = list(tag(sentences))
    except MissingTagger:
        return _most_frequent(_capitalised(sentences)), NAMES_ALONE
    names = _most_frequent(name for words in tagged for name in _names(words))
    nouns = _most_frequent(
        word.text for words in tagged for word in words if word.tag in _NOUNS and _WORD.search(word.text)
    )
    return tuple(dict.fromkeys([*names, *nouns]))[:MOST], None


def _names(words: Sequence[Tagged]) -> Iterator[str]:
    """The runs of proper nouns of one sentence."""
    run: list[str] = []
    for word in words:
        if word.tag in _NAMES and _WORD.search(word.text):
            run.append(word.text)
        elif run:
            yield " ".join(run)
            run = []
    if run:
        yield " ".join(run)


def _capitalised(sentences: Sequence[Sequence[str]]) -> Iterator[str]:
    lower = {word for words in sentences for word in words if word[0].islower()}
    upper = [word for words in sentences for word in words if word[0].isupper() and len(word) > 1]
    inside = {word for words in sentences for word in words[1:]}
    often = {word for word, count in Counter(upper).items() if count > 1}
    yield from (word for word in upper if word in inside | often and word.lower() not in lower)


def _most_frequent(found: Iterator[str]) -> tuple[str, ...]:
    return tuple(text for text, _ in Counter(found).most_common(MOST))
