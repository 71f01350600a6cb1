"""Where a store can be: in a folder of this machine, or in the bucket of an object store."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from text.errors import StoryQAError
from text.user_folders import folder_named

StoreAddress = Path | str  # a folder, or an object store's address such as s3://bucket/prefix
SCHEMES = ("s3", "gs", "az")


class BadAddress(StoryQAError):
    """An address that no store can be at."""


def checked_address(given: StoreAddress) -> StoreAddress:
    """What ``given`` stands for: a Path of a folder, ``file://`` too, or the address of an object store.

    Raises BadAddress, and StoryQAError for another user's home that is none.
    """
    if isinstance(given, Path):
        return given
    wanted = (
        "wanted a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER"
    )
    if not given:  # as a variable of a shell is that has not been set; the Path of it is the folder one is in
        raise BadAddress(f"{given!r} is no address of a store; {wanted}")
    if "://" not in given:
        return folder_named(given)
    parts = urlsplit(given)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise BadAddress(f"{given!r} is no folder of this machine; {wanted}")
        return Path(unquote(parts.path))
    if (
        parts.scheme not in SCHEMES
        or not parts.netloc
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise BadAddress(f"{given!r} is no address of a store; {wanted}")
    return given.rstrip("/")
