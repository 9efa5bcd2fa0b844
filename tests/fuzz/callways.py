"""Ways of calling a compiled function otherwise than it was first called, or with other settings.

Arguments in containers, in memory of any layout, of other dtypes; rules left out; graphs whose
states come in by ``givens`` and change by ``updates``; ``vmap`` in ``vmap``.
"""

from __future__ import annotations

from tests.fuzz.way import Way

CONTAINERS = '''
import collections, dataclasses
Pair = collections.namedtuple("Pair", "first rest")

@dataclasses.dataclass
class Held:
    values: list
    names: dict

def nest(args, turn=0):
    """Arguments in a nest of containers, whose entries come in one order or another."""
    names = {"last": args[-1], "pair": Pair(args[0], tuple(args[1:])), 3: None}
    return Held(list(args), dict(reversed(names.items())) if turn else names)

def of_nest(held):
    """The program, with arguments from containers, and results in such."""
    pair = held.names["pair"]
    results = f(pair.first, *pair.rest)
    return Held([*results], {"pair": Pair(results[0], {"all": results}), "n": len(results)})

def opened(held):
    return [held.values, held.names["pair"].first, held.names["pair"].rest["all"], held.names["n"]]

def by_nests(run):
    out = []
    for turn in (0, 1, 0):
        some = [ag.copy(a) if isinstance(a, ag.Tensor) else a for a in args]
        out.append([opened(run(nest(some, turn))), some])
    return out

def slopes_of_nest(wrap):
    """Gradients by containers, in containers."""
    def cost_of(held):
        return cost(*[held.values[argnums.index(i)] if i in argnums else a
                      for i, a in enumerate(args)])

    found = wrap(cost_of)(Held([args[i] for i in argnums], {}))
    return found.values
'''

LAYOUTS = '''
def laid(a, how):
    """An array of the same numbers, which lie otherwise in memory."""
    if not isinstance(a, ag.Tensor):
        return a
    a = np.array(np.asarray(a))
    if how == 1 and a.size:
        b = np.frombuffer(bytearray(a.nbytes + 1), np.uint8)[1:].view(a.dtype).reshape(a.shape)
        b[...] = a
        return b
    if how == 2 and a.dtype.kind in "fciu" and a.dtype.itemsize > 1:
        return a.astype(a.dtype.newbyteorder())
    if how == 3 and a.ndim:
        return np.repeat(a, 3, -1)[..., ::3]
    if how == 4 and a.ndim:
        return np.flip(np.flip(a).copy())
    if how == 5:
        return np.asfortranarray(a)
    if how == 6 and a.ndim:
        return np.broadcast_to(a[:1], a.shape) if a.shape[0] else a
    a.flags.writeable = False
    return a

def by_layouts(run):
    return [[ag.copy(r) for r in run(*[laid(a, (how + i) % 8) for i, a in enumerate(args)])]
            for how in range(8)]
'''

DTYPES = '''
def by_dtypes(run):
    """Calls whose arguments change their dtypes."""
    out = []
    for turn in range(4):
        some = []
        for i, a in enumerate(args):
            if isinstance(a, ag.Tensor) and a.dtype.kind == "f" and (turn + i) % 3:
                a = a.astype("float64" if a.dtype == "float32" else "float32")
            elif isinstance(a, ag.Tensor) and a.dtype.kind in "iu" and (turn + i) % 3:
                a = (a % 8).astype(["int64", "int16", "int32"][turn % 3])
            some.append(ag.copy(a) if isinstance(a, ag.Tensor) else a)
        try:
            eagerly(*[ag.copy(a) if isinstance(a, ag.Tensor) else a for a in some])
        except (ValueError, IndexError, TypeError):
            continue
        out += [ag.copy(r) for r in run(*some)]
    return out
'''

NUMBERS = '''
def by_numbers(run):
    """Tensors without axes as Python's numbers, and others as lists that are made tensors."""
    out = []
    for turn in range(3):
        some = [a.item() if isinstance(a, ag.Tensor) and not a.ndim and turn != 1
                and a.dtype in ("float64", "int64", "bool") else a for a in args]
        out.append([ag.copy(r) for r in run(*some)])
    return out
'''

RULES = '''
def without(part, parts=3):
    """Some of the rules' names."""
    from agnesi.rewrite import rules

    names = list(dict.fromkeys(r.name for r in rules()))
    return [n for n in names if (sum(map(ord, n)) + len(f.__code__.co_code)) % parts == part]
'''

STATES = '''
def symbols(args):
    return [ag.symbolic.tensor(a.dtype, a.shape) for a in strong(args)]

def by_states(wrap):
    """Arguments behind the first are states, which calls change where a result has their type."""
    results = f(*[ag.copy(a) for a in strong(args)])
    new = {i: j for i, a in enumerate(strong(args)) for j, r in enumerate(results)
           if i and (r.shape, r.dtype) == (a.shape, a.dtype)}
    return wrap([np.array(np.asarray(a)) for a in strong(args)], new)

def through_givens(states, new):
    """Variables for states, which a graph is written with, are replaced by shared ones."""
    states, given = [ag.shared(s) for s in states], symbols(args)
    results = list(f(*given))
    run = function(given[:1], [*results, results[0]], algebra="exact",
                   givens=[(g, s if i % 2 else ag.copy(s))
                           for i, (g, s) in enumerate(zip(given, states)) if i],
                   updates=[(states[i], results[j]) for i, j in new.items()])
    first = np.asarray(args[0])
    return [[ag.asarray(r) for r in run(first)] for _ in range(3)], [s.get_value() for s in states]

def one_by_one(states, new):
    out, states = [], [ag.tensor(s) for s in states]
    for _ in range(3):
        results = f(ag.copy(ag.asarray(args[0])), *states[1:])
        out.append([ag.copy(r) for r in (*results, results[0])])
        for i, j in new.items():
            states[i] = ag.copy(results[j])
    return out, states
'''

MAPPED = '''
def inner(*args):
    return ag.vmap(f, tuple(0 if isinstance(a, ag.Tensor) else None for a in args),
                   out_axes=-1)(*args)

def stacked(args, axis):
    return [ag.stack([a, ag.flip(a) if a.ndim else a], axis) if isinstance(a, ag.Tensor) else a
            for a in args]

def doubly():
    """``vmap`` in ``vmap``, along the last axis and the first one, of a nest of arguments."""
    given = {"x": stacked(stacked(args, 0), -1), "y": [0]}
    axes = {"x": [-1 if isinstance(a, ag.Tensor) else None for a in args], "y": None}
    results = ag.vmap(lambda d: inner(*d["x"]), (axes,), -1)(given)
    return [ag.moveaxis(r, (-1, -2), (0, 1)) for r in results]

def doubly_looped():
    rows = []
    for i in range(2):
        outer = [(a[..., i] if a.ndim else a) if isinstance(a, ag.Tensor) else a
                 for a in stacked(stacked(args, 0), -1)]
        for j in range(2):
            rows.append(f(*[ag.copy(a[j]) if isinstance(a, ag.Tensor) else a for a in outer]))
    found = [ag.stack([ag.asarray(r) for r in column]) for column in zip(*rows)]
    return [r.reshape((2, 2, *r.shape[1:])) for r in found]
'''

WAYS = (
    Way("containers", "by_nests(of_nest)", "by_nests(jit(of_nest))", CONTAINERS, weight=1.5),
    Way("gradients of containers", "slopes_of_nest(ag.grad)",
        "slopes_of_nest(lambda c: jit(ag.grad(c)))", CONTAINERS, gradients=True),
    Way("layouts", "by_layouts(lambda *xs: f(*[a if isinstance(a, (int, float)) else "
        "ag.tensor(a) for a in xs]))", "by_layouts(jit(f))", LAYOUTS, writes=False, weight=1.5),
    Way("dtypes", "by_dtypes(f)", "by_dtypes(jit(f))", DTYPES, weight=1.5),
    Way("numbers", "by_numbers(f)", "by_numbers(jit(f))", NUMBERS, writes=False, weight=0.5),
    Way("without rules", "f(*args)", "jit(f, exclude=without(0))(*args)", RULES, weight=1.5),
    Way("gradients without rules", "ag.grad(cost, argnums)(*args)",
        "jit(ag.grad(cost, argnums), exclude=without(1))(*args)", RULES, gradients=True,
        weight=1.5),
    Way("updates by givens", "by_states(one_by_one)", "by_states(through_givens)", STATES,
        writes=False, weight=1.5),
    Way("vmap in vmap", "doubly_looped()", "doubly()", MAPPED, writes=False),
    Way("jit of vmap in vmap", "doubly_looped()", "jit(doubly)()", MAPPED, writes=False),
)
