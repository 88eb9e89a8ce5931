"""Every public function refuses a wrong argument with an InputError of one sentence.

It never raises another exception and never warns.
"""

from __future__ import annotations

import inspect
import re
import warnings
from types import FunctionType

import numpy as np
import pandas as pd
import pytest
from attention_files import LLAMA, Live
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator

import embaudit as ea

AXES = Figure().add_subplot()
DRAW = np.random.default_rng(0)
LEFT = DRAW.normal(size=(9, 3))
RIGHT = DRAW.normal(size=(8, 3))
TABLE = np.abs(DRAW.normal(size=(9, 8)))
MODEL = ea.FactorModel.from_user_item(LEFT, RIGHT, item_bias=RIGHT[:, 0])
PAIRED = ea.FactorModel.from_vectors(np.random.default_rng(0).random((24, 3)))
HEAD = ea.FactorModel.from_softmax(RIGHT)
GROUP = ea.gauges.Diagonal(3, max_condition=2.0)
GAUGE = ea.Gauge.identity(3)
FORM = ea.canonical_form(MODEL)
FRAME = pd.DataFrame(
    {"x": np.arange(9.0), "y": np.arange(9.0) % 4, "g": list("abc") * 3}
)
BLOCKS = ea.block_cosines(TABLE[0], TABLE[1], blocks=list("aabbccdd"))
LISTS = ea.certified_neighbours(MODEL, n=2)
RANGE = ea.cosine_range(MODEL, GROUP, pairs=[[0, 1]])
TRUTH = list("abababab")
JUDGED = ea.evaluate_similarities(MODEL, TRUTH, n_neighbours=2)
CUT = ea.threshold(MODEL, level=0.1)
REPORT = ea.simpson(FRAME, x="x", y="y", groups=["g"], n_permutations=0, min_size=2)
CHANGE = ea.compare(MODEL, MODEL)
FACTORS = ea.FactorPenaltyMF(2).fit(TABLE)
PRODUCT = ea.ProductPenaltyMF(2).fit(TABLE)
SMALL = {"n_gauges": 1, "n_pairs": 5, "groups": ["translation"], "roles": ["right"]}
AUDIT = ea.audit(MODEL, **SMALL)
PINNING = ea.pinned_test(MODEL.replace(link="cosine", right_bias=None))
REMEDY = ea.fix(MODEL)
NETWORK = Live(LLAMA)
HEAD_AUDIT = ea.audit_attention(NETWORK, 0, 0)
IO = ea.io


def blocks_by(labels):
    return ea.block_cosines(TABLE[0], TABLE[1], blocks=labels)


def fitted_product(n_components, alpha, split, random_state):
    options = {
        "alpha": alpha,
        "split": split,
        "random_state": random_state,
    }
    return ea.ProductPenaltyMF(n_components, **options).fit(TABLE)


def fitted_factors(n_components, alpha, random_state):
    options = {"alpha": alpha, "random_state": random_state}
    return ea.FactorPenaltyMF(n_components, **options).fit(TABLE)


CALLS = {
    ea.FactorModel: {"left_side": MODEL.left_side, "right_side": MODEL.right_side},
    ea.FactorModel.from_arrays: {"left": LEFT, "right": RIGHT},
    ea.FactorModel.from_user_item: {"user_factors": LEFT, "item_factors": RIGHT},
    ea.FactorModel.from_softmax: {"unembeddings": RIGHT},
    ea.FactorModel.from_vectors: {"vectors": RIGHT},
    MODEL.cosines: {"role": "right"},
    MODEL.factors: {"role": "right"},
    MODEL.moments: {"role": "right"},
    MODEL.names: {"role": "right"},
    MODEL.predictions: {"rows": [0]},
    MODEL.role: {"name": "right"},
    MODEL.scores: {"rows": [0]},
    MODEL.side: {"role": "right"},
    MODEL.side_name: {"name": "right"},
    MODEL.take: {"left": [0], "right": [0]},
    MODEL.title: {"role": "right"},
    MODEL.zero_rows: {"role": "right"},
    MODEL.row_title: {"role": "right"},
    ea.softmax_link: {"soft_cap": 30.0, "unit_rows": True},
    ea.Side: {"rows": RIGHT, "title": "item"},
    MODEL.right_side.take: {"rows": [0]},
    ea.Gauge: {"left": np.eye(3), "right": np.eye(3)},
    GAUGE.act: {"model": MODEL},
    GAUGE.matrix: {"side": "right"},
    GAUGE.preserves_in: {"model": MODEL},
    ea.Gauge.diagonal: {"scales": [1.0, 2.0]},
    ea.Gauge.identity: {"rank": 3},
    ea.Gauge.linear: {"matrix": np.eye(3)},
    ea.Gauge.from_svd: {"u": np.eye(3), "s": np.ones(3), "vt": np.eye(3)},
    ea.Gauge.translation: {"rank": 3},
    **{group: {"rank": 3} for group in ea.gauges.GROUPS},
    GROUP.sample: {},
    GROUP.contains: {"gauge": GAUGE},
    ea.at_exponent: {"model": MODEL, "exponent": 0.5},
    ea.audit: {"model": MODEL, "max_condition": 1.0, **SMALL},
    ea.audit_attention: {"source": NETWORK, "layer": 0, "head": 0, "n_neighbours": 2},
    ea.equivalent_attention: {"source": NETWORK, "layer": 0, "head": 0},
    HEAD_AUDIT.prediction_rows: {"name": "keys"},
    HEAD_AUDIT.table: {"name": "keys"},
    AUDIT.plot: {},
    AUDIT.plot_heatmap: {"ax": AXES, "beside": []},
    AUDIT.plot_prediction_cosines: {"ax": AXES},
    AUDIT.plot_certified_curve: {"ax": AXES},
    ea.plot_heatmap: {"model": MODEL, "ax": AXES, "beside": []},
    ea.plot_prediction_cosines: {"model": MODEL, "ax": AXES},
    ea.block_cosines: {"x": TABLE, "y": TABLE},
    BLOCKS.largest_gaps: {},
    BLOCKS.plot: {},
    blocks_by: {"labels": list("aaabbbbb")},
    ea.canonical_form: {"model": MODEL},
    FORM.gauge: {"exponent": 0.5},
    FORM.left_map: {"exponent": 0.5},
    FORM.right_map: {"exponent": 0.5},
    FORM.maps: {"exponent": 0.5},
    ea.certified_neighbours: {"model": MODEL, "n": 2},
    LISTS.certified: {"kappa": 1.5},
    LISTS.curve: {"kappas": [1.5]},
    LISTS.list_curve: {"kappas": [1.5]},
    LISTS.plot: {},
    ea.compare: {"before": MODEL, "after": MODEL},
    CHANGE.below: {"limits": {"kept": 0.5}},
    CHANGE.moved_most: {},
    CHANGE.title: {"role": "right"},
    ea.condition_to_reach: {"cosine": 0.1, "target": 0.2},
    ea.cosine_range: {"model": MODEL, "group": GROUP, "pairs": [[0, 1]]},
    RANGE.contains: {"cosines": [0.5]},
    RANGE.witness: {"pair": 0, "end": "lower"},
    RANGE.cosine_under: {"gauge": GAUGE, "pair": 0},
    ea.drift: {"before": MODEL, "after": MODEL, "condition_number": 1.0},
    ea.evaluate_similarities: {"model": MODEL, "truth": TRUTH, "n_neighbours": 2},
    JUDGED.best: {},
    JUDGED.better: {"measure": "precision"},
    JUDGED.value: {"similarity": "cosine"},
    ea.fix: {"model": MODEL},
    ea.nearly_equal: {"model": MODEL, "tolerance": 0.1, "noise": 0.1},
    REMEDY.stream: {"role": "right"},
    REMEDY.lost_fields: {"path": "w.npz"},
    REMEDY.losses: {"path": "w.npz"},
    REMEDY.vectors: {},
    REMEDY.write: {"path": "w.npz", "force": True},
    ea.head_report: {
        "model": HEAD,
        "n_labels": 8,
        "n_pairs": 5,
        "n_gauges": 0,
        "n_neighbours": 2,
    },
    ea.identified_cosines: {"model": MODEL, "role": "right"},
    ea.identified_factors: {"model": MODEL, "role": "right"},
    ea.audit_lora: {"source": LEFT, "a": RIGHT.T, "scale": 2.0, "n_neighbours": 2},
    ea.compare_lora: {"first": (LEFT, RIGHT.T), "second": (LEFT, RIGHT.T)},
    ea.compare_copies: {"original": MODEL, "copies": "int8", "n_neighbours": 2},
    ea.index_metric: {"model": MODEL, "served": "cosine", "n_neighbours": 2},
    ea.levels: {"model": MODEL},
    ea.levels(MODEL).below: {"cosines": [0.5]},
    ea.load: {"path": "m.npz"},
    ea.movement: {"before": MODEL, "after": MODEL, "n_neighbours": 2},
    ea.movement(MODEL, MODEL, n_neighbours=2).plot: {},
    ea.neighbours: {"x": RIGHT, "n": 2},
    ea.pinned_test: {"model": MODEL.replace(link="cosine", right_bias=None)},
    ea.position: {"model": MODEL},
    ea.space_map: {"old": PAIRED, "new": PAIRED},
    ea.probe_inputs: {"model": HEAD, "n": 2},
    ea.query_reach: {
        "items": MODEL,
        "queries": LEFT,
        "served": "dot",
        "n_neighbours": 2,
    },
    ea.range_summary: {"model": MODEL, "n_pairs": 5},
    ea.save: {"model": MODEL, "path": "o.npz", "force": True},
    ea.shift_to_reach: {"a": [1.0, 0.0], "b": [0.0, 1.0], "target": 0.5},
    ea.similarity_reversal: {
        "before": TABLE,
        "after": TABLE[::-1],
        "clusters": list("aaaabbbbb"),
    },
    ea.simpson: {
        "frame": FRAME,
        "x": "x",
        "y": "y",
        "groups": ["g"],
        "n_permutations": 0,
        "min_size": 2,
    },
    PINNING.explain: {"predictions": "scores"},
    REPORT.explain: {},
    REPORT.plot: {},
    ea.simulate_interactions: {"n_users": 8, "n_items": 6, "n_clusters": 2},
    ea.stable_neighbours: {"runs": [MODEL, MODEL], "n_neighbours": 2},
    ea.threshold: {"model": MODEL, "level": 0.1},
    CUT.plot: {},
    CUT.share_reaching: {"score": 0.5},
    ea.truncated_svd: {"X": TABLE, "k": 2},
    ea.twins: {"model": MODEL},
    ea.verify: {"record": AUDIT.to_dict(), "model": MODEL},
    ea.worst_gauge: {
        "model": MODEL,
        "group": GROUP,
        "n_pairs": 3,
        "n_steps": 1,
        "n_starts": 1,
    },
    fitted_product: {
        "n_components": 2,
        "alpha": 1.0,
        "split": 0.5,
        "random_state": 0,
    },
    fitted_factors: {
        "n_components": 2,
        "alpha": 1.0,
        "random_state": 0,
    },
    PRODUCT.fit: {"X": TABLE},
    PRODUCT.inverse_transform: {"Z": np.ones((2, 2))},
    PRODUCT.model: {"X": TABLE},
    PRODUCT.objective: {"X": TABLE},
    PRODUCT.transform: {"X": TABLE},
    FACTORS.objective: {"X": TABLE},
    ea.heads.argmaxable: {"model": HEAD},
    ea.heads.label_combinations: {"model": ea.FactorModel.from_softmax(RIGHT[:3])},
    ea.heads.logit_cosines: {"model": HEAD, "pairs": [[0, 1]], "inputs": LEFT},
    ea.heads.projector_cosines: {"model": HEAD, "pairs": [[0, 1]]},
    ea.heads.shared_halves: {"model": HEAD, "pairs": [[0, 1]]},
    ea.reproduce.nielsen: {"n_inputs": 5},
    IO.model_of: {"source": MODEL},
    IO.distinct_outputs: {"inputs": ["a"], "outputs": ["b"]},
    IO.load: {"source": MODEL},
    IO.join_ids: {"wanted": np.array(["i1"]), "path": "titles.csv"},
    IO.join_texts: {"side": MODEL.right_side, "path": "titles.csv", "by_row": True},
    IO.inspect: {"source": "m.npz"},
    IO.read_ids: {"source": "labels.txt", "n_rows": 8},
    IO.read_interactions: {"path": "ratings.csv"},
    IO.read_labels: {"path": "labels.txt", "n_rows": 8},
    IO.read: {"source": "m.npz"},
    IO.read_titles: {"path": "titles.csv"},
    IO.require_output: {"path": "new.npz"},
    IO.with_titles: {"model": MODEL, "path": "titles.csv", "by_row": True},
}
"""Each public function and method with arguments that it accepts."""

WRONG = {
    "int": -3,
    "huge": 10**400,
    "nan": float("nan"),
    "bool": True,
    "None": None,
    "str": "x",
    "bytes": b"x",
    "list": [1, "a"],
    "dict": {},
    "object": object(),
    "class": dict,
    "complex": np.ones((5, 3)) * 1j,
    "strings": np.full((5, 3), "a"),
    "scalar": np.array(5.0),
    "frame": pd.DataFrame({"a": ["u", "v"]}),
}
"""Values by kind. Each parameter is given all of them in turn."""
NEAR_LIMITS = {
    int: (0, 1, 2, 3, 4, 7, 8, 9),
    float: (-1.5, -1.0, -0.1, 0.0, 0.1, 1.0, 1.1, 2.0),
}
"""Numbers near the limits of small models: each is accepted or refused, and nothing
else.
"""
SLOW = (ea.audit, ea.reproduce.nielsen)
"""Functions that are tried with the first three of these numbers only."""
ACCEPTED = {
    "int": "int|float|RNG",
    "scalar": "float",
    "frame": "Iterable",
    "huge": "int|RNG",
    "bool": "bool|Header",
    "None": "None|Optional|RNG",
    "str": "str|Path|Literal|Name|Role|End|Side|Objective|Law|Correction|Duplicates"
    "|Header|Kind",
    "dict": "Mapping",
}
"""Kinds of values with the annotations of the parameters that may accept them."""
NAMES = re.compile(
    r"(str|Literal|Correction|Role|SideName|Side\b|End|Objective|NormKind|Header"
    r"|Duplicates|PopularityLaw)"
)
"""Annotations of parameters that take one of a few names: only another name is tried.
"""
CHOICES = re.compile(
    r"Correction|Role|SideName|End|NormKind|Header|Duplicates|PopularityLaw"
    r"|Literal\[.[a-z]"
)
"""Annotations of names that are looked up in a table, where a list would raise
TypeError.
"""
ANYTHING = re.compile(
    r"Any\b|object|ArrayLike|NDArray|Vector|Matrix|Floats|Indices|Rows|PartitionLike"
    r"|Groups|^$"
)
"""Annotations that do not tell whether a value is accepted: the function decides."""


def name_of(call):
    """Return the name of a function, or of a method with its class before it."""
    owner = getattr(call, "__self__", None)
    if owner is None:
        return call.__name__
    if not inspect.isclass(owner):
        owner = type(owner)
    return f"{owner.__name__}.{call.__name__}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("files")
    ea.save(MODEL, where / "m.npz")
    (where / "titles.csv").write_text(
        "item,title\n" + "".join(f"i{i},t{i}\n" for i in range(8))
    )
    (where / "ratings.csv").write_text("userId,movieId,rating\n1,1,3\n1,2,4\n2,1,5\n")
    (where / "labels.txt").write_text("".join(f"l{i}\n" for i in range(8)))
    return where


def refusal(call, arguments):
    """Return the sentence of the InputError, or "" if the arguments are accepted.

    Any other exception, and any warning, fails the test.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "X (has|does not have valid) feature names"
            )
            call(**arguments)
    except ea.InputError as refused:
        return str(refused)
    except TypeError:
        # The contract of scikit-learn asks estimators for a TypeError.
        if not isinstance(getattr(call, "__self__", None), BaseEstimator):
            raise
        return "The contract of scikit-learn asks for this TypeError."
    return ""


def annotation_of(parameter):
    return "" if parameter.annotation is parameter.empty else str(parameter.annotation)


def wrong_values(annotation):
    """Return values by kind that a parameter with this annotation should not take."""
    if annotation.startswith("bool"):
        # Python takes every object as a truth value.
        return {}
    if CHOICES.match(annotation):
        return {"str": "x", "list": ["x"]}
    if NAMES.match(annotation):
        return {"str": "x"}
    return WRONG


def may_accept(annotation, kind):
    """Return True if a parameter with this annotation may take a value of this kind."""
    if ANYTHING.search(annotation):
        return True
    return kind in ACCEPTED and bool(re.search(ACCEPTED[kind], annotation))


def parameters_of(call):
    parameters = inspect.signature(call).parameters.values()
    return [one for one in parameters if one.kind is not one.VAR_KEYWORD]


def assert_one_sentence(text):
    assert "\n" not in text
    assert text.endswith("."), text
    assert len(text) < 700


@pytest.fixture(autouse=True)
def _in_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    yield
    plt.close("all")


@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_the_arguments_of_each_example_are_accepted(call):
    call(**CALLS[call])


@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_a_value_of_a_wrong_type_is_refused_in_one_sentence(call):
    for parameter in parameters_of(call):
        name, annotation = parameter.name, annotation_of(parameter)
        for kind, value in wrong_values(annotation).items():
            sentence = refusal(call, CALLS[call] | {name: value})
            if sentence:
                assert_one_sentence(sentence)
            else:
                assert may_accept(annotation, kind), f"{name}={value!r} was accepted"


def numbers_near_limits(call, parameter):
    """Return the numbers to try a parameter with; none if it takes no numbers."""
    example = CALLS[call].get(parameter.name, parameter.default)
    types = annotation_of(parameter).split()
    for kind, numbers in NEAR_LIMITS.items():
        if type(example) is kind or kind.__name__ in types:
            return numbers[:3] if call in SLOW else numbers
    return ()


@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_a_number_near_a_limit_is_accepted_or_refused_in_one_sentence(call):
    for parameter in parameters_of(call):
        if parameter.name == "rng":
            continue
        for number in numbers_near_limits(call, parameter):
            sentence = refusal(call, CALLS[call] | {parameter.name: number})
            if sentence:
                assert_one_sentence(sentence)


SEE_CHECKED_VALUES = {
    "Link",
    "Pairs",
    "Equivalence",
    "InputError",
    "EquivalenceError",
}
"""Public classes whose methods only see values that a model has checked."""
OF_SCIKIT_LEARN = {"fit_transform", "get_feature_names_out", "get_params"}
"""Methods that the contract of scikit-learn describes and its own checks test."""
TESTED_ELSEWHERE = {"replace", "verify"}
"""Methods that take any field of a class, or a file."""
OF_THE_PACKAGE = {
    "affine",
    "apply",
    "checked",
    "for_model",
    "moved_of",
    "multiply",
    "product_rows",
    "shift_before",
    "twin",
    "view",
}
"""Methods that only the package calls."""


def public_methods(owner):
    """Yield the public methods of a class that take an argument, with their names."""
    for name, method in inspect.getmembers(owner, callable):
        if name.startswith(("_", "set_")):
            continue
        function = getattr(method, "__func__", method)
        if list(inspect.signature(function).parameters) not in ([], ["self"]):
            yield name, function


TRIED = {getattr(call, "__func__", call) for call in CALLS}
PUBLIC = {name: getattr(ea, name) for name in ea.__all__}


def test_every_public_function_is_tried():
    functions = {
        each
        for each in PUBLIC.values()
        if isinstance(each, FunctionType) and inspect.signature(each).parameters
    }
    assert functions - TRIED == set()


@pytest.mark.parametrize(
    "owner",
    [
        each
        for name, each in PUBLIC.items()
        if inspect.isclass(each) and name not in SEE_CHECKED_VALUES
    ],
    ids=lambda owner: owner.__name__,
)
def test_every_public_method_that_takes_an_argument_is_tried(owner):
    left_out = OF_SCIKIT_LEARN | TESTED_ELSEWHERE | OF_THE_PACKAGE
    missing = {
        name
        for name, function in public_methods(owner)
        if function not in TRIED and name not in left_out
    }
    assert missing == set()
