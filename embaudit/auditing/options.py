"""Options of an audit: one dataclass for Python, the command line, settings and JSON.

An option is a field of `AuditOptions`. The field has a type and a default for Python,
and its metadata say how the command line and the settings file take it.
The JSON Schema of an audit follows from its type and its description.
`OptionKeywords` repeats the types of the fields for type checkers, which cannot read
them off the dataclass. Nothing else lists the options.

The help of the command line reads the fields, so this module must load fast: NumPy is
imported when values are checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, get_type_hints

from embaudit.core.plain import plain_dict
from embaudit.core.sizes import MOST_COUNT, N_QUERIES
from embaudit.core.typed import described, typed
from embaudit.core.words import counted
from embaudit.errors import must_be

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embaudit.gauges import GaugeGroup
    from embaudit.io.files import AnyPath
    from embaudit.io.tables.parts import Parts
    from embaudit.model import Comparison, FactorModel, Role
    from embaudit.serving.index_metric import Served

MAX_SIZES = {
    "n_gauges": 10_000,
    "n_pairs": MOST_COUNT,
    "n_lists": 100_000,
    "n_starts": 1_000,
    "n_steps": 10_000,
}
"""Largest sample sizes: more would take long, or all memory, and tell nothing more."""
IN_MEMORY = "in memory"
"""Stands in the JSON for queries that were not read from a file."""
EXAMPLES_OF_LISTS = {
    "roles": '["item"]',
    "show": '["Heat"]',
    "groups": '["linear"]',
}
"""A value of each option that takes a list, for its error."""


@dataclass(frozen=True)
class Effort:
    """Sample sizes of an audit; smaller ones cost less and give wider intervals.

    Examples
    --------
    >>> print(Effort())
    8 models a group, 100,000 pairs, 400 lists, attacks of 3 × 20 steps
    """

    n_gauges: int = 8
    n_pairs: int = 100_000
    n_lists: int = N_QUERIES
    n_starts: int = 3
    n_steps: int = 20

    def __post_init__(self) -> None:
        from embaudit.core.checked import as_count

        for name, value in asdict(self).items():
            least = 0 if name in ("n_starts", "n_steps") else 1
            as_count(value, name, least=least, most=MAX_SIZES[name])

    def __str__(self) -> str:
        samples = (
            counted(self.n_gauges, "model"),
            counted(self.n_pairs, "pair"),
            counted(self.n_lists, "list"),
        )
        if self.n_starts:
            attacks = f"attacks of {self.n_starts:,} × {counted(self.n_steps, 'step')}"
        else:
            attacks = "no attacks"
        return "{} a group, {}, {}, {}".format(*samples, attacks)


QUICK_SIZES = {
    "n_gauges": 2,
    "n_pairs": 20_000,
    "n_lists": 100,
    "n_starts": 1,
    "n_steps": 5,
}
"""Sample sizes of a quick audit.

A share near 0.43 has a 95 % interval of ± 0.7 points from 20,000 pairs, and a mean
overlap of 100 lists of 10 one of some ± 6 points. Two draws of each group show whether
cosines move.
"""


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Options of `embaudit.audit`, which also takes each of them as a keyword.

    `embaudit audit` takes the same options with dashes (`--n-gauges`), and so does
    `[tool.embaudit]` of a `pyproject.toml`. The JSON of an audit holds them under
    "options". With the same seed, the same options give the same numbers.

    Raises
    ------
    InputError
        If a field has a value that its description does not allow.

    Examples
    --------
    >>> few = AuditOptions(n_gauges=2, n_starts=0)
    >>> few.effort
    Effort(n_gauges=2, n_pairs=100000, n_lists=400, n_starts=0, n_steps=20)
    >>> AuditOptions(groups=["linear"], quick=True).to_dict()["groups"]
    ['linear']
    """

    quick: bool = field(
        default=False,
        metadata=typed(bool, "Use fewer samples: less exact, but faster.", "Effort"),
    )
    """Use smaller samples for a first look: 2 random draws from each group, 20,000
    pairs, 100 lists, and attacks of 5 steps from 1 start. Sizes that are given take
    precedence. Of one table with more than 200,000 rows, cosines and lists are compared
    among 200,000 drawn rows, and traits describe all rows. Intervals are wider and an
    attack may find less, but proven statements stay the same.
    """
    n_gauges: int | None = field(
        default=None,
        metadata=typed(
            int,
            "Number of random models per group (default: 8).",
            "Effort",
            is_rare=True,
        ),
    )
    """Number of random draws from each group (default: 8)."""
    n_pairs: int | None = field(
        default=None,
        metadata=typed(
            int, "Number of pairs to draw (default: 100,000).", "Effort", is_rare=True
        ),
    )
    """Number of pairs drawn without replacement (default: 100,000). All pairs are used
    if there are no more.
    """
    n_lists: int | None = field(
        default=None,
        metadata=typed(
            int,
            "Number of neighbour lists per side (default: 400).",
            "Effort",
            is_rare=True,
        ),
    )
    """Largest number of rows per side for which neighbour lists are compared (default:
    400).
    """
    n_starts: int | None = field(
        default=None,
        metadata=typed(
            int,
            "Number of starting points of each attack (default: 3); 0 for no attacks.",
            "Effort",
            is_rare=True,
        ),
    )
    """Starting points of each attack (default: 3). With 0 there are no attacks, which
    take most of the time of an audit of a small model. Exact ranges and certified lists
    are computed all the same.
    """
    n_steps: int | None = field(
        default=None,
        metadata=typed(
            int,
            "Number of steps from each starting point (default: 20).",
            "Effort",
            is_rare=True,
        ),
    )
    """Gradient steps from each starting point (default: 20)."""
    roles: Sequence[Role | str] | None = field(
        default=None,
        metadata=described("Roles whose cosines are audited; null for all of them."),
    )
    """Roles to audit: "left", "right" or "cross". By default all roles that the model
    has.
    """
    n_neighbours: int | None = field(
        default=None,
        metadata=typed(
            int,
            "Number of neighbours (default: 10, or a third of the rows of a small "
            "model).",
            "Effort",
            in_json="The value 0 stands for the default.",
        ),
    )
    """Length of the neighbour lists (default: 10, but at most a third of the other rows
    of the side). The value 0, which the JSON holds, stands for the default.
    """
    max_condition: float = field(
        default=2.0,
        metadata=typed(
            float,
            "Largest condition number of the random maps (default: 2).",
            "Effort",
            is_rare=True,
        ),
    )
    """Budget κ of the random linear gauges: largest stretch over smallest stretch."""
    show: Sequence[str] = field(
        default=(),
        metadata=typed(
            list[str],
            "Show the neighbours of the row with this id or "
            "title. Repeat it for several rows.",
            "Output",
        ),
    )
    """Ids or titles of rows for which neighbours are shown. By default a few drawn
    rows.
    """
    groups: Sequence[str | GaugeGroup] = field(
        default=(),
        metadata=typed(
            list[str],
            "Family of equivalent models: canonical, diagonal, "
            "linear, orthogonal, translation or affine (default: "
            "all that keep the predictions). Repeat it for "
            "several families.",
            "Effort",
            is_rare=True,
        ),
    )
    """Families of equivalent models by name, such as "canonical" or "linear"
    (`embaudit audit --help-all` lists the names), or gauge groups of your own. By
    default all families that keep the predictions.
    """
    role: Role | str | None = field(
        default=None,
        metadata=typed(
            str,
            "Cosines that the answer is about: right (item, the "
            "default), left (user) or cross (user-item).",
            "Output",
        ),
    )
    """Role for the answer, the verdict and the shown neighbours: "left", "right" (the
    default) or "cross".
    """
    objective: str | None = field(
        default=None,
        metadata=described("Training that the caller declared; null without one."),
    )
    """How the model was trained, if the model does not state it: a word such as
    "implicit-als", "clip" or "word2vec", or the name of a law.
    `embaudit explain objectives` lists them.
    """
    compared: Comparison | None = field(
        default=None,
        metadata=described(
            "Comparison of rows that the caller declared; null without one."
        ),
    )
    """How predictions compare the rows of one table with each other: by "cosine",
    "dot", "distance" or "hyperbolic". For example, sentence encoders compare rows by
    their cosines.
    """
    soft_cap: float | None = field(
        default=None,
        metadata=typed(
            float, "Value at which the head caps its logits.", "Training", is_rare=True
        ),
    )
    """Constant c of a softmax head that caps its logits, `c · tanh(s/c)`. If it is
    given, translations change probabilities.
    """
    normalised: bool = field(
        default=False,
        metadata=typed(
            bool,
            "The head divides its label rows by their lengths.",
            "Training",
            is_rare=True,
        ),
    )
    """Whether a softmax head divides its label rows by their lengths. If so, only
    rotations keep the predictions.
    """
    hull: bool = field(
        default=False,
        metadata=typed(
            bool,
            "Find the labels that can be the most probable one.",
            "Output",
            is_rare=True,
        ),
    )
    """Whether to find which labels of a softmax head can be the most probable one. A
    label can if its row is a corner of the convex hull of all rows. With a bias, labels
    inside the hull sometimes can, too. In a large head only a sample of labels is
    checked: 128 with the usual `n_lists`, in proportion with fewer.
    """
    served: Served | None = field(
        default=None,
        metadata=typed(
            str,
            "How your index compares rows: cosine, dot or l2 (default: what the store "
            "or the FAISS file says).",
            "Your file",
        ),
    )
    """How the index that serves the vectors compares rows: by "cosine", "dot" (inner
    product) or "l2" (Euclidean distance). By default the metric that the store or the
    FAISS file states. The lists of the index are compared with those that the model was
    trained to give.
    """
    queries: str | AnyPath | FactorModel | NDArray[Any] | None = field(
        default=None,
        metadata=typed(
            str,
            "File with vectors of queries: which rows they find too often or never, "
            "and which queries are far from all rows.",
            "Your file",
            is_rare=True,
            in_json='The text is "in memory" if the caller gave vectors.',
        ),
    )
    """Vectors of queries, as wide as the rows: a path, a model of one side, or an
    array. The audit says which rows their lists hold too often or never, and which
    queries are far from all rows. The JSON holds the path, or "in memory".
    """
    by: str | Sequence[str | None] | Parts | None = field(
        default=None,
        metadata=typed(
            str,
            "Column of the items' table that divides the rows into parts; the audit "
            "tests whether they share one coordinate system.",
            "Your file",
            is_rare=True,
            in_json='The text is "names" if the caller named the part of each row.',
        ),
    )
    """The parts of one table: a column of `items`, or one name per row. The audit tests
    whether the parts share one coordinate system. If several files are read as one
    table, each file is a part without this option. The JSON holds the name of the
    column, or "names".
    """
    tolerance: float | None = field(
        default=None,
        metadata=typed(
            float,
            "Say which neighbours stay if the scores of a row are off by this share, "
            "such as 0.05.",
            "Effort",
            is_rare=True,
        ),
    )
    """Largest change of the scores of one row, as a share of their length. If it is
    given, the audit says how far prediction cosines can be off then, and which
    neighbours by prediction cosine are certain to stay.
    """
    noise: float | AnyPath | None = field(
        default=None,
        metadata=typed(
            str,
            "Say which neighbours are stable if scores have this standard deviation, "
            "or that of a table of held-out ratings.",
            "Effort",
            is_rare=True,
            in_json="The JSON holds the number.",
        ),
    )
    """Standard deviation of one score, or a table of held-out ratings from which it is
    estimated. If it is given, the audit says how exact prediction cosines are, and
    which neighbours are stable. The JSON holds the number.
    """

    def __post_init__(self) -> None:
        from embaudit.core.checked import (
            as_count,
            as_list,
            is_integer,
            is_number,
            require_one_of,
        )

        self._require_switches()
        _ = self.effort  # checks the sample sizes
        if self.served is not None:
            from embaudit.serving.index_metric import SERVED

            require_one_of(self.served, "served", SERVED)
        if self.n_neighbours is not None:
            # The JSON of an audit holds 0 for the default length of the lists.
            is_default = is_integer(self.n_neighbours) and self.n_neighbours == 0
            if not is_default:
                as_count(self.n_neighbours, "n_neighbours")
        if self.tolerance is not None:
            from embaudit.serving.nearly_equal import require_share

            require_share(self.tolerance)
        if not is_number(self.max_condition):
            raise must_be("max_condition", "a finite number >= 1", self.max_condition)
        for name, example in EXAMPLES_OF_LISTS.items():
            value = getattr(self, name)
            if value is not None or name != "roles":
                object.__setattr__(self, name, tuple(as_list(value, name, example)))

    def _require_switches(self) -> None:
        """Raise InputError unless every option with a boolean default is a boolean."""
        for option in fields(self):
            value = getattr(self, option.name)
            if isinstance(option.default, bool) and not isinstance(value, bool):
                raise must_be(option.name, "True or False", repr(value))

    @property
    def effort(self) -> Effort:
        """Sample sizes: the given sizes, or else the usual or quick ones."""
        sizes = dict(QUICK_SIZES) if self.quick else {}
        for name in MAX_SIZES:
            if getattr(self, name) is not None:
                sizes[name] = getattr(self, name)
        return Effort(**sizes)

    def for_model(
        self, model: FactorModel, column_of_parts: str | None
    ) -> AuditOptions:
        """Return these options with every default and name as the model has it.

        Parameters
        ----------
        model : FactorModel
            The audited model, which translates "item" to "right".
        column_of_parts : str or None
            Name of the column of the parts, "names" for a list, None without parts.
        """
        roles = None
        if self.roles is not None:
            roles = tuple(model.role(name) for name in self.roles)
        return replace(
            self,
            **asdict(self.effort),
            roles=roles,
            role=None if self.role is None else model.role(self.role),
            n_neighbours=self.n_neighbours or None,
            queries=self.queries_name,
            by=column_of_parts,
        )

    @property
    def queries_name(self) -> str | None:
        """Path of the queries, or "in memory"; None without queries."""
        if self.queries is None or isinstance(self.queries, str):
            return self.queries
        if isinstance(self.queries, PathLike):
            return str(self.queries)
        return IN_MEMORY

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON can hold them.

        A gauge group that is not built in is written as its `repr`, which cannot be
        turned back into the group.
        """
        values = {option.name: getattr(self, option.name) for option in fields(self)}
        values |= asdict(self.effort)
        values["n_neighbours"] = self.n_neighbours or 0
        values["queries"] = self.queries_name
        values["groups"] = [
            group if isinstance(group, str) else repr(group) for group in self.groups
        ]
        return plain_dict(values)


class OptionKeywords(TypedDict, total=False):
    """Options of an audit as keywords, for type checkers.

    The name and the type of each field of `AuditOptions` stand here again.
    """

    quick: bool
    n_gauges: int | None
    n_pairs: int | None
    n_lists: int | None
    n_starts: int | None
    n_steps: int | None
    roles: Sequence[Role | str] | None
    n_neighbours: int | None
    max_condition: float
    show: Sequence[str]
    groups: Sequence[str | GaugeGroup]
    role: Role | str | None
    objective: str | None
    compared: Comparison | None
    soft_cap: float | None
    normalised: bool
    hull: bool
    served: Served | None
    queries: str | AnyPath | FactorModel | NDArray[Any] | None
    by: str | Sequence[str | None] | Parts | None
    tolerance: float | None
    noise: float | AnyPath | None


def types_of_options() -> dict[str, Any]:
    """Return the type of each option, by name.

    Types of other subpackages are imported here, because the help of the command line
    does not need them.
    """
    from numpy.typing import NDArray

    from embaudit.gauges import GaugeGroup
    from embaudit.io.files import AnyPath
    from embaudit.io.tables.parts import Parts
    from embaudit.model import Comparison, FactorModel, Role
    from embaudit.serving.index_metric import Served

    names = {
        "AnyPath": AnyPath,
        "GaugeGroup": GaugeGroup,
        "Parts": Parts,
        "Comparison": Comparison,
        "FactorModel": FactorModel,
        "NDArray": NDArray,
        "Role": Role,
        "Served": Served,
    }
    return get_type_hints(AuditOptions, localns=names)


OPTION_NAMES = tuple(option.name for option in fields(AuditOptions))
"""Names of the options of an audit."""
