"""What a fit of the selector leaves: its file, how it fares, what it was fitted to, and a card."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from encoders import bi_encoder, cross_encoder
from encoders.adapters import file_hash
from encoders.sizes import default_encoder, weights_folder
from readers.default import decoder_weights, feelings, writer
from training.export import Provenance
from training.selection import (
    ScoredCandidates,
    SelectionScores,
    cheapest,
    fit_selector,
    judge_apart,
    score_selection,
)

ON_CARD = ("judged", "spans", "written", "right", "confidence")  # of ``SelectionScores``


@dataclass(frozen=True, slots=True)
class FittedSelector:
    """The file of the fitted selector, and how selectors fare on stories that they were not fitted on."""

    path: Path
    scores: Mapping[str, SelectionScores]
    fitted_to: Mapping[str, str]

    def describe(self) -> dict[str, object]:
        """For machines."""
        return {"weights": [str(self.path)], "cross_validated": _as_dicts(self.scores)}

    def lines(self) -> Iterator[str]:
        """For people."""
        for where, scores in self.scores.items():
            yield f"{where} {asdict(scores)}"

    def card_scores(self) -> dict[str, float]:
        """What a card says of them, by kind of question and score."""
        return {
            f"{where}_{name}": getattr(scores, name)
            for where, scores in self.scores.items()
            for name in ON_CARD
        }


def weights_fitted_to(start: Path, writes: bool) -> dict[str, str]:
    """By its name the SHA-256 of each file whose signals a selector weighs: the readers' in a folder, or the
    shipped ones in their place, as ``AutoReader`` takes them, and the retriever's encoder.

    With ``writes`` what writes is a language model's adapters, else the decoder.
    """
    encoders, readers = (weights_folder(f"{room}.weights", str(start)) for room in ("encoders", "readers"))
    own = (encoders / cross_encoder.WEIGHTS).is_file()
    encoder = (encoders if own else weights_folder("encoders.weights", None)) / cross_encoder.WEIGHTS
    finds = default_encoder()
    retriever = (
        weights_folder("encoders.weights", bi_encoder.TRAINED[finds])
        if finds in bi_encoder.TRAINED
        else Path(finds)
    )
    files = (
        encoder,
        readers / (writer.WEIGHTS if writes else decoder_weights.WEIGHTS),
        readers / feelings.WEIGHTS,
        retriever / bi_encoder.WEIGHTS,
    )
    return {path.name: file_hash(path) for path in files if path.is_file()}


def write_selector(
    scored: Sequence[ScoredCandidates], path: Path, command: str, fitted_to: Mapping[str, str]
) -> FittedSelector:
    """Fit on all of ``scored`` and write the selector beside how it fares on other stories.

    ``fitted_to`` is the SHA-256 of each file whose signals they are, by its name.
    """
    judged = judge_apart(scored)
    writes_from = cheapest(judged)
    selector = fit_selector(scored, writes_from)
    fitted = FittedSelector(path, score_selection(judged, writes_from), fitted_to)
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = {
        "command": command,
        "fitted_to": dict(fitted_to),
        "cross_validated": _as_dicts(fitted.scores),
        "judge": asdict(selector),
    }
    fitted.path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return fitted


def _as_dicts(scores: Mapping[str, SelectionScores]) -> dict[str, dict[str, float]]:
    return {where: asdict(one) for where, one in scores.items()}


def write_selector_card(fitted: FittedSelector, reader: str, made: Provenance) -> None:
    """Write ``<selector>.md`` beside the selector of that reader."""
    weights = "\n".join(f"  - {name}: `{sha256}`" for name, sha256 in fitted.fitted_to.items())
    fitted.path.with_suffix(".md").write_text(
        f"""# {fitted.path.name}

Logistic models of which answer `{reader}` gives, how likely it is right and when one is written, over what
its readers say of their answers. Other weights of these say other numbers: then it has to be fitted again.

- **Fitted to** what the files with these SHA-256 say, the last of them the retriever's:
{weights}
- **Data**, stories held out in training, and articles; so many were read:
{made.data_lines()}
- **Licence**: Apache-2.0
{made.closing_lines(fitted.path)}
- **These scores** are of selectors fitted on other stories, by what was read (`sections` of tales, passages
  found in `stories`): ROUGE-L of what is given (`judged`), of the first span and of the first written answer,
  the share of what is given that is right (ROUGE-L of .5 or more), and its mean confidence.
""",
        encoding="utf-8",
    )
