"""The tables of readers and retrievers: look-ups, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from readers import DEFAULT_READER, READERS, open_reader
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS
from text.registry import UnknownName, check_name, resolve

TABLES = {"reader": READERS, "retriever": RETRIEVERS}


@pytest.mark.parametrize(
    ("kind", "name", "nearest"),
    [
        ("reader", "spam", "span"),
        ("reader", "seq2sec", "seq2seq"),
        ("reader", "overlaps", "overlap"),
        ("retriever", "bm52", "bm25"),
        ("retriever", "tf-idf", "tfidf"),
        ("retriever", "hybird", "hybrid"),
    ],
)
def test_a_miss_lists_the_names_and_suggests_the_nearest(kind: str, name: str, nearest: str) -> None:
    table = TABLES[kind]
    with pytest.raises(UnknownName) as raised:
        check_name(kind, name, table)
    assert str(raised.value) == (
        f"unknown {kind} {name!r} (did you mean {nearest!r}?); choose from {', '.join(table)}"
    )
    assert raised.value.choices == tuple(table)


@pytest.mark.parametrize("name", ["", "xyzzy", "SPAN ", "\U0001f980"])
def test_a_miss_near_nothing_suggests_nothing(name: str) -> None:
    with pytest.raises(
        UnknownName, match=rf"^unknown reader '[^']*'; choose from {next(iter(READERS))}, "
    ) as raised:
        check_name("reader", name, READERS)
    assert "did you mean" not in str(raised.value)


def test_opening_an_unknown_reader_names_the_kind_alone() -> None:
    with pytest.raises(UnknownName, match=r"unknown reader 'spam' \(did you mean 'span'\?\)"):
        open_reader("spam:some/model")


@pytest.mark.parametrize("kind", TABLES)
def test_every_line_of_a_table_leads_to_a_class(kind: str) -> None:
    for name in TABLES[kind]:
        assert isinstance(resolve(kind, name, TABLES[kind]), type)


def test_the_defaults_are_lines_of_their_tables() -> None:
    assert DEFAULT_READER in READERS
    assert DEFAULT_RETRIEVER in RETRIEVERS


@pytest.mark.parametrize("package", ["indexing", "retrieval", "readers", "readers.reading", "service"])
def test_importing_a_package_loads_no_heavy_library(package: str) -> None:
    heavy = ("torch", "numpy", "transformers", "sklearn", "faiss", "scipy", "fastapi")
    code = f"import sys, {package}; print(*(name for name in {heavy} if name in sys.modules))"
    path = ":".join(sys.path)
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.split() == []


def test_a_table_names_only_modules_that_exist() -> None:
    for table in TABLES.values():
        for line in table.values():
            import_module(line.partition(":")[0])
