"""The audit: verify that predictions stay, collect how cosines move, and conclude."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from embaudit._version import __version__
from embaudit.auditing.answer import Answer, answer
from embaudit.auditing.evidence import Evidence, gather
from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.findings import conclusions
from embaudit.auditing.heads import HeadReport, declare
from embaudit.auditing.identity import fingerprint, score_sample
from embaudit.auditing.options import Options, effort_of
from embaudit.auditing.texts import VERDICT, thresholds_of
from embaudit.auditing.wording import kind_of, names_of
from embaudit.canonical.equivalents import EquivalentModel
from embaudit.core.checked import RNG, as_list, as_seed, is_integer, keywords_besides
from embaudit.core.plain import SCHEMA_VERSION, frame_of, plain, plain_dict
from embaudit.core.results import Drawn, Picture
from embaudit.errors import InputError, must_be, with_taker
from embaudit.gauges import GaugeGroup
from embaudit.io import OPTIONS, Intake, as_reading, source_of, with_titles
from embaudit.io.files import AnyPath
from embaudit.io.tables.parts import Parts, has_titles, parts_by_column
from embaudit.model import (
    Comparison,
    FactorModel,
    Pairs,
    Role,
    Softmax,
    comparing,
    with_objective,
)
from embaudit.model.drift import Drift
from embaudit.model.final_norm import FinalNorm
from embaudit.movements.movement import Movement

if TYPE_CHECKING:
    import pandas as pd

ASKS = {
    "properties": {
        "code": {"pattern": "^EMB[0-9]{3}$"},
        "severity": {"enum": ["tip", "issue"]},
    }
}
"""Restriction of the JSON of findings that ask for something."""
ASKS_NOTHING = {
    "properties": {"code": {"pattern": "^[a-z_]+$"}, "severity": {"enum": ["note"]}}
}
"""Restriction of the JSON of notes."""


@dataclass(frozen=True)
class EquivalentMovement:
    """Movement of cosines from your model to an equivalent one: on average, at most, and in the lists of neighbours."""

    model: EquivalentModel
    """The equivalent model."""
    movement: Movement
    """Movement of the cosines of one role."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                **plain(self.model),
                **plain(self.movement),
            }
        )


@dataclass(frozen=True)
class EquivalentDrift:
    """Drift of predictions where they must not move. Rounding explains some; more fails the check (EMB001)."""

    model: EquivalentModel
    """The equivalent model."""
    drift: Drift
    """Drift of its predictions."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                **plain(self.model),
                **plain(self.drift),
            }
        )


@dataclass(frozen=True, eq=False)
class Audit(Drawn):
    """Result of an audit: the evidence, the findings and the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.normal(size=(30, 4)), draw.normal(size=(20, 4)), objective="product")
    >>> result = audit(model, n_gauges=2)
    >>> result.evidence.predictions_hold, [finding.code for finding in result.findings]
    (True, ['EMB101'])
    """

    model: FactorModel
    """The model at hand."""
    evidence: Evidence
    """Everything measured; of a softmax head with very many labels, on a sample of them."""
    source: str | None = None
    """Path or name that the model was read from; None for a model that was there already."""
    intake: Intake | None = None
    """Report of the read; None for a model that was there already."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "embaudit_version": self.embaudit_version,
                "schema_version": self.schema_version,
                "seed": self.evidence.seed,
                "input": {
                    "source": self.source,
                    "fingerprint": self.fingerprint,
                    "intake": self.intake,
                },
                "options": self.options,
                "model": self.model_record,
                "score_sample": self.score_sample,
                "group": {
                    "max_condition": self.options.max_condition,
                    "kinds": self.kinds,
                    "n_equivalents": len(self.evidence.equivalents),
                },
                "drift": self.drift_records,
                "movement": self.movement_records,
                "ranges": self.evidence.limits.ranges,
                "certificates": self.evidence.limits.certificates,
                "attacks": self.evidence.limits.attacks,
                "traits": self.evidence.traits,
                "fibre": self.evidence.equivalence,
                "position": self.evidence.position,
                "unseen": self.evidence.unseen,
                "penalty": self.evidence.penalty,
                "predicted": self.evidence.predicted,
                "head": self.head,
                "final_norm": self.evidence.norm,
                "neighbours": {
                    "gauge": self.evidence.examples_gauge,
                    "examples": self.evidence.examples,
                    "beside_bias": self.evidence.beside_bias,
                },
                "thresholds": self.evidence.thresholds,
                "findings": self.findings,
                "notes": self.notes,
                "answer": self.answer,
                "verdict": self.verdict,
            }
        )

    @property
    def embaudit_version(self) -> str:
        """The version of embaudit that wrote this."""
        return __version__

    @property
    def schema_version(self) -> Literal[1]:
        """Raised when a field is renamed, goes away, or changes its type or meaning; fields are added without."""
        return SCHEMA_VERSION

    @property
    def score_sample(self) -> dict[str, Any] | None:
        """Scores of a few rows, with which `--baseline` compares those of a later model; None of one side alone.

        Columns
        -------
        left : list[str]
            Ids of the rows; without ids "row" and their numbers.
        right : list[str]
            Ids of the columns.
        values : list[list[float]]
            Scores, a list for each row, less its mean.
        """
        return score_sample(self.model)

    @property
    def kinds(self) -> list[str]:
        """Kinds of gauges of the equivalent models."""
        return list(dict.fromkeys(model.kind for model in self.evidence.equivalents))

    @property
    def options(self) -> Options:
        """Options of the audit, besides the seed and the thresholds: given again, they give the same numbers."""
        return self.evidence.options

    @property
    def predictions_hold(self) -> bool:
        """True if rounding explains every change of a prediction; if not, nothing else can be trusted."""
        return self.evidence.predictions_hold

    @property
    def head(self) -> HeadReport | None:
        """Measurements of a softmax head besides; None of any other model."""
        return self.evidence.head

    @cached_property
    def conclusions(self) -> tuple[Finding, ...]:
        """All findings, then all notes, with their certainty and scope."""
        return conclusions(self.evidence)

    @cached_property
    def findings(self) -> tuple[Annotated[Finding, ASKS], ...]:
        """Conclusions that ask for something, with code, severity and remedy.

        Findings about the requested pairs come first. Within each group, the most
        severe come first.
        """
        return tuple(
            finding for finding in self.conclusions if finding.severity > Severity.NOTE
        )

    @property
    def notes(self) -> tuple[Annotated[Finding, ASKS_NOTHING], ...]:
        """Conclusions that ask for nothing."""
        return tuple(
            finding for finding in self.conclusions if finding.severity is Severity.NOTE
        )

    @cached_property
    def answer(self) -> Answer:
        """Answer to the question if the cosines can be read as similarity, with the reason and the advice."""
        model, role = self.evidence.model, self.evidence.role
        cosines = f"{Pairs(role).titled(model)} cosines"
        return answer(
            self.conclusions,
            role,
            cosines=cosines,
            kind=kind_of(model),
            names=names_of(model, role),
        )

    @cached_property
    def reasons(self) -> tuple[Finding, ...]:
        """The conclusions that the verdict is written from, in its order."""
        role = self.evidence.role
        about = [
            finding for finding in self.conclusions if finding.role in (None, role)
        ]
        # EMB301 begins with the shift that the note `free` of a head would name again.
        again = "free" if any(finding.code == "EMB301" for finding in about) else None
        return tuple(
            finding
            for code in VERDICT
            for finding in about
            if finding.code == code != again
        )

    @cached_property
    def verdict(self) -> str:
        """One paragraph in plain words."""
        texts = dict.fromkeys(
            (*(finding.text for finding in self.reasons), self.answer.advice)
        )
        return " ".join(filter(None, texts))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of factors and biases: equal for equal numbers."""
        return fingerprint(self.model)

    @property
    def worst(self) -> Severity | None:
        """Severity of the gravest finding, None without findings."""
        return max((finding.severity for finding in self.findings), default=None)

    def __repr__(self) -> str:
        codes = ", ".join(finding.code for finding in self.findings) or "no findings"
        return f"Audit({self.model!r}, {len(self.evidence.equivalents)} equivalent models, {codes})"

    def explain(self) -> str:
        """Return the answer, the verdict, and a line for each finding."""
        lines = (
            f"{f.code} {f.severity.title}: {f.title}. {f.remedy}" for f in self.findings
        )
        return "\n".join([str(self.answer), self.verdict, *lines])

    def plot(self, ax: Any = None, *, role: Role | None = None) -> Picture:
        """Draw how far the cosines of a role, the first by default, move to every equivalent model."""
        return self._drawn(ax, role=role)

    def plot_heatmap(
        self,
        ax: Any = None,
        *,
        role: Role | str | None = None,
        groups: str | Iterable[Any] | None = None,
        show: Sequence[str] = (),
        n_rows: int = 400,
        beside: Sequence[str] | None = None,
    ) -> Picture:
        """Draw the cosines between some rows of a side, beside those in the equivalent models of this audit.

        The parameters are those of `embaudit.plot_heatmap`; the side is the one that the answer speaks of by default.
        """
        rows = {"role": role, "groups": groups, "show": show, "n_rows": n_rows}
        return self._drawn(ax, "heatmap", beside=beside, **rows)

    def plot_prediction_cosines(
        self, ax: Any = None, *, role: Role | str | None = None, n_pairs: int = 100_000
    ) -> Picture:
        """Draw the cosine at hand against the prediction cosine; see `embaudit.plot_prediction_cosines`."""
        return self._drawn(ax, "prediction", role=role, n_pairs=n_pairs)

    def plot_certified_curve(
        self, ax: Any = None, *, role: Role | None = None
    ) -> Picture:
        """Draw the share of neighbour lists that is certain to stay against κ, and what attacks left in place."""
        return self._drawn(ax, "certified", role=role)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each equivalent model and role: how its cosines moved, how its predictions did.

        Columns are those of the JSON's `movement` records, and `drift`, `drift_tolerance` and `drift_ok`.
        """
        import pandas as pd

        frame = frame_of(map(plain, self.movement_records)).drop(
            columns="quantiles", errors="ignore"
        )
        drift = frame_of(map(plain, self.drift_records))[
            ["gauge", "max_abs", "tolerance", "ok"]
        ]
        drift.columns = pd.Index(["gauge", "drift", "drift_tolerance", "drift_ok"])
        return frame.merge(drift, on="gauge") if len(frame) else drift

    @property
    def movement_records(self) -> list[EquivalentMovement]:
        """Movement of the cosines, one record an equivalent model and role."""
        pairs = zip(self.evidence.equivalents, self.evidence.movement, strict=True)
        return [
            EquivalentMovement(model, movement)
            for model, movements in pairs
            for movement in movements
        ]

    @property
    def drift_records(self) -> list[EquivalentDrift]:
        """Drift of the predictions, one record an equivalent model."""
        pairs = zip(self.evidence.equivalents, self.evidence.drift, strict=True)
        return [EquivalentDrift(model, drift) for model, drift in pairs]

    @property
    def model_record(self) -> dict[str, Any]:
        """The model at hand.

        Columns
        -------
        roles : tuple[str, str]
            Nouns for the left and the right rows.
        n_left : int
            Left rows; 0 where there are none.
        n_right : int
            Right rows.
        rank : int
            Columns.
        link : str
            Link from scores to predictions: identity, softmax, sigmoid, cosine, ranking, or compared-cosine and
            compared-dot for rows of one table.
        predicts : str
            Level that equivalent models have in common: scores, probabilities, rankings or cosines.
        dtype : str
            Type of the right factors.
        left_bias : bool
            True if left rows have a bias.
        right_bias : bool
            True if right rows have a bias.
        objective : str | None
            Training objective. Some objectives choose one of the equivalent models, and some leave all of them open.
        """
        model = self.model
        return {
            "roles": model.roles,
            "n_left": model.n_left,
            "n_right": model.n_right,
            "rank": model.rank,
            "link": str(model.link),
            "predicts": model.predicts.title,
            "dtype": str(model.right.dtype),
            "left_bias": model.left_bias is not None,
            "right_bias": model.right_bias is not None,
            "objective": model.objective,
        }


def declared(
    model: FactorModel,
    *,
    compared: Any,
    objective: Any,
    soft_cap: Any,
    normalised: bool,
) -> FactorModel:
    """Return a model with what the options of an audit declare of it."""
    return declare(
        with_objective(comparing(model, compared), objective),
        soft_cap,
        normalised=normalised,
    )


def _parts_of(
    model: FactorModel,
    intake: Intake | None,
    items: AnyPath | None,
    by: str | Sequence[str | None] | Parts | None,
) -> Parts | None:
    """Return the known parts of one table: those that the caller names, else the files that it was read from."""
    is_one_table = model.left_side is None and not isinstance(model.link, Softmax)
    if by is None:
        if intake is None or not is_one_table:
            return None
        return Parts.from_files(intake.rows_of_files)
    if not is_one_table:
        raise must_be(
            "by",
            "left out unless the model is one table of vectors",
            "a softmax head" if model.left_side is None else "a model of two sides",
        )
    if isinstance(by, Parts):
        return by
    if isinstance(by, str):
        return parts_by_column(model.right_side, items, by)
    return Parts.from_names(as_list(by, "by", '["old", "new"]'), model.n_right)


def _declared_by(intake: Intake | None, own: object, former: str | None) -> str:
    """Name the source of the training, or of how rows are compared, and what the source says that you overrule."""
    source = None if intake is None else intake.training_source
    if own is None:
        return "as you declared" if source is None else f"as {source} says"
    return "as you declared" + (
        f"; {source or 'the model'} says {former}" if former not in (None, own) else ""
    )


@keywords_besides(OPTIONS)
def audit(
    model: FactorModel | AnyPath | object,
    *,
    left: Any = None,
    bias: Any = None,
    ids: Any = None,
    items: AnyPath | None = None,
    by: str | Sequence[str | None] | Parts | None = None,
    labels: Any = None,
    inputs: Any = None,
    left_name: str | None = None,
    right_name: str | None = None,
    groups: Sequence[str | GaugeGroup] | None = None,
    roles: Sequence[Role | str] | None = None,
    role: Role | str | None = None,
    quick: bool = False,
    n_gauges: int | None = None,
    n_pairs: int | None = None,
    n_lists: int | None = None,
    n_neighbours: int | None = None,
    n_starts: int | None = None,
    n_steps: int | None = None,
    max_condition: float = 2.0,
    show: Sequence[str] = (),
    objective: str | None = None,
    compared: Comparison | None = None,
    soft_cap: float | None = None,
    normalised: bool = False,
    final_norm: FinalNorm | None = None,
    thresholds: Mapping[str, float] | None = None,
    source: str | None = None,
    rng: RNG = 0,
    **reading: Any,
) -> Audit:
    """Audit the cosines of a model: how far do they move while every prediction stays the same?

    Parameters
    ----------
    model : FactorModel, path, list of paths, array, data frame or object
        One side or both: a model, what `load` reads, `embaudit.io.read` returns or `from_object` takes; a data frame of
        pandas, polars, Arrow or DuckDB; AnnData; an array, one row an item.
    left : array or path, optional
        Left factors beside an array or a fitted decomposition; the name of theirs in a file of several arrays.
    bias, ids, labels : array, optional
        Biases, ids and names of the right rows, or where a file holds them (see `load`). A bias makes an array a head.
    items : path, optional
        Table with titles of the right rows, joined by ids; `embaudit.io.with_titles` has more ways to join it.
    by : str or sequence of str, optional
        The parts of one table: a column of `items`, or one name for each row. Parts are compared with each other: do
        they share one coordinate system? Several files read as one table are such parts without this option.
    inputs : array or path, optional
        What the rows are multiplied with.
    left_name, right_name : str, optional
        What one row of a side is called, such as "text" and "image".
    groups : sequence of str or GaugeGroup, optional
        Families of equivalent models ("canonical", "diagonal", "linear", "orthogonal", "translation", "affine") or
        groups of your own; all that keep the predictions by default.
    roles : sequence of {"left", "right", "cross"}, optional
        Which cosines; all that the model has by default.
    role : {"left", "right", "cross"}, optional
        Which of them the answer and the verdict speak of, and whose neighbours are shown; "right" by default.
    quick : bool
        Fewer samples, for a first look: 2 random draws from each group, 20,000 pairs, 100 lists, and attacks of 5 steps
        from 1 start; sizes that are given go before these. Intervals are wider, an attack may find less, and what is
        proven stays the same.
    n_gauges : int, optional
        Random draws from each group; 8 by default.
    n_pairs : int, optional
        Pairs to draw without replacement, 100,000 by default; all where there are no more.
    n_lists : int, optional
        Rows of a side whose neighbour lists are compared, at most; 400 by default.
    n_neighbours : int, optional
        N of the neighbour lists; a third of the other rows of a side by default, 10 at most, and for 0, as JSON has it.
    n_starts, n_steps : int, optional
        Starting points of each attack, and steps from each, 3 and 20 by default; above 256 dimensions one, and half as
        many. With `n_starts=0` there are no attacks, which take most of the time of an audit of a small model; exact
        ranges and certified lists stay.
    max_condition : float
        Budget of the random linear gauges: largest stretch over smallest.
    show : sequence of str
        Ids or titles of rows whose neighbours to show; a few drawn ones by default.
    objective : str, optional
        How the model was trained, where it does not say so itself: a word such as "implicit-als", "clip" or
        "word2vec", or the name of a law. `embaudit explain objectives` lists them.
    compared : {"cosine", "dot", "distance", "hyperbolic"}, optional
        How predictions compare the rows of one table with each other, as those of sentence encoders do.
    soft_cap : float, optional
        Declares that a softmax head caps its logits, `c · tanh(s/c)`: then translations change probabilities.
    normalised : bool
        Declares that a softmax head divides its label rows by their lengths: then only rotations keep them.
    final_norm : FinalNorm, optional
        What normalises the states of a network before its head; by default what was read with the model.
    thresholds : mapping of str to float, optional
        From which numbers on something is reported, by the names in `embaudit.auditing.texts`.
    source : str, optional
        Where the model came from, for the report; the path, if one was given.
    rng : numpy Generator or int
        The same seed gives the same numbers. The seed that the JSON holds is the one given, or the first number drawn
        from a generator, which gives the same audit again.
    **reading
        Further options of `load`, such as `kind`, `weight`, `transpose`, `left_ids` and `link`.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        For parameters outside their sets.
    """
    source = source_of(model) if source is None else source
    reported, seed = (
        thresholds_of({} if thresholds is None else thresholds),
        as_seed(rng),
    )
    beside = {
        "left": left,
        "bias": bias,
        "ids": ids,
        "labels": labels,
        "inputs": inputs,
    }
    read, intake = as_reading(
        model, **beside, left_name=left_name, right_name=right_name, **reading
    )
    # A table of ids and parts has no titles.
    if items is not None and not (isinstance(by, str) and not has_titles(items)):
        try:
            read, _ = with_titles(read, items)
        except InputError as error:
            raise with_taker(error, "embaudit.io.with_titles") from error
    parts = _parts_of(read, intake, items, by)
    audited = declared(
        read,
        compared=compared,
        objective=objective,
        soft_cap=soft_cap,
        normalised=normalised,
    )
    sizes = {
        "n_gauges": n_gauges,
        "n_pairs": n_pairs,
        "n_lists": n_lists,
        "n_starts": n_starts,
        "n_steps": n_steps,
    }
    options = Options(
        quick=quick,
        effort=effort_of(quick=quick, **sizes),
        roles=None
        if roles is None
        else tuple(audited.role(each) for each in as_list(roles, "roles", '["item"]')),
        n_neighbours=None
        if is_integer(n_neighbours) and n_neighbours == 0
        else n_neighbours,
        max_condition=max_condition,
        show=tuple(as_list(show, "show", '["Heat"]')),
        groups=() if groups is None else tuple(as_list(groups, "groups", '["linear"]')),
        role=None if role is None else audited.role(role),
        objective=objective,
        compared=compared,
        soft_cap=soft_cap,
        normalised=normalised,
        by=None if by is None or parts is None else parts.column or "names",
    )
    evidence = gather(
        audited,
        options,
        final_norm=audited.final_norm if final_norm is None else final_norm,
        parts=None if parts is None else parts.names,
        rng=seed,
    )
    declared_by = _declared_by(
        intake, objective or compared, objective and read.objective
    )
    return Audit(
        audited,
        replace(evidence, thresholds=reported, declared_by=declared_by),
        source,
        intake,
    )
