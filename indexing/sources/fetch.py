"""Files fetched from the web: one request at a time over all processes, with a pause, and within limits."""

from __future__ import annotations

import email.utils
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from indexing.errors import SourceError

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

USER_AGENT = "storyqa (reads books to answer questions about them; one request at a time)"
LARGEST_FILE = 256 * 2**20  # bytes
_TRY_AGAIN = (429, 500, 502, 503, 504)
_LONGEST_WAIT_S = 60.0
_CONNECT_S = 5.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """Bytes, and what their server says they are."""

    data: bytes
    content_type: str | None = None


class Missing(SourceError):
    """An address that its server says does not exist."""


@dataclass(frozen=True, slots=True)
class Web:
    """Fetches addresses politely.

    ``cache`` is the folder that holds the lock which all processes share; ``delay_s`` is the pause
    between two requests.
    """

    cache: Path
    delay_s: float = 2.0
    timeout_s: float = 30.0
    tries: int = 3

    def get(self, address: str) -> Fetched:
        """What ``address`` answers, redirections followed.

        A busy server is asked again when it says (``Retry-After``), if that is within a minute.
        Raises ``Missing`` for 404 and 410 and ``SourceError`` for everything else that fails.
        """
        from filelock import FileLock

        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            with FileLock(self.cache / "fetch.lock"):
                return self._get(address)
        except OSError as error:
            raise SourceError(
                f"the cache {self.cache} cannot be written ({error}); choose another"
            ) from error

    def _get(self, address: str) -> Fetched:
        import httpx

        # Nobody is at the address now, it is none, or no server answers otherwise the next time (UnicodeError
        # is a host or a path that has no address): to wait would only tell so later.
        final = (
            *(httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL),
            *(httpx.TooManyRedirects, UnicodeError),
        )
        stamp = self.cache / "fetch.last"
        problem = ""
        wait_s = 0.0
        for attempt in range(self.tries):
            time.sleep(max(wait_s, self._pause_s(stamp)))
            try:
                with httpx.stream(
                    "GET",
                    address,
                    headers={"User-Agent": USER_AGENT},
                    timeout=httpx.Timeout(self.timeout_s, connect=min(_CONNECT_S, self.timeout_s)),
                    follow_redirects=True,
                ) as response:
                    if response.is_success:
                        return Fetched(_body(address, response), response.headers.get("Content-Type"))
                    problem = f"{response.status_code} {response.reason_phrase}".strip()
                    if response.status_code in (404, 410):
                        raise Missing(f"{address} does not exist ({problem}); check the address")
                    if response.status_code not in _TRY_AGAIN:
                        break
                    wait_s = _retry_after_s(response.headers.get("Retry-After"), 2.0**attempt)
            except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
                problem = str(error) or type(error).__name__
                wait_s = 2.0**attempt
                if isinstance(error, final):
                    break
            finally:
                stamp.touch()
            if wait_s > _LONGEST_WAIT_S:
                raise SourceError(
                    f"{address} answers {problem} and asks to wait {wait_s:.0f} s; try again then"
                )
            log.info("%s: %s, attempt %d of %d", address, problem, attempt + 1, self.tries)
        raise SourceError(f"{address} could not be fetched ({problem}); check the address and the network")

    def _pause_s(self, stamp: Path) -> float:
        try:
            return min(self.delay_s, max(0.0, stamp.stat().st_mtime + self.delay_s - time.time()))
        except FileNotFoundError:
            return 0.0


def save(path: Path, data: bytes) -> None:
    """Write a file of the cache so that other processes see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _body(address: str, response: httpx.Response) -> bytes:
    pieces = []
    size = 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > LARGEST_FILE:
            raise SourceError(f"{address} is larger than {LARGEST_FILE // 2**20} MB; wanted a book")
        pieces.append(piece)
    return b"".join(pieces)


def _retry_after_s(header: str | None, otherwise: float) -> float:
    """Seconds that a ``Retry-After`` header, a number or a date, asks to wait."""
    if header is None:
        return otherwise
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return otherwise
