"""A set like WikiReading's, made of articles and of statements about what they are on.

Hewlett et al. 2016, section 2: statements of one item and property are one instance with a set of answers,
times are written as "4 July 1776", and documents are split 70/10/20.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.benchmarks.files import DataError, plain, require
from evaluation.preparation.times import readable, readable_object
from evaluation.wikireading.instances import field, lines_of, parse_object, read_instances, values
from evaluation.wikireading.statistics import count_training, describe

ARTICLES = "an article a line: {id, title, text}"
STATEMENTS = "a statement a line: {id, property, value}"
SPLITS = ("train", "validation", "test")
STATISTICS = "statistics.json"

Statements = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By the item's id, by property, its values."""


@dataclass(frozen=True, slots=True)
class Article:
    """What an item's instances are asked of."""

    id: str
    title: str
    text: str


def split_of(id: str) -> str:
    """The split of a document, by the MD5 of its id: of ten 7 are train, 1 validation and 2 test."""
    tenth = int(hashlib.md5(id.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest(), 16) % 10
    return "train" if tenth < 7 else "validation" if tenth == 7 else "test"


def read_articles(path: Path) -> Iterator[Article]:
    """The articles of a file, as a stream; raises ``DataError``, which names file and line."""
    seen: set[str] = set()
    for number, line in lines_of(require(path, ARTICLES)):
        place = f"{path}, line {number}"
        found = parse_object(line, place)
        id, text = (_text(found, name, place) for name in ("id", "text"))
        if id in seen:
            raise DataError(f"{place}: there is an article of id {id!r} before")
        seen.add(id)
        yield Article(id, plain(field(found, "title", str, place)), text)


def read_statements(path: Path) -> Statements:
    """What the statements of a file say, those of one item and property together; raises ``DataError``."""
    found: dict[str, dict[str, list[str]]] = {}
    for number, line in lines_of(require(path, STATEMENTS)):
        place = f"{path}, line {number}"
        one = parse_object(line, place)
        id, property = (_text(one, name, place) for name in ("id", "property"))
        found.setdefault(id, {}).setdefault(property, []).append(_value(one, place))
    return {
        id: {property: values(of_one) for property, of_one in by_property.items()}
        for id, by_property in found.items()
    }


def _text(found: Mapping[str, Any], name: str, place: str) -> str:
    text = plain(field(found, name, str, place))
    if not text:
        raise DataError(f"{place}: the {name} is empty")
    return text


def _value(found: Mapping[str, Any], place: str) -> str:
    value = found.get("value")
    if isinstance(value, dict):
        time = readable_object(value)
        if time is None:
            raise DataError(f"{place}: value is an object that is no time; wanted {{time, precision}}")
        return time
    return readable(_text(found, "value", place))


def build(articles: Path, statements: Path, out: Path) -> dict[str, Any]:
    """Write ``SPLIT.jsonl`` of each split and ``statistics.json`` into ``out``, and say what these say.

    Statements are kept in memory, articles are not. Raises ``DataError`` for a file that is missing or
    malformed, and where no statement is about an article; ``out`` is then as it was.
    """
    stated = read_statements(statements)
    counts: Counter[str] = Counter(statements=sum(len(v) for by in stated.values() for v in by.values()))
    unused = set(stated)
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        parts = {split: out / f"{split}.jsonl.part" for split in SPLITS}
        for part in parts.values():
            stack.callback(part.unlink, missing_ok=True)
        files = {
            split: stack.enter_context(part.open("w", encoding="utf-8", newline="\n", errors="surrogatepass"))
            for split, part in parts.items()
        }
        for article in read_articles(articles):
            counts["articles"] += 1
            counts["articles_without_statements"] += article.id not in stated
            unused.discard(article.id)
            for property, answers in stated.get(article.id, {}).items():
                row = {
                    "key": article.id,
                    "title": article.title,
                    "document": article.text,
                    "property": property,
                    "answers": answers,
                }
                files[split_of(article.id)].write(json.dumps(row, ensure_ascii=False) + "\n")
        if len(unused) == len(stated):
            raise DataError(f"{statements}: none of its ids is that of an article in {articles}")
        for split, file in files.items():
            file.close()
            parts[split].replace(out / f"{split}.jsonl")
    counts["items_without_article"] = len(unused)
    report = {**counts, **statistics(out)}
    (out / STATISTICS).write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return report


def statistics(folder: Path) -> dict[str, Any]:
    """What there is to say of a set: of each split, and of each property of its train split."""
    training = count_training(read_instances(folder, "train"))
    return {
        "splits": {split: describe(read_instances(folder, split), training) for split in SPLITS},
        "properties": {
            name: {
                "instances": one.instances,
                "answers": one.answers,
                "entropy": round(one.entropy, 4),
                "kind": one.kind,
            }
            for name, one in training.properties.items()
        },
    }
