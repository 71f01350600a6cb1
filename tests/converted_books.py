"""The books of pandoc_books as LibreOffice and calibre convert them, where those are installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pandoc_books import pandoc_books, write

SOFFICE, CALIBRE = shutil.which("soffice"), shutil.which("calibre-debug")
_PATIENCE_S = 600
# As root the engine that draws calibre's PDFs starts only without its sandbox.
_ENVIRONMENT = {"QT_QPA_PLATFORM": "offscreen", "QTWEBENGINE_DISABLE_SANDBOX": "1"}
# Run by calibre itself: a process for each book would take most of the time.
_CONVERT = """
import json, sys
from calibre.ebooks.conversion.cli import main
for arguments in json.load(open(sys.argv[-1])):
    main(["ebook-convert", *arguments])
"""


def _run(command: Sequence[str]) -> None:
    subprocess.run(
        command, env=os.environ | _ENVIRONMENT, check=True, capture_output=True, timeout=_PATIENCE_S
    )


@cache
def by_libreoffice(source: str, to: str) -> Mapping[int, bytes]:
    """What LibreOffice makes in the format ``to`` of the books that pandoc wrote as ``source``, by number."""
    assert SOFFICE is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.{source}") for number in range(len(pandoc_books()))]
        for file, book in zip(files, pandoc_books(), strict=True):
            file.write_bytes(write(book, source))
        profile = f"-env:UserInstallation=file://{folder}/profile"
        out = Path(folder, "out")
        _run([SOFFICE, profile, "--headless", "--convert-to", to, "--outdir", str(out), *map(str, files)])
        return {number: (out / f"{number}.{to}").read_bytes() for number in range(len(files))}


def calibre_makes(files: Sequence[bytes], suffix: str, to: str, *options: str) -> list[bytes]:
    """What calibre makes, in the format of the suffix ``to``, of files that have the suffix ``suffix``."""
    assert CALIBRE is not None
    with tempfile.TemporaryDirectory() as folder:
        program, tasks = Path(folder, "convert.py"), Path(folder, "tasks.json")
        program.write_text(_CONVERT)
        made = [
            (Path(folder, f"{number}.{suffix}"), Path(folder, f"out-{number}.{to}"))
            for number in range(len(files))
        ]
        for (source, _), data in zip(made, files, strict=True):
            source.write_bytes(data)
        tasks.write_text(json.dumps([[str(source), str(target), *options] for source, target in made]))
        _run([CALIBRE, "-e", str(program), "--", str(tasks)])
        return [target.read_bytes() for _, target in made]


@cache
def by_calibre(suffix: str, *options: str) -> Mapping[int, bytes]:
    """What calibre makes in the format of that suffix of the books that pandoc wrote as EPUB, by number."""
    return dict(enumerate(calibre_makes(_epubs(), "epub", suffix, *options)))


@cache
def _epubs() -> tuple[bytes, ...]:
    return tuple(write(book, "epub3") for book in pandoc_books())
