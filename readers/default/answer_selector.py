"""Whether an answer has to be written, and how likely one is right: logistic models of what readers say."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from encoders.errors import ModelError
from encoders.sizes import weights_folder

MARGIN = 0.05  # of ROUGE-L
ABOUT = ("feel", "will")  # what is felt or will be stands in few stories word for word
_MODELS = ("worth", "right", "span_worth", "span_right", "writes")
ASKED = ("why", "how", "who", "what", "where", "when", "which")


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of a candidate answer before anybody tells whether it is right.

    ``f1_spans`` and ``f1_written`` are the word F1 it is expected to have against the span reader's and
    the writer's candidates; ``log_probability`` is the writer's per token, ``log_refusal`` that of its saying
    that the passages do not tell, None where it never says so: these are None where nothing was written, for
    it takes a writer a sixth of all the time or more to say. ``relevance`` is the
    log-odds that the best window answers the question at all, and ``own_relevance`` that of the
    passage it rests on; ``certainty`` is the probability of the likeliest span. ``passages`` of
    ``words_read`` words in all were read: of a novel more than of a tale, and fewer answers are right.
    ``personal`` is the share of them that are personal pronouns: what an article is asked stands in it more
    often than what is asked of a story.
    """

    written: bool
    words: int
    f1_spans: float
    f1_written: float | None
    log_probability: float | None
    relevance: float
    own_relevance: float
    certainty: float
    passages: int
    words_read: int
    personal: float
    log_refusal: float | None = None

    def features(self, question: str) -> dict[str, float]:
        """The model's inputs by name."""
        asked = question.lower().rstrip("? ").split()
        kind = next((word for word in asked if word in ASKED), "other")
        written = float(self.written)
        relevance = max(-8.0, min(8.0, self.relevance))
        found = {
            "written": written,
            "log_words": math.log1p(self.words),
            "logit_f1_spans": logit(self.f1_spans),
            "relevance": relevance,
            "own_relevance": max(-8.0, min(8.0, self.own_relevance)),
            "logit_certainty": logit(self.certainty),
            "personal": self.personal,
            # Whoever asks at length says more of what the answer stands beside.
            "log_asked": math.log1p(len(asked)),
            f"asked_{kind}": 1.0,
            f"written_asked_{kind}": written,
            "written_log_words": written * math.log1p(self.words),
            "written_logit_f1_spans": written * logit(self.f1_spans),
        }
        if self.f1_written is not None:
            found["logit_f1_written"] = logit(self.f1_written)
        if self.log_probability is not None:
            found["log_probability"] = max(self.log_probability, -8.0)
            found["written_log_probability"] = written * found["log_probability"]
        if self.log_refusal is not None:
            found["log_refusal"] = max(self.log_refusal, -8.0)
        for word in ABOUT:
            if word in asked:
                found |= {f"about_{word}": 1.0, f"written_about_{word}": written}
        if self.passages == 1:
            # A text that was given answers more often than one that was found, however unlike the question.
            found |= {
                "alone": 1.0,
                "log_alone": math.log1p(self.words_read),
                "alone_relevance": relevance,
                "alone_logit_certainty": found["logit_certainty"],
                "alone_logit_f1_spans": found["logit_f1_spans"],
            }
        else:
            found["log_passages"] = math.log(self.passages)
        return {name: value for name, value in found.items() if value}


def logit(probability: float) -> float:
    """log p / (1 - p), p kept away from 0 and 1."""
    p = min(max(probability, 0.005), 0.995)
    return math.log(p / (1 - p))


@dataclass(frozen=True, slots=True)
class Logistic:
    """p = 1 / (1 + exp(-(intercept + sum_i w_i f_i)))."""

    intercept: float
    weights: Mapping[str, float]

    def __call__(self, features: Mapping[str, float]) -> float:
        """The probability; features without a weight play no part."""
        z = self.intercept + math.fsum(
            self.weights.get(name, 0.0) * value for name, value in features.items()
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))


@dataclass(frozen=True, slots=True)
class AnswerSelector:
    """``worth``: the ROUGE-L an answer is expected to have; ``right``: the probability of 0.5 or more.

    ``span_worth`` and ``span_right`` are those of a span where nothing was written, and ``writes`` is the
    probability, by the first span's features, that a written answer would be chosen: from ``writes_from`` on
    it is written.
    """

    worth: Logistic
    right: Logistic
    span_worth: Logistic
    span_right: Logistic
    writes: Logistic
    writes_from: float


@lru_cache
def load_selector(name: str, folder: str | None = None) -> AnswerSelector:
    """The selector in a file of that name, shipped in either size or of a folder.

    Raises ModelError where it cannot be read.
    """
    path = weights_folder("readers.weights", folder) / name
    try:
        fitted = json.loads(path.read_text(encoding="utf-8"))["judge"]
        return AnswerSelector(
            **{model: Logistic(**fitted[model]) for model in _MODELS},
            writes_from=float(fitted["writes_from"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} cannot be read ({error}); fit it again or reinstall storyqa") from error


def choose(worth: Sequence[float], written: Sequence[bool]) -> int:
    """The position of the answer to give: the first span, or the first written one if it is worth more.

    By ``MARGIN`` at least: the selector is not so sure of itself. There must be one candidate.
    """
    firsts = [written.index(kind) for kind in (False, True) if kind in written]
    span, *others = firsts
    return others[0] if others and worth[others[0]] > worth[span] + MARGIN else span
