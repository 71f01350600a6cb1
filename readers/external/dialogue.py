"""What a chat model is told and asked, and what its reply says."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

MOST_CITATIONS = 8

# The labels stand first on their lines: that asks less of a small model than JSON with its escapes.
_LABEL = re.compile(
    r"^[ \t>#*_`-]*(answer|passage|quote)[ \t*_`]*[:\uff1a](?:\*\*|__|`)?", re.IGNORECASE | re.MULTILINE
)
_HALF_LABEL = re.compile(r"\n[ \t>#*_`-]*[a-z]{0,7}[ \t*_`]*\Z", re.IGNORECASE)
_QUESTION = re.compile(r"^[ \t>#*_`-]*question[ \t*_`]*[:\uff1a](?:\*\*|__|`)?", re.IGNORECASE | re.MULTILINE)
_EMPHASIS = " \t\n*_`"
_NUMBER = re.compile(r"[0-9]{1,6}")
_UNANSWERABLE = re.compile(
    r"unanswerable\b|not (?:answered|given|mentioned|said|stated|told|found)?\s*(?:by|in) the passages?\b"
    r"|the passages? (?:do|does) not\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Citation:
    """A place that a model cites: the number of a passage, None where it names none, and what it quotes."""

    passage: int | None
    quote: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied: its answer, where that stands in the reply, and the places that it cites."""

    answer: str
    place: tuple[int, int]
    citations: tuple[Citation, ...]

    @property
    def is_refusal(self) -> bool:
        """Whether it says that the passages do not answer the question."""
        return not self.answer or _UNANSWERABLE.match(self.answer) is not None


def messages(question: str, passages: Sequence[str], instructions: str) -> list[dict[str, str]]:
    """The conversation that asks ``question`` about ``passages``, which are numbered from 1."""
    mark = _mark(question, *passages)
    quoted = "\n\n".join(
        f"[passage {number} begins {mark}]\n{passage.strip()}\n[passage {number} ends {mark}]"
        for number, passage in enumerate(passages, 1)
    )
    asked = f"[question begins {mark}]\n{question.strip()}\n[question ends {mark}]"
    return _told(instructions, f"{quoted}\n\n{asked}\n\nReply with the lines ANSWER, PASSAGE and QUOTE.")


def rewriting_messages(
    question: str, turns: Sequence[tuple[str, str]], instructions: str
) -> list[dict[str, str]]:
    """The conversation that asks for ``question`` in words that need none of the ``turns`` before it."""
    said = "\n".join(f"Reader: {asked.strip()}\nAnswer: {answer.strip() or '-'}" for asked, answer in turns)
    mark = _mark(question, said)
    quoted = f"[conversation begins {mark}]\n{said}\n[conversation ends {mark}]"
    asked = f"[question begins {mark}]\n{question.strip()}\n[question ends {mark}]"
    return _told(instructions, f"{quoted}\n\n{asked}\n\nReply with the line QUESTION.")


def _told(instructions: str, content: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": instructions}, {"role": "user", "content": content}]


def _mark(*texts: str) -> str:
    """What tells where quoted material ends: it would have to hold a hash of itself to end its quotation."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:12]


def read_reply(content: str) -> Reply:
    """What a model's reply says; one without labels is an answer on its first line, and cites nothing."""
    start = _after_thoughts(content)
    labels = list(_LABEL.finditer(content, start))
    ends = [*(label.start() for label in labels), len(content)][1:]
    said = [
        (label[1].lower(), (label.end(), max(label.end(), end)))
        for label, end in zip(labels, ends, strict=True)
    ]
    answer = next((place for name, place in said if name == "answer"), None)
    if answer is None:
        end = labels[0].start() if labels else len(content)
        first = next((line for line in content[start:end].splitlines() if line.strip()), "")
        at = content.find(first, start)
        answer = at, at + len(first)
    place = _stripped(content, *answer)
    return Reply(
        answer=_one_line(content[slice(*place)]),
        place=place,
        citations=_citations([(name, content[slice(*where)]) for name, where in said]),
    )


def _citations(said: Sequence[tuple[str, str]]) -> tuple[Citation, ...]:
    """The places that the lines cite; a quote belongs to the passage before it, the first to one after it."""
    found: list[Citation] = []
    early = ""
    for name, text in said:
        if name == "passage" and len(found) < MOST_CITATIONS:
            number = _NUMBER.search(text)
            found.append(Citation(int(number[0]) or None if number else None, early))
            early = ""
        elif name == "quote" and found and not found[-1].quote:
            found[-1] = Citation(found[-1].passage, text.strip())
        elif name == "quote" and not found:
            early = early or text.strip()
    return tuple(one for one in found if one.passage is not None)


class AnswerWords:
    """The words of the answer out of a reply that is still being written."""

    def __init__(self) -> None:
        self._content = ""
        self._told = 0

    def add(self, piece: str) -> str:
        """What of the answer is known by ``piece`` and was not before; "" before the label ``ANSWER``."""
        self._content += piece
        start = _after_thoughts(self._content)
        if self._content.find("<think>", start) >= 0:
            return ""
        labels = list(_LABEL.finditer(self._content, start))
        at = next((i for i, label in enumerate(labels) if label[1].lower() == "answer"), None)
        if at is None:
            return ""
        if at + 1 < len(labels):
            end = labels[at + 1].start()
        else:  # its last line may become a label
            maybe = _HALF_LABEL.search(self._content, labels[at].end())
            end = maybe.start() if maybe else len(self._content)
        if not self._content[labels[at].end() : end].strip(_EMPHASIS):
            return ""  # it may belong to the label
        words = _one_line(self._content[labels[at].end() : end])
        new, self._told = words[self._told :], max(self._told, len(words))
        return new


def read_rewritten(content: str) -> str:
    """The question in a model's reply, or its first line where it has no label."""
    start = _after_thoughts(content)
    label = _QUESTION.search(content, start)
    lines = content[label.end() if label else start :].splitlines()
    first = next((line for line in lines if line.strip()), "")
    return _one_line(first[slice(*_stripped(first, 0, len(first)))])


def _after_thoughts(content: str) -> int:
    """Where the reply of a model that thinks aloud begins."""
    thought = content.rfind("</think>")
    return 0 if thought < 0 else thought + len("</think>")


def _stripped(content: str, start: int, end: int) -> tuple[int, int]:
    """The bounds without the space, and the marks of emphasis or quotation that stand in pairs, around."""
    while True:
        while start < end and content[start].isspace():
            start += 1
        while start < end and content[end - 1].isspace():
            end -= 1
        pair = content[start : start + 1] + content[end - 1 : end]
        if end - start < 3 or pair not in ('""', "\u201c\u201d", "**", "__", "``"):
            return start, end
        start, end = start + 1, end - 1


def _one_line(text: str) -> str:
    """``text`` on one line, without the control characters that a terminal would obey."""
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())
