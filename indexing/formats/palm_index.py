"""The indexes of a Kindle book (INDX records): its table of contents, and what its documents are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from indexing.formats.palm_database import PalmDatabase, long_number, number

_MOST_ENTRIES = 200_000
_MOST_RECORDS = 5000
_LONGEST_LABEL = 1000  # bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its name, and the numbers that stand under each tag."""

    name: bytes
    tags: Mapping[int, Sequence[int]]

    def first(self, tag: int, default: int = 0) -> int:
        """The first number under a tag."""
        return next(iter(self.tags.get(tag, ())), default)


@dataclass(frozen=True, slots=True)
class Index:
    """The entries of an index in order, and the records of the labels that they name."""

    entries: tuple[Entry, ...]
    labels: tuple[bytes, ...]

    def label(self, offset: int) -> bytes:
        """The label at ``offset``, whose upper half numbers its record; nothing where there is none."""
        record = self.labels[offset >> 16] if offset >> 16 < len(self.labels) else b""
        try:
            length, start = long_number(record, offset & 0xFFFF)
        except ValueError:
            return b""
        return record[start : start + min(length, _LONGEST_LABEL)]


def read_index(database: PalmDatabase, first: int) -> Index:
    """The index whose head is the record ``first``; an empty one where there is none.

    Raises ``ValueError`` for one that is damaged or has too many entries.
    """
    head = database.record(first)
    if not head.startswith(b"INDX"):
        return Index((), ())
    fields, control = _fields(head)
    count, labels = number(head, 24, 4), number(head, 52, 4)
    if count + labels > _MOST_RECORDS:
        raise ValueError("its index has too many records")
    entries: list[Entry] = []
    for record in map(database.record, range(first + 1, first + 1 + count)):
        entries += _entries(record, fields, control)
        if len(entries) > _MOST_ENTRIES:
            raise ValueError("its index has too many entries")
    after = first + 1 + count
    return Index(tuple(entries), tuple(map(database.record, range(after, after + labels))))


@dataclass(frozen=True, slots=True)
class _Field:
    """What a bit or a few of an entry's control bytes say: how often so many numbers stand under a tag."""

    tag: int
    numbers: int
    mask: int
    byte: int


def _fields(head: bytes) -> tuple[list[_Field], int]:
    """The fields of an index, and how many control bytes each of its entries has."""
    start = number(head, 4, 4)
    if head[start : start + 4] != b"TAGX":
        raise ValueError("its index does not say what it holds")
    end, control = number(head, start + 4, 4), number(head, start + 8, 4)
    fields: list[_Field] = []
    byte = 0
    for at in range(start + 12, min(start + end, len(head) - 3), 4):
        tag, numbers, mask, is_end = head[at : at + 4]
        if is_end == 1:
            byte += 1
        elif mask:
            fields.append(_Field(tag, numbers, mask, byte))
    return fields, control


def _entries(record: bytes, fields: Sequence[_Field], control: int) -> Iterator[Entry]:
    start, count = number(record, 20, 4), number(record, 24, 4)
    count = min(count, len(record) // 2)
    places = [number(record, start + 4 + 2 * at, 2) for at in range(count)]
    for at, end in zip(places, [*places[1:], start], strict=True):
        if not 0 < at < end <= len(record):
            raise ValueError("the entries of its index do not follow one another")
        name_end = at + 1 + record[at]
        yield Entry(record[at + 1 : name_end], _tags(record[name_end:end], fields, control))


def _tags(data: bytes, fields: Sequence[_Field], control: int) -> dict[int, list[int]]:
    """The numbers of an entry: first how many there are of each tag, then they themselves."""
    at = control
    counted: list[tuple[_Field, int, int]] = []  # how many numbers, or how many bytes of them
    for field in fields:
        value = number(data, field.byte, 1) & field.mask
        if not value:
            continue
        if value == field.mask and field.mask.bit_count() > 1:
            size, at = long_number(data, at)
            counted.append((field, 0, size))
        else:
            lowest = field.mask & -field.mask
            counted.append((field, value // lowest * field.numbers, 0))
    tags: dict[int, list[int]] = {}
    for field, count, size in counted:
        found = tags.setdefault(field.tag, [])
        end = min(at + size, len(data))
        while count > 0 or at < end:
            value, at = long_number(data, at)
            found.append(value)
            count -= 1
    return tags
