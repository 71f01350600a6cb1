"""What an answer is worth against its references: BLEU, ROUGE-L, F1, exact match, accuracy, rank.

BLEU and ROUGE-L are counted by pycocoevalcap, the scorer of most papers on NarrativeQA, on the
tokens of ``text.tokens``; F1 and exact match are SQuAD's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from text.equal_answers import normalised
from text.errors import StoryQAError
from text.tokens import tokens

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

ORDER = 4


class MissingExtra(StoryQAError):
    """Packages that only evaluation needs are not installed."""


def require_extra() -> None:
    """Raise ``MissingExtra`` unless everything that scores and plots is installed."""
    missing = [name for name in ("pycocoevalcap", "matplotlib") if find_spec(name) is None]
    if missing:
        raise MissingExtra(f"evaluation needs {' and '.join(missing)}; install: pip install 'storyqa[eval]'")


def scored(text: str) -> str:
    """The text as scorers are given it: its tokens apart by single spaces, without the final full stop."""
    keys = [token.key for token in tokens(text)]
    return " ".join(keys[:-1] if keys[-1:] == ["."] else keys)


def rouge_l(answer: str, references: Sequence[str]) -> float:
    """ROUGE-L of one answer, beta 1.2: the best precision and the best recall over the references."""
    from pycocoevalcap.rouge.rouge import Rouge  # type: ignore[import-untyped]

    return float(Rouge().calc_score([scored(answer)], [scored(reference) for reference in references]))


def bleu_statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """What BLEU counts, shape (answers, 10).

    Columns: n-grams that match for n = 1 to 4, n-grams for n = 1 to 4, and the lengths of the
    answer and of the reference closest to it in length.
    """
    import numpy as np
    from pycocoevalcap.bleu.bleu_scorer import cook_refs, cook_test  # type: ignore[import-untyped]

    rows = np.zeros((len(answers), 2 * ORDER + 2))
    for row, answer, to in zip(rows, answers, references, strict=True):
        counts = cook_test(scored(answer), cook_refs([scored(reference) for reference in to]), eff="closest")
        row[:] = [*counts["correct"], *counts["guess"], counts["testlen"], counts["reflen"]]
    return rows


def bleu(sums: NDArray[np.float64], n: int) -> NDArray[Any]:
    """Corpus BLEU-n of summed statistics, shape (..., 10) to (...); Papineni et al. 2002, section 2.3."""
    import numpy as np

    matching, all_, answer, reference = (
        sums[..., :n],
        sums[..., ORDER : ORDER + n],
        sums[..., -2],
        sums[..., -1],
    )
    precisions = np.log((matching + 1e-15) / (all_ + 1e-9)).mean(
        axis=-1
    )  # pycocoevalcap's guards against zero
    ratio = (answer + 1e-15) / (reference + 1e-9)
    return np.asarray(np.exp(precisions + np.minimum(0.0, 1 - 1 / ratio)))


def exact_match(answer: str, references: Sequence[str]) -> float:
    """1 where the answer is one of the references, normalised as for SQuAD, else 0."""
    return float(any(normalised(answer) == normalised(reference) for reference in references))


def token_f1(answer: str, references: Sequence[str]) -> float:
    """The best F1 over the references, in tokens normalised as for SQuAD."""
    return max(_f1(normalised(answer), normalised(reference)) for reference in references)


def _f1(answer: Sequence[str], reference: Sequence[str]) -> float:
    common = (Counter(answer) & Counter(reference)).total()
    return 2 * common / (len(answer) + len(reference)) if common else 0.0


def accuracy(answer: str, references: Sequence[str]) -> float:
    """1 where the answer is one of the references as they are written, such as the right choice; else 0."""
    return float(answer in references)


def set_f1(answer: str, references: Sequence[str]) -> float:
    """F1 of the set of answers given, one a line, with the set of all references; its mean is mean F1.

    Hewlett et al. 2016 (WikiReading), section 4: a question may have several answers, all of them wanted.
    """
    given, wanted = set(filter(None, answer.split("\n"))), set(references)
    return 2 * len(given & wanted) / (len(given) + len(wanted))


def reciprocal_rank(scores: Sequence[float], correct: int) -> float:
    """1 / the rank of candidate ``correct``; its expectation where others have the same score."""
    better = sum(score > scores[correct] for score in scores)
    equal = sum(score == scores[correct] for score in scores)
    return sum(1 / (better + place) for place in range(1, equal + 1)) / equal
