"""Answers of chat models as they are written: what is heard of them, and streams that go wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from chat_server import ChatServer, Script, chatting, parrot, refuses, says, stream, streamed, streams

from readers.errors import EndpointError
from readers.external.chat import ChatReader
from readers.external.endpoint import LARGEST
from readers.reading import Reading

PASSAGES = (
    "Maud carried the blue lamp over the hill. The ferryman could not see the far bank without it.",
    "One night it rained so hard that the river took the landing! She hid the lamp in\na hollow oak.",
)
READING = Reading("Where did Maud hide the lamp?", PASSAGES)
REPLY = "ANSWER: in a hollow \U0001f333 oak\nPASSAGE: 2\nQUOTE: She hid the lamp in a hollow oak."
FINE = streamed(REPLY)


@contextmanager
def reader(script: Script, **settings: Any) -> Iterator[tuple[ChatReader, ChatServer]]:
    with chatting(script) as server:
        yield ChatReader.load(f"{server.url}@model=parrot", **settings), server


def heard(script: Script) -> tuple[list[str], Any]:
    """What is heard of the answer, and the answer."""
    words: list[str] = []
    with reader(script) as (chat, server):
        [[answer]] = chat.read_aloud([READING], on_words=[words.append])
        assert server.asked[0].body["stream"] is True
        assert chat.read([READING]) == [[answer]]
        assert server.asked[-1].body["stream"] is False
    return words, answer


def test_the_words_are_heard_as_they_are_written_and_the_answer_is_that_of_a_whole_reply() -> None:
    words, answer = heard(lambda handler, asked: both(handler, asked, REPLY))
    assert "".join(words) == "in a hollow \U0001f333 oak"
    assert len(words) > 3
    assert (answer.text, answer.span, answer.note) == ("in a hollow \U0001f333 oak", None, None)
    assert PASSAGES[1][answer.support.start : answer.support.end] == "She hid the lamp in\na hollow oak."
    assert answer.prompt == "answer 1"


def both(handler: Any, asked: Any, text: str) -> None:
    """``text`` byte by byte where a stream is asked for, else whole."""
    if asked.body["stream"]:
        stream(handler, (bytes([byte]) for byte in b"".join(streamed(text))))
    else:
        says(text)(handler, asked)


def test_who_does_not_stream_is_heard_at_the_end() -> None:
    words, answer = heard(says("ANSWER: a hollow oak\nPASSAGE: 2\nQUOTE: a hollow oak"))
    assert (words, answer.text) == ([], "a hollow oak")


@pytest.mark.parametrize(
    "pieces",
    [
        [b": hello\r\n\r\n", *(one.replace(b"\n", b"\r\n") for one in FINE)],
        [b"event: x\nid: 3\n", *FINE, b'data: {"choices": "after the end"}\n\n'],
        FINE[:-1],  # without [DONE], but with a reason to finish
        [*FINE[:-1], b'data: {"choices": [], "usage": {"total_tokens": 9}}\n\n', FINE[-1]],
        [FINE[0].replace(b'"content": ""', b'"content": null, "reasoning_content": "hm"'), *FINE[1:]],
        [b"".join(FINE)],
    ],
)
def test_a_stream_is_understood_however_it_is_cut_and_dressed(pieces: list[bytes]) -> None:
    words: list[str] = []
    with reader(streams(pieces)) as (chat, _):
        [[answer]] = chat.read_aloud([READING], on_words=[words.append])
    assert "".join(words) == answer.text == "in a hollow \U0001f333 oak"


@pytest.mark.parametrize(
    ("pieces", "said", "passing"),
    [
        ([*FINE[:6]], "broke off its answer (the stream ended without its last event)", True),
        ([*FINE[:3], b'data: {"error": {"message": "out of memory"}}\n\n'], "(out of memory)", False),
        ([*FINE[:3], b"data: {\n\n"], "no part of a completion ({)", False),
        ([*FINE[:3], b"data: [1]\n\n"], "no part of a completion", False),
        ([b'data: {"choices": [3]}\n\n'], "no part of a completion", False),
        ([b'data: {"choices": [{"delta": {"content": 3}}]}\n\n'], "no part of a completion", False),
        ([b"data: " + b"[" * 100_000 + b"\n\n"], "no part of a completion", False),
        ([b": " + b"x" * 1000 + b"\n"] * (LARGEST // 1000), "more than", False),
        ([b"<html>", b"</html>"], "broke off", True),
    ],
)
def test_a_stream_that_goes_wrong_is_an_error_that_names_the_address(
    pieces: Iterable[bytes], said: str, passing: bool
) -> None:
    with reader(streams(pieces)) as (chat, server):
        with pytest.raises(EndpointError) as raised:
            chat.read_aloud([READING], on_words=[lambda words: None])
        assert server.url in str(raised.value)
    assert said in str(raised.value)
    assert raised.value.passing is passing


def test_who_has_heard_half_of_an_answer_hears_no_other_after_it() -> None:
    words: list[str] = []
    with reader(streams(FINE[:6])) as (chat, server):
        with pytest.raises(EndpointError):
            chat.read_aloud([READING], on_words=[words.append])
        assert len(server.asked) == 1
    assert "in a hollow \U0001f333 oak".startswith("".join(words))
    with reader(streams(FINE[:1])) as (chat, server):  # nothing was heard: it may be asked again
        with pytest.raises(EndpointError):
            chat.read_aloud([READING], on_words=[words.append])
        assert len(server.asked) == 3


def test_a_stream_that_stalls_is_given_up_in_time() -> None:
    def stall(handler: Any, asked: Any) -> None:
        stream(handler, FINE[:6])
        handler.server.left.wait(60)

    def keep_open(handler: Any, asked: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(FINE[0])
        handler.server.left.wait(60)

    for script in (stall, keep_open):
        with (
            reader(script, timeout_s=0.7) as (chat, _),
            pytest.raises(EndpointError, match=r"did not answer within|broke off"),
        ):
            chat.read_aloud([READING], on_words=[lambda words: None])


def test_a_refusal_of_a_stream_is_one_and_logprobs_are_given_up_as_for_a_whole_reply() -> None:
    with reader(refuses(401)) as (chat, _), pytest.raises(EndpointError, match="answered 401"):
        chat.read_aloud([READING], on_words=[lambda words: None])

    def plain(handler: Any, asked: Any) -> None:
        if "logprobs" in asked.body:
            refuses(400)(handler, asked)
        else:
            parrot(handler, asked)

    words: list[str] = []
    with reader(plain) as (chat, server):
        [[answer]] = chat.read_aloud([READING], on_words=[words.append])
        assert [("logprobs" in one.body) for one in server.asked] == [True, False]
    assert "".join(words) == answer.text == "over the hill"


def test_probabilities_of_a_stream_are_those_of_its_pieces() -> None:
    pieces = [
        (token, logprob)
        for token, logprob in (("ANSWER: ", -0.9), ("a hollow", -0.1), (" oak", -0.3), ("\nPASSAGE: 2", -2.0))
    ]
    events = []
    for token, logprob in pieces:
        told = {"content": [{"token": token, "logprob": logprob}]}
        events.append({"choices": [{"delta": {"content": token}, "logprobs": told, "finish_reason": None}]})
    data = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]
    with reader(streams([*data, b"data: [DONE]\n\n"])) as (chat, _):
        [[answer]] = chat.read_aloud([READING], on_words=[lambda words: None])
    assert answer.confidence == pytest.approx(2.718281828**-0.2)
