"""Reading and writing: models in many formats, interactions, labels and titles; nothing is ever unpickled."""

from embaudit.io.checkpoints.final_norm import FoundNorm, final_norm_of, fits, norm_of
from embaudit.io.files import distinct_outputs
from embaudit.io.given import as_model, source_of
from embaudit.io.objects.live import from_object
from embaudit.io.outputs import written_whole
from embaudit.io.registry import Format, formats, load, require_output, save
from embaudit.io.tables.interactions import Interactions, read_interactions
from embaudit.io.tables.labels import read_labels
from embaudit.io.tables.titles import flags_named, read_titles, texts_for, titles_for

__all__ = [
    "Format",
    "FoundNorm",
    "Interactions",
    "as_model",
    "distinct_outputs",
    "final_norm_of",
    "fits",
    "flags_named",
    "formats",
    "from_object",
    "load",
    "norm_of",
    "read_interactions",
    "read_labels",
    "read_titles",
    "require_output",
    "save",
    "source_of",
    "texts_for",
    "titles_for",
    "written_whole",
]
