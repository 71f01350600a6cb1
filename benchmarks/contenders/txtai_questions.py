"""txtai's extractive question answering."""

from __future__ import annotations


class TxtaiQuestions:
    """txtai's ``Questions``: the passages one by one in torch, fp32, and from each an answer or none."""

    def prepare(self, model: str) -> None:
        from txtai.pipeline import Questions

        self.questions = Questions(model, gpu=False)

    def run(self, question: str, passages: list[str]) -> list[str | None]:
        """The likeliest start to the likeliest end in each passage, None where they are not likely."""
        return [self._answer(question, passage) for passage in passages]

    def _answer(self, question: str, passage: str) -> str | None:
        try:
            found: str | None = self.questions([question], [passage])[0]
        except TypeError:  # what it comes to where either is outside of the passage
            return None
        return found
