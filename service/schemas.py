"""What goes over HTTP, and what ``--json`` prints: the same objects, and what they mean."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from answering.ask import (
    LONGEST_ANSWER,
    LONGEST_CANDIDATE,
    LONGEST_QUESTION,
    MOST_ANSWERS,
    MOST_CANDIDATES,
    MOST_PASSAGES,
    MOST_TURNS,
)
from answering.book_qa import CitedAnswer, Searched, passages_read
from answering.citing import Verdict
from service.request_body import RequestBody

MOST_QUESTIONS = 256
MOST_BOOKS = 1000  # given one by one; a shelf may have more

EVIDENCE = {
    "book_id": "the-bell",
    "title": "The Bell",
    "start": 10412,
    "end": 10427,
    "passage": 9,
    "chapter": "III. The Bell Rope",
    "page": "37",
    "percent": 21.4,
    "text": "under the stone",
    "sentence": "She had hidden the key under the stone by the well.",
    "sentence_start": 10385,
    "sentence_end": 10436,
}
_PASSAGE = {
    "book_id": "the-bell",
    "title": "The Bell",
    "number": 9,
    "start": 9801,
    "end": 10922,
    "score": 11.37,
    "chapter": "III. The Bell Rope",
    "page": "35",
}
_VERSIONS = {"index": "5f0c3a91d2b7", "retriever": "hybrid"}
_CANDIDATE = {
    "text": "under the stone",
    "confidence": 0.81,
    "evidence": EVIDENCE,
    "note": None,
    "also": [],
    "chain": [],
}
ANSWERED = {
    "answer": "under the stone",
    "confidence": 0.81,
    "answerable": True,
    "verdict": "answer",
    "evidence": EVIDENCE,
    "note": None,
    "candidates": [_CANDIDATE],
    "passages": [_PASSAGE],
    "versions": _VERSIONS | {"reader": "span"},
    "timings_ms": {"search": 2.1, "rerank": 31.0, "read": 17.0, "cite": 0.2, "total": 50.3},
}
_LANGUAGE_MODEL = {
    "name": "chat:http://127.0.0.1:11434/v1@model=qwen3",
    "description": "what a chat model behind an OpenAI-compatible address says",
    "is_default": False,
    "any_kind": True,
    "language_model": "qwen3",
    "server": "Ollama",
}
_ASKED = {"book_id": "the-bell", "question": "Where was the key hidden?"}


def example(content: dict[str, Any] | list[Any]) -> ConfigDict:
    """The configuration of an object that is sent, with an example of it for the OpenAPI."""
    return ConfigDict(extra="forbid", from_attributes=True, json_schema_extra={"examples": [content]})


_NOTE = Field(
    description="What the reader has to say of this answer, such as that a citation was made up; else null."
)
BookId = Annotated[str, Field(max_length=200, description="As `GET /books` lists it.")]
Before = Annotated[
    StrictInt | str | None,
    Field(
        description="How far the reader has got, a character offset or a share such as `40%`: no spoilers.",
        examples=["40%", 30000],
    ),
]
BookIds = Annotated[
    Annotated[str, Field(max_length=2000)]
    | Annotated[list[BookId], Field(min_length=1, max_length=MOST_BOOKS)],
    Field(
        description="A book's id, as `GET /books` lists it; or several books at once: a list of ids, "
        "`shelf:NAME` as `GET /shelves` lists it, or `*` for every book.",
        examples=["the-bell", ["the-bell", "the-mill"], "shelf:mysteries", "*"],
    ),
]
Limits = Annotated[
    StrictInt | str | Annotated[dict[BookId, StrictInt | str | None], Field(max_length=MOST_BOOKS)] | None,
    Field(
        description="How far the reader has got, a character offset or a share such as `40%`: no spoilers. "
        "Of several books it is of each alike, or an object by book id, in which `*` stands for all others; "
        "books that it does not name may be read to their ends.",
        examples=["40%", 30000, {"the-bell": "40%", "*": 0}],
    ),
]


class SearchRequest(RequestBody):
    """A question to search a book for, or several."""

    model_config = example(_ASKED | {"k": 5, "retriever": "hybrid", "before": "40%"})

    book_id: BookIds
    question: str = Field(min_length=1, max_length=LONGEST_QUESTION)
    k: int = Field(default=5, ge=1, le=MOST_PASSAGES, description="How many passages at most.")
    retriever: str | None = Field(
        default=None, max_length=200, description="The server's own choice where left out."
    )
    before: Limits = None


class TurnIn(BaseModel):
    """What was asked before, and answered."""

    model_config = example({"question": "Who hid the key?", "answer": "the miller's daughter"})

    question: str = Field(min_length=1, max_length=LONGEST_QUESTION)
    answer: str = Field(default="", max_length=LONGEST_ANSWER)


class WordsOut(BaseModel):
    """Some more words of an answer, as a language model writes them."""

    model_config = example({"text": "under the "})

    text: str


class AnswerRequest(SearchRequest):
    """A question to answer from a book."""

    model_config = example(_ASKED | {"k": 5, "n_best": 3})

    reader: str | None = Field(
        default=None, max_length=200, description="The server's own choice where left out."
    )
    n_best: int = Field(default=3, ge=1, le=MOST_ANSWERS, description="At most so many candidates.")
    candidates: list[Annotated[str, Field(min_length=1, max_length=LONGEST_CANDIDATE)]] = Field(
        default=[],
        max_length=MOST_CANDIDATES,
        description="The answers to choose from, where it is one of these. A question with a blank, `XXXXX`, "
        "`@placeholder` or `____`, is answered by one of the names and nouns of the passages if left out.",
        examples=[["the miller", "the ferryman"]],
    )
    conversation: list[TurnIn] = Field(
        default=[],
        max_length=MOST_TURNS,
        description="What was asked and answered before: the question is put so that it can be understood "
        "alone, by readers that are language models in words of theirs, for others by rule, its pronouns "
        "replaced. Give what was answered up to the same `before`.",
    )


class EvidenceOut(BaseModel):
    """A place in the book; offsets are Unicode code points, half-open."""

    model_config = example(EVIDENCE)

    book_id: str = Field("", description="The book that it is in.")
    title: str = Field("", description="That book's title.")
    start: int
    end: int
    passage: int = Field(description="The number of the passage it was read in; it may end in the next.")
    chapter: str | None = Field(description="Null where no chapter is marked.")
    page: str | None = Field(None, description="Its printed number; null where the file had no pages.")
    percent: float = Field(description="How far into the book it is, 0 to 100.")
    text: str = Field(description="Exactly the book's text from `start` to `end`.")
    sentence: str = Field(description="The sentence it stands in, exactly as in the book.")
    sentence_start: int
    sentence_end: int


class CandidateOut(BaseModel):
    """One of the best answers."""

    model_config = example(_CANDIDATE)

    text: str
    confidence: float
    evidence: EvidenceOut | None
    note: str | None = _NOTE
    also: list[EvidenceOut] = Field(
        description="Other places that answer the same, or that it rests on too, in story order."
    )
    chain: list[EvidenceOut] = Field(description="The facts that it follows from, in the order of finding.")


class PassageOut(BaseModel):
    """A passage that was read."""

    model_config = example(_PASSAGE)

    book_id: str = Field("", description="The book that it is of.")
    title: str = Field("", description="That book's title.")
    number: int
    start: int
    end: int
    score: float = Field(description="Comparable within one result list only.")
    chapter: str | None
    page: str | None = Field(None, description="The printed number of the page it begins on.")


class AnswerResponse(BaseModel):
    """An answer and where in the book it stands."""

    model_config = example(ANSWERED)

    answer: str = Field(
        description="Empty where there was nothing to read, or the reader cannot answer such a question."
    )
    confidence: float = Field(description="0 to 1.")
    answerable: bool = Field(
        description="False where the confidence is so low that the passages read may not answer the "
        "question; `answer` is the best guess all the same."
    )
    verdict: Verdict = Field(
        description="`answer` where most such answers are right, `maybe` where the passages should be looked "
        "at, `none` where the book may not say, or the reader cannot answer such a question: see `note`."
    )
    evidence: EvidenceOut | None = Field(description="Null where nothing in the book supports the answer.")
    note: str | None = _NOTE
    candidates: list[CandidateOut] = Field(description="The best answers, best first.")
    passages: list[PassageOut] = Field(
        description="The passages read, in story order; one that cut an answer with the rest of its sentence."
    )
    versions: dict[str, str] = Field(
        description="Of the index, the retriever and the reader; `prompt` of what a language model was told."
    )
    timings_ms: dict[str, float] = Field(description="Of the whole batch that the question was answered in.")
    rewritten: str | None = Field(
        default=None,
        description="The question as it was answered, where it was put plainly or follows others.",
    )

    @classmethod
    def of(cls, cited: CitedAnswer) -> AnswerResponse:
        """The response for one cited answer."""
        return cls(
            answer=cited.text,
            confidence=cited.confidence,
            answerable=cited.answerable,
            verdict=cited.verdict,
            note=cited.note,
            evidence=None if cited.evidence is None else EvidenceOut.model_validate(cited.evidence),
            candidates=[CandidateOut.model_validate(candidate) for candidate in cited.candidates],
            passages=[PassageOut.model_validate(passage) for passage in cited.passages],
            versions=cited.versions,
            timings_ms=cited.timings_ms,
            rewritten=cited.rewritten,
        )


class HitOut(PassageOut):
    """A passage that was found, with its text."""

    model_config = example(_PASSAGE | {"text": "She had hidden the key under the stone by the well. …"})

    text: str


class SearchResponse(BaseModel):
    """The passages found, best first."""

    model_config = example(
        {
            "hits": [_PASSAGE | {"text": "She had hidden the key under the stone by the well. …"}],
            "versions": _VERSIONS,
            "timings_ms": {"search": 2.1, "rerank": 31.0, "total": 33.1},
        }
    )

    hits: list[HitOut]
    versions: dict[str, str]
    timings_ms: dict[str, float] = Field(description="Of the whole batch that the question was in.")

    @classmethod
    def of(cls, searched: Searched) -> SearchResponse:
        """The response for what was found for one question."""
        found = searched.found
        return cls(
            hits=[
                HitOut(
                    **PassageOut.model_validate(hit).model_dump(),
                    text=placed.book.index.text(hit.start, hit.end),
                )
                for placed, hit in zip(found.hits, passages_read(found.hits), strict=True)
            ],
            versions={"index": found.version, "retriever": found.ask.retriever},
            timings_ms=searched.timings_ms,
        )


class ShelfOut(BaseModel):
    """Books that are asked together: their `book_id` is `shelf:` and the name."""

    model_config = example(
        {
            "name": "mysteries",
            "title": "Mysteries",
            "books": ["the-bell", "the-mill"],
            "created_at": "2026-02-01T10:00:00+00:00",
        }
    )

    name: str
    title: str
    books: list[str] = Field(description="Ids; one that the store does not have is in no search.")
    created_at: str


class ReaderOut(BaseModel):
    """A reader that a question may name."""

    model_config = example(_LANGUAGE_MODEL)

    name: str = Field(description="As `reader` of a question has it.")
    description: str
    is_default: bool = Field(description="Whether it answers where a question names none.")
    any_kind: bool = Field(description="Whether it can say yes or no, describe and summarise, too.")
    language_model: str | None = Field(description="The model that it asks behind an address; else null.")
    server: str | None = Field(description="What serves that model, where it was found on this machine.")


class Health(BaseModel):
    """How the service is."""

    model_config = example({"status": "ready"})

    status: str
    indexing: str | None = Field(
        default=None, description="Why uploads are not indexed now; left out where they are."
    )


class Version(BaseModel):
    """Which storyqa this is, and what it answers with."""

    model_config = example(
        {
            "version": "0.2.0",
            "retriever": "rerank",
            "reader": "auto",
            "size": "small",
            "runtime": "openvino 2026.4.1 on cpu in int8",
        }
    )

    version: str
    retriever: str = Field(description="Used where a question names none.")
    reader: str = Field(description="Used where a question names none.")
    size: Literal["small", "large"] = Field(
        description="Of the models behind `auto` and `rerank`: where it is `large`, they are `auto:large` "
        "and `rerank-large`."
    )
    runtime: str = Field(description="What our encoders run in, where, and in which format of numbers.")
