"""What an audit says that it will take, against what it takes, by shape.

Run from the root of a checkout: `python benchmarks/bench_cost.py` (some minutes), or with `--shapes 3000x0x64` for some
only: right rows x left rows x columns, or `head:LABELSxCOLUMNS`. Each audit is predicted right before it runs. Beside
other work the time that passes says little, so processor time is predicted for one worker and held against that, too.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import embaudit as ea
from embaudit.auditing.forecast import forecast
from embaudit.auditing.work import work_of

SHAPES = [
    "300x200x16", "5000x0x32", "9724x610x50", "2000x300x200", "20000x5000x64", "50000x0x128", "200000x0x64",
    "3000x0x384", "head:500x64", "head:1000x1024",
]  # fmt: skip


def model_of(shape: str) -> ea.FactorModel:
    """Draw a model of a shape."""
    draw, name = np.random.default_rng(0), shape.removeprefix("head:")
    sizes = [int(size) for size in name.split("x")]
    if name != shape:
        return ea.FactorModel.from_softmax(draw.standard_normal(sizes))
    right, left, k = sizes
    rows = draw.standard_normal((right, k))
    return (
        ea.FactorModel.from_user_item(draw.standard_normal((left, k)), rows)
        if left
        else ea.FactorModel.from_vectors(rows)
    )


def main() -> None:
    """Predict and audit each shape, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    print("shape               predicted       took   predicted / took   processor   predicted / processor")
    ratios = []
    for shape in parser.parse_args().shapes:
        model = model_of(shape)
        cost, alone = forecast(model, work_of(model)), forecast(model, work_of(model), time.thread_time).on(1)
        start, used = time.perf_counter(), time.process_time()
        ea.audit(model).to_dict()
        took, used = time.perf_counter() - start, time.process_time() - used
        ratios.append((cost.seconds / took, alone / used))
        print(
            f"{shape:<18} {cost.seconds:>8.1f} s {took:>8.1f} s {ratios[-1][0]:>18.2f} {used:>9.1f} s "
            f"{ratios[-1][1]:>23.2f}",
            flush=True,
        )
    low, high = np.min(ratios, axis=0), np.max(ratios, axis=0)
    for name, least, most in zip(("took", "processor"), low, high, strict=True):
        print(f"predicted / {name} from {least:.2f} to {most:.2f}")


if __name__ == "__main__":
    main()
