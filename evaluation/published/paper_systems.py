"""The rows of the NarrativeQA paper's tables 5 and 6, and what each of them is with our systems."""

from __future__ import annotations

import re
from dataclasses import dataclass

COLUMNS = ("bleu_1", "bleu_4", "meteor", "rouge_l", "mrr")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the paper's name for the system, and ours, with what it reads.

    ``reader`` is a full name in which ``{vectors}`` stands for the file of word vectors; "" is the
    human row. ``trained`` says that the reader's model is one of the paper's, trained by us or by the user.
    """

    system: str
    reader: str
    setting: str = "summaries"
    retriever: str | None = None
    k: int = 5
    trained: bool = False
    only: tuple[str, ...] = COLUMNS  # what the paper measured it by

    @property
    def slug(self) -> str:
        """A folder's name for it."""
        return re.sub(r"[^a-z0-9]+", "-", self.system.lower()).strip("-")


_CHUNKS = (1, 2, 5, 10, 20)
_HUMAN = Row("Human (given summaries)", "")
TABLES: dict[int, tuple[Row, ...]] = {
    5: (
        Row("BLEU-1 given question (1 sentence)", "ir-bleu1@span=sentence,ties=random"),
        Row("ROUGE-L given question (8-gram)", "ir-rouge-l@span=8,ties=random"),
        Row("Cosine given question (1 sentence)", "ir-cosine:{vectors}@span=sentence,ties=random"),
        Row("Random rank", "random-rank", only=("mrr",)),
        Row("Seq2Seq (no context)", "seq2seq-lstm", trained=True),
        Row("Attention Sum Reader", "attention-sum", trained=True),
        Row("Span Prediction", "bidaf", trained=True, only=COLUMNS[:-1]),
        Row("Oracle: BLEU-1 given answer", "ir-bleu1@query=answer,ties=random"),
        Row("Oracle: ROUGE-L given answer", "ir-rouge-l@query=answer,ties=random"),
        Row("Oracle: cosine given answer", "ir-cosine:{vectors}@query=answer,ties=random"),
        _HUMAN,
    ),
    6: (
        Row("BLEU-1 given question (8-gram)", "ir-bleu1@span=8,ties=random", "whole-stories"),
        Row("ROUGE-L given question (1 sentence)", "ir-rouge-l@span=sentence,ties=random", "whole-stories"),
        Row("Cosine given question (8-gram)", "ir-cosine:{vectors}@span=8,ties=random", "whole-stories"),
        Row("Random rank", "random-rank", "whole-stories", only=("mrr",)),
        *(
            Row(
                f"Attention Sum Reader, {k} chunk{'s' * (k > 1)}",
                "attention-sum",
                "stories",
                "tfidf",
                k,
                True,
            )
            for k in _CHUNKS
        ),
        Row(
            "Span Prediction",
            "bidaf",
            "stories",
            "tfidf",
            trained=True,
            only=COLUMNS[:-1],
        ),
        Row("Oracle: BLEU-1 given answer", "ir-bleu1@query=answer,ties=random", "whole-stories"),
        Row("Oracle: ROUGE-L given answer", "ir-rouge-l@query=answer,ties=random", "whole-stories"),
        Row(
            "Oracle: cosine given answer (4-gram)",
            "ir-cosine:{vectors}@span=4,query=answer,ties=random",
            "whole-stories",
        ),
        _HUMAN,
    ),
}
TABLE_SETTINGS = {5: "summaries", 6: "stories"}
