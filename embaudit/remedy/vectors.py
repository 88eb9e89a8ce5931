"""Vectors that are computed when they are asked for, a chunk of rows at a time, and written with a check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, Matrix, Vector, require_one_of
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.words import counted, drawn_of, percent
from embaudit.errors import InputError, Option, Sentence, joined, must_be
from embaudit.io.catalogue import writer_of
from embaudit.io.codecs.arrays import Stream
from embaudit.io.files import AnyPath, as_path, plain_suffix
from embaudit.io.saving import Draft, room_in, save, stored_side
from embaudit.linalg.mapped import Mapped, RowMap
from embaudit.model import OPPOSITE, Equivalence, FactorModel, SideName

if TYPE_CHECKING:
    import pandas as pd

PROBES = 4096
"""Rows, and pairs of rows, that a check looks at."""
_CONVENTIONS = {
    "balanced": "each direction is shared out equally between the two sides",
    "left-whitened": "the {left}s are whitened and the {right}s' cosines are prediction cosines",
    "right-whitened": "the {right}s are whitened and the {left}s' cosines are prediction cosines",
}


@dataclass(frozen=True)
class TruncationLoss:
    """Cost of keeping the leading directions only."""

    dimensions: int
    """Directions kept."""
    rank: int
    """Directions that the predictions see."""
    energy_lost: float
    """Share of the scores' sum of squares that is dropped; no choice of so many
    directions drops less.
    """
    largest_singular_value_lost: float
    """Norm of what is dropped from the score matrix: no score moves by more."""
    mean_cosine_error: float
    """Mean absolute change of the cosines, over these pairs."""
    max_cosine_error: float
    """Largest absolute change of the cosines, over these pairs."""
    n_pairs: int
    """Pairs looked at, drawn without replacement."""
    n_all_pairs: int
    """Pairs there are."""


@dataclass(frozen=True, eq=False)
class Remedy(Result):
    """The vectors of one kind, not yet computed."""

    model: FactorModel
    """The model they are made of."""
    kind: str
    """One of `KINDS`."""
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
    """The cost of fewer dimensions, where some were dropped."""
    objective: str | None = None
    """The training objective, where it keeps its value: the vectors are as good a solution then.

    Vectors that hold prediction cosines, none of them dropped, have the objective "prediction"."""
    description: str = ""
    """Description of the vectors in words, where they are a head behind a final norm,
    or rows as they are.
    """
    keep_empty: bool = False
    """True if rows without direction are kept in a table of vectors."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "kind": self.kind,
                "roles": self.roles,
                "columns": self.columns,
                "unit": self.unit,
                "reduction": self.reduction,
                "explanation": str(self),
            }
        )

    def __repr__(self) -> str:
        sides = " and ".join(self._title(role) for role in self.roles)
        return f"Remedy({self.kind} vectors of {sides}, {counted(self.columns, 'dimension')})"

    @property
    def is_model(self) -> bool:
        """True if the vectors make a model or a head, which needs all of its rows; else they are a table."""
        if len(self.roles) == 2:
            return True
        is_head = self.model.left is None and self.model.link.name != "identity"
        is_folded = self.kind.startswith("folded")
        return (is_head or is_folded) and self.model.compared is None and not self.unit

    @cached_property
    def empty(self) -> dict[SideName, Indices]:
        """Rows of each side that have no direction: zero as stored, or zero once mapped.

        A row of zeros holds nothing that was learned, such as that of an item without
        interactions. Centring would give it a direction, which is that of the mean row.
        """
        found: dict[SideName, Indices] = {}
        for role in self.roles:
            # Lengths of the stored rows are known to be finite, so that squares
            # suffice.
            is_empty = self.model.side(role).norms == 0
            for rows, block in self._mapped_rows(role).blocks():
                is_empty[rows] |= ~block.any(axis=1)
            found[role] = np.flatnonzero(is_empty)
        return found

    def _kept(self, role: SideName) -> Indices | None:
        """Return the rows of a side that are written; None for all of them."""
        empty = self.empty[role]
        if self.is_model or self.keep_empty or not len(empty):
            return None
        rows = np.arange(len(self.model.side(role)))
        return np.delete(rows, empty)

    def _title(self, role: SideName) -> str:
        return f"{self.model.title(role)}s"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each entity: its id and title, where it has one, and its vector.

        Columns are `id`, `title` and `vector`, before them `role` where there are two sides.
        """
        import pandas as pd

        tables = []
        for role in self.roles:
            side, kept = self.model.side(role), self._kept(role)
            ids = np.arange(len(side)) if side.ids is None else side.ids
            rows = slice(None) if kept is None else kept
            columns = {
                "role": role,
                "id": np.asarray(ids)[rows],
                "title": np.asarray(self.model.names(role))[rows],
                "vector": [*self.vectors(role)],
            }
            tables.append(pd.DataFrame(columns))
        return pd.concat(tables, ignore_index=True).drop(
            columns=["role"] * (len(tables) == 1)
        )

    def explain(self) -> str:
        """Describe in plain words the vectors, and their use.

        Examples
        --------
        >>> from embaudit.remedy import fix
        >>> print(fix(FactorModel.from_user_item([[2.0]], [[1.0], [3.0]])).explain())
        item vectors of 1 dimension, whose plain cosine is the cosine of the items' scores over the one user. Every ...
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
            if self.unit:
                texts.append(
                    "Index them by dot product or cosine, which are the same for them."
                )
            else:
                texts.append("Index them by cosine.")
            if self.unit and self.kind != "prediction":
                texts.append(
                    "Without their lengths they are vectors to compare, and predict "
                    "nothing."
                )
        # Centred and folded rows can stand in the network in place of the head.
        are_heads = self.kind == "centred" or self.kind.startswith("folded")
        tying = self.model.tying
        if are_heads and tying is not None and tying.warning:
            texts.append(tying.warning)
        return joined([*texts, *self._empty_rows()])

    def _empty_rows(self) -> Iterator[str | Sentence]:
        """Yield a sentence about the rows without direction of each side that has some."""
        for role, rows in self.empty.items():
            if not len(rows):
                continue
            names = [str(name) for name in np.asarray(self.model.names(role))[rows[:5]]]
            shown = ", ".join(names) + (", ..." if len(rows) > len(names) else "")
            have = "has" if len(rows) == 1 else "have"
            text = f"{counted(len(rows), self.model.title(role))} {have} no direction ({shown})"
            if self._kept(role) is not None:
                verb = "is" if len(rows) == 1 else "are"
                yield Sentence(
                    "{} and {} left out; {} keeps such rows.",
                    text,
                    verb,
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
                some = block[is_kept[rows]]
                yield slice(start, start + len(some)), some
                start += len(some)

        return Stream((len(kept), vectors.width), vectors.dtype, blocks, n_blocks)

    def _mapped_rows(self, role: SideName) -> Mapped:
        """Return the vectors of all rows of a side, those without direction too."""
        return Mapped(self.model.factors(role), self.maps[role], self.columns)

    def vectors(self, role: SideName | None = None) -> Matrix:
        """Compute the vectors of a side in memory: the right one, or the only one there is, by default."""
        *_, last = self.roles
        stream = self.stream(last if role is None else role)
        result = np.empty(stream.shape, dtype=stream.dtype)
        for rows, block in stream.blocks():
            result[rows] = block
        return result

    def to_model(self) -> FactorModel:
        """Return the vectors as a model: an equivalent one, or for one side a table of vectors with ids."""
        fields = self._fields()
        fields |= {name: self.vectors(role) for name, role in self._places().items()}
        return FactorModel.from_arrays(**{"left": None, **fields})

    def _places(self) -> dict[str, SideName]:
        """Map each field of a model to the side it holds: a table of vectors is always a right side."""
        if len(self.roles) == 2:
            return {"left": "left", "right": "right"}
        return {"right": next(iter(self.roles))}

    def _fields(self) -> dict[str, Any]:
        """Return the fields of the model that the vectors make: links, biases, ids and names that still hold."""
        model = self.model
        if len(self.roles) == 1:
            (role,) = self.roles
            side, kept = model.side(role), self._kept(role)
            labels = {
                f"right_{name}": getattr(side, name)
                for name in ("ids", "names", "aside")
            }
            if kept is not None:
                # Without ids rows go by their number, which leaving some out would
                # change.
                labels["right_ids"] = (
                    np.arange(len(side)) if side.ids is None else side.ids
                )
                labels = {
                    name: None if values is None else np.asarray(values)[kept]
                    for name, values in labels.items()
                }
            predicts: dict[str, Any] = (
                {"objective": self.objective} if self.objective == "prediction" else {}
            )
            alone = bool(self.description) or (
                self.kind == "centred" and model.left is None
            )
            # A head without its lengths would predict otherwise; rows that training
            # compared are of kind prediction.
            if alone and (self.kind == "prediction" or not self.unit):
                predicts = {
                    "link": model.link,
                    "right_bias": model.right_bias,
                    "objective": self.objective,
                }
                predicts |= self.biases
            other = OPPOSITE[role]
            return {
                **labels,
                **predicts,
                "roles": (model.title(other), model.title(role)),
            }
        names = ("link", "left_bias", "right_bias", "offset", "roles", "left_ids", "right_ids", "left_names",
                 "right_names", "left_counts", "right_counts", "left_aside", "right_aside")  # fmt: skip
        return {
            **{name: getattr(model, name) for name in names},
            **self.biases,
            "objective": self.objective,
        }

    def write(self, path: AnyPath, *, force: bool = False) -> Path:
        """Write the vectors and read some of them back to verify the file.

        Parameters
        ----------
        path : path
            `.npz` holds everything; `.parquet`, `.safetensors`, `.npy` and `.txt`
            (word2vec) hold one side. All are written a chunk at a time. Titles are left
            out where a format keeps the ids alone (`lost_fields` says so).
        force : bool
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            What was written.

        Raises
        ------
        InputError
            If the format has no room for all there is, the file exists, or what was
            read back differs.
        """
        target = as_path(path, "the output")
        if len(self.roles) > 1 and plain_suffix(target) != ".npz":
            sides, what = (
                " and ".join(self._title(role) for role in self.roles),
                plain_suffix(target),
            )
            raise must_be(
                f"vectors written as {what}",
                "those of one side",
                sides,
                "pass role, or write .npz",
            )
        draft = self._in_file(target)[0]
        # Without ids a file would give the rows after one that is left out other
        # numbers.
        for role in self.roles:
            bare = self.model.side(role).ids is None
            if (
                bare
                and self._kept(role) is not None
                and "right_ids" not in room_in(writer_of(target), draft)
            ):
                raise must_be(
                    "the output",
                    f"a file that can record ids, since {counted(len(self.empty[role]), self.model.title(role))} "
                    "without direction would be left out",
                    f"a {plain_suffix(target)} file",
                    Sentence(
                        "write .npz or .parquet, or keep all rows with {}",
                        Option("keep_empty", True),
                    ),
                )
        save(draft, target, force=force)
        self.verify(target)
        return target

    def _in_file(self, path: AnyPath) -> tuple[Draft, Sentence]:
        """Return the fields that a file of a format gets, and sentences on the others.

        Titles can be joined again by ids.
        """
        fields, suffix = self._fields(), plain_suffix(as_path(path, "the output"))
        draft = Draft(
            {name: self.stream(role) for name, role in self._places().items()}, fields
        )
        room = room_in(writer_of(path), draft)
        lost: list[str | Sentence] = []
        if self.objective == "prediction" and "objective" not in room:
            lost.append(
                Sentence(
                    "A {} file cannot say that these are prediction vectors: audit it "
                    "with {}.",
                    suffix,
                    Option("objective", "prediction"),
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
                    "A {} file has ids and no titles: join them by id with {}.",
                    suffix,
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
        """Compare a file with what it should hold, in its first, middle and last rows.

        Raises
        ------
        InputError
            If they differ.
        """
        for name, role in self._places().items():
            stored = stored_side(path, name)
            n = self.stream(role).shape[0]
            size = min(n, PROBES)
            # A write that stopped early, or put a chunk in the wrong place, shows in
            # one of these.
            for start in sorted({0, (n - size) // 2, n - size}):
                rows = slice(start, start + size)
                kept = self._kept(role)
                taken = rows if kept is None else kept[rows]
                wanted = self.maps[role](
                    np.array(self.model.factors(role)[taken], dtype=np.float64)
                )
                _require_same(stored(rows), wanted, path, self.stream(role).dtype)


def _require_same(
    stored: NDArray[Any], wanted: Floats, path: Path, written: np.dtype[Any]
) -> None:
    # Text of float32 reads back as float64, and some files hold float32 alone: the
    # coarser of both counts. Relative to the largest number: small entries carry the
    # rounding of a whole product.
    precision = max(np.finfo(stored.dtype).eps, np.finfo(written).eps)
    tolerance = 8 * precision * np.abs(wanted).max()
    if stored.shape != wanted.shape or np.abs(stored - wanted).max() > tolerance:
        raise InputError(
            f"{path} must hold the vectors that were written; what was read back differs; write it again."
        )


def _kind(remedy: Remedy) -> str | Sentence:
    """Describe the convention of the vectors in a clause."""
    if remedy.description:
        return remedy.description
    if remedy.kind == "prediction":
        is_ = "is" if remedy.reduction is None else "comes near"
        # Rankings stay where scores are multiplied by another number in each row, and
        # prediction cosines do not.
        same = (
            "has the same scores"
            if remedy.model.predicts is Equivalence.RANKINGS
            else "predicts the same"
        )
        cosine = _prediction_cosine(remedy.model, *remedy.roles)
        return f"whose plain cosine {is_} {cosine}. Every model that {same} gives the same."
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
    convention = _CONVENTIONS[remedy.kind].format(
        left=remedy.model.title("left"), right=remedy.model.title("right")
    )
    same = "stay the same and do not ask for this gauge: it turns no NO of an audit into a YES"
    if remedy.reduction is not None:
        same = "change by what is dropped, and do not ask for this gauge"
    return (
        f"in the {remedy.kind} gauge: {convention}. The predictions {same}. Name it where you report cosines, and use "
        "it for every model you compare."
    )


def _prediction_cosine(model: FactorModel, role: SideName) -> str:
    """Name the cosine: of which numbers, over whom, centred how.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0], [2.0]], [[3.0]], offset=3.0)
    >>> print(_prediction_cosine(model, "right"))
    the cosine of the items' scores over all 2 users, without the offset
    >>> print(_prediction_cosine(model.replace(right_bias=[1.0]), "left"))
    the cosine of the users' scores over the one item, each item's centred over the users, so that no bias enters
    """
    users, items = model.roles
    own, other = (items, users) if role == "right" else (users, items)
    count = len(model.factors(OPPOSITE[role]))
    numbers, sees_biases = model.link.noun, model.link.sees_biases
    over = f"all {count:,} {other}s" if count > 1 else f"the one {other}"
    sides = model.centred_sides
    centred = [f"each {items}'s centred over the {users}s"] if "left" in sides else []
    centred += [f"each {users}'s centred over the {items}s"] if "right" in sides else []
    how = f", {' and '.join(centred)}" if centred else ""
    if sees_biases and (model.left_bias is not None or model.right_bias is not None):
        how += ", so that no bias enters"
    elif not centred and model.offset and sees_biases:
        how = ", without the offset"
    return f"the cosine of the {own}s' {numbers} over {over}{how}"
