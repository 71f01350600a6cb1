"""The results as tables and a plot in docs/performance.md, between the marks that the document holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.comparisons import OURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
DOCUMENT, _PLOT = "performance.md", "performance.svg"
_TITLES = {
    "search": "Searching: one question, BM25, the five best passages of the long book",
    "encode": "Encoding: passages of 200 words to vectors",
    "read": "Reading: ten passages of 200 words for one question, the same weights",
    "ask": "Answering: from the question to the answer, on the long book",
}
_COLOURS = {OURS: "#b3321b", "bm25s": "#5c6ac4", "Haystack": "#8a8f98"}
_WORK = {"open": "open the book", "query": "BM25 query", "ask": "answer"}


def tables(results: Mapping[str, Any]) -> str:
    """The results in Markdown."""
    host = results["machine"]
    rounded = ", linear layers of the encoder in int8" if host["int8"] else ""
    parts = [
        f"Measured at commit `{results['commit']}`, {results['date'][:10]}, on {host['processor']} "
        f"({host['instructions']}), {host['cores']} cores, {host['memory_gb']} GB; "
        f"models in {host['runtime']}{rounded}; Python {host['python']}, torch {host['torch']}. "
        f"Beside it: {_versions(results['peers'])}; for the ONNX and OpenVINO backends "
        f"{_versions(results['optimum'])}. Texts: {results['texts']}."
    ]
    for comparison in results["comparisons"]:
        parts += [f"### {_TITLES[comparison['name']]}", _comparison(comparison), _facts(comparison)]
    parts += ["### Serving: questions/s by clients", _serving(results["serving"])]
    parts += ["### Building an index", _built(results["built"])]
    parts += ["### By the length of the book", _growth(results["by_length"], "words in the book")]
    parts += ["### By the number of books in the store", _growth(results["by_books"], "books in the store")]
    return "\n\n".join(part for part in parts if part)


def write(results: Mapping[str, Any], docs: Path) -> None:
    """Put the tables between the marks of ``docs/performance.md`` and draw the plot beside it."""
    picture = f"![How queries and answers grow with the length of the book]({_PLOT})"
    replace_between(docs / DOCUMENT, BEGIN, END, f"{tables(results)}\n\n{picture}")
    plot(results["by_length"], docs / _PLOT)


def replace_between(path: Path, begin: str, end: str, found: str) -> None:
    """Put ``found`` between two marks of a document; raises ValueError where it has none."""
    before, begun, rest = path.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f"{path} has no lines {begin} and {end}; put them where the tables belong")
    path.write_text(f"{before}{begin}\n\n{found}\n\n{end}{after}", encoding="utf-8")


def canvas(width: float, height: float) -> Figure:
    """An empty figure, in inches; the same results draw the same file."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "storyqa"
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """As SVG that does not say when it was drawn."""
    figure.savefig(path, metadata={"Date": None})


def plot(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """One panel per kind of work, both axes logarithmic: the median of every contender by length."""
    works = list(dict.fromkeys(row["work"] for row in rows))
    figure = canvas(3.4 * len(works), 3.0)
    for axis, work in zip(figure.subplots(1, len(works), squeeze=False)[0], works, strict=True):
        of_work = [row for row in rows if row["work"] == work]
        for name in of_work[0]["contenders"]:
            sizes = [row["size"] for row in of_work]
            medians = [row["contenders"][name]["median_ms"] for row in of_work]
            axis.plot(sizes, medians, "o-", color=_COLOURS.get(name, "#444444"), label=name)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(_WORK[work], fontsize=10)
        axis.set_xlabel("words in the book", fontsize=9)
        axis.grid(color="#e4e6ea", linewidth=0.8)
        axis.legend(fontsize=8, frameon=False)
    figure.axes[0].set_ylabel("ms, median", fontsize=9)
    save(figure, path)


def table(rows: Sequence[Sequence[str]]) -> str:
    """In Markdown, the first row as its head."""
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def _comparison(comparison: Mapping[str, Any]) -> str:
    unit, per_call = comparison["unit"], comparison["per_call"]
    rows = [
        [
            unit + "s by",
            f"ms per {unit}, median",
            "middle half",
            f"{unit}s/s",
            "times storyqa's time",
            "calls",
        ]
    ]
    for name, timing in comparison["contenders"].items():
        median, low, high = (timing[key] / per_call for key in ("median_ms", "low_ms", "high_ms"))
        times = "" if name == OURS else f"{timing['times']:.2f}"
        rows.append(
            [
                name,
                _ms(median),
                f"{_ms(low)} to {_ms(high)}",
                f"{1000 / median:,.1f}",
                times,
                str(timing["calls"]),
            ]
        )
    return table(rows)


def _facts(comparison: Mapping[str, Any]) -> str:
    facts = comparison["facts"]
    if comparison["name"] == "search":
        return f"{facts['passages']:,} passages."
    if comparison["name"] == "encode":
        cosines = facts["least_cosine_with_sentence_transformers"].items()
        return (
            f"{facts['passages_per_call']} passages per call. An index holds "
            f"{facts['windows_per_passage']:.2f} windows per passage. The least cosine between the vector of "
            "a text and that of sentence-transformers in torch: "
            + ", ".join(f"{name} {cosine:.4f}" for name, cosine in cosines)
            + "."
        )
    if comparison["name"] == "read":
        same = [
            f"{share:.0%} with {name} (mean word F1 {facts['word_f1'][name]:.2f})"
            for name, share in facts["same_answer"].items()
        ]
        return (
            f"Of {facts['questions']} questions, storyqa's first answer is the same for "
            f"{' and '.join(same)}: it prefers short spans within one sentence. txtai gives no first answer."
        )
    return ""


def _serving(rows: Sequence[Mapping[str, Any]]) -> str:
    found = [
        [
            "clients",
            "served by",
            "questions/s",
            "median latency, s",
            "95th percentile, s",
            "questions",
            "failed",
        ]
    ]
    for row in rows:
        latencies = [f"{row[key]:.2f}" for key in ("p50_s", "p95_s")]
        counts = [str(row[key]) for key in ("questions", "failed")]
        found.append([str(row["clients"]), row["contender"], f"{row['per_s']:.2f}", *latencies, *counts])
    return table(found)


def _versions(packages: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in packages.items())


def _built(built: Sequence[Mapping[str, Any]]) -> str:
    rows = [["words", "passages", "seconds", "words/s", "MB on disk"]]
    for one in built:
        speed = one["words"] / one["seconds"]
        megabytes = one["bytes"] / 1e6
        rows.append(
            [
                f"{one['words']:,}",
                f"{one['passages']:,}",
                f"{one['seconds']:.1f}",
                f"{speed:,.0f}",
                f"{megabytes:.1f}",
            ]
        )
    return table(rows)


def _growth(rows: Sequence[Mapping[str, Any]], size: str) -> str:
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    found = {
        (row["work"], name, row["size"]): timing["median_ms"]
        for row in rows
        for name, timing in row["contenders"].items()
    }
    found_rows = [["ms, median", "", *(f"{n:,} {size}" for n in sizes)]]
    for work, name in dict.fromkeys((work, name) for work, name, _ in found):
        found_rows.append([_WORK[work], name, *(_ms(found[work, name, n]) for n in sizes)])
    return table(found_rows)


def _ms(milliseconds: float) -> str:
    """Three digits that count."""
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:#.3g}"
