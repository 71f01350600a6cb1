"""How often each key may ask: counted by the library ``limits``, on a clock that does not jump."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import ClassVar, cast
from urllib.parse import urlsplit

from limits import RateLimitItem, RateLimitItemPerMinute, parse_many
from limits.aio.storage import Storage
from limits.aio.strategies import FixedWindowRateLimiter
from limits.errors import ConfigurationError
from limits.storage import storage_from_string

from service.http_errors import Refused
from text.errors import StoryQAError

log = logging.getLogger(__name__)

# How long the shared counts may take to answer, and how long they are left alone when they did not.
_ANSWER_S = 0.5
_RETRY_S = 2


class RatesUnavailable(Refused):
    """What the processes count in together does not answer, and nobody is let in uncounted."""

    status: ClassVar[int] = 503
    kind = "rates-unavailable"


class _MonotonicStorage(Storage):
    """Counts in this process's memory; unlike the library's own, setting the clock changes nothing."""

    STORAGE_SCHEME = None

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, tuple[int, float]] = {}  # how many, and when they are forgotten

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        now = time.monotonic()
        count, until = self._counts.get(key, (0, 0.0))
        if until <= now:
            count, until = 0, now + expiry
        self._counts[key] = count + amount, until
        return count + amount

    async def get(self, key: str) -> int:
        count, until = self._counts.get(key, (0, 0.0))
        return count if time.monotonic() < until else 0

    async def get_expiry(self, key: str) -> float:
        """As the library wants it, seconds since 1970."""
        return time.time() + max(0.0, self._counts.get(key, (0, 0.0))[1] - time.monotonic())

    async def check(self) -> bool:
        return True

    async def reset(self) -> int:
        count = len(self._counts)
        self._counts.clear()
        return count

    async def clear(self, key: str) -> None:
        self._counts.pop(key, None)


class RateLimits:
    """Counts what each key asks; ``rate`` is as ``limits`` writes it, ``"600/minute"``.

    Each process counts for itself, unless ``storage`` is an address that the processes share, such as
    ``redis://127.0.0.1:6379``. Raises ``StoryQAError`` for what the library cannot use.
    """

    def __init__(self, rate: str, storage: str | None = None) -> None:
        self._default = _rate(rate)
        try:
            counts = _MonotonicStorage() if storage is None else _shared_storage(storage)
        except (ValueError, ConfigurationError) as error:
            raise StoryQAError(
                f"rates cannot be counted at {storage!r} ({error}); wanted redis://HOST:PORT "
                "in STORYQA_RATE_STORAGE, and the package redis installed"
            ) from error
        self._limiter = FixedWindowRateLimiter(counts)
        self._where = "" if storage is None else urlsplit(storage).netloc.rpartition("@")[2]
        failures = counts.base_exceptions
        self._failures: tuple[type[Exception], ...] = (TimeoutError, OSError)
        self._failures += failures if isinstance(failures, tuple) else (failures,)
        self._down_until = -math.inf

    async def wait_s(self, key_id: str, per_minute: int | None = None) -> int:
        """Count one request: 0 where it may go on, else the seconds until the next one may.

        Raises ``RatesUnavailable`` within half a second.
        """
        limit = self._default if per_minute is None else RateLimitItemPerMinute(per_minute)
        if time.monotonic() < self._down_until:
            raise _unavailable()
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await self._count(limit, key_id)
        except self._failures as error:
            self._down_until = time.monotonic() + _RETRY_S
            log.warning("rates cannot be counted at %s: %s", self._where, str(error) or type(error).__name__)
            raise _unavailable() from error

    async def _count(self, limit: RateLimitItem, key_id: str) -> int:
        if await self._limiter.hit(limit, key_id):
            return 0
        window = await self._limiter.get_window_stats(limit, key_id)
        return max(1, math.ceil(window.reset_time - time.time()))


def _rate(rate: str) -> RateLimitItem:
    """The one rate that ``rate`` says; raises ``StoryQAError`` for none, several or one that is 0."""
    try:
        limits = parse_many(rate)
    except ValueError as error:
        raise StoryQAError(f"{rate!r} is no rate; wanted STORYQA_RATE such as '600/minute'") from error
    if len(limits) != 1 or limits[0].amount < 1:
        raise StoryQAError(
            f"{rate!r} is no rate to keep; wanted one of 1 or more in STORYQA_RATE, such as '600/minute'"
        )
    return limits[0]


def _unavailable() -> RatesUnavailable:
    return RatesUnavailable(
        f"calls cannot be counted just now, so none is answered; ask again in {_RETRY_S} s (whoever runs the "
        "service: the log says why)",
        {"Retry-After": str(_RETRY_S)},
    )


def _shared_storage(address: str) -> Storage:
    """The storage at ``address``; Redis through the package ``redis`` (by default it were ``coredis``)."""
    options = {"implementation": "redispy"} if address.startswith("redis") else {}
    return cast(Storage, storage_from_string(f"async+{address}", **options))
