"""``benchmarks.journeys`` says what it is before it measures anything."""

from __future__ import annotations

import sys

import pytest

from benchmarks import journeys


@pytest.mark.parametrize(("option", "code"), [("--help", 0), ("--rounds", 2)])
def test_whoever_wants_help_or_an_option_that_there_is_not_has_no_book_indexed(
    option: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["journeys.py", option])
    with pytest.raises(SystemExit) as ended:
        journeys.main()
    assert ended.value.code == code
    out, error = capsys.readouterr()
    assert "usage: journeys.py" in out + error
