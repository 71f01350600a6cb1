"""What the cross-encoder minimises: for spans, for relevance, beside a teacher, and for written answers."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from encoders.windows import Window
from readers.default.pointer_generator import PointerDecoder
from training.objectives.cross_encoder_batches import CrossEncoderBatch
from training.teacher import Lesson

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
    start = start.float().masked_fill(~context, NOWHERE)
    end = end.float().masked_fill(~context, NOWHERE)
    losses = []
    for block, right in zip(rows, spans, strict=True):
        if right:
            row, first, last = torch.tensor([t[:3] for t in right], device=start.device).unbind(1)
            weight = torch.tensor([t[3] for t in right], device=start.device).log()
            total = torch.logsumexp(start[block].flatten(), 0) + torch.logsumexp(end[block].flatten(), 0)
            chosen = start[block][row, first] + end[block][row, last] + weight
            losses.append(total - torch.logsumexp(chosen, 0))
    return torch.stack(losses).mean() if losses else start.sum() * 0


def relevance_loss(
    relevance: torch.Tensor, rows: Sequence[slice], right: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Mean over examples of -log of the probability of a right window, or of none where none is right.

    ``relevance`` (windows,) are scores against that of answering nothing, which is 0: a softmax
    over an example's windows and nothing (Nogueira and Cho 2019, with a null class).
    """
    losses = []
    for block, answering in zip(rows, right, strict=True):
        scores = torch.nn.functional.pad(relevance[block].float(), (1, 0))  # nothing comes first
        chosen = scores[[1 + row for row in answering] or [0]]
        losses.append(scores.logsumexp(0) - chosen.logsumexp(0))
    return torch.stack(losses).mean() if losses else relevance.sum() * 0


def divergence(own: torch.Tensor, teacher: torch.Tensor, rows: Sequence[slice]) -> torch.Tensor:
    """Mean over examples of KL(teacher || own): what is lost by taking one distribution for the other.

    Both have shape (windows, ...) and are scores whose softmax is over all that belongs to the windows of
    an example (distillation, Hinton et al. 2015, section 2, at temperature 1).
    """
    losses = []
    for block in rows:
        mine, theirs = (scores[block].float().flatten().log_softmax(0) for scores in (own, teacher))
        losses.append(torch.nn.functional.kl_div(mine, theirs, reduction="sum", log_target=True))
    return torch.stack(losses).mean()


def relevance_divergence(own: torch.Tensor, teacher: torch.Tensor, rows: Sequence[slice]) -> torch.Tensor:
    """As ``divergence``, of relevance (windows,): over an example's windows and nothing, whose score is 0."""
    padded = [
        torch.cat([torch.nn.functional.pad(scores[block].float(), (1, 0)) for block in rows])
        for scores in (own, teacher)
    ]
    shifted = [slice(block.start + i, block.stop + i + 1) for i, block in enumerate(rows)]
    return divergence(padded[0], padded[1], shifted)


def taught_losses(
    batch: CrossEncoderBatch,
    lessons: Sequence[Lesson],
    start: torch.Tensor,
    end: torch.Tensor,
    relevance: torch.Tensor,
    context: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """How far the distributions of starts and ends are from the teacher's, summed, and that of relevance.

    Shapes as in ``span_loss`` and ``relevance_loss``.
    """
    starts, ends, relevances = _lesson_scores(batch.windows, lessons, start)
    own_start, own_end = (scores.float().masked_fill(~context, NOWHERE) for scores in (start, end))
    spans = divergence(own_start, starts, batch.rows) + divergence(own_end, ends, batch.rows)
    return spans, relevance_divergence(relevance, relevances, batch.rows)


def _lesson_scores(
    windows: Sequence[Window], lessons: Sequence[Lesson], like: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The teacher's start and end scores (windows, tokens), very low outside passages, and its relevance
    (windows,); ``like`` has the shape and the device of the student's."""
    start, end = (torch.full(like.shape, NOWHERE) for _ in range(2))
    for row, (window, lesson) in enumerate(zip(windows, lessons, strict=True)):
        context = slice(window.first, window.first + len(window.offsets))
        start[row, context] = torch.from_numpy(lesson.start.copy())
        end[row, context] = torch.from_numpy(lesson.end.copy())
    relevance = torch.tensor([lesson.relevance for lesson in lessons])
    return start.to(like.device), end.to(like.device), relevance.to(like.device)


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
    answers = [torch.tensor(batch.answers[i], device=hidden.device) for i in answerable]
    targets = pad(answers, batch_first=True)
    real = pad([torch.ones_like(a, dtype=torch.bool) for a in answers], batch_first=True)
    begins = ids[0, 0].expand(len(answers), 1)
    step = decoder(torch.cat([begins, targets[:, :-1]], 1), memory, words)
    log_probability = step.log_probability(targets, memory_ids)
    loss: torch.Tensor = -(log_probability * real).sum() / real.sum()
    return loss
