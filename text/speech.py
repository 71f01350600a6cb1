"""What is spoken in a story, between quotation marks, and who is said to speak it: “...,” said Odo."""

from __future__ import annotations

import re

from text.honorifics import TITLES
from text.name_signs import SPEECH as VERBS_OF_SPEECH

# Straight quotes within a paragraph: speech that goes on in the next is not closed, and opened again there.
# A curly single quote between letters is an apostrophe. No second one opens within such speech, so that of a
# text that never closes any not all that follows is read for each.
SPEECH = re.compile(
    r'“[^”]{1,2000}?”|"(?:[^"\n]|\n(?!\s*\n)){1,2000}?"'
    r"|(?<!\w)‘(?:[^‘’\n]|(?<=\w)’(?=\w)|\n(?!\s*\n)){15,2000}?’(?!\w)"
)
_SAID = (VERBS_OF_SPEECH - {"thought", "quoth"}) | frozenset(  # what is thought nobody hears
    re.findall(
        r"\S+",
        """began called declared sighed ejaculated admitted announced protested suggested explained agreed
        growled screamed groaned sobbed gasped pleaded rejoined persisted assented""",
    )
)
SAYS = rf"(?:{'|'.join(sorted(_SAID))}|went on|put in|broke in)"
_TITLE = rf"(?:(?i:{'|'.join(TITLES)})\.? )?"
_OF_WHOM = r"(?:(?:old|young|little|poor|good|dear|first|second|other|tall) )*"
_NAME = rf"{_OF_WHOM}{_TITLE}[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){{0,2}}"
_SOMEBODY = rf"(?:(?:[Tt]he|[Mm]y|[Hh]is|[Hh]er) (?:{_NAME}|{_OF_WHOM}[a-z-]+)|{_NAME})"
_BEHIND = re.compile(rf"\s*(?:{SAYS}\s+(?P<last>{_SOMEBODY})\b(?!['’]s)|(?P<first>{_SOMEBODY})\s+{SAYS}\b)")
_BEFORE = re.compile(
    rf"(?:\A|[.!?;,]\s+|\b(?:and|but|then)\s+)(?P<first>{_SOMEBODY})\s+{SAYS}\b[^.!?“”\"]{{0,60}}[,:]\s*\Z"
)
_NOBODY = frozenset({"He", "She", "They", "I", "We", "You", "It", "And", "But", "Then", "There"})


def speaker(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where ``text`` names who speaks ``text[start:end]``; None where it does not, or says he or she.

    ``text`` is a paragraph, which as a rule has one speaker: beside which of its speeches somebody is said to
    speak is looked at from the quoted one on, then before it.
    """
    speeches = [match.span() for match in SPEECH.finditer(text)]
    quoted = next((at for at, (a, z) in enumerate(speeches) if a < end and start < z), None)
    if quoted is None:
        return None
    for first, last in [*speeches[quoted:], *reversed(speeches[:quoted])]:
        match = _BEHIND.match(text, last) or _BEFORE.search(text[:first])
        if match is not None:
            group = "last" if match.groupdict().get("last") else "first"
            return None if match[group].split()[0] in _NOBODY else match.span(group)
    return None
