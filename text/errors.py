"""The errors whose messages are written for the user."""

from __future__ import annotations

from typing import Any


class StoryQAError(Exception):
    """An error whose message is written for the user: what was given, what was wanted, what to do."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's calls the class with the message alone, which breaks a whole pool of processes where
        # the class is made of more.
        return _remade, (type(self), self.args), self.__dict__


class Stopped(Exception):
    """Work that Ctrl-C has ended; the message says what is kept of it, and how to go on."""

    exit_code = 130  # as shells have it: 128, and the number of SIGINT


def _remade(kind: type[StoryQAError], args: tuple[Any, ...]) -> StoryQAError:
    error = kind.__new__(kind)
    error.args = args
    return error
