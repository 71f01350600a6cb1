"""What a book says of somebody in so many words, and what looks like it."""

from __future__ import annotations

import pytest

from answering.relation_patterns import stated


@pytest.mark.parametrize(
    ("property", "text", "value"),
    [
        ("occupation", "There sat Ines Vell, the old ferryman, and laughed.", "old ferryman"),
        ("occupation", "Ines Vell had been a weaver in her youth.", "weaver"),
        ("occupation", "They asked the young painter Ines Vell.", "painter"),
        ("occupation", "He asked for Ines Vell, the baker turned away.", None),
        ("occupation", "Nobody may judge Ines Vell.", None),
        ("spouse", "In May Ines Vell married Odo Marsh.", "Odo Marsh"),
        ("spouse", "Ines Vell’s husband, Odo, was there.", "Odo"),
        ("spouse", "Odo Marsh, the husband\nof Ines Vell, came.", "Odo Marsh"),
        ("parents", "Ines Vell, the eldest daughter of Ruta Quill, came.", "Ruta Quill"),
        ("parents", "Ines Vell's father, Mr. Quill, came.", "Mr. Quill"),
        ("residence", "Ines Vell still lived at Sandry Quay.", "Sandry Quay"),
        ("residence", "Ines Vell lived.\n\nIn Sandry they slept.", None),
    ],
)
def test_what_is_stated_is_found_where_it_stands(property: str, text: str, value: str | None) -> None:
    start = text.index("Ines Vell")
    found = [text[a:z] for a, z in stated(text, property, ["Ines Vell"], [(start, start + len("Ines Vell"))])]
    assert found == ([] if value is None else [value])


def test_what_is_said_most_often_comes_first_and_nothing_is_found_of_nobody() -> None:
    text = "Ines, a nurse, came. In time the weaver Ines slept. Later the weaver Ines woke."
    places = [(i, i + 4) for i in range(len(text)) if text.startswith("Ines", i)]
    assert [text[a:z] for a, z in stated(text, "occupation", ["Ines"], places)] == ["weaver", "nurse"]
    assert stated(text, "occupation", [], places) == []
