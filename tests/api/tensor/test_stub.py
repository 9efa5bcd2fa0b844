"""The typing surface of Tensor is the table of methods."""

import importlib.util
from pathlib import Path


def test_the_stub_is_up_to_date():
    tool = Path(__file__).parents[3] / "tools" / "tensor_stub.py"
    spec = importlib.util.spec_from_file_location("tensor_stub", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.path().read_text() == module.stub(), "run python tools/tensor_stub.py"
