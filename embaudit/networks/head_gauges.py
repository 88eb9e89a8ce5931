"""Gauges of one attention head: changes of its weights that change no output.

Queries and keys enter the output of a head by their scores only. Without rotary
embeddings, `Q' = Q M` and `K' = (K + 1 sᵀ) M⁻ᵀ` keep every attention weight: M cancels,
and the shift s of all keys adds the same number to all scores of a query, which the
softmax ignores. A shift of the queries adds another number to each score.

A rotary embedding turns rows by their positions: the score of positions m and n is
`q R(m - n) kᵀ`. It stays at all distances only if M commutes with every rotation. If
all planes turn at different speeds, M then scales and turns each plane by itself, and
is any invertible matrix among the columns that no rotation reaches. A shift of the keys
stays free in these columns only.

If queries and keys are divided by their lengths first, M has to keep these lengths,
and only the gains that follow can change: one scale per plane, or per column without a
rotation, with its inverse for the keys.

Values enter by `V W_Oᵀ`, so that any invertible N is free: `V' = V N`,
`W_O' = W_O N⁻ᵀ`. The weights of a query sum to 1, so a shift of all values adds a
constant to the output, which the bias of the output projection absorbs if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import RNG, Floats, Indices, Vector, as_generator, is_number
from embaudit.errors import InputError, must_be
from embaudit.gauges import GeneralLinear
from embaudit.gauges.budgets import require_budget
from embaudit.gauges.draws import random_scales
from embaudit.io.attention import (
    AttentionHead,
    Block,
    Projection,
    read_head,
    with_blocks,
)

TableName: TypeAlias = Literal["keys", "queries", "values"]
"""Rows of a head."""
NAMES: tuple[TableName, ...] = ("keys", "queries", "values")


@dataclass(frozen=True, eq=False)
class HeadFreedom:
    """The gauges of queries and keys, and of values, that keep all outputs of a head.

    Examples
    --------
    A head of four columns, two of which a rotary embedding turns together:

    >>> freedom = HeadFreedom(4, np.array([[0, 2]]))
    >>> [block.tolist() for block in freedom.blocks], freedom.free.tolist()
    ([[0, 2]], [1, 3])
    >>> HeadFreedom(4, np.array([[0, 2], [1, 3]])).shifts_keys
    False
    """

    width: int
    """Number of columns d."""
    planes: NDArray[np.intp]
    """(m, 2) pairs of columns that a rotary embedding turns together."""
    has_row_norms: bool = False
    """True if queries and keys are divided by their lengths first."""
    has_output_bias: bool = False
    """True if the output projection has a bias."""

    @classmethod
    def from_head(cls, head: AttentionHead) -> HeadFreedom:
        """Return the freedom of a head of a checkpoint."""
        return cls(
            head.width,
            head.planes,
            has_row_norms=head.query_norm is not None or head.key_norm is not None,
            has_output_bias=head.output_bias is not None,
        )

    @property
    def unrotated(self) -> Indices:
        """Columns that no rotary embedding turns."""
        return np.setdiff1d(np.arange(self.width), self.planes.ravel())

    @property
    def blocks(self) -> list[Indices]:
        """Columns of queries and keys that only a common scale can change."""
        blocks = [np.asarray(plane) for plane in self.planes]
        if self.has_row_norms:
            blocks += [np.array([column]) for column in self.unrotated]
        return blocks

    @property
    def free(self) -> Indices:
        """Columns of queries and keys among which any invertible map is free."""
        if self.has_row_norms:
            return np.empty(0, dtype=np.intp)
        return self.unrotated

    @property
    def shifts_keys(self) -> bool:
        """True if a shift of all keys changes no attention weight."""
        return len(self.free) > 0

    @property
    def _stretches_scores(self) -> bool:
        """True if linear gauges of queries and keys change cosines."""
        n_parts = len(self.blocks) + (len(self.free) > 0)
        return n_parts > 1 or len(self.free) > 1

    def moves(self, name: TableName) -> bool:
        """Return True if gauges of the head change cosines of these rows."""
        if name == "values":
            return self.width > 1 or self.has_output_bias
        if name == "queries":
            return self._stretches_scores
        return self._stretches_scores or self.shifts_keys


@dataclass(frozen=True, eq=False)
class HeadGauge:
    """One gauge of a head: the maps M and N and the shifts s and t of this module."""

    queries: Floats
    """(d, d) M: queries become `Q M`."""
    keys: Floats
    """(d, d) M⁻ᵀ: keys become `(K + 1 sᵀ) M⁻ᵀ`."""
    key_shift: Vector
    """(d,) s."""
    values: Floats
    """(d, d) N: values become `(V + 1 tᵀ) N`."""
    outputs: Floats
    """(d, d) N⁻ᵀ: the output projection becomes `W_O N⁻ᵀ`."""
    value_shift: Vector
    """(d,) t."""
    max_condition: float
    """Budget that M and N use up."""


def draw_gauge(
    freedom: HeadFreedom,
    *,
    max_condition: float = 2.0,
    key_shift: float = 0.0,
    value_shift: float = 0.0,
    rng: RNG = 0,
) -> HeadGauge:
    """Draw a gauge of a head.

    Parameters
    ----------
    freedom : HeadFreedom
        The gauges that keep all outputs.
    max_condition : float
        Condition number of N, of the scales of blocks, and of the map of the columns
        that no rotation reaches.
    key_shift, value_shift : float
        Lengths of the shifts, if they are free.
    rng : numpy Generator or int
        Source of the draw.

    Examples
    --------
    >>> freedom = HeadFreedom(4, np.array([[0, 2], [1, 3]]))
    >>> gauge = draw_gauge(freedom, max_condition=3.0, rng=0)
    >>> round(float(np.linalg.cond(gauge.queries)), 9)
    3.0
    """
    if not is_number(max_condition):
        raise must_be("max_condition", "a finite number >= 1", repr(max_condition))
    require_budget("max_condition", max_condition, 1.0, GeneralLinear.most_condition)
    draw = as_generator(rng)
    d, free = freedom.width, freedom.free
    queries, keys = np.eye(d), np.eye(d)
    n_scales = len(freedom.blocks)
    scales: NDArray[Any] = np.empty(0)
    if n_scales:
        scales = random_scales(n_scales, max_condition, draw)
    for block, scale in zip(freedom.blocks, scales, strict=True):
        turn = np.eye(len(block))
        if len(block) == 2 and not freedom.has_row_norms:
            angle = draw.uniform(0, 2 * np.pi)
            cosine, sine = np.cos(angle), np.sin(angle)
            turn = np.array([[cosine, sine], [-sine, cosine]])
        queries[np.ix_(block, block)] = scale * turn
        keys[np.ix_(block, block)] = turn / scale
    shift = np.zeros(d)
    if len(free):
        linear = GeneralLinear(len(free), max_condition=max_condition).sample(rng=draw)
        queries[np.ix_(free, free)] = linear.matrix("left")
        keys[np.ix_(free, free)] = linear.matrix("right")
        shift[free] = _direction(len(free), key_shift, draw)
    value_map = GeneralLinear(d, max_condition=max_condition).sample(rng=draw)
    constant = np.zeros(d)
    if freedom.has_output_bias:
        constant = _direction(d, value_shift, draw)
    return HeadGauge(
        queries=queries,
        keys=keys,
        key_shift=shift,
        values=value_map.matrix("right"),
        outputs=value_map.matrix("left"),
        value_shift=constant,
        max_condition=max_condition,
    )


def _direction(size: int, length: float, draw: np.random.Generator) -> Floats:
    """Draw a vector of the given length, with a direction drawn uniformly."""
    vector = draw.standard_normal(size)
    norm = np.linalg.norm(vector)
    return np.asarray(vector * (length / norm))


def equivalent_attention(
    source: object,
    layer: int,
    head: int,
    *,
    max_condition: float = 2.0,
    rng: RNG = 0,
) -> dict[str, NDArray[Any]]:
    """Return weights of an equivalent network, in which one head has other cosines.

    The head gets other queries, keys and values, and so do the query heads that share
    its keys. If the returned tensors replace those of the checkpoint, the network has
    the same outputs, up to rounding.

    Parameters
    ----------
    source : path or network of transformers
        A folder of a checkpoint in safetensors with its `config.json`, one of its
        files, or a live network.
    layer, head : int
        Numbers of the layer and of the query head, from 0.
    max_condition : float
        Condition number of the drawn maps: largest stretch over smallest stretch.
    rng : numpy Generator or int
        Source of the draw; the same seed gives the same weights.

    Returns
    -------
    dict
        The changed tensors by name, whole, in float64 or float32 as they are stored.

    Raises
    ------
    InputError
        As `audit_attention` does.

    Examples
    --------
    One layer with two heads of 4 dimensions and random weights:

    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from safetensors.numpy import save_file
    >>> import embaudit as ea
    >>> draw = np.random.default_rng(0)
    >>> names = [f"model.layers.0.self_attn.{n}_proj.weight" for n in "qkvo"]
    >>> weights = {name: draw.standard_normal((8, 8)) for name in names}
    >>> config = {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2}
    >>> with TemporaryDirectory() as folder:
    ...     save_file(weights, Path(folder, "model.safetensors"))
    ...     _ = Path(folder, "config.json").write_text(json.dumps(config))
    ...     changed = ea.equivalent_attention(folder, layer=0, head=1)
    >>> sorted(name.split(".")[-2] for name in changed)
    ['k_proj', 'o_proj', 'q_proj', 'v_proj']
    >>> values, outputs = names[2:]
    >>> before = weights[outputs][:, 4:] @ weights[values][4:]
    >>> after = changed[outputs][:, 4:] @ changed[values][4:]
    >>> np.allclose(before, after)
    True
    >>> ea.equivalent_attention("no-such-folder", 0, 0)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the input must be a file that exists; got ...
    """
    found = read_head(source, layer, head)
    # A projection without a bias cannot hold a shift.
    key_shift, value_shift = 0.0, 0.0
    if found.key.bias is not None:
        key_shift = 1.0
    if found.value.bias is not None:
        value_shift = 1.0
    gauge = draw_gauge(
        HeadFreedom.from_head(found),
        max_condition=max_condition,
        key_shift=key_shift,
        value_shift=value_shift,
        rng=rng,
    )
    return gauged_tensors(found, gauge)


def gauged_tensors(head: AttentionHead, gauge: HeadGauge) -> dict[str, NDArray[Any]]:
    """Return the tensors of a checkpoint after a gauge of one head.

    Raises
    ------
    InputError
        If the gauge shifts keys or values whose projection has no bias.
    """
    arrays = head.arrays
    changes: dict[Block, Floats] = {}
    constant: Floats | float = 0.0

    def change(part: Projection, matrix: Floats, shift: Vector, noun: str) -> None:
        """Multiply the rows `W x + b` by a matrix, after a shift."""
        # Rows are (W x + b + shift) matrix, so W becomes matrixᵀ W.
        changes[part.weight] = matrix.T @ part.weight.read(arrays)
        if part.bias is not None:
            changes[part.bias] = (part.bias.read(arrays) + shift) @ matrix
        elif shift.any():
            raise must_be(
                f"the shift of the {noun}",
                "zero for a projection without a bias",
                "another",
            )

    if head.query_norm is None and head.key_norm is None:
        for query in head.queries:
            change(query, gauge.queries, np.zeros(head.width), "queries")
        change(head.key, gauge.keys, gauge.key_shift, "keys")
    else:
        changes |= _changed_gains(head, gauge)
    change(head.value, gauge.values, gauge.value_shift, "values")
    for output in head.outputs:
        # Row i of the block is the column of W_O for dimension i of the values.
        columns = output.read(arrays)
        changes[output] = gauge.outputs.T @ columns
        if head.output_bias is not None:
            # The weights of a query sum to 1, so each head adds the shift once.
            constant = constant + gauge.value_shift @ columns
    if head.output_bias is not None and gauge.value_shift.any():
        changes[head.output_bias] = head.output_bias.read(arrays) - constant
    elif gauge.value_shift.any():
        raise must_be(
            "the shift of the values", "zero for an output without a bias", "another"
        )
    return with_blocks(arrays, changes)


def _changed_gains(head: AttentionHead, gauge: HeadGauge) -> dict[Block, Floats]:
    """Return the gains of the norms of queries and keys after a gauge."""
    if head.query_norm is None or head.key_norm is None:
        raise InputError(
            "the attention must be one with norms of queries and of keys, or with "
            "neither; this one has one of the two."
        )
    changes = {}
    for norm, name, scales in (
        (head.query_norm, head.family.query_norm, np.diag(gauge.queries)),
        (head.key_norm, head.family.key_norm, np.diag(gauge.keys)),
    ):
        block = Block(f"{head.layer_name}.{name}.weight", 0, head.width)
        changes[block] = norm.gain * scales - head.family.adds_one
    return changes
