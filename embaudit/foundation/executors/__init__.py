"""Someone else's workers: the same passes on any executor, in any process, with the same numbers."""

from embaudit.foundation.executors.named import named_executor, require_name
from embaudit.foundation.executors.place import Unchanged
from embaudit.foundation.executors.spread import at_once, is_elsewhere, spread, work_on

__all__ = ["Unchanged", "at_once", "is_elsewhere", "named_executor", "require_name", "spread", "work_on"]
