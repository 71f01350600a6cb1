"""The files of a build, mapped: each by itself in its folder, or all of them in one file, the pack.

A pack is the files in the order of their names, each beginning at a multiple of 64 bytes, with zeros between.
Where each lies follows from the names and sizes in the manifest, so that the pack has no header of its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING

from indexing.errors import IndexMismatch, naming_open_files
from indexing.manifest import MANIFEST, FileRecord, Manifest
from indexing.write import flush

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACK = "pack"
_ALIGNMENT = 64  # bytes: a cache line, and more than any number in the arrays needs


def pack_places(files: Mapping[str, FileRecord]) -> tuple[dict[str, int], int]:
    """Where in a pack each file begins, in the pack's order, and how long the pack is."""
    places, end = {}, 0
    for name in sorted(files):
        places[name] = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = places[name] + files[name].bytes
    return places, end


def write_pack(directory: Path, files: Mapping[str, FileRecord], path: Path) -> str:
    """Write the files of ``directory`` into one at ``path``; its SHA-256."""
    places, _ = pack_places(files)
    digest = hashlib.sha256()
    with path.open("wb") as pack:
        for name, place in places.items():
            for content in (bytes(place - pack.tell()), (directory / name).read_bytes()):
                pack.write(content)
                digest.update(content)
    return digest.hexdigest()


def build_files(
    directory: Path,
    files: Mapping[str, FileRecord],
    held: bool,
    mismatch: Callable[[str], IndexMismatch],
    names: Collection[str] | None = None,
) -> dict[str, NDArray[np.uint8]]:
    """The bytes of each of the ``files`` of a build, in memory where they are ``held`` and mapped where not.

    Of those alone that have one of the ``names``, where these are given. Sizes and SHA-256 are checked;
    raises what ``mismatch`` makes of a problem.
    """
    path = directory / PACK
    wanted = {name: one for name, one in files.items() if names is None or name in names}
    if not path.exists():
        return {
            name: _checked(name, _content(directory / name, one.bytes, held, mismatch), one, mismatch)
            for name, one in wanted.items()
        }
    places, size = pack_places(files)
    pack = _content(path, size, held and names is None, mismatch)
    contents = {name: pack[places[name] : places[name] + one.bytes] for name, one in wanted.items()}
    if held and names is not None:  # of a pack of megabytes those alone are read
        contents = {name: content.copy() for name, content in contents.items()}
    return {name: _checked(name, content, wanted[name], mismatch) for name, content in contents.items()}


def copy_build(directory: Path, manifest: Manifest, into: Path) -> Manifest:
    """Write the files of a build, checked, into the folder ``into``, each by itself, and flush them."""
    for name, content in build_files(directory, manifest.files, False, manifest.mismatch).items():
        (into / name).write_bytes(content.data)
    (into / MANIFEST).write_bytes((directory / MANIFEST).read_bytes())
    for path in (*into.iterdir(), into):
        flush(path)
    return manifest


def _content(
    path: Path, wanted: int, held: bool, mismatch: Callable[[str], IndexMismatch]
) -> NDArray[np.uint8]:
    import numpy as np

    try:
        with naming_open_files(path), path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != wanted:
                raise mismatch(f"{path.name} has {size} bytes, wanted {wanted}")
            content = file.read() if held else mmap(file.fileno(), 0, access=ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise mismatch(f"{path.name} cannot be read ({error})") from error
    return np.frombuffer(content, dtype=np.uint8)


def _checked(
    name: str, content: NDArray[np.uint8], wanted: FileRecord, mismatch: Callable[[str], IndexMismatch]
) -> NDArray[np.uint8]:
    if hashlib.sha256(content.data).hexdigest() != wanted.sha256:
        raise mismatch(f"{name} is damaged (its SHA-256 differs)")
    return content
