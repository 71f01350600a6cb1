"""Training of ``babi-ngram``: one linear SVM an answer, over the counts of n-grams."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from readers.baselines.array_file import SUFFIX
from readers.baselines.babi_ngram import NAME, NgramClassifier, ngrams
from training.corpora.babi import examples, words_of
from training.objectives.babi_systems import BabiRun

_C = 1.0  # scikit-learn's own; .1 is as good


def learn(run: BabiRun) -> Path:
    """Fit the classifier to the questions and answers of ``run``, and write it into its folder."""
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
    from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    found = [one for stories in run.stories.values() for one in examples(stories)]
    answers = sorted({one.answers for one in found})
    numbers = {answer: number for number, answer in enumerate(answers)}
    counts = CountVectorizer(analyzer=ngrams)
    grams: list[str] = []
    if len(answers) == 1 or not any(next(ngrams(one.told), None) for one in found):
        weights, bias = np.zeros((len(answers), 0)), np.zeros(len(answers))
    else:
        x = counts.fit_transform([one.told for one in found])
        grams = counts.get_feature_names_out().tolist()
        svm = LinearSVC(C=_C, random_state=run.seed)
        with warnings.catch_warnings():
            # What its thousand rounds leave to be gained is below what another seed changes.
            warnings.simplefilter("ignore", ConvergenceWarning)
            svm.fit(x, [numbers[one.answers] for one in found])
        weights, bias = svm.coef_, svm.intercept_
        if len(answers) == 2:  # scikit-learn gives the margin of the second alone
            weights, bias = np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
    classifier = NgramClassifier(
        words_of(found),
        grams,
        answers,
        np.ascontiguousarray(weights.T, dtype=np.float32),
        bias.astype(np.float32),
        run.trained_on,
    )
    return classifier.as_file().save(run.out / f"{NAME}{SUFFIX}")
