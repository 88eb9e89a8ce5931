"""Reading and writing: models in many formats, interactions, labels and titles; nothing is ever unpickled."""

from embaudit.io.files import distinct_outputs
from embaudit.io.formats import Format, formats
from embaudit.io.given import as_model, as_reading, model_and_intake, source_of
from embaudit.io.intake import Intake, Part, Reading, StoredNorm
from embaudit.io.loading import load, look, read
from embaudit.io.objects.live import from_object, read_object
from embaudit.io.options import OPTIONS
from embaudit.io.outputs import written_whole
from embaudit.io.saving import require_output, save
from embaudit.io.tables.interactions import Interactions, read_interactions
from embaudit.io.tables.rows import read_ids, read_labels
from embaudit.io.tables.titles import (
    Joined,
    flags_named,
    join_ids,
    join_texts,
    read_titles,
    with_titles,
)

__all__ = [
    "OPTIONS",
    "Format",
    "Intake",
    "Interactions",
    "Joined",
    "Part",
    "Reading",
    "StoredNorm",
    "as_model",
    "as_reading",
    "distinct_outputs",
    "flags_named",
    "formats",
    "from_object",
    "join_ids",
    "join_texts",
    "load",
    "look",
    "model_and_intake",
    "read",
    "read_ids",
    "read_interactions",
    "read_labels",
    "read_object",
    "read_titles",
    "require_output",
    "save",
    "source_of",
    "with_titles",
    "written_whole",
]
