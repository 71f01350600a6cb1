"""Traces for OpenTelemetry: a span for each request, and in it what its question went through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from service.load.batching import Batch
from service.version import installed_version
from text.errors import StoryQAError

# What a step is called in a trace, where it has a span of its own.
_SPANS = {"search": "retrieve", "rerank": "rerank", "read": "read"}


class TracingUnavailable(StoryQAError):
    """Traces are wanted, and what sends them is not installed."""


class Tracer:
    """Sends spans to ``address`` (OTLP over HTTP) from a thread of its own; raises ``TracingUnavailable``."""

    def __init__(self, address: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise TracingUnavailable(
                f"STORYQA_TRACES is {address!r}, and sending traces needs packages that are missing "
                f"({error.name}); install them: pip install 'storyqa[otel]'"
            ) from None
        resource = Resource.create({"service.name": "storyqa", "service.version": installed_version()})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
        self._tracer = self._provider.get_tracer("storyqa")

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[Any]:
        """A span for a request, the child of the caller's where ``headers`` have a ``traceparent``."""
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        with self._tracer.start_as_current_span(
            method,
            context=TraceContextTextMapPropagator().extract(headers),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method},
        ) as span:
            yield span

    def context(self) -> object:
        """The span that is current, for ``batch`` to hang others from."""
        from opentelemetry.context import get_current

        return get_current()

    def batch(self, batch: Batch) -> None:
        """The spans of a batch, in the trace of every request that had a question in it."""
        for context, waited_s in zip(batch.contexts, batch.waited_s, strict=True):
            self._span("wait", context, batch.began_ns - round(waited_s * 1e9), batch.began_ns, batch)
            at = batch.began_ns
            for step, milliseconds in batch.timings_ms.items():
                if step in _SPANS:
                    self._span(_SPANS[step], context, at, at + round(milliseconds * 1e6), batch)
                at += round(milliseconds * 1e6)

    def close(self) -> None:
        """Send what has not been sent."""
        self._provider.shutdown()

    def _span(self, name: str, context: Any, start_ns: int, end_ns: int, batch: Batch) -> None:
        span = self._tracer.start_span(name, context=context, start_time=start_ns)
        span.set_attribute("storyqa.batch.questions", len(batch.waited_s))
        span.set_attribute("storyqa.batch.tokens", batch.tokens)
        if batch.key.reader:
            span.set_attribute("storyqa.reader", batch.key.reader)
        span.end(end_ns)
