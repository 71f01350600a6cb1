"""The server's log: lines for people or JSON objects for machines, each with its request's id."""

from __future__ import annotations

import logging
import math
import re
import time
from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

_FIELDS = {
    "asctime": "time",
    "levelname": "level",
    "name": "logger",
    "message": "message",
    "correlation_id": "request_id",
    "exc_info": "exception",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_REPEATED = {
    ("uvicorn.error", logging.WARNING),  # such as: Invalid HTTP request received
    ("service.load.connections", logging.WARNING),
    ("service.access.rate_limits", logging.WARNING),
}
_NO_FILES_LEFT = "socket.accept() out of system resource"  # asyncio's, once a second for as long as it lasts


class _UtcTimes(logging.Formatter):
    """Times in UTC, to the millisecond."""

    converter = time.gmtime  # type: ignore[assignment]
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


class TextFormatter(_UtcTimes):
    """One line for people: when, how grave, what, and which request; a traceback on lines of its own."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """The line without the traceback; what would begin another, or steer a terminal, is escaped."""
        line = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], super().formatMessage(record))
        request = getattr(record, "correlation_id", None)
        return f"{line} [{request}]" if request else line


class JsonLineFormatter(JsonFormatter, _UtcTimes):
    """One JSON object on one line: time, level, logger, message, request_id, what the record has besides."""

    def __init__(self) -> None:
        super().__init__(
            [name for name in _FIELDS if name != "exc_info"],
            rename_fields=_FIELDS,
            reserved_attrs=[*RESERVED_ATTRS, "color_message"],  # uvicorn's message once more, for terminals
            json_default=str,
        )

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Without the id where no request is being answered."""
        if log_data["request_id"] is None:
            del log_data["request_id"]
        return log_data


class RepeatFilter(logging.Filter):
    """Lets a line through once in ``every_s``, and with it how many like it there were in between.

    It is for what any client can cause as often as it likes, connection by connection; all else goes through.
    """

    def __init__(self, every_s: float = 60.0) -> None:
        super().__init__()
        self._every_s = every_s
        self._last: dict[tuple[str, str], tuple[float, int]] = {}  # when one went through, how many did not

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether ``record`` is written."""
        message = str(record.msg)
        if (record.name, record.levelno) not in _REPEATED and not message.startswith(_NO_FILES_LEFT):
            return True
        kind = record.name, message.partition("\n")[0]
        now = time.monotonic()
        last, dropped = self._last.get(kind, (-math.inf, 0))
        if now - last < self._every_s:
            self._last[kind] = last, dropped + 1
            return False
        self._last[kind] = now, 0
        if dropped:
            record.msg = f"{message} ({dropped} more like it since the last such line)"
        return True


def log_config(kind: str) -> dict[str, Any]:
    """What ``logging.config.dictConfig`` is given; ``kind`` is ``text`` or ``json``, on standard error."""
    formatter = {"text": TextFormatter, "json": JsonLineFormatter}[kind]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "request": {"()": "asgi_correlation_id.CorrelationIdFilter"},
            "repeats": {"()": RepeatFilter},
        },
        "formatters": {"chosen": {"()": formatter}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "chosen",
                "filters": ["request", "repeats"],
            }
        },
        "root": {"level": "WARNING", "handlers": ["stderr"]},
        "loggers": {
            "service": {"level": "INFO"},
            # uvicorn's own lines about requests are off: ours have the id, the route and the time taken.
            "uvicorn.error": {"level": "INFO"},
            # Any client can send an id that is not fit to be logged: that is no warning.
            "asgi_correlation_id": {"level": "ERROR"},
        },
    }
