"""Errors as clients of OpenAI's calls expect them, at the addresses that have those calls."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

_FOLDER = "/v1/"
_CODES = {
    "unknown-book": "model_not_found",
    "key": "invalid_api_key",
    "too-often": "rate_limit_exceeded",
    "not-allowed": "permission_denied",
}
# What /answer calls otherwise.
_PARAMETERS = {"question": "messages", "book_id": "model"}


class ErrorDetail(BaseModel):
    """What went wrong."""

    message: str
    type: str = Field(description="The family: `invalid_request_error`, `server_error` and the like.")
    param: str | None = Field(description="The field that is wrong, where it is one.")
    code: str = Field(description="The kind, such as `model_not_found` or `overloaded`.")


class OpenAIError(BaseModel):
    """An error in OpenAI's form."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": {
                        "message": "unknown book 'moby'; did you mean 'moby-dick'?",
                        "type": "invalid_request_error",
                        "param": "model",
                        "code": "model_not_found",
                    }
                }
            ]
        }
    )

    error: ErrorDetail


def is_expected(path: str) -> bool:
    """Whether the callers of ``path`` expect errors in this form."""
    return path.startswith(_FOLDER)


def error_of(status: int, kind: str, detail: str, pointer: str = "") -> OpenAIError:
    """The error of an HTTP ``status``; ``kind`` ends the problem's type, ``pointer`` leads to the field."""
    field = pointer.strip("/").partition("/")[0]
    param = "model" if kind == "unknown-book" else _PARAMETERS.get(field, field) or None
    code = _CODES.get(kind, kind.replace("-", "_"))
    return OpenAIError(error=ErrorDetail(message=detail, type=_family(status), param=param, code=code))


def _family(status: int) -> str:
    named = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    return named.get(status, "server_error" if status >= 500 else "invalid_request_error")


def as_json(error: OpenAIError) -> str:
    """The error as it is sent; ASCII, for it may quote half a surrogate pair, which has no UTF-8."""
    return json.dumps(error.model_dump())


def response(error: OpenAIError, status: int, headers: dict[str, str]) -> Response:
    """The error as a response."""
    return Response(as_json(error), status, headers, media_type="application/json")


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """The finished OpenAPI ``schema`` with this form where it is used, changed in place."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/OpenAIError"}}}
    for path, operations in schema["paths"].items():
        for operation in operations.values() if is_expected(path) else ():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    response["content"] = content
    return schema
