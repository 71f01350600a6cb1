"""A book's text as an array of code points, so that any piece of it is read without decoding the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CODECS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}


def pack(text: str) -> NDArray[np.unsignedinteger[Any]]:
    """One number per code point, in the narrowest of uint8, uint16 and uint32 that holds them all."""
    import numpy as np

    widest = max(text, default="")
    if widest <= "\xff":
        return np.frombuffer(text.encode("latin-1"), dtype="u1")
    if widest <= "\uffff":
        try:
            return np.frombuffer(text.encode("utf-16-le"), dtype="<u2")
        except UnicodeEncodeError:  # lone surrogates, of which UTF-16 could make one character out of two
            pass
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def unpack(points: NDArray[np.unsignedinteger[Any]]) -> str:
    """The text of an array, or of any slice of an array, that ``pack`` made."""
    return points.tobytes().decode(_CODECS[points.dtype.itemsize], "surrogatepass")
