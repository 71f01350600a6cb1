"""A small OpenAI-compatible server on loopback: a parrot that quotes, and all the ways to misbehave."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from text.sentences import sentence_spans
from text.words import words

_PASSAGE = re.compile(r"\[passage (\d+) begins (\w+)\]\n(.*?)\n\[passage \1 ends \2\]", re.DOTALL)
_QUESTION = re.compile(r"\[question begins (\w+)\]\n(.*?)\n\[question ends \1\]", re.DOTALL)
_IDLE_WORDS = set(words("the a an and of to in did was were is it that who what where why how"))


@dataclass
class Asked:
    """What arrived: the body, the headers in lower case, and the path."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str

    @property
    def passages(self) -> dict[int, str]:
        """The passages that the model was shown, by their numbers."""
        return {
            int(number): text for number, _, text in _PASSAGE.findall(self.body["messages"][-1]["content"])
        }

    @property
    def question(self) -> str:
        """The question that the model was asked."""
        return str(_QUESTION.findall(self.body["messages"][-1]["content"])[-1][1])


Handler = BaseHTTPRequestHandler
Script = Callable[[Handler, Asked], None]


@dataclass
class ChatServer:
    """A server that treats every request as its script says; ``asked`` are those that arrived."""

    url: str
    script: Script
    asked: list[Asked] = field(default_factory=list)
    models: bytes | None = None  # what it lists
    looked: list[dict[str, str]] = field(
        default_factory=list
    )  # the headers of those who asked for its models


@contextmanager
def chatting(script: Script, models: bytes | None = None) -> Iterator[ChatServer]:
    """A server in threads of its own, on a free port of loopback; ``models`` is what it lists."""

    class Serving(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked = Asked(json.loads(body), {k.lower(): v for k, v in self.headers.items()}, self.path)
            told.asked.append(asked)
            told.script(self, asked)

        def do_GET(self) -> None:
            told.looked.append({k.lower(): v for k, v in self.headers.items()})
            if told.models is None or self.path != "/v1/models":
                send(self, b"not found", 404)
            else:
                send(self, told.models)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = False
        request_queue_size = 64
        left = threading.Event()  # set once the test is over, for scripts that wait

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # clients that leave in the middle are what these tests are about

    with Quiet(("127.0.0.1", 0), Serving) as server:
        told = ChatServer(f"http://127.0.0.1:{server.server_address[1]}/v1", script, models=models)
        Serving.timeout = 30
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield told
        finally:
            server.left.set()
            server.shutdown()
            thread.join()


def listing(*ids: str, owner: str = "library") -> bytes:
    """A list of models as servers send it."""
    data = [{"id": id, "object": "model", "created": 1, "owned_by": owner} for id in ids]
    return json.dumps({"object": "list", "data": data}).encode()


def send(handler: Handler, content: bytes, status: int = 200, **headers: str) -> None:
    """One response with ``content``; the connection is closed after it."""
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(content)))
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(content)


def completion(text: str | None, finish: str = "stop", logprobs: Any = None) -> bytes:
    """A chat completion as servers send it."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": logprobs}
    return json.dumps({"object": "chat.completion", "model": "parrot", "choices": [choice]}).encode()


def streamed(text: str, size: int = 4, finish: str | None = "stop") -> list[bytes]:
    """A chat completion in events, as servers send it: a role, pieces of ``size`` characters, an end."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    events = [{"object": "chat.completion.chunk", "choices": [one]} for one in choices]
    return [*(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events), b"data: [DONE]\n\n"]


def stream(handler: Handler, pieces: Iterable[bytes]) -> None:
    """A response in ``pieces``, each sent by itself; the connection is closed after the last."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    for piece in pieces:
        handler.wfile.write(piece)
        handler.wfile.flush()


def streams(pieces: Iterable[bytes]) -> Script:
    """A script that always answers with these ``pieces`` of a stream."""
    kept = list(pieces)
    return lambda handler, asked: stream(handler, kept)


def reply(handler: Handler, asked: Asked, text: str) -> None:
    """``text`` as a completion, in a stream where that was asked for."""
    if asked.body.get("stream"):
        stream(handler, streamed(text))
    else:
        send(handler, completion(text))


def says(text: str | None, finish: str = "stop", logprobs: Any = None) -> Script:
    """A script that always replies with ``text``."""
    return lambda handler, asked: send(handler, completion(text, finish, logprobs))


def refuses(status: int, content: bytes = b'{"error": {"message": "no luck"}}', **headers: str) -> Script:
    """A script that always answers ``status``."""
    return lambda handler, asked: send(handler, content, status, **headers)


def held(gate: threading.Event, busy: threading.Event | None = None) -> Script:
    """A script that replies as ``parrot`` once the ``gate`` is open; ``busy`` is set when one is asked."""

    def script(handler: Handler, asked: Asked) -> None:
        if busy is not None:
            busy.set()
        gate.wait(60)
        parrot(handler, asked)

    return script


def parrot(handler: Handler, asked: Asked) -> None:
    """Quotes the sentence that shares most words with the question, as a model that behaves would."""
    wanted = set(words(asked.question)) - _IDLE_WORDS
    sentences = [
        (number, passage[start:end])
        for number, passage in asked.passages.items()
        for start, end in sentence_spans(passage)
    ]
    best = max(sentences, key=lambda one: len(wanted & set(words(one[1]))), default=(0, ""))
    if not wanted & set(words(best[1])):
        reply(handler, asked, "ANSWER: unanswerable\nPASSAGE: 0\nQUOTE:")
        return
    number, sentence = best
    answer = " ".join(sentence.split()[-3:]).rstrip(".!?")
    reply(handler, asked, f"ANSWER: {answer}\nPASSAGE: {number}\nQUOTE: {sentence}")
