"""What a reader attends to as it fills blanks: a page of coloured words, Hermann et al. 2015, figure 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.benchmarks.benchmark import Benchmark, Question, given_reading
from readers.cloze import parse_cloze

if TYPE_CHECKING:
    from readers.neural.cloze_reader import Attention
    from readers.reading import Reader

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Attention of {reader}</title>
<style>
body {{ font: 16px/1.7 Georgia, serif; max-width: 50em; margin: 2em auto; padding: 0 1em; color: #222 }}
h2 {{ font-size: 1em; margin-top: 2.5em }} h3 {{ font-size: .9em; margin-bottom: .2em }}
span {{ border-radius: 3px; padding: 1px 0 }} p {{ margin-top: .2em }}
</style>
<h1>Attention of {reader}</h1>
<p>The darker a word, the more of the attention of its row is on it; the darkest has the most.</p>
{questions}
</html>
"""


def write_heat_maps(reader: Reader, name: str, benchmark: Benchmark, count: int, path: Path) -> None:
    """Write the page of the first ``count`` questions; raises ModelError where there is no attention."""
    from readers.neural.cloze_reader import NeuralClozeReader

    assert isinstance(reader, NeuralClozeReader)  # whose records alone say that they have attention
    parts = []
    for question in benchmark.questions[:count]:
        text = benchmark.books[question.book]().text
        reading = given_reading(question, text)
        attention = reader.attention(parse_cloze(reading, reading.candidates))
        answers = reader.read([reading])[0]
        parts.append(_section(question, answers[0].text if answers else "no answer", attention))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_PAGE.format(reader=escape(name), questions="\n".join(parts)), encoding="utf-8")


def _section(question: Question, answer: str, attention: Attention) -> str:
    verdict = "right" if answer in question.answers else f"right were {', '.join(question.answers)}"
    lines = [f"<h2>{escape(question.text)}</h2>", f"<p>{escape(answer)} ({escape(verdict)})</p>"]
    for label, weights in zip(attention.labels, attention.weights, strict=True):
        if label:
            lines.append(f"<h3>{escape(label)}</h3>")
        lines.append(f"<p>{' '.join(_words(attention.words, weights))}</p>")
    return "\n".join(lines)


def _words(words: Sequence[str], weights: Sequence[float]) -> Iterator[str]:
    most = max(weights, default=0.0) or 1.0
    for word, weight in zip(words, weights, strict=True):
        share = weight / most
        if share < 0.01:
            yield escape(word)
        else:
            style = f"background:rgba(179,50,27,{share:.2f})"
            yield f'<span style="{style}" title="{weight:.4f}">{escape(word)}</span>'
