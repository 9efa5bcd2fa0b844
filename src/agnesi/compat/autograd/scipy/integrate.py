"""``autograd.scipy.integrate.odeint``, with gradients by the adjoint equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import scipy.integrate

import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.extend import defvjp_argnums, primitive
from agnesi.compat.autograd.misc.flatten import flatten
from agnesi.compat.autograd.modes import make_vjp
from agnesi.core.keywords import strictly as _strictly

odeint = primitive(scipy.integrate.odeint)


def _pulled(argnums: Sequence[int], ys: Any, args: Any,
            keywords: dict[str, Any]) -> Callable[..., Any]:
    """Cotangents of the first values, the times and the arguments.

    Backwards in time, the state y is integrated together with its cotangent a, which follows
    da/dt = -a (df/dy), and with the integrals of a (df/dt) and a (df/dargs).
    """
    func, _, t, *rest = args
    flat, unflatten = flatten(rest[0] if rest else ())
    steps, size = np.shape(ys)

    def of_vector(y: Any, t: Any, flat: Any) -> Any:
        return func(y, t, *unflatten(flat))

    def backwards(state: Any, t: Any, flat: Any) -> Any:
        y, a = state[:size], state[size:2 * size]
        pull, slope = make_vjp(lambda values: of_vector(*values), (y, t, flat))
        by_y, by_t, by_flat = pull(-a)
        return np.concatenate([slope, by_y, np.reshape(by_t, 1), by_flat])

    def pull(g: Any) -> list[Any]:
        a, first, by_flat = g[-1], 0.0, np.zeros(np.shape(flat))
        by_times = []
        for i in range(steps - 1, 0, -1):
            by_time = np.dot(of_vector(ys[i], t[i], flat), g[i])
            by_times.append(by_time)
            first = first - by_time
            start = np.concatenate([ys[i], a, np.reshape(first, 1), by_flat])
            state = odeint(backwards, start, np.array([t[i], t[i - 1]]), (flat,), **keywords)[1]
            a, first, by_flat = (state[size:2 * size] + g[i - 1], state[2 * size],
                                 state[2 * size + 1:])
        times = np.array([first, *by_times[::-1]])
        found = {1: a, 2: times, 3: unflatten(by_flat)}
        return [found[k] for k in argnums]

    return pull


defvjp_argnums(odeint, _pulled)


_strictly(__name__)
