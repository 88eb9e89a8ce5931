"""One attention head of a checkpoint: its projections, its positions and its inputs.

A head multiplies the input x of its layer by `W_Q`, `W_K` and `W_V`. The score of two
inputs x and y is `(W_Q x + b_Q)·(W_K y + b_K)`, after a rotation of both rows by their
positions if the network has rotary embeddings. Only the parts of the matrices that
belong to the head are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, is_integer, is_number
from embaudit.core.parallel import row_blocks
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.arrays import Memory, Readable
from embaudit.io.files import existing_path
from embaudit.io.formats.safetensors import INDEX, SINGLE, Safetensors
from embaudit.io.layouts.checkpoints.attention_families import (
    ATTENTION_FAMILIES,
    AttentionFamily,
)
from embaudit.io.layouts.checkpoints.config import Config, read_config
from embaudit.io.layouts.checkpoints.row_names import RowNames, tokens_of
from embaudit.io.objects.helpers import unwrapped
from embaudit.model.final_norm import FinalNorm, NormKind

N_HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads")
"""Keys of the number of query heads of a layer."""
HEAD_WIDTH = ("head_dim", "d_kv")
"""Keys of the number of columns of a head."""
LATENT = "kv_lora_rank"
"""Key of networks that compress keys and values of all heads together (MLA)."""
ROTATIONS = ("default", "linear", "dynamic", "yarn", "longrope", "su", "llama3")
"""Kinds of rotary embeddings that turn every plane at a speed of its own."""
OTHER_PARTS = re.compile(
    r"\b(?:[qk]_(?:layer)?norm|[qk]_ln|(?:query|key)_layernorm|sinks"
    r"|distance_embedding)\b"
)
"""Names of parts of an attention that change its scores."""
MOST_SIZE = 1e30
"""Largest size of a weight or an input; products of several are squared later."""
FLOATS = ("float64", "float32", "float16", "bfloat16")
"""Types of weights that are not quantised."""


@dataclass(frozen=True)
class Block:
    """The part of one tensor that belongs to one head."""

    name: str
    """Name of the tensor."""
    start: int
    """First row, or first column, of the head."""
    stop: int
    """The row, or the column, after the last one."""
    by_columns: bool = False
    """True if the head has columns of the matrix; False if it has rows, or entries."""

    def read(self, arrays: Readable) -> Floats:
        """Read the part with one row per dimension of the head.

        Raises
        ------
        InputError
            If numbers are not finite, or are so large that products could overflow.
        """
        shape = arrays.tensors[self.name].shape
        read = arrays.open(self.name)
        width = shape[1] if len(shape) == 2 else 1
        if self.by_columns:
            parts = [
                np.asarray(
                    read(rows.start * width, rows.stop * width), dtype=np.float64
                ).reshape(-1, width)[:, self.start : self.stop]
                for rows in row_blocks(shape[0], width)
            ]
            values = np.concatenate(parts).T
        else:
            numbers = read(self.start * width, self.stop * width)
            values = np.asarray(numbers, dtype=np.float64)
            if len(shape) == 2:
                values = values.reshape(-1, width)
        require_ordinary(values, f"the tensor {self.name}")
        return values

    def write(self, array: NDArray[Any], values: Floats) -> None:
        """Put values, as `read` returns them, into an array of the tensor."""
        if self.by_columns:
            array[:, self.start : self.stop] = values.T
        else:
            array[self.start : self.stop] = values


@dataclass(frozen=True)
class Projection:
    """The weights and the bias of one projection of one head."""

    weight: Block
    bias: Block | None = None
    """None if the projection has no bias."""


@dataclass(frozen=True, eq=False)
class AttentionHead:
    """One attention head of a checkpoint, with the query heads that share its keys."""

    arrays: Readable
    """The tensors of the checkpoint."""
    family: AttentionFamily
    config: Config
    prefix: str
    """Prefix of the names of all tensors."""
    layer: int
    head: int
    """Number of the query head."""
    group: tuple[int, ...]
    """Numbers of the query heads that share the keys and the values of this head."""
    width: int
    """Number of columns d of queries and keys."""
    queries: tuple[Projection, ...]
    """The query projections of the heads in `group`."""
    key: Projection
    value: Projection
    outputs: tuple[Block, ...]
    """The parts of the output projection that follow the heads in `group`."""
    output_bias: Block | None
    """The whole bias of the output projection; None without one."""
    planes: NDArray[np.intp]
    """(m, 2) pairs of columns that a rotary embedding turns together."""
    source: str = ""
    """Path of the checkpoint; empty for a network in memory."""

    @property
    def n_shared(self) -> int:
        """Number of query heads that share the keys."""
        return len(self.group)

    @property
    def free_columns(self) -> Indices:
        """The columns that no rotary embedding turns."""
        return np.setdiff1d(np.arange(self.width), self.planes.ravel())

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the tensors of the projections, without their biases."""
        names = [part.weight.name for part in (*self.queries, self.key, self.value)]
        names += [block.name for block in self.outputs]
        return tuple(dict.fromkeys(names))

    @property
    def layer_name(self) -> str:
        """Name of the layer in the checkpoint."""
        return self.prefix + self.family.layer.format(self.layer)

    @cached_property
    def norm(self) -> FinalNorm | None:
        """The norm before the attention; None if there is none."""
        if not self.family.norm:
            return None
        flag = self.family.norm_flag
        if flag and self.config.flag(flag) is False:
            return None
        name = f"{self.layer_name}.{self.family.norm}"
        return self._norm(name, self.family.norm_kind, self.n_inputs)

    @cached_property
    def query_norm(self) -> FinalNorm | None:
        """The norm of each query; None if there is none."""
        return self._norm_of_rows(self.family.query_norm)

    @cached_property
    def key_norm(self) -> FinalNorm | None:
        """The norm of each key; None if there is none."""
        return self._norm_of_rows(self.family.key_norm)

    def _norm_of_rows(self, name: str) -> FinalNorm | None:
        if not name:
            return None
        return self._norm(f"{self.layer_name}.{name}", "rms", self.width)

    def _norm(self, name: str, kind: NormKind, width: int) -> FinalNorm:
        """Read a norm of rows of some width."""
        _require_length(self.arrays, f"{name}.weight", width)
        gain = self._vector(f"{name}.weight")
        if self.family.adds_one:
            gain = gain + 1
        shift = None
        if f"{name}.bias" in self.arrays.tensors:
            _require_length(self.arrays, f"{name}.bias", width)
            shift = self._vector(f"{name}.bias")
        epsilon = self.family.epsilon
        if epsilon is None:
            epsilon = self.config.epsilon
        return FinalNorm(kind, gain, shift, epsilon)

    def _vector(self, name: str) -> Floats:
        shape = self._shape(name, 1)
        return Block(name, 0, shape[0]).read(self.arrays)

    def _shape(self, name: str, n_axes: int) -> tuple[int, ...]:
        return _shape_of(self.arrays, name, n_axes)

    @property
    def n_tokens(self) -> int:
        """Number of token embeddings."""
        return self._shape(self._tokens_name, 2)[0]

    @property
    def _tokens_name(self) -> str:
        names = [f"{self.prefix}{self.family.tokens}.weight"]
        if self.family.tokens == "shared":
            names.append("encoder.embed_tokens.weight")
        for name in names:
            if name in self.arrays.tensors:
                return name
        raise must_be(
            "the checkpoint",
            f"a checkpoint with the tensor {names[0]}, the token embeddings",
            "a checkpoint without this tensor",
        )

    @property
    def token_names(self) -> RowNames | None:
        """The tokens of a vocabulary next to the checkpoint; None without one."""
        if not self.source:
            return None
        path = Path(self.source)
        folder = path if path.is_dir() else path.parent
        return tokens_of(folder, self.n_tokens)

    def embedded_tokens(self, rows: Indices) -> Floats:
        """Return the states that enter the first layer for some tokens.

        If the network adds embeddings of positions, each token is at the first one.

        Parameters
        ----------
        rows : array of int
            Rows of the token embeddings.

        Raises
        ------
        InputError
            If the embeddings have another width than the inputs of the layer.
        """
        family, tensors = self.family, self.arrays.tensors
        if family.projection and f"{self.prefix}{family.projection}.weight" in tensors:
            raise self._needs_states(f"the token embeddings pass {family.projection}")
        n_columns = self._shape(self._tokens_name, 2)[1]
        if n_columns != self.n_inputs:
            raise self._needs_states(
                f"the token embeddings have {n_columns} columns and the layer "
                f"{self.n_inputs}"
            )
        read = self.arrays.open(self._tokens_name)
        states = np.empty((len(rows), n_columns))
        for place, row in enumerate(rows):
            states[place] = read(int(row) * n_columns, (int(row) + 1) * n_columns)
        require_ordinary(states, f"the tensor {self._tokens_name}")
        if family.scaled_by_width:
            states *= np.sqrt(n_columns)
        if family.multiplier_key:
            multiplier = self.config.checked(
                family.multiplier_key, "a finite number", is_number
            )
            if multiplier is not None:
                states *= multiplier
        for name, row in (
            (family.positions, self._first_position),
            (family.segments, 0),
        ):
            if name:
                states += self._row(f"{self.prefix}{name}.weight", row)
        if family.embedding_norm:
            name = f"{self.prefix}{family.embedding_norm}"
            norm = self._norm(name, "layer", n_columns)
            states = norm.applied(states)
        return states

    @property
    def _first_position(self) -> int:
        """Row of the first position in the embeddings of positions."""
        if not self.family.positions_follow_padding:
            return self.family.first_position
        padding = self.config.checked(
            "pad_token_id",
            "an integer >= 0",
            lambda number: is_integer(number) and number >= 0,
        )
        if padding is None:
            # The default of transformers.
            return 2
        return int(padding) + 1

    @property
    def n_inputs(self) -> int:
        """Number of columns of the inputs of the layer."""
        block = self.key.weight
        shape = self.arrays.tensors[block.name].shape
        return shape[0] if block.by_columns else shape[1]

    def _row(self, name: str, row: int) -> Floats:
        n_rows, n_columns = self._shape(name, 2)
        if row >= n_rows or n_columns != self.n_inputs:
            raise self._needs_states(f"{name} has the shape {n_rows} × {n_columns}")
        values = Block(name, row, row + 1).read(self.arrays)
        return np.asarray(values[0])

    def _needs_states(self, reason: str) -> InputError:
        return must_be(
            "states",
            f"given for layer {self.layer}",
            "None",
            Sentence(
                "{}; pass the states that enter the layer with {}",
                reason,
                Option("states", placeholder="FILE"),
            ),
        )


def read_head(source: object, layer: int, head: int) -> AttentionHead:
    """Find the tensors of one attention head; hardly any numbers are read.

    Parameters
    ----------
    source : path or network of transformers
        A folder of a checkpoint in safetensors with its `config.json`, one of its
        files, or a live network.
    layer, head : int
        Numbers of the layer and of the query head, from 0.

    Raises
    ------
    InputError
        If there is no such head, the architecture is not known, tensors are missing,
        or weights are quantised.
    """
    for name, number in (("layer", layer), ("head", head)):
        if not is_integer(number) or number < 0:
            raise must_be(name, "an integer from 0", repr(number))
    arrays, config, path = _opened(source)
    family = _family_of(config, arrays)
    return _found(arrays, config, family, int(layer), int(head), path)


def _opened(source: object) -> tuple[Readable, Config, str]:
    """Return the tensors, the settings and the path of a checkpoint or a network."""
    if isinstance(source, str | os.PathLike):
        path = existing_path(source)
        if path.is_dir() and not any(
            (path / name).exists() for name in (SINGLE, INDEX)
        ):
            raise must_be(
                "the input",
                f"a folder with {SINGLE} or {INDEX}",
                Sentence("{}, which has neither", File(path)),
                "save the network with save_pretrained",
            )
        if path.is_file() and not path.name.endswith((".safetensors", ".json")):
            raise must_be(
                "the input",
                "a folder of a checkpoint, or its .safetensors file",
                File(path),
                "save the network with save_pretrained",
            )
        checkpoint = Safetensors(path)
        return checkpoint, read_config(checkpoint.path.parent), str(path)
    network = unwrapped(source)
    stored: Any = getattr(network, "state_dict", None)
    config: Any = getattr(network, "config", None)
    if not callable(stored) or not callable(getattr(config, "to_dict", None)):
        raise must_be(
            "the input",
            "a folder of a checkpoint, or a network of transformers",
            type(source).__name__,
        )
    return Memory(stored()), Config.from_content(config.to_dict()), ""


def _family_of(config: Config, arrays: Readable) -> AttentionFamily:
    """Return the family of a network.

    Raises
    ------
    InputError
        If the architecture is not known, or compresses keys and values.
    """
    values = config.settings
    if values.get(LATENT) or any("kv_a_proj" in name for name in arrays.tensors):
        raise must_be(
            "the attention",
            "attention with a key per head",
            f"the attention of {config.model_type or 'a network'}, which compresses "
            "the "
            "keys and values of all heads together (MLA)",
            "its heads are not supported",
        )
    if "quantization_config" in values or "quantization_config" in config.content:
        raise must_be(
            "the weights",
            "floating-point numbers",
            "quantised weights (quantization_config of config.json)",
            "save the network before it is quantised",
        )
    family = ATTENTION_FAMILIES.get(config.model_type)
    if family is None:
        got = repr(config.model_type)
        if not config.model_type:
            got = "none"
        raise must_be(
            "model_type of config.json",
            "a model type whose attention is known ("
            + ", ".join(sorted(ATTENTION_FAMILIES))
            + ")",
            got,
        )
    if values.get("clip_qkv"):
        raise must_be("clip_qkv of config.json", "null", values["clip_qkv"])
    return family


def _found(
    arrays: Readable,
    config: Config,
    family: AttentionFamily,
    layer: int,
    head: int,
    path: str,
) -> AttentionHead:
    """Find the tensors of a head, and check their shapes."""
    prefix, n_layers = _layers(arrays, family)
    if layer >= n_layers:
        raise must_be("layer", f"from 0 to {n_layers - 1}", layer)
    name = prefix + family.layer.format(layer)
    _require_known_parts(arrays, family, name)
    n_heads = _count(config, N_HEADS)
    n_key_heads = n_heads
    if config.settings.get("num_key_value_heads") is not None:
        n_key_heads = _count(config, ("num_key_value_heads",))
    if head >= n_heads:
        raise must_be("head", f"from 0 to {n_heads - 1}", head)
    if n_heads % n_key_heads:
        raise must_be(
            "num_key_value_heads of config.json",
            f"a divisor of the {n_heads} heads",
            n_key_heads,
        )
    output = f"{name}.{family.output}.weight"
    shape = _shape_of(arrays, output, 2)
    n_columns = shape[0] if family.transposed else shape[1]
    width = _width(config, n_columns, n_heads)
    shared = n_heads // n_key_heads
    key_head = head // shared
    group = tuple(range(key_head * shared, (key_head + 1) * shared))
    places = _Places(arrays, family, name, n_heads, n_key_heads, width)
    return AttentionHead(
        arrays=arrays,
        family=family,
        config=config,
        prefix=prefix,
        layer=layer,
        head=head,
        group=group,
        width=width,
        queries=tuple(places.query(number) for number in group),
        key=places.key(key_head),
        value=places.value(key_head),
        outputs=tuple(
            Block(output, i * width, (i + 1) * width, not family.transposed)
            for i in group
        ),
        output_bias=_output_bias(arrays, output, family),
        planes=_planes(config, family, layer, width),
        source=path,
    )


def _output_bias(
    arrays: Readable, output: str, family: AttentionFamily
) -> Block | None:
    """Return the bias of an output projection, whose weight is given; None without one.

    Raises
    ------
    InputError
        If it has another length than the outputs.
    """
    name = output.removesuffix("weight") + "bias"
    if name not in arrays.tensors:
        return None
    shape = arrays.tensors[output].shape
    size = shape[1] if family.transposed else shape[0]
    _require_length(arrays, name, size)
    return Block(name, 0, size)


def _require_length(arrays: Readable, name: str, size: int) -> None:
    """Raise InputError unless a tensor is a vector of some length."""
    (length,) = _shape_of(arrays, name, 1)
    if length != size:
        raise must_be(
            f"the tensor {name}", f"a vector of {size} numbers", f"{length} numbers"
        )


def _layers(arrays: Readable, family: AttentionFamily) -> tuple[str, int]:
    """Return the prefix of the names of a checkpoint, and its number of layers.

    Raises
    ------
    InputError
        If the checkpoint has no attention under the names of its architecture.
    """
    for prefix in family.prefixes:
        before, after = f"{prefix}{family.layer}.{family.query}.".split("{}")
        numbers = set()
        for name in arrays.tensors:
            if not name.startswith(before):
                continue
            number, _, others = name.removeprefix(before).partition(".")
            if number.isdecimal() and f".{others}".startswith(after):
                numbers.add(int(number))
        if numbers:
            return prefix, max(numbers) + 1
    example = f"{family.prefixes[0]}{family.layer.format(0)}.{family.query}.weight"
    raise must_be(
        "the checkpoint",
        f"a checkpoint with attention layers, which have tensors such as {example}",
        "a checkpoint without such tensors",
    )


def _require_known_parts(arrays: Readable, family: AttentionFamily, layer: str) -> None:
    """Refuse parts of an attention that change its scores and are not known here."""
    known = {f"{layer}.{part}" for part in (family.query_norm, family.key_norm) if part}
    for name in arrays.tensors:
        if not name.startswith(f"{layer}."):
            continue
        stem = name.rpartition(".")[0]
        part = name.removeprefix(f"{layer}.")
        if OTHER_PARTS.search(part) and stem not in known:
            raise must_be(
                "the attention",
                "attention of known tensors",
                f"the tensor {name}",
                "attention heads with this tensor are not supported",
            )


@dataclass(frozen=True)
class _Places:
    """Places of the projections of each head in the tensors of a layer."""

    arrays: Readable
    family: AttentionFamily
    layer: str
    n_heads: int
    n_key_heads: int
    width: int

    @property
    def n_inputs(self) -> int:
        """Number of inputs of the query projection."""
        shape = _shape_of(self.arrays, f"{self.layer}.{self.family.query}.weight", 2)
        return shape[0] if self.family.transposed else shape[1]

    def query(self, head: int) -> Projection:
        """Return the query projection of a query head."""
        if self.family.fused == "heads":
            return self._part(self.family.query, 3 * head)
        return self._part(self.family.query, head)

    def key(self, key_head: int) -> Projection:
        """Return the key projection of a key head."""
        if self.family.fused == "heads":
            return self._part(self.family.query, 3 * key_head + 1)
        if self.family.fused == "blocks":
            return self._part(self.family.query, self.n_heads + key_head)
        return self._part(self.family.key, key_head)

    def value(self, key_head: int) -> Projection:
        """Return the value projection of a key head."""
        if self.family.fused == "heads":
            return self._part(self.family.query, 3 * key_head + 2)
        if self.family.fused == "blocks":
            return self._part(
                self.family.query, self.n_heads + self.n_key_heads + key_head
            )
        return self._part(self.family.value, key_head)

    def _part(self, name: str, number: int) -> Projection:
        """Return one part of a projection, counted in heads.

        Raises
        ------
        InputError
            If the shape of the tensor is not that of its heads.
        """
        family = self.family
        weight = f"{self.layer}.{name}.weight"
        shape = _shape_of(self.arrays, weight, 2)
        size, n_inputs = shape[::-1] if family.transposed else shape
        if n_inputs != self.n_inputs:
            raise must_be(
                f"the tensor {weight}",
                f"a matrix for {self.n_inputs} inputs, like the weights of the queries",
                f"a matrix for {n_inputs} inputs",
            )
        if family.fused != "no":
            expected = (self.n_heads + 2 * self.n_key_heads) * self.width
        elif name == family.query:
            expected = self.n_heads * self.width
        else:
            expected = self.n_key_heads * self.width
        if size != expected:
            raise must_be(
                f"the tensor {weight}",
                f"a matrix with {expected} outputs for the heads that config.json "
                "declares",
                f"a matrix with {size} outputs",
            )
        start = number * self.width
        stop = start + self.width
        bias = None
        if f"{self.layer}.{name}.bias" in self.arrays.tensors:
            bias_name = f"{self.layer}.{name}.bias"
            _require_length(self.arrays, bias_name, size)
            bias = Block(bias_name, start, stop)
        return Projection(Block(weight, start, stop, family.transposed), bias)


def _shape_of(arrays: Readable, name: str, n_axes: int) -> tuple[int, ...]:
    """Return the shape of a tensor.

    Raises
    ------
    InputError
        If the tensor is missing, has another number of axes, is empty, or is stored as
        codes instead of floating-point numbers.
    """
    tensor = arrays.tensors.get(name)
    if tensor is None:
        stem = name.removesuffix(".weight")
        codes = [other for other in arrays.tensors if other.startswith(f"{stem}.")]
        if codes and name.endswith(".weight"):
            raise must_be(
                f"the tensor {name}",
                "in the checkpoint",
                f"{codes[0]} instead, as in quantised networks and adapters",
                "merge the adapter, or save the network before it is quantised",
            )
        raise must_be(
            f"the tensor {name}", "in the checkpoint", "no tensor with this name"
        )
    if tensor.dtype not in FLOATS:
        raise must_be(
            f"the tensor {name}",
            "of floating-point numbers",
            tensor.dtype,
            "save the network before it is quantised",
        )
    if len(tensor.shape) != n_axes or 0 in tensor.shape:
        kind = "a matrix" if n_axes == 2 else "a vector"
        raise must_be(f"the tensor {name}", kind, f"the shape {tensor.shape}")
    return tensor.shape


def _count(config: Config, keys: tuple[str, ...]) -> int:
    """Return the first of some counts in a configuration.

    Raises
    ------
    InputError
        If there is none, or it is not a positive integer.
    """
    for key in keys:
        count = config.count(key)
        if count is not None:
            return count
    raise must_be("config.json", f"a file with the entry {keys[0]}", "no such entry")


def _width(config: Config, n_columns: int, n_heads: int) -> int:
    """Return the number of columns of a head.

    Raises
    ------
    InputError
        If it does not fit the inputs of the output projection.
    """
    width = n_columns // n_heads
    for key in HEAD_WIDTH:
        if config.settings.get(key) is not None:
            width = _count(config, (key,))
            break
    if width * n_heads != n_columns:
        raise must_be(
            "the heads of config.json",
            f"together as wide as the {n_columns} inputs of the output projection",
            f"{n_heads} heads of {width} columns",
        )
    return width


def _planes(
    config: Config, family: AttentionFamily, layer: int, width: int
) -> NDArray[np.intp]:
    """Return the pairs of columns that a rotary embedding turns together.

    Raises
    ------
    InputError
        If the kind of the rotary embedding is not known, or the number of rotated
        columns is odd or too large.
    """
    none = np.empty((0, 2), dtype=np.intp)
    if family.rotary == "none" or not _is_rotated(config, family, layer):
        return none
    rotation = _rotation(config, layer)
    kind = rotation.get("rope_type") or rotation.get("type") or "default"
    if kind not in ROTATIONS:
        raise must_be(
            "rope_type of config.json", "one of " + ", ".join(ROTATIONS), repr(kind)
        )
    base = rotation.get("rope_theta", config.settings.get("rope_theta"))
    if base is not None and not (is_number(base) and base > 1):
        # With a base of 1 all planes turn at one speed, and more gauges are free.
        raise must_be("rope_theta of config.json", "a number above 1", repr(base))
    n_rotated = _n_rotated(config, family, rotation, width)
    if n_rotated % 2 or not 0 <= n_rotated <= width:
        raise must_be(
            "the rotated columns of a head",
            f"an even number up to {width}",
            n_rotated,
        )
    half = np.arange(n_rotated // 2)
    if family.rotary == "halves":
        return np.stack([half, half + n_rotated // 2], axis=1)
    return np.stack([2 * half, 2 * half + 1], axis=1)


def _is_rotated(config: Config, family: AttentionFamily, layer: int) -> bool:
    """Return False for a layer that a network leaves without positions.

    Raises
    ------
    InputError
        If a network of a family with such layers does not say which ones they are.
    """
    if not family.skips_rotations:
        return True
    key = "no_rope_layers"
    layers = config.settings.get(key)
    if not isinstance(layers, list) or layer >= len(layers):
        raise must_be(f"{key} of config.json", "a number per layer", repr(layers))
    # Despite the name of the key, 1 stands for a layer with positions.
    return bool(layers[layer])


def _rotation(config: Config, layer: int) -> Mapping[str, Any]:
    """Return the settings of the rotary embedding of a layer.

    Newer configurations hold `rope_parameters`, of all layers or by kind of layer, and
    older ones `rope_scaling`.
    """
    rotation = config.settings.get("rope_parameters")
    if rotation is None:
        rotation = config.settings.get("rope_scaling")
    if not isinstance(rotation, Mapping):
        return {}
    kinds = config.settings.get("layer_types")
    if isinstance(kinds, list) and layer < len(kinds):
        of_kind = rotation.get(kinds[layer]) if isinstance(kinds[layer], str) else None
        if isinstance(of_kind, Mapping):
            return of_kind
    return rotation


def _n_rotated(
    config: Config, family: AttentionFamily, rotation: Mapping[str, Any], width: int
) -> int:
    """Return the number of columns that a rotary embedding turns."""
    values = config.settings
    if family.rotary_columns is not None:
        if "rotary_dim" not in values:
            return family.rotary_columns
        if values["rotary_dim"] is None:
            return width
        return _count(config, ("rotary_dim",))
    share: Any = family.rotary_share
    for stored in (
        values.get("rotary_pct"),
        values.get("partial_rotary_factor"),
        rotation.get("partial_rotary_factor"),
    ):
        if stored is not None:
            share = stored
    if not is_number(share) or not 0 <= share <= 1:
        raise must_be(
            "partial_rotary_factor of config.json", "a number from 0 to 1", repr(share)
        )
    return int(width * share)


def require_ordinary(values: Floats, name: str) -> None:
    """Raise InputError unless numbers are finite and their products do not overflow."""
    if not np.isfinite(values).all():
        raise must_be(name, "finite numbers", "nan or infinity")
    largest = float(np.abs(values).max(initial=0))
    if largest > MOST_SIZE:
        raise must_be(name, f"numbers of at most {MOST_SIZE:.0e}", f"{largest:.0e}")


def with_blocks(
    arrays: Readable, changes: Mapping[Block, Floats]
) -> dict[str, NDArray[Any]]:
    """Return the tensors of a checkpoint that some changed parts belong to.

    Each tensor is read whole, in the type in which it is computed with, and has the
    changed parts.
    """
    tensors: dict[str, NDArray[Any]] = {}
    for block, values in changes.items():
        if block.name not in tensors:
            stored = arrays[block.name]
            kind = np.float64 if stored.dtype == np.float64 else np.float32
            tensors[block.name] = np.array(stored, dtype=kind)
        block.write(tensors[block.name], values)
    return tensors
