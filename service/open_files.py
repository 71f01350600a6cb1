"""How many files this process may have open, raised as far as the system lets it."""

from __future__ import annotations

import resource
from contextlib import suppress


def raise_open_files(wanted: int) -> int:
    """Have the system allow ``wanted`` open files, where it does not yet; how many of them it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(OSError, ValueError):  # some systems have a lower limit than the one that they name
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft = raised
    return soft
