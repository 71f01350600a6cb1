"""Predictions to be scored, without a run."""

from __future__ import annotations

from evaluation.predictions import Prediction


def predicted(answer: str, *references: str) -> Prediction:
    return Prediction(
        id="1",
        story="tale",
        kind=None,
        question="Who?",
        references=references,
        prediction=answer,
        confidence=0.5,
        book="tale",
        start=None,
        end=None,
        evidence_right=None,
        passages=(),
        gold_read=None,
        first_gold=None,
        reciprocal_rank=None,
        scores={},
    )
