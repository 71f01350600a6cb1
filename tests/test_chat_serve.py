"""The chat reader against ``transformers serve``, the real thing, with a model made on the spot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from model_server import serving_model

from readers import open_reader
from readers.errors import EndpointError
from readers.external.checked_reply import UNKNOWN
from readers.reading import Answer, Reading, Span

pytestmark = pytest.mark.processes

pytest.importorskip("openai", reason="transformers serve needs the extra dev")

PATIENCE_S = 300
PASSAGES = (
    "Maud carried the blue lamp over the hill.",
    "It rained so hard that the river took the landing! She hid the lamp in\na hollow oak. \U0001f980",
)
START = PASSAGES[1].index("a hollow oak")
OAK = Answer("a hollow oak", UNKNOWN, UNKNOWN, Span(1, START, START + 12))


@pytest.fixture(scope="module")
def served(tiny_chat: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a ``transformers serve`` that has the tiny chat model and no other."""
    log = tmp_path_factory.mktemp("serve") / "log"
    with serving_model(tiny_chat, log, PATIENCE_S) as url:
        yield url


def test_a_model_that_is_really_served_is_read_and_its_citation_checked(served: str, tiny_chat: Path) -> None:
    reader = open_reader(f"chat:{served}@model={tiny_chat}")
    reading = Reading("Where did Maud hide the lamp?", PASSAGES)
    elsewhere = Reading("Where did Maud hide the lamp?", PASSAGES[::-1])
    several = reader.read([reading, elsewhere, Reading("Who?", ()), reading])
    assert several[0] == several[3] == [OAK]
    assert several[2] == []
    [dropped] = several[1]
    assert (dropped.text, dropped.span, dropped.support) == ("a hollow oak", None, None)
    assert "not in passage 2, of 2" in str(dropped.note)


def test_a_model_that_is_not_served_is_an_error_in_the_servers_words(served: str) -> None:
    reader = open_reader(f"chat:{served}@model=no/such-model")
    with pytest.raises(EndpointError, match="no/such-model") as raised:
        reader.read([Reading("Who?", PASSAGES)])
    assert served in str(raised.value)
    assert not raised.value.passing
