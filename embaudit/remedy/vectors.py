"""Vectors that are computed when they are needed, and written with a check.

They are computed and written one block of rows at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, Matrix, Vector, require_one_of
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.words import counted, drawn_of, percent
from embaudit.errors import File, InputError, Option, Sentence, joined, must_be
from embaudit.io.arrays import Stream
from embaudit.io.draft import Draft
from embaudit.io.files import AnyPath, as_path, plain_suffix
from embaudit.io.formats import writer_of
from embaudit.io.saving import (
    kind_of_output,
    remove_output,
    room_in,
    save,
    save_table,
    stored_side,
    stored_table,
)
from embaudit.linalg.mapped import Mapped, RowMap
from embaudit.model import OPPOSITE, ROW_FIELDS, Equivalence, FactorModel, SideName
from embaudit.serving.align import Alignment
from embaudit.serving.space_map import SpaceMap

if TYPE_CHECKING:
    import pandas as pd

PROBES = 4096
"""Number of rows, or of pairs of rows, in a check."""
_CONVENTIONS = {
    "balanced": "each direction is shared out equally between the two sides",
    "left-whitened": (
        "the {left}s are whitened and the {right}s' cosines are prediction cosines"
    ),
    "right-whitened": (
        "the {right}s are whitened and the {left}s' cosines are prediction cosines"
    ),
}


@dataclass(frozen=True)
class TruncationLoss:
    """Cost of keeping the leading directions only."""

    dimensions: int
    """Directions kept."""
    rank: int
    """Directions that the predictions see."""
    energy_lost: float
    """Share of the scores' sum of squares that is dropped.

    No other choice of as many directions drops less."""
    largest_singular_value_lost: float
    """Spectral norm of the dropped part of the score matrix. No score moves by more."""
    mean_cosine_error: float
    """Mean absolute change of the cosines, over these pairs."""
    max_cosine_error: float
    """Largest absolute change of the cosines, over these pairs."""
    n_pairs: int
    """Number of these pairs, drawn without replacement."""
    n_all_pairs: int
    """Number of all pairs."""


@dataclass(frozen=True, eq=False)
class Remedy(Result):
    """The vectors of one kind, not yet computed.

    Examples
    --------
    >>> import embaudit as ea
    >>> users, items = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]
    >>> remedy = ea.fix(ea.FactorModel.from_user_item(users, items))
    >>> remedy.kind, remedy.metric, remedy.is_model
    ('prediction', 'cosine', False)
    >>> remedy.vectors().shape
    (2, 2)
    """

    model: FactorModel
    """The model whose rows are mapped."""
    kind: str
    """One of `KINDS`, "aligned" or "mapped"."""
    roles: tuple[SideName, ...]
    """The sides to write."""
    columns: int
    """Dimensions of the vectors."""
    unit: bool
    """True if every vector has length 1, so that a dot product is the cosine."""
    maps: dict[SideName, RowMap]
    """Map from the rows of each side to vectors."""
    biases: dict[str, Vector]
    """Biases that keep the predictions, for an equivalent model."""
    reduction: TruncationLoss | None = None
    """The loss by fewer dimensions; None if no dimension was dropped."""
    objective: str | None = None
    """The training objective if it keeps its value; None otherwise.

    Vectors that hold the prediction cosines without loss have the objective
    "prediction"."""
    description: str = ""
    """Clause that describes a head behind a final norm, or rows as they are; empty for
    other vectors."""
    keep_empty: bool = False
    """True if rows without direction are kept in a table of vectors."""
    alignment: Alignment | None = None
    """The alignment with the old model; None for vectors of other kinds."""
    space_map: SpaceMap | None = None
    """The map into the space of a new encoder; None for vectors of other kinds."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        return plain_dict(
            {
                "kind": self.kind,
                "roles": self.roles,
                "columns": self.columns,
                "unit": self.unit,
                "reduction": self.reduction,
                "alignment": self.alignment,
                "space_map": self.space_map,
                "explanation": str(self),
            }
        )

    def __repr__(self) -> str:
        sides = " and ".join(self._title(role) for role in self.roles)
        size = counted(self.columns, "dimension")
        return f"Remedy({self.kind} vectors of {sides}, {size})"

    @property
    def is_model(self) -> bool:
        """True if the vectors are a model or a head, False if they are a table.

        A model or a head needs all of its rows.
        """
        if len(self.roles) == 2:
            return True
        is_head = self.model.left is None and self.model.link.name != "identity"
        is_folded = self.kind.startswith("folded")
        return (is_head or is_folded) and self.model.compared is None and not self.unit

    @cached_property
    def empty(self) -> dict[SideName, Indices]:
        """Rows of each side that are zero, as stored or once mapped: no direction.

        A row of zeros holds nothing that was learned, such as that of an item without
        interactions. Centring would give it a direction, which is that of the mean row.
        """
        empty: dict[SideName, Indices] = {}
        for role in self.roles:
            is_empty = self.model.side(role).norms == 0
            for rows, block in self._mapped_rows(role).blocks():
                is_empty[rows] |= ~block.any(axis=1)
            empty[role] = np.flatnonzero(is_empty)
        return empty

    def _kept(self, role: SideName) -> Indices | None:
        """Return the rows of a side that are written; None for all of them."""
        empty = self.empty[role]
        if self.is_model or self.keep_empty or not len(empty):
            return None
        rows = np.arange(len(self.model.side(role)))
        return np.delete(rows, empty)

    def _title(self, role: SideName) -> str:
        return f"{self.model.title(role)}s"

    @property
    def metric(self) -> Literal["cosine", "dot"]:
        """Metric of an index of the vectors.

        Rows that training compared by dot product keep it, and so do aligned vectors
        of a model that predicts by dot products. For rows of length 1 the dot product
        is the cosine.
        """
        if self.unit or self.model.compared == "dot" or self.kind == "equal-length":
            return "dot"
        predicts_products = self.model.left is not None and not (
            self.model.link.unit_sides
        )
        keeps_products = self.kind in ("aligned", "rotated")
        if keeps_products and predicts_products:
            return "dot"
        return "cosine"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entity.

        The columns are `id`, `title` and `vector`. If there are two sides, the first
        column is `role`.
        """
        import pandas as pd

        tables = []
        for role in self.roles:
            side, kept = self.model.side(role), self._kept(role)
            ids = np.arange(len(side)) if side.ids is None else side.ids
            rows = slice(None) if kept is None else kept
            columns: dict[str, Any] = {}
            if len(self.roles) > 1:
                columns["role"] = role
            columns["id"] = np.asarray(ids)[rows]
            columns["title"] = np.asarray(self.model.names(role))[rows]
            columns["vector"] = [*self.vectors(role)]
            tables.append(pd.DataFrame(columns))
        return pd.concat(tables, ignore_index=True)

    def explain(self) -> str:
        """Describe the vectors and their use in plain words.

        Examples
        --------
        >>> from embaudit.remedy import fix
        >>> print(fix(FactorModel.from_user_item([[2.0]], [[1.0], [3.0]])).explain())
        item vectors of 1 dimension, whose plain cosine is the cosine of the items' ...
        """
        return str(self.explanation())

    def explanation(self) -> Sentence:
        """Return the sentences of `explain`, with the options in them as data."""
        sides = " and ".join(self.model.title(role) for role in self.roles)
        texts: list[str | Sentence] = [
            Sentence(
                "{} vectors of {}, {}",
                sides,
                counted(self.columns, "dimension"),
                _kind(self),
            )
        ]
        cost = self.reduction
        if cost is not None:
            pairs = drawn_of(cost.n_pairs, cost.n_all_pairs, "pair")
            texts.append(
                f"Keeping {cost.dimensions} of {cost.rank} directions drops "
                f"{percent(cost.energy_lost)} of the scores' sum of squares. Over "
                f"{pairs}, cosines move by {cost.mean_cosine_error:.3f} on average and "
                f"by at most {cost.max_cosine_error:.3f}."
            )
        if len(self.roles) == 1:
            if self.model.compared == "dot":
                texts.append(
                    "Index them by dot product, as training compared them, or by "
                    "cosine."
                )
            elif self.unit:
                texts.append(
                    "Index them by dot product or cosine, which are the same for "
                    "vectors of length 1."
                )
            elif self.kind == "rotated":
                texts.append("Index them as the stored vectors are.")
            elif self.alignment is not None:
                texts.append("Index them as the old vectors are.")
            elif self.kind == "equal-length":
                texts.append(self._other_side())
            else:
                texts.append("Index them by cosine.")
            if self.unit and self.kind not in ("prediction", "mapped"):
                texts.append(
                    "Without their lengths these vectors can be compared, but they "
                    "predict nothing."
                )
        # Centred and folded rows can stand in the network in place of the head.
        are_heads = self.kind == "centred" or self.kind.startswith("folded")
        tying = self.model.tying
        if are_heads and tying is not None and tying.warning:
            texts.append(tying.warning)
        return joined([*texts, *self._empty_rows()])

    def _other_side(self) -> Sentence:
        """Name the vectors of the other side, which are needed for a search."""
        (role,) = self.roles
        other = OPPOSITE[role]
        if role == "right":
            text = (
                "Index them by any of these measures, and search with the {} vectors "
                "that {} writes."
            )
        else:
            text = "Search with them in an index of the {} vectors that {} writes."
        return Sentence(
            text, self.model.title(other), Option("role", self.model.title(other))
        )

    def _empty_rows(self) -> Iterator[str | Sentence]:
        """Yield a sentence for each side that has rows without a cosine."""
        for role, rows in self.empty.items():
            if not len(rows):
                continue
            names = [str(name) for name in np.asarray(self.model.names(role))[rows[:5]]]
            if len(rows) > len(names):
                names.append("...")
            have, are = "have", "are"
            if len(rows) == 1:
                have, are = "has", "is"
            count = counted(len(rows), self.model.title(role))
            text = f"{count} {have} no cosine ({', '.join(names)})"
            if self._kept(role) is not None:
                yield Sentence(
                    "{} and {} left out; {} keeps such rows.",
                    text,
                    are,
                    Option("keep_empty", True),
                )
            elif self.is_model:
                yield f"{text}, kept because a model needs all of its rows."
            else:
                yield f"{text}, kept: do not list their neighbours."

    def stream(self, role: SideName) -> Stream:
        """Return the vectors of a side, computed while they are read."""
        require_one_of(role, "role", self.roles, "ask fix for it")
        vectors, kept = self._mapped_rows(role), self._kept(role)
        n_blocks = sum(1 for _ in row_blocks(*vectors.x.shape))
        if kept is None:
            return Stream(vectors.shape, vectors.dtype, vectors.blocks, n_blocks)
        is_kept = np.zeros(len(vectors), dtype=bool)
        is_kept[kept] = True

        def blocks() -> Iterator[tuple[slice, Matrix]]:
            start = 0
            for rows, block in vectors.blocks():
                kept_block = block[is_kept[rows]]
                yield slice(start, start + len(kept_block)), kept_block
                start += len(kept_block)

        return Stream((len(kept), vectors.width), vectors.dtype, blocks, n_blocks)

    def _mapped_rows(self, role: SideName) -> Mapped:
        """Return the vectors of all rows of a side, also of rows without direction."""
        return Mapped(self.model.factors(role), self.maps[role], self.columns)

    def vectors(self, role: SideName | None = None) -> Matrix:
        """Compute the vectors of a side in memory.

        The default is the right side, or the only side.
        """
        *_, last = self.roles
        stream = self.stream(last if role is None else role)
        result = np.empty(stream.shape, dtype=stream.dtype)
        for rows, block in stream.blocks():
            result[rows] = block
        return result

    def to_model(self) -> FactorModel:
        """Return the vectors as an equivalent model, or one side as vectors."""
        fields = self._fields()
        fields |= {name: self.vectors(role) for name, role in self._places().items()}
        return FactorModel.from_arrays(**{"left": None, **fields})

    def _places(self) -> dict[str, SideName]:
        """Map each field of a model to the side that it holds.

        A table of vectors is always a right side.
        """
        if len(self.roles) == 2:
            return {"left": "left", "right": "right"}
        return {"right": next(iter(self.roles))}

    def _fields(self) -> dict[str, Any]:
        """Return the fields of a model of the vectors, other than the vectors."""
        if len(self.roles) == 1:
            return self._table_fields(self.roles[0])
        names = ("link", "offset", "roles", *ROW_FIELDS)
        fields = {name: getattr(self.model, name) for name in names}
        return {**fields, **self.biases, "objective": self.objective}

    def _table_fields(self, role: SideName) -> dict[str, Any]:
        """Return the fields of a table of the vectors of one side."""
        model = self.model
        side, kept = model.side(role), self._kept(role)
        fields: dict[str, Any] = {
            f"right_{name}": getattr(side, name) for name in ("ids", "names", "aside")
        }
        if kept is not None:
            # Rows without ids are known by their numbers, which would change if some
            # rows were left out.
            if side.ids is None:
                fields["right_ids"] = np.arange(len(side))
            for name, values in fields.items():
                if values is not None:
                    fields[name] = np.asarray(values)[kept]
        is_alone = self.kind in ("centred", "aligned", "rotated") and model.left is None
        has_predictions = is_alone or bool(self.description)
        # A head without its lengths would predict otherwise. Rows that training
        # compared by cosine do not need them.
        if has_predictions and (model.compared is not None or not self.unit):
            fields["link"] = model.link
            fields["right_bias"] = model.right_bias
            fields["objective"] = self.objective
            fields |= self.biases
        elif self.objective == "prediction":
            fields["objective"] = self.objective
        fields["roles"] = (model.title(OPPOSITE[role]), model.title(role))
        return fields

    def write(self, path: AnyPath, *, force: bool = False) -> Path | str:
        """Write the vectors and read some of them back to verify the file.

        Parameters
        ----------
        path : path
            `.npz` holds all fields; `.parquet`, `.safetensors`, `.npy` and `.txt`
            (word2vec) hold one side. All are written one block of rows at a time. A
            format that holds ids alone loses the titles (`lost_fields` says so). The
            address of a table in a store, such as `qdrant:http://localhost:6333/items`,
            makes a new table with the metric that fits the vectors.
        force : bool
            True if an existing file or table may be replaced.

        Returns
        -------
        Path or str
            The written file, or the address of the written table.

        Raises
        ------
        InputError
            If the format cannot hold the vectors with their ids, if the file exists, or
            if the numbers read back differ.
        """
        is_table = writer_of(path).tables is not None
        if len(self.roles) > 1 and (is_table or plain_suffix(Path(path)) != ".npz"):
            raise must_be(
                f"vectors written as a {kind_of_output(path)}",
                "the vectors of one side",
                " and ".join(self._title(role) for role in self.roles),
                Sentence("choose one side with {}, or write .npz", Option("role")),
            )
        draft = self._in_file(path)[0]
        for role in self.roles:
            self._require_rows(role)
            self._require_room_for_ids(role, path, draft)
        if is_table:
            options = save_table(draft, path, self.metric, force=force)
            try:
                self._verify_table(path, draft, options)
            except InputError:
                remove_output(path)
                raise
            return os.fspath(path)
        target = as_path(path, "the output")
        save(draft, target, force=force)
        self.verify(target)
        return target

    def _require_rows(self, role: SideName) -> None:
        """Raise InputError if every row has no direction, so that none is written."""
        kept = self._kept(role)
        if kept is None or len(kept) > 0:
            return
        title = self.model.title(role)
        remedy = ""
        if self.kind == "centred":
            remedy = "the mean row was subtracted, which leaves nothing of equal rows"
        raise must_be(
            f"{self.kind} vectors",
            f"those of at least one {title} with a direction",
            f"{counted(len(self.empty[role]), title)} without one",
            remedy,
        )

    def _require_room_for_ids(
        self, role: SideName, target: AnyPath, draft: Draft
    ) -> None:
        """Raise InputError if rows would be left out and the file cannot hold ids.

        The file would give the rows after an omitted row other numbers.
        """
        has_ids = self.model.side(role).ids is not None
        if has_ids or self._kept(role) is None:
            return
        if "right_ids" in room_in(writer_of(target), draft):
            return
        count = counted(len(self.empty[role]), self.model.title(role))
        raise must_be(
            "the output",
            f"a file that can record ids, because {count} without a direction would be "
            "skipped",
            f"a {kind_of_output(target)}",
            Sentence(
                "write .npz or .parquet, or keep all rows with {}",
                Option("keep_empty", True),
            ),
        )

    def _in_file(self, path: AnyPath) -> tuple[Draft, Sentence]:
        """Return the fields that a file of a format gets, and sentences on the others.

        Titles can be joined again by ids.
        """
        fields, kind = self._fields(), kind_of_output(path)
        draft = Draft(
            {name: self.stream(role) for name, role in self._places().items()}, fields
        )
        room = room_in(writer_of(path), draft)
        lost: list[str | Sentence] = []
        if self.objective == "prediction" and "objective" not in room:
            lost.append(
                Sentence(
                    "A {} cannot say that these are prediction vectors: audit it with "
                    "{}.",
                    kind,
                    Option("objective", "prediction"),
                )
            )
        compared, tables = self.model.compared, writer_of(path).tables
        if tables is not None and not tables.states_metric(draft):
            metric = "dot product" if self.metric == "dot" else "cosine"
            lost.append(f"A {kind} states no metric: rank its rows by {metric}.")
        if compared is not None and tables is not None:
            lost.append(
                Sentence(
                    "A {} cannot say how training compared the rows: audit it with {}.",
                    kind,
                    Option("compared", compared),
                )
            )
        has_both = (
            fields.get("right_ids") is not None
            and fields.get("right_names") is not None
        )
        if has_both and "right_ids" in room and "right_names" not in room:
            fields["right_names"] = None
            lost.append(
                Sentence(
                    "A {} has ids and no titles: join them by id with {}.",
                    kind,
                    Option("items", placeholder="TABLE"),
                )
            )
        return draft, joined(lost)

    def lost_fields(self, path: AnyPath) -> str:
        """Name the fields that a file of the vectors loses, and options that help.

        The text is empty if the file holds all fields.
        """
        return str(self.losses(path))

    def losses(self, path: AnyPath) -> Sentence:
        """Return the sentences of `lost_fields`, with the options in them as data."""
        return self._in_file(path)[1]

    def verify(self, path: Path) -> None:
        """Compare the first, middle and last rows of a file with the vectors.

        Raises
        ------
        InputError
            If they differ.
        """
        for name, role in self._places().items():
            stored = stored_side(path, name)
            for rows, wanted in self._probes(role):
                _require_same(stored(rows), wanted, path, self.stream(role).dtype)

    def _verify_table(
        self, address: AnyPath, draft: Draft, options: Mapping[str, str]
    ) -> None:
        """Compare rows of a table in a store, as `verify` does."""
        (role,) = self.roles
        stored, are_unit = stored_table(address, draft.tokens, options)
        for rows, wanted in self._probes(role):
            if are_unit:
                lengths = np.linalg.norm(wanted, axis=1, keepdims=True)
                wanted = wanted / np.where(lengths > 0, lengths, 1)
            _require_same(stored(rows), wanted, address, np.dtype(np.float32))

    def _probes(self, role: SideName) -> Iterator[tuple[slice, Floats]]:
        """Yield the first, middle and last rows that are written, in float64.

        A write that stopped early, or a block in a wrong place, shows in one of these
        parts.
        """
        n = self.stream(role).shape[0]
        size = min(n, PROBES)
        kept = self._kept(role)
        for start in sorted({0, (n - size) // 2, n - size}):
            rows = slice(start, start + size)
            taken = rows if kept is None else kept[rows]
            factors = np.array(self.model.factors(role)[taken], dtype=np.float64)
            yield rows, self.maps[role](factors)


def _require_same(
    stored: NDArray[Any], wanted: Floats, path: AnyPath, written: np.dtype[Any]
) -> None:
    """Raise InputError if numbers that were read back differ from the vectors."""
    # Text of float32 reads back as float64, and some files hold float32 only, so use
    # the coarser precision of the two. The tolerance is relative to the largest number,
    # because a small entry is a sum of larger products, each with its rounding.
    precision = max(np.finfo(stored.dtype).eps, np.finfo(written).eps)
    tolerance = 8 * precision * np.abs(wanted).max()
    if stored.shape != wanted.shape or np.abs(stored - wanted).max() > tolerance:
        raise InputError(
            "{} must hold the vectors that were written; the vectors that were read "
            "back differ; write it again.",
            File(path),
        )


def _kind(remedy: Remedy) -> str | Sentence:
    """Describe the vectors in a clause, and add sentences on what they are good for."""
    if remedy.description:
        return remedy.description
    if remedy.kind in ("rotated", "aligned"):
        return _turned_words(remedy)
    if remedy.space_map is not None:
        return (
            f"mapped into the space of the new encoder. {remedy.space_map.conclusion}"
        )
    if remedy.kind == "prediction":
        cosine = _prediction_cosine(remedy.model, *remedy.roles)
        verb = "is" if remedy.reduction is None else "approximates"
        # If each row of scores is multiplied by a number of its own, rankings stay, but
        # prediction cosines can change. So equal rankings are not enough.
        condition = "predicts the same"
        if remedy.model.predicts is Equivalence.RANKINGS:
            condition = "has the same scores"
        return (
            f"whose plain cosine {verb} {cosine}. Every model that {condition} gives "
            "the same."
        )
    if remedy.kind == "centred":
        before = " before each was divided by its length" if remedy.unit else ""
        text = (
            f"with a mean of 0{before}. What a shift of all rows can do to their "
            "cosines is gone; what stretching the directions can do is not."
        )
        if remedy.model.left is None and remedy.model.link.name == "identity":
            return Sentence(
                "{} If these are factors of a dot product, which a shift changes, give "
                "the other side with {} or {}.",
                text,
                Option("left"),
                Option("left_file"),
            )
        return text
    if remedy.kind == "equal-length":
        left, right = remedy.model.title("left"), remedy.model.title("right")
        return (
            f"where all {right} vectors have one length: inner product, cosine and "
            f"Euclidean distance list the same {right}s for each {left}, in the order "
            f"of the scores and up to rounding. For similar {right}s use other vectors."
        )
    convention = _CONVENTIONS[remedy.kind].format(
        left=remedy.model.title("left"), right=remedy.model.title("right")
    )
    predictions = (
        "The predictions stay the same. Other gauges predict the same, too, so this "
        "choice turns no NO of an audit into a YES."
    )
    if remedy.reduction is not None:
        predictions = "The predictions change by the dropped directions."
    return (
        f"in the {remedy.kind} gauge: {convention}. {predictions} Name the gauge when "
        "you report cosines, and use it for every model you compare."
    )


def _turned_words(remedy: Remedy) -> str:
    """Describe vectors in other axes in a clause."""
    if remedy.alignment is not None:
        return _aligned_words(remedy.alignment)
    text = (
        "turned to their principal axes, the longest first. Lengths, cosines and dot "
        "products stay, and the first columns hold as much of the directions as so few "
        "can."
    )
    if len(remedy.roles) == 1:
        text += (
            " If they are multiplied with vectors of another side, rotate both sides "
            "together."
        )
    return text


def _aligned_words(alignment: Alignment) -> str:
    """Describe aligned vectors in a clause, and say if they mix with old vectors."""
    if alignment.keeps_cosines:
        unchanged = "They are only turned, so that their cosines stay."
        if len(alignment.sides) == 1:
            unchanged += (
                " If they are multiplied with vectors of another side, align both "
                "sides together."
            )
    elif alignment.shifts:
        unchanged = "Every probability and bias stays."
    else:
        unchanged = "Every score and bias stays."
    return f"in the coordinates of the old model. {unchanged} {alignment.conclusion}"


def _prediction_cosine(model: FactorModel, role: SideName) -> str:
    """Name the numbers of the prediction cosine, and how they are centred.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0], [2.0]], [[3.0]], offset=3.0)
    >>> print(_prediction_cosine(model, "right"))
    the cosine of the items' scores over all 2 users, without the offset
    >>> biased = model.replace(right_bias=[1.0])
    >>> print(_prediction_cosine(biased, "left"))
    the cosine of the users' scores over the one item, each item's centred over the
    users, so that no bias enters
    """
    users, items = model.roles
    own, other = (items, users) if role == "right" else (users, items)
    n_others = len(model.factors(OPPOSITE[role]))
    over = f"all {n_others:,} {other}s" if n_others > 1 else f"the one {other}"
    text = f"the cosine of the {own}s' {model.link.noun} over {over}"
    centred = []
    if "left" in model.centred_sides:
        centred.append(f"each {items}'s centred over the {users}s")
    if "right" in model.centred_sides:
        centred.append(f"each {users}'s centred over the {items}s")
    if centred:
        text += f", {' and '.join(centred)}"
    if not model.link.sees_biases:
        return text
    if model.left_bias is not None or model.right_bias is not None:
        text += ", so that no bias enters"
    elif model.offset and not centred:
        text += ", without the offset"
    return text
