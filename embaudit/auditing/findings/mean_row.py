"""EMB301: the mean row of a head, which no probability shows, decides its cosines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.wording import is_head
from embaudit.core.words import FEW, counted, share_of

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.heads import HeadReport

ENTRY = Entry(
    "EMB301",
    title=(
        "the mean row of a head, which no probability shows, decides nearest labels or "
        "cosines"
    ),
    severities=(Severity.ISSUE,),
    meaning=(
        "Adding one vector to every label row changes no probability. Removing the "
        "mean row changes these cosines."
    ),
    why=(
        "The origin that label cosines are measured from is a convention, and here it "
        "decides who is near whom."
    ),
    remedy=(
        "Compare what the head predicts: logit cosines over your inputs (`embaudit fix "
        "--as prediction`, with `--inputs` or `--states` where the head has none)."
    ),
    computed=(
        "Reported where 5 % of the labels and more than five get another nearest one "
        "without the mean row. The same where cosines move by 0.05 on average."
    ),
    reference=(
        "Nielsen: Why not to use Cosine Similarity between Label Representations "
        "(arXiv 2603.29488)."
    ),
)


def cosines_of(head: HeadReport) -> str:
    """Name the cosines of the labels whose nearest ones were sought."""
    if head.neighbours.exact:
        return f"{head.model.title('right')} cosines"
    return f"cosines of {labels_of(head)}"


def labels_of(head: HeadReport) -> str:
    """Name the labels whose nearest ones were sought.

    These are one of each group of duplicates, and only some of a large head.
    """
    label, neighbours = head.model.title("right"), head.neighbours
    if not neighbours.exact:
        return f"{counted(neighbours.n_rows, label)} asked"
    if neighbours.n_rows < head.n_panel:
        return f"{label}s (duplicates counted once)"
    return f"{label}s"


def counted_labels_of(head: HeadReport) -> str:
    """Name the same labels behind a share that already says how many they are."""
    if not head.neighbours.exact and head.neighbours.n_rows < FEW:
        return f"{head.model.title('right')}s asked"
    return labels_of(head)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a head whose nearest labels or cosines change without its mean row."""
    head = evidence.head
    if head is None or not head.origin_matters:
        return
    label = evidence.model.title("right")
    noun = "head" if is_head(evidence.model) else "model"
    share = head.neighbours.top1_changed
    changed = share_of(share, head.neighbours.n_rows)
    mean = head.centred.movement.mean_abs
    labels = counted_labels_of(head)
    if head.origin_changes_neighbours:
        value = share
        title = (
            f"subtracting the average row changes the nearest {label} for {changed} "
            f"{labels}"
        )
    else:
        value = mean
        title = f"subtracting the average row moves {label} cosines by {mean:.2f} on average"
    yield Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.SHOWN,
        scope=Scope(f"the {noun} less its mean row"),
        rows=cosines_of(head),
        role="right",
        value=value,
        witness=head.centred.gauge,
        title=title,
        text=(
            f"Adding one vector to every {label} row changes no probability, so the "
            "origin that cosines are measured from is a convention. The mean row is "
            f"{head.offset:.2g} of a typical row (median) long. Without it {changed} "
            f"{labels} have another nearest {label}, and cosines differ by {mean:.2f} "
            "on average."
        ),
        remedy=_remedy(evidence, label),
    )


def _remedy(evidence: Evidence, label: str) -> str:
    """Write what to compare instead."""
    start = f"Do not read {label} cosines as similarity. Compare what the "
    if is_head(evidence.model):
        return (
            f"{start}head predicts: logit cosines over your inputs (`embaudit fix --as "
            "prediction`, with `--inputs` or `--states` where the head has none)."
        )
    return (
        f"{start}model predicts: cosines of the predictions (`embaudit fix --as "
        "prediction`)."
    )
