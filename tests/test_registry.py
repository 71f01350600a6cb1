"""The tables of readers and retrievers: look-ups, what their records say, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest
import readme_tables

from readers import DEFAULT_READER, READERS, kind_of, open_reader, public_readers
from retrieval import DEFAULT_RETRIEVER, LARGE_RERANK, RETRIEVERS, public_retrievers
from service.settings import Settings
from text.registry import Spec, UnknownName, by_name, check_name, public_names, resolve

TABLES: dict[str, Mapping[str, Spec]] = {"reader": READERS, "retriever": RETRIEVERS}


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
def test_every_record_leads_to_a_class_and_says_how_it_is_written(kind: str) -> None:
    for name, spec in TABLES[kind].items():
        assert name == spec.name
        assert isinstance(resolve(kind, name, TABLES[kind]), type)
        assert spec.does
        assert not spec.does.endswith(".")
        assert (spec.paper is None) == (spec.section is None)
        assert {kind_of(form) for form in spec.written} == {name}


def test_two_records_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two records have one name: bm25, bm25"):
        by_name(RETRIEVERS["bm25"], RETRIEVERS["bm25"])


def test_the_defaults_are_in_their_tables_and_anyone_may_name_them() -> None:
    assert DEFAULT_READER in public_names(READERS)
    assert DEFAULT_RETRIEVER in public_names(RETRIEVERS)


def test_clients_may_name_the_public_readers_and_no_reader_that_fetches_or_opens_what_they_name() -> None:
    assert Settings().readers == public_readers() == public_names(READERS)
    assert all(READERS[name].shipped or READERS[name].model == "none" for name in public_names(READERS))


def test_clients_may_name_the_public_retrievers_and_none_that_takes_seconds_for_a_long_book() -> None:
    assert Settings().retrievers == public_retrievers() == public_names(RETRIEVERS)
    slow = {"lda", "rouge-span", "bleu-span"}
    assert set(RETRIEVERS) - set(public_names(RETRIEVERS)) == {*slow, LARGE_RERANK}


def test_the_readme_has_the_tables_of_the_records() -> None:
    text = readme_tables.README.read_text(encoding="utf-8")
    assert readme_tables.stored(text) == readme_tables.current(), "run: make docs-tables"
    assert readme_tables.replaced(text) == text


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
