"""The errors whose messages are written for the user."""

from __future__ import annotations


class StoryQAError(Exception):
    """An error whose message is written for the user: what was given, what was wanted, what to do."""


class Stopped(Exception):
    """Work that Ctrl-C has ended; the message says what is kept of it, and how to go on."""

    exit_code = 130  # as shells have it: 128, and the number of SIGINT
