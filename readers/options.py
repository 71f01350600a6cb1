"""What stands after a reader's name: a folder or file, and options (``DIR@self,hard``, ``@span=4``)."""

from __future__ import annotations

import re
from collections.abc import Collection

from encoders.errors import ModelError

_OPTIONS = re.compile(r"@([^@/]*)$")
_VALUED_OPTIONS = re.compile(r"@([^@/=]+=[^@/]*)$")


def split_options(
    name: str,
    argument: str | None,
    form: str,
    *,
    flags: Collection[str] = (),
    valued: Collection[str] = (),
    takes_path: bool = False,
) -> tuple[str | None, dict[str, str]]:
    """The path in ``argument``, None without one, and the options behind its ``@``; a flag's value is "".

    ``flags`` are the options of the reader ``name`` that stand alone, ``valued`` those with a value; one that
    is both may have one. A path may hold an @ where the reader has no flags, or a slash follows it. Raises
    ``ModelError`` for other options, and for a path where the reader takes none; ``form`` shows how it is
    written.
    """
    argument = argument or ""
    match = (_OPTIONS if flags else _VALUED_OPTIONS).search(argument)
    path = argument[: match.start()] if match else argument
    given: dict[str, str] = {}
    known = (*flags, *(option for option in valued if option not in flags))
    for part in match[1].split(",") if match else ():
        option, equals, value = part.partition("=")
        if option not in known:
            wanted = " or ".join(filter(None, [", ".join(known[:-1]), known[-1]]))
            raise ModelError(f"{name!r} has no option {option!r}; wanted {wanted}, as in {form}")
        if option not in (valued if equals else flags):
            wanted = f"{option}=VALUE" if option in valued else option
            raise ModelError(f"option {part!r} of {name!r}; wanted {wanted}, as in {form}")
        given[option] = value
    if path and not takes_path:
        raise ModelError(f"the reader {name!r} has no model, so {path!r} means nothing; write {form}")
    return path or None, given
