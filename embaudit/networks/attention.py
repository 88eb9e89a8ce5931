"""What the cosines of queries, keys and values of one attention head are worth.

A head computes the products of its queries and keys, and of its values and its output
projection. Other queries, keys and values give the same products (see
`embaudit.networks.head_gauges`), so their cosines depend on the pair that training
happened to reach.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embaudit.core.answer_word import AnswerWord
from embaudit.core.checked import RNG, Floats, as_count, as_generator, require_one_of
from embaudit.core.plain import frame_of, plain_dict
from embaudit.core.results import Result
from embaudit.core.sizes import MOST_COUNT
from embaudit.core.tolerances import FLOAT32_TIE, TIE
from embaudit.core.words import change_size, percent, three_digits
from embaudit.errors import must_be
from embaudit.gauges import Affine, GaugeGroup, GeneralLinear
from embaudit.io.attention import read_head
from embaudit.linalg.pairs import draw_pairs
from embaudit.linalg.rows import row_norms
from embaudit.model import FactorModel
from embaudit.movements import Movement, movement
from embaudit.networks.head_gauges import (
    NAMES,
    HeadFreedom,
    HeadGauge,
    TableName,
    draw_gauge,
)
from embaudit.networks.head_inputs import draw_inputs
from embaudit.networks.head_rows import HeadRows, project_inputs
from embaudit.networks.prediction_rows import prediction_rows
from embaudit.ranges import cosine_range
from embaudit.ranges.planes import block_ranges

COMPARED: dict[TableName, str] = {
    "keys": "the scores of each key with all queries",
    "queries": "the scores of each query with all keys",
    "values": "what each value adds to the output",
}
"""What prediction cosines compare."""
N_ROWS = 2_000
"""Largest number of inputs whose queries, keys and values are compared."""
N_PAIRS = 20_000
"""Number of pairs whose cosines are compared."""
RANGE_PAIRS = 2_000
"""Number of pairs whose ranges are computed."""
CHECKED_ROWS = 64
"""Number of queries, and of keys, whose scores are checked."""
N_ROTATIONS = 4
"""Number of rotations at which scores are checked. The first one turns nothing."""


@dataclass(frozen=True, eq=False)
class HeadTable:
    """The cosines of the queries, of the keys or of the values of one head."""

    name: TableName
    """Which rows."""
    moves: bool
    """True if gauges of the head can change cosines of these rows."""
    freedom: str
    """The gauges that change no output, in words."""
    shown: Movement
    """Movement from the stored cosines to the cosines of a random equivalent head."""
    predicted: Movement
    """Movement from the stored cosines to the cosines of the computed products.

    No gauge changes the cosines of the computed products.
    """
    range_width: float
    """Mean width of the range of a cosine within the budget."""
    range_set: str
    """The gauges that the range is about, in words."""
    n_ranges: int
    """Number of pairs whose ranges were computed."""

    @property
    def noun(self) -> str:
        """Noun of one row."""
        return {"keys": "key", "queries": "query", "values": "value"}[self.name]

    @property
    def is_predicted(self) -> bool:
        """True if they equal the cosines of the computed products, up to rounding."""
        return self.predicted.max_abs <= FLOAT32_TIE

    @property
    def answer(self) -> AnswerWord:
        """Say in a word whether the computed products fix these cosines."""
        if not self.moves:
            return AnswerWord.YES
        if self.shown.max_abs <= TIE and self.range_width <= TIE:
            return AnswerWord.UNKNOWN
        if self.is_predicted:
            return AnswerWord.BY_CONVENTION
        return AnswerWord.NO

    @property
    def evidence(self) -> str:
        """Write the figures behind the conclusion; empty if no gauge moves cosines."""
        if not self.moves:
            return ""
        text = (
            f"A drawn head with the same outputs moves cosines of {self.name} by "
            f"{three_digits(self.shown.mean_abs)} on average. Prediction cosines (of "
            f"{COMPARED[self.name]}), which no such head changes, differ from them by "
            f"{three_digits(self.predicted.mean_abs)} on average"
        )
        if not self.predicted.top_n:
            return f"{text}."
        kept = percent(self.predicted.top_n_overlap)
        return (
            f"{text}, and {kept} of each {self.noun}'s {self.predicted.top_n} nearest "
            f"{self.name} are the nearest by both."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "rows": self.name,
                "answer": self.answer,
                "free": self.freedom,
                "shown": self.shown,
                "predicted": self.predicted,
                "range_width": self.range_width,
                "range_set": self.range_set,
                "n_ranges": self.n_ranges,
            }
        )


@dataclass(frozen=True, eq=False)
class AttentionAudit(Result):
    """Whether the outputs of one attention head fix the cosines of its rows.

    `audit_attention` returns it.

    Examples
    --------
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
    ...     inputs = draw.standard_normal((30, 8))
    ...     found = ea.audit_attention(folder, layer=0, head=1, inputs=inputs)
    >>> found.answer.value, found.predictions_hold
    ('NO', True)
    >>> found.table("keys").name
    'keys'
    """

    layer: int
    """Number of the layer, from 0."""
    head: int
    """Number of the query head, from 0."""
    width: int
    """Number of columns of queries and keys."""
    group: tuple[int, ...]
    """Numbers of the query heads that share the keys and values of this head."""
    tensors: tuple[str, ...]
    """Names of the projections that were read."""
    freedom: HeadFreedom
    """The gauges that keep all outputs of the head."""
    rows: HeadRows = field(repr=False)
    """Queries, keys and values of the inputs."""
    tables: tuple[HeadTable, ...]
    """Keys, queries and values."""
    score_change: float
    """Largest change of a score or an output in the drawn head, relative to the
    largest possible one."""
    has_key_bias: bool
    """True if the key projection has a bias, which can hold a shift of the keys."""
    has_value_bias: bool
    """True if the value projection has a bias, which can hold a shift of the values."""
    max_condition: float
    """Condition number of the drawn gauge and budget of the ranges."""

    def __repr__(self) -> str:
        return f"AttentionAudit(layer {self.layer}, head {self.head}, {self.answer})"

    def table(self, name: TableName) -> HeadTable:
        """Return the keys, the queries or the values."""
        require_one_of(name, "name", NAMES)
        return self.tables[NAMES.index(name)]

    @property
    def predictions_hold(self) -> bool:
        """True if the drawn head computes the same, up to rounding."""
        return self.score_change <= TIE

    @property
    def answer(self) -> AnswerWord:
        """The answer for the keys."""
        if not self.predictions_hold:
            return AnswerWord.CHECK_FIRST
        return self.table("keys").answer

    @property
    def model(self) -> FactorModel | None:
        """Queries and keys as a model that `audit` takes; None with rotary planes.

        Its predictions are the attention weights, without masks. With a rotary
        embedding, or norms of queries and keys, fewer gauges are free than `audit`
        assumes. As for every softmax model, `audit` subtracts the logits of the mean
        query. `prediction_rows` does not subtract them.
        """
        if self.freedom.blocks:
            return None
        return _score_model(self.rows)

    @property
    def values_model(self) -> FactorModel:
        """Output projection and values as a model that `audit` takes."""
        return _output_model(self.rows, self.freedom)

    def prediction_rows(self, name: TableName) -> Floats:
        """Return rows whose cosines no equivalent head changes."""
        require_one_of(name, "name", NAMES)
        return prediction_rows(self.freedom, self.rows)[name]

    def _named(self, word: AnswerWord) -> str:
        """List the rows that have an answer; empty if none has it."""
        names = [table.name for table in self.tables if table.answer is word]
        if len(names) < 2:
            return "".join(names)
        return f"{', '.join(names[:-1])} and {names[-1]}"

    @property
    def answers(self) -> list[str]:
        """One sentence per answer, with the rows that have it."""
        head = f"head {self.head} of layer {self.layer}"
        fixes_not = f"what {head} computes does not fix the cosines of its"
        sentences = {
            AnswerWord.NO: f"{fixes_not} {{}}.",
            AnswerWord.BY_CONVENTION: (
                f"{fixes_not} {{}}, but for these inputs they are prediction cosines."
            ),
            AnswerWord.UNKNOWN: (
                f"{head} leaves the cosines of its {{}} free, but those of these "
                "inputs did not move."
            ),
            AnswerWord.YES: f"what {head} computes fixes the cosines of its {{}}.",
        }
        return [
            f"{word}: {sentence.format(self._named(word))}"
            for word, sentence in sentences.items()
            if self._named(word)
        ]

    @property
    def sentences(self) -> list[str]:
        """The conclusions, the figures behind them, and what to do."""
        if not self.predictions_hold:
            return [
                "CHECK FIRST: a head that should compute the same changes a score by "
                f"{change_size(self.score_change)} of its size."
            ]
        texts = self.answers
        for table in self.tables:
            if table.moves:
                texts.append(f"{table.name.capitalize()}: {table.freedom}.")
        texts.append(self.table("keys").evidence or self.table("values").evidence)
        if self.freedom.has_row_norms:
            texts.append(
                "These are queries and keys after the gains of their norms. Before "
                "the gains, their cosines are fixed as far as the rows fill all "
                "directions, because other axes would change their lengths."
            )
        if self.freedom.shifts_keys and not self.has_key_bias:
            texts.append(
                "Keys have no bias in this network, so a head with shifted keys would "
                "need one."
            )
        if self.freedom.has_output_bias and not self.has_value_bias:
            texts.append(
                "Values have no bias in this network, so a head with shifted values "
                "would need one."
            )
        if self._named(AnswerWord.NO):
            texts.append(
                "Do not read meaning into these cosines; compare rows by prediction "
                "cosines (`embaudit.audit_attention(...).prediction_rows('keys')`)."
            )
        checked = change_size(self.score_change).replace("<", "less than ")
        texts.append(
            f"Measured on {self.rows.description}. Scores and outputs of the drawn "
            f"head differ by {checked} of their size."
        )
        return [text for text in texts if text]

    def explain(self) -> str:
        """Say whether the cosines of the head are fixed, and how far they move."""
        return "\n".join(self.sentences)

    def records(self) -> list[dict[str, Any]]:
        """Return one record per kind of rows.

        Columns
        -------
        rows : {"keys", "queries", "values"}
            The rows.
        answer : str
            Whether what the head computes fixes their cosines.
        shown_mean_abs : float
            Mean change of a cosine in a drawn head with the same outputs.
        predicted_mean_abs : float
            Mean difference from the cosine that no equivalent head changes.
        predicted_kept : float
            Share of the nearest rows that are nearest by those cosines, too.
        top_n : int
            Length of the lists of nearest rows; 0 without lists.
        range_width : float
            Mean width of the range of a cosine within the budget.
        """
        return [
            {
                "rows": table.name,
                "answer": str(table.answer),
                "shown_mean_abs": table.shown.mean_abs,
                "predicted_mean_abs": table.predicted.mean_abs,
                "predicted_kept": table.predicted.top_n_overlap,
                "top_n": table.predicted.top_n,
                "range_width": table.range_width,
            }
            for table in self.tables
        ]

    def to_frame(self) -> Any:
        """Return one row per kind of rows; see `records`."""
        return frame_of(self.records())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "layer": self.layer,
                "head": self.head,
                "width": self.width,
                "group": self.group,
                "tensors": self.tensors,
                "n_planes": len(self.freedom.planes),
                "n_free_columns": len(self.freedom.free),
                "shifts_keys": self.freedom.shifts_keys,
                "has_row_norms": self.freedom.has_row_norms,
                "has_output_bias": self.freedom.has_output_bias,
                "inputs": self.rows.description,
                "n_rows": len(self.rows.keys),
                "answer": self.answer,
                "score_change": self.score_change,
                "max_condition": self.max_condition,
                "tables": self.tables,
                "explain": self.sentences,
            }
        )


def audit_attention(
    source: object,
    layer: int,
    head: int,
    *,
    states: Any = None,
    inputs: Any = None,
    n_rows: int = N_ROWS,
    n_neighbours: int | None = None,
    max_condition: float = 2.0,
    rng: RNG = 0,
) -> AttentionAudit:
    """Say whether the outputs of an attention head fix the cosines of its rows.

    The rows are the queries, keys and values of some inputs of the layer, before any
    rotary embedding turns them.

    Parameters
    ----------
    source : path or network of transformers
        A folder of a checkpoint in safetensors with its `config.json`, one of its
        files, or a live network.
    layer, head : int
        Numbers of the layer and of the query head, from 0.
    states : path or array of shape (n, D), optional
        States that enter the layer, such as `hidden_states[layer]` of a network. The
        norm of the layer is applied to them. By default the token embeddings, which
        enter layer 0; other layers need states.
    inputs : path or array of shape (n, D), optional
        Inputs of the projections as they are, instead of states.
    n_rows : int
        Largest number of inputs. A sample is drawn if there are more.
    n_neighbours : int, optional
        Length of the lists of nearest rows. The default is 10, but at most a third of
        the other rows.
    max_condition : float
        Condition number κ of the drawn equivalent head, and budget of the ranges.
    rng : numpy Generator or int
        Source of the draws; the same seed gives the same numbers.

    Returns
    -------
    AttentionAudit
        The answer for keys, queries and values, and how far their cosines move.

    Raises
    ------
    InputError
        If there is no such head, the architecture is not known, weights are quantised
        or missing, or states are missing or of another width.

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
    ...     inputs = draw.standard_normal((30, 8))
    ...     found = ea.audit_attention(folder, layer=0, head=1, inputs=inputs)
    >>> found.answer.value, found.predictions_hold
    ('NO', True)
    >>> found.table("keys").name
    'keys'
    >>> found.to_frame()[["rows", "answer"]]
          rows answer
    0     keys     NO
    1  queries     NO
    2   values     NO
    >>> ea.audit_attention("no-such-folder", 0, 0)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the input must be a file that exists; got ...
    """
    as_count(n_rows, "n_rows", least=2, most=MOST_COUNT)
    draw = as_generator(rng)
    found = read_head(source, layer, head)
    freedom = HeadFreedom.from_head(found)
    drawn_inputs = draw_inputs(
        found, states=states, inputs=inputs, n_rows=n_rows, rng=draw
    )
    rows = project_inputs(found, drawn_inputs)
    for name in ("queries", "keys", "values", "outputs"):
        if np.count_nonzero(row_norms(getattr(rows, name))) < 2:
            raise must_be(
                f"the {name}", "at least two nonzero rows", "fewer nonzero rows"
            )
    gauge = draw_gauge(
        freedom,
        max_condition=max_condition,
        key_shift=float(np.median(row_norms(rows.keys))),
        value_shift=float(np.median(row_norms(rows.values))),
        rng=draw,
    )
    return AttentionAudit(
        layer=found.layer,
        head=found.head,
        width=found.width,
        group=found.group,
        tensors=found.tensors,
        freedom=freedom,
        rows=rows,
        tables=_tables(freedom, rows, gauge, n_neighbours, draw),
        score_change=_score_change(freedom, rows, gauge, draw),
        has_key_bias=found.key.bias is not None,
        has_value_bias=found.value.bias is not None,
        max_condition=max_condition,
    )


def _score_model(rows: HeadRows) -> FactorModel:
    """Return queries and keys as a softmax model."""
    return FactorModel.from_arrays(
        left=rows.group_queries, right=rows.keys, link="softmax", roles=("query", "key")
    )


def _output_model(rows: HeadRows, freedom: HeadFreedom) -> FactorModel:
    """Return the output projection and the values as a model of scores."""
    bias = None
    if freedom.has_output_bias:
        bias = np.zeros(len(rows.outputs))
    return FactorModel.from_arrays(
        left=rows.outputs,
        right=rows.values,
        left_bias=bias,
        link="identity",
        roles=("output", "value"),
    )


def _tables(
    freedom: HeadFreedom,
    rows: HeadRows,
    gauge: HeadGauge,
    n_neighbours: int | None,
    draw: np.random.Generator,
) -> tuple[HeadTable, ...]:
    """Measure keys, queries and values."""
    predicted = prediction_rows(freedom, rows)
    shown = rows.gauged(gauge)
    kappa = gauge.max_condition
    sizes: dict[str, Any] = {
        "n_pairs": N_PAIRS,
        "n_neighbours": n_neighbours,
        "rng": draw,
    }
    tables = []
    for name in NAMES:
        stored = rows.table(name)
        before = FactorModel.from_vectors(stored)
        width, range_set, n_ranges = _ranges(freedom, rows, name, kappa, draw)
        tables.append(
            HeadTable(
                name=name,
                moves=freedom.moves(name),
                freedom=_words(freedom, name),
                shown=movement(before, FactorModel.from_vectors(shown[name]), **sizes),
                predicted=movement(
                    before, FactorModel.from_vectors(predicted[name]), **sizes
                ),
                range_width=width,
                range_set=range_set,
                n_ranges=n_ranges,
            )
        )
    return tuple(tables)


def _ranges(
    freedom: HeadFreedom,
    rows: HeadRows,
    name: TableName,
    max_condition: float,
    draw: np.random.Generator,
) -> tuple[float, str, int]:
    """Return the mean width of the ranges of cosines, their gauges, and their number.

    The ranges are exact for linear and affine gauges, and for scales of blocks. If a
    head has scales of blocks and linear gauges of other columns, the ranges are those
    of scales alone, and the linear gauges can move cosines further.
    """
    stored = rows.table(name)
    directed = np.flatnonzero(row_norms(stored))
    pairs = directed[draw_pairs(len(directed), RANGE_PAIRS, rng=draw)]
    if name != "values" and freedom.blocks:
        blocks = [*freedom.blocks, *(np.array([column]) for column in freedom.free)]
        x, y = stored[pairs[:, 0]], stored[pairs[:, 1]]
        widths = block_ranges(x, y, blocks, max_condition).width
        words = f"scales of planes, at most {max_condition:g} apart"
        if len(freedom.free):
            words = (
                f"scales of planes and of other columns, at most {max_condition:g} "
                "apart (other columns can move further)"
            )
        return float(np.nanmean(widths)), words, len(pairs)
    k = freedom.width
    group: GaugeGroup = GeneralLinear(k, max_condition=max_condition)
    words = f"stretches of at most {max_condition:g}"
    if name == "queries":
        model = FactorModel.from_arrays(
            left=rows.queries,
            right=rows.keys,
            link="softmax",
            roles=("query", "key"),
        )
        widths = cosine_range(model, group, role="left", pairs=pairs).width
        return float(np.nanmean(widths)), words, len(pairs)
    model = _score_model(rows)
    if name == "values":
        model = _output_model(rows, freedom)
    if "right" in model.free_shifts:
        length = float(np.median(row_norms(stored)))
        group = Affine(k, max_condition=max_condition, max_shift=length)
        words += ", and shifts of at most a typical row"
    widths = cosine_range(model, group, role="right", pairs=pairs).width
    return float(np.nanmean(widths)), words, len(pairs)


def _score_change(
    freedom: HeadFreedom,
    rows: HeadRows,
    gauge: HeadGauge,
    draw: np.random.Generator,
) -> float:
    """Return the largest change of scores and outputs in the equivalent head.

    Scores are centred over the keys, because the softmax ignores a constant, and
    checked at several rotations. A change counts relative to the largest product of
    lengths. The result is NaN if any change is.
    """
    other = rows.gauged(gauge)
    queries, keys, values = other["queries"], other["keys"], other["values"]
    n = min(CHECKED_ROWS, len(keys))
    sample = draw.choice(len(keys), n, replace=False)
    changes = []
    for number in range(N_ROTATIONS):
        # A key turns by the distance of its position from that of the query.
        angles = draw.uniform(0, 2 * np.pi, (n, len(freedom.planes)))
        if number == 0:
            angles[:] = 0
        before = _scores(rows.queries[sample], rows.keys[sample], freedom, angles)
        after = _scores(queries[sample], keys[sample], freedom, angles)
        largest = row_norms(rows.queries[sample]).max() * row_norms(keys[sample]).max()
        changes.append(_relative_size(after - before, largest * gauge.max_condition))
    outputs_before = rows.values[sample] @ rows.outputs.T
    outputs_after = values[sample] @ (rows.outputs @ gauge.outputs).T
    # The output bias absorbs this constant.
    constant = gauge.value_shift @ rows.outputs.T
    largest = row_norms(values[sample]).max() * row_norms(rows.outputs).max()
    changes.append(
        _relative_size(
            outputs_after - constant - outputs_before, largest * gauge.max_condition
        )
    )
    # `max` of Python would skip NaN.
    return float(np.max(changes))


def _relative_size(change: Floats, largest: float) -> float:
    """Return the largest magnitude of a change over a length; 0 if the length is 0."""
    if largest == 0:
        return 0.0
    return float(np.abs(change).max() / largest)


def _scores(
    queries: Floats, keys: Floats, freedom: HeadFreedom, angles: Floats
) -> Floats:
    """Return the scores of all queries with turned keys, centred over the keys."""
    turned = np.array(keys)
    cosines, sines = np.cos(angles), np.sin(angles)
    first, second = freedom.planes.T
    turned[:, first] = cosines * keys[:, first] - sines * keys[:, second]
    turned[:, second] = sines * keys[:, first] + cosines * keys[:, second]
    scores = queries @ turned.T
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def _words(freedom: HeadFreedom, name: TableName) -> str:
    """Say which changes of rows change no attention weight or no output.

    Examples
    --------
    >>> rotary = HeadFreedom(4, np.array([[0, 2], [1, 3]]))
    >>> _words(rotary, "keys")
    'a scale of each of the 2 rotary planes changes no attention weight'
    >>> _words(HeadFreedom(4, np.array([[0, 1]])), "keys")
    'a scale of the rotary plane, a change of axes of the 2 other columns and a shift
    of all keys change no attention weight'
    """
    if name == "values":
        return _words_on_values(freedom)
    n_planes, n_free = len(freedom.planes), len(freedom.free)
    parts: list[str] = []
    if n_planes == 1:
        parts.append("a scale of the rotary plane")
    elif n_planes:
        parts.append(f"a scale of each of the {n_planes} rotary planes")
    if freedom.has_row_norms:
        n_single = len(freedom.blocks) - n_planes
        if n_single:
            parts.append(f"a scale of each of the {n_single} other columns")
        parts[-1] += " (of the gains of both norms)"
    if n_free == freedom.width:
        parts.append("any change of axes")
    elif n_free:
        parts.append(f"a change of axes of the {n_free} other columns")
    if n_free and name == "keys":
        parts.append("a shift of all keys")
    if len(parts) == 1:
        return f"{parts[0]} changes no attention weight"
    several = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{several} change no attention weight"


def _words_on_values(freedom: HeadFreedom) -> str:
    """Say which changes of values and of the output projection change no output."""
    if freedom.has_output_bias:
        return (
            "any change of axes, undone by the output projection, and a shift of all "
            "values, which the output bias absorbs, change no output"
        )
    return "any change of axes, undone by the output projection, changes no output"
