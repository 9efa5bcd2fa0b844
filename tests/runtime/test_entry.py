"""The native entry: what it accepts, what it makes, and that nothing leaks."""

import gc
import resource
import sys
import threading
import weakref

import numpy as np
import pytest

from agnesi.runtime import entry, guards, machine, pool, support
from agnesi.runtime.entry import Arg, EntrySpec, Guard, Out, State, Wrapper

pytestmark = pytest.mark.usefixtures("little_to_collect")

X = Arg("array", "float32", (2, 5))


def buffers(count):
    """IR that loads the first addresses of %bufs as %b0, %b1, ..."""
    lines = []
    for i in range(count):
        lines.append(f"  %at{i} = getelementptr ptr, ptr %bufs, i64 {i}")
        lines.append(f"  %b{i} = load ptr, ptr %at{i}")
    return "\n".join(lines)


def body(count, text, result="ret i32 0"):
    lines = ["define i32 @body(ptr %bufs, ptr %rt) nounwind {", buffers(count), text, result, "}"]
    return machine.load("\n".join(lines))


def add(x, y, z):
    """IR of z = x + y on ten floats."""
    return f"""
  %x = load <10 x float>, ptr {x}, align 4
  %y = load <10 x float>, ptr {y}, align 4
  %z = fadd <10 x float> %x, %y
  store <10 x float> %z, ptr {z}, align 4"""


class Box:
    """A wrapper like a tensor."""

    __slots__ = ("__weakref__", "data", "grad", "requires_grad", "version")

    def __init__(self, data, requires_grad=False):
        self.data = data
        self.grad = None
        self.requires_grad = requires_grad


class Special(Box):
    __slots__ = ("extra",)


MARK = object()
BOX = Wrapper(
    Box, "data", required={"requires_grad": False}, fresh={"requires_grad": False, "grad": MARK}
)


def slow(*args):
    return ("slow", *args)


def failed(code):
    raise ArithmeticError(code)


def bind(code, spec, **options):
    return entry.bind(code, spec, slow=slow, failed=failed, **options)


def adder(wrap=False, release=False, **options):
    spec = EntrySpec((X, X), (Out("float32", (2, 5), wrap),), "single", 0, release)
    return bind(body(3, add("%b0", "%b1", "%b2")), spec, **options)


def arrays():
    return np.arange(10, dtype="f4").reshape(2, 5), np.full((2, 5), 0.5, "f4")


def is_slow(result):
    return isinstance(result, tuple) and result[0] == "slow"


@pytest.mark.parametrize("release", [False, True])
def test_arrays_in_array_out(release):
    x, y = arrays()
    result = adder(release=release)(x, y)
    assert type(result) is np.ndarray and result.dtype == np.float32
    assert (result == x + y).all()


@pytest.mark.parametrize("release", [False, True])
def test_wrappers_in_wrapper_out(release):
    x, y = arrays()
    result = adder(wrap=True, release=release, wrapper=BOX)(Box(x), Special(y))
    assert type(result) is Box and (result.data == x + y).all()
    assert result.grad is MARK and result.requires_grad is False
    assert not hasattr(result, "version")
    assert weakref.ref(result)() is result


class Sub(np.ndarray):
    pass


WRONG = {
    "dtype": lambda x: x.astype("f8"),
    "byte order": lambda x: x.astype(">f4"),
    "shape": lambda x: x[:, :4].copy(),
    "rank": lambda x: x.ravel(),
    "order": lambda x: np.asfortranarray(x),
    "gaps": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "alignment": lambda x: np.frombuffer(b"\0" + x.tobytes(), "f4", offset=1).reshape(2, 5),
    "subclass": lambda x: x.view(Sub),
    "list": lambda x: x.tolist(),
    "None": lambda x: None,
    "state of the wrapper": lambda x: Box(x, requires_grad=True),
    "empty wrapper": lambda x: Box(None),
    "unset wrapper": lambda x: Box.__new__(Box),
    "wrapped subclass": lambda x: Box(x.view(Sub)),
    "wrapped dtype": lambda x: Box(x.astype("f8")),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("position", [0, 1])
def test_everything_else_takes_the_slow_path(what, position):
    x, y = arrays()
    args = [x, y]
    args[position] = WRONG[what](x)
    result = adder(wrapper=BOX)(*args)
    assert is_slow(result) and result[1] is args[0] and result[2] is args[1]


def test_wrong_counts_and_keywords():
    f, (x, _) = adder(), arrays()
    assert f() == ("slow",) and f(x) == ("slow", x) and len(f(x, x, x)) == 4
    assert is_slow(f(Box(x), x)), "without a wrapper type, wrappers are strangers"
    given = []
    code = body(3, add("%b0", "%b1", "%b2"))
    g = entry.bind(code, EntrySpec((X,)), slow=lambda *a, **k: given.append((a, k)), failed=failed)
    g(x, y=x, z=1)
    g(y=x)
    assert given == [((x,), {"y": x, "z": 1}), ((), {"y": x})]


def test_slow_path_may_raise():
    def refuse(*args):
        raise LookupError("no")

    code = body(3, add("%b0", "%b1", "%b2"))
    f = entry.bind(code, EntrySpec((X,)), slow=refuse, failed=failed)
    with pytest.raises(LookupError, match="no"):
        f(1)


def test_unpickled_dtypes_are_accepted():
    import pickle

    x, y = arrays()
    f = adder()
    assert (f(pickle.loads(pickle.dumps(x)), y) == x + y).all()
    if np.dtype("long") == np.dtype("longlong"):
        g = bind(body(1, ""), EntrySpec((Arg("array", "int64", (3,)),), result="none"))
        assert g(np.zeros(3, "longlong")) is None and g(np.zeros(3, "long")) is None


def test_scalars():
    """A scalar of NumPy's of the dtype, and nothing else, is read where it is."""
    spec = EntrySpec((Arg("scalar", "float64"),), (Out("float64", ()),), "single")
    f = bind(body(2, "  %v = load double, ptr %b0\n  store double %v, ptr %b1"), spec)
    assert f(np.float64(0.25)) == 0.25
    for wrong in (0.25, 1, np.array(0.25), np.float32(0.25), np.int64(1), None):
        assert is_slow(f(wrong)), wrong


def test_numbers():
    text = """
  %f = load double, ptr %b0
  %i = load i64, ptr %b1
  %t = load i64, ptr %b2
  %id = sitofp i64 %i to double
  %td = sitofp i64 %t to double
  %s = fadd double %f, %id
  %r = fadd double %s, %td
  store double %r, ptr %b3"""
    spec = EntrySpec(
        (Arg("float"), Arg("ignore"), Arg("int"), Arg("identity", object=MARK), Arg("bool")),
        (Out("float64", ()),),
        "single",
    )
    f = bind(body(4, text), spec)
    assert f(0.25, "anything", 10, MARK, True) == 11.25
    assert f(-1.0, None, -1, MARK, False) == -2.0
    assert f(2.0**60, None, -(2**63), MARK, False) == 2.0**60 - 2.0**63
    good = [0.25, 0, 10, MARK, True]
    wrong = [(0, True), (0, 1), (0, "1"), (0, np.float64(1)), (2, 1.0), (2, True),
             (2, 2**63), (2, None), (3, object()), (4, 1), (4, None)]  # fmt: skip
    for position, value in wrong:
        args = list(good)
        args[position] = value
        assert is_slow(f(*args)), (position, value)


def test_states_constants_guards_and_scratch():
    text = (
        add("%b0", "%b1", "%b4")
        + """
  %c = load <10 x float>, ptr %b2, align 4
  %w = load <10 x float>, ptr %b4, align 64
  %d = fmul <10 x float> %c, %w
  store <10 x float> %d, ptr %b3, align 4
  store <10 x float> %w, ptr %b1, align 4"""
    )
    x, y = arrays()
    owner, flag = Box(y), Box(None)
    spec = EntrySpec((X,), (Out("float32", (2, 5)),), "single", arena_bytes=100)
    f = bind(
        body(5, text), spec,
        states=[State(y, owner, "data")],
        constants=[np.full((2, 5), 2, "f4")],
        guards=[Guard(flag, "requires_grad", False)],
    )  # fmt: skip
    before = pool.stats()["live"]
    assert (f(x) == 2 * (x + 0.5)).all() and (y == x + 0.5).all()
    assert (f(x) == 2 * (2 * x + 0.5)).all() and (y == 2 * x + 0.5).all()
    assert pool.stats()["live"] == before
    flag.requires_grad = True
    assert is_slow(f(x))
    flag.requires_grad = False
    owner.data = y.copy()
    assert is_slow(f(x))
    owner.data = y
    assert not is_slow(f(x))
    del owner.data
    assert is_slow(f(x))


@pytest.mark.filterwarnings("ignore:Setting the strides")
def test_states_lie_as_they_did_when_code_was_made(monkeypatch):
    """Whatever says where one of many states lies, and as what, is looked at; what is compared of
    all of them is worked out once for the functions bound to them."""
    made = []
    monkeypatch.setattr(guards, "_Rows", lambda *args, rows=guards._Rows: made.append(
        rows(*args)) or made[-1])
    arrays = [np.zeros(shape, dtype) for shape in ((), (4,), (4,), (2, 3), (0, 2))
              for dtype in ("f4", "f4", "i8")]
    arrays += [np.zeros((4, 6))[:, ::2], np.zeros((2, 3, 4)).T]
    owners, code = [Box(a) for a in arrays], body(len(arrays), "")

    def bound():
        lying = guards.ArrayHeads(arrays)
        states = [State(a, o, "data") for a, o in zip(arrays, owners, strict=True)]
        return lying, *[bind(code, EntrySpec(result="none"), states=states, heads=lying)
                        for _ in range(2)]

    bound()
    assert len(made) == 6  # two of the arrays, two of each function's own
    for place, a in enumerate(arrays):
        ways = [("data", a.copy()), ("dtype", a.dtype.newbyteorder()), ("writeable", False)]
        ways += [("shape", (1, *a.shape))] if a.flags.c_contiguous else [
            ("strides", (*a.strides[:-1], 0))]
        for name, value in ways:
            where = {"data": owners[place], "writeable": a.flags}.get(name, a)
            before, (lying, *functions) = getattr(where, name), bound()
            assert all(f() is None for f in functions) and lying.holds()
            setattr(where, name, value)
            assert all(is_slow(f()) for f in functions), (a.shape, name)
            assert lying.holds() == (name == "data"), (a.shape, name)
            setattr(where, name, before)


@pytest.mark.parametrize(("result", "expected"), [("none", type(None)), ("tuple", tuple)])
def test_results(result, expected):
    outs = (Out("float32", (2, 5)), Out("int8", (100, 300), True), Out("bool", ()))
    f = bind(body(0, ""), EntrySpec((), outs, result), wrapper=BOX)
    value = f()
    assert type(value) is expected
    if value is not None:
        first, second, third = value
        assert first.shape == (2, 5) and first.dtype == np.float32
        assert type(second) is Box and second.data.shape == (100, 300)
        assert third.shape == () and third.dtype == np.bool_
    assert bind(body(0, ""), EntrySpec())() == ()
    with pytest.raises(ValueError, match="one output, not 0"):
        bind(body(0, ""), EntrySpec(result="single"))


def test_failure_frees_everything_and_reports_the_code():
    outs = (Out("float32", (300, 100)), Out("float32", (3,), True))
    spec = EntrySpec((X,), outs, arena_bytes=5000)
    f = bind(body(0, "", "ret i32 7"), spec, wrapper=BOX)
    x, _ = arrays()
    before = pool.stats()["live"], sys.getrefcount(x), sys.getrefcount(MARK)
    for _ in range(100):
        with pytest.raises(ArithmeticError, match="7"):
            f(x)
    assert (pool.stats()["live"], sys.getrefcount(x), sys.getrefcount(MARK)) == before
    g = entry.bind(body(0, "", "ret i32 7"), spec, slow=slow, failed=lambda code: code + 1)
    assert g(x) == 8


def test_where_there_is_no_memory_the_handler_is_told():
    f = bind(body(0, ""), EntrySpec((), (Out("int8", (3,)), Out("int8", (1 << 55,)))))
    g = bind(body(0, ""), EntrySpec((), (Out("int8", (30000,)),), arena_bytes=1 << 55))
    before = pool.stats()["live"]
    for function, code in ((f, -2), (g, -2)):  # the second output; what lies behind the only one
        with pytest.raises(ArithmeticError, match=f"^{code}$"):
            function()
        assert support.refused() == 1 << 55
    assert pool.stats()["live"] == before


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_million_calls_leak_nothing():
    x, y = arrays()
    plain, wrapped = adder(), adder(wrap=True, release=True, wrapper=BOX)
    large = bind(body(0, ""), EntrySpec((X,), (Out("int8", (200, 200)),), arena_bytes=3000))
    bx = Box(x)
    watched = (x, y, bx, MARK, None, np.dtype("f4"), np.dtype("i1"), Box, np.ndarray, slow)

    def run(times):
        for _ in range(times):
            plain(x, y)
            wrapped(bx, y)
            large(x)
            plain(x, None)

    run(1000)
    gc.collect()
    counts, size = [sys.getrefcount(w) for w in watched], _resident()
    run(250_000)
    gc.collect()
    grown = [sys.getrefcount(w) - c for w, c in zip(watched, counts, strict=True)]
    assert max(map(abs, grown)) < 20, grown
    assert _resident() - size < 4 << 20


def test_functions_die_with_all_that_they_hold():
    class Slow:
        def __call__(self, *args):
            return "slow"

    code = machine.load("define i32 @body(ptr %b, ptr %r) { ret i32 0 }")
    constant, fallback = np.zeros(1000), Slow()
    f = entry.bind(
        code, EntrySpec((X,)), slow=fallback, failed=failed, constants=[constant], wrapper=BOX
    )
    fallback.cycle = f
    dead = [weakref.ref(o) for o in (code, fallback, constant)]
    del code, fallback, constant
    gc.collect()
    assert f(1) == "slow" and all(d() is not None for d in dead)
    del f
    gc.collect()
    assert [d() for d in dead] == [None] * 3


def test_arrays_live_while_others_drop_them():
    """The body sleeps without the GIL; meanwhile the wrapper lets go of its array."""
    text = """
  store volatile i64 1, ptr %b1
  br label %wait
wait:
  %v = load volatile i64, ptr %b1
  %more = icmp ne i64 %v, 2
  br i1 %more, label %wait, label %go
go:
  %x = load i8, ptr %b0
  store i8 %x, ptr %b2"""
    flag = np.zeros(1, "int64")
    spec = EntrySpec((Arg("array", "int8", (30000,)),), (Out("int8", ()),), "single", 0, True)
    f = bind(body(3, text), spec, constants=[flag], wrapper=BOX)
    box = Box(pool.empty((30000,), "int8"))
    box.data[:] = 5
    results = []
    caller = threading.Thread(target=lambda: results.append(f(box)))
    caller.start()
    while flag[0] != 1:
        pass
    box.data = None
    other = pool.empty((30000,), "int8")
    other[:] = 9
    flag[0] = 2
    caller.join()
    assert results[0] == 5


def test_slot_offsets():
    class Plain:
        pass

    class Cached:
        __slots__ = ("a",)

        @property
        def b(self):
            return 1

    assert entry.slot_offset(Special, "data") == entry.slot_offset(Box, "data")
    assert entry.slot_offset(Box, "data") != entry.slot_offset(Box, "grad")
    with pytest.raises(AttributeError, match="Plain has no slot 'a'"):
        entry.slot_offset(Plain, "a")
    with pytest.raises(TypeError, match="property, not a slot"):
        entry.slot_offset(Cached, "b")
    with pytest.raises(TypeError, match="does not hold an object"):
        entry.slot_offset(type(np.dtype("f4")), "alignment")
