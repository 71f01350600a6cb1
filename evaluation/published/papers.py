"""Published figures to set ours beside; percentages as printed, MRR as a fraction."""

from __future__ import annotations

from dataclasses import dataclass

KOCISKY = "Kočiský et al. 2018"


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One system's scores; ``source`` is where they were published, with whatever is to be known of them."""

    system: str
    source: str
    bleu_1: float | None = None
    bleu_4: float | None = None
    meteor: float | None = None
    rouge_l: float | None = None
    mrr: float | None = None
    f1: float | None = None
    exact_match: float | None = None


Numbers = tuple[float | None, ...]


def _rows(table: str, rows: dict[str, tuple[Numbers, Numbers]], split: str) -> tuple[PaperRow, ...]:
    """Rows of (BLEU-1, BLEU-4, METEOR, ROUGE-L, MRR) on valid and on test, of the ``split``."""
    which = {"valid": 0, "test": 1}.get(split)
    if which is None:
        return ()
    return tuple(PaperRow(system, f"{KOCISKY}, {table}", *numbers[which]) for system, numbers in rows.items())


_HUMAN: dict[str, tuple[Numbers, Numbers]] = {
    "Human (given summaries)": ((44.24, 18.17, 23.87, 57.17, None), (44.43, 19.65, 24.14, 57.02, None)),
}
_SUMMARIES: dict[str, tuple[Numbers, Numbers]] = {
    "BLEU-1 given question (1 sentence)": (
        (10.48, 3.02, 11.93, 14.34, 0.176),
        (10.75, 3.34, 12.33, 14.90, 0.171),
    ),
    "ROUGE-L given question (8-gram)": ((11.74, 2.18, 7.05, 12.58, 0.168), (11.01, 1.99, 6.50, 11.74, 0.161)),
    "Cosine given question (1 sentence)": (
        (7.49, 1.88, 10.18, 12.01, 0.170),
        (7.51, 1.97, 10.35, 12.28, 0.171),
    ),
    "Random rank": ((None, None, None, None, 0.133), (None, None, None, None, 0.133)),
    "Seq2Seq (no context)": ((16.10, 1.40, 4.22, 13.29, 0.211), (15.89, 1.26, 4.08, 13.15, 0.202)),
    "Attention Sum Reader": ((23.54, 5.90, 8.02, 23.28, 0.269), (23.20, 6.39, 7.77, 22.26, 0.259)),
    "Span Prediction": ((33.45, 15.69, 15.68, 36.74, None), (33.72, 15.53, 15.38, 36.30, None)),
    "Oracle: BLEU-1 given answer": ((54.60, 26.71, 31.32, 58.90, 1.0), (55.55, 27.78, 32.08, 59.77, 1.0)),
    "Oracle: ROUGE-L given answer": ((52.94, 27.18, 30.81, 59.09, 1.0), (54.14, 28.18, 31.50, 59.92, 1.0)),
    "Oracle: cosine given answer": ((46.69, 24.25, 27.02, 44.64, 0.836), (47.95, 25.25, 27.81, 45.66, 0.838)),
    **_HUMAN,
}
_STORIES: dict[str, tuple[Numbers, Numbers]] = {
    "BLEU-1 given question (8-gram)": ((6.73, 0.30, 3.58, 6.73, 0.176), (6.52, 0.34, 3.35, 6.45, 0.171)),
    "ROUGE-L given question (1 sentence)": ((5.78, 0.25, 3.71, 6.36, 0.168), (5.69, 0.32, 3.64, 6.26, 0.161)),
    "Cosine given question (8-gram)": ((6.40, 0.28, 3.54, 6.50, 0.171), (6.33, 0.29, 3.28, 6.43, 0.171)),
    "Random rank": ((None, None, None, None, 0.133), (None, None, None, None, 0.133)),
    "Attention Sum Reader, 1 chunk": ((16.95, 1.26, 3.84, 12.12, 0.164), (16.08, 1.08, 3.56, 11.94, 0.161)),
    "Attention Sum Reader, 2 chunks": ((18.54, 0.0, 4.20, 13.50, 0.169), (17.76, 1.10, 4.01, 12.83, 0.169)),
    "Attention Sum Reader, 5 chunks": ((18.91, 1.37, 4.48, 14.47, 0.171), (18.36, 1.64, 4.24, 13.40, 0.173)),
    "Attention Sum Reader, 10 chunks": ((20.00, 2.23, 4.45, 14.47, 0.182), (19.09, 1.81, 4.29, 14.03, 0.177)),
    "Attention Sum Reader, 20 chunks": ((19.79, 1.79, 4.60, 14.86, 0.182), (19.06, 2.11, 4.37, 14.02, 0.179)),
    "Span Prediction": ((5.82, 0.22, 3.84, 6.33, None), (5.68, 0.25, 3.72, 6.22, None)),
    "Oracle: BLEU-1 given answer": ((41.81, 7.03, 19.10, 46.40, 1.0), (42.37, 7.70, 19.52, 47.15, 1.0)),
    "Oracle: ROUGE-L given answer": ((39.17, 7.81, 18.13, 48.91, 1.0), (39.50, 8.46, 18.55, 49.94, 1.0)),
    "Oracle: cosine given answer (4-gram)": (
        (38.21, 7.78, 12.58, 31.24, 0.842),
        (38.92, 8.43, 12.60, 31.70, 0.845),
    ),
    **_HUMAN,
}
# From memory of the paper, Xu et al. 2022, and not checked against it (53.6 is also what the model card of
# benjleite/t5-english-qa quotes from it). BART-large is given the gold section.
_XU = "Xu et al. 2022, quoted from memory"
_SECTIONS: dict[str, tuple[float, float]] = {
    "BART-large, trained on NarrativeQA": (47.5, 49.2),
    "BART-large, trained on FairytaleQA": (53.3, 53.6),
    "Human": (65.1, 64.4),
}
_SQUAD = (PaperRow("DrQA's reader", "facebookresearch/DrQA, README", f1=78.9, exact_match=69.4),)

# Story and question counts of the published splits, by which a part of one is told from the whole.
PUBLISHED = {
    ("narrativeqa", "train"): (1102, 32747),
    ("narrativeqa", "valid"): (115, 3461),
    ("narrativeqa", "test"): (355, 10557),
    ("fairytaleqa", "train"): (232, 8548),
    ("fairytaleqa", "val"): (23, 1025),
    ("squad", "dev-v1.1"): (48, 10570),
}


def paper_rows(benchmark: str, split: str, setting: str) -> tuple[PaperRow, ...]:
    """What was published on the same questions in the same setting; on stories, scripts included."""
    if benchmark == "narrativeqa":
        table, rows = ("Table 5", _SUMMARIES) if setting == "summaries" else ("Table 6", _STORIES)
        return _rows(table, rows, split)
    if benchmark == "fairytaleqa" and setting == "sections" and split in ("val", "test"):
        return tuple(
            PaperRow(system, _XU, rouge_l=scores[split == "test"]) for system, scores in _SECTIONS.items()
        )
    return _SQUAD if benchmark == "squad" and split == "dev-v1.1" else ()
