"""How often each key may ask: counted by the library ``limits``, on a clock that does not jump."""

from __future__ import annotations

import math
import threading
import time

from limits import RateLimitItemPerMinute, parse
from limits.errors import ConfigurationError
from limits.storage import Storage, storage_from_string
from limits.strategies import FixedWindowRateLimiter

from text.errors import StoryQAError


class _Monotonic(Storage):
    """Counts in this process's memory; unlike the library's own, setting the clock changes nothing."""

    STORAGE_SCHEME = None

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[int, float]] = {}  # how many, and when they are forgotten

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        now = time.monotonic()
        with self._lock:
            count, until = self._counts.get(key, (0, 0.0))
            if until <= now:
                count, until = 0, now + expiry
            self._counts[key] = count + amount, until
            return count + amount

    def get(self, key: str) -> int:
        count, until = self._counts.get(key, (0, 0.0))
        return count if time.monotonic() < until else 0

    def get_expiry(self, key: str) -> float:
        """As the library wants it, seconds since 1970."""
        return time.time() + max(0.0, self._counts.get(key, (0, 0.0))[1] - time.monotonic())

    def check(self) -> bool:
        return True

    def reset(self) -> int:
        with self._lock:
            count = len(self._counts)
            self._counts.clear()
            return count

    def clear(self, key: str) -> None:
        with self._lock:
            self._counts.pop(key, None)


class Rates:
    """Counts what each key asks; ``rate`` is as ``limits`` writes it, ``"600/minute"``.

    Each process counts for itself, unless ``storage`` is an address that the processes share, such as
    ``redis://127.0.0.1:6379``. Raises ``StoryQAError`` for what the library cannot use.
    """

    def __init__(self, rate: str, storage: str | None = None) -> None:
        try:
            self._default = parse(rate)
            counts = _Monotonic() if storage is None else storage_from_string(storage)
        except ValueError as error:
            raise StoryQAError(f"{rate!r} is no rate; wanted such as '600/minute'") from error
        except ConfigurationError as error:
            raise StoryQAError(
                f"rates cannot be counted at {storage!r} ({error}); wanted redis://HOST:PORT, "
                "and the package redis installed"
            ) from error
        self._limiter = FixedWindowRateLimiter(counts)

    def wait_s(self, key_id: str, per_minute: int | None = None) -> int:
        """Count one request: 0 where it may go on, else the seconds until the next one may."""
        limit = self._default if per_minute is None else RateLimitItemPerMinute(per_minute)
        if self._limiter.hit(limit, key_id):
            return 0
        return max(1, math.ceil(self._limiter.get_window_stats(limit, key_id).reset_time - time.time()))
