"""The whole of answering, written plainly: BM25, a Hugging Face model, and the likeliest spans."""

from __future__ import annotations

import re
from typing import Any

LONGEST_ANSWER = 40  # tokens


class PlainReader:
    """A BertForQuestionAnswering by transformers in torch, fp32, all passages of a question in one batch."""

    def prepare(self, model: str) -> None:
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = AutoModelForQuestionAnswering.from_pretrained(model).eval()

    def run(self, question: str, passages: list[str]) -> list[dict[str, Any]]:
        """The likeliest span of each window by start + end score, the three best of those."""
        import torch

        windows = self.tokenizer(
            [question] * len(passages),
            passages,
            truncation="only_second",
            max_length=384,
            stride=64,
            padding=True,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        numbers = windows.pop("overflow_to_sample_mapping").tolist()
        offsets = windows.pop("offset_mapping").tolist()
        context = [[one == 1 for one in windows.sequence_ids(row)] for row in range(len(numbers))]
        with torch.inference_mode():
            said = self.model(**windows)
            outside = ~torch.tensor(context)
            start = said.start_logits.masked_fill(outside, -torch.inf)  # (windows, tokens)
            end = said.end_logits.masked_fill(outside, -torch.inf)
            scores = start[:, :, None] + end[:, None, :]  # (windows, tokens, tokens)
            allowed = torch.ones(scores.shape[1:], dtype=torch.bool).triu().tril(LONGEST_ANSWER - 1)
            best, places = scores.masked_fill(~allowed, -torch.inf).flatten(1).max(1)
        found = []
        for row in best.argsort(descending=True).tolist()[:3]:
            i, j = divmod(int(places[row]), scores.shape[2])
            text = passages[numbers[row]][offsets[row][i][0] : offsets[row][j][1]]
            found.append({"text": text, "score": float(best[row]), "passage": numbers[row]})
        return found


class PlainPipeline:
    """rank_bm25's Okapi on runs of letters and digits, then ``PlainReader``."""

    def prepare(self, model: str, passages: list[str]) -> None:
        from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

        self.passages = passages
        self.bm25 = BM25Okapi([words(passage) for passage in passages])
        self.reader = PlainReader()
        self.reader.prepare(model)

    def run(self, question: str, k: int) -> list[dict[str, Any]]:
        return self.reader.run(question, self.bm25.get_top_n(words(question), self.passages, n=k))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
