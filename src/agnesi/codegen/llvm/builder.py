"""A small text builder for LLVM IR: typed operands, one method per need, loops as context managers.

Text is written directly because it is several times faster to make than an object tree, and the
text itself is the key of the compile cache.  Types are LLVM's own spelling (``"float"``, ``"i64"``,
``"<16 x float>"``); pointers are opaque (``"ptr"``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from agnesi.codegen.llvm.address_reuse import Distances
from agnesi.codegen.llvm.folding import compared, folded, one_iteration
from agnesi.codegen.llvm.module import Module as Module
from agnesi.codegen.llvm.scratch import DECLARED, GIVEN, Workspace, allocated
from agnesi.codegen.llvm.sizes import Sizes
from agnesi.codegen.llvm.type_names import as_bits
from agnesi.codegen.llvm.type_names import is_float as is_float
from agnesi.codegen.llvm.type_names import scalar as scalar
from agnesi.codegen.llvm.type_names import suffix as suffix
from agnesi.codegen.llvm.type_names import vector as vector
from agnesi.codegen.llvm.type_names import width as width
from agnesi.codegen.llvm.value_numbering import Known
from agnesi.codegen.llvm.values import Value as Value
from agnesi.codegen.llvm.values import const as const
from agnesi.codegen.llvm.values import i64 as i64
from agnesi.codegen.llvm.values import lanes as lanes
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent

#: Requests better code at LLVM's quickest level too.
HOT = 'nounwind noinline "hot"'
#: Requests that level where all functions of a unit do.
LIGHT = 'nounwind "light"'


def _plain(type_: str) -> str:
    """A parameter's type without its attributes."""
    return type_[: type_.index(">") + 1] if type_[0] == "<" else type_.split()[0]


class Loop:
    """The handle that :meth:`Builder.loop` yields: the index, the carried values, their results."""

    def __init__(self, index: Value, carried: list[Value]) -> None:
        self.index = index
        self.carried = carried
        self.next: list[Value] = list(carried)
        self.results: list[Value] = []
        #: Set to a bool that makes this iteration the last.
        self.until: Value | None = None

    def carry(self, *values: Value) -> None:
        """Set the values of the carried variables for the next iteration."""
        self.next = list(values)


class Builder:
    """Writes one function.  ``finish()`` puts it into its module."""

    def __init__(self, module: Module, name: str, parameters: Sequence[tuple[str, str]],
                 result: str = "void", *, internal: bool = True,
                 attributes: str = "nounwind") -> None:
        """``parameters`` are pairs (type with attributes such as ``ptr noalias``, name)."""
        self.module = module
        self.name = name
        self.result = result
        self._lines: list[str] = []
        self._workspaces: list[Workspace] = []
        self._ends: set[str] = set()
        self._prologue: list[str] = []
        self._sizes = Sizes({})
        self._count = 0
        self._sign = "%"  # LLVM reads rising numbers faster than names
        self._cast_from: dict[Value, Value] = {}
        self._known: Known[Value] = Known()
        self._known_first: Known[Value] = Known()
        self.distances = Distances()
        given = ", ".join([f"{type_} %{label}" for type_, label in parameters])
        internally = "internal " if internal else ""
        self._header = f"define {internally}{result} @{name}({given})"
        self.attributes = attributes
        self.parameters = [Value(f"%{label}", _plain(type_)) for type_, label in parameters]
        self.hot = attributes == HOT
        #: Whether costly functions are called, and not written where they are needed.
        self.calls_functions = module.policy.shared_functions
        self.block = ""
        self.streamed = False
        self.open_block("entry")
        self._known.enter()

    # -- blocks ---------------------------------------------------------------------------
    def label(self, hint: str = "b") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def open_block(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self.block = label
        self._known.block()

    def emit(self, text: str) -> None:
        self._lines.append("  " + text)

    def value(self, type_: str, text: str) -> Value:
        """Emit an instruction that makes a value."""
        self._count += 1
        ref = f"{self._sign}{self._count}"
        self._lines.append(f"  {ref} = {text}")
        return Value(ref, type_)

    def pure(self, type_: str, text: str) -> Value:
        """Return the value of an instruction without side effects; an equal one is reused."""
        known = self._known.of(type_)
        found = known.get(text)
        if found is None:
            found = known[text] = self.value(type_, text)
        return found

    def br(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def cbr(self, condition: Value, yes: str, no: str, *, rare: bool = False) -> None:
        """Emit a conditional branch; ``rare`` marks the branch to ``yes`` as unlikely."""
        weights = ""
        if rare:
            self.module.metadata("1", '!{!"branch_weights", i32 1, i32 4000}')
            weights = ", !prof !1"
        self.emit(f"br i1 {condition.ref}, label %{yes}, label %{no}{weights}")

    def ret(self, value: Value | None = None) -> None:
        if self.streamed:  # such stores are seen by other threads only behind a full fence
            self.emit("fence seq_cst")
        end = "  ret void" if value is None else f"  ret {value}"
        self._ends.add(end)
        self._lines.append(end)

    def phi(self, type_: str, incoming: Sequence[tuple[Value, str]]) -> Value:
        edges = ", ".join(f"[{v.ref}, %{b}]" for v, b in incoming)
        return self.value(type_, f"phi {type_} {edges}")

    def text(self) -> str:
        """The function as it stands."""
        entry, *lines = self._lines
        workspaces = allocated(self._workspaces, self.result)
        if workspaces.taken:
            for known in DECLARED:
                self.module.declare(*known)
            ends = self._ends
            lines = [x for line in lines for x in ((GIVEN, line) if line in ends else (line,))]
        header = f"{self._header} {self.attributes} {{"
        return "\n".join(
            [header, *workspaces.first, entry, *workspaces.then, *self._prologue, *lines, "}"])

    def finish(self, result: Value | None = None) -> Value:
        """Return ``result``, close the function, add it to the module and give its address."""
        self.ret(result)
        self.module.add(self.name, self.text())
        return Value(f"@{self.name}", "ptr")

    @contextmanager
    def when(self, condition: Value, *, rare: bool = False) -> Iterator[None]:
        """Run the body only where the scalar ``condition`` holds."""
        if condition.ref == "true":
            yield
            return
        yes, after = self.label("then"), self.label("after")
        self.cbr(condition, yes, after, rare=rare)
        before = self._known.here()
        self.open_block(yes)
        self._known.enter()
        yield
        self.br(after)
        self.open_block(after)
        self._known.leave(before)

    def either(self, condition: Value, *ways: Callable[[], list[Value]]) -> list[Value]:
        """Return the values of the first way where ``condition`` holds, else those of the second.
        """
        labels, after, ends = (self.label("then"), self.label("else")), self.label("after"), []
        types: list[str] = []
        self.cbr(condition, *labels)
        for label, way in zip(labels, ways, strict=True):
            before = self._known.here()
            self.open_block(label)
            self._known.enter()
            values = way()
            types = [v.type for v in values]
            ends.append([(self._bits(v), self.block) for v in values])
            self.br(after)
            self._known.leave(before)
        self.open_block(after)
        joined = [self.phi(pair[0][0].type, pair) for pair in zip(*ends, strict=True)]
        return [self._typed(v, t) for v, t in zip(joined, types, strict=True)]

    @contextmanager
    def loop(
        self,
        start: Value,
        stop: Value,
        step: int = 1,
        carried: Sequence[Value] = (),
        *,
        nonempty: bool = False,
        metadata: str = "",
    ) -> Iterator[Loop]:
        """Count ``start, start+step, ... < stop`` (i64), with carried values as phis.

        ``nonempty=True`` promises at least one iteration and saves the first test.  After the
        block, ``loop.results`` holds the carried values' last state.
        """
        if one_iteration(start.ref, stop.ref, step):
            handle = Loop(start, list(carried))
            yield handle
            handle.results = handle.next
            return
        head, after, before = self.label("loop"), self.label("done"), self.block
        types, carried = [v.type for v in carried], [self._bits(v) for v in carried]
        first = Value("true", "i1") if nonempty else self.icmp("slt", start, stop)
        if nonempty := first.ref == "true":
            self.br(head)
        else:
            self.cbr(first, head, after)
        mark = len(self._lines)
        known = self._known.here()
        self.open_block(head)
        self._known.enter()
        self._count += 1
        index = Value(f"{self._sign}{self._count}", "i64")
        phis = [Value(f"{self._sign}{self._count + n}", v.type) for n, v in enumerate(carried, 1)]
        self._count += len(phis)
        begin = len(self._lines)
        handle = Loop(index, [self._typed(v, t) for v, t in zip(phis, types, strict=True)])
        casts = self._lines[begin:]
        del self._lines[begin:]
        yield handle
        carry = [self._bits(v) for v in handle.next]
        following = self.value("i64", f"add nsw i64 {index.ref}, {step}")
        more = self.icmp("slt", following, stop)
        if handle.until is not None:
            on = self.op("xor", handle.until, Value("true", "i1"))
            more = self.op("and", more, on)
        self.emit(f"br i1 {more.ref}, label %{head}, label %{after}{metadata}")
        latch = self.block
        heads = [f"  {index.ref} = phi i64 [{start.ref}, %{before}], [{following.ref}, %{latch}]"]
        for phi, value, new in zip(phis, carried, carry, strict=True):
            heads.append(
                f"  {phi.ref} = phi {value.type} [{value.ref}, %{before}], [{new.ref}, %{latch}]"
            )
        self._lines[mark + 1 : mark + 1] = [*heads, *casts]
        self.open_block(after)
        self._known.leave(known)
        if not nonempty:
            carry = [self.phi(value.type, [(value, before), (new, latch)])
                     for value, new in zip(carried, carry, strict=True)]
        handle.results = [self._typed(v, t) for v, t in zip(carry, types, strict=True)]

    # -- arithmetic -----------------------------------------------------------------------
    def op(self, name: str, a: Value, b: Value) -> Value:
        """A binary instruction by its LLVM name, flags included (``"fadd contract"``)."""
        known = folded(name, a.ref, b.ref) if a.type == "i64" else ""
        return Value(known, "i64") if known else self.pure(
            a.type, f"{name} {a.type} {a.ref}, {b.ref}")

    def fadd(self, a: Value, b: Value) -> Value:
        return self.op("fadd contract", a, b)

    def fsub(self, a: Value, b: Value) -> Value:
        return self.op("fsub contract", a, b)

    def fmul(self, a: Value, b: Value) -> Value:
        return self.op("fmul contract", a, b)

    def fdiv(self, a: Value, b: Value) -> Value:
        return self.op("fdiv", a, b)

    def fneg(self, a: Value) -> Value:
        return self.pure(a.type, f"fneg {a.type} {a.ref}")

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self.intrinsic("fma", a, b, c)

    def add(self, a: Value, b: Value) -> Value:
        total = self.op("add", a, b)
        self.distances.note(total, a, b)
        return total

    def sub(self, a: Value, b: Value) -> Value:
        return self.op("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self.op("mul", a, b)

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        type_ = vector("i1", width(a.type))
        return self.pure(type_, f"fcmp {predicate} {a.type} {a.ref}, {b.ref}")

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        known = compared(predicate, a.ref, b.ref) if a.type == "i64" else ""
        return Value(known, "i1") if known else self.pure(
            vector("i1", width(a.type)), f"icmp {predicate} {a.type} {a.ref}, {b.ref}")

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        known = {"true": a, "false": b}.get(condition.ref)
        if known is not None:
            return known
        bits = as_bits(a.type)
        if bits != a.type:
            return self._typed(self.select(condition, self._bits(a), self._bits(b)), a.type)
        return self.pure(a.type, f"select {condition}, {a}, {b}")

    def cast(self, name: str, value: Value, type_: str) -> Value:
        """A conversion by its LLVM name (``sitofp``, ``fptrunc``, ``bitcast``, ``zext`` ...)."""
        if name != "bitcast":
            return self.pure(type_, f"{name} {value} to {type_}")
        value = self._cast_from.get(value, value)
        if value.type == type_:
            return value
        found = self.pure(type_, f"bitcast {value} to {type_}")
        self._cast_from[found] = value
        return found

    def _bits(self, value: Value) -> Value:
        """A value as it goes to memory and from block to block."""
        if value.type.endswith("x i1>"):  # without AVX-512, LLVM takes their lanes apart
            return self.cast("sext", value, value.type.replace("x i1>", "x i8>"))
        bits = as_bits(value.type)
        return value if bits == value.type else self.cast("bitcast", value, bits)

    def _typed(self, bits: Value, type_: str) -> Value:
        """Return a value of ``type_`` from its bits."""
        if type_.endswith("x i1>"):
            return self.cast("trunc", bits, type_)
        return bits if bits.type == type_ else self.cast("bitcast", bits, type_)

    def intrinsic(self, name: str, *args: Value, result: str | None = None) -> Value:
        """Call an intrinsic overloaded on its first operand, as ``intrinsic("fma", a, b, c)``."""
        type_ = args[0].type
        known = folded(name, *[a.ref for a in args]) if type_ == "i64" and len(args) == 2 else ""
        if known:
            return Value(known, type_)
        function, result = f"llvm.{name}.{suffix(type_)}", result or type_
        self.module.declare(function, result, [a.type for a in args])
        return self.pure(result, f"call {result} @{function}({', '.join(map(str, args))})")

    def call(self, result: str, name: str, *args: Value) -> Value:
        """Call a function by name (declared on the way)."""
        self.module.declare(name, result, [a.type for a in args])
        return self.call_pointer(result, Value(f"@{name}", "ptr"), *args)

    def call_pointer(self, result: str, pointer: Value, *args: Value) -> Value:
        """Call through an address."""
        text = f"call {result} {pointer.ref}(" + ", ".join(map(str, args)) + ")"
        if result != "void":
            return self.value(result, text)
        self.emit(text)
        return Value("", "void")

    # -- sizes ----------------------------------------------------------------------------
    def give_sizes(self, table: Value, first: int, names: Sequence[Extent]) -> None:
        """Set where dynamic sizes are found: in consecutive entries of a table."""
        self._sizes = Sizes({name: (table, first + i) for i, name in enumerate(names)})

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """Emit into the entry block of the function."""
        here = self._lines, self._known, self._sign
        self._lines, self._known, self._sign = self._prologue, self._known_first, "%first"
        yield
        self._lines, self._known, self._sign = here

    def size(self, n: Size | Value) -> Value:
        """A size as a value; run-time sizes are computed once, in the entry block."""
        if isinstance(n, Value):
            return n
        if not isinstance(n, Extent):
            return i64(n)  # type: ignore[arg-type]
        with self.beginning():
            found: Value = self._sizes.number(self, n)
        return found

    # -- vectors --------------------------------------------------------------------------
    def splat(self, value: Value, lanes_: int) -> Value:
        """Broadcast a scalar to a vector."""
        if lanes_ == 1:
            return value
        if as_bits(value.type) != value.type:
            return self._typed(self.splat(self._bits(value), lanes_), vector(value.type, lanes_))
        type_ = vector(value.type, lanes_)
        one = self.pure(type_, f"insertelement {type_} poison, {value}, i64 0")
        return self.pure(
            type_, f"shufflevector {one}, {type_} poison, <{lanes_} x i32> zeroinitializer"
        )

    def shuffle(self, a: Value, b: Value | None, mask: Sequence[int]) -> Value:
        type_ = vector(scalar(a.type), len(mask))
        if as_bits(type_) != type_:
            other = None if b is None else self._bits(b)
            return self._typed(self.shuffle(self._bits(a), other, mask), type_)
        second = str(b) if b is not None else f"{a.type} poison"
        indices = ", ".join(f"i32 {m}" for m in mask)
        return self.pure(type_, f"shufflevector {a}, {second}, <{len(mask)} x i32> <{indices}>")

    def extract(self, value: Value, lane: int) -> Value:
        bits = self._bits(value)
        one = self.pure(scalar(bits.type), f"extractelement {bits}, i64 {lane}")
        return self._typed(one, scalar(value.type))

    # -- memory ---------------------------------------------------------------------------
    def gep(self, element: str, pointer: Value, index: Value) -> Value:
        if index.ref == "0":
            return pointer
        return self.pure("ptr", f"getelementptr inbounds {element}, {pointer}, {index}")

    def load(self, type_: str, pointer: Value, align: int | None = None) -> Value:
        tail = f", align {align}" if align else ""
        bits = as_bits(type_)
        return self._typed(self.value(bits, f"load {bits}, {pointer}{tail}"), type_)

    def store(self, value: Value, pointer: Value, align: int | None = None) -> None:
        tail = f", align {align}" if align else ""
        self.emit(f"store {self._bits(value)}, {pointer}{tail}")

    def stream(self, value: Value, pointer: Value) -> None:
        """Store past the caches; the address is a multiple of 64."""
        self.module.metadata("0", "!{i32 1}")
        self.streamed = True
        self.emit(f"store {self._bits(value)}, {pointer}, align 64, !nontemporal !0")

    def masked_load(
        self, type_: str, pointer: Value, mask: Value, align: int, other: Value
    ) -> Value:
        """Load the lanes where ``mask`` is set; the rest take ``other``."""
        bits = as_bits(type_)
        if bits != type_:
            other = self.cast("bitcast", other, bits)
            found = self.masked_load(bits, pointer, mask, align, other)
            return self.cast("bitcast", found, type_)
        name = f"llvm.masked.load.{suffix(type_)}.p0"
        return self.call(type_, name, pointer, Value(str(align), "i32"), mask, other)

    def masked_store(self, value: Value, pointer: Value, mask: Value, align: int) -> None:
        value = self._bits(value)
        name = f"llvm.masked.store.{suffix(value.type)}.p0"
        self.call("void", name, value, pointer, Value(str(align), "i32"), mask)

    def gather(self, type_: str, pointers: Value, mask: Value, align: int) -> Value:
        """Load one element per lane from a vector of addresses; unset lanes are zero."""
        bits = as_bits(type_)
        if bits != type_:
            return self._typed(self.gather(bits, pointers, mask, align), type_)
        name = f"llvm.masked.gather.{suffix(type_)}.v{width(type_)}p0"
        return self.call(type_, name, pointers, Value(str(align), "i32"), mask, const(type_, 0))

    def scatter(self, value: Value, pointers: Value, mask: Value, align: int) -> None:
        """Store one element per lane to a vector of addresses."""
        value = self._bits(value)
        name = f"llvm.masked.scatter.{suffix(value.type)}.v{width(value.type)}p0"
        self.call("void", name, value, pointers, Value(str(align), "i32"), mask)

    def alloca(self, type_: str, count: int) -> Value:
        """Memory of this call, a line of the cache aligned, wherever the request stands.

        It is on the stack if it is small, but never more than ``scratch.MAX_STACK_BYTES`` of all.
        """
        self._count += 1
        self._workspaces.append(Workspace(f"%m{self._count}", type_, count))
        return Value(f"%m{self._count}", "ptr")
