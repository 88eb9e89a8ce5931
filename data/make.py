"""Make every file of this folder, and SHA256SUMS, which the tests check.

python data/make.py            # tables: heads and interactions
python data/make.py --figures  # also the pictures, at the paper's size (about a minute)
"""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from embaudit import reproduce, simulate_interactions
from embaudit.reproduce.nielsen import FIGURE_1, HEADS

HERE = Path(__file__).parent


def heads() -> dict[str, bytes]:
    """Write label rows of two figures and two drawn heads, one table per head."""
    rows = {"heads/figure_1.csv": FIGURE_1}
    names = ("heads/figure_2_centred.csv", "heads/figure_2_unit.csv")
    rows |= dict(zip(names, HEADS.values(), strict=True))
    rows |= {
        "heads/off_centre.csv": drawn_head(0.6),
        "heads/nearly_centred.csv": drawn_head(0.02),
    }
    return {name: table(head_frame(values)) for name, values in rows.items()}


def drawn_head(offset: float) -> np.ndarray:
    """Draw rows of 80 labels whose mean has a length of `offset` typical rows."""
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((80, 16))
    rows -= rows.mean(axis=0)
    direction = draw.standard_normal(16)
    return rows + offset * np.median(
        np.linalg.norm(rows, axis=1)
    ) * direction / np.linalg.norm(direction)


def head_frame(values: np.ndarray) -> pd.DataFrame:
    """Name the labels by their row number."""
    names = [f"x{i}" for i in range(values.shape[1])]
    return pd.DataFrame(values, columns=names).assign(
        label=[f"label {i}" for i in range(len(values))]
    )[["label", *names]]


def interactions() -> dict[str, bytes]:
    """Make a small simulated data set and the truth about its items."""
    data = simulate_interactions(300, 60, 3, max_items=25, rng=0)
    users, items = data.matrix.nonzero()
    pairs = pd.DataFrame({"user": users, "item": items})
    titles = [
        f"item {i} (cluster {cluster})" for i, cluster in enumerate(data.clusters)
    ]
    truth = {
        "item": np.arange(60),
        "title": titles,
        "cluster": data.clusters,
        "popularity": data.popularity.round(6),
    }
    return {
        "simulated/interactions.csv": table(pairs),
        "simulated/items.csv": table(pd.DataFrame(truth)),
    }


def table(frame: pd.DataFrame) -> bytes:
    """Write a CSV with ten digits, the same on every machine."""
    return frame.to_csv(index=False, lineterminator="\n", float_format="%.10g").encode()


def figures() -> dict[str, bytes]:
    """Draw the pictures of the README, small enough to be shown on a web page."""
    netflix = reproduce.netflix(size="paper", n_seeds=1)
    return {
        "figures/netflix.png": png(netflix.plot()),
        "figures/netflix_remedies.png": png(netflix.plot_remedies()),
        "figures/nielsen.png": png(reproduce.nielsen().plot()),
        "figures/simpson.png": png(reproduce.simpson().plot()),
    }


def png(figure: Figure) -> bytes:
    """Render a figure at 100 dots per inch, without the version of matplotlib."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
    return buffer.getvalue()


def main() -> None:
    """Write the files asked for and the checksums of all."""
    files = (
        heads() | interactions() | (figures() if "--figures" in sys.argv[1:] else {})
    )
    for name, content in files.items():
        path = HERE / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    made = sorted(path for path in HERE.glob("*/*") if path.suffix in (".csv", ".png"))
    sums = []
    for path in made:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sums.append(f"{digest}  {path.relative_to(HERE).as_posix()}")
    (HERE / "SHA256SUMS").write_text("\n".join(sums) + "\n")


if __name__ == "__main__":
    main()
