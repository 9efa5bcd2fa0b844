"""What runs again for its derivatives draws the same numbers for all rows of a Jacobian: they are
derivatives of one call, whose draws were made before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag


def _checkpointed(f: Any) -> Any:
    return lambda x: ag.checkpoint(lambda v: f(v * 1.0), x)


@pytest.mark.parametrize("wrap", [
    lambda f: f, ag.jit, _checkpointed, lambda f: ag.jit(_checkpointed(f))],
    ids=["eager", "jit", "checkpoint", "both"])
def test_draws_are_the_same_for_all_rows(wrap: Any) -> None:
    f, x = wrap(lambda x: ag.nn.functional.dropout(x, 0.5)), ag.ones((3, 4))
    rows = ag.eye(12).reshape((12, 3, 4))

    def diagonal(of: Any) -> Any:
        ag.manual_seed(1)
        return np.einsum("ijij->ij", of().detach().numpy().reshape((3, 4, 3, 4))).tolist()

    def pulled() -> Any:
        _, pull = ag.vjp(f, x)
        return ag.vmap(lambda g: pull(g)[0])(rows)

    def batched() -> Any:
        leaf = x.detach().requires_grad_()
        y = f(leaf)
        return ag.vmap(lambda g: ag.autograd.grad(y, leaf, g, retain_graph=True)[0])(rows)

    ag.manual_seed(1)
    drawn = f(x).tolist()
    for of in (ag.jacobian(f), ag.jacfwd(f), ag.jacrev(f)):
        assert diagonal(lambda of=of: of(x)) == drawn
    assert diagonal(pulled) == diagonal(batched) == drawn
    ag.manual_seed(2)
    values = ag.vmap(lambda x: f(x).sum())(x)
    ag.manual_seed(2)
    assert ag.vmap(ag.grad(lambda x: f(x).sum()))(x).sum(1).tolist() == values.tolist()
