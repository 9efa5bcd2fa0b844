"""``theano.misc``: arrays of a dtype, and files of pickles."""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict as OrderedDict
from typing import Any, BinaryIO, Literal

import numpy as np

from agnesi.core.keywords import strictly as _strictly


def safe_asarray(a: Any, dtype: Any,
                 order: Literal["K", "A", "C", "F"] | None = None) -> np.ndarray:
    """An array of a dtype."""
    return np.asarray(a, dtype, order)


_asarray = safe_asarray
#: Names of ``theano.compat``, which differed between Python's versions.
izip, imap, ifilter, xrange, cPickle = zip, map, filter, range, pickle  # noqa: N816
#: PyTensor's names of how many bits an int has.
LOCAL_BITWIDTH = PYTHON_INT_BITWIDTH = 64


def dump(obj: Any, file_handler: BinaryIO, protocol: int = pickle.DEFAULT_PROTOCOL) -> None:
    """Write an object into a file; :func:`load` reads it."""
    pickle.dump(obj, file_handler, protocol)


def load(f: BinaryIO) -> Any:
    """Read what :func:`dump` wrote, from a file whose author is trusted."""
    return pickle.load(f)


#: Theano's modules of it, whose names are all here.
for _name in ("pkl_utils", "safe_asarray"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
pkl_utils = sys.modules[__name__]


_strictly(__name__)
