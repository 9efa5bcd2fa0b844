"""Native sorts of eager arrays: from which sizes on, and NumPy's where there are none."""

import numpy as np

from agnesi.compiler.library import sorting
from agnesi.runtime import support


def test_sorts_are_left_to_numpy_where_the_module_cannot_be_loaded(monkeypatch):
    monkeypatch.setattr(support, "SUPPORTED", False)
    monkeypatch.setattr(sorting, "_possible", sorting._possible.__wrapped__)
    monkeypatch.setattr(sorting, "_sorted", sorting._COMPILE_ELEMENTS)
    assert sorting.sort(np.arange(1000.0), 0, False, False) is None
    monkeypatch.undo()
    assert sorting.sort(np.arange(1e6), 0, True, False)[0] == 1e6 - 1
