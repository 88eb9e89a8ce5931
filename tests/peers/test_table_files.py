"""The line that a refusal of an Excel or Avro table prints runs on such files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from embaudit.errors import InputError
from embaudit.io import load

VECTORS = np.arange(12.0).reshape(4, 3) / 8


@pytest.mark.parametrize(
    ("suffix", "package"), [("xlsx", "openpyxl"), ("avro", "fastavro")]
)
def test_the_line_for_other_tables_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, package: str
) -> None:
    library = pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    path = Path(f"v.{suffix}")
    frame = pd.DataFrame(VECTORS).add_prefix("e").assign(id=list("abcd"))
    if suffix == "xlsx":
        frame.to_excel(path, index=False)
    else:
        fields = [{"name": f"e{k}", "type": "double"} for k in range(3)]
        fields.append({"name": "id", "type": "string"})
        schema = {"type": "record", "name": "row", "fields": fields}
        with path.open("wb") as file:
            library.writer(file, schema, frame.to_dict("records"))
    with pytest.raises(InputError) as refused:
        load(path)
    exec(str(refused.value).partition(" in Python: ")[2].removesuffix("."), {})
    out = "vectors.csv" if suffix == "xlsx" else "vectors.parquet"
    assert load(out).right_ids.tolist() == list("abcd")
    np.testing.assert_array_equal(load(out).right, VECTORS)
