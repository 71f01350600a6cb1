"""The stored copy of the OpenAPI is that of the code, and clients written for it go on working."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from openapi_copy import STORED, breaking, current

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return dict(json.loads(STORED.read_text(encoding="utf-8")))


def test_no_client_of_the_stored_copy_breaks(stored: dict[str, Any]) -> None:
    assert breaking(stored, current()) == [], "see tests/openapi_copy.py"


def test_the_stored_copy_is_that_of_the_code(stored: dict[str, Any]) -> None:
    assert current() == stored, "store it: make openapi"


def of(schema: dict[str, Any], name: str) -> Any:
    return schema["components"]["schemas"][name]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda new: new["paths"].pop("/search"), "POST /search is gone"),
        (lambda new: new["paths"]["/books"].pop("post"), "POST /books is gone"),
        (lambda new: of(new, "EvidenceOut")["properties"].pop("start"), "start is gone"),
        (lambda new: of(new, "EvidenceOut")["required"].remove("start"), "start may be missing now"),
        (
            lambda new: of(new, "EvidenceOut")["properties"]["start"].update(type="string"),
            "string is answered",
        ),
        (
            lambda new: of(new, "AnswerResponse")["properties"]["answer"].update(anyOf=[{"type": "null"}]),
            "null",
        ),
        (lambda new: of(new, "AnswerRequest")["required"].append("k"), "k has to be sent now"),
        (
            lambda new: of(new, "AnswerRequest")["properties"]["k"].update(maximum=10),
            "maximum was 100.0 and is 10",
        ),
        (lambda new: of(new, "AnswerRequest")["properties"]["before"]["anyOf"].pop(0), "not taken any more"),
        (lambda new: of(new, "AnswerRequest")["properties"].pop("reader"), "reader is gone"),
        (
            lambda new: of(new, "JobOut")["properties"]["status"]["enum"].append("lost"),
            "lost is answered now",
        ),
        (lambda new: new["paths"]["/books"]["post"]["responses"].pop("202"), "202 is not answered"),
        (
            lambda new: new["paths"]["/books"]["post"]["requestBody"]["content"].pop("multipart/form-data"),
            "multipart/form-data is gone",
        ),
        (
            lambda new: new["paths"]["/books/{book_id}/text"]["get"]["parameters"][-1].update(required=True),
            "has to be given now",
        ),
    ],
)
def test_a_change_that_breaks_clients_is_named(change: Change, said: str, stored: dict[str, Any]) -> None:
    new = copy.deepcopy(stored)
    change(new)
    found = breaking(stored, new)
    assert any(said in line for line in found), found


@pytest.mark.parametrize(
    "change",
    [
        lambda new: new["paths"].update({"/more": {}}),
        lambda new: of(new, "EvidenceOut")["properties"].update(more={"type": "string"}),
        lambda new: of(new, "AnswerRequest")["properties"].update(more={"type": "string"}),
        lambda new: of(new, "AnswerRequest")["properties"]["k"].update(maximum=1000),
        lambda new: of(new, "AnswerRequest")["properties"]["k"].pop("minimum"),
        lambda new: of(new, "AnswerRequest")["required"].remove("book_id"),
        lambda new: of(new, "JobOut")["properties"]["status"]["enum"].remove("queued"),
        lambda new: new["paths"]["/books"]["get"]["responses"].update({"418": {}}),
    ],
)
def test_a_change_that_breaks_no_client_is_let_be(change: Change, stored: dict[str, Any]) -> None:
    new = copy.deepcopy(stored)
    change(new)
    assert breaking(stored, new) == []
