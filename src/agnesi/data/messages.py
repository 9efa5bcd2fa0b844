"""Batches between processes: arrays as raw bytes beside a pickle of what holds them."""

from __future__ import annotations

import io
import pickle
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from agnesi.core.tensor import Tensor, wrap


class _Pickler(pickle.Pickler):
    """Tensors travel as their arrays."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is Tensor and value.array is not None:
            return wrap, (np.ascontiguousarray(value.array),)
        return NotImplemented


def packed(message: Any) -> list[memoryview]:
    """A message as it is sent: a pickle, and its arrays without a copy."""
    buffers: list[pickle.PickleBuffer] = []
    text = io.BytesIO()
    _Pickler(text, 5, buffer_callback=buffers.append).dump(message)
    return [text.getbuffer(), *(buffer.raw() for buffer in buffers)]


def send(connection: Connection, parts: list[memoryview]) -> None:
    """Send what :func:`packed` made of a message."""
    text, *raw = parts
    connection.send_bytes(pickle.dumps([part.nbytes for part in raw]))
    connection.send_bytes(text)
    for part in raw:
        if part.nbytes:
            connection.send_bytes(part)


def receive(connection: Connection) -> Any:
    """The next message; EOFError where the other side is gone."""
    sizes = pickle.loads(connection.recv_bytes())
    text = connection.recv_bytes()
    parts = [np.empty(size, np.uint8) for size in sizes]
    for part in parts:
        if part.nbytes:
            connection.recv_bytes_into(part)
    return pickle.loads(text, buffers=parts)
