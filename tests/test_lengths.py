"""Right answers by the length of what was read."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.lengths import PARTS, by_length

READ = st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=40)


def test_twenty_questions_are_ten_pairs_from_short_to_long() -> None:
    parts = by_length([*range(20)], [n < 5 for n in range(20)])
    assert [(part.shortest, part.longest) for part in parts] == [(n, n + 1) for n in range(0, 20, 2)]
    assert [part.right for part in parts] == [1, 1, 0.5, 0, 0, 0, 0, 0, 0, 0]
    assert parts[2].right_up_to == 5 / 6
    assert parts[-1].right_up_to == 0.25


@given(READ)
def test_every_question_is_counted_once_and_the_order_of_questions_changes_nothing(
    read: list[tuple[int, bool]],
) -> None:
    def parts_of(ordered: list[tuple[int, bool]]) -> list[tuple[float, ...]]:
        parts = by_length([words for words, _ in ordered], [right for _, right in ordered])
        return [
            (p.shortest, p.longest, p.questions, round(p.right, 9), round(p.right_up_to, 9)) for p in parts
        ]

    found = parts_of(read)
    assert sum(int(part[2]) for part in found) == len(read)
    assert len(found) == min(PARTS, len(read))
    if read:
        assert found[-1][4] == round(sum(right for _, right in read) / len(read), 9)
    assert parts_of(random.Random(1).sample(read, len(read))) == found
