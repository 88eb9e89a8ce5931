"""The canonical form of a model is computed once and freed with the model."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from models import random_model

from embaudit.canonical import canonical_form
from embaudit.canonical import form as form_module
from embaudit.canonical.equivalents import canonical_models
from embaudit.canonical.form import form_without_new_bias
from embaudit.model import FactorModel

COPIES = {
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "replace": replace,
}


def make():
    return random_model(n=12, p=9, k=3)


def head_with_an_unseen_direction():
    """Make a head without a bias for the mean input, whose labels span two of three
    dimensions."""
    model = make()
    return FactorModel.from_arrays(
        model.left + 1, model.right * [1, 1, 0], link="softmax"
    )


@pytest.fixture
def decompositions(monkeypatch):
    """Return a list that gets the model of each decomposition."""
    models = []
    decompose = form_module._decompose

    def counted(model, centred):
        models.append(model)
        return decompose(model, centred)

    monkeypatch.setattr(form_module, "_decompose", counted)
    return models


@pytest.mark.parametrize("function", [canonical_form, form_without_new_bias])
def test_a_form_is_freed_with_its_model(function):
    model = make()
    form = function(model)
    assert function(model) is form
    references = [weakref.ref(model), weakref.ref(form)]
    del model, form
    gc.collect()
    assert [reference() for reference in references] == [None, None]


@pytest.mark.parametrize("change", COPIES.values(), ids=COPIES)
def test_a_copy_of_a_model_has_an_equal_form(change):
    model = make()
    form = canonical_form(model)
    other = canonical_form(change(model))
    assert other is not form
    np.testing.assert_array_equal(other.singular_values, form.singular_values)


@pytest.mark.parametrize("change", COPIES.values(), ids=COPIES)
def test_the_rows_of_a_copy_cannot_change_under_its_form(change):
    """Deep copies and unpickled arrays of numpy can be written to."""
    copied = change(make().replace(right_bias=np.ones(9)))
    for array in (copied.left, copied.right, copied.right_bias):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_a_model_with_other_rows_or_another_link_has_a_form_of_its_own():
    model = make()
    form = canonical_form(model)
    longer = canonical_form(model.replace(left=2 * model.left))
    np.testing.assert_allclose(longer.singular_values, 2 * form.singular_values)
    cosines = canonical_form(model.replace(link="cosine"))
    assert not np.allclose(cosines.singular_values, form.singular_values)
    with_bias = canonical_form(model.replace(right_bias=np.ones(9)))
    assert with_bias.shifts_left
    assert not form.shifts_left


def test_threads_that_share_a_model_get_equal_forms():
    model = make()
    with ThreadPoolExecutor(8) as threads:
        forms = list(threads.map(canonical_form, [model] * 8))
    for form in forms:
        np.testing.assert_array_equal(form.singular_values, forms[0].singular_values)


def test_the_models_at_all_exponents_are_made_of_one_decomposition(decompositions):
    model = make()
    assert len(list(canonical_models(model))) == 3
    assert len(decompositions) == 1


def test_a_head_without_a_bias_is_decomposed_with_and_without_the_mean(decompositions):
    model = head_with_an_unseen_direction()
    for _ in range(2):
        assert len(list(canonical_models(model))) == 3
    assert len(decompositions) == 2
