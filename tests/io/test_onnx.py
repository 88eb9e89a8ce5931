"""ONNX networks whose last step is a linear map, written by the package onnx."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from example_files import refusal
from onnx.reference import ReferenceEvaluator

from embaudit.errors import InputError
from embaudit.io import inspect, load

W = np.arange(12, dtype=np.float32).reshape(4, 3)
B = np.arange(4, dtype=np.float32)
HIDDEN = np.ones((5, 3), dtype=np.float32)


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    return onnx.helper.make_node(kind, inputs.split(), [output], **attributes)


def written(
    path: Path, nodes: list[Any], outputs: str, shape: Any = None, **numbers: np.ndarray
) -> Path:
    value = onnx.helper.make_tensor_value_info
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [value("x", kind, [None, 5])],
        [value(output, kind, shape) for output in outputs.split()],
        [onnx.numpy_helper.from_array(array, name) for name, array in numbers.items()],
    )
    onnx.save(onnx.helper.make_model(graph), str(path))
    return path


FIRST = [node("MatMul", "x hidden", "h0"), node("Relu", "h0", "h")]
PASSED = [
    node(x, f"t{i}", f"t{i + 1}")
    for i, x in enumerate(("Cast", "Flatten", "Squeeze", "Reshape", "Dropout"))
]
HEADS: dict[str, tuple[list[Any], dict[str, np.ndarray]]] = {
    "matmul": (
        [node("MatMul", "h w", "m"), node("Add", "m b", "s")],
        {"w": W.T, "b": B},
    ),
    "bias first": (
        [node("MatMul", "h w", "m"), node("Add", "b m", "s")],
        {"w": W.T, "b": B[None]},
    ),
    "gemm": ([node("Gemm", "h w b", "s")], {"w": W.T, "b": B}),
    "torch": ([node("Gemm", "h w b", "s", transB=1)], {"w": W, "b": B}),
    "scaled": (
        [node("Gemm", "h w b", "s", transB=1, alpha=2.0, beta=0.5)],
        {"w": W / 2, "b": B * 2},
    ),
    "identity": (
        [
            node("Identity", "h", "i"),
            node("Gemm", "i w b", "t0"),
            node("Identity", "t5", "s"),
            *PASSED,
        ],
        {"w": W.T, "b": B},
    ),
}


@pytest.mark.parametrize("head", HEADS)
def test_heads(tmp_path: Path, head: str) -> None:
    nodes, numbers = HEADS[head]
    path = written(
        tmp_path / "m.onnx",
        [*FIRST, *nodes, node("Softmax", "s", "p")],
        "p",
        hidden=HIDDEN,
        **numbers,
    )
    model = load(path)
    np.testing.assert_allclose(model.right, W)
    np.testing.assert_allclose(model.right_bias, B)
    assert model.link.name == "softmax"
    assert inspect(path).line() == "read as onnx: w, b"
    assert load(path, kind="vectors").link.name == "identity"
    scores = written(
        tmp_path / "s.onnx", [*FIRST, *nodes], "s", hidden=HIDDEN, **numbers
    )
    assert load(scores, kind="head").link.name == "softmax"


CODES = np.arange(-6, 6, dtype=np.int8).reshape(4, 3)
FOLDED: dict[str, tuple[list[Any], dict[str, np.ndarray]]] = {
    "reshape": (
        [node("Reshape", "w sizes", "v")],
        {"w": W.ravel(), "sizes": np.array([4, -1])},
    ),
    "reshape that keeps a size": (
        [node("Reshape", "w sizes", "v")],
        {"w": W[:, :, None], "sizes": np.array([0, 3])},
    ),
    "transpose": ([node("Transpose", "w", "v", perm=[1, 0])], {"w": W.T}),
    "transpose without an order": ([node("Transpose", "w", "v")], {"w": W.T}),
    "identity": ([node("Identity", "w", "v")], {"w": W}),
    "cast": (
        [node("Cast", "w", "v", to=onnx.TensorProto.FLOAT)],
        {"w": W.astype(np.float16)},
    ),
    "flatten": ([node("Flatten", "w", "v", axis=1)], {"w": W[:, None, :]}),
    "squeeze": (
        [node("Squeeze", "w axes", "v")],
        {"w": W[:, None, :], "axes": np.array([1])},
    ),
    "squeeze of all axes": ([node("Squeeze", "w", "v")], {"w": W[None]}),
    "unsqueeze and back": (
        [node("Unsqueeze", "w axes", "u"), node("Squeeze", "u axes", "v")],
        {"w": W, "axes": np.array([0])},
    ),
    "constant": (
        [node("Constant", "", "v", value=onnx.numpy_helper.from_array(W))],
        {},
    ),
    "one scale": (
        [node("DequantizeLinear", "w scale zero", "v")],
        {"w": CODES, "scale": np.array(0.5, "f4"), "zero": np.array(3, "i1")},
    ),
    "a scale for each label": (
        [node("DequantizeLinear", "w scale", "v", axis=0)],
        {"w": CODES, "scale": np.array([0.5, 2, 3, 1], "f4")},
    ),
}


@pytest.mark.parametrize("name", FOLDED)
def test_weights_that_get_another_shape_or_type_are_read(
    tmp_path: Path, name: str
) -> None:
    nodes, numbers = FOLDED[name]
    gemm = [node("Gemm", "x v b", "s", transB=1), node("Softmax", "s", "p")]
    path = written(tmp_path / "m.onnx", [*nodes, *gemm], "p", b=B, **numbers)
    model = load(path)
    # ONNX itself computes the scores of the unit vectors.
    network = onnx.load(str(path))
    network.graph.output[0].name = "s"
    del network.graph.node[-1]
    x = np.eye(3, dtype=np.float32)
    scores = ReferenceEvaluator(network).run(None, {"x": x})[0]
    np.testing.assert_array_equal(model.right.T + model.right_bias, scores)
    expected = "v, b" if name == "constant" else "w, b"
    assert inspect(path).line() == f"read as onnx: {expected}"


def test_weights_that_are_quantised_in_blocks_are_refused(tmp_path: Path) -> None:
    nodes = [
        node("DequantizeLinear", "w scale", "v", axis=1, block_size=3),
        node("Gemm", "x v b", "s", transB=1),
        node("Softmax", "s", "p"),
    ]
    path = written(
        tmp_path / "m.onnx", nodes, "p", b=B, w=CODES, scale=np.ones((4, 1), "f4")
    )
    assert "quantised in blocks" in refusal(load, path)


@pytest.mark.parametrize("factor", ["alpha", "beta"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_gemm_is_scaled_by_finite_factors(
    tmp_path: Path, factor: str, value: float
) -> None:
    """Zero weights times an infinite factor would be NaN."""
    gemm = node("Gemm", "x w b", "s", transB=1, **{factor: value})
    nodes = [gemm, node("Softmax", "s", "p")]
    path = written(tmp_path / "m.onnx", nodes, "p", w=0 * W, b=0 * B)
    assert f"got {factor} of 'w' is {value}" in refusal(load, path)


def test_a_head_without_bias(tmp_path: Path) -> None:
    for kind, last, shape in (("Gemm", 1, [None, 4]), ("MatMul", 2, [None, 7, 4])):
        nodes = [
            *FIRST,
            node(kind, "h w", "s"),
            node("LogSoftmax", "s", "p", axis=last),
        ]
        assert (
            load(
                written(tmp_path / "m.onnx", nodes, "p", shape, hidden=HIDDEN, w=W.T)
            ).right_bias
            is None
        )


LINEAR = (
    "the outputs of one linear map, with or without a softmax; got the outputs of other"
)
OTHERS: list[tuple[str, list[Any], str]] = [
    (
        "another activation",
        [node("MatMul", "h w", "s"), node("Tanh", "s", "p")],
        LINEAR,
    ),
    (
        "scores added to themselves",
        [
            node("MatMul", "h w", "s"),
            node("Add", "s s", "t"),
            node("Softmax", "t", "p"),
        ],
        LINEAR,
    ),
    (
        "a sigmoid",
        [node("MatMul", "h w", "s"), node("Sigmoid", "s", "p")],
        "got w with a sigmoid",
    ),
    (
        "a softmax over inputs",
        [node("MatMul", "h w", "s"), node("Softmax", "s", "p", axis=0)],
        LINEAR,
    ),
    ("no weights", [node("Relu", "h", "p")], LINEAR),
    ("a circle", [node("Relu", "p", "q"), node("Softmax", "p", "p")], LINEAR),
    (
        "a bias that is computed",
        [node("Gemm", "h w h0", "s"), node("Softmax", "s", "p")],
        LINEAR,
    ),
    (
        "inputs times inputs",
        [node("MatMul", "h h", "s"), node("Softmax", "s", "p")],
        LINEAR,
    ),
    (
        "a bias that is too short",
        [node("Gemm", "h w b", "s"), node("Softmax", "s", "p")],
        "vectors of 4 numbers, one per label; got b (3,)",
    ),
    (
        "a bias in a column",
        [node("Gemm", "h w c", "s"), node("Softmax", "s", "p")],
        "vectors of 4 numbers, one per label; got c (4, 1)",
    ),
    (
        "a sum behind the softmax",
        [
            node("MatMul", "h w", "s"),
            node("Softmax", "s", "q"),
            node("Add", "q d", "p"),
        ],
        LINEAR,
    ),
    (
        "two softmaxes",
        [
            node("MatMul", "h w", "s"),
            node("Softmax", "s", "q"),
            node("Softmax", "q", "p"),
        ],
        LINEAR,
    ),
    (
        "a logarithm before the softmax",
        [node("MatMul", "h w", "s"), node("Log", "s", "q"), node("Softmax", "q", "p")],
        LINEAR,
    ),
]
CONSTANTS = {
    "hidden": HIDDEN,
    "w": W.T,
    "b": np.arange(3, dtype=np.float32),
    "c": B[:, None],
    "d": B,
}


@pytest.mark.parametrize(
    ("nodes", "part"),
    [pytest.param(nodes, part, id=name) for name, nodes, part in OTHERS],
)
@pytest.mark.parametrize("kind", ["auto", "head"])
def test_a_network_that_ends_in_something_else_is_refused(
    tmp_path: Path, nodes: Any, part: str, kind: str
) -> None:
    path = written(tmp_path / "m.onnx", [*FIRST, *nodes], "p", **CONSTANTS)
    assert part in refusal(load, path, kind=kind)


def test_scores_without_a_softmax_are_a_head_only_if_asked(tmp_path: Path) -> None:
    nodes = [*FIRST, node("MatMul", "h w", "p")]
    path = written(tmp_path / "m.onnx", nodes, "p", hidden=HIDDEN, w=W.T)
    assert "kind='head'" in refusal(load, path)
    np.testing.assert_array_equal(load(path, kind="head").right, W)


@pytest.mark.parametrize("kind", ["auto", "head"])
def test_a_softmax_over_places_of_a_sequence_is_refused(
    tmp_path: Path, kind: str
) -> None:
    nodes = [*FIRST, node("MatMul", "h w", "s"), node("Softmax", "s", "p", axis=1)]
    path = tmp_path / "m.onnx"
    written(path, nodes, "p", [None, 7, 4], hidden=HIDDEN, w=W.T)
    assert LINEAR in refusal(load, path, kind=kind)


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\xff" * 40)
    assert "must be a valid ONNX file" in refusal(load, tmp_path / "m.onnx")


def test_two_outputs(tmp_path: Path) -> None:
    """Scores before the bias and probabilities are one head; a sigmoid head beside a
    softmax leaves two.
    """
    nodes = [
        *FIRST,
        node("MatMul", "h w", "m"),
        node("Add", "m b", "s"),
        node("Softmax", "s", "p"),
    ]
    numbers = {"hidden": HIDDEN, "w": W.T, "b": B}
    for outputs in ("m p", "p m"):
        np.testing.assert_array_equal(
            load(written(tmp_path / "m.onnx", nodes, outputs, **numbers)).right_bias, B
        )
    nodes += [node("MatMul", "h v", "t"), node("Sigmoid", "t", "q")]
    for outputs in ("p q", "q p"):
        with pytest.raises(
            InputError,
            match=r"the outputs of one linear map, with or without a softmax; got "
            r"(w, )?v with a sigmoid",
        ):
            load(written(tmp_path / "m.onnx", nodes, outputs, v=W.T, **numbers))


def classifier(path: Path, weight: np.ndarray, after: str) -> Path:
    labels = [f"l{i}" for i in range(len(weight))]
    numbers = {
        "coefficients": weight.reshape(-1).tolist(),
        "intercepts": weight[:, 0].tolist(),
    }
    made = node(
        "LinearClassifier",
        "x",
        "s",
        post_transform=after,
        classlabels_strings=labels,
        **numbers,
    )
    return written(path, [made], "s")


def test_classifiers_of_scikit_learn(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = load(classifier(path, W, "SOFTMAX"))
    np.testing.assert_array_equal(model.right, W)
    np.testing.assert_array_equal(model.right_bias, W[:, 0])
    assert model.names("right").tolist() == ["l0", "l1", "l2", "l3"]
    two = load(classifier(path, np.array([[-1.0, -2.0], [1.0, 2.0]]), "LOGISTIC"))
    np.testing.assert_array_equal(two.right, [[0, 0], [1, 2]])
    np.testing.assert_array_equal(two.right_bias, [0, 1])


@pytest.mark.parametrize(
    ("version", "axis", "is_head"), [(12, None, False), (12, 2, True), (13, None, True)]
)
def test_the_axis_that_a_softmax_takes_by_itself(
    tmp_path: Path, version: int, axis: int | None, is_head: bool
) -> None:
    last = node("Softmax", "s", "p", **({} if axis is None else {"axis": axis}))
    path = written(
        tmp_path / "m.onnx",
        [node("MatMul", "x w", "s"), last],
        "p",
        [None, 7, 4],
        w=np.ones((5, 4), "f4"),
    )
    network = onnx.load(path)
    network.opset_import[0].version = version
    onnx.save(network, path)
    if is_head:
        assert load(path).link.name == "softmax"
        return
    with pytest.raises(
        InputError,
        match="the outputs of one linear map, with or without a softmax; got the "
        "outputs of other",
    ):
        load(path)


@pytest.mark.parametrize(
    "weight",
    [
        # A sigmoid for each of four labels.
        W,
        # Two rows that are not each other's negative are no one sigmoid.
        np.array([[-1.0, -2.0], [1.0, 2.5]]),
    ],
)
@pytest.mark.parametrize("kind", ["auto", "head"])
def test_classifiers_with_a_sigmoid_for_each_label_are_refused(
    tmp_path: Path, weight: Any, kind: str
) -> None:
    path = classifier(tmp_path / "m.onnx", weight, "LOGISTIC")
    assert LINEAR in refusal(load, path, kind=kind)
