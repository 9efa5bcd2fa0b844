"""Loads what every program needs, and most of which stays: the collector looks at it later."""

from __future__ import annotations

from agnesi.core.support import migration_hints
from agnesi.core.support.gc_pause import no_gc

migration_hints.TABLES = "agnesi.compat.hints"
with no_gc():
    from agnesi.api.tensor import methods as methods
