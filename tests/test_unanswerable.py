"""Examples without an answer: the question's passages never hold one, and nothing is right in them."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from training.context_sampling import Example
from training.corpora.corpus import Document, LabelledQuestion
from training.corpora.fairytaleqa import FAIRYTALES
from training.objectives.cross_encoder_batches import make_batch
from training.unanswerable import Unanswerable


def _tale(name: str, hero: str, place: str) -> Document:
    text = f"{hero} kept the lamp. " * 12 + f"At last {hero} hid it in {place}. " * 12
    middle = text.index("At last")
    asked = LabelledQuestion(f"Where did {hero} hide the lamp?", (f"in {place}",), ((middle, len(text)),))
    return Document(FAIRYTALES, name, text, ((0, middle), (middle, len(text))), (asked,))


TALES = (
    _tale("one", "Maud", "a hollow oak"),
    _tale("two", "Osk", "the well"),
    _tale("three", "Old Marn", "a boot"),
)
MAKER = Unanswerable(TALES)


@given(st.sampled_from(TALES), st.integers(0, 2**32))
def test_a_question_asked_of_another_document_is_shown_nothing_of_its_own(
    document: Document, seed: int
) -> None:
    [question] = document.questions
    example = MAKER.of_another_document(document, question, random.Random(seed))
    assert example is not None
    assert (example.question, example.right, example.targets) == (question.text, (), ())
    others = [set(other.texts) for other in TALES if other is not document]
    assert example.passages
    assert any(set(example.passages) <= texts for texts in others)


@given(st.sampled_from(TALES), st.integers(0, 2**32))
def test_a_question_about_somebody_else_names_nobody_of_its_document(document: Document, seed: int) -> None:
    [question] = document.questions
    shown = Example(question.text, document.texts, (1,), (), question.answers)
    example = MAKER.about_somebody_else(document, shown, random.Random(seed))
    assert example is not None
    assert example.passages == shown.passages
    assert (example.right, example.targets) == ((), ())
    name = example.question.removeprefix("Where did ").removesuffix(" hide the lamp?")
    assert name in {"Maud", "Osk", "Old Marn"}
    assert name not in document.text


def test_a_question_without_a_name_is_left_alone() -> None:
    shown = Example("Why was the lamp hidden?", TALES[0].texts, (1,), (), ("to save it",))
    assert MAKER.about_somebody_else(TALES[0], shown, random.Random(1)) is None
    alone = Unanswerable(TALES[:1])
    assert alone.of_another_document(TALES[0], TALES[0].questions[0], random.Random(1)) is None


def test_nothing_is_right_in_the_batch_of_such_an_example() -> None:
    from encoders.backbone import load_tokenizer
    from encoders.windows import Windower

    example = MAKER.of_another_document(TALES[0], TALES[0].questions[0], random.Random(2))
    assert example is not None
    [windows] = Windower(load_tokenizer())([(example.question, example.passages)])
    batch = make_batch([(example, windows)], random.Random(0))
    assert (batch.right, batch.spans) == ([[]], [[]])
