"""Recurrent layers over whole sequences: simple ones, LSTM and GRU, also of unequal lengths.

A layer multiplies all steps by the input's weights at once; what is left in the loop over time is
one product for all gates, and what follows element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from agnesi.api.control.loops import scan
from agnesi.core.calls.autocasting import in_float32
from agnesi.core.ir.dims import is_static
from agnesi.core.op import typed
from agnesi.core.options import Count, Share, Size
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.shapes import fits
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.nn.base.fixed import rules, sizes_of
from agnesi.nn.base.module import Module
from agnesi.nn.base.renewed import Renewed
from agnesi.nn.base.whole import called, is_ours
from agnesi.nn.functional import dropout
from agnesi.nn.layers.cells import (
    Gated,
    Kind,
    LongShort,
    Simple,
    State,
    add_weights,
    as_state,
    given_as,
    layer_count,
    recurrent_sizes,
    shares,
)
from agnesi.nn.layers.steps import steps
from agnesi.nn.utils.rnn import PackedSequence
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import expand_dims, sized, squeeze, swapaxes
from agnesi.ops.base.parameter_checks import demanded
from agnesi.ops.base.select import where
from agnesi.ops.contractions.linear import linear
from agnesi.ops.indexing.join import concat, stack
from agnesi.ops.indexing.ranges import arange

_KINDS: dict[str, Callable[[], Kind]] = {
    "RNN_TANH": lambda: Simple("tanh"), "RNN_RELU": lambda: Simple("relu"),
    "LSTM": LongShort, "GRU": Gated,
}


class RNNBase(Renewed, Module):
    """Recurrent layers over whole sequences: base of RNN, LSTM and GRU.

    :param mode: What a step is.
    :type mode: {"RNN_TANH", "RNN_RELU", "LSTM", "GRU"}
    :param input_size, hidden_size, num_layers: Sizes of the inputs and of the states; how many
        layers.
    :param bias: Whether to add biases.
    :param batch_first: Whether sequences come as (batch, length, features) instead of (length,
        batch, features).
    :param dropout: Share of each layer's outputs but the last one's that become zero in training.
    :param bidirectional: Whether there are weights for the other direction too; outputs are side by
        side then.
    :param proj_size: Size to which outputs of an LSTM are brought; 0 for none.
    :param dtype: Float type; ``config.default_float`` by default.
    :raises ValueError: If there is no such mode, or a size is out of its range.
    :see: nn.RNN, nn.LSTM, nn.GRU, nn.utils.rnn.PackedSequence

    >>> outputs, last = ag.nn.RNNBase("GRU", 3, 4)(ag.ones((5, 2, 3)))
    >>> outputs.shape
    (5, 2, 4)
    """

    _rules = rules(
        "hidden_size num_layers bias bidirectional proj_size mode nonlinearity",
        input_size=sizes_of("weight_ih_l0", 1))

    def __init__(self, mode: str, input_size: Count, hidden_size: Count, num_layers: Count = 1,
                 bias: bool = True, batch_first: bool = False, dropout: Share = 0.0,
                 bidirectional: bool = False, proj_size: Size = 0, *, dtype: DTypeLike = None
                 ) -> None:
        if mode not in _KINDS:
            raise ValueError(at(f"RNNBase: mode must be one of {list(_KINDS)}, not {mode!r}"))
        if proj_size and not (mode == "LSTM" and 0 < proj_size < hidden_size):
            raise ValueError(at(
                f"LSTM: proj_size must be smaller than hidden_size={hidden_size}, not {proj_size}"
            ))
        kind = _KINDS[mode]()
        self.mode, self.proj_size = mode, proj_size
        num_layers = layer_count(self, num_layers)
        input_size, hidden_size = recurrent_sizes(self, input_size, hidden_size)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional = bidirectional
        self._kind = kind
        outputs = (self.proj_size or hidden_size) * (1 + bidirectional)
        for layer in range(num_layers):
            inputs = outputs if layer else input_size
            for suffix in self._suffixes(layer):
                add_weights(self, kind.gates, inputs, hidden_size, suffix, bias, dtype, proj_size)

    def _suffixes(self, layer: int) -> tuple[str, ...]:
        return (f"_l{layer}", f"_l{layer}_reverse")[: 1 + self.bidirectional]

    @property
    def _all_weights(self) -> list[list[str]]:
        """Names of the parameters of each layer and direction, which programs for PyTorch read."""
        return [[n for n in self._parameters if n.endswith(suffix)]
                for layer in range(self.num_layers) for suffix in self._suffixes(layer)]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each layer and direction: those of the input, of the state, biases."""
        return [[getattr(self, n) for n in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: weights need no special layout in memory here."""

    @in_float32
    def forward(self, x: Tensor | PackedSequence,
                state: Tensor | tuple[Tensor, Tensor] | None = None,
                lengths: TensorLike | None = None) -> Any:
        """Outputs of all steps, and the last states of all layers and directions.

        ``lengths`` are those of sequences which differ in length and are filled up to one: what
        is behind the end of a sequence is not looked at, outputs are 0 there, last states are
        those of its last step, and the other direction begins with it.

        :param x: (length, batch, features), (batch, length, features) with ``batch_first``, or
            (length, features); or a PackedSequence, as which outputs come then, too.
        :type x: Tensor
        :param state: The first states, (layers * directions, batch, hidden_size); zeros by default.
            A pair ``h, c`` for an LSTM.
        :type state: Tensor or pair of Tensor, optional
        :param lengths: The length of each sequence.
        :type lengths: array_like of int, optional
        :returns outputs: As ``x``, with as many features as hidden ones in all directions.
        :returns state: The last states, as ``state``.
        :rtype: Tensor or pair of Tensor
        :raises ShapeError: If ``x`` or a state has another shape.
        """
        if isinstance(x, PackedSequence):
            return self._packed(x, state)
        x = as_tensor(x)
        if x.ndim not in (2, 3) or not fits(x.shape[-1:], (self.input_size,)):
            raise ShapeError(at(
                f"{type(self).__name__}: the input must be (length, batch, {self.input_size}), "
                f"with batch_first (batch, length, {self.input_size}), or one sequence (length, "
                f"{self.input_size}), not {typed(x)}"
            ))
        single = x.ndim == 2
        x = expand_dims(x, 1) if single else swapaxes(x, 0, 1) if self.batch_first else x
        x, after = self._run(x, state, lengths, single)
        if single:
            return squeeze(x, 1), given_as(tuple(squeeze(s, 1) for s in after))
        return swapaxes(x, 0, 1) if self.batch_first else x, given_as(after)

    def _run(self, x: Tensor, state: Any, lengths: Any, single: bool) -> tuple[Tensor, State]:
        """Outputs for (length, batch, features), and the last states of all layers."""
        before = self._first(x, state, single)
        live = None if lengths is None else self._live(x, lengths, single)
        x = x if live is None else where(live, x, 0)
        last: list[State] = []
        for layer in range(self.num_layers):
            if layer:
                x = dropout(x, self.dropout, self.training)
            x = self._layer(x, layer, before, live, last)
        return x, tuple(stack(parts, 0) for parts in zip(*last, strict=True))

    def _packed(self, x: PackedSequence, state: Any) -> Any:
        """Outputs packed as the inputs are."""
        padded, counts = x._filled()
        if is_tracing() or self._hooks or not is_ours(type(self)):
            outputs, last = self._run(padded, state, counts, single=False)
            return x._with(outputs, counts), given_as(last)
        given = swapaxes(padded, 0, 1) if self.batch_first else padded
        outputs, after = called(self, (given, state, as_tensor(counts)), {})  # one operation soon
        return x._with(swapaxes(outputs, 0, 1) if self.batch_first else outputs, counts), after

    def _first(self, x: Tensor, state: Any, single: bool) -> State:
        """The first states of all layers, of shape (layers * directions, batch, hidden)."""
        count = self.num_layers * (1 + self.bidirectional)
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: self._kind.states]
        shapes = [(count, x.shape[1], size) for size in sizes]
        if state is None:
            return tuple(zeros(shape, dtype=x.dtype) for shape in shapes)
        given, found = as_state(state, self, self._kind), []
        for s, shape in zip(given, shapes, strict=True):
            wanted = (shape[0], shape[2]) if single else shape
            text = f"a first state must be {wanted}, not {typed(s)}"
            if not fits(s.shape, wanted):
                raise ShapeError(at(f"{type(self).__name__}: {text}"))
            s = ensured_sizes(type(self).__name__, s, s.shape, wanted, text)
            found.append(expand_dims(s, 1) if single else s)
        return tuple(found)

    def _live(self, x: Tensor, lengths: Any, single: bool) -> Tensor:
        """Return whether a step belongs to a sequence, of shape (length, batch, 1)."""
        name, (rows, batch) = type(self).__name__, x.shape[:2]
        lengths = as_tensor(lengths)
        if lengths.dtype.kind not in "iu":
            raise DTypeError(at(f"{name}: lengths must be integers, not {typed(lengths)}"))
        lengths = expand_dims(lengths, 0) if single and lengths.ndim == 0 else lengths
        if lengths.ndim != 1 or (
            is_static((lengths.shape[0], batch)) and lengths.shape[0] != batch
        ):
            raise ShapeError(at(
                f"{name}: lengths must be ({batch},), one for each sequence, not {typed(lengths)}"
            ))
        lengths = sized(lengths, 0, batch)
        try:
            lengths, = demanded(name, f"lengths must be at least 0 and at most {rows}",
                                lambda n: (n >= 0) & (n <= rows), lengths=lengths)
        except ValueError as error:
            raise ValueError(at(f"{name}: {error}")) from None
        return expand_dims(expand_dims(arange(rows), 1) < lengths, 2)

    def _layer(self, x: Tensor, layer: int, before: State, live: Tensor | None,
               last: list[State]) -> Tensor:
        """The outputs of one layer, both directions side by side; notes the last states."""
        found = []
        for suffix in self._suffixes(layer):
            given, step = self._step(x, suffix)
            start = tuple(s[len(last)] for s in before)

            def masked(state: State, row: Any, step: Any = step) -> tuple[State, Tensor]:
                after, now = step(state, row[0])[0], row[1]
                kept = tuple(where(now, a, b) for a, b in zip(after, state, strict=True))
                return kept, where(now, after[0], 0)

            body, rows = (step, given) if live is None else (masked, (given, live))
            reverse = suffix.endswith("reverse")
            at_once = None if live is not None else self._at_once(given, start, suffix, reverse)
            end, outputs = at_once or scan(body, start, rows, reverse=reverse)
            last.append(end)
            found.append(outputs)
        return found[0] if len(found) == 1 else concat(found, -1)

    def _step(self, x: Tensor, suffix: str) -> tuple[Tensor, Any]:
        """The inputs' share in the gates, and the step of the loop over its rows."""
        given, own = shares(self, self._kind, x, suffix)
        narrow = getattr(self, "weight_hr" + suffix) if self.proj_size else None

        def step(state: State, row: Tensor) -> tuple[State, Tensor]:
            after = self._kind.step(row, own(state[0]), state)
            after = after if narrow is None else (linear(after[0], narrow), *after[1:])
            return after, after[0]

        return given, step

    def _eager_share(self, operands: Any) -> float:
        """Where all steps are one operation they take a seventh of the loop's calls."""
        lengths = any(isinstance(x, Tensor) and x.dtype.kind in "iu" for x in operands)
        return 1.0 if lengths or self.proj_size else 0.15

    def _at_once(self, given: Tensor, start: State, suffix: str, reverse: bool) -> Any:
        """All steps as one operation, where that goes."""
        if self.proj_size:
            return None
        inside = self.bias and self._kind.bias_inside()
        bias = (getattr(self, "bias_hh" + suffix),) if inside else ()

        def composed(given: Tensor, weight: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
            theirs, state = (rest[0], rest[1:]) if bias else (None, rest)

            def step(state: State, row: Tensor) -> tuple[State, Tensor]:
                after = self._kind.step(row, linear(state[0], weight, theirs), state)
                return after, after[0]

            end, outputs = scan(step, state, given, reverse=reverse)
            return outputs, *end

        return steps(self.mode, reverse, (given, getattr(self, "weight_hh" + suffix), *bias, *start
                                          ), composed)

    def extra_repr(self) -> str:
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
                 "bidirectional": False, "proj_size": 0}
        return f"{self.input_size}, {self.hidden_size}" + "".join(
            f", {n}={getattr(self, n)}" for n, v in usual.items() if getattr(self, n) != v
        )


class RNN(RNNBase):
    """Simple recurrent layers over sequences; a step is that of :class:`RNNCell` (Elman, 1990).

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
        Sizes of the inputs and of the states; how many layers.
    nonlinearity : {"tanh", "relu"}
        What follows the sum in a step.
    bias : bool
        Whether to add biases.
    batch_first : bool
        Whether sequences come as (batch, length, features) instead of (length, batch, features).
    dropout : float
        Share of each layer's outputs but the last one's that become zero in training.
    bidirectional : bool
        Whether there are weights for the other direction too; outputs are adjacent then.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 : Tensor
        Weights and biases of the first layer, with the cell's shapes; of the second one
        ``..._l1``; of the other direction ``..._l0_reverse``.

    Raises
    ------
    ValueError
        If there is no such nonlinearity.

    See Also
    --------
    nn.RNNCell, nn.LSTM, nn.GRU, nn.functional.pad_sequence

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.RNN(3, 4)
    >>> outputs, last = layer(ag.ones((5, 2, 3)))
    >>> outputs.shape, last.shape
    ((5, 2, 4), (1, 2, 4))

    Sequences of unequal lengths are filled up to one, and ``lengths`` says where they end:

    >>> outputs, last = layer(ag.ones((5, 2, 3)), lengths=[5, 2])
    >>> (outputs[:, 1] != 0).all(-1)
    tensor([ True,  True, False, False, False])
    >>> bool((last[0, 1] == outputs[1, 1]).all())
    True
    """

    def __init__(self, input_size: Count, hidden_size: Count, num_layers: Count = 1,
                 nonlinearity: Literal["tanh", "relu"] = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: Share = 0.0, bidirectional: bool = False, *,
                 dtype: DTypeLike = None) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(at(f"nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}"))
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias,
                         batch_first, dropout, bidirectional, dtype=dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """LSTM layers over sequences; a step is that of :class:`LSTMCell`.

    :like: RNNBase
    :param proj_size: Size to which ``weight_hr_l0``, of shape (proj_size, hidden_size), brings each
        output and ``h`` (Sak et al. 2014); 0 for none.
    :raises ValueError: If ``proj_size`` is not below ``hidden_size``.
    :see: nn.LSTMCell, nn.RNN, nn.GRU

    >>> outputs, (h, c) = ag.nn.LSTM(3, 4, num_layers=2)(ag.ones((5, 2, 3)))
    >>> outputs.shape, h.shape, c.shape
    ((5, 2, 4), (2, 2, 4), (2, 2, 4))
    """

    def __init__(self, input_size: Count, hidden_size: Count, num_layers: Count = 1,
                 bias: bool = True, batch_first: bool = False, dropout: Share = 0.0,
                 bidirectional: bool = False, proj_size: Size = 0, *, dtype: DTypeLike = None
                 ) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, proj_size, dtype=dtype)


class GRU(RNNBase):
    """Gated recurrent units over sequences; a step is that of :class:`GRUCell` (Cho et al., 2014).

    :param input_size, hidden_size, num_layers: Sizes of the inputs and of the states; how many
        layers.
    :param bias: Whether to add biases.
    :param batch_first: Whether sequences come as (batch, length, features) instead of (length,
        batch, features).
    :param dropout: Share of each layer's outputs but the last one's that become zero in training.
    :param bidirectional: Whether there are weights for the other direction too; outputs are side by
        side then.
    :param dtype: Float type; ``config.default_float`` by default.
    :see: nn.GRUCell, nn.RNN, nn.LSTM

    >>> outputs, last = ag.nn.GRU(3, 4, bidirectional=True)(ag.ones((5, 2, 3)))
    >>> outputs.shape, last.shape
    ((5, 2, 8), (2, 2, 4))
    """

    def __init__(self, input_size: Count, hidden_size: Count, num_layers: Count = 1,
                 bias: bool = True, batch_first: bool = False, dropout: Share = 0.0,
                 bidirectional: bool = False, *, dtype: DTypeLike = None) -> None:
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, dtype=dtype)
