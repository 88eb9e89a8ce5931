"""`embaudit demo`: the Netflix paper's argument in one run.

One objective leaves cosines free, the other one chooses them. Data, penalties and rank
are those of the paper's simulation (its section 4). This project chose that no user
takes more than 40 % of the catalogue, and how other sizes scale the penalties.
"""

from __future__ import annotations

from typing import Annotated

import typer

from embaudit.cli.app import Quiet, Rng, app
from embaudit.cli.terminal import make_console, progress_bars

PAPER_USERS, PAPER_ITEMS = 20_000, 1_000
RANK, PRODUCT_ALPHA, FACTOR_ALPHA = 50, 10_000.0, 100.0
MAX_SHARE = 0.4
TITLES = (
    "Eq. 1: squared loss + penalty on the product of the factors",
    "Eq. 2: squared loss + penalty on both factors",
)
OWN = "embaudit audit MODEL --out report.html"
"""Command for a model of one's own."""


@app.command()
def demo(
    *,
    n_users: Annotated[
        int, typer.Option(help="Users to simulate.", min=20)
    ] = PAPER_USERS,
    n_items: Annotated[
        int, typer.Option(help="Items to simulate.", min=20)
    ] = PAPER_ITEMS,
    rng: Rng = 0,
    quiet: Quiet = False,
) -> None:
    """Fit both objectives of the Netflix paper to simulated data; audit both models."""
    from rich.text import Text

    from embaudit.auditing.audit import audit
    from embaudit.core.progress import track
    from embaudit.report.audit_document import movement_tables
    from embaudit.report.terminal import print_tables, print_verdict
    from embaudit.simulate import simulate_interactions
    from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF

    rank = min(RANK, n_users // 2, n_items // 2)
    # Eq. 1 compares its penalty with squared singular values, which grow as the number
    # of interactions does, Eq. 2 with singular values: at another size than the paper's
    # they are scaled by that of the matrix and its root.
    share = n_users * n_items / (PAPER_USERS * PAPER_ITEMS)
    alphas = PRODUCT_ALPHA * share, FACTOR_ALPHA * share**0.5
    with progress_bars(quiet=quiet):
        data = simulate_interactions(
            n_users, n_items, max_items=max(1, round(MAX_SHARE * n_items)), rng=rng
        )
        estimators = (
            ProductPenaltyMF(rank, alpha=alphas[0]),
            FactorPenaltyMF(rank, alpha=alphas[1]),
        )
        models = [
            estimator.fit(data.matrix).model(data.matrix) for estimator in estimators
        ]
        audits = [
            audit(
                model, roles=["right"], source=f"simulated, {model.objective}", rng=rng
            )
            for model in track(models, "auditing both objectives", len(models))
        ]
    console = make_console(quiet=quiet)
    is_paper = (n_users, n_items) == (PAPER_USERS, PAPER_ITEMS)
    source = "as in the paper" if is_paper else "the paper's, scaled to this size"
    console.print(
        f"Rank {rank}, penalties {alphas[0]:.4g} (Eq. 1) and {alphas[1]:.4g} (Eq. 2): "
        f"{source}."
    )
    console.print(
        f"Simulated {data.matrix.nnz:,} interactions of {n_users:,} users with "
        f"{n_items:,} items."
    )
    for title, audited in zip(TITLES, audits, strict=True):
        console.rule(title)
        console.print(Text(repr(audited.evidence.model)))
        print_tables(movement_tables(audited), console)
        print_verdict(audited, console, title="verdict")
    console.print(
        f"Eq. 2 keeps {models[1].rank} of the {rank} dimensions asked for: so many "
        "singular values exceed its penalty."
    )
    console.print(
        f"next, for a model of your own:\n  {OWN}", highlight=False, soft_wrap=True
    )
    raise typer.Exit(int(not all(audited.predictions_hold for audited in audits)))
