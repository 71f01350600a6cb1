"""Where books come from: a file, a folder of files, an address, or a number of Project Gutenberg."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import unquote, urlsplit

from indexing.errors import SourceError
from indexing.formats.media_type import FOLDER_SUFFIXES, WANTED, media_of
from indexing.ids import slug
from indexing.sources.fetch import LARGEST_FILE, Fetched, Missing, Web, save
from indexing.store import is_filled_by_a_store
from text.output_files import is_same_file

DEFAULT_MIRROR = "https://www.gutenberg.org"
PIPED = "standard input"  # how a book that is read from there is named
_GUTENBERG = "gutenberg:"
_HEAD = 4096  # bytes that tell what kind a file is


class FetchSettings(Protocol):
    """What of the service's settings fetching needs."""

    @property
    def cache(self) -> Path:
        """The folder where fetched books are kept."""
        ...

    @property
    def gutenberg_mirror(self) -> str:
        """The address that ``gutenberg:ID`` is fetched from."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """One book to be read: a path, an address or ``gutenberg:ID`` as ``name``.

    ``fetch`` gets its bytes when called, not before, and raises ``SourceError`` where it cannot. A
    source can be sent to another process.
    """

    name: str
    suggested_id: str
    fetch: Callable[[], Fetched]


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file in a folder that is passed over, and why."""

    name: str
    why: str


def find(
    place: str,
    settings: FetchSettings | None = None,
    delay_s: float = 2.0,
    left_out: Collection[Path] = (),
) -> Iterator[Source]:
    """The books at ``place``, in order of their paths; nothing is read or fetched yet.

    In a folder these are the files with a known suffix, at any depth, without those with a leading dot
    and those in the folders ``left_out`` that lie in it, or that a store fills; their suggested ids differ.
    Without ``settings`` addresses are cached in the platform's cache folder. ``delay_s`` is the pause between
    two requests. Raises ``SourceError`` where there is nothing.
    """
    if not place.strip():  # as a variable that has not been set; the Path of it is the folder one is in
        raise SourceError(f"{place!r} is no book; wanted a file, a folder, an address or gutenberg:ID")
    if place.lower().startswith(_GUTENBERG):
        number = place[len(_GUTENBERG) :].strip()
        if not re.fullmatch(r"[1-9][0-9]{0,6}", number):
            raise SourceError(
                f"{place!r} is no book of Project Gutenberg; wanted a number, as in gutenberg:1342"
            )
        mirror = DEFAULT_MIRROR if settings is None else settings.gutenberg_mirror
        fetch = partial(_fetch_gutenberg, int(number), mirror.rstrip("/"), _web(settings, delay_s))
        yield Source(f"{_GUTENBERG}{number}", suggested_id(place), fetch)
    elif re.match(r"https?://", place, re.I):
        yield Source(place, suggested_id(place), partial(Web.get, _web(settings, delay_s), place))
    elif re.match(r"[a-z][a-z0-9+.-]+://", place, re.I):
        raise SourceError(
            f"{place} cannot be fetched; wanted a path, an http or https address, or gutenberg:ID"
        )
    else:
        try:
            yield from _find_files(_whole(place), left_out)
        except (OSError, RuntimeError) as error:  # a name that is too long, a folder that is shut, a ~user
            raise SourceError(
                f"{place[:200]} cannot be read ({getattr(error, 'strerror', None) or error}); "
                "wanted a file, a folder, an address or gutenberg:ID"
            ) from error


def piped(stream: IO[bytes], suggested_id: str) -> Source:
    """The one book that ``stream`` holds, read here, for it can be read but once and not elsewhere.

    Raises ``SourceError`` where that is too large, or cannot be read.
    """
    try:
        data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise SourceError(f"{PIPED} cannot be read ({error.strerror or error})") from error
    if len(data) > LARGEST_FILE:
        raise SourceError(f"{PIPED} is larger than {LARGEST_FILE // 2**20} MB; wanted a book")
    return Source(PIPED, suggested_id, partial(Fetched, data))


def suggested_id(place: str) -> str:
    """The id of the one book at ``place``, of which nothing is looked at: what its name makes.

    Raises ``SourceError`` for an address that is none.
    """
    if place.lower().startswith(_GUTENBERG):
        return f"gutenberg-{place[len(_GUTENBERG) :].strip()}"
    if re.match(r"https?://", place, re.I):
        try:
            parts = urlsplit(place)
        except ValueError as error:
            raise SourceError(f"{place} is no address ({error}); wanted one such as https://…") from error
        return slug(Path(unquote(parts.path)).stem or parts.netloc)
    return slug(Path(place).stem)


def _whole(place: str) -> Path:
    """The path of a place from the root: two files of one name in two folders are two books."""
    path = Path(place).expanduser()
    return Path(os.path.abspath(path))  # noqa: PTH100 (resolve() would call a book what its link leads to)


def _find_files(path: Path, left_out: Collection[Path]) -> Iterator[Source]:
    if not path.exists():
        raise SourceError(f"{path} does not exist; wanted a file, a folder, an address or gutenberg:ID")
    if not path.is_dir():
        yield Source(str(path), suggested_id(str(path)), partial(read_file, path))
        return
    files = sorted(_walk(path, left_out))
    paths = [file for file in files if _is_book(file)]
    if not paths:
        others = f" (there is {files[0].name!r}, of {len(files):,} in all)" if files else ""
        raise SourceError(
            f"{path} holds no books{others}; wanted files that end in {', '.join(FOLDER_SUFFIXES)}"
        )
    for file, id in zip(paths, _distinct_ids([file.relative_to(path) for file in paths]), strict=True):
        yield Source(str(file), id, partial(read_file, file))


def ignored_files(place: str, left_out: Collection[Path] = ()) -> Iterator[Ignored]:
    """The files at ``place`` that ``find`` passes over, in order of their paths; none outside folders.

    What the folders ``left_out`` hold, and those that a store fills, is none of them.
    """
    path = _whole(place)
    if path.is_dir():
        for file in sorted(_walk(path, left_out)):
            if not _is_book(file) and file.is_file():
                yield Ignored(str(file), _why_ignored(file))


def _walk(folder: Path, left_out: Collection[Path]) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and not any(is_same_file(Path(at) / name, one) for one in left_out)
            and not is_filled_by_a_store(Path(at) / name)
        ]
        for name in files:
            if not name.startswith("."):
                yield Path(at) / name


def _is_book(path: Path) -> bool:
    return path.name.lower().endswith(FOLDER_SUFFIXES)


def _why_ignored(path: Path) -> str:
    """What is wrong with a file's kind, or with its name alone."""
    try:
        with path.open("rb") as file:
            media_of(path.name, file.read(_HEAD))
    except SourceError as error:
        return f"passed over: {error}"
    except OSError as error:
        return f"passed over: it cannot be read ({error.strerror or error}); check its permissions"
    suffixes = ", ".join(FOLDER_SUFFIXES)
    return f"passed over: its name ends in none of {suffixes}; name it by itself if it is a book"


def _distinct_ids(paths: list[Path]) -> list[str]:
    """An id for each path: the file's name, and as much more of the path as tells it from the others."""
    forms: tuple[Callable[[Path], str], ...] = (
        lambda path: slug(path.stem),
        lambda path: slug("-".join(path.with_suffix("").parts)),
        lambda path: slug("-".join(path.parts)),
        lambda path: f"{slug(path.stem)[:100]}-{hashlib.sha256(path.as_posix().encode()).hexdigest()[:8]}",
    )
    ids: dict[Path, str] = {}
    for form in forms:
        made = {path: form(path) for path in paths if path not in ids}
        times = Counter([*made.values(), *ids.values()])
        ids |= {path: id for path, id in made.items() if times[id] == 1}
    return [ids[path] for path in paths]


def read_file(path: Path) -> Fetched:
    """The bytes of a file; raises ``SourceError``."""
    try:
        if not path.is_file():
            raise SourceError(f"{path} is no regular file; {WANTED}")
        if path.stat().st_size > LARGEST_FILE:
            raise SourceError(f"{path} is larger than {LARGEST_FILE // 2**20} MB; wanted a book")
        return Fetched(path.read_bytes())
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read ({error.strerror or error}); check its permissions"
        ) from error


def _fetch_gutenberg(number: int, mirror: str, web: Web) -> Fetched:
    """The plain text of a Gutenberg book, from the cache or the first place of the mirror that has it."""
    cached = web.cache / "gutenberg" / f"{number}.txt"
    if cached.is_file():
        return Fetched(cached.read_bytes(), "text/plain")
    folders = "/".join(str(number)[:-1]) or "0"  # the layout of mirrors: 1342 lies in 1/3/4/1342
    problem = SourceError(f"gutenberg:{number} is not at {mirror}; check the number, or name another mirror")
    for path in (
        f"cache/epub/{number}/pg{number}.txt",
        f"files/{number}/{number}-0.txt",
        f"files/{number}/{number}-8.txt",
        f"files/{number}/{number}.txt",
        f"{folders}/{number}/{number}-0.txt",
        f"{folders}/{number}/{number}.txt",
    ):
        address = f"{mirror}/{path}"
        try:
            fetched = web.get(address)
            media_of(address, fetched.data, fetched.content_type)
        except Missing:
            continue
        except SourceError as error:
            problem = error
            continue
        save(cached, fetched.data)
        return Fetched(fetched.data, "text/plain")
    raise problem


def _web(settings: FetchSettings | None, delay_s: float) -> Web:
    if settings is not None:
        return Web(settings.cache, delay_s)
    import platformdirs

    return Web(platformdirs.user_cache_path("storyqa"), delay_s)
