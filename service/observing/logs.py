"""The server's log: lines for people or JSON objects for machines, each with its request's id."""

from __future__ import annotations

import logging
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
        """The line without the traceback."""
        line = super().formatMessage(record)
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


def log_config(kind: str) -> dict[str, Any]:
    """What ``logging.config.dictConfig`` is given; ``kind`` is ``text`` or ``json``, on standard error."""
    formatter = {"text": TextFormatter, "json": JsonLineFormatter}[kind]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"request": {"()": "asgi_correlation_id.CorrelationIdFilter"}},
        "formatters": {"chosen": {"()": formatter}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "chosen", "filters": ["request"]}
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
