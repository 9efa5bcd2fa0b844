"""Ways to run a program: two expressions that must mean the same, as text.

They know ``f``, its arguments ``args``, ``arrays`` of them, ``argnums`` of those with gradients,
and what ``PRELUDE`` defines.  ``jit`` and ``function`` are agnesi's.
"""

from __future__ import annotations

from tests.fuzz import callways
from tests.fuzz.way import Way

PRELUDE = '''
def cost(*args):
    parts = [y * (ag.arange(y.size).reshape(y.shape) % 5 + 1).astype(y.dtype)
             for y in f(*args) if y.dtype.kind == "f"]
    return sum([p.sum().astype("float64") for p in parts], ag.zeros((), dtype="float64"))

def flipped(args):
    return [ag.copy(ag.flip(a) if a.ndim else a) if isinstance(a, ag.Tensor) else a for a in args]

def strong(args):
    return [ag.asarray(a) for a in args]

def symbols(args):
    return [ag.symbolic.tensor(a.dtype, a.shape) for a in strong(args)]

def tangents(args):
    return [ag.cos(ag.arange(args[i].size).astype(args[i].dtype)).reshape(args[i].shape)
            for i in argnums]

def along(*args):
    def of(*some):
        return cost(*[some[argnums.index(i)] if i in argnums else a for i, a in enumerate(args)])
    return of

def slope(*args):
    return sum([(g * t).sum().astype("float64")
                for g, t in zip(ag.grad(cost, argnums)(*args), tangents(args))])

def moved(g):
    def of(*args):
        some = [args[i] for i in argnums]
        whole = lambda *new: g(*[new[argnums.index(i)] if i in argnums else a
                                 for i, a in enumerate(args)])
        return ag.jvp(whole, some, tangents(args))[1]
    return of
'''

FUNCTION = '''
def graph(args, wrap=lambda f: f, **options):
    given = symbols(args)
    run = function(given, list(wrap(f)(*given)), **options)
    results = run(*[np.asarray(a) for a in strong(args)])
    return [ag.asarray(r) for r in results]

def updated(args, run):
    """A program whose results go into states of their types, call after call."""
    results = f(*[ag.copy(a) for a in strong(args)])
    new = {i: j for i, a in enumerate(strong(args)) for j, r in enumerate(results)
           if i and (r.shape, r.dtype) == (a.shape, a.dtype)}
    return run([ag.shared(np.array(np.asarray(a))) for a in strong(args)], new)

def by_updates(states, new):
    given = symbols(args)[:1]
    results = list(f(*given, *states[1:]))
    run = function(given, results, updates={states[i]: results[j] for i, j in new.items()},
                   algebra="exact")
    first = np.asarray(args[0])
    return [ag.asarray(r) for _ in range(2) for r in run(first)] + [s.get_value() for s in states]

def by_hand(states, new):
    out, states = [], [ag.tensor(s.get_value()) for s in states]
    for _ in range(2):
        results = f(args[0], *states[1:])
        out += [ag.copy(r) for r in results]
        for i, j in new.items():
            states[i] = ag.copy(results[j])
    return out + states
'''

STATE = '''
def stateful(wrap):
    states = [ag.copy(a) if isinstance(a, ag.Tensor) else a for a in args[1:]]
    count = ag.zeros((), dtype="int64")

    def step(x):
        results = f(x, *states)
        count.add_(1)
        for s in states:
            fit = [r for r in results if isinstance(s, ag.Tensor)
                   and (r.shape, r.dtype) == (s.shape, s.dtype)]
            if fit:
                s[...] = fit[-1]
        return results

    run = wrap(step)
    return [[ag.copy(r) for r in run(x)] for x in (args[0], *flipped(args[:1]))], states, count
'''

VIEWED = '''
def viewed(wrap):
    """The first argument is a view of a view of memory that each call changes."""
    flat = ag.copy(ag.asarray(args[0])).reshape(-1)
    inner = flat[: flat.size]
    given, part = inner.reshape(ag.asarray(args[0]).shape), inner[1:][1:]

    def step():
        part[...] = ag.flip(ag.copy(part))
        results = f(given, *args[1:])
        inner[:1] = inner[-1:] * 1
        flat[...] = ag.roll(flat, 1, 0)
        return [*results, *map(ag.copy, (given, part, inner))]

    run = wrap(step)
    return [[ag.copy(r) for r in run()] for _ in range(2)], flat
'''

HELD = '''
def held(wrap):
    """A number is counted up in a thing that is no argument."""
    import threading, types

    def function():
        pass

    holders = (function, types.ModuleType("m"), threading.local(), types.SimpleNamespace(),
               type("K", (), {}), type("K", (), {})())
    holder = holders[f.__code__.co_nlocals % len(holders)]

    def step():
        holder.n += 1
        return [*f(*args), holder.n, getattr(holder, "more", 0)]

    run, out = wrap(step), []
    for n in (0, 5):
        holder.n = n
        out += [[ag.copy(r) if isinstance(r, ag.Tensor) else r for r in run()], holder.n]
    holder.more = 3
    return out, run()[-1]
'''

LEADING = '''
def by_size(run):
    out = []
    for n in (9, 2, 3, 1, 0):
        some = [ag.copy(a[:n]) if isinstance(a, ag.Tensor) and a.ndim else a for a in args]
        try:  # eagerly: bodies of loops check nothing of what nobody reads
            eagerly(*[ag.copy(a) if isinstance(a, ag.Tensor) else a for a in some])
        except (ValueError, IndexError, TypeError):
            continue
        out += [ag.copy(r) for r in run(*some)]
    return out
'''

BATCHED = '''
def axes():
    return tuple(0 if isinstance(a, ag.Tensor) and i % 3 < 2 else None for i, a in enumerate(args))

def batch():
    return [ag.stack([a, ag.flip(a) if a.ndim else a, a]) if x == 0 else
            ag.copy(a) if isinstance(a, ag.Tensor) else a for a, x in zip(args, axes())]

def looped(f):
    rows = []
    for i in range(3):
        rows.append(f(*[ag.copy(a[i]) if x == 0 else ag.copy(a) if isinstance(a, ag.Tensor) else a
                        for a, x in zip(batch(), axes())]))
    return [ag.stack([ag.asarray(r) for r in column]) for column in zip(*rows)]
'''

OTHER_AXES = BATCHED + '''
def by_last(f):
    given = [ag.moveaxis(b, 0, -1) if x == 0 else b for b, x in zip(batch(), axes())]
    results = ag.vmap(f, tuple(-1 if x == 0 else x for x in axes()), -1)(*given)
    return [ag.moveaxis(r, -1, 0) for r in results]
'''

SCANNED = BATCHED + '''
def example(mine, given):
    mine = list(mine)
    return [mine.pop(0) if x == 0 else b for b, x in zip(given, axes())]

def rows(given):
    return [b for b, x in zip(given, axes()) if x == 0]

def scanned(*given):
    return ag.scan(lambda c, mine: (c + 1, f(*example(mine, given))), ag.zeros(()), rows(given))[1]

def cost_by_scan(*given):
    return ag.scan(lambda c, mine: (c + cost(*example(mine, given)), c),
                   ag.zeros((), dtype="float64"), rows(given))[0]

def cost_by_loop(*given):
    return sum([cost(*example([r[i] for r in rows(given)], given)) for i in range(3)])
'''

NESTED = '''
def nest(args):
    return {"p": [args[i] for i in argnums], "q": {}}

def of_nest(d, args):
    return cost(*[d["p"][argnums.index(i)] if i in argnums else a for i, a in enumerate(args)])

def taped(*args):
    mine = [ag.copy(a) if i in argnums else a for i, a in enumerate(args)]
    for i in argnums:
        mine[i].requires_grad = True
    cost(*mine).backward()
    return [ag.zeros_like(mine[i]) if mine[i].grad is None else mine[i].grad for i in argnums]
'''

OPEN = LEADING + FUNCTION + '''
def open_graph():
    given = [ag.symbolic.tensor(a.dtype, (None, *a.shape[1:]) if a.ndim else ())
             for a in strong(args)]
    try:
        run = function(given, list(f(*given)), algebra="exact")
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError("a size is not known when the graph is written") from error
    return lambda *some: [ag.asarray(r) for r in run(*[np.asarray(a) for a in strong(some)])]
'''

JACOBIANS = '''
def few(*args):
    flat = [r.reshape(-1)[:4].astype("float64") for r in f(*args) if r.dtype.kind == "f"]
    return ag.concat(flat or [ag.zeros(0, dtype="float64")])
'''

THREADED = '''
def on(count, run):
    before = ag.get_num_threads()
    ag.set_num_threads(count)
    try:
        return run(*args)
    finally:
        ag.set_num_threads(before)
'''

PASSES = '''
def some(first):
    """Every second pass of the scheduler's that can be switched off."""
    from agnesi.schedule import passes

    return [p.name for p in passes.PASSES if not p.required][first::2]
'''

TIGHT = '''
def tight(g):
    """A function compiled for the least of a few sizes of memory that it can be compiled for."""
    for most in (300, 1000, 3000, 10_000, 100_000):
        try:
            return jit(g, memory_limit=most)(*args)
        except MemoryError:
            pass
    return jit(g)(*args)
'''

GIVENS = FUNCTION + '''
def given_graph():
    """A graph of a function of other variables than those that it was written with."""
    given, others = symbols(args), symbols(args)
    run = function(others, list(f(*given)), givens={
        g: ag.flip(ag.flip(o)) if i % 2 and o.ndim else ag.copy(o)
        for i, (g, o) in enumerate(zip(given, others))}, algebra="exact")
    return [ag.asarray(r) for r in run(*[np.asarray(a) for a in strong(args)])]
'''

ALL_OPEN = LEADING + FUNCTION + '''
def by_all_sizes(run):
    some = [ag.copy(ag.swapaxes(a, 0, -1)) if isinstance(a, ag.Tensor) and a.ndim else a
            for a in args]
    out = [ag.copy(r) for r in run(*args)]
    try:
        eagerly(*[ag.copy(a) if isinstance(a, ag.Tensor) else a for a in some])
    except (ValueError, IndexError, TypeError):
        return out
    return out + [ag.copy(r) for r in run(*some)]

def all_open():
    given = [ag.symbolic.tensor(a.dtype, (None,) * a.ndim) for a in strong(args)]
    try:
        run = function(given, list(f(*given)), algebra="exact")
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError("a size is not known when the graph is written") from error
    return lambda *some: [ag.asarray(r) for r in run(*[np.asarray(a) for a in strong(some)])]
'''

COMPLEX = '''
def energy(*args):
    parts = [ag.real(y * ag.conj(y)) * (ag.arange(y.size).reshape(y.shape) % 3 + 1)
             for y in f(*args) if y.dtype.kind in "fc"]
    return sum([p.sum().astype("float64") for p in parts], ag.zeros((), dtype="float64"))

def numbers():
    return tuple(i for i, a in enumerate(args)
                 if isinstance(a, ag.Tensor) and a.dtype.kind in "fc")
'''

TURNS = '''
def by_turns(run, calls):
    """Results of the last eager calls of many, whose arguments change: values, order, sizes."""
    others = [args, flipped(args), [ag.copy(a) for a in args[:1]] + flipped(args)[1:]]
    for n in (2, 1):
        others.append([a[:n] if isinstance(a, ag.Tensor) and a.ndim else a for a in args])
    out = {}
    for i in range(calls * len(others)):
        which = i % len(others)
        some = [ag.copy(a) if isinstance(a, ag.Tensor) else a for a in others[which]]
        try:
            results = run(*some)
            out[which] = [ag.copy(r) for r in results] + some
        except (ValueError, IndexError, TypeError):
            out[which] = []
    return [out[which] for which in sorted(out)]

def cold(run):
    """The same without compiled code."""
    with ag.config(compile=False):
        return by_turns(run, 1)
'''

SHAKEN = '''
def shaken(wrap, of=lambda *some: f(*some)):
    """Elements of arguments drawn anew: the same ones for the same seed, call after call."""
    def drawn(a):
        if not isinstance(a, ag.Tensor):
            return a
        a = ag.random.permutation(a) if a.ndim and a.shape[0] else a
        return ag.where(ag.random.uniform(size=a.shape) < 0.5, a, ag.flip(a) if a.ndim else a)

    def run(*some):
        return of(*[drawn(a) for a in some])

    ag.manual_seed(5)
    run = wrap(run)
    return [[ag.copy(r) for r in run(*args)] for _ in range(2)], ag.random.uniform(size=3)
'''


SMOOTH = ("smooth",)
WAYS = (
    *callways.WAYS,
    Way("jit", "f(*args)", "jit(f)(*args)", weight=8),
    Way("fast_compile", "f(*args)", "jit(f, optimizer='fast_compile')(*args)", weight=2),
    Way("unoptimized", "f(*args)", "jit(f, optimizer='None')(*args)"),
    Way("warm", "cold(f)", "by_turns(f, 40)", TURNS),
    Way("warm gradients", "cold(ag.grad(cost, argnums))", "by_turns(ag.grad(cost, argnums), 40)",
        TURNS, gradients=True),
    Way("numpy", "f(*args)", "by_numpy()", weight=3, kinds=("whole", "smooth")),
    Way("theano", "f(*args)", "by_theano()", weight=1.5, writes=False),
    Way("jit in jit", "f(*args)", "jit(lambda *xs: jit(f)(*xs))(*args)", weight=1.5),
    Way("closure", "f(*args)", "jit(lambda: f(*args))()", weight=1.5),
    Way("keywords", "f(*args)", "jit(f)(**dict(zip(f.__code__.co_varnames, args)))", weight=0.5),
    Way("arrays", "f(*args)", "jit(f)(*[np.asarray(a) if isinstance(a, ag.Tensor) else a "
        "for a in args])", writes=False),
    Way("calls", "(f(*args), f(*flipped(args)))",
        "(lambda g: (g(*args), g(*flipped(args))))(jit(f))"),
    Way("sizes", "by_size(f)", "by_size(jit(f))", LEADING),
    Way("sizes of gradients", "by_size(ag.grad(cost, argnums))",
        "by_size(jit(ag.grad(cost, argnums)))", LEADING, gradients=True),
    Way("state", "stateful(lambda step: step)", "stateful(jit)", STATE),
    Way("views of state", "viewed(lambda step: step)", "viewed(jit)", VIEWED),
    Way("held", "held(lambda step: step)", "held(jit)", HELD, writes=False, weight=0.5),
    Way("pickle", "jit(f)(*args)", "pickled(jit(f), args)(*args)", bits=True, weight=0.5),
    Way("threads", "on(1, jit(f))", "on(2, jit(f))", THREADED, bits=True, weight=0.5),
    Way("threads of gradients", "on(1, jit(ag.grad(cost, argnums)))",
        "on(2, jit(ag.grad(cost, argnums)))", THREADED, bits=True, weight=0.5, gradients=True),
    Way("function", "f(*strong(args))", "graph(args, algebra='exact')", FUNCTION, writes=False),
    Way("open sizes", "by_size(lambda *xs: f(*strong(xs)))", "by_size(open_graph())", OPEN,
        writes=False, weight=1.5),
    Way("all sizes open", "by_all_sizes(lambda *xs: f(*strong(xs)))", "by_all_sizes(all_open())",
        ALL_OPEN, writes=False, weight=1.5),
    Way("givens", "f(*strong(args))", "given_graph()", GIVENS, writes=False),
    Way("real algebra", "f(*strong(args))", "graph(args)", FUNCTION, writes=False, real=True),
    Way("updates", "updated(args, by_hand)", "updated(args, by_updates)", FUNCTION, writes=False,
        weight=1.5),
    Way("vmap", "looped(f)", "ag.vmap(f, axes())(*batch())", BATCHED, weight=1.5),
    Way("jit of vmap", "looped(f)", "jit(ag.vmap(f, axes()))(*batch())", BATCHED),
    Way("vmap along others", "looped(f)", "by_last(f)", OTHER_AXES),
    Way("scan", "looped(f)", "jit(scanned)(*batch())", SCANNED, writes=False, weight=1.5),
    Way("gradients of scans", "ag.grad(cost_by_loop, argnums)(*batch())",
        "jit(ag.grad(cost_by_scan, argnums))(*batch())", SCANNED, gradients=True, writes=False,
        weight=1.5),
    Way("grad", "ag.grad(cost, argnums)(*args)", "jit(ag.grad(cost, argnums))(*args)", weight=3,
        gradients=True),
    Way("value_and_grad", "ag.value_and_grad(cost, argnums)(*args)",
        "jit(ag.value_and_grad(cost, argnums))(*args)", weight=4, gradients=True),
    Way("fast gradients", "ag.grad(cost, argnums)(*args)",
        "jit(ag.grad(cost, argnums), optimizer='fast_compile')(*args)", gradients=True),
    Way("complex gradients", "ag.grad(energy, numbers())(*args)",
        "jit(ag.grad(energy, numbers()))(*args)", COMPLEX, weight=1.5, kinds=("whole", "wild"),
        writes=False),
    Way("draws", "shaken(lambda g: g)", "shaken(jit)", SHAKEN, writes=False),
    Way("gradients of draws", "shaken(lambda g: g, lambda *xs: ag.grad(cost, argnums)(*xs))",
        "shaken(jit, lambda *xs: ag.grad(lambda *ys: ag.checkpoint(cost, *ys), argnums)(*xs))",
        SHAKEN, writes=False, gradients=True),
    Way("checkpoint", "ag.grad(cost, argnums)(*args)",
        "jit(ag.grad(lambda *xs: ag.checkpoint(cost, *xs), argnums))(*args)", gradients=True,
        writes=False),
    Way("nested", "ag.grad(cost, argnums)(*args)",
        "jit(ag.value_and_grad(of_nest))(nest(args), args)[1]['p']", NESTED, gradients=True,
        writes=False),
    Way("tape", "ag.grad(cost, argnums)(*args)", "jit(taped)(*args)", NESTED, gradients=True,
        writes=False),
    Way("jacobians", "ag.jacrev(few, argnums)(*args)", "jit(ag.jacfwd(few, argnums))(*args)",
        JACOBIANS, gradients=True, kinds=SMOOTH, weight=0.5),
    Way("graph of gradients", "ag.grad(cost, argnums)(*strong(args))",
        "graph(args, lambda f: ag.grad(cost, argnums))", FUNCTION, gradients=True, writes=False,
        real=True),
    Way("gradients by vmap", "looped(ag.grad(cost, argnums))",
        "ag.vmap(ag.grad(cost, argnums), axes())(*batch())", BATCHED, gradients=True,
        writes=False),
    Way("jvp and vjp", "slope(*args)", "moved(cost)(*args)", gradients=True, kinds=SMOOTH),
    Way("jit of jvp", "moved(cost)(*args)", "jit(moved(cost))(*args)", gradients=True),
    Way("second order", "moved(slope)(*args)", "jit(moved(slope))(*args)", gradients=True),
    Way("grad of grad", "ag.grad(slope, argnums)(*args)", "jit(ag.grad(slope, argnums))(*args)",
        gradients=True, weight=1.5),
    Way("orders of derivatives", "moved(slope)(*args)", "moved(moved(cost))(*args)",
        gradients=True, kinds=SMOOTH),
    Way("some passes", "f(*args)", "jit(f, exclude=some(0))(*args)", PASSES),
    Way("other passes", "f(*args)", "jit(f, exclude=some(1))(*args)", PASSES),
    Way("gradients by some passes", "ag.grad(cost, argnums)(*args)",
        "jit(ag.grad(cost, argnums), exclude=some(0))(*args)", PASSES, gradients=True),
    Way("gradients by other passes", "ag.grad(cost, argnums)(*args)",
        "jit(ag.grad(cost, argnums), exclude=some(1))(*args)", PASSES, gradients=True),
    Way("little memory", "f(*args)", "tight(f)", TIGHT, weight=0.5),
    Way("gradients in little memory", "ag.grad(cost, argnums)(*args)",
        "tight(ag.grad(cost, argnums))", TIGHT, gradients=True),
    Way("real jit", "f(*args)", "jit(f, algebra='real')(*args)", writes=False, real=True),
    Way("gradients of jit", "ag.grad(cost, argnums)(*args)", "ag.grad(jit(cost), argnums)(*args)",
        gradients=True, weight=1.5),
    Way("jvp of jit", "moved(cost)(*args)", "moved(jit(cost))(*args)", gradients=True),
    Way("second order of jit", "moved(slope)(*args)",
        "moved(lambda *xs: jit(slope)(*xs))(*args)", gradients=True),
    Way("vmap of jit", "looped(f)", "ag.vmap(jit(f), axes())(*batch())", BATCHED),
    Way("jit of gradients by vmap", "looped(ag.grad(cost, argnums))",
        "jit(ag.vmap(ag.grad(cost, argnums), axes()))(*batch())", BATCHED, gradients=True,
        writes=False),
    Way("statements", "f", "jit(f)", weight=3),  # of functions of their own: statements.py
    Way("training", "f", "jit(f)", weight=2),  # the same: training.py
    Way("nested transforms", "f", "jit(f)", weight=4),  # the same: nested.py
    Way("carried states", "f", "jit(f)", weight=4),  # the same: carried.py
    Way("views", "f", "jit(f)", weight=4),  # the same: views.py
    Way("library", "f", "jit(f)", weight=17),  # the same: broad.py
)
#: Those in which Python may decide by values, and values may tell sizes.
DECIDING = frozenset((
    "jit", "fast_compile", "unoptimized", "jit in jit", "closure", "keywords", "arrays", "calls",
    "state", "held", "views of state", "grad", "value_and_grad", "fast gradients", "nested", "tape",
    "pickle", "containers", "gradients of containers", "layouts", "numbers", "without rules",
    "gradients without rules"))
#: Those in which sizes are not known when the graph is written.
UNKNOWN_SIZES = frozenset((
    "updates", "updates by givens", "open sizes", "all sizes open"))
BY_NAME = {w.name: w for w in WAYS}
