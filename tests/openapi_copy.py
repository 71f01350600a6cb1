"""The stored copy of the OpenAPI, and what of a newer one would break clients that were written for it.

``python tests/openapi_copy.py`` stores the newer one unless it breaks clients, with ``--break`` in any case.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

STORED = Path(__file__).parents[1] / "docs" / "openapi.json"

Schema = dict[str, Any]
# What clients send has to be taken still; what they are sent must be of a kind that they know.
Way = Literal["sent", "answered"]
_NO_MORE = ("maxLength", "maximum", "exclusiveMaximum", "maxItems")
_NO_LESS = ("minLength", "minimum", "exclusiveMinimum", "minItems")


def current() -> Schema:
    """The OpenAPI of the code as it is, without its version, which changes by itself."""
    from service.app import create_app
    from service.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        schema = create_app(Settings(store=Path(folder))).openapi()
    return json.loads(json.dumps(schema | {"info": schema["info"] | {"version": ""}}))  # type: ignore[no-any-return]


def breaking(old: Schema, new: Schema) -> list[str]:
    """What a client of ``old`` would stumble over in ``new``, a line for each."""
    return list(_breaking(old, new))


def _breaking(old: Schema, new: Schema) -> Iterator[str]:
    for path, operations in old["paths"].items():
        for method, before in operations.items():
            where = f"{method.upper()} {path}"
            after = new["paths"].get(path, {}).get(method)
            if after is None:
                yield f"{where} is gone"
            else:
                yield from _of_operation(where, before, after, old, new)


def _of_operation(where: str, before: Schema, after: Schema, old: Schema, new: Schema) -> Iterator[str]:
    given = {(one["in"], one["name"]): one for one in before.get("parameters", [])}
    wanted = {(one["in"], one["name"]): one for one in after.get("parameters", [])}
    for key, parameter in given.items():
        if key not in wanted:
            yield f"{where}: the parameter {key[1]} is gone"
        else:
            at = f"{where} {key[1]}"
            yield from _of_schema(at, parameter["schema"], wanted[key]["schema"], old, new, "sent")
    for key, parameter in wanted.items():
        if parameter.get("required") and not given.get(key, {}).get("required"):
            yield f"{where}: the parameter {key[1]} has to be given now"
    body, taken = before.get("requestBody"), after.get("requestBody")
    if taken is not None and taken.get("required") and not (body and body.get("required")):
        yield f"{where}: a body has to be sent now"
    yield from _of_content(where, body or {}, taken or {}, old, new, "sent")
    for status, response in before["responses"].items():
        if int(status) < 400 and status not in after["responses"]:
            yield f"{where}: {status} is not answered any more"
        elif int(status) < 400:
            at = f"{where} {status}"
            yield from _of_content(at, response, after["responses"][status], old, new, "answered")


def _of_content(
    where: str, before: Schema, after: Schema, old: Schema, new: Schema, way: Way
) -> Iterator[str]:
    for media_type, content in before.get("content", {}).items():
        if media_type not in after.get("content", {}):
            yield f"{where}: {media_type} is gone"
        else:
            schema = after["content"][media_type]["schema"]
            yield from _of_schema(where, content["schema"], schema, old, new, way)


def _of_schema(
    where: str, before: Schema, after: Schema, old: Schema, new: Schema, way: Way
) -> Iterator[str]:
    given, known = _variants(before, old), _variants(after, new)
    needed, there = (given, known) if way == "sent" else (known, given)
    for kind in needed:
        if kind not in there:
            yield f"{where}: {kind} is {'not taken any more' if way == 'sent' else 'answered now'}"
    for kind in given.keys() & known.keys():
        yield from _of_variant(where, given[kind], known[kind], old, new, way)


def _of_variant(
    where: str, before: Schema, after: Schema, old: Schema, new: Schema, way: Way
) -> Iterator[str]:
    wider, narrower = (before, after) if way == "sent" else (after, before)
    if "enum" in narrower:
        lost = sorted(set(wider.get("enum", ["any other"])) - set(narrower["enum"]))
        for value in lost:
            yield f"{where}: {value} is {'not taken any more' if way == 'sent' else 'answered now'}"
    if way == "sent":
        for limit in (*_NO_MORE, *_NO_LESS):
            was, is_ = before.get(limit), after.get(limit)
            tighter = is_ is not None and (was is None or (is_ < was if limit in _NO_MORE else is_ > was))
            if tighter:
                yield f"{where}: {limit} was {was} and is {is_}"
    must, must_now = set(before.get("required", ())), set(after.get("required", ()))
    for name in sorted(must_now - must if way == "sent" else must - must_now):
        yield f"{where}: {name} {'has to be sent now' if way == 'sent' else 'may be missing now'}"
    for name, schema in before.get("properties", {}).items():
        if name in after.get("properties", {}):
            yield from _of_schema(f"{where} {name}", schema, after["properties"][name], old, new, way)
        else:
            yield f"{where}: {name} is gone"
    if "items" in before and "items" in after:
        yield from _of_schema(f"{where} []", before["items"], after["items"], old, new, way)


def _variants(schema: Schema, whole: Schema) -> dict[str, Schema]:
    """The kinds of value that a schema describes, ``null`` among them, each with its schema."""
    if "$ref" in schema:
        schema = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    found: dict[str, Schema] = {}
    for one in schema.get("anyOf", [schema]):
        found |= _variants(one, whole) if one is not schema else {str(one.get("type", "anything")): one}
    return found


def main(arguments: list[str]) -> int:
    """Store the OpenAPI of the code as it is; 1 where that would break clients."""
    schema = current()
    if STORED.exists() and "--break" not in arguments:
        found = breaking(json.loads(STORED.read_text(encoding="utf-8")), schema)
        if found:
            print("Clients would break:", *found, "Store it all the same: --break", sep="\n  ")
            return 1
    STORED.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"stored {STORED}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
