"""The reader that asks a chat model behind an OpenAI-compatible address, and checks what it cites."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from typing import Any

from encoders.errors import ModelError
from readers.errors import EndpointError
from readers.external.chat_prompts import load_prompt
from readers.external.checked_reply import (
    REFUSED,
    UNKNOWN,
    UNSUPPORTED,
    Excerpts,
    apart,
    checked_answer,
    joined_notes,
    probability_of,
    refused,
)
from readers.external.dialogue import AnswerWords, messages, read_reply, read_rewritten, rewriting_messages
from readers.external.endpoint import Endpoint
from readers.reading import Answer, LanguageModel, OnWords, Reading
from text.question_kinds import Kind, is_comparison, question_kind
from text.question_names import names_in, unmentioned

log = logging.getLogger(__name__)

FORM = "chat:BASE_URL@model=NAME"  # and with more of the passages shown: chat:BASE_URL@model=NAME@chars=48000
MODEL = "@model="
CHARS = re.compile(r"@chars=([0-9]{1,7})")
BUDGET = 12_000  # characters of passages: about 3,000 tokens, so that they fit the least contexts in use
REPLY_TOKENS = 256
LONG_REPLY_TOKENS = 512
MOST_STRETCHES = 24  # of a summary: each is a request of its own
LONGEST_REWRITTEN = 2000
_PROMPTS = {
    Kind.YES_NO: "yes-no",
    Kind.WHY: "explain",
    Kind.HOW: "explain",
    Kind.DESCRIBE: "describe",
    Kind.MEANING: "describe",
    Kind.SUMMARISE: "summary",
}
_LONG = ("describe", "compare", "summary", "summary-join")


class ChatReader(LanguageModel):
    """Asks for a short answer, the number of the passage it rests on and a sentence quoted from it.

    The quotation is looked up. Where it does not stand in the passage cited, or no such passage was
    shown, the citation is dropped and the answer's note says so. Where the answer itself stands in
    the sentence cited, its text is the book's own and its span that place; else the sentence is its
    support.

    The confidence is the geometric mean of the probabilities of the answer's tokens where the
    endpoint tells them, else ``UNKNOWN``, which is no measurement; half of that where no citation
    holds; 0 where the model says that the passages do not answer. There is one answer whatever
    ``n_best`` is.
    """

    def __init__(self, endpoint: Endpoint, model: str, *, budget: int = BUDGET) -> None:
        """``budget`` is how many characters of passages are shown, shared fairly among them."""
        if budget < 1:
            raise ModelError(f"{budget} characters of passages for {model!r}; wanted at least 1")
        self._endpoint = endpoint
        self._model = model
        self._budget = budget
        self._logprobs = True

    @classmethod
    def load(
        cls,
        argument: str | None,
        *,
        key: str | None = None,
        timeout_s: float = 120.0,
        keyless: Collection[str] = (),
    ) -> ChatReader:
        """The model at ``BASE_URL@model=NAME``; the address is first called when something is read.

        A name may end in ``@chars=N``, the budget. The key is not shown at ``keyless`` addresses. Raises
        ``ModelError`` for another form and for an address that is none.
        """
        url, at, model = (argument or "").partition(MODEL)
        if not url.strip() or not at or not model.strip():
            raise ModelError(
                f"the reader 'chat' needs an address and a model, not {argument or ''!r}: write {FORM}, "
                "such as chat:http://127.0.0.1:11434/v1@model=qwen3"
            )
        budget = BUDGET
        if chars := CHARS.search(model):
            if chars.end() != len(model):
                raise ModelError(
                    f"{model[chars.start() :]!r} ends no model's name; wanted @chars=N at its end"
                )
            model, budget = model[: chars.start()], int(chars[1])
        shown = None if url in keyless else key
        return cls(Endpoint(url, shown, timeout_s), model.strip(), budget=budget)

    def reach(self) -> None:
        """See ``Reader.reach``."""
        self._endpoint.reach()

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """One answer per reading, none where there is nothing to read or the model says nothing.

        Raises ``EndpointError`` where the endpoint answers one of them not at all or nonsense.
        """
        return self.read_aloud(readings, n_best)

    def read_aloud(
        self, readings: Sequence[Reading], n_best: int = 1, on_words: Sequence[OnWords | None] = ()
    ) -> list[list[Answer]]:
        """See ``LanguageModel.read_aloud``; raises as ``read`` does.

        A summary of more than fits is made of notes, which are taken stretch by stretch, and of which no
        word is heard.
        """
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        asked = [_Asked(reading, self._budget) for reading in readings]
        self._take_notes([one for one in asked if one.stretches])
        members = [i for i, one in enumerate(asked) if one.passages]
        hears = [on_words[i] if on_words else None for i in members]
        replies = self._ask([asked[i].messages() for i in members], [asked[i].prompt for i in members], hears)
        answers: list[list[Answer]] = [[] for _ in readings]
        for i, (content, tokens) in zip(members, replies, strict=True):
            if content.strip():
                answers[i] = [asked[i].answer(content, tokens)]
            else:
                log.warning("%s said nothing to %r", self._model, readings[i].question[:100])
        for one, of_one in zip(asked, answers, strict=True):
            if one.stretches and not one.passages:
                of_one.append(refused(REFUSED, one.version))
        return answers

    def rewrite(self, question: str, turns: Sequence[tuple[str, str]]) -> str:
        """See ``LanguageModel.rewrite``; raises as ``read`` does."""
        conversation = rewriting_messages(question, turns, load_prompt("rewrite").text)
        [(content, _)] = self._ask([conversation], ["rewrite"], [None])
        rewritten = read_rewritten(content)
        known = "\n".join([question, *(text for turn in turns for text in turn)])
        if not rewritten or len(rewritten) > LONGEST_REWRITTEN or unmentioned(names_in(rewritten), known):
            return question
        return rewritten

    def _take_notes(self, summaries: Sequence[_Asked]) -> None:
        """Have the passages of each of ``summaries`` be what the model notes of its stretches."""
        stretches = [(one, stretch) for one in summaries for stretch in one.stretches]
        if not stretches:
            return
        told = load_prompt("summary-part")
        replies = self._ask(
            [messages(stretch.question, stretch.passages, told.text) for _, stretch in stretches],
            ["summary-part"] * len(stretches),
            [None] * len(stretches),
        )
        for (one, stretch), (content, tokens) in zip(stretches, replies, strict=True):
            reply = read_reply(content)
            note = checked_answer(stretch, reply, probability_of(content, reply, tokens), told.version)
            if not reply.is_refusal:
                one.notes.append(note)

    def _ask(
        self,
        conversations: Sequence[list[dict[str, str]]],
        prompts: Sequence[str],
        on_words: Sequence[OnWords | None],
    ) -> list[tuple[str, list[Any]]]:
        """The text of each reply and what is told of its tokens."""
        if not conversations:
            return []
        bodies: list[dict[str, Any]] = [
            {
                "model": self._model,
                "temperature": 0,
                "max_tokens": LONG_REPLY_TOKENS if prompt in _LONG else REPLY_TOKENS,
                "stream": False,
                "messages": one,
            }
            for one, prompt in zip(conversations, prompts, strict=True)
        ]
        hears = [None if one is None else _pieces_of(one) for one in on_words]
        if self._logprobs:
            try:
                replies = self._endpoint.ask([body | {"logprobs": True} for body in bodies], hears)
                return [*map(self._choice, replies)]
            except EndpointError as error:
                if error.status not in (400, 422):
                    raise
                refused_with = str(error)
        found = [*map(self._choice, self._endpoint.ask(bodies, hears))]
        if self._logprobs:
            log.info("asking without logprobs from now on: %s", refused_with)
            self._logprobs = False
        return found

    def _choice(self, reply: dict[str, Any]) -> tuple[str, list[Any]]:
        url = self._endpoint.url
        try:
            choice = reply["choices"][0]
            content = choice["message"].get("content")
            tokens = (choice.get("logprobs") or {}).get("content") or []
            ended = choice.get("finish_reason")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise EndpointError(
                f"{url} answered without a choice, but with {str(reply)[:200]!r}; wanted a chat completion"
            ) from None
        if not isinstance(content, str | None) or not isinstance(tokens, list):
            raise EndpointError(f"{url} answered with a choice that is no text: {str(choice)[:200]!r}")
        text = content or ""
        if ended == "length" and (not text.strip() or text.rfind("<think>") > text.rfind("</think>")):
            raise EndpointError(
                f"{self._model!r} at {url} spent all its tokens on thinking and gave no answer; "
                "turn its thinking off, or take a model that does not"
            )
        return text, tokens


class _Asked:
    """One reading as the model is asked it: by which prompt, about what, and what its reply means.

    A summary of more than ``budget`` has ``stretches``; its ``passages`` are the ``notes`` taken of them.
    """

    def __init__(self, reading: Reading, budget: int) -> None:
        self.prompt = _prompt_for(reading.question)
        self.notes: list[Answer] = []
        self.stretches: list[Excerpts] = []
        self._excerpts = Excerpts.of(reading, budget)
        if self.prompt == "summary" and self._excerpts.note is not None:
            self.prompt = "summary-join"
            self._excerpts = Excerpts.of(reading, MOST_STRETCHES * budget)
            self.stretches = self._excerpts.stretches(budget)

    @property
    def passages(self) -> tuple[str, ...]:
        """What the model reads: passages, or notes of them."""
        return tuple(note.text for note in self.notes) if self.stretches else self._excerpts.passages

    @property
    def version(self) -> str:
        """Of what the model is told."""
        told = ("summary-part", self.prompt) if self.stretches else (self.prompt,)
        return ", ".join(load_prompt(name).version for name in told)

    def messages(self) -> list[dict[str, str]]:
        """The conversation that asks it."""
        return messages(self._excerpts.question, self.passages, load_prompt(self.prompt).text)

    def answer(self, content: str, tokens: Sequence[Any]) -> Answer:
        """What a reply means; a summary made of notes rests on the places that those rest on."""
        reply = read_reply(content)
        probability = probability_of(content, reply, tokens)
        if not self.stretches:
            return checked_answer(self._excerpts, reply, probability, self.version)
        note = self._excerpts.note
        if reply.is_refusal:
            return refused(joined_notes(REFUSED, note), self.version, reply.answer)
        places = [place for one in self.notes if (place := one.span or one.support) is not None]
        confidence = UNKNOWN if probability is None else probability
        if not places:
            note = joined_notes("none of the places that the model cited holds; they were dropped", note)
            confidence *= UNSUPPORTED
            return Answer(reply.answer, confidence, confidence, None, None, note, prompt=self.version)
        also = apart(places[0], places[1:])
        return Answer(reply.answer, confidence, confidence, None, places[0], note, also, prompt=self.version)


def _prompt_for(question: str) -> str:
    """The name of the prompt that a question is asked with."""
    return "compare" if is_comparison(question) else _PROMPTS.get(question_kind(question), "answer")


def _pieces_of(on_words: OnWords) -> OnWords:
    """Tells ``on_words`` the words of the answer, out of all that the model writes."""
    words = AnswerWords()

    def hear(piece: str) -> None:
        new = words.add(piece)
        if new:
            on_words(new)

    return hear
