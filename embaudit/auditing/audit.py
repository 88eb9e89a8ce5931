"""The audit: verify that predictions stay, collect how cosines move, and conclude."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from inspect import Parameter, signature
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Unpack,
)

from embaudit._version import __version__
from embaudit.auditing.answer import Answer, answer
from embaudit.auditing.evidence import Evidence, gather
from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.findings import conclusions
from embaudit.auditing.heads import HeadReport, declare
from embaudit.auditing.identity import score_sample
from embaudit.auditing.keywords import AuditKeywords
from embaudit.auditing.options import OPTION_NAMES, AuditOptions, types_of_options
from embaudit.auditing.wide import (
    drawn_rows,
    quick_rows,
    quick_sentence,
    sample_sentence,
)
from embaudit.canonical.equivalents import EquivalentModel
from embaudit.core.checked import RNG, as_list, as_seed, keywords_besides
from embaudit.core.plain import SCHEMA_VERSION, frame_of, plain, plain_dict
from embaudit.core.results import Picture, PlottableResult
from embaudit.errors import InputError, must_be, with_taker
from embaudit.errors import Parameter as Keyword
from embaudit.heads.coordinates import require_softmax
from embaudit.heads.label_sample import only_labels
from embaudit.io import Intake, read, source_of, with_titles
from embaudit.io.files import AnyPath
from embaudit.io.options import Request, types_of_keywords
from embaudit.io.tables.parts import Parts, has_titles, parts_by_column
from embaudit.model import (
    FactorModel,
    Role,
    require_link_or_comparison,
    with_comparison,
    with_objective,
)
from embaudit.model.drift import Drift
from embaudit.model.final_norm import FinalNorm
from embaudit.model.fingerprint import fingerprint
from embaudit.model.side import Side
from embaudit.model.trainings import StatedTraining
from embaudit.movements.movement import Movement
from embaudit.serving.nearly_equal import as_noise
from embaudit.serving.queries import query_side

if TYPE_CHECKING:
    import pandas as pd

VERDICT = (
    "EMB001",
    "EMB002",
    "EMB106",
    "predictions",
    "compared",
    "products",
    "distances",
    "origin",
    "EMB301",
    "shortest",
    "moved",
    "drawn",
    "norm",
    "EMB307",
    "ones",
    "tied",
    "tying_unknown",
    "tying_contradicted",
    "free",
    "pinned",
    "undecided",
    "logits",
    "EMB101",
    "no_minimum",
    "EMB102",
    "EMB103",
)
"""Codes of the conclusions whose texts make the verdict, in their order."""
ASKS = {
    "properties": {
        "code": {"pattern": "^EMB[0-9]{3}$"},
        "severity": {"enum": ["tip", "issue"]},
    }
}
"""JSON Schema of findings that ask the user to act: code and severity."""
ASKS_NOTHING = {
    "properties": {"code": {"pattern": "^[a-z_]+$"}, "severity": {"enum": ["note"]}}
}
"""JSON Schema of notes: code and severity."""


@dataclass(frozen=True)
class EquivalentMovement:
    """Movement of cosines from the audited model to one equivalent model.

    It holds the mean, the largest value, and the change of the neighbour lists.
    """

    model: EquivalentModel
    """The equivalent model."""
    movement: Movement
    """Movement of the cosines of one role."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        return plain_dict(
            {
                **plain(self.model),
                **plain(self.movement),
            }
        )


@dataclass(frozen=True)
class EquivalentDrift:
    """Drift of the predictions, which must not move in an equivalent model.

    Rounding explains a small drift. A larger drift fails the check (EMB001).
    """

    model: EquivalentModel
    """The equivalent model."""
    drift: Drift
    """Drift of the predictions of that model."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        return plain_dict(
            {
                **plain(self.model),
                **plain(self.drift),
            }
        )


@dataclass(frozen=True, eq=False)
class Audit(PlottableResult):
    """Result of an audit: the evidence, the findings and the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(30, 4)), draw.normal(size=(20, 4))
    >>> model = FactorModel.from_user_item(users, items, objective="product")
    >>> result = audit(model, n_gauges=2)
    >>> result.evidence.predictions_hold, [finding.code for finding in result.findings]
    (True, ['EMB101'])
    """

    model: FactorModel
    """The audited model."""
    evidence: Evidence
    """All measurements. Of very many labels of a head, a sample is measured."""
    source: str | None = None
    """Path or name that the model was read from; None for a model in memory."""
    intake: Intake | None = None
    """Report of the read; None for a model in memory."""
    whole: FactorModel | None = None
    """The model that `model` is a sample of; None if all rows were audited.

    A quick audit of a long table has all rows in `model`, and the sample that it
    compared in `evidence`.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
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
                "nearly_equal": self.evidence.nearly_equal,
                "predicted": self.evidence.predicted,
                "served": self.evidence.served,
                "queries": self.evidence.reach,
                "head": self.head,
                "final_norm": self.evidence.norm,
                "neighbours": {
                    "gauge": self.evidence.examples_gauge,
                    "examples": self.evidence.examples,
                    "bias_examples": self.evidence.bias_examples,
                },
                "findings": self.findings,
                "notes": self.notes,
                "answer": self.answer,
                "verdict": self.verdict,
            }
        )

    @property
    def embaudit_version(self) -> str:
        """The version of embaudit that wrote this record."""
        return __version__

    @property
    def schema_version(self) -> Literal[1]:
        """Version of the fields of the JSON.

        It is raised when a field is renamed or removed, or changes its type or meaning,
        but not when a field is added.
        """
        return SCHEMA_VERSION

    @property
    def score_sample(self) -> dict[str, Any] | None:
        """Scores of a few rows, which `--baseline` compares with a later model.

        None for a model of one side alone.

        Columns
        -------
        left : list[str]
            Ids of the rows. Rows without ids are named "row" and their number.
        right : list[str]
            Ids of the columns.
        values : list[list[float]]
            One list of scores per row, less the mean of the row.
        """
        return score_sample(self.model)

    @property
    def kinds(self) -> list[str]:
        """Kinds of the gauges that made the equivalent models, without repetition."""
        return list(dict.fromkeys(model.kind for model in self.evidence.equivalents))

    @property
    def options(self) -> AuditOptions:
        """Options of the audit, except for the seed.

        The same options with the same seed give the same numbers.
        """
        return self.evidence.options

    @property
    def predictions_hold(self) -> bool:
        """True if rounding explains every change of a prediction.

        If not, nothing else in the audit can be trusted.
        """
        return self.evidence.predictions_hold

    @property
    def head(self) -> HeadReport | None:
        """Additional measurements of a softmax head; None for any other model."""
        return self.evidence.head

    @cached_property
    def conclusions(self) -> tuple[Finding, ...]:
        """All findings, then all notes, with their certainty and scope."""
        return conclusions(self.evidence)

    @cached_property
    def findings(self) -> tuple[Annotated[Finding, ASKS], ...]:
        """Conclusions that ask the user to act, with code, severity and remedy.

        Findings about the requested pairs come first. Within each group, the most
        severe come first.
        """
        return tuple(
            finding for finding in self.conclusions if finding.severity > Severity.NOTE
        )

    @property
    def notes(self) -> tuple[Annotated[Finding, ASKS_NOTHING], ...]:
        """Conclusions that need no action."""
        return tuple(
            finding for finding in self.conclusions if finding.severity is Severity.NOTE
        )

    @cached_property
    def answer(self) -> Answer:
        """Whether the predictions fix the cosines, with the reason and advice."""
        return answer(self.evidence, self.conclusions)

    @cached_property
    def reasons(self) -> tuple[Finding, ...]:
        """The conclusions that the verdict is written from, in the same order."""
        role = self.evidence.role
        about = [
            finding for finding in self.conclusions if finding.role in (None, role)
        ]
        codes = list(VERDICT)
        # The text of EMB301 begins with the free shift of a head, so the note `free`
        # would repeat it.
        if any(finding.code == "EMB301" for finding in about):
            codes.remove("free")
        return tuple(
            finding for code in codes for finding in about if finding.code == code
        )

    @cached_property
    def verdict(self) -> str:
        """The reasons and the advice in one paragraph of plain words."""
        texts = dict.fromkeys(
            (*(finding.text for finding in self.reasons), self.answer.advice)
        )
        return " ".join(filter(None, texts))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all factors and biases; equal numbers have equal hashes."""
        return fingerprint(self.model if self.whole is None else self.whole)

    @property
    def sample_sentence(self) -> str | None:
        """Sentence on the sample of rows; None if all rows were audited."""
        if self.whole is not None:
            return sample_sentence(self.model, self.whole.n_right)
        if self.evidence.uncut is not None:
            return quick_sentence(self.evidence.model, self.model.n_right)
        return None

    @property
    def worst(self) -> Severity | None:
        """Severity of the most severe finding; None if there are no findings."""
        return max((finding.severity for finding in self.findings), default=None)

    def __repr__(self) -> str:
        codes = ", ".join(finding.code for finding in self.findings) or "no findings"
        n_equivalents = len(self.evidence.equivalents)
        return f"Audit({self.model!r}, {n_equivalents} equivalent models, {codes})"

    def explain(self) -> str:
        """Return the answer, its remarks, the verdict, and a line for each finding.

        If a sample of the rows was audited, the sample comes first.
        """
        lines = []
        for finding in self.findings:
            heading = f"{finding.code} {finding.severity.title}"
            lines.append(f"{heading}: {finding.title}. {finding.remedy}")
        texts = [str(self.answer), *self.answer.remarks, self.verdict, *lines]
        if self.sample_sentence is not None:
            texts.insert(0, self.sample_sentence)
        return "\n".join(texts)

    def plot(self, ax: Any = None, *, role: Role | None = None) -> Picture:
        """Draw how far the cosines move to every equivalent model.

        The role is the first one measured by default.
        """
        return self._plot(ax, role=role)

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
        """Draw cosines of the model next to the cosines in equivalent models.

        The parameters are described at `embaudit.plot_heatmap`. By default the rows are
        of the side that the answer is about.
        """
        rows = {"role": role, "groups": groups, "show": show, "n_rows": n_rows}
        return self._plot(ax, "heatmap", beside=beside, **rows)

    def plot_prediction_cosines(
        self, ax: Any = None, *, role: Role | str | None = None, n_pairs: int = 100_000
    ) -> Picture:
        """Draw the cosine of each pair against its prediction cosine.

        The parameters are described at `embaudit.plot_prediction_cosines`.
        """
        return self._plot(ax, "prediction", role=role, n_pairs=n_pairs)

    def plot_certified_curve(
        self, ax: Any = None, *, role: Role | None = None
    ) -> Picture:
        """Draw the certified share of neighbour lists, and the share that attacks left.

        Both shares are drawn against the condition number κ.
        """
        return self._plot(ax, "certified", role=role)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per equivalent model and role, with movement and drift.

        The columns are the fields of the `movement` records of the JSON, followed by
        `drift`, `drift_tolerance` and `drift_ok`.
        """
        import pandas as pd

        frame = frame_of(map(plain, self.movement_records)).drop(
            columns="quantiles", errors="ignore"
        )
        drift = frame_of(map(plain, self.drift_records))[
            ["gauge", "max_abs", "tolerance", "ok"]
        ]
        drift.columns = pd.Index(["gauge", "drift", "drift_tolerance", "drift_ok"])
        if not len(frame):
            return drift
        return frame.merge(drift, on="gauge")

    @property
    def movement_records(self) -> list[EquivalentMovement]:
        """Movement of the cosines, one record per equivalent model and role."""
        pairs = zip(self.evidence.equivalents, self.evidence.movement, strict=True)
        return [
            EquivalentMovement(model, movement)
            for model, movements in pairs
            for movement in movements
        ]

    @property
    def drift_records(self) -> list[EquivalentDrift]:
        """Drift of the predictions, one record per equivalent model."""
        pairs = zip(self.evidence.equivalents, self.evidence.drift, strict=True)
        return [EquivalentDrift(model, drift) for model, drift in pairs]

    @property
    def model_record(self) -> dict[str, Any]:
        """Shape, link and training of the audited model.

        Columns
        -------
        roles : tuple[str, str]
            Nouns for the left and the right rows.
        n_left : int
            Number of left rows; 0 if there is no left side.
        n_right : int
            Number of right rows.
        drawn_from : int | None
            Number of right rows that were read, if a sample of them was audited.
        n_compared : int | None
            Number of right rows in the sample, if a quick audit compared the cosines
            and lists of a sample only. Traits describe all right rows.
        rank : int
            Number of columns.
        link : str
            Link from scores to predictions: identity, softmax, sigmoid, cosine,
            ranking, or compared-cosine and compared-dot for rows of one table.
        predicts : str
            Level that equivalent models have in common: scores, probabilities,
            rankings or cosines.
        dtype : str
            Type of the right factors.
        left_bias : bool
            True if left rows have a bias.
        right_bias : bool
            True if right rows have a bias.
        objective : str | None
            Training objective. Some objectives choose one of the equivalent models,
            and some leave all of them open.
        """
        model = self.model
        return {
            "roles": model.roles,
            "n_left": model.n_left,
            "n_right": model.n_right,
            "drawn_from": None if self.whole is None else self.whole.n_right,
            "n_compared": (
                None if self.evidence.uncut is None else self.evidence.model.n_right
            ),
            "rank": model.rank,
            "link": model.link.name,
            "predicts": model.predicts.title,
            "dtype": str(model.right.dtype),
            "left_bias": model.left_bias is not None,
            "right_bias": model.right_bias is not None,
            "objective": model.objective,
        }


def declared(
    model: FactorModel, options: AuditOptions, source: str = "the model"
) -> FactorModel:
    """Return a model with the facts that the options of an audit declare about it.

    Parameters
    ----------
    model : FactorModel
        The model as read.
    options : AuditOptions
        Options of the audit.
    source : str
        Source of the training that the model states.
    """
    compared = with_comparison(model, options.compared)
    trained = with_objective(compared, options.objective)
    if options.objective is not None:
        trained = trained.replace(
            overruled=_overruled(model, options.objective, source)
        )
    return declare(trained, options.soft_cap, normalised=options.normalised)


def _overruled(model: FactorModel, own: str, source: str) -> StatedTraining | None:
    """Return the training that a source states, if the caller declares another law.

    A statement of the file takes precedence over an objective that the caller declared
    when the model was loaded.
    """
    statement = model.overruled
    if statement is None and model.objective is not None:
        statement = StatedTraining(model.objective, source)
    if statement is None:
        return None
    return statement.unless_agreed(own, alone=model.left_side is None)


def _with_titles(
    model: FactorModel, items: AnyPath, by: str | Sequence[str | None] | Parts | None
) -> FactorModel:
    """Return a model with the titles of a table.

    If `by` names a column of the table, the table can hold ids and parts only, without
    titles.
    """
    if isinstance(by, str) and not has_titles(items):
        return model
    try:
        titled, _ = with_titles(model, items)
    except InputError as error:
        parameters = signature(with_titles).parameters
        raise with_taker(error, "embaudit.io.with_titles", parameters) from error
    return titled


def _parts_of(
    model: FactorModel,
    intake: Intake | None,
    items: AnyPath | None,
    by: str | Sequence[str | None] | Parts | None,
) -> Parts | None:
    """Return the known parts of one table, or None.

    The parts are named by the caller, or else they are the files that the table was
    read from.
    """
    is_one_table = model.left_side is None and model.link.name != "softmax"
    if by is None:
        if intake is None or not is_one_table:
            return None
        return Parts.from_files(intake.rows_of_files)
    if not is_one_table:
        kind = "a softmax head" if model.left_side is None else "a model of two sides"
        raise must_be("by", "omitted unless the model is one table of vectors", kind)
    if isinstance(by, Parts):
        return by
    if isinstance(by, str):
        return parts_by_column(model.right_side, items, by)
    return Parts.from_names(as_list(by, "by", '["old", "new"]'), model.n_right)


def _column_of_parts(options: AuditOptions, parts: Parts | None) -> str | None:
    """Return the column that names the parts, "names" for a list, None without `by`."""
    if options.by is None or parts is None:
        return None
    return parts.column or "names"


def _keyword_parameters() -> list[Parameter]:
    """Return the options of an audit and of `load` as parameters of a signature."""
    types = types_of_keywords() | types_of_options()
    all_fields = (*fields(AuditOptions), *fields(Request))
    defaults = {field.name: field.default for field in all_fields}
    return [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=defaults.get(name),
            annotation=types[name],
        )
        for name in dict.fromkeys([*OPTION_NAMES, *types])
    ]


def _declared_by(
    loaded: FactorModel,
    audited: FactorModel,
    options: AuditOptions,
    training_source: str | None,
) -> str:
    """Name the source of the declared training, or of the comparison of the rows.

    Parameters
    ----------
    loaded : FactorModel
        The model as read.
    audited : FactorModel
        The same model with the objective and the comparison of the options.
    options : AuditOptions
        Options of the audit.
    training_source : str or None
        Source that states the training of the model as read; None if none does.
    """
    if audited.overruled is not None:
        return f"as you declared; {audited.overruled}"
    if options.objective is None and options.compared is None:
        if training_source is None:
            return "as you declared"
        return f"as {training_source} says"
    if options.objective is None or loaded.objective in (None, options.objective):
        return "as you declared"
    source = training_source or "the model"
    return f"as you declared; {source} says {loaded.objective}"


@keywords_besides(_keyword_parameters())
def audit(
    model: FactorModel | AnyPath | object,
    *,
    options: AuditOptions | None = None,
    items: AnyPath | None = None,
    final_norm: FinalNorm | None = None,
    source: str | None = None,
    rng: RNG = 0,
    **keywords: Unpack[AuditKeywords],
) -> Audit:
    """Audit how far cosines can move while every prediction of the model stays equal.

    Parameters
    ----------
    model : FactorModel, path, list of paths, array, data frame or object
        One side or both sides: whatever `load` reads, or the result of `read`. For
        example a path, a fitted object of another library, a data frame (pandas,
        polars, Arrow or DuckDB), an AnnData object, or an array with one row per item.
    options : AuditOptions, optional
        Options that several audits have in common.
    items : path, optional
        Table with titles of the right rows, joined by ids. Use
        `embaudit.io.with_titles` to join it in other ways.
    final_norm : FinalNorm, optional
        Norm of the states of a network before its head. By default the norm that was
        read with the model.
    source : str, optional
        Source of the model as the report names it. By default the path of `model`.
    rng : numpy Generator or int
        The same seed gives the same numbers. The JSON holds the seed: the given one, or
        the first number drawn from a generator, which gives the same audit again.
    **keywords
        The fields of `AuditOptions`, such as `role`, `n_neighbours`, `quick` and
        `objective`; they take precedence over `options`. And everything that `load`
        takes, such as `kind`, `weight`, `transpose`, `ids`, `left_ids` and `link`. If
        `model` is an array or a fitted decomposition, `left` is the array of left
        factors, and `bias` an array of biases: an array with a bias is audited as a
        softmax head.

    Returns
    -------
    Audit
        The answer with its reasons, the findings, and all measurements behind them.

    Raises
    ------
    InputError
        If a parameter is not one of the values above.

    Examples
    --------
    >>> few = AuditOptions(n_gauges=1, n_starts=0)
    >>> vectors = [[1.0, 2.0], [2.0, 1.0], [1.0, 0.0]]
    >>> print(audit(vectors, options=few, compared="cosine").answer.word)
    YES
    """
    if options is None:
        options = AuditOptions()
    options, load_options = _split(options, keywords)
    require_link_or_comparison(load_options.get("link"), options.compared)
    if source is None:
        source = source_of(model)
    seed = as_seed(rng)

    reading = read(model, **load_options)
    intake = None
    training_source = None
    # The report of a model in memory has no parts, because nothing was read.
    if reading.intake.parts:
        intake = reading.intake
        training_source = intake.training_source
    loaded = reading.model
    if items is not None:
        loaded = _with_titles(loaded, items, options.by)
    parts = _parts_of(loaded, intake, items, options.by)
    part_names = None
    if parts is not None:
        part_names = parts.names

    audited = declared(loaded, options, training_source or "the model")
    if options.hull:
        require_softmax(audited, Keyword("hull"))
    options = _with_number_of_noise(options, audited)
    if final_norm is None:
        final_norm = audited.final_norm

    whole = None
    rows = drawn_rows(audited, options.show, rng=seed)
    if rows is not None:
        whole = audited
        audited = only_labels(whole, rows)
        if part_names is not None:
            part_names = part_names[rows]

    evidence = gather(
        audited,
        options.for_model(audited, _column_of_parts(options, parts)),
        final_norm=final_norm,
        parts=part_names,
        rows=quick_rows(audited, options, rng=seed),
        stated=None if reading.intake is None else reading.intake.metric,
        queries=_queries_of(options, audited),
        listed=whole,
        rng=seed,
    )
    declared_by = _declared_by(loaded, audited, options, training_source)
    evidence = replace(evidence, declared_by=declared_by)
    return Audit(audited, evidence, source, intake, whole)


def _with_number_of_noise(options: AuditOptions, model: FactorModel) -> AuditOptions:
    """Return the options with the noise as a number, read from a table if need be."""
    if options.noise is None:
        return options
    return replace(options, noise=as_noise(model, options.noise))


def _queries_of(options: AuditOptions, model: FactorModel) -> Side | None:
    """Read the queries of the audit, or return None if the audit has no queries."""
    if options.queries is None:
        return None
    return query_side(model, options.queries)


def _split(
    options: AuditOptions, keywords: AuditKeywords
) -> tuple[AuditOptions, dict[str, Any]]:
    """Return the options with the keywords that are theirs, and the keywords of `load`.

    A keyword of both, such as `objective`, is an option of the audit, which records it.
    """
    if not isinstance(options, AuditOptions):
        raise must_be("options", "an AuditOptions", repr(options))
    changed: dict[str, Any] = {}
    reading: dict[str, Any] = {}
    for name, value in keywords.items():
        if name in OPTION_NAMES:
            changed[name] = value
        else:
            reading[name] = value
    return replace(options, **changed), reading
