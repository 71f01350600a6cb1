"""An OpenAI-compatible server asked over HTTP, within limits of time, size and patience.

Not by the package ``openai``: with these limits, which it has not, the code is some 30 lines longer and the
installation 33 MB larger, and it tells any server of its host's system and of ``OPENAI_ORG_ID``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from encoders.errors import ModelError
from readers.errors import EndpointError
from readers.external.event_stream import MEDIA_TYPE, BadStream, CompletionStream

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

Result = TypeVar("Result")

PATH = "/chat/completions"
CONNECT_S = 1.8  # so that a dead server is said to be one within two
LARGEST = 2**20  # bytes of one reply
AT_ONCE = 4  # requests
TRIES = 3
LONGEST_PAUSE_S = 10.0  # between two tries, whatever the server asks for
_BUSY = (408, 429, 502, 503, 504)
_AGAIN = (*_BUSY, 500)  # which may be the fault of one question
_ADVICE = {
    400: "the question may be too long for the model's context",
    401: "check the key",
    403: "check the key",
    404: "check the address and the model's name",
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Endpoint:
    """The server at ``url``, such as ``http://127.0.0.1:8000/v1``; may be used from several threads.

    ``timeout_s`` is the limit on one request, all tries and pauses included; the first pause takes
    ``pause_s``, each further one twice as long. A server that could not be reached, stalled or was
    too busy is left alone for ``cool_s``, in which questions fail at once: the one thread that asks
    also serves other readers. Raises ``ModelError`` for an address or key that cannot be used.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        timeout_s: float = 120.0,
        *,
        pause_s: float = 0.5,
        cool_s: float = 5.0,
    ) -> None:
        import httpx

        wanted = "wanted one such as http://127.0.0.1:8000/v1"
        try:
            parsed = httpx.URL(url.strip())
            host, port = parsed.host, parsed.port
        except (httpx.InvalidURL, UnicodeError) as error:
            raise ModelError(f"{url!r} is no address ({error}); {wanted}") from None
        if parsed.scheme not in ("http", "https") or not host or not 0 < (port or 80) < 65536:
            raise ModelError(f"{url!r} is no http or https address; {wanted}")
        if parsed.userinfo or parsed.query or parsed.fragment:
            raise ModelError(
                f"the address of {host!r} holds more than scheme, host, port and path; {wanted}, "
                "and the key by itself (STORYQA_CHAT_KEY)"
            )
        self.url = str(parsed).rstrip("/").removesuffix(PATH)
        self._key = (key or "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise ModelError(f"the key for {self.url} holds characters that no HTTP header can; check it")
        self._timeout_s, self._pause_s, self._cool_s = timeout_s, pause_s, cool_s
        # Proxies are for what is out on the network, never for a server on this machine.
        self._trust_env = host not in LOOPBACK
        self._failed: tuple[float, str] | None = None

    def ask(
        self, bodies: Sequence[dict[str, Any]], on_piece: Sequence[Callable[[str], None] | None] | None = None
    ) -> list[dict[str, Any]]:
        """The JSON object that answers each of ``bodies``, a few asked at a time.

        One whose ``on_piece`` is a function is asked for in pieces, which it hears as they come, in the
        thread of a loop of its own. A busy or failing server is asked ``TRIES`` times, unless it had begun to
        answer. Raises ``EndpointError`` for the first body that fails for good; the others are given up then.
        """
        failed = self._failed
        if failed is not None and time.monotonic() < failed[0]:
            raise EndpointError(f"{failed[1]} (a moment ago; not asked again yet)", passing=True)
        try:
            replies = _run(self._ask_all(_requests(bodies, on_piece or [None] * len(bodies))))
        except EndpointError as error:
            if error.passing:
                self._failed = time.monotonic() + self._cool_s, str(error)
            raise
        self._failed = None
        return replies

    def reach(self) -> None:
        """Raise ``EndpointError`` where nobody takes connections at the address; any answer will do."""
        import httpx

        try:
            with (
                httpx.Client(timeout=CONNECT_S, trust_env=self._trust_env) as client,
                client.stream("GET", self.url),
            ):
                pass
        except _unreachable_errors() as error:
            raise self._unreachable(error) from error
        except httpx.HTTPError:
            pass  # somebody is there

    def _unreachable(self, error: BaseException) -> EndpointError:
        return EndpointError(
            f"{self.url} cannot be reached ({_reason(error)}); start the server there, or name another",
            passing=True,
        )

    async def _ask_all(self, requests: Sequence[_Request]) -> list[dict[str, Any]]:
        import httpx

        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "storyqa"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        seats = asyncio.Semaphore(AT_ONCE)
        async with httpx.AsyncClient(
            headers=headers, timeout=httpx.Timeout(None, connect=CONNECT_S), trust_env=self._trust_env
        ) as client:

            async def ask(request: _Request) -> dict[str, Any]:
                async with seats:
                    return await self._ask_one(client, request)

            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(ask(request)) for request in requests]
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _ask_one(self, client: httpx.AsyncClient, request: _Request) -> dict[str, Any]:
        from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_Again),
            wait=self._wait_s,
            stop=stop_after_attempt(TRIES),
            reraise=True,
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                return await retrying(self._try, client, request)
        except _Again as again:
            raise again.error from again.__cause__
        except TimeoutError:
            raise EndpointError(
                f"{self.url} did not answer within {self._timeout_s:g} s; ask again later, ask for fewer "
                "passages, or allow it more time (STORYQA_CHAT_TIMEOUT_S)",
                passing=True,
            ) from None

    def _wait_s(self, state: RetryCallState) -> float:
        """Seconds until the next try: as the server asks, within bounds."""
        again = state.outcome.exception() if state.outcome is not None else None
        asked_s = again.wait_s if isinstance(again, _Again) else None
        return min(asked_s or self._pause_s * 2.0 ** (state.attempt_number - 1), LONGEST_PAUSE_S)

    async def _try(self, client: httpx.AsyncClient, request: _Request) -> dict[str, Any]:
        """Raises ``_Again`` where another try may help and ``EndpointError`` where it does not.

        To reach the server is tried once.
        """
        import httpx

        data = bytearray()
        stream = None if request.on_piece is None else CompletionStream(request.on_piece)
        try:
            async with client.stream("POST", self.url + PATH, content=request.body) as response:
                if not response.headers.get("Content-Type", "").startswith(MEDIA_TYPE):
                    stream = None  # it sends the whole at once, or a refusal
                async for chunk in response.aiter_raw():  # as sent: nothing is unpacked to another size
                    data += chunk
                    if len(data) > LARGEST:
                        raise EndpointError(
                            f"{self.url} answered with more than {LARGEST:,} bytes; it is no chat endpoint"
                        )
                    if stream is not None:
                        stream.add(chunk)
        except BadStream as error:
            raise EndpointError(
                f"{self.url} sent what is no part of a completion ({self._excerpt(str(error).encode())}); "
                "see its log"
            ) from None
        except _unreachable_errors() as error:
            # Not asked again: nobody listens there, and whoever asked can be told at once.
            raise self._unreachable(error) from error
        except httpx.HTTPError as error:
            raise self._broken_off(str(error) or type(error).__name__, stream) from error
        if not response.is_success:
            raise self._refusal(response, bytes(data))
        if stream is not None:
            whole = stream.completion()
            if whole is None:
                raise self._broken_off("the stream ended without its last event", stream)
            return whole
        try:
            reply = json.loads(data)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise EndpointError(
                f"{self.url} answered no JSON object but {self._excerpt(bytes(data)) or 'nothing'!r}; "
                "wanted an OpenAI-compatible endpoint, whose address usually ends in /v1"
            )
        return reply

    def _broken_off(self, why: str, stream: CompletionStream | None) -> Exception:
        error = EndpointError(f"{self.url} broke off its answer ({why}); see its log", passing=True)
        # Who has heard half of an answer must not hear another after it.
        return error if stream is not None and stream.has_begun else _Again(error)

    def _refusal(self, response: httpx.Response, data: bytes) -> Exception:
        status = response.status_code
        said = self._excerpt(data)
        advice = "see its log" if status >= 500 else _ADVICE.get(status, "check the address")
        if response.has_redirect_location:
            advice = f"name the address that it leads to, {response.headers['Location'][:200]!r}"
        error = EndpointError(
            f"{self.url} answered {status}{f' ({said})' if said else ''}; {advice}",
            passing=status in _BUSY,
            status=status,
        )
        return _Again(error, _seconds(response.headers.get("Retry-After"))) if status in _AGAIN else error

    def _excerpt(self, data: bytes) -> str:
        """What an error's body says, on one line, without the key that some servers repeat."""
        said: Any = data[:2000].decode("utf-8", errors="replace")
        with contextlib.suppress(ValueError, RecursionError):
            said = json.loads(data)
        for name in ("error", "message", "detail"):
            if isinstance(said, dict) and name in said:
                said = said[name]
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        if self._key:
            text = text.replace(self._key, "***")
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line[:200] + ("…" if len(line) > 200 else "")


@dataclass(frozen=True, slots=True)
class _Request:
    """A body to send; ``on_piece`` hears the answer in pieces, where it is a function."""

    body: bytes
    on_piece: Callable[[str], None] | None


def _requests(
    bodies: Sequence[dict[str, Any]], on_piece: Sequence[Callable[[str], None] | None]
) -> list[_Request]:
    return [
        _Request(json.dumps(body if hears is None else body | {"stream": True}).encode("ascii"), hears)
        for body, hears in zip(bodies, on_piece, strict=True)
    ]


class _Again(Exception):
    """A failure after which another try may help; ``wait_s`` is what the server asked for."""

    def __init__(self, error: EndpointError, wait_s: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait_s = wait_s


def _unreachable_errors() -> tuple[type[Exception], ...]:
    import httpx

    return (httpx.ConnectError, httpx.ConnectTimeout, OSError, UnicodeError)


def _reason(error: BaseException | None) -> str:
    """What the system says of a failed connection, which the libraries wrap in words of their own."""
    said = str(error) or f"no connection within {CONNECT_S:g} s"
    while error is not None:
        if isinstance(error, OSError) and error.errno:
            # asyncio puts an address in the place of the system's words; those of a name are not in its list.
            return os.strerror(error.errno) if error.errno > 0 else error.strerror or said
        error = error.__cause__ or error.__context__
    return said


def _seconds(retry_after: str | None) -> float | None:
    """The seconds of a ``Retry-After``; None for dates, which a bounded pause need not understand."""
    return float(retry_after) if retry_after and retry_after.isdecimal() and retry_after.isascii() else None


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    """``work`` done, also where this thread runs an event loop already, as notebooks do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
