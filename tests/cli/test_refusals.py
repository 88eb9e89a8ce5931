"""A command refuses wrong input with exit code 2 and one sentence on the mistake."""

from __future__ import annotations

from pathlib import Path
from shlex import split

import pytest

REFUSED = {
    "": [
        ("magic", "No such command 'magic'"),
        ("audti model.npz", "Did you mean 'audit'?"),
    ],
    "audit": [
        ("", "Missing argument 'path'"),
        ("model.npz --magic", "No such option: --magic"),
        ("nowhere.npz", "must be a file that exists; got nowhere.npz"),
        ("films.csv", "choose the columns with --vector FIRST:LAST"),
        ("ratings.csv", "factorize them first: `embaudit fit ratings.csv"),
        ("items.npy users.npy", "embaudit: files read as one must be tables of one"),
        ("items.npy users.npy", "the other side as --left-file FILE"),
        ("model.npz twin.npz", "compare models with `embaudit compare`"),
        ("model.npz --hull", "a softmax head for --hull; got one with identity link"),
        ("model.npz --attention 0.0", "a folder of a checkpoint, or its .safetensors"),
        (
            "model.npz --left-name node --right-name node",
            "different; got 'node' for both; give other words as --left-name WORD",
        ),
        ("items.npy --left users.npy", "give a file as --left-file users.npy."),
        ("layers.npz --left users.npy --weight b", "give a file as --left-file users"),
        (
            "layers.npz --left-file a --weight b --kind vectors",
            "name the array with --left a.",
        ),
        ("layers.npz --weight b --id-array two.txt", "give a file as --ids two.txt."),
        (
            "layers.npz --weight b --kind vectors --ids c",
            "name the array with --id-array c.",
        ),
        ("items.npy --bias two.txt", "give a file as --bias-file two.txt."),
        ("layers.npz --weight b --bias-file two.txt", "say --bias NAME."),
        ("items.npy --ids films.csv:id", "--ids films.csv and --ids-column id."),
        ("items.npy --ids-column id", "must be given with --ids, the table whose"),
        ("items.npy --left-ids-column id", "must be given with --left-ids, the table"),
        (
            "items.npy --left a --left-file users.npy",
            "omitted if --left-file is given",
        ),
        (
            "items.npy --id-array a --ids two.txt",
            "--id-array must be omitted if --ids",
        ),
        ("items.npy --vector-id id", "got vector_id; say --ids FILE."),
        ("layers.npz", "name two factors with --left A and --weight B"),
        ("layers.npz --weight magic", "--weight must be one of"),
        ("layers.npz --left a --weight b", "or ignore it with --ignore c"),
        ("films.csv --kind vectors --vector title", "column of lists; got 'title'"),
        ("model.npz --kind magic", "one of auto, factors, head, vectors"),
        ("model.npz --link magic", "one of identity, softmax, sigmoid, cosine"),
        ("model.npz --objective magic", "`embaudit explain objectives`"),
        ("model.npz --role magic", "--role must be one of"),
        ("model.npz --served magic", "--served must be one of cosine, dot, l2; got"),
        ("model.npz --groups magic", "one of canonical, affine, diagonal"),
        ("model.npz --groups translation", "a family of gauges that keeps the scores"),
        ("unit.npy --compared cosine --groups linear", "keeps the cosines"),
        ("model.npz --n-gauges 0", "--n-gauges must be an integer from 1"),
        ("model.npz --n-pairs 0", "--n-pairs must be an integer from 1"),
        ("model.npz --max-condition 0.5", "--max-condition must be a finite number >"),
        ("model.npz --rng magic", "Invalid value for '--rng'"),
        ("model.npz --jobs 0", "Invalid value for '--jobs'"),
        ("model.npz --jobs 2 --dask localhost:1", "--jobs must be omitted if"),
        ("model.npz --dask magic", "HOST:PORT of a Dask scheduler"),
        ("model.npz --weight magic", "model.npz: an option for embaudit files must"),
        ("model.npz --show nobody", "no titles: add --items movies.csv"),
        ("model.npz --items films.csv --show magic", "--show must be an id or title"),
        ("model.npz --title title", "--title must be given with --items"),
        ("model.npz --items films.csv --id magic", "one of id, title, kind"),
        ("model.npz --labels magic", "must be a file that exists; got magic"),
        ("model.npz --right-counts users.npy", "must be one number per row"),
        ("items.npy --ids two.txt", "a file of 30 item ids, one per row; got 2"),
        ("items.npy --labels two.txt", "a file of 30 item names, one per row; got 2"),
        ("items.npy --right-counts two.txt", "must be numbers; got 'i0' in line 1"),
        ("items.npy --objective normalised", "nearest names are 'normalised-head'"),
        ("head.npz --kind head --objective arcface", "add --link cosine"),
        ("head.npz --kind head --states users.npy", "with --inputs"),
        ("model.npz --fail-on magic", "not one of 'issue', 'tip', 'never'"),
        ("model.npz --ignore-code EMB999", "listed by `embaudit explain`"),
        ("model.npz --baseline films.csv", "must be the JSON of an audit"),
        ("model.npz --baseline none.json", "must be a file that exists"),
        ("model.npz --out page.pdf", "--out must be a file that ends in .html"),
        ("model.npz --markdown page.html", "a file that ends in .md"),
        ("model.npz --json page.html", "a file that ends in .json"),
        ("model.npz --json model.npz --force", "another file than the input"),
        ("model.npz --heatmap heat.gif", "ends in .png, .svg or .pdf"),
        ("model.npz --heatmap heat", "ends in .png, .svg or .pdf"),
        ("model.npz --heatmap-groups kind", "must be given with --heatmap"),
        ("model.npz --heatmap h.svg --heatmap-groups kind", "given with --items"),
        ("model.npz --junit films.csv", "overwrite it with --force"),
    ],
    "blocks": [
        ("x.npz longer.npz", "got 'late' in y only"),
        ("x.npz items.npy", "the keys of x and y must be the same"),
        ("x.npz y.npz --blocks 'none*'", "patterns that match names; got 'none*'"),
        ("x.npz y.npz --markdown there.md", "overwrite it with --force"),
    ],
    "compare": [
        ("model.npz nowhere.npz", "must be a file that exists; got nowhere.npz"),
        ("model.npz items.npy", "got no ids in the second model; add them with --ids"),
        ("items.npy unit.npy", "join by row order with --by-row"),
        ("items.npy users.npy --ids labels.txt", "a file of 40 item ids"),
        ("model.npz twin.npz --n-neighbours 0", "--n-neighbours must be an integer"),
        ("model.npz twin.npz --fail-below 2", "--fail-below must be NAME=NUMBER"),
        ("model.npz twin.npz --fail-below kept=x", "got 'kept=x'"),
        ("model.npz twin.npz --fail-below magic=1", "one of shared, kept, predicted"),
        ("model.npz twin.npz --json a --out a", "another file than another output"),
        ("model.npz twin.npz --markdown there.md", "overwrite it with --force"),
    ],
    "demo": [
        ("--n-users 1", "greater than or equal to 20"),
        ("--rng -1", "greater than or equal to 0"),
    ],
    "evaluate": [
        ("model.npz", "--items with --truth, or --interactions; got neither"),
        ("model.npz --truth kind", "got --truth without --items"),
        ("model.npz --items films.csv", "got --items without --truth"),
        (
            "model.npz --items films.csv --truth kind --interactions ratings.csv",
            "--items with --truth, or --interactions; got both",
        ),
        ("model.npz --items films.csv --truth magic", "one of id, title, kind"),
        ("model.npz --items films.csv --truth title", "some pairs of rows but not all"),
        ("model.npz --items films.csv --truth kind --time time", "--time must be"),
        ("model.npz --interactions ratings.csv --separator ,", "--separator must be"),
        ("model.npz --interactions films.csv", "the first id is Film 0 in the"),
        ("model.npz --interactions ratings.csv --time time", "unless --last is given"),
        ("model.npz --interactions ratings.csv --last 1", "--last must be"),
        (
            "model.npz --interactions ratings.csv --last 2 --time foo",
            "one of user, item",
        ),
        ("items.npy --interactions ratings.csv", "load the model with --ids"),
        (
            "model.npz --items films.csv --truth kind --n-neighbours 40",
            "--n-neighbours must be an integer from 1 to 28",
        ),
    ],
    "explain": [
        ("magic", "`embaudit explain` lists them all"),
        ("EMB0001", "did you mean EMB001?"),
        ("gauge,", "did you mean gauge?"),
    ],
    "fit": [
        ("none.csv --objective product", "must be a file that exists; got none.csv"),
        (
            "empty.csv --objective product",
            "embaudit: the input must be a file that is not empty; got empty.csv, an "
            "empty file.",
        ),
        ("header.csv --objective product", "rows below its header"),
        ("words.csv --objective product", "must be numbers; got 'good' in line 3"),
        ("missing.csv --objective product", "finite numbers; got nan in line 3"),
        ("one-user.csv --objective product", "at least 2 users; got 1"),
        ("one-item.csv --objective product", "at least 2 items; got 1"),
        ("twice.csv --objective product", "merge them with --duplicates sum"),
        ("ratings.csv --objective product --n-components 31", "from 1 to 20"),
        (
            "ratings.csv --objective product --n-components 50",
            "users and items; got 50, the default.",
        ),
        ("ratings.csv --objective product --n-components 0", "from 1 to 20"),
        ("ratings.csv --objective product --alpha -1", "--alpha must be a finite"),
        ("ratings.csv --objective product --alpha nan", "--alpha must be a finite"),
        ("ratings.csv --objective factors --alpha 999", "largest singular value"),
        ("ratings.csv --objective product --split 2", "--split must be from 0 to 1"),
        (
            "ratings.csv --objective factors --split 1",
            "must be omitted unless --objective is product",
        ),
        ("ratings.csv --objective product --duplicates magic", "one of error, sum"),
        ("ratings.csv --objective product --user magic", "the user column must be"),
        ("ratings.csv --objective product --rating stars", "the rating column must be"),
        ("ratings.csv --objective product --id id", "must be given with --items"),
        ("ratings.csv --objective product --items none.csv", "got none.csv"),
        ("ratings.csv --objective product --out m.npy", "which holds both sides"),
        ("ratings.csv --objective product --out m.xyz", "a file that ends in one of"),
        ("ratings.csv --objective product --out nowhere/m.npz", "create it first"),
    ],
    "fix": [
        ("model.npz --out model.npz --force", "another file than the input"),
        ("model.npz --labels films.csv --out films.csv --force", "than the input"),
        ("model.npz --out other.npz", "overwrite it with --force"),
        ("model.npz --out f.npz --as folded", "a head whose final norm is known"),
        (
            "head.safetensors --norm none --as folded --out f.npz",
            "without a known norm",
        ),
        ("model.npz --out f.npz --dimensions 9", "--dimensions must be an integer"),
        ("items.npy --out f.npz --as prediction", "add the users with --left"),
        (
            "items.npy --out f.npz --align-to users.npy --map-to users.npy",
            "--align-to must be omitted if vectors are mapped into the space of "
            "another encoder.",
        ),
        (
            "items.npy --left-file users.npy --as right-whitened --out f.parquet",
            "must be the vectors of one side",
        ),
    ],
    "formats": [
        ("nowhere", "must be a file that exists; got nowhere"),
        ("layers.npz", "name two factors with --left A and --weight B"),
        ("ratings.csv", "factorize them first: `embaudit fit ratings.csv"),
    ],
    "gauge": [
        ("nothing.npz --out model.npz", "overwrite it with --force"),
        ("model.npz --out g.npz --group magic", "--group must be one of canonical"),
        ("model.npz --out g.npz --max-condition 0.5", "--max-condition must be"),
        ("model.npz --out g.npz --exponent 2", "from 0 (left-whitened) to 1"),
        ("model.npz --out g.npz --exponent 0.5 --group linear", "--exponent must be"),
        ("model.npz --out g.npz --exponent 1 --max-condition 3", "--exponent must be"),
        ("model.npz --out g.npz --name linear", "--from and --name must be given"),
        ("model.npz --out g.npz --from films.csv --name x", "the audit must be JSON"),
        (
            "model.npz --out g.npz --from films.csv --name x --group diagonal",
            "--from must be given without --group",
        ),
        (
            "unit.npy --out g.npz --compared cosine --group diagonal",
            "a family of gauges that keeps the cosines",
        ),
        (
            "items.npy --left-file users.npy --link cosine --group linear --out g.npz",
            "a family of gauges that keeps the cosines",
        ),
    ],
    "reproduce": [
        ("netflix --size magic", "not one of 'small', 'paper'"),
        ("simpson --n-users 9", "must be omitted for simpson"),
        ("simpson --out labels.txt", "the output must be a folder"),
    ],
    "simpson": [
        (
            "cases.csv --x magic --y y --groups ward",
            "--x must be a column of the table",
        ),
        ("cases.csv --x x --y x --groups ward", "two different columns"),
        ("cases.csv --x x --y y --groups magic", "--groups must be a column"),
        (
            "cases.csv --x x --y y --groups ward --counts x",
            "--counts must be another column",
        ),
        (
            "cases.csv --x x --y y --groups ward --min-size 0",
            "--min-size must be an integer from 2",
        ),
        (
            "films.csv --x id --y kind --groups title",
            "a column of numbers or of two categories",
        ),
        (
            "cases.csv --x x --y y --groups ward --n-permutations 0 --fail-on issue",
            "--n-permutations must be 1 or more with --fail-on issue",
        ),
    ],
    "verify": [("films.csv model.npz", "the audit must be JSON; got films.csv")],
}
"""For each command: arguments, and a part of the sentence on the mistake in them."""
CASES = [(f"{name} {typed}", part) for name in REFUSED for typed, part in REFUSED[name]]

WRONG_TABLES = {
    "empty.csv": "",
    "header.csv": "user,item,rating\n",
    "words.csv": "user,item,rating\n1,1,3\n2,2,good\n3,1,5\n",
    "missing.csv": "user,item,rating\n1,1,3\n2,2,nan\n3,1,5\n",
    "one-user.csv": "user,item,rating\n1,1,3\n1,2,4\n",
    "one-item.csv": "user,item,rating\n1,1,3\n2,1,4\n",
    "twice.csv": "user,item,rating\n1,1,3\n1,1,4\n2,2,4\n",
    "two.txt": "i0\ni1\n",
    "there.md": "mine",
}


@pytest.fixture
def _wrong_tables(inputs):
    for name, text in WRONG_TABLES.items():
        Path(name).write_text(text)


@pytest.mark.usefixtures("_wrong_tables")
@pytest.mark.parametrize(("typed", "part"), CASES, ids=[typed for typed, _ in CASES])
def test_a_refusal_names_the_mistake_in_one_sentence_and_writes_nothing(
    embaudit, typed, part
):
    before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
    words = split(typed)
    if words[0] == "fit" and "--out" not in words:
        words += ["--out", "new.npz"]
    if words[0] == "fit" and "--n-components" not in words:
        words += ["--n-components", "2"]
    result = embaudit(*words)
    *_, last = result.err.splitlines()
    assert result.code == 2
    assert not last.endswith("..")
    assert last.startswith(("embaudit: ", "Error: "))
    assert part in last
    assert result.out == ""
    assert {path: path.stat().st_mtime_ns for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    "arguments", [("formats", ""), ("audit", "m.npz", "--ids", "")]
)
def test_an_empty_argument_is_no_name_of_the_current_folder(embaudit, arguments):
    result = embaudit(*arguments)
    assert result.code == 2
    assert "each argument of the command must be a name or a value" in result.err
