"""Heads trained on digits: weight decay on all labels moves the mean row to 0, and no
other training pins it.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from embaudit.auditing.heads import head_report
from embaudit.model import FactorModel

START = 0.3
"""What every coefficient starts from, as a network's last layer starts away from zero.
"""


def trained(
    c: float, *, start: float, tol: float = 1e-6
) -> tuple[FactorModel, np.ndarray]:
    """Train on half of the digits (with decay of strength 1/C); return the head and its
    probabilities.
    """
    x, y = load_digits(return_X_y=True)
    x = x / 16
    model = LogisticRegression(C=c, tol=tol, max_iter=400, warm_start=True)
    model.classes_, model.coef_ = np.arange(10), np.full((10, 64), start)
    model.intercept_ = np.zeros(10)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # without decay the optimum may lie at infinity
        model.fit(x[:900], y[:900])
    head = FactorModel.from_softmax(
        model.coef_, model.intercept_, embeddings=x[:900], labels=model.classes_
    )
    return head, model.predict_proba(x[900:])


@pytest.fixture(scope="module")
def decayed():
    return trained(1.0, start=START)[0]


@pytest.fixture(scope="module")
def free():
    return trained(np.inf, start=START)[0]


def test_with_decay_on_all_labels_the_mean_row_is_zero_and_the_audit_explains_it(
    decayed,
):
    report = head_report(decayed, n_gauges=1)
    assert report.offset < 1e-3
    assert not report.origin_matters


def test_without_decay_the_mean_row_stays_where_it_started(free):
    report = head_report(free, n_gauges=1)
    assert np.allclose(np.mean(free.right, axis=0), START, atol=1e-6)
    assert report.offset == pytest.approx(START * 8 / report.median_norm, rel=1e-5)
    assert report.offset > 0.01


def test_another_start_without_decay_is_a_translation_and_nothing_else(free):
    other, _ = trained(np.inf, start=0.0)
    assert np.allclose(np.mean(other.right, axis=0), 0, atol=1e-6)
    assert head_report(other, n_gauges=1).offset < 1e-3
    centred = (np.asarray(m.right) - np.mean(m.right, axis=0) for m in (free, other))
    # As far as the optimiser's path agrees: without decay it creeps towards infinity.
    a, b = centred
    assert np.linalg.norm(a - b) < 0.2 * np.linalg.norm(b)


def test_the_translated_head_predicts_the_same_digits_and_alarms(decayed):
    report = head_report(decayed.replace(right=decayed.right + START), n_gauges=1)
    assert report.verified
    assert report.origin_matters
    assert report.centred.change < 1e-12
