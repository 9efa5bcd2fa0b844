"""One step of every optimizer on 60 tensors, 1.2 million numbers together, compiled; and on tables
of which a step uses 512 rows, whatever their length."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "optimizers: a step on 60 tensors of 1.2 M numbers"
THREADS = (1,)
TENSORS, NUMBERS = 60, 1_200_000
RATE = 1e-3
CHECKED_STEPS = 3
#: Rows of tables, how many numbers each has, and how many a step uses.
TABLES, WIDTH, USED = (10_000, 1_000_000), 64, 512


@dataclass(frozen=True)
class Rule:
    """An optimizer by the names and options of the three libraries."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    torch: str | None = ""  # "": the same name; None: it has none
    optax: str | None = None
    optax_options: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    square: bool = False  # whether it is for matrices
    checked: bool = True  # whether optax means the same by it


RULES = (
    Rule("SGD", optax="sgd"),
    Rule("SGD", {"momentum": 0.9}, optax="sgd", optax_options={"momentum": 0.9},
         title="SGD, momentum"),
    Rule("Adam", optax="adam"),
    Rule("Adam", {"amsgrad": True}, title="AMSGrad"),
    Rule("AdamW", optax="adamw", optax_options={"weight_decay": 1e-2}),
    Rule("NAdam", optax="nadam", checked=False),
    Rule("RAdam", optax="radam", checked=False),
    Rule("Adamax", optax="adamax", checked=False),
    Rule("Adagrad", optax="adagrad", checked=False),
    Rule("Adadelta", optax="adadelta", checked=False),
    Rule("RMSprop", optax="rmsprop", checked=False),
    Rule("Rprop", optax="rprop", checked=False),
    Rule("ASGD"),
    Rule("Lamb", torch=None, optax="lamb", checked=False),
    Rule("Lion", torch=None, optax="lion", checked=False),
    Rule("Adafactor", optax="adafactor", checked=False),
    Rule("Muon", optax=None, square=True),
)


def run(context: Context) -> list[Result]:
    tables = (_table_case(name, rows) for name in ("SGD", "Adagrad", "SparseAdam")
              for rows in TABLES)
    return context.measure_all([*map(_case, RULES), *tables])


def _case(rule: Rule) -> Case:
    shapes = _shapes(rule.square)
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    slopes = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    contenders: dict[str, Callable[[], Contender]] = {
        "agnesi": lambda: _agnesi(rule, values, slopes)}
    if rule.torch is not None:
        contenders["torch foreach"] = lambda: _torch(rule, values, slopes, foreach=True)
        contenders["torch fused"] = lambda: _torch(rule, values, slopes, fused=True)
        contenders["torch"] = lambda: _torch(rule, values, slopes)
    if rule.optax is not None:
        contenders["optax"] = lambda: _optax(rule, values, slopes)
    expect = (lambda: _agnesi(rule, values, slopes).answer()  # type: ignore[misc]
              ) if rule.torch is None else (lambda: _torch(rule, values, slopes).answer())
    return Case(rule.title or rule.name, expect, contenders, rtol=1e-3, atol=1e-5, goal=1.0)


def _table_case(name: str, rows: int) -> Case:
    """A whole step on a table with sparse gradients: loss, gradient, update."""
    rng = np.random.default_rng(0)
    ids = rng.integers(0, rows, USED)

    def answer(step: Callable[[], Any], table: Any) -> Callable[[], np.ndarray]:
        return _answer(step, lambda: np.asarray(table.detach()[ids[0]]))

    def ours() -> Contender:
        ag = peers.agnesi()
        table = ag.full((rows, WIDTH), 0.1, dtype="float32").requires_grad_()
        layer = ag.nn.Embedding.from_pretrained(table, freeze=False, sparse=True)
        optimizer = getattr(ag.optim, name)([layer.weight], lr=RATE)
        used = ag.tensor(ids)

        @ag.jit
        def update(used: Any) -> None:
            optimizer.zero_grad()
            (layer(used) ** 2).sum().backward()
            optimizer.step()

        def step() -> None:
            update(used)

        return Contender(step, answer=answer(step, layer.weight))

    def theirs() -> Contender:
        torch = peers.torch()
        table = torch.full((rows, WIDTH), 0.1)
        layer = torch.nn.Embedding.from_pretrained(table, freeze=False, sparse=True)
        optimizer = getattr(torch.optim, name)(list(layer.parameters()), lr=RATE)
        used = torch.from_numpy(ids)

        def step() -> None:
            optimizer.zero_grad()
            with torch.enable_grad():
                (layer(used) ** 2).sum().backward()
            optimizer.step()

        return Contender(step, answer=answer(step, layer.weight))

    return Case(f"{name}, {USED} of {rows:,} rows", lambda: theirs().answer(),  # type: ignore[misc]
                {"agnesi": ours, "torch": theirs}, rtol=1e-3, atol=1e-5, goal=1.0)


def _shapes(square: bool) -> list[tuple[int, ...]]:
    """Matrices and, in three of four places unless all are ``square``, vectors beside them."""
    if square:
        return [(100, 200)] * TENSORS
    large = TENSORS // 4
    rest = (NUMBERS - (TENSORS - large) * 256) // large
    return [(rest // 256, 256) if i % 4 == 0 else (256,) for i in range(TENSORS)]


def _answer(step: Callable[[], Any], first: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
    def answer() -> np.ndarray:
        for _ in range(CHECKED_STEPS):
            step()
        return first()

    return answer


def _agnesi(rule: Rule, values: list[np.ndarray], slopes: list[np.ndarray]) -> Contender:
    ag = peers.agnesi()
    weights = [ag.tensor(v, requires_grad=True) for v in values]
    for w, g in zip(weights, slopes, strict=True):
        w.grad = ag.tensor(g)
    optimizer = getattr(ag.optim, rule.name)(weights, lr=RATE, **rule.options)
    step = ag.jit(lambda: optimizer.step())
    return Contender(step, answer=_answer(step, lambda: weights[0].numpy().copy()))


def _torch(rule: Rule, values: list[np.ndarray], slopes: list[np.ndarray],
           **form: bool) -> Contender:
    torch = peers.torch()
    weights = [torch.from_numpy(v.copy()).requires_grad_(True) for v in values]
    for w, g in zip(weights, slopes, strict=True):
        w.grad = torch.from_numpy(g.copy())
    try:
        optimizer = getattr(torch.optim, rule.torch or rule.name)(
            weights, lr=RATE, **rule.options, **form)
    except TypeError as error:
        raise ImportError(f"no such form ({error})") from None
    return Contender(optimizer.step,
                     answer=_answer(optimizer.step, lambda: weights[0].detach().numpy().copy()))


def _optax(rule: Rule, values: list[np.ndarray], slopes: list[np.ndarray]) -> Contender:
    jax = peers.jax()
    import optax

    tool = getattr(optax, rule.optax or "")(RATE, **rule.optax_options)
    grads = list(peers.jax_arrays(*slopes))
    weights = list(peers.jax_arrays(*(v.copy() for v in values)))
    state = {"weights": weights, "tool": tool.init(weights)}

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(weights: Any, state: Any, grads: Any) -> Any:
        found, state = tool.update(grads, state, weights)
        return optax.apply_updates(weights, found), state

    def step() -> None:
        found = update(state["weights"], state["tool"], grads)
        state["weights"], state["tool"] = jax.block_until_ready(found)

    def first() -> np.ndarray:
        return np.asarray(state["weights"][0])

    answer = _answer(step, first)
    # What differs by more than rounding from PyTorch's is timed all the same.
    return Contender(step, answer=answer if rule.checked else lambda: (
        answer(), _torch_or_agnesi(rule, values, slopes))[1])


def _torch_or_agnesi(rule: Rule, values: list[np.ndarray], slopes: list[np.ndarray]) -> Any:
    make = _agnesi if rule.torch is None else _torch
    return make(rule, values, slopes).answer()  # type: ignore[misc]
