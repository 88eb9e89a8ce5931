"""`embaudit fit`: from a table of interactions to a model file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from embaudit.cli.app import File, Force, Jobs, Number, Partial, Quiet, Text, app
from embaudit.cli.groups import with_groups
from embaudit.cli.terminal import Workers, make_console, removed_if_refused
from embaudit.core.words import counted

if TYPE_CHECKING:
    from embaudit.io import Interactions
    from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF


Penalty = StrEnum("Penalty", [("PRODUCT", "product"), ("FACTORS", "factors")])
"""The two objectives of the Netflix paper."""
N_COMPONENTS = 50
"""Number of latent dimensions if none is typed."""
Header = StrEnum("Header", [("AUTO", "auto"), ("YES", "yes"), ("NO", "no")])
"""Choices for a first line that names the columns."""


@dataclass(frozen=True)
class Columns:
    """How a table of interactions is read."""

    user: Annotated[Text, Option(help="Column of the users, by name or position.")] = (
        None
    )
    item: Annotated[Text, Option(help="Column of the items, by name or position.")] = (
        None
    )
    rating: Annotated[
        Text, Option(help="Column of the ratings or counts, by name or position.")
    ] = None
    threshold: Annotated[Number, Option(help="Smallest rating that is kept.")] = None
    binarise: Annotated[
        bool, Option("--binarise", help="Count every kept rating as 1.")
    ] = False
    duplicates: Annotated[
        str,
        Option(
            help="What to do with several rows of one user and item: "
            "error, sum, mean, last or max."
        ),
    ] = "error"
    sep: Annotated[Text, Option(help="Column separator.", show_default="detected")] = (
        None
    )
    header: Annotated[
        Header, Option(help="Whether the first line names the columns.")
    ] = Header.AUTO

    def read(self, path: Path) -> Interactions:
        """Read the table."""
        from embaudit.io import read_interactions

        header = "auto" if self.header is Header.AUTO else self.header is Header.YES
        return read_interactions(path, **{**vars(self), "header": header})


@app.command()
@with_groups
def fit(
    interactions: Annotated[
        Path,
        Argument(
            help="Table of interactions: CSV, TSV, .dat, Parquet or "
            "Arrow; text can be gzipped. Or a sparse matrix of SciPy (.npz)."
        ),
    ],
    *,
    objective: Annotated[
        Penalty,
        Option(
            help="Penalty on the product of the factors (Eq. 1 of the "
            "Netflix paper) or on each factor (Eq. 2)."
        ),
    ],
    n_components: Annotated[
        int,
        Option(
            help="Number of latent dimensions, at most the fewer of users and items."
        ),
    ] = N_COMPONENTS,
    alpha: Annotated[float, Option(help="Strength of the penalty.")] = 1.0,
    split: Annotated[
        Text,
        Option(
            help="Split of the singular values between both sides in "
            "Eq. 1: an exponent from 0 to 1, or identity, g^1/2, "
            "g^-1/2, sigma^-1/2.",
            show_default="0.5",
        ),
    ] = None,
    columns: Columns,
    items: Annotated[
        File, Option(help="Table with the titles of the items; see --id and --title.")
    ] = None,
    id: Annotated[  # noqa: A002
        Text, Option("--id", help="Column of the ids in the table of --items.")
    ] = None,
    title: Annotated[
        Text, Option(help="Column of the titles in the table of --items.")
    ] = None,
    partial: Partial = False,
    out: Annotated[Path, Option(help="The model file to write.")] = Path("model.npz"),
    rng: Annotated[
        int,
        Option(
            "--rng",
            min=0,
            help="Seed for the start of the SVD. It changes only the "
            "last digits of the result.",
        ),
    ] = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Fit a matrix factorization in closed form and save it with its ids and titles."""
    from embaudit.errors import InputError, must_be
    from embaudit.io import distinct_outputs, join_ids, require_output, save
    from embaudit.io.watched import unchanged

    if items is None and (id is not None or title is not None):
        raise InputError(
            "--id and --title must be given with --items, the table whose columns "
            "they name."
        )
    inputs = [interactions, items]
    distinct_outputs(inputs, [out])
    require_output(out, sides=2, force=force)
    with removed_if_refused() as written, unchanged(inputs, outputs=[out]):
        data = columns.read(interactions)
        joined = (
            None
            if items is None
            else join_ids(data.item_ids, items, id=id, title=title, partial=partial)
        )
        names = None if joined is None else joined.names(data.item_ids)
        # A matrix has no more singular values than its shorter side has rows.
        most = min(data.matrix.shape)
        if not 1 <= n_components <= most:
            got = str(n_components)
            if n_components == N_COMPONENTS:
                got = f"{n_components}, the default"
            raise must_be(
                "n_components", f"from 1 to {most}, the fewer of users and items", got
            )
        with Workers(jobs).at_work(quiet=quiet):
            estimator = _estimator(objective, n_components, alpha, split, rng).fit(
                data.matrix
            )
            model = estimator.model(
                data.matrix,
                user_ids=data.user_ids,
                item_ids=data.item_ids,
                item_names=names,
            )
        # The interactions behind each row go into the file: audits choose the rows that
        # they show by them.
        save(
            model.replace(
                **{f"{side}_counts": data.counts(side) for side in model.sides}
            ),
            out,
            force=force,
        )
        written.append(out)
    console = make_console(quiet=quiet)
    for line in _summary(data, binarise=columns.binarise):
        console.print(line, markup=False)
    if joined is not None:
        console.print(f"titles: {joined.explain()}", markup=False, highlight=False)
    sigma, route = (
        estimator.singular_values_,
        f"(route {estimator.svd_solver_}, residual {estimator.residual_:.0e})",
    )
    rank = f"rank {estimator.effective_rank_} of {len(sigma)}"
    console.print(f"singular values {sigma[0]:.4g} to {sigma[-1]:.4g}, {rank} {route}")
    console.print(f"{model!r} → {out}", markup=False, soft_wrap=True)


def _estimator(
    objective: Penalty, rank: int, alpha: float, split: str | None, rng: int
) -> ProductPenaltyMF | FactorPenaltyMF:
    """Make the estimator of an objective; a split is a number, or the name of one."""
    from embaudit.errors import InputError
    from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF

    if objective is Penalty.FACTORS and split is not None:
        raise InputError(
            "--split must be omitted unless --objective is product, because the "
            "penalty on the factors determines the split."
        )
    if objective is Penalty.FACTORS:
        return FactorPenaltyMF(rank, alpha=alpha, random_state=rng)
    exponent: float | str = 0.5 if split is None else split
    # What is no number is the name of a split, which the estimator checks.
    with suppress(ValueError):
        exponent = float(exponent)
    return ProductPenaltyMF(rank, alpha=alpha, split=exponent, random_state=rng)


def _summary(data: Interactions, *, binarise: bool) -> Iterator[str]:
    """Yield the size of the data, the columns used, and the rows merged or dropped."""
    n, p = data.matrix.shape
    rows, links = (
        counted(data.n_rows_read, "row"),
        counted(data.matrix.nnz, "interaction"),
    )
    yield f"{rows} read: {n:,} users × {p:,} items, {links}"
    user, item, rating = data.columns
    counts = ", every one kept counts 1" if binarise else ""
    counts = (
        "; no ratings, every row counts 1"
        if rating is None
        else f", ratings {rating}{counts}"
    )
    yield f"columns: users {user}, items {item}{counts}"
    yield from (
        [f"{counted(data.n_duplicates, 'duplicate')} merged"]
        if data.n_duplicates
        else ()
    )
    yield from (
        [f"{counted(data.n_dropped, 'interaction')} dropped"] if data.n_dropped else ()
    )
