"""The tables of speed: what every contender's row says, and where in the document they are put."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import load
from benchmarks.comparisons import HAYSTACK, OURS, PLAIN, TXTAI, Comparison
from benchmarks.report import replace_between, tables
from benchmarks.timing import Timing

MACHINE = {
    "processor": "a processor",
    "instructions": "AVX2",
    "cores": 2,
    "memory_gb": 8,
    "runtime": "openvino",
    "int8": False,
    "python": "3.11",
    "torch": "2.13",
}


def results() -> dict[str, Any]:
    """One call of every contender, of 1 s for storyqa and 2 s for others."""

    def timings(*others: str) -> dict[str, Timing]:
        return {OURS: Timing((1.0,)), **{name: Timing((2.0,)) for name in others}}

    read = {
        "questions": 4,
        "same_answer": {HAYSTACK: 0.5, PLAIN: 0.25},
        "word_f1": {HAYSTACK: 0.75, PLAIN: 0.5},
    }
    encode = {
        "passages_per_call": 64,
        "windows_per_passage": 3.0,
        "least_cosine_with_sentence_transformers": {"sentence-transformers, ONNX": 1.0, OURS: 0.9989},
    }
    compared = [
        Comparison("search", "question", 1, timings("bm25s"), {"passages": 2000}),
        Comparison("encode", "passage", 64, timings("sentence-transformers, ONNX"), encode),
        Comparison("read", "question", 1, timings(HAYSTACK, TXTAI, PLAIN), read),
        Comparison("ask", "question", 1, timings(HAYSTACK, PLAIN), {}),
    ]
    served = {"questions": 20, "failed": 0, "per_s": 3.456, "p50_s": 0.3, "p95_s": 0.4}
    return {
        "commit": "abc1234",
        "date": "2026-11-24T00:00",
        "machine": MACHINE,
        "texts": "a book",
        "peers": {"txtai": "9.14.0"},
        "optimum": {"optimum-onnx": "0.1.0"},
        "comparisons": [one.summary() for one in compared],
        "serving": [{"clients": 8, "contender": name, **served} for name in (OURS, HAYSTACK)],
        "built": [{"words": 4000, "passages": 20, "seconds": 1.0, "bytes": 200_000}],
        "by_length": [{"size": 4000, "work": "ask", "contenders": {OURS: {"median_ms": 250.0}}}],
        "by_books": [{"size": 10, "work": "ask", "contenders": {OURS: {"median_ms": 25.0}}}],
    }


def test_a_timing_is_summed_up_by_its_median_and_its_quartiles() -> None:
    seconds = np.random.default_rng(1).exponential(size=41)
    low, median, high = 1000 * np.percentile(seconds, [25, 50, 75])
    expected = {"median_ms": median, "low_ms": low, "high_ms": high, "calls": 41}
    assert Timing(tuple(seconds)).summary() == pytest.approx(expected)


def test_late_answers_count_for_the_latencies_and_not_for_the_rate() -> None:
    draw = np.random.default_rng(2)
    due, took = draw.uniform(0, 10, size=300), draw.exponential(size=300)
    answered = [load.Outcome(*times, 200) for times in zip(due, took, strict=True)]
    refused = [load.Outcome(at, 99.0, status) for at, status in ((1.0, 503), (2.0, 503), (3.0, 0))]
    found = load.summary([*refused, *answered], 10.0)
    assert (found.offered_per_s, found.statuses) == (30.3, {0: 1, 200: 300, 503: 2})
    assert found.answered_per_s == pytest.approx(np.count_nonzero(due + took <= 10) / 10, abs=0.005)
    latencies = (found.p50_s, found.p95_s, found.p99_s)
    assert latencies == pytest.approx(np.percentile(took, [50, 95, 99]), abs=0.0005)
    assert load.summary(refused, 10.0).p99_s == 0


def test_every_contender_has_its_row_and_every_fact_its_sentence() -> None:
    text = tables(results())
    assert "Beside it: txtai 9.14.0; for the ONNX and OpenVINO backends optimum-onnx 0.1.0." in text
    assert "| plain torch | 2,000 | 2,000 to 2,000 | 0.5 | 2.00 | 1 |" in text
    assert "sentence-transformers, ONNX 1.0000, storyqa 0.9989." in text
    assert "50% with Haystack (mean word F1 0.75) and 25% with plain torch (mean word F1 0.50)" in text
    assert "### Serving: questions/s by clients" in text
    assert "| 8 | storyqa | 3.46 | 0.30 | 0.40 | 20 | 0 |" in text


def test_a_document_without_the_marks_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "performance.md"
    path.write_text("<!-- begin -->", encoding="utf-8")
    with pytest.raises(ValueError, match="has no lines"):
        replace_between(path, "<!-- begin -->", "<!-- end -->", "figures")
    assert path.read_text(encoding="utf-8") == "<!-- begin -->"
