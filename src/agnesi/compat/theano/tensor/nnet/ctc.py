"""``theano.tensor.nnet.ctc``: the loss of sequences of labels."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Variable, floats, wrapped
from agnesi.core.keywords import strictly as _strictly
from agnesi.nn.losses.ctc import ctc_loss


def ctc(activations: Any, labels: Any, input_lengths: Any) -> Variable:
    """For each sequence, how unlikely its labels are.

    :param activations: (time, sequences, features), before softmax; feature 0 is the blank.
    :type activations: Variable
    :param labels: A row of integers for each sequence; negative ones at the end fill it up.
    :type labels: Variable
    :param input_lengths: How many steps each sequence has.
    :type input_lengths: Variable
    """
    x, y, lengths = (as_tensor_variable(v)._value for v in (activations, labels, input_lengths))
    with floats():
        label_lengths = F.sum(y >= 0, 1)
        return wrapped(ctc_loss(F.log_softmax(x, -1), F.maximum(y, 0), lengths, label_lengths,
                                reduction="none"))


connectionist_temporal_classification = ctc

_strictly(__name__)
