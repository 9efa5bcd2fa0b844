"""``theano.sparse``: agnesi's sparse variables under Theano's names."""

from __future__ import annotations

from agnesi.api import sparse as _ours
from agnesi.compat.theano.variable import lent as _lent

__getattr__ = _lent(__name__, _ours, {})
