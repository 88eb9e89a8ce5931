"""`embaudit fit`: from a table of interactions to a model file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import Force, Jobs, Partial, Quiet, Rng, app
from embaudit.cli.terminal import Workers, make_console
from embaudit.core.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from embaudit.io import Interactions, Joined
    from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF


class Penalty(StrEnum):
    """The two objectives of the Netflix paper."""

    PRODUCT = "product"
    FACTORS = "factors"


class Header(StrEnum):
    """Choices for a first line that names the columns."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"


@app.command()
def fit(
    interactions: Annotated[Path, typer.Argument(help="CSV, TSV, .dat, Parquet or Arrow; may be gzipped.")],
    *,
    objective: Annotated[
        Penalty, typer.Option(help="What the penalty is on: the product (Eq. 1) or the factors (Eq. 2).")
    ],
    n_components: Annotated[int, typer.Option(help="Number of latent dimensions.")] = 50,
    alpha: Annotated[float, typer.Option(help="Strength of the penalty.")] = 1.0,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            "--exponent",
            help="Split of Eq. 1: 0 to 1, or identity, g^1/2, g^-1/2, sigma^-1/2.",
            show_default="0.5",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Column of the users, by name or position.")] = None,
    item: Annotated[str | None, typer.Option(help="Column of the items.")] = None,
    rating: Annotated[str | None, typer.Option(help="Column of the ratings or counts.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Keep ratings from here on.")] = None,
    binarise: Annotated[bool, typer.Option("--binarise", help="Count every kept rating as 1.")] = False,
    duplicates: Annotated[
        str, typer.Option(help="Rows of one user and item: error, sum, mean, last or max.")
    ] = "error",
    sep: Annotated[str | None, typer.Option(help="Column separator.", show_default="found by itself")] = None,
    header: Annotated[Header, typer.Option(help="Whether the first line names the columns.")] = Header.AUTO,
    items: Annotated[Path | None, typer.Option(help="Table with titles of the items.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its column of ids.")] = None,  # noqa: A002
    title: Annotated[str | None, typer.Option(help="Its column of titles.")] = None,
    partial: Partial = False,
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("model.npz"),
    rng: Rng = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Fit a matrix factorization in closed form and save it with its ids and titles."""
    from embaudit.errors import InputError, must_be
    from embaudit.io import distinct_outputs, join_ids, read_interactions, require_output, save

    if items is None and (id is not None or title is not None):
        raise InputError("--id and --title must be given with --items, the table whose columns they name.")
    distinct_outputs([interactions, items], [out])
    require_output(out, sides=2, force=force)
    data = read_interactions(
        interactions,
        user=user,
        item=item,
        rating=rating,
        threshold=threshold,
        binarise=binarise,
        duplicates=duplicates,  # type: ignore[arg-type]
        sep=sep,
        header="auto" if header is Header.AUTO else header is Header.YES,
    )
    joined = None if items is None else join_ids(data.item_ids, items, id=id, title=title, partial=partial)
    names = None if joined is None else joined.names(data.item_ids)
    most = min(data.matrix.shape)
    if not 1 <= n_components <= most:
        raise must_be("n_components", f"from 1 to {most}, the fewer of users and items", n_components)
    with Workers(jobs).at_work(quiet=quiet):
        estimator = _estimator(objective, n_components, alpha, split, rng).fit(data.matrix)
        model = estimator.model(data.matrix, user_ids=data.user_ids, item_ids=data.item_ids, item_names=names)
    save(model.replace(**{f"{side}_counts": data.counts(side) for side in model.sides}), out, force=force)
    _summary(make_console(quiet=quiet), data, estimator, joined, binarise=binarise)
    make_console(quiet=quiet).print(f"{model!r} → {out}", markup=False, soft_wrap=True)


def _estimator(
    objective: Penalty, rank: int, alpha: float, split: str | None, rng: int
) -> ProductPenaltyMF | FactorPenaltyMF:
    """Make the estimator of an objective."""
    from embaudit.errors import InputError
    from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF

    if objective is Penalty.PRODUCT:
        return ProductPenaltyMF(rank, alpha=alpha, split=_number_or_name(split), random_state=rng)
    if split is not None:
        raise InputError("--split goes with --objective product; the penalty on the factors leaves no choice of it.")
    return FactorPenaltyMF(rank, alpha=alpha, random_state=rng)


def _number_or_name(split: str | None) -> float | str:
    try:
        return 0.5 if split is None else float(split)
    except ValueError:
        return str(split)


def _summary(
    console: Console,
    data: Interactions,
    fitted: ProductPenaltyMF | FactorPenaltyMF,
    joined: Joined | None,
    *,
    binarise: bool,
) -> None:
    """Print the size of the data, the columns and the singular values."""
    n, p = data.matrix.shape
    sigma = fitted.singular_values_
    console.print(
        f"{counted(data.n_rows_read, 'row')} read: {n:,} users × {p:,} items, {counted(data.matrix.nnz, 'interaction')}"
    )
    console.print(_columns(data, binarise=binarise), markup=False)
    for count, noun, what in (
        (data.n_duplicates, "duplicate", "merged"),
        (data.n_dropped, "interaction", "dropped"),
    ):
        if count:
            console.print(f"{counted(count, noun)} {what}")
    if joined is not None:
        console.print(f"titles: {joined.explain()}", markup=False, highlight=False)
    console.print(
        f"singular values {sigma[0]:.4g} to {sigma[-1]:.4g}, effective rank {fitted.effective_rank_} of {len(sigma)} "
        f"(route {fitted.svd_solver_}, residual {fitted.residual_:.0e})"
    )


def _columns(data: Interactions, *, binarise: bool) -> str:
    """Name the columns that were used, and what a row counts where that is no column."""
    user, item, rating = data.columns
    if rating is None:
        return f"columns: users {user}, items {item}; no ratings, every row counts 1"
    counts = ", every one kept counts 1" if binarise else ""
    return f"columns: users {user}, items {item}, ratings {rating}{counts}"
