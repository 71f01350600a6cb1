"""Endpoints that behave and endpoints that do not, asked over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from chat_server import Asked, ChatServer, Handler, Script, chatting, completion, refuses, says, send

from encoders.errors import ModelError
from readers.errors import EndpointError
from readers.external.endpoint import AT_ONCE, LARGEST, TRIES, Endpoint

BODY = {"model": "parrot", "messages": [{"role": "user", "content": "Polly?"}]}
FINE = says("Polly!")


@contextmanager
def endpoint(script: Script, **settings: Any) -> Iterator[tuple[Endpoint, ChatServer]]:
    """An impatient client of a server that does as ``script`` says."""
    with chatting(script) as server:
        yield Endpoint(server.url, **{"timeout_s": 10.0, "pause_s": 0.01, "cool_s": 0.0} | settings), server


def failure(script: Script, **settings: Any) -> tuple[EndpointError, int]:
    """What asking such a server raises, and how often it was asked for it."""
    with endpoint(script, **settings) as (client, server):
        with pytest.raises(EndpointError) as raised:
            client.ask([BODY])
        assert server.url in str(raised.value)
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 600
        return raised.value, len(server.asked)


def in_turn(*scripts: Script) -> Script:
    """The first script for the first request and so on; the last for all that follow."""
    left = iter(scripts)
    lock = threading.Lock()

    def script(handler: Handler, asked: Asked) -> None:
        with lock:
            one = next(left, scripts[-1])
        one(handler, asked)

    return script


def stalls(handler: Handler, asked: Asked) -> None:
    handler.server.left.wait(20)  # type: ignore[attr-defined]
    handler.close_connection = True


def drips(head: bytes) -> Script:
    """``head``, then a byte every 20 ms without end."""

    def script(handler: Handler, asked: Asked) -> None:
        handler.close_connection = True
        with suppress(OSError):
            handler.wfile.write(head)
            while not handler.server.left.wait(0.02):  # type: ignore[attr-defined]
                handler.wfile.write(b" ")

    return script


def raw(content: bytes) -> Script:
    """``content`` itself, head and all, and the connection closed."""

    def script(handler: Handler, asked: Asked) -> None:
        handler.close_connection = True
        handler.wfile.write(content)

    return script


def floods(handler: Handler, asked: Asked) -> None:
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    with suppress(OSError):
        while not handler.server.left.is_set():  # type: ignore[attr-defined]
            handler.wfile.write(b"x" * 65_536)


def test_a_reply_is_the_json_that_the_server_sent() -> None:
    with endpoint(FINE, key="sesame") as (client, server):
        assert client.ask([BODY]) == [json.loads(completion("Polly!"))]
    [asked] = server.asked
    assert asked.body == BODY
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer sesame"


def test_without_a_key_none_is_shown() -> None:
    with endpoint(FINE) as (client, server):
        client.ask([BODY])
        assert "authorization" not in server.asked[0].headers


def test_the_replies_stand_in_the_order_of_the_questions_a_few_asked_at_a_time() -> None:
    most, now, lock = 0, 0, threading.Lock()

    def script(handler: Handler, asked: Asked) -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02 if asked.body["n"] % 2 else 0.06)
        with lock:
            now -= 1
        send(handler, completion(str(asked.body["n"])))

    with endpoint(script) as (client, _):
        replies = client.ask([BODY | {"n": n} for n in range(12)])
        assert client.ask([]) == []
    assert [reply["choices"][0]["message"]["content"] for reply in replies] == [str(n) for n in range(12)]
    assert 1 < most <= AT_ONCE


def test_a_server_that_is_down_cannot_be_reached() -> None:
    with chatting(FINE) as server:
        url = server.url
    # With another try it would say that there was no answer in time.
    for ask in (lambda: Endpoint(url, pause_s=30, timeout_s=10).ask([BODY]), Endpoint(url).reach):
        with pytest.raises(EndpointError, match=r"cannot be reached \(Connection refused\)") as raised:
            ask()
    assert raised.value.passing
    assert url in str(raised.value)


@pytest.mark.parametrize(
    "script",
    [stalls, drips(b"HTTP/1.1 2"), drips(b"HTTP/1.1 200 OK\r\n\r\n"), drips(b"HTTP/1.1 200 OK\r\nX-A: ")],
    ids=["stalls", "drips before the head", "drips its body", "drips its head"],
)
def test_a_server_that_never_ends_is_given_up_in_time(script: Script) -> None:
    began = time.monotonic()
    error, _ = failure(script, timeout_s=0.4)
    assert "did not answer within 0.4 s" in str(error)
    assert error.passing
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_busy_or_failing_server_is_asked_again_a_few_times(status: int) -> None:
    error, times = failure(refuses(status))
    assert times == TRIES
    assert str(status) in str(error)
    assert "no luck" in str(error)
    assert error.status == status
    assert error.passing == (status != 500)


@pytest.mark.parametrize(
    "first",
    [refuses(429), refuses(429, Retry_After="0"), refuses(503, Retry_After="soon"), refuses(500), raw(b"")],
    ids=["429", "429 with Retry-After", "503 with a date", "500", "closed"],
)
def test_a_server_that_recovers_is_not_given_up(first: Script) -> None:
    with endpoint(in_turn(first, first, FINE)) as (client, server):
        assert client.ask([BODY])
        assert len(server.asked) == 3


def test_a_server_that_wants_to_be_asked_next_week_is_given_up_in_time() -> None:
    error, times = failure(refuses(429, Retry_After="600000"), timeout_s=0.3)
    assert "did not answer within" in str(error)
    assert times == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff garbage \x1b[31m\r\n\r\n" * 20,
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        b"HTTP/1.1 fine OK\r\n\r\n",
    ],
    ids=["closes", "garbage", "too short", "bad chunks", "bad status"],
)
def test_a_connection_that_breaks_off_is_an_error_after_a_few_tries(content: bytes) -> None:
    error, times = failure(raw(content))
    assert "broke off" in str(error)
    assert times == TRIES


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>A login page\n</html>",
        b'data: {"choices": []}\n\ndata: [DONE]\n\n',
        b"[1, 2]",
        b"null",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
        gzip.compress(completion("Polly!")),
    ],
    ids=["nothing", "HTML", "stream", "list", "null", "bytes", "deep", "digits", "gzip"],
)
def test_what_is_no_json_object_is_an_error_and_not_asked_again(content: bytes) -> None:
    error, times = failure(lambda handler, asked: send(handler, content))
    assert "no JSON object" in str(error)
    assert "/v1" in str(error)
    assert times == 1
    assert not error.passing


def test_a_body_without_end_is_not_kept() -> None:
    error, times = failure(floods)
    assert f"more than {LARGEST:,} bytes" in str(error)
    assert times == 1


@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (404, b'{"error": {"message": "model \\"parrot\\" not found"}}', 'model "parrot" not found'),
        (404, b'{"detail": "Not Found"}', "the model's name"),
        (401, b'{"error": "who are you, sesame?"}', "who are you, ***?); check the key"),
        (403, b"", "check the key"),
        (400, b'{"message": "context length exceeded"}', "context length exceeded"),
        (422, b'{"detail": [{"loc": ["body"]}]}', '[{"loc": ["body"]}]'),
        (418, b"\x1b[2J\x00 tea\npot", "[2J tea pot"),
    ],
)
def test_a_refusal_is_told_in_the_servers_own_words_and_not_asked_again(
    status: int, content: bytes, said: str
) -> None:
    error, times = failure(refuses(status, content), key="sesame")
    assert said in str(error)
    assert str(error).isprintable()
    assert "sesame" not in str(error)
    assert error.status == status
    assert times == 1


def test_a_redirection_is_told_and_not_followed() -> None:
    with chatting(FINE) as elsewhere:
        error, times = failure(refuses(307, b"", Location=f"{elsewhere.url}/chat/completions"), key="sesame")
        assert elsewhere.url in str(error)
        assert times == 1
        assert elsewhere.asked == []


def test_the_first_failure_ends_the_batch() -> None:
    def script(handler: Handler, asked: Asked) -> None:
        (refuses(404) if asked.body["n"] == 1 else stalls)(handler, asked)

    began = time.monotonic()
    with endpoint(script) as (client, server):
        with pytest.raises(EndpointError, match="404"):
            client.ask([BODY | {"n": n} for n in range(40)])
        assert len(server.asked) <= AT_ONCE + 1
    assert time.monotonic() - began < 5


def test_a_server_that_stalled_is_left_alone_for_a_while_and_then_asked_again() -> None:
    with endpoint(in_turn(stalls, FINE), timeout_s=0.2, cool_s=0.5) as (client, server):
        with pytest.raises(EndpointError, match=r"within 0\.2 s; "):
            client.ask([BODY])
        for _ in range(3):
            with pytest.raises(EndpointError, match="a moment ago") as raised:
                client.ask([BODY])
            assert raised.value.passing
        assert len(server.asked) == 1
        time.sleep(0.5)
        assert client.ask([BODY])
        assert client.ask([BODY])


def test_a_question_that_the_server_refuses_does_not_keep_others_out() -> None:
    with endpoint(in_turn(refuses(400), FINE), cool_s=60.0) as (client, _):
        with pytest.raises(EndpointError, match="400"):
            client.ask([BODY])
        assert client.ask([BODY])


def test_it_can_be_asked_where_an_event_loop_runs_and_from_several_threads() -> None:
    with endpoint(FINE) as (client, server):

        async def ask() -> list[dict[str, Any]]:
            return client.ask([BODY])

        assert asyncio.run(ask())
        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(client.ask, [[BODY, BODY]] * 8))
        assert len(server.asked) == 17


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8000/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:port/v1",
        "http://[::1/v1",
        "http://user:secret@127.0.0.1/v1",
        "http://127.0.0.1/v1?key=secret",
        "http://127.0.0.1/v1#secret",
        "http://127.0.0.1/\x00",
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(ModelError, match="wanted one such as http://127") as raised:
        Endpoint(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 70, "a..b", "xn--"])
def test_a_host_that_is_nowhere_cannot_be_reached(host: str) -> None:
    with pytest.raises(ModelError, match=r"cannot be reached|is no address"):
        Endpoint(f"http://{host}:9/v1", pause_s=0.01, timeout_s=30).ask([BODY])


def test_an_address_may_end_in_a_slash_or_name_the_whole_call() -> None:
    for url in ("http://h/v1", "http://h/v1/", "http://h/v1/chat/completions", " http://h/v1 "):
        assert Endpoint(url).url == "http://h/v1"


@pytest.mark.parametrize("key", ["se\nsame", "schl\u00fcssel", "a\x00b"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ModelError, match="holds characters") as raised:
        Endpoint("http://127.0.0.1/v1", key)
    assert key not in str(raised.value)


def test_a_key_from_a_file_may_end_in_a_line_break() -> None:
    with endpoint(FINE, key="sesame\n") as (client, server):
        client.ask([BODY])
        assert server.asked[0].headers["authorization"] == "Bearer sesame"
