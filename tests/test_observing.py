"""The service seen from outside: metrics, request ids, logs and traces."""

from __future__ import annotations

import gzip
import io
import json
import logging
import logging.config
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
import shelf
from asgi_correlation_id import correlation_id
from fastapi import FastAPI
from server import problem, running, serving, wait_until_ready

from encoders.runtime import pick_runtime
from indexing.store import IndexStore
from service.load.batching import Batch
from service.load.tasks import ANSWER, BatchKey
from service.observing import observer
from service.observing.logs import RepeatFilter, log_config
from service.observing.metrics import Metrics
from service.settings import Settings

ASKED = [{"book_id": book, "question": question} for book, question in shelf.QUESTIONS]
BATCH = Batch(
    key=BatchKey(ANSWER, "bm25", "overlap"),
    tokens=1500,
    began_ns=1_700_000_000_000_000_000,
    waited_s=(0.002, 0.001),
    contexts=(None, None),
    timings_ms={"search": 2.0, "rerank": 9.0, "read": 30.0, "cite": 0.1, "total": 32.1},
)


@pytest.fixture(scope="module")
def client(shelf_store: IndexStore) -> Iterator[httpx.Client]:
    with serving(Settings(store=shelf_store.root, retriever="bm25", reader="overlap")) as client:
        wait_until_ready(client)
        yield client


def metrics(text: str) -> dict[str, float]:
    """The values in an exposition by name and labels."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_requests_are_counted_by_route_and_status_and_ids_make_no_series(client: httpx.Client) -> None:
    before = metrics(client.get("/metrics").text)
    client.post("/answer", json=ASKED[0])
    client.post("/answer", json=ASKED[0] | {"book_id": "gone"})
    client.get("/books/lantern")
    client.get("/books/clock")
    client.get("/no/such/place")
    after = metrics(client.get("/metrics").text)

    def grown(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    assert grown('storyqa_requests_total{route="/answer",status="200"}') == 1
    assert grown('storyqa_requests_total{route="/answer",status="404"}') == 1
    assert grown('storyqa_requests_total{route="/books/{book_id}",status="200"}') == 2
    assert grown('storyqa_requests_total{route="unmatched",status="404"}') == 1
    assert grown('storyqa_request_seconds_count{route="/answer"}') == 2
    assert not any("lantern" in name or "clock" in name for name in after)


def test_steps_batches_and_answers_are_counted(client: httpx.Client) -> None:
    before = metrics(client.get("/metrics").text)
    client.post("/answers", json=[one | {"k": 4} for one in ASKED])
    client.post("/answers", json=[one | {"k": 4, "before": 10} for one in ASKED[:2]])
    after = metrics(client.get("/metrics").text)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    batches = grown("storyqa_batch_size_count")
    assert batches >= 2
    assert grown("storyqa_batch_size_sum") == 12
    assert grown('storyqa_step_seconds_count{step="wait"}') == 12
    for step in ("search", "read", "cite"):
        assert grown(f'storyqa_step_seconds_count{{step="{step}"}}') == batches
    assert grown('storyqa_answers_total{answerable="true"}') == 10
    assert grown('storyqa_answers_total{answerable="false"}') == 2
    assert after["storyqa_queue_depth"] == 0


def test_the_version_says_what_answers_where_a_question_does_not_say(client: httpx.Client) -> None:
    version = client.get("/version").json()
    assert (version["retriever"], version["reader"]) == ("bm25", "overlap")
    assert version["version"]
    assert version["runtime"] == str(pick_runtime())


@pytest.mark.parametrize("given", ["a", "7f3c:1.0_x-Y", "x" * 128])
def test_a_request_id_that_is_fit_for_a_log_comes_back(client: httpx.Client, given: str) -> None:
    for path in ("/healthz", "/nothing", "/books/gone"):
        assert client.get(path, headers={"X-Request-ID": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "a\tb", '{"json": 1}', "é"])
def test_any_other_request_gets_an_id_of_its_own(client: httpx.Client, given: str) -> None:
    headers = [(b"X-Request-ID", given.encode())]
    ids = {client.get("/healthz", headers=headers).headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3
    assert given not in ids


@contextmanager
def logged(kind: str) -> Iterator[io.StringIO]:
    """What the handlers that ``log_config`` describes write, while the context lasts."""
    config = log_config(kind)
    written = io.StringIO()
    config["handlers"]["stderr"]["stream"] = written
    root, ours = logging.getLogger(), logging.getLogger("service")
    kept, level = root.handlers[:], ours.level
    logging.config.dictConfig(config)
    try:
        yield written
    finally:
        root.handlers[:] = kept
        root.setLevel(logging.WARNING)
        ours.setLevel(level)


def logged_all(written: io.StringIO, requests: int) -> str:
    """The log once it tells of so many requests: each is logged when its response is out."""
    deadline = time.monotonic() + 30
    while (text := written.getvalue()).count(" ms") < requests:
        assert time.monotonic() < deadline, text
        time.sleep(0.01)
    return text


@pytest.mark.parametrize("kind", ["text", "json"])
def test_what_any_client_can_cause_is_logged_once_a_minute_and_all_else_each_time(kind: str) -> None:
    with logged(kind) as written:
        for number in range(1000):
            logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
            logging.getLogger("service.load.connections").warning("there are %d connections", number)
        for number in range(5):
            logging.getLogger("service.app").warning("a book is damaged: %d", number)
            logging.getLogger("uvicorn.error").error("Exception in ASGI application")
    assert len(written.getvalue().splitlines()) == 2 + 10


def test_the_next_line_of_a_kind_says_how_many_there_were_meanwhile() -> None:
    repeats = RepeatFilter(every_s=0.05)

    def passes() -> str | None:
        record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, "Invalid", None, None)
        return record.getMessage() if repeats.filter(record) else None

    assert passes() == "Invalid"
    counted = 0
    while (line := passes()) is None:
        counted += 1
    assert line == f"Invalid ({counted} more like it since the last such line)"


def test_what_nobody_thought_of_is_a_problem_with_the_request_id_and_is_logged() -> None:
    app = FastAPI()
    observer.install(app, observer.Observer(Metrics()))

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("a secret")

    with logged("json") as written, running(app) as url:
        response = httpx.get(f"{url}/broken", headers={"X-Request-ID": "mine"})
    content = problem(response, 500)
    assert response.headers["x-request-id"] == "mine"
    assert "RuntimeError" in content["detail"]
    assert "secret" not in response.text
    records = [json.loads(line) for line in written.getvalue().splitlines()]
    [failure] = [record for record in records if "exception" in record]
    assert failure["request_id"] == "mine"
    assert "a secret" in failure["exception"]


@pytest.mark.parametrize("wanted", [False, True])
def test_the_log_has_one_line_per_request_and_questions_only_where_they_are_wanted(
    wanted: bool, shelf_store: IndexStore
) -> None:
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap", log_questions=wanted)
    with serving(settings) as client, logged("json") as written:
        client.post("/answer", json=ASKED[0], headers={"X-Request-ID": "mine"})
        client.post("/search", json=ASKED[1])
        client.post("/answer", json=ASKED[2] | {"k": 0})
        text = logged_all(written, 3)
    records = [json.loads(line) for line in text.splitlines()]
    answered = next(record for record in records if record.get("request_id") == "mine")
    assert answered["logger"] == "service.observing.observer"
    assert (answered["method"], answered["route"], answered["status"]) == ("POST", "/answer", 200)
    assert answered["duration_ms"] > 0
    assert [record["status"] for record in records if "status" in record] == [200, 200, 422]
    assert ("kept the lighthouse" in text) == ("bring from the city" in text) == wanted
    assert "good oil" not in text  # it was never asked: the request was wrong
    if wanted:
        assert answered["questions"] == [ASKED[0]["question"]]


def test_a_line_for_people_is_one_line_whatever_the_path_holds(client: httpx.Client) -> None:
    with logged("text") as written:
        client.get("/a%0Ab%1B", headers={"X-Request-ID": "mine"})
        text = logged_all(written, 1)
    [line] = [line for line in text.splitlines() if "/a" in line]
    assert "GET /a%0Ab%1B 404" in line
    assert line.endswith("[mine]")


def test_a_message_for_people_is_one_line_whatever_it_quotes_and_its_traceback_is_not() -> None:
    quoted = "asked: Who?\n2026-01-01 ERROR forged\r\x1b[2J\u2028\x85 naïve \\n"
    with logged("text") as written:
        try:
            raise ValueError("spilt\nink")
        except ValueError:
            logging.getLogger("service.test").exception("%s", quoted)
    line, *traceback = written.getvalue().split("\n")
    assert line.endswith(r"ERROR asked: Who?\n2026-01-01 ERROR forged\r\x1b[2J\u2028\x85 naïve \n")
    assert traceback[0].startswith("Traceback")
    assert traceback[-3:] == ["ValueError: spilt", "ink", ""]


def test_a_record_in_json_holds_the_traceback_and_what_the_caller_adds() -> None:
    with logged("json") as written:
        token = correlation_id.set("mine")
        try:
            raise ValueError("spilt\nink")
        except ValueError:
            logging.getLogger("service.test").exception("it %s", "failed", extra={"book": "lantern"})
        finally:
            correlation_id.reset(token)
    record = json.loads(written.getvalue())
    assert (record["level"], record["message"], record["request_id"]) == ("ERROR", "it failed", "mine")
    assert record["book"] == "lantern"
    assert "ValueError: spilt\nink" in record["exception"]


@contextmanager
def collecting() -> Iterator[tuple[str, list[Any]]]:
    """The address of an OTLP collector on loopback, and the spans that arrived."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    spans: list[Any] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1/traces", spans
        finally:
            server.shutdown()
            thread.join()


def test_a_trace_has_the_request_and_in_it_the_steps_of_its_question(shelf_store: IndexStore) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with collecting() as (address, spans):
        settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap", traces=address)
        with serving(settings) as client:
            headers = {"traceparent": f"00-{trace}-{parent}-01"}
            assert client.post("/answer", json=ASKED[0], headers=headers).status_code == 200
            assert client.get("/healthz").status_code == 200
    by_name = {span.name: span for span in spans}
    assert set(by_name) == {"POST /answer", "GET /healthz", "wait", "retrieve", "read"}
    request = by_name["POST /answer"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (trace, parent)
    for name in ("wait", "retrieve", "read"):
        assert by_name[name].trace_id == request.trace_id
        assert by_name[name].parent_span_id == request.span_id
        assert by_name[name].start_time_unix_nano <= by_name[name].end_time_unix_nano
    assert by_name["retrieve"].start_time_unix_nano <= by_name["read"].start_time_unix_nano
    assert by_name["GET /healthz"].trace_id != request.trace_id
    assert b"lighthouse" not in b"".join(span.SerializeToString() for span in spans)


def test_metrics_of_one_process_are_in_the_text_format_and_a_batch_counts_once() -> None:
    counted = Metrics()
    counted.batch(BATCH)
    values = metrics(counted.exposition().decode())
    assert values['storyqa_batch_size_bucket{le="2.0"}'] == 1
    assert values['storyqa_batch_tokens_bucket{le="2048.0"}'] == 1
    assert values['storyqa_step_seconds_sum{step="read"}'] == pytest.approx(0.03)
    assert values['storyqa_step_seconds_count{step="wait"}'] == 2
    assert values['storyqa_answers_total{answerable="true"}'] == 0
