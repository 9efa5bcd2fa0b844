"""Every array function of the library, by name."""

from __future__ import annotations

from agnesi.ops.arith import (
    add as add,
)
from agnesi.ops.arith import (
    multiply as multiply,
)
from agnesi.ops.arith import (
    negative as negative,
)
from agnesi.ops.arith import (
    subtract as subtract,
)
from agnesi.ops.creation import (
    alloc as alloc,
)
from agnesi.ops.creation import (
    arange as arange,
)
from agnesi.ops.creation import (
    asarray as asarray,
)
from agnesi.ops.creation import (
    constant as constant,
)
from agnesi.ops.creation import (
    empty as empty,
)
from agnesi.ops.creation import (
    empty_like as empty_like,
)
from agnesi.ops.creation import (
    eye as eye,
)
from agnesi.ops.creation import (
    filled as filled,
)
from agnesi.ops.creation import (
    from_numpy as from_numpy,
)
from agnesi.ops.creation import (
    full as full,
)
from agnesi.ops.creation import (
    full_like as full_like,
)
from agnesi.ops.creation import (
    identity_like as identity_like,
)
from agnesi.ops.creation import (
    linspace as linspace,
)
from agnesi.ops.creation import (
    logspace as logspace,
)
from agnesi.ops.creation import (
    ones as ones,
)
from agnesi.ops.creation import (
    ones_like as ones_like,
)
from agnesi.ops.creation import (
    tensor as tensor,
)
from agnesi.ops.creation import (
    zeros as zeros,
)
from agnesi.ops.creation import (
    zeros_like as zeros_like,
)
from agnesi.ops.explog import (
    exp as exp,
)
