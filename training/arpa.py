"""An n-gram model in ARPA's text format, which other language-model tools read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from readers.baselines.ngram import NgramModel


def write_arpa(model: NgramModel, path: Path) -> Path:
    """Write all n-grams: log10 of the probability, the words, and log10 of the backoff weight."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\\data\\\n")
        for level, log10 in enumerate(model.log10, 1):
            file.write(f"ngram {level}={len(log10)}\n")
        texts = list(model.words)
        for level in range(1, model.order + 1):
            if level > 1:
                texts = list(_extended(model, texts, level))
            file.write(f"\n\\{level}-grams:\n")
            log10 = model.log10[level - 1].tolist()
            if level == model.order:
                file.writelines(f"{p:.7g}\t{text}\n" for p, text in zip(log10, texts, strict=True))
            else:
                backoff = model.backoff[level - 1].tolist()
                rows = zip(log10, texts, backoff, strict=True)
                file.writelines(f"{p:.7g}\t{text}\t{weight:.7g}\n" for p, text, weight in rows)
        file.write("\n\\end\\\n")
    return path


def _extended(model: NgramModel, shorter: list[str], level: int) -> Iterator[str]:
    """The n-grams of ``level`` words as text, given those of a word less."""
    keys = model.keys[level - 2]
    words = len(model.words)
    for prefix, last in zip((keys // words).tolist(), (keys % words).tolist(), strict=True):
        yield f"{shorter[prefix]} {model.words[last]}"
