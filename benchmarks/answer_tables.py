"""What the answers of the shipped models score, as tables in docs/results.md between marks of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import answer_targets
from benchmarks.kept_answers import Found, Kept, Where
from benchmarks.report import replace_between, table
from encoders.sizes import LARGE, STORY

DOCUMENT = "results.md"
_TITLES = {
    "sections": "FairytaleQA val, sections",
    "summaries": "NarrativeQA valid half B, summaries",
    "squad": "SQuAD v1.1 dev",
    "domains": "news, reviews, a forum and letters of our own",
    "one-book": "FairytaleQA val, the 23 stories as one book",
    "one-book by large": "the same, indexed by the encoder `large`",
    "stories": "NarrativeQA valid half B, full stories",
}
_READ = ("sections", "summaries", "squad", "domains")
_SEARCHED = ("one-book", "one-book by large", "stories")
# The models that read, what searches, and the encoder that the book was indexed by.
SEARCHES = (
    *(("small", retriever, STORY) for retriever in ("dense", "hybrid", "rerank")),
    *(("large", retriever, LARGE) for retriever in ("dense", "hybrid")),
    *(("large", "rerank-large", encoder) for encoder in (STORY, LARGE)),
)
_ASKED = {"unchanged": "unchanged", "other_book": "of another book", "renamed": "with a name replaced"}
_SCORES = ["ROUGE-L", "BLEU-1", "BLEU-4", "METEOR", "F1", "exact"]


def write(kept: Kept, docs: Path) -> None:
    """Put every table between its marks in ``docs/results.md``; raises ValueError where one has no marks."""
    for name, made in tables(kept).items():
        replace_between(docs / DOCUMENT, *marks(name), made)


def marks(name: str) -> tuple[str, str]:
    """Between which lines of the document a table stands."""
    return f"<!-- {name}: make answers -->", f"<!-- end of {name} -->"


def tables(kept: Kept) -> dict[str, str]:
    """Each table in Markdown, by the name of its marks."""
    made: dict[str, Callable[[Found], list[list[str]]]] = {
        "targets": lambda found: answer_targets.rows(found, _share),
        "reading": _reading,
        "kinds": _kinds,
        "domains": _domains,
        "books": _books,
        "mctest": _mctest,
        "retrieval": _retrieval,
        "confidence": _confidence,
        "natural": _natural,
        "unanswerable": _unanswerable,
    }
    return {"measured": _measured(kept)} | {name: table(rows(kept.said)) for name, rows in made.items()}


def _measured(kept: Kept) -> str:
    """When, of which commit and on what: the earliest of all, and then what was measured again since."""
    at: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for size, of_size in kept.where.items():
        for name, where in of_size.items():
            at[where["date"], where["commit"], _circumstances(where)].append(f"`{name}` ({size})")
    first, *others = sorted(at)
    again = (f"{said}: {', '.join(at[date, commit, said])}" for date, commit, said in others)
    return "\n".join([f"Measured {first[-1]}.", *(f"Measured again {one}." for one in again)])


def _circumstances(where: Where) -> str:
    return (
        f"at commit `{where['commit']}`, {where['date']}, on {where['machine']}, models in {where['runtime']}"
    )


def _by_size(found: Found, names: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    """Each of these measurements by size: the small models', then the large ones'."""
    for name in names:
        for size, measured in found.items():
            if name in measured:
                yield name, size, measured[name]


def _reading(found: Found) -> list[list[str]]:
    rows = [["data", "models", "questions", *_SCORES]]
    for name, size, one in _by_size(found, _READ):
        rows.append([_TITLES[name], size, f"{one['questions']:,}", *_scores(one)])
    return rows


def _kinds(found: Found) -> list[list[str]]:
    rows = [["FairytaleQA val, sections", "models", "questions", "ROUGE-L"]]
    for _, size, one in _by_size(found, ["sections"]):
        for kind, of_kind in one["by_kind"].items():
            interval = of_kind["intervals"]["rouge_l"]
            rows.append(
                [f"{kind} answers", size, str(of_kind["questions"]), _with(of_kind["rouge_l"], interval)]
            )
    return rows


def _domains(found: Found) -> list[list[str]]:
    measured = {size: one for _, size, one in _by_size(found, ["domains"])}
    kinds = list(next(iter(measured.values()))["by_kind"])
    rows = [["F1", *kinds, "all", "below SQuAD dev"]]
    for size, one in measured.items():
        of_kinds = [_share(one["by_kind"][kind]["f1"]) for kind in kinds]
        rows.append([size, *of_kinds, _share(one["f1"]), _share(found[size]["squad"]["f1"] - one["f1"])])
    return rows


def _books(found: Found) -> list[list[str]]:
    rows = [["data", "models", "questions", *_SCORES, "recall@1", "recall@5", "retrieval MRR"]]
    for name, size, one in _by_size(found, _SEARCHED):
        rows.append([_TITLES[name], size, f"{one['questions']:,}", *_scores(one), *_ranking(one)])
    return rows


def _mctest(found: Found) -> list[list[str]]:
    asked = {kind: found["small"]["mctest"]["by_kind"][kind]["questions"] for kind in ("one", "multiple")}
    rows = [["reader", "models", "accuracy", *(f"{kind} ({count})" for kind, count in asked.items())]]
    for name, size, one in _by_size(found, ["mctest", "mctest-span", "mctest-overlap"]):
        kinds = (one["by_kind"][kind] for kind in asked)
        accuracies = [_with(each["accuracy"], each["intervals"]["accuracy"]) for each in (one, *kinds)]
        rows.append([f"`{one['reader']}`", "–" if name == "mctest-overlap" else size, *accuracies])
    return rows


def searched(name: str, encoder: str) -> str:
    """What a measurement is called that searches books indexed by an encoder."""
    return name if encoder == STORY else f"{name} by {encoder}"


def _retrieval(found: Found) -> list[list[str]]:
    rows = [["retriever", "encoder of the index", "recall@1", "recall@5", "MRR"]]
    for size, name, encoder in SEARCHES:
        rows.append([f"`{name}`", f"`{encoder}`", *_ranking(found[size][searched(name, encoder)])])
    return rows


def _confidence(found: Found) -> list[list[str]]:
    head = ["data", "models", "right", "confidence", "ECE", "equal mass", "AUROC"]
    rows = [[*head, "wrong of surest 25 %", "50 %", "answerable"]]
    for name, size, one in _by_size(found, [*_READ[:2], *_SEARCHED, *_READ[2:]]):
        said = one["confidence"]
        wrong = said["risk_at_coverage"]
        rows.append(
            [
                _TITLES[name],
                size,
                _share(said["right"]),
                _share(said["mean"]),
                _with(said["ece"], said["intervals"]["ece"]),
                *map(_share, (said["ece_equal_mass"], said["auroc"], wrong["0.25"], wrong["0.5"])),
                _share(said["answerable"]["share"]),
            ]
        )
    return rows


def _natural(found: Found) -> list[list[str]]:
    verdicts = ("right", "partly", "wrong", "declined")
    of_all = found["small"]["figure"]
    answerable, others = (of_all[which]["questions"] for which in ("answerable", "not_answerable"))
    told = (f"{verdict} of {answerable}" for verdict in verdicts)
    rows = [["half", "models", *told, "shown as `answer`, wrong", f"said to have none of {others}"]]
    for name, size, one in _by_size(found, ["figure", "choose"]):
        counts = [str(one["answerable"][verdict]) for verdict in verdicts]
        sure = one["under_answer"]
        shown = f"{sure['questions']}, {sure['wrong']}"
        rows.append([f"`{name}`", size, *counts, shown, str(one["not_answerable"]["right"])])
    return rows


def _unanswerable(found: Found) -> list[list[str]]:
    head = ["asked", "models", "questions", "`answer`", "`maybe`", "`none`", "right of `answer`"]
    rows = [[*head, "wrong as `answer`, of all", "AUROC"]]
    for _, size, one in _by_size(found, ["unanswerable"]):
        for variant, asked in _ASKED.items():
            of_it = one["variants"][variant]
            said = (of_it[name] for name in ("answer", "maybe", "none", "right_of_shown", "wrong_shown"))
            shares = [*map(_share, said), _share(one["auroc"].get(variant))]
            rows.append([asked, size, str(of_it["questions"]), *shares])
    return rows


def _scores(one: Mapping[str, Any]) -> list[str]:
    intervals = one["intervals"]
    return [
        _with(one["rouge_l"], intervals["rouge_l"]),
        *(_share(one[score]) for score in ("bleu_1", "bleu_4", "meteor")),
        _with(one["f1"], intervals["f1"]),
        _share(one["exact_match"]),
    ]


def _ranking(one: Mapping[str, Any]) -> list[str]:
    """Recall at 1 and at 5 and MRR of what was found; of full stories nobody says what is right."""
    intervals, recall = one["intervals"]["recall_at"], one["recall_at"]
    if recall["1"] is None:
        return ["–"] * 3
    return [
        *(_with(recall[k], intervals[k]) for k in ("1", "5")),
        _with(one["retrieval_mrr"], one["intervals"]["retrieval_mrr"]),
    ]


def _with(value: float, interval: Sequence[float]) -> str:
    return f"{_share(value)} [{', '.join(map(_share, interval))}]"


def _share(value: float | None) -> str:
    """As the field writes what lies between 0 and 1: .555, and a dash for what there is none of."""
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1)
