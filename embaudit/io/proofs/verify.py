"""Check a proof of `embaudit audit --proof`: does every claim that it calls shown or proven stand for this model?

    python verify.py proof.npz P.npy Q.npy [a.npy] [b.npy]        (biases, - for none; Q.npy alone for one side)

This file is complete and needs only numpy: copy it, read it, run it. P and Q are the rows of both sides. A proof holds
a record (JSON: claims and their numbers) and the arrays it names: gauges, row numbers, weights. What must be checked is
decided here, by the name of a claim, and every number is computed again from the model. Taken on trust is that rows and
pairs were drawn at random; words are bound to the rest by a hash. Exit code 0: all claims stand, 1: not all, 2: input.
"""

import hashlib
import json
import sys
from typing import Any

import numpy as np

EPS, TIE = 2.0**-52, 1e-9  # cosines closer than TIE are one cosine
SIDES = ("left", "right", "left_bias", "right_bias")
SHOWN = "moved origin origin-decides norm norm-decides shortest stretched reached declared identification"
VALUE = {"moved": "mean", "stretched": "mean", "shortest": "length", "origin": "lost"}
VALUE |= {"norm": "lost", "norm-decides": "lost", "identification": "largest", "free": "largest"}


def digest(*parts: Any) -> str:
    """Hash arrays by shape and numbers, everything else as JSON."""
    found = hashlib.sha256()
    for part in parts:
        array = isinstance(part, np.ndarray)
        found.update(json.dumps(part.shape if array else part, sort_keys=True).encode())
        for start in range(0, len(part) if array else 0, 2**16):
            found.update(np.ascontiguousarray(part[start : start + 2**16], dtype="<f8").tobytes())
    return found.hexdigest()


def require(holds: Any, problem: str) -> None:
    """Fail with a problem unless something holds throughout."""
    if not np.all(holds):
        raise ArithmeticError(problem)


def unit(x: Any) -> Any:
    """Rows of length 1; NaN for a row of zeros."""
    return x / np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]


def cosine(t: Any) -> Any:
    """Cosine of an angle θ by t = tan(θ/2), which keeps the digits that a cosine near 1 has lost."""
    return 2 / (1 + t * t) - 1


def inscribed(t: Any, a: Any, b: Any, r: float) -> tuple[Any, Any]:
    """Largest and least tan(θ/2) that a shift up to r makes of t, of rows of lengths a, b (inscribed angles)."""
    dot, small, near = a * b * cosine(t), np.minimum(t, 1 / t), np.minimum(np.minimum(a, b), r)
    area, base = 2 * a * b * small / (1 + small**2), np.sqrt((a - b) ** 2 + 4 * a * b / (1 + (1 / t) ** 2))
    inner, root = dot - near**2, np.sqrt((a - near) * (a + near) * (b - near) * (b + near))
    acute = (inner > 0) | (dot >= a * a) | (dot >= b * b)  # two forms of one number, so that neither cancels
    more, less = area + near * base, np.maximum(area * (1 - 16 * EPS) - near * base, 0)
    most = np.where(near < r, np.inf, np.where(acute, more, root - inner) / np.where(acute, inner + root, less))
    least = np.where(sure := acute & (inner + root > 0), less, root - inner) / np.where(sure, inner + root, more)
    return np.where(base == 0, t, most), np.where(base == 0, t, np.where(near < r, 0, least))


def weighted(x: Any, y: Any, top: Any, s: Any, square: float) -> Any:
    """Largest cosine of rows under weights w from 1 to square on coordinates, if it is top; larger ones disprove top.

    √(Σw xx Σw yy) is the least of Σw d over s, d = (s xx + yy/s)/2. If top >= 0, weights that beat it are high exactly
    where xy > top d for some s: in order of s, all of these are tried. If top < 0, one stored s bounds all weights.
    """
    t, terms, on = abs(np.clip(top, 0, 1))[:, None], (x * y, x * x, y * y), x * y > 0
    ratio, alpha = np.where(on, abs(y / x), np.nan), t / (1 + np.sqrt((1 - t) * (1 + t)))
    order = np.argsort(np.hstack([0 * t - 1, ratio * alpha, ratio / alpha]), axis=1)
    rise = (np.hstack([z.sum(axis=1, keepdims=True), (square - 1) * z * on, (1 - square) * z * on]) for z in terms)
    dot, a, b = (np.cumsum(np.take_along_axis(z, order, axis=1), axis=1) for z in rise)
    excess = terms[0] - top[:, None] * (s[:, None] * terms[1] + terms[2] / s[:, None]) / 2
    bounded = np.maximum(excess, square * excess).sum(axis=1) <= TIE * abs(terms[0]).sum(axis=1)
    return np.where(np.isnan(s), np.max(dot / np.sqrt(a * b), axis=1), np.where((top < 0) & bounded, top, 2))


class Claim:
    """A claim, the model, its arrays (`claim["pairs"]`, None where there are none), and what is known from others."""

    def __init__(self, claim: Any, arrays: Any, link: Any, model: Any, known: Any) -> None:
        self.claim, self.proof, self.scope, self.link, self.model = claim, claim["proof"], claim["scope"], link, model
        self.known, self.arrays = known, {name: arrays[key] for name, key in claim["proof"]["arrays"].items()}
        self.about, *parts = (part for part in claim["name"].split(":") if part not in ("movement", "neighbours"))
        self.role, self.group, *_ = (*(parts or [self.proof.get("role", "right")]), "", "")
        self.sides = ("left", "right") if self.role == "cross" else (self.role, self.role)
        self.unseen = link["name"] == "ranking" or (link["name"] == "softmax" and link["soft_cap"] is None)
        free = [link["name"] != "cosine" and model[f"{side}_bias"] is not None for side in ("left", "right")]
        self.rows_free, self.columns_free = self.unseen or free[0], free[1]  # one number a row, one a column of scores
        self.unit = {"cosine": ("left", "right"), "softmax": ("right",) * link["unit_rows"]}.get(link["name"], ())
        self.stored = {s: np.dtype(float) if model[s] is None else model[s].dtype for s in ("left", "right")}
        self.storage, self.tolerance = (
            (EPS, TIE) if set(self.stored.values()) == {np.dtype(float)} else (2.0**-23, 1e-5)
        )

    def __getitem__(self, name: str) -> Any:
        return self.arrays.get(name)

    def raw(self, side: str, which: Any = None) -> Any:
        """Rows of a side, or labels chosen, in what they span of many columns; unit rows stand for a missing side."""
        if self.model[side] is None:
            return np.eye(self.raw("right", [0]).shape[1])
        x = self.model[side] if side == "left" or self["labels"] is None else self.model[side][self["labels"]]
        return self.within(np.asarray(x if which is None else x[which], dtype=float), side, "span")

    def rows(self, side: str, which: Any = None) -> Any:
        """Rows as the link multiplies them, where it is asked for in the dimensions that predictions see."""
        x = self.raw(side, which)
        return self.within(unit(x) if side in self.unit else x, side, "basis")

    def within(self, x: Any, side: str, basis: str) -> Any:
        """Rows in an orthonormal basis where there is one, as precise as they are stored."""
        return x if self[basis] is None else (x @ self[basis]).astype(self.stored[side]).astype(float)

    def other(self, side: str, which: Any = None) -> Any:
        """The same rows in the other model that the claim speaks of: mapped and shifted, or some of them reflected."""
        x = self.rows(side, which)
        if self["reflected"] is None:
            return x @ self[f"gauge_{side}"] + self[f"shift_{side}"]
        chosen = np.isin(np.arange(len(x)) if which is None else which, self["reflected"])[:, None]
        return x - 2 * chosen * (x @ self["mirror"]) if side == self.proof["side"] else x

    def gauge(self) -> float:
        """Condition number of the gauge, if it is in the scope and the stored rows keep their predictions."""
        (p, p2), (q, q2) = ([f(s, self[f"rows_{s}"]) for f in (self.rows, self.other)] for s in ("left", "right"))
        a, b, k, gap = self["gauge_left"], self["gauge_right"], p.shape[1], p2 @ q2.T - p @ q.T
        kappa = 1.0 if a is None else max(1.0, float(np.linalg.norm(a, 2) * np.linalg.norm(b, 2)))
        gap -= gap.mean(axis=1, keepdims=True) if self.rows_free else 0
        gap -= gap.mean(axis=0) if self.columns_free or ("map" in self.proof and self.unseen) else 0
        size, size2 = (np.prod([np.linalg.norm(x, axis=1).max() for x in both]) for both in ((p, q), (p2, q2)))
        bound = 4 * EPS * k**1.5 * kappa * size + 4 * self.storage * (size + size2)
        require(abs(gap) <= bound, f"a prediction moves by {abs(gap).max():.1e}, rounding explains {bound:.1e}")
        for x in (p2,) * ("left" in self.unit) + (q2,) * ("right" in self.unit):
            require(abs(np.linalg.norm(x, axis=1) - 1) <= 64 * k * EPS * kappa**2, "rows lose their length 1")
        most, shift = self.scope["max_condition"], self.scope["max_shift"] or 0.0
        require(most is None or kappa <= most * (1 + TIE), f"the gauge has condition number {kappa:.6g}")
        if a is not None and "map" not in self.proof:  # maps to fewer dimensions; a head may get a bias with one
            require(abs(a @ b.T - np.eye(k)) <= 64 * k * EPS * kappa, "its two matrices are not inverse to each other")
            require(self.rows_free or not self["shift_right"].any(), "nothing absorbs a shift of right rows")
            require(self.columns_free or not self["shift_left"].any(), "nothing absorbs a shift of left rows")
            for side, matrix in (("right", a), ("left", b)) if self.about == "reached" else ():
                most = shift * self.median(side) * (1 + TIE) + 1e-12 if side == self.role else 0
                long = np.linalg.norm(self[f"shift_{side}"] @ matrix.T) > most
                require(not long, f"the gauge shifts {side} rows by too much")
        return kappa

    def median(self, side: str) -> float:
        """Median length of a row: the unit of shifts."""
        return float(np.median(np.linalg.norm(self.rows(side), axis=1)))

    def tiles(self, first: Any, second: Any, *models: Any) -> Any:
        """Yield cosines of some rows with others, a few rows at a time, in each model; -2 where there is no pair."""
        ends = list(zip(self.sides, (first, second), strict=True))
        units = [[np.nan_to_num(unit(f(*end))) for end in ends] for f in models]
        first, second = (np.arange(len(u)) if i is None else i for i, u in zip((first, second), units[0], strict=True))
        step = 2**22 // len(second) + 1
        for part in (slice(at, at + step) for at in range(0, len(first), step)):
            none = ~units[0][0][part].any(axis=1, keepdims=True) | ~units[0][1].any(axis=1)
            none |= (first[part, None] == second) & (self.role != "cross")
            found = [u[part] @ v.T for u, v in units]
            for tile in found:
                np.copyto(np.clip(tile, -1, 1, out=tile), -2, where=none)
            yield part, *found

    def movement(self) -> tuple[float, float]:
        """Mean and largest |Δcos| over pairs; where there are none, over all pairs of the rows stored, or of all."""
        both = self.rows, self.other
        if self["pairs"] is not None:
            ends = [(s, *np.unique(i, return_inverse=True)) for s, i in zip(self.sides, self["pairs"].T, strict=True)]
            a, b = (np.einsum("ij,ij->i", *(unit(f(s, i))[at] for s, i, at in ends)) for f in both)
            return float(np.nanmean(abs(b - a))), float(np.nanmax(abs(b - a)))
        tiles = self.tiles(self["among"], self["among"], *both)
        found = np.array([(abs(b - a).sum(), (a > -2).sum(), abs(b - a).max()) for _, a, b in tiles])
        return found[:, 0].sum() / found[:, 1].sum(), found[:, 2].max()

    def lost(self) -> Any:
        """Share of the entries of nearest lists that fall behind as many others by a tie, give or take rounding."""
        key = json.dumps([self.role, self.proof["arrays"]], sort_keys=True)
        if key in self.known:
            return self.known[key]
        lists, n, out = self["lists"], self["lists"].shape[1], np.zeros(2)
        ties = max(TIE, 16 * self.storage) + self.storage * np.array([8, -8])[:, None, None]
        models = (self.tiles(self["listed"], None, model) for model in (self.rows, self.other))
        for (part, was), (_, now) in zip(*models, strict=True):  # each lists what has a direction there
            before, after = (np.take_along_axis(tile, lists[part], axis=1) for tile in (was, now))
            for tile in (was, now):
                tile.partition(-n, axis=1)  # the last of n nearest
            require(before >= was[:, -n, None] - TIE, "a list does not hold the nearest rows")
            out += (after < now[:, -n, None] - ties).sum(axis=(1, 2))
        return self.known.setdefault(key, out / lists.size)

    def certified(self, kappa: float, shift: float) -> tuple[Any, Any]:
        """Share of whole lists, and of entries, for which all others keep κ² times as large a tan(θ/2)."""
        key = json.dumps([self.role, shift, self.proof["arrays"]], sort_keys=True)
        if key not in self.known:
            self.known[key] = np.vstack(list(self.ratios(shift)))
        ahead = [self.known[key] > kappa**2 * edge for edge in (1 - 1e-6, 1 + 1e-6)]  # at the edge either way
        return np.array([x.all(axis=1).mean() for x in ahead]), np.array([x.mean() for x in ahead])

    def ratios(self, shift: float) -> Any:
        """Yield how many times the tan(θ/2) of an entry that of any other is at least; 0 where they tie."""
        length, lists = np.linalg.norm(self.rows(self.role), axis=1), self["lists"]
        for part, tile in self.tiles(self["listed"], None, self.rows):
            entries, own = np.take_along_axis(tile, lists[part], axis=1), length[self["listed"][part], None]
            np.put_along_axis(tile, lists[part], -2, axis=1)
            first = tile.max(axis=1, keepdims=True)
            near, far = (np.sqrt((1 - c) / np.maximum(1 + c, 0)) for c in (entries, tile if shift else first))
            if shift:
                near, far = inscribed(near, own, length[lists[part]], shift)[0], inscribed(far, own, length, shift)[1]
                far = np.where(tile < -1, np.inf, far).min(axis=1, keepdims=True)
            yield np.where(entries <= first + TIE, 0, far / near)

    def reach(self, group: str, kappa: float, shift: float) -> tuple[Any, Any, Any]:
        """Cosines of the pairs, and the least and largest that gauges within a budget make of them."""
        x, y = (self.rows(s, i) for s, i in zip(self.sides, self["pairs"].T, strict=True))
        known, kappa = x.any(axis=1) & y.any(axis=1), kappa if x.shape[1] > 1 else 1.0
        x, y, s, step = x[known], y[known], self["slopes"], float(np.log(kappa))
        t = np.linalg.norm(unit(x) - unit(y), axis=1) / np.linalg.norm(unit(x) + unit(y), axis=1)
        c, a, b = cosine(t), np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1)
        if group == "diagonal" and self.role != "cross":
            low, high = self["ends"][known].T
            for end, sign, at in ((high, 1, s[known, 1]), (low, -1, s[known, 0])):
                for i in np.array_split(np.arange(len(x)), len(x) // 128 + 1):  # few enough to stay in the cache
                    best = weighted(x[i], sign * y[i], sign * end[i], at[i], kappa**2)
                    require(abs(best - sign * end[i]) <= 1e-8, "an end of a diagonal range is not the extreme cosine")
            return c, low, high
        if group == "diagonal":  # √(Σw xx Σ yy/w): least where Σw s xx = Σ yy/(w s), at most Σ of the larger ends
            p, q = ([x * x * v[:, None], y * y / v[:, None]] for v in s[known].T)
            w = np.nan_to_num(np.clip(np.sqrt(p[1] / p[0]), 1, kappa**2), nan=1.0)
            require(abs((w * p[0] - p[1] / w).sum(axis=1)) <= 1e-7 * (w * p[0]).sum(axis=1), "a slope is not the best")
            sizes = (w * p[0] + p[1] / w) / 2, np.maximum(q[0] + q[1], q[0] * kappa**2 + q[1] / kappa**2) / 2
            near, far = ((x * y).sum(axis=1) / size.sum(axis=1) for size in sizes)
            return c, np.minimum(near, far), np.maximum(near, far)
        if self.role != "cross":
            most, least = inscribed(t, a, b, shift) if shift else (t, t)
            most, least = (np.where((x.shape[1] == 1) & (z > 0) & (z < np.inf), t, z) for z in (most, least))
            return c, cosine(most * kappa), cosine(least / kappa)
        ratio, ends = shift / (b if self.rows_free else a), []  # right rows are shifted where they may be
        turn = np.where(ratio > 1, np.pi, np.arcsin(np.minimum(ratio, 1)) * (x.shape[1] > 1))
        for way in (1, -1):  # |cos θ| = sech w, |tan θ| = sinh w: gauges take ln κ to or from w
            angle = np.clip(2 * np.arctan(t) + way * turn, 0, np.pi)
            sign, depth = np.sign(np.cos(angle)), np.arcsinh(abs(np.tan(angle)))
            ends.append(sign / np.cosh(np.maximum(depth + way * sign * step, 0)))
        return c, *ends

    def shown(self) -> dict[str, float]:
        """Numbers of a claim that a witness shows: an equal model, or under a guard one that is not equal."""
        if self["input"] is not None:  # a head whose probabilities change at this input when its mean row is removed
            rows, logs, bias, cap = self.raw("right"), [], self.model["right_bias"], self.link["soft_cap"]
            for w in (rows[self["among"]], rows[self["among"]] - rows.mean(axis=0)):
                z = (unit(w) if self.unit else w) @ self["input"] + (0 if bias is None else bias[self["among"]])
                z = z if cap is None else cap * np.tanh(z / cap)
                logs.append(z - z.max() - np.log(np.exp(z - z.max()).sum()))
            return {"value": float(abs(logs[1] - logs[0]).max())}
        found = {"condition": self.gauge()}
        if self.about.startswith("origin"):
            x = self.rows("right")
            require(abs(self["shift_right"] + x.mean(axis=0)) <= self.tolerance * abs(x).max(), "it keeps the mean row")
        if self["pairs"] is not None or self.about != "reached":
            found["mean"], found["largest"] = self.movement()
        if self["lists"] is not None:
            found["lost"] = self.lost()
        if self.about.startswith("norm"):  # gains stand on the diagonal, and nothing is shifted
            a, shifts = self["gauge_left"], (self["shift_left"], self["shift_right"])
            require(not (a - np.diag(a.diagonal())).any() and not any(s.any() for s in shifts), "it holds no gains")
        if self.about == "shortest":
            turned = unit(self.other("right", self["pairs"][0]))
            require(abs(turned[0] @ turned[1] + 1) <= 1e-6, "the two labels are not opposite")
            found["length"] = float(np.linalg.norm(self["shift_right"])) / self.median("right")
        require(self.about not in ("free", "identification") or found["largest"] > 1e-3, "no cosine moves")
        return found | {"value": found[VALUE.get(self.about, self.proof.get("value"))]}

    def proven(self) -> dict[str, Any]:
        """Numbers of a claim that is a theorem for a set of gauges: its conditions and inequalities."""
        budget, k, about = self.scope["max_condition"] or 1.0, self.rows("right", [0]).shape[1], self.about
        if about in ("range", "certified", "bound"):
            named = budget if about == "bound" else float(self.claim["name"].split(":")[-1])
            require(abs(named - budget) <= 1e-5 * budget, "its name has another budget")
            side = self.role if self.role != "cross" else "right" if self.rows_free else "left"
            shift = self.scope["max_shift"] * self.median(side) if self.scope["max_shift"] else 0.0
            if self["pairs"] is None:
                lists, entries = self.certified(budget, shift)
                return {"value": lists if about == "certified" else 1 - entries}
            c, low, high = self.reach(self.group if about == "range" else "linear", budget, shift)
            width = np.median(high - low) if about == "range" else np.mean(np.maximum(high - c, c - low))
            return {"value": float(width)}
        if about in ("argmax", "simplex"):
            return {"value": self.labels(np.asarray(self.model["right"], dtype=float))}
        if about == "pinned":
            return self.pinned(k)
        if about == "span":
            basis = self["gauge_left"]
            require(abs(basis.T @ basis - np.eye(basis.shape[1])) <= 64 * k * EPS, "its columns are not orthonormal")
            for x in (self.raw(side) for side in ("left", "right") if self.model[side] is not None):
                length, rest = (np.linalg.norm(z, axis=1) for z in (x, x - x @ basis @ basis.T))
                require(rest <= 64 * k * EPS * length, "a row has more dimensions")
            return {"value": None}
        self.gauge()
        if about == "outside":
            x = self.rows(self.role)
            rest = x - x @ self["gauge_left"] @ self["gauge_left"].T
            shares = (rest**2).sum(axis=1) / (x**2).sum(axis=1)
            return {"value": k - self["gauge_left"].shape[1], "share": float(np.nanmax(shares))}
        if about == "free":
            moves = np.linalg.matrix_rank(self["gauge_left"]) < k if "map" in self.proof else self.movement()[1] > 1e-3
            require(moves, "no cosine moves")
        return {"value": None}

    def labels(self, rows: Any) -> float:
        """Labels to a dimension; or how many never lead: t <= D x <= 1 has t <= Σμ if Dᵀ(λ - μ) = 0, Σλ = 1."""
        centred, bias, label, other = rows - rows.mean(axis=0), self.model["right_bias"], self["hidden"], self["others"]
        if self.about == "simplex":
            s = np.linalg.svd(centred, compute_uv=False)
            return len(rows) / int((s > s[0] * len(s) * self.storage).sum())
        bias, ahead, most = np.zeros(len(rows)) if bias is None else bias, self["ahead"], self["most"]
        gaps = np.einsum("ns,nsk->nk", ahead - most, rows[label, None] - rows[other]) / abs(centred).max()
        level = ((ahead - most) * (bias[label, None] - bias[other])).sum(axis=1)
        require((ahead >= 0) & (most >= 0) & (abs(ahead.sum(axis=1, keepdims=True) - 1) <= TIE), "no weights")
        require((abs(gaps).max(axis=1) <= TIE) & (level <= TIE * np.ptp(bias)), "the weights do not balance")
        require(most.sum(axis=1) <= 1e-6, "the weights leave a lead")
        return len(set(label.tolist()))

    def pinned(self, k: int) -> dict[str, None]:
        """Ask whether lengths of 1 leave no metric but I; on a line, whether anything could turn a sign."""
        if self["spanning"] is not None:  # the forms r rᵀ of these rows, of a head with r, span all forms
            u = unit(self.rows("right" if self.link["name"] == "softmax" else self.proof["side"], self["spanning"]))
            products, affine = (u @ u.T) ** 2, self.link["name"] == "softmax"
            require(len(u) == k * (k + 1) // 2 + k * affine and (not affine or self.unseen), "too few rows span")
            least = np.linalg.eigvalsh(products + affine * (u @ u.T))[0]
            require(bool(self.unit) and least > 64 * len(u) * EPS, "the rows do not span")
        elif self["weights_left"] is not None:  # Σ weights r rᵀ is one form on both sides
            forms, positive = [], True
            for side in ("left", "right"):
                u, weights = np.nan_to_num(unit(self.rows(side))), self[f"weights_{side}"]
                forms.append((u * weights[:, None]).T @ u)
                on = np.einsum("ij,jk,ik->i", u, forms[0], u)
                positive &= bool(np.all(weights >= 0) and np.all((abs(on - 1) <= 1e-8) | ~u.any(axis=1)))
            values = np.linalg.eigvalsh(forms[0])
            require(abs(forms[0] - forms[1]) <= 1e-8 * values[-1], "the two sides hold other forms")
            require(self.link["name"] == "cosine" and (values[0] > 1e-4 * values[-1] or positive), "no positive form")
        else:
            turns = {"right": self.rows_free, "left": self.columns_free}
            require(k == 1 and not any(turns[s] for s in self.sides), "a shift could turn a sign")
            require(self.link["name"] != "ranking" and self.link["soft_cap"] is None, "equal models are not known")
        return {"value": None}

    def check(self) -> None:
        """Fail unless the claim stands with its kind and all of its numbers."""
        kind = self.about in SHOWN.split() or (self.about == "free" and self.claim["value"] is not None)
        require(self.claim["kind"] == ("shown" if kind else "proven"), "it is of another kind")
        found = self.shown() if kind else self.proven()
        for name, number in (self.proof["numbers"] | {"value": self.claim["value"]}).items():
            require((number is None) == (found[name] is None), f"{name} is {found[name]}, not {number}")
            if number is not None:
                nearest = np.clip(number, np.min(found[name]), np.max(found[name]))
                close = abs(number - nearest) <= self.tolerance * max(1, abs(number))
                require(close, f"{name} is {nearest}, not {number}")


def verify(arrays: Any, model: Any) -> list[tuple[str, str]]:
    """List each claim, and arrays of the model, with what is wrong; an empty text where it stands."""
    record, found, known = json.loads(str(arrays["record"])), [], {}  # type: Any, list[tuple[str, str]], dict[str, Any]
    for name, x in model.items():
        same = record["model"]["arrays"][name] == (None if x is None else digest(np.asarray(x)))
        found.append((name, "" if same else "another array than the one that was audited"))
    for claim in record["claims"]:
        try:
            with np.errstate(all="ignore"):
                Claim(claim, arrays, record["model"]["link"], model, known).check()
            parts = [{k: v for k, v in claim.items() if k != "digest"}, record["model"]]
            names = sorted(claim["proof"]["arrays"].items())
            for use, name in (("span", "span"), ("basis", "reduction")):
                stored = {c["proof"]["arrays"]["gauge_left"] for c in record["claims"] if c["name"] == name}
                require(claim["proof"]["arrays"].get(use) in {None} | stored, f"its {use} is not that of the {name}")
            require(digest(*parts, *(arrays[key] for _, key in names)) == claim["digest"], "its words were changed")
            found.append((claim["name"], ""))
        except Exception as error:  # whatever goes wrong, the claim is not proven
            found.append((str(claim.get("name")), f"{error}" or type(error).__name__))
    return found


def main() -> int:
    """Verify the proof and the model that the command line names."""
    given = dict(zip(SIDES[1:] if len(sys.argv) == 3 else SIDES, sys.argv[2:], strict=False))
    try:
        model = {side: None if given.get(side, "-") == "-" else np.load(given[side]) for side in SIDES}
        require(model["right"] is not None, "a proof and a model must be named")
        found = verify(dict(np.load(sys.argv[1])), model)
    except Exception as error:
        print(f"{error}; {__doc__}", file=sys.stderr)
        return 2
    for name, problem in found:
        print(f"{'FAILS' if problem else 'stands'}  {name}  {problem}".rstrip())
    return int(any(problem for _, problem in found))


if __name__ == "__main__":
    sys.exit(main())
