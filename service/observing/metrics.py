"""What Prometheus is told: counts and times of requests, steps, batches and answers."""

from __future__ import annotations

import struct
from pathlib import Path

from answering.finding import STEPS
from service.load.batching import Batch

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_QUESTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_TOKENS = tuple(2**power for power in range(8, 20))
_ATTEMPTS = 5


class Metrics:
    """The metrics of one process, or, where ``shared`` is a folder, of all that share it.

    Processes that share a folder must have it in ``PROMETHEUS_MULTIPROC_DIR`` before they start:
    prometheus_client looks there when it is imported.
    """

    def __init__(self, shared: Path | None = None) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._shared = shared
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "storyqa_requests", "Requests answered.", ("route", "status"), registry=registry
        )
        self._request_seconds = Histogram(
            "storyqa_request_seconds", "What requests took.", ("route",), buckets=_SECONDS, registry=registry
        )
        self._step_seconds = Histogram(
            "storyqa_step_seconds",
            "What the steps took: wait of each question, the others of each batch.",
            ("step",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._queue_depth = Gauge(
            "storyqa_queue_depth", "Questions that wait now.", multiprocess_mode="livesum", registry=registry
        )
        self._batch_size = Histogram(
            "storyqa_batch_size", "Questions per batch.", buckets=_QUESTIONS, registry=registry
        )
        self._batch_tokens = Histogram(
            "storyqa_batch_tokens", "Tokens per batch, about.", buckets=_TOKENS, registry=registry
        )
        self._hits = Counter("storyqa_cache_hits", "Answers taken from the cache.", registry=registry)
        self._misses = Counter("storyqa_cache_misses", "Answers not in the cache.", registry=registry)
        self._answers = Counter("storyqa_answers", "Answers given.", ("answerable",), registry=registry)
        # A rate needs a first value to rise from.
        for answerable in (True, False):
            self._answers.labels(_lower(answerable))
        for step in ("wait", *STEPS):
            self._step_seconds.labels(step)

    def request(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def queued(self, count: int) -> None:
        """So many questions wait now."""
        self._queue_depth.set(count)

    def cached(self, hit: bool) -> None:
        """A question's answer was, or was not, in the cache."""
        (self._hits if hit else self._misses).inc()

    def answered(self, answerable: bool) -> None:
        """An answer was given."""
        self._answers.labels(_lower(answerable)).inc()

    def batch(self, batch: Batch) -> None:
        """A batch was read."""
        self._batch_size.observe(len(batch.waited_s))
        self._batch_tokens.observe(batch.tokens)
        for waited in batch.waited_s:
            self._step_seconds.labels("wait").observe(waited)
        for step in STEPS:
            if step in batch.timings_ms:  # no rerank where there is no reranker
                self._step_seconds.labels(step).observe(batch.timings_ms[step] / 1000)

    def exposition(self) -> bytes:
        """Everything, in the text format of Prometheus."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        if self._shared is None:
            return generate_latest(self._registry)
        for attempt in range(_ATTEMPTS):
            everyones = CollectorRegistry()
            MultiProcessCollector(everyones, str(self._shared))  # type: ignore[no-untyped-call]
            try:
                return generate_latest(everyones)
            except (struct.error, OSError):  # a process that starts or ends has a file half made
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")


def _lower(answerable: bool) -> str:
    return str(answerable).lower()
