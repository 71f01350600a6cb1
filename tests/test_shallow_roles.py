"""Verbs and arguments by rules, each by a sentence of our own."""

from __future__ import annotations

import pytest

from readers.baselines.shallow_roles import clause_of, resolve_mentions
from text.words import words


@pytest.mark.parametrize(
    ("sentence", "verb", "arguments"),
    [
        ("Orla went back to the mill.", "went", {"subject": "orla", "to": "mill"}),
        (
            "This morning Orla moved to the mill.",
            "moved",
            {"time": "this morning", "subject": "orla", "to": "mill"},
        ),
        (
            "Orla moved to the mill this evening.",
            "moved",
            {"time": "this evening", "subject": "orla", "to": "mill"},
        ),
        ("After that Pim put down the kettle there.", "put", {"subject": "pim", "object": "kettle"}),
        ("Pim passed the kettle to Orla.", "passed", {"subject": "pim", "object": "kettle", "to": "orla"}),
        ("What did Pim give to Orla?", "give", {"asked": "what", "subject": "pim", "to": "orla"}),
        ("Who gave the kettle to Orla?", "gave", {"asked": "who", "object": "kettle", "to": "orla"}),
        ("Orla is no longer in the mill.", "is", {"subject": "orla", "modifier": "no longer", "in": "mill"}),
        ("Is Orla in the mill?", "is", {"subject": "orla", "in": "mill"}),
        ("The mill is north of the quay.", "is", {"subject": "mill", "complement": "north of quay"}),
        ("What is the mill north of?", "is", {"asked": "what", "subject": "mill", "complement": "north of"}),
        ("What is north of the mill?", "is", {"asked": "what", "complement": "north of mill"}),
        (
            "Is the drum to the left of the kettle?",
            "is",
            {"subject": "drum", "complement": "to left of kettle"},
        ),
        ("Does the drum fit in the kettle?", "fit", {"subject": "drum", "in": "kettle"}),
        ("How do you go from the mill to the quay?", "go", {"from": "mill", "to": "quay"}),
        ("Geese are afraid of owls.", "are", {"subject": "geese", "complement": "afraid of owls"}),
        ("Where was Orla before the mill?", "was", {"subject": "orla", "before": "mill", "asked": "where"}),
        ("Zur fleb dax.", "", {"subject": "zur fleb dax"}),
    ],
)
def test_a_sentence_has_its_verb_and_arguments(sentence: str, verb: str, arguments: dict[str, str]) -> None:
    clause = clause_of(tuple(words(sentence)))
    assert clause.verb == verb
    assert arguments.items() <= dict(clause.arguments).items()
    assert {role for role, _ in clause.arguments} - {"asked"} == arguments.keys() - {"asked"}


def test_several_subjects_and_several_places_are_arguments_of_their_own() -> None:
    clause = clause_of(tuple(words("Orla and Pim went to the mill or the quay.")))
    assert clause.arguments == (("subject", "orla"), ("subject", "pim"), ("to", "mill"), ("to", "quay"))


def test_a_pronoun_becomes_the_nearest_subject_of_its_number() -> None:
    told = [
        "Orla and Pim went home.",
        "Wenna went out.",
        "Then she went in.",
        "Afterwards they moved on.",
        "It left.",
    ]
    spelled = resolve_mentions(tuple(words(sentence)) for sentence in told)
    assert [" ".join(sentence) for sentence in spelled[2:]] == [
        "then wenna went in",
        "afterwards orla and pim moved on",
        "wenna left",
    ]


def test_a_pronoun_without_an_antecedent_stays() -> None:
    assert resolve_mentions([("she", "went", "home")]) == [("she", "went", "home")]
