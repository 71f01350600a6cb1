"""What the cross-encoder minimises: for spans, for relevance, beside a teacher, and for written answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from encoders.device import sent
from readers.default.pointer_generator import PointerDecoder
from training.objectives.cross_encoder_batches import CrossEncoderBatch
from training.teacher import Taught

NOWHERE = -1e9  # the score of a token that is no answer's


def span_loss(
    start: torch.Tensor,
    end: torch.Tensor,
    context: torch.Tensor,
    rows: Sequence[slice],
    spans: Sequence[Sequence[tuple[int, int, int, float]]],
) -> torch.Tensor:
    """Mean over examples that have targets of -log sum_t w_t p(start_t) p(end_t).

    ``start`` and ``end`` are scores of shape (windows, tokens), ``context`` is True at the tokens
    that may be answered with. p is a softmax over all windows of the example: shared
    normalisation, Clark and Gardner 2018, equation 3, with the marginal of section 3. 0 where no
    example has a target.
    """
    answered = [number for number, right in enumerate(spans) if right]
    if not answered:
        return start.sum() * 0
    blocks = _Blocks.of([rows[number] for number in answered], start.device)
    targets = [
        (n, rows[number].start + row, first, last)
        for n, number in enumerate(answered)
        for row, first, last, _ in spans[number]
    ]
    owner, row, first, last = sent(torch.tensor(targets), start.device).unbind(1)
    weights = torch.tensor([t[3] for number in answered for t in spans[number]])
    weight = sent(weights.log(), start.device)
    start = start.float().masked_fill(~context, NOWHERE)
    end = end.float().masked_fill(~context, NOWHERE)
    total = blocks.logsumexp(start) + blocks.logsumexp(end)
    chosen = start[row, first] + end[row, last] + weight
    return (total - _logsumexp(chosen, owner, len(answered))).mean()


def relevance_loss(
    relevance: torch.Tensor, rows: Sequence[slice], right: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Mean over examples of -log of the probability of a right window, or of none where none is right.

    ``relevance`` (windows,) are scores against that of answering nothing, which is 0: a softmax
    over an example's windows and nothing (Nogueira and Cho 2019, with a null class).
    """
    if not rows:
        return relevance.sum() * 0
    blocks = _Blocks.of(rows, relevance.device).with_nothing(len(relevance))
    scores = _with_nothing(relevance, len(rows))
    answering = [
        (number, place)
        for number, (block, found) in enumerate(zip(rows, right, strict=True))
        for place in ([block.start + row for row in found] or [len(relevance) + number])
    ]
    owner, place = sent(torch.tensor(answering), relevance.device).unbind(1)
    chosen = _logsumexp(scores[place, 0], owner, len(rows))
    return (blocks.logsumexp(scores) - chosen).mean()


def divergence(own: torch.Tensor, teacher: torch.Tensor, rows: Sequence[slice]) -> torch.Tensor:
    """Mean over examples of KL(teacher || own): what is lost by taking one distribution for the other.

    Both have shape (windows, tokens) and are scores whose softmax is over all that belongs to the windows of
    an example (distillation, Hinton et al. 2015, section 2, at temperature 1).
    """
    return _Blocks.of(rows, own.device).divergence(own.float(), teacher.float())


def relevance_divergence(own: torch.Tensor, teacher: torch.Tensor, rows: Sequence[slice]) -> torch.Tensor:
    """As ``divergence``, of relevance (windows,): over an example's windows and nothing, whose score is 0."""
    blocks = _Blocks.of(rows, own.device).with_nothing(len(own))
    return blocks.divergence(_with_nothing(own, len(rows)), _with_nothing(teacher, len(rows)))


def _with_nothing(relevance: torch.Tensor, examples: int) -> torch.Tensor:
    """Scores (windows + examples, 1): those of the windows, and for each example that of no answer."""
    return torch.nn.functional.pad(relevance.float(), (0, examples))[:, None]


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Which ``windows`` are some examples', and the example that each is of: all examples in few steps, where
    a card would wait longer for each step than it takes."""

    windows: torch.Tensor
    owner: torch.Tensor
    examples: int

    @classmethod
    def of(cls, rows: Sequence[slice], device: torch.device) -> _Blocks:
        windows = [
            (row, number) for number, block in enumerate(rows) for row in range(block.start, block.stop)
        ]
        row, owner = sent(torch.tensor(windows), device).unbind(1)
        return cls(row, owner, len(rows))

    def with_nothing(self, windows: int) -> _Blocks:
        """With one more row for each example, behind ``windows`` others."""
        more = torch.arange(self.examples, device=self.owner.device)
        return _Blocks(
            torch.cat([self.windows, windows + more]), torch.cat([self.owner, more]), self.examples
        )

    def logsumexp(self, scores: torch.Tensor) -> torch.Tensor:
        """(examples,), of scores (windows, tokens): over all that is an example's."""
        return _logsumexp(scores[self.windows].logsumexp(1), self.owner, self.examples)

    def divergence(self, own: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        """See the function."""
        mine, theirs = (
            scores[self.windows] - self.logsumexp(scores)[self.owner, None] for scores in (own, teacher)
        )
        lost = torch.nn.functional.kl_div(mine, theirs, reduction="sum", log_target=True)
        return lost / self.examples


def _logsumexp(scores: torch.Tensor, owner: torch.Tensor, count: int) -> torch.Tensor:
    """(count,), the logarithms of the sums of exp of the ``scores`` (n,) that have one ``owner`` (n,)."""
    most = scores.detach().new_full((count,), NOWHERE).scatter_reduce(0, owner, scores.detach(), "amax")
    summed = torch.zeros_like(most).index_add(0, owner, (scores - most[owner]).exp())
    return most + summed.log()


def taught_losses(
    taught: Taught,
    rows: Sequence[slice],
    start: torch.Tensor,
    end: torch.Tensor,
    relevance: torch.Tensor,
    context: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """How far the distributions of starts and ends are from the teacher's, summed, and that of relevance.

    Shapes as in ``span_loss`` and ``relevance_loss``.
    """
    starts, ends, own_start, own_end = (
        scores.float().masked_fill(~context, NOWHERE) for scores in (taught.start, taught.end, start, end)
    )
    spans = divergence(own_start, starts, rows) + divergence(own_end, ends, rows)
    return spans, relevance_divergence(relevance, taught.relevance, rows)


def generate_loss(
    decoder: PointerDecoder,
    batch: CrossEncoderBatch,
    hidden: torch.Tensor,
    ids: torch.Tensor,
    context: torch.Tensor,
    words: torch.Tensor,
) -> torch.Tensor:
    """-log P of the answers' tokens, mean over the answers that the passages hold.

    ``hidden`` (windows, tokens, width) are the encoder's states, ``ids`` (windows, tokens) what it read, as
    the decoder numbers it, ``context`` (windows, tokens) True at the tokens of passages, and ``words``
    (vocabulary, width) the decoder's embeddings.
    """
    answerable = [i for i, right in enumerate(batch.right) if right]
    if not answerable:
        return decoder.bias.sum() * 0  # nothing to learn from, yet something to step by
    lengths = [len(window.ids) for window in batch.windows]
    states, tokens, copied = [], [], []
    for i in answerable:
        rows = range(batch.rows[i].start, batch.rows[i].stop)
        states.append(torch.cat([hidden[row, : lengths[row]] for row in rows]))
        tokens.append(torch.cat([ids[row, : lengths[row]] for row in rows]))
        copied.append(torch.cat([context[row, : lengths[row]] for row in rows]))
    pad = torch.nn.utils.rnn.pad_sequence
    memory_ids = pad(tokens, batch_first=True)
    mask = pad([torch.ones_like(t, dtype=torch.bool) for t in tokens], batch_first=True)
    memory = decoder.memory(pad(states, batch_first=True), memory_ids, mask, pad(copied, batch_first=True))
    answers = [torch.tensor(batch.answers[i]) for i in answerable]
    targets = sent(pad(answers, batch_first=True), hidden.device)
    written = [torch.ones_like(answer, dtype=torch.bool) for answer in answers]
    real = sent(pad(written, batch_first=True), hidden.device)
    begins = ids[0, 0].expand(len(answers), 1)
    step = decoder(torch.cat([begins, targets[:, :-1]], 1), memory, words)
    log_probability = step.log_probability(targets, memory_ids)
    loss: torch.Tensor = -(log_probability * real).sum() / real.sum()
    return loss
