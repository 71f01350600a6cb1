"""The same words under other numbers: what one backbone's token ids are in another's vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

FEW = 8  # special tokens that only one of two vocabularies has


def translation(source: Tokenizer, target: Tokenizer) -> NDArray[np.int64]:
    """(source's vocabulary,), the target's id of each of the source's.

    What begins and what ends a text is what does so for the target, whatever its name; special tokens that
    the target lacks are its unknown one. Raises ModelError where it lacks words, too.
    """
    import numpy as np

    theirs, ours = target.get_vocab(), source.get_vocab()
    strange = sorted(ours.keys() - theirs.keys())
    if len(strange) > FEW:
        raise ModelError(
            f"{len(strange):,} of {len(ours):,} words such as {strange[FEW]!r} are none of the other's; "
            "wanted one that parts text into the same words"
        )
    unknown = theirs.get("[UNK]", 0)
    ids = np.zeros(len(ours), dtype=np.int64)
    ids[list(ours.values())] = [theirs.get(word, unknown) for word in ours]
    for end in (0, -1):
        ids[source.encode("").ids[end]] = target.encode("").ids[end]
    return ids
