"""EMB301: subtracting the mean row of a head changes cosines, but no probability."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.samples import pairs_of
from embaudit.auditing.wording import is_head
from embaudit.core.words import FEW, drawn_of, share_of

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.heads import HeadReport

ENTRY = Entry(
    "EMB301",
    title=(
        "subtracting the mean row leaves every probability unchanged, yet moves the "
        "nearest labels or the cosines"
    ),
    severities=(Severity.ISSUE,),
    measured=(
        "The audit subtracts the mean row from all label rows, checks that the "
        "probabilities stay, and compares nearest labels and cosines before and after."
    ),
    reported=(
        "If at least 5 % of the labels and more than five get another nearest label, "
        "or if cosines move by at least 0.05 on average."
    ),
    meaning=(
        "Adding one vector to every label row changes no probability. Subtracting the "
        "mean row is such a change, and it changes the label cosines."
    ),
    why=(
        "The origin from which label cosines are measured is a convention, and here "
        "the origin decides which labels are nearest."
    ),
    remedy=(
        "Compare the predictions of the head: logit cosines over your inputs "
        "(`embaudit fix --as prediction`, with `--inputs` or `--states` if the file "
        "holds no inputs)."
    ),
    reference=(
        "Nielsen: Why not to use Cosine Similarity between Label Representations "
        "(arXiv 2603.29488)."
    ),
)


def cosines_of(head: HeadReport) -> str:
    """Name the cosines of the labels whose nearest labels were searched."""
    if head.neighbours.exact:
        return f"{head.model.title('right')} cosines"
    return f"cosines of {labels_of(head)}"


def labels_of(head: HeadReport) -> str:
    """Name the labels whose nearest labels were searched.

    They are one label of each group of duplicates, and a sample of a large head.
    """
    label, neighbours = head.model.title("right"), head.neighbours
    if not neighbours.exact:
        return f"{neighbours.n_rows:,} sampled {label}s"
    if neighbours.n_rows < head.n_panel:
        return f"{label}s (duplicates counted once)"
    return f"{label}s"


def searched_labels_of(head: HeadReport) -> str:
    """Write of how many labels the nearest labels were searched, and of how many.

    One label of each group of duplicates is searched.
    """
    n_labels = len(head.model.right_side.directed)
    label = head.model.title("right")
    return f"lists of {drawn_of(head.neighbours.n_rows, n_labels, label)}"


def counted_labels_of(head: HeadReport) -> str:
    """Name the same labels after a share that already says how many they are."""
    if not head.neighbours.exact and head.neighbours.n_rows < FEW:
        return f"sampled {head.model.title('right')}s"
    return labels_of(head)


def share_of_labels(share: float, head: HeadReport) -> str:
    """Write a share of these labels, such as "47 % of the labels", "6 of 8 labels"."""
    labels = counted_labels_of(head)
    n_rows = head.neighbours.n_rows
    if n_rows >= FEW and head.neighbours.exact:
        return f"{share_of(share, n_rows)} the {labels}"
    return f"{share_of(share, n_rows)} {labels}"


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a head whose nearest labels or cosines change without its mean row."""
    head = evidence.head
    if head is None or not head.origin_matters:
        return
    label = evidence.model.title("right")
    noun = "head" if is_head(evidence.model) else "model"
    share = head.neighbours.top1_changed
    keeping = share_of_labels(1 - share, head)
    mean = head.centred.movement.mean_abs
    if head.origin_changes_neighbours:
        value = share
        measured_on = searched_labels_of(head)
        title = (
            "subtracting the mean row leaves every probability unchanged, yet "
            f"{share_of_labels(share, head)} get another nearest {label}"
        )
    else:
        value = mean
        measured_on = pairs_of(head.model, head.centred.movement)
        title = (
            "subtracting the mean row leaves every probability unchanged, yet moves "
            f"{label} cosines by {mean:.2f} on average"
        )
    yield Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.SHOWN,
        scope=Scope(f"the {noun} less its mean row"),
        rows=cosines_of(head),
        role="right",
        value=value,
        witness=head.centred.gauge,
        measured_on=measured_on,
        title=title,
        text=(
            f"Adding one vector to every {label} row changes no probability, so the "
            "origin that cosines are measured from is a convention. The mean row is "
            f"{head.offset:.2g} of a typical row (median) long. Without it {keeping} "
            f"keep their nearest {label}, and cosines differ by {mean:.2f} on average."
        ),
        remedy=_remedy(evidence, label),
    )


def _remedy(evidence: Evidence, label: str) -> str:
    """Write what to compare instead."""
    start = (
        f"Do not read {label} cosines as similarity. Compare the predictions of the "
    )
    if is_head(evidence.model):
        return (
            f"{start}head: logit cosines over your inputs (`embaudit fix --as "
            "prediction`, with `--inputs` or `--states` if the file holds no inputs)."
        )
    return f"{start}model by their cosines (`embaudit fix --as prediction`)."
