"""Reading and writing: models in many formats, interactions, labels and titles; nothing is ever unpickled."""

from embaudit.io.catalogue import Format, formats
from embaudit.io.checkpoints.final_norm import final_norm_of, fits, found_norm, norm_of
from embaudit.io.checkpoints.rounding import Rounding, rounding_of
from embaudit.io.files import distinct_outputs
from embaudit.io.given import as_model, as_reading, source_of
from embaudit.io.intake import FoundNorm, Intake, Part, Reading
from embaudit.io.objects.live import from_object, read_object
from embaudit.io.outputs import written_whole
from embaudit.io.registry import load, look, read, require_output, save
from embaudit.io.tables.interactions import Interactions, read_interactions
from embaudit.io.tables.rows import read_ids, read_labels
from embaudit.io.tables.titles import (
    Joined,
    flags_named,
    join_ids,
    join_texts,
    read_titles,
    texts_for,
    titles_for,
    with_titles,
)

__all__ = [
    "Format",
    "FoundNorm",
    "Intake",
    "Interactions",
    "Joined",
    "Part",
    "Reading",
    "Rounding",
    "as_model",
    "as_reading",
    "distinct_outputs",
    "final_norm_of",
    "fits",
    "flags_named",
    "formats",
    "found_norm",
    "from_object",
    "join_ids",
    "join_texts",
    "load",
    "look",
    "norm_of",
    "read",
    "read_ids",
    "read_interactions",
    "read_labels",
    "read_object",
    "read_titles",
    "require_output",
    "rounding_of",
    "save",
    "source_of",
    "texts_for",
    "titles_for",
    "with_titles",
    "written_whole",
]
