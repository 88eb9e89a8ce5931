"""What the evidence on a head means: coded findings and a verdict in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.checks import MOVES, Finding, Severity
from embaudit.foundation.words import counted, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from embaudit.auditing.head_report import HeadReport

CHANGED = 0.05
"""Share of labels whose nearest one changes under centring, from which the origin of the labels matters."""
DECAYED = 1e-2
"""Offset of the mean row above which the labels are at no minimum of a loss with weight decay on all of them."""
CENTRED = 1e-3
"""Offset of the mean row below which the labels count as centred."""


def origin_matters(report: HeadReport) -> bool:
    """Whether removing the mean row changes nearest labels or cosines noticeably."""
    moved = report.centred.movement.mean_abs >= MOVES
    return report.guard.keeps_translations and (_decides_neighbours(report) or moved)


def _decides_neighbours(report: HeadReport) -> bool:
    """Whether it changes nearest labels noticeably."""
    return report.neighbours.top1_changed >= CHANGED


def _drift(report: HeadReport) -> Iterator[Finding]:
    if not report.verified:
        worst = max((report.centred, *report.equivalents), key=lambda head: head.change / head.tolerance)
        yield Finding(
            "EMB001",
            Severity.ISSUE,
            "the predictions did not stay the same",
            f"Under {worst.name} a probability changed by {worst.change:.2g} of itself, where rounding explains "
            f"{worst.tolerance:.2g}; nothing else in this audit can be trusted.",
            "Check the rows for huge or tiny columns; if they are ordinary, report this as a bug.",
            worst.change,
        )


def _origin(report: HeadReport) -> Iterator[Finding]:
    if origin_matters(report):
        changed, moved = report.neighbours.top1_changed, report.centred.movement.mean_abs
        neighbours = _decides_neighbours(report)
        effect = f"changes the nearest label of {percent(changed)} of labels"
        yield Finding(
            "EMB301",
            Severity.ISSUE,
            "removing the mean row " + (effect if neighbours else f"moves label cosines by {moved:.2f} on average"),
            "Adding one vector to every label row changes no probability, so the origin that cosines are measured from "
            f"is a convention; here the mean row is {report.offset:.2g} of a typical row long, and it decides "
            f"{'neighbours' if neighbours else 'cosines'}.",
            "Do not read label cosines as similarity. Compare what the head predicts: logit cosines over your inputs.",
            changed if neighbours else moved,
        )


def _undeclared_mean(report: HeadReport) -> Iterator[Finding]:
    """Under weight decay the pulls on the labels add up to zero: what the data pull already does."""
    decay = report.objective in ("softmax-decay", "logistic-decay")
    if decay and report.guard.keeps_translations and report.offset > DECAYED:
        yield Finding(
            "EMB306",
            Severity.TIP,
            f"the mean row contradicts the declared objective ({report.objective})",
            "Where weight decay on all labels has come to rest, the label rows add up to zero; here their mean is "
            f"{report.offset:.2g} of a typical row long.",
            "Check the declaration: was training stopped early, were some labels or a tied embedding decayed "
            "otherwise, or was there no decay? Without it the origin of the labels is free.",
            report.offset,
        )


def _simplex(report: HeadReport) -> Iterator[Finding]:
    if report.projector.degenerate:
        yield Finding(
            "EMB302",
            Severity.TIP,
            "the labels are affinely independent",
            f"{counted(report.n_labels, 'label')} span {counted(report.affine_rank, 'dimension')}, so inputs can "
            "produce any logits, and affine gauges any cosines: without inputs this head says nothing about which "
            "labels are alike. All its projector cosines are equal.",
            "Bring inputs and use logit cosines over them.",
            report.projector.labels_per_dimension,
        )
    elif report.projector.thin:
        yield Finding(
            "EMB303",
            Severity.TIP,
            "projector cosines say little",
            report.projector.warning,
            "Bring inputs and use logit cosines over them.",
            report.projector.labels_per_dimension,
        )


def _hidden(report: HeadReport) -> Iterator[Finding]:
    argmax = report.argmax
    if argmax.n_cannot:
        names = ", ".join(repr(name) for name in argmax.to_dict()["cannot"][:3]) + "…" * (argmax.n_cannot > 3)
        asked = f"{len(argmax.labels):,} labels asked" if argmax.is_sample else "all labels"
        yield Finding(
            "EMB304",
            Severity.TIP,
            f"{argmax.n_cannot:,} of {asked} can never be the most probable",
            f"No input, of whatever network, makes them lead ({names}): their rows lie inside the hull of the others.",
            "Greedy decoding can never emit them; lengthen those rows, or give the head more dimensions or a bias.",
            float(argmax.n_cannot),
        )


def _declared(report: HeadReport) -> Iterator[Finding]:
    guard = report.guard
    if not guard.keeps_translations:
        kept = "Linear gauges still keep every probability." if guard.keeps_linear else _lengths(report)
        yield Finding(
            "EMB305",
            Severity.TIP,
            f"{guard.title} fixes the origin of the labels",
            f"With it, removing the mean row changes a probability by {_relative(report.centred.change)}: "
            f"translations make other heads. {kept}",
            "If the declaration is wrong, audit again without it.",
            report.centred.change,
        )


def _lengths(report: HeadReport) -> str:
    k = report.rank
    needed = k * (k + 1) // 2
    text = f"Linear gauges must keep all {report.n_labels:,} lengths, which only rotations do where there are enough"
    return text + (" labels." if report.n_labels >= needed else f": {needed:,}, so here some others do too.")


def _relative(change: float) -> str:
    """Write a change of a log-probability as a factor where it is large."""
    return f"a relative {change:.2g}" if change < 1 else f"a factor e^{change:.1f}"


def _zero(report: HeadReport) -> Iterator[Finding]:
    if report.n_zero:
        yield Finding(
            "EMB201",
            Severity.TIP,
            f"{report.n_zero:,} label{'s have' if report.n_zero > 1 else ' has'} no direction",
            "A row that is zero, or equal to the mean row, has no cosine there; it was left out of every such figure.",
            "Give such rows no neighbours instead of arbitrary ones.",
            float(report.n_zero),
        )


CHECKS: tuple[Callable[[HeadReport], Iterator[Finding]], ...] = (
    _drift,
    _origin,
    _simplex,
    _hidden,
    _declared,
    _undeclared_mean,
    _zero,
)


def head_findings(report: HeadReport) -> tuple[Finding, ...]:
    """Draw every conclusion from a report, the gravest first."""
    found = [finding for check in CHECKS for finding in check(report)]
    return tuple(sorted(found, key=lambda finding: -finding.severity))


def head_verdict(report: HeadReport) -> str:
    """Write the paragraph."""
    if not report.verified:
        return "The check failed: heads that should predict the same do not (EMB001). Nothing here can be trusted."
    sentences = (_same(report), _translation(report), _shortest(report), _linear(report), _advice(report))
    text = " ".join(sentence for sentence in sentences if sentence)
    return text.replace("typical row", "typical row (median)", 1)


def _same(report: HeadReport) -> str:
    heads = (report.centred, *report.equivalents) if report.guard.keeps_translations else report.equivalents
    if not heads:
        return ""
    inputs = "its own inputs" if report.has_inputs else "probe inputs"
    largest = max(head.change for head in heads)
    return (
        f"{counted(len(heads), 'other head')} give{'s' * (len(heads) == 1)} every probability the same on {inputs} "
        f"(largest relative change {largest:.0e})."
    )


def _translation(report: HeadReport) -> str:
    change, moved = report.neighbours, report.centred.movement.mean_abs
    if not report.guard.keeps_translations:
        return f"The head has {report.guard.title}, so shifting all labels would change its probabilities."
    if origin_matters(report):
        others = f"{percent(change.top1_changed)} of labels have another nearest label, and "
        neighbours = others if _decides_neighbours(report) else ""
        return (
            f"Label cosines depend on an origin that no probability shows: without the mean row, which is "
            f"{report.offset:.2g} of a typical row long, {neighbours}cosines differ by {moved:.2f} on average."
        )
    quiet = (
        f"Translation is not what troubles these cosines: their origin lies {_where(report)}, and moved to the mean of "
        f"the labels it leaves {percent(1 - change.top1_changed)} of them their nearest label"
    )
    why = _WHY_CENTRED if report.offset <= CENTRED else "; other origins would predict the same"
    return quiet + why + "."


_WHY_CENTRED = (
    ". Weight decay on all labels puts it there, since at its optimum the sum of its pulls must vanish, and so does "
    "gradient descent from zero; the probabilities alone do not"
)


def _where(report: HeadReport) -> str:
    if report.offset <= CENTRED:
        return "at their mean row"
    return f"near their mean row, which is only {report.offset:.2g} of a typical row long"


def _shortest(report: HeadReport) -> str:
    opposite = next((s for s in report.shifts if s.target == -1 and s.quantiles), None)
    if opposite is None or not report.constructions:
        return ""
    made = report.constructions[0]
    first, second = made.names
    return (
        f"A shift of {made.shift:.2g} times a typical row makes {first!r} and {second!r} (cosine {made.before:.2f}) "
        f"exactly opposite, and half of all pairs need no more than {opposite.quantiles[0.5]:.2g}."
    )


def _linear(report: HeadReport) -> str:
    moved = [head for head in report.equivalents if head.kind == "linear"]
    if not moved or report.rank == 1:
        return ""
    worst = max(moved, key=lambda head: head.movement.mean_abs)
    return (
        f"A linear gauge of condition number {worst.condition_number:.3g} moves cosines by "
        f"{worst.movement.mean_abs:.2f} on average; only how the head was trained can rule that out, not what it "
        "predicts."
    )


def _advice(report: HeadReport) -> str:
    if report.guard.normalised:
        return "Cosines of these labels are part of what the head computes."
    if report.logit_agreement is not None:
        return (
            f"Over its own inputs the logits of two labels agree with their cosine only as far as a correlation of "
            f"{report.logit_agreement:.2f}: use logit cosines."
        )
    if origin_matters(report):
        return "Do not read meaning into them; bring inputs and use logit cosines."
    return "Read them as a convention of this training run; with inputs, logit cosines are what the head pins down."
