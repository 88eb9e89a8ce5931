"""Blocks of the documentation that need another library run with it."""

import doctest
import re

import pytest
from peers.table import PAGE

RECIPES = {
    path.name: re.findall(
        r"```python peers\n(.*?)```", path.read_text("utf-8"), re.DOTALL
    )
    for path in PAGE.parent.glob("*.md")
}


@pytest.mark.parametrize("page", [page for page, texts in RECIPES.items() if texts])
def test_a_recipe_with_another_library_runs(page: str) -> None:
    pytest.importorskip("transformers")
    test = doctest.DocTestParser().get_doctest(
        "\n".join(RECIPES[page]), {}, page, page, 0
    )
    assert (
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed
        == 0
    )
