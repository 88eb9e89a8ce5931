"""Proofs of what was shown: the witnesses, with the pairs and lists that they move."""

from __future__ import annotations

import numpy as np

from embaudit.attacks import Attack
from embaudit.auditing.claims import Claim
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.head_evidence import HeadEvidence
from embaudit.auditing.proof.part import Part, dropping, looked_at, seen, table, witness
from embaudit.canonical import canonical_form
from embaudit.canonical.equivalents import EquivalentModel
from embaudit.gauges import Gauge
from embaudit.kernels.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.softmax.folding import folding


def _equal_model(model: FactorModel, made: EquivalentModel) -> Part:
    if made.gauge is not None:
        return witness(model, made.gauge).giving(condition=made.gauge.condition_number)
    assert made.exponent is not None
    form = canonical_form(model)
    maps = form.left_map(made.exponent), form.right_map(made.exponent)
    return dropping(model, *maps, form.left_centre, form.right_centre)


def moved(evidence: Evidence, claim: Claim) -> Part:
    """Store the equal model that moves the cosines of a role furthest, the pairs sampled, and the lists."""
    visits = [visit for visit in evidence.visits(claim.role) if visit[0].name == claim.scope.models]  # type: ignore[arg-type]
    made, record = visits[0]
    part = _equal_model(evidence.model, made).giving(mean=record.mean_abs, largest=record.max_abs)
    pairs, lists = record.pairs, record.lists
    part = part.and_(pairs=None if pairs is None else table(pairs), **looked_at(evidence))
    if lists is None:
        return part
    return part.and_(listed=table(lists.rows), lists=table(lists.indices)).giving(lost=1 - record.top_n_overlap)


def _head(evidence: Evidence) -> HeadEvidence:
    assert evidence.head is not None
    return evidence.head


def origin(evidence: Evidence, claim: Claim) -> Part:
    """Store the shift that removes the mean row, and the nearest labels; under a guard an input that notices."""
    head = _head(evidence)
    if not head.origin_is_free:
        return declared(evidence, claim)
    assert head.centred.gauge is not None
    labels, moved = table(head.panel.labels), head.centred.movement.mean_abs
    asked = np.array(head.neighbours.asked)
    nearest = table(neighbours(head.model.right, 1, rows=asked).indices)
    part = witness(head.model, head.centred.gauge).and_(among=labels, listed=table(asked), lists=nearest)
    value = "lost" if claim.value == head.neighbours.top1_changed else "mean"
    return Part(part.arrays, {"mean": moved, "lost": head.neighbours.top1_changed}, {"value": value})


def folded(evidence: Evidence, claim: Claim) -> Part:  # noqa: ARG001
    """Store the gains of the final norm as a gauge, and the nearest labels of those without a copy."""
    norm = evidence.norm
    assert norm is not None
    gauge = folding(norm.norm)
    assert gauge is not None
    part = witness(_head(evidence).model, gauge).and_(among=table(norm.labels), listed=table(norm.asked))
    part = part.and_(lists=table(norm.lists.indices))
    found = norm.folded
    return part.giving(condition=gauge.condition_number, mean=found.mean_abs, lost=found.nearest.share)


def declared(evidence: Evidence, claim: Claim) -> Part:  # noqa: ARG001
    """Store an input whose probabilities change most when the mean row is removed."""
    panel, link = _head(evidence).panel, _head(evidence).link
    plain = panel.model.replace(link="softmax")
    after = Gauge.translation(panel.model.rank, right=-panel.mean).act(plain).replace(link=link)
    log = link.log_probabilities
    change = np.abs(log(after.scores()) - log(panel.model.scores())).max(axis=1)
    assert panel.model.left is not None
    return Part({"input": np.asarray(panel.model.left[int(change.argmax())]), "among": table(panel.labels)})


def shortest(evidence: Evidence, claim: Claim) -> Part:  # noqa: ARG001
    """Store the shift that makes two labels opposite."""
    head = _head(evidence)
    pair = head.panel.labels[list(head.chosen)]
    shift = -np.asarray(head.model.right[pair], dtype=np.float64).sum(axis=0) / 2
    gauge = Gauge.translation(head.rank, right=shift)
    return witness(head.model, gauge).and_(pairs=table(pair[None]))


def stretched(evidence: Evidence, claim: Claim) -> Part:
    """Store the linear gauge that moves label cosines furthest."""
    head = _head(evidence)
    other = next(o for o in head.equivalents if o.name == claim.scope.models)
    assert other.gauge is not None
    part = witness(head.model, other.gauge).and_(among=table(head.panel.labels))
    return part.giving(condition=other.condition_number, mean=other.movement.mean_abs)


def attack_of(evidence: Evidence, claim: Claim) -> Attack:
    """Find the attack that a claim is about."""
    return next(a for a in evidence.limits.attacks if claim.name.endswith(f":{a.objective}:{a.role}:{a.group.kind}"))


def attacked(attack: Attack) -> Part:
    """Store the pairs, or the lists, of an attack."""
    if attack.objective == "movement":
        return Part({"pairs": table(attack.table)})
    return Part({"listed": table(attack.table[:, 0]), "lists": table(attack.table[:, 1:])})


def reached(evidence: Evidence, claim: Claim) -> Part:
    """Store the gauge of an attack and what it moves."""
    attack, reduction = attack_of(evidence, claim), evidence.fibre.reduction
    model = evidence.model if reduction is None else reduction.model
    value = "mean" if attack.objective == "movement" else "lost"
    part = witness(model, attack.gauge).and_(**attacked(attack).arrays, **seen(evidence))
    return Part(part.arrays, {}, {"value": value})
