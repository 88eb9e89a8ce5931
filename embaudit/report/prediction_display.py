"""PredictionDisplay: the cosine at hand against the cosine of what is predicted, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.canonical import identified_cosines, in_span
from embaudit.core.checked import MOST_COUNT, RNG, as_count, as_generator
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.linalg.pairs import draw_pairs
from embaudit.linalg.pairs import n_pairs as n_all_pairs
from embaudit.model import Pairs, Softmax
from embaudit.model.sizes import require_ordinary_size
from embaudit.report.display import COUNTS, SOFT, TITLE, Display

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd

    from embaudit.auditing import Audit
    from embaudit.canonical import CanonicalForm
    from embaudit.core.checked import Floats, Indices
    from embaudit.model import FactorModel, Role

MOST_POINTS = 10_000
"""Pairs up to which each is a point; more are counted in hexagons."""
CELLS = 50
"""Hexagons in a row."""


def predicted_word(model: FactorModel, role: Role) -> str:
    """Call the cosine of what is predicted: of the labels of a head it is that of their logits.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> head = FactorModel.from_softmax([[1.0], [2.0]], embeddings=[[1.0]])
    >>> predicted_word(head, "right"), predicted_word(head, "left")
    ('logit cosine', 'prediction cosine')
    """
    return "logit cosine" if role == "right" and isinstance(model.link, Softmax) else "prediction cosine"


def form_of_audit(audit: Audit) -> CanonicalForm | None:
    """Take the canonical form that an audit made, where it is of the whole model."""
    where = audit.evidence.position
    # That of a head with very many labels is of some of them.
    whole = audit.evidence.model.n_right == audit.model.n_right
    return where.form if where is not None and whole else None


@dataclass(frozen=True, eq=False)
class PredictionDisplay(Display):
    """Pairs of one side by the cosine at hand and by their prediction cosine: points, or counts where they are many.

    Parameters
    ----------
    pairs : array of shape (m, 2)
        Row numbers.
    cosines, predicted : array of shape (m,)
        The cosine at hand and the prediction cosine of each pair; both are there.
    n_pairs : int
        Pairs of all rows with a direction that are not set aside.
    n_undefined : int
        Pairs looked at whose prediction cosine does not exist; they are not among `pairs`.
    kind : str
        Which pairs, such as "item-item".
    word : str
        "prediction cosine", or "logit cosine" of a softmax head.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item([[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    >>> PredictionDisplay.of(model).frame().round(9)
       first  second  cosine  prediction_cosine
    0      0       1     0.0                0.6
    """

    SIZE: ClassVar[tuple[float, float]] = (5.2, 4.4)

    pairs: Indices
    cosines: Floats
    predicted: Floats
    n_pairs: int
    n_undefined: int
    kind: str
    word: str

    @classmethod
    def of(
        cls,
        model: FactorModel,
        *,
        role: Role | str = "right",
        n_pairs: int = 100_000,
        form: CanonicalForm | None = None,
        rng: RNG = 0,
    ) -> Self:
        """Take all pairs of a side, or so many drawn ones where there are more; the form, where it is at hand already.

        Raises
        ------
        InputError
            If the other side is missing, or the side has fewer than two rows with a direction.
        """
        side = model.side_name(role)
        require_ordinary_size(model)
        size = as_count(n_pairs, "n_pairs", most=MOST_COUNT)
        # Rows about which anybody asks, and that have a direction.
        rows = model.side(side).eligible_rows
        rows = rows[model.side(side).norms[rows] > 0]
        if len(rows) < 2:
            title = f"{model.title(side)} factors"
            raise must_be(title, "two rows or more with a direction", counted(len(rows), "row"))
        pairs = rows[draw_pairs(len(rows), size, rng=as_generator(rng))]
        model = in_span(model)
        predicted = identified_cosines(model, role=side, pairs=pairs, form=form)
        # A row that no prediction depends on has no such cosine; its pairs are counted and left out.
        defined = ~np.isnan(predicted)
        kind, word = Pairs(side).titled(model), predicted_word(model, side)
        cosines = model.cosines(side, pairs[defined])
        return cls(
            pairs[defined], cosines, predicted[defined], n_all_pairs(len(rows)), int((~defined).sum()), kind, word
        )

    @classmethod
    def of_audit(cls, audit: Audit, *, role: Role | str | None = None, n_pairs: int = 100_000) -> Self:
        """Take pairs of the model audited, drawn by its seed; of the side that the answer speaks of by default."""
        about = audit.evidence.role if audit.evidence.role != "cross" else "right"
        side, form, seed = about if role is None else role, form_of_audit(audit), audit.evidence.seed
        return cls.of(audit.model, role=side, n_pairs=n_pairs, form=form, rng=seed)

    @property
    def title(self) -> str:
        """Name and number of the pairs."""
        n_drawn = len(self.pairs) + self.n_undefined
        some = f"all {n_drawn:,}" if n_drawn == self.n_pairs else f"a sample of {n_drawn:,} of {self.n_pairs:,}"
        without = f", {self.n_undefined:,} without a {self.word} left out" if self.n_undefined else ""
        return f"{some} {self.kind} pairs{without}"

    @property
    def correlation(self) -> float:
        """Pearson's r of the two over these pairs; NaN where one of them does not vary."""
        if len(self.pairs) < 2 or min(np.ptp(self.cosines), np.ptp(self.predicted)) == 0:
            return float("nan")
        return float(np.corrcoef(self.cosines, self.predicted)[0, 1])

    @property
    def caption(self) -> str:
        """Sentence on the pairs and their correlation."""
        r = "" if np.isnan(self.correlation) else f" Pearson's r of these is {self.correlation:.2f}."
        return f"Your cosine against {self.word}: {self.title}.{r}"

    def frame(self) -> pd.DataFrame:
        """Return one row a pair: the numbers of its rows, the cosine at hand, and its prediction (or logit) cosine."""
        import pandas as pd

        first, second = self.pairs.T
        columns = {"first": first, "second": second, "cosine": self.cosines}
        return pd.DataFrame({**columns, self.word.replace(" ", "_"): self.predicted})

    def _draw(self, ax: Any) -> None:
        """Draw points, or counts in hexagons, and the diagonal where both cosines agree."""
        ax.plot([-1, 1], [-1, 1], color=SOFT, linestyle="--", linewidth=0.8, zorder=0)
        if len(self.pairs) > MOST_POINTS:
            self._draw_counts(ax)
        else:
            # A vector picture of thousands of points would be slow to open.
            dense = len(self.pairs) > 1_000
            ax.scatter(self.predicted, self.cosines, s=8, color=COUNTS[0], alpha=0.5, linewidths=0, rasterized=dense)
        r = "" if np.isnan(self.correlation) else f"\nPearson's r of these {self.correlation:.2f}"
        ax.set_title(f"{self.title}{r}", fontsize="medium", gid=TITLE)
        ends, ticks = (-1.03, 1.03), (-1, -0.5, 0, 0.5, 1)
        ax.set(xlim=ends, ylim=ends, xticks=ticks, yticks=ticks, aspect="equal")
        ax.set(xlabel=self.word, ylabel="your cosine")

    def _draw_counts(self, ax: Any) -> None:
        """Count pairs in hexagons, on a logarithmic scale of colours."""
        from matplotlib.colors import LinearSegmentedColormap, to_rgba

        counted_in = ax.hexbin(
            self.predicted,
            self.cosines,
            # The same cells for every model, so that pictures can be compared.
            gridsize=CELLS,
            extent=(-1, 1, -1, 1),
            bins="log",
            mincnt=1,
            cmap=LinearSegmentedColormap.from_list("counts", [to_rgba(COUNTS[0], COUNTS[1]), to_rgba(COUNTS[0])]),
            linewidths=0.1,
            rasterized=True,
        )
        bar = ax.figure.colorbar(counted_in, ax=ax, label="pairs in a hexagon", shrink=0.85)
        # As vectors its strips would show fine lines between them.
        bar.solids.set_rasterized(True)
