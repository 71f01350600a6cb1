"""How often each key may ask: counted by the library ``limits``, on a clock that does not jump."""

from __future__ import annotations

import math
import time
from typing import cast

from limits import RateLimitItemPerMinute, parse
from limits.aio.storage import Storage
from limits.aio.strategies import FixedWindowRateLimiter
from limits.errors import ConfigurationError
from limits.storage import storage_from_string

from text.errors import StoryQAError


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
        try:
            self._default = parse(rate)
            counts = _MonotonicStorage() if storage is None else _shared_storage(storage)
        except ValueError as error:
            raise StoryQAError(f"{rate!r} is no rate; wanted such as '600/minute'") from error
        except ConfigurationError as error:
            raise StoryQAError(
                f"rates cannot be counted at {storage!r} ({error}); wanted redis://HOST:PORT, "
                "and the package redis installed"
            ) from error
        self._limiter = FixedWindowRateLimiter(counts)

    async def wait_s(self, key_id: str, per_minute: int | None = None) -> int:
        """Count one request: 0 where it may go on, else the seconds until the next one may."""
        limit = self._default if per_minute is None else RateLimitItemPerMinute(per_minute)
        if await self._limiter.hit(limit, key_id):
            return 0
        window = await self._limiter.get_window_stats(limit, key_id)
        return max(1, math.ceil(window.reset_time - time.time()))


def _shared_storage(address: str) -> Storage:
    """The storage at ``address``; Redis through the package ``redis`` (by default it were ``coredis``)."""
    options = {"implementation": "redispy"} if address.startswith("redis") else {}
    return cast(Storage, storage_from_string(f"async+{address}", **options))
