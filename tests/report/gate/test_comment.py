"""What a comment on a change says of a result, whatever its names."""

from __future__ import annotations

import embaudit as ea
from embaudit.report.document import Origin
from embaudit.report.gate.forges import comment


def test_a_comment_has_words_a_table_and_notes_in_this_order():
    found = ea.block_cosines([1.0, 1.0], [1.0, 2.0])
    assert comment(found, "a & b", Origin(seed=3)) == "\n".join([
        "### embaudit: a \\& b",
        "",
        "global cosine 0.9487 = 0.9487 (norm profiles) × 1.0000 (weighted mean of 2 blocks by coordinates, 2 entries)",
        "",
        "with these norms the local cosines allow 0.9487 to 0.9487",
        "",
        "blocks by their part of the gap to 1",
        "",
        "| block | size | cosine | weight | contribution | norm\\_gap | direction\\_gap | without | gap\\_share | "
        "cumulative\\_share |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        "| \\[0\\] | 1 | 1 | 0.3162 | 0.3162 | 0.03377 | 0 | 1 | 0.6581 | 0.6581 |",
        "| \\[1\\] | 1 | 1 | 0.6325 | 0.6325 | 0.01754 | 0 | 1 | 0.3419 | 1 |",
        "",
        f"embaudit {ea.__version__}, seed 3",
        "",
    ])  # fmt: skip
