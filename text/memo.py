"""What was found out of long texts, kept for the texts that were asked of last, without the texts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

# Characters of a text: what a shorter one says, such as a title, takes no time to find again.
SHORTEST = 2_000

P = ParamSpec("P")
T = TypeVar("T")


def memoized(
    most: int,
) -> Callable[[Callable[Concatenate[str, P], T]], Callable[Concatenate[str, P], T]]:
    """Keeps what a function returns for the ``most`` texts, its first argument, that it was given last.

    What else it is given has to follow from the text, and nobody may change what it returns. A novel takes
    more room than what is found out of it, so that it is not kept, but known again by its length and its
    hash, which has 64 bits and is another one in each process. Threads may share the function; those that
    give it the same text at once may each wait for the same.
    """

    def decorate(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
        kept: OrderedDict[tuple[int, int], T] = OrderedDict()
        lock = threading.Lock()

        @wraps(function)
        def found(text: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
            if len(text) < SHORTEST:
                return function(text, *args, **kwargs)
            key = len(text), hash(text)
            with lock:
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
            value = function(text, *args, **kwargs)
            with lock:
                kept[key] = value
                kept.move_to_end(key)
                if len(kept) > most:
                    kept.popitem(last=False)
            return value

        return found

    return decorate
