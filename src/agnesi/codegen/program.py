"""Kernels to one LLVM module: a function each, and the body that calls them in order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from agnesi.codegen.early_return import emit_leaving, left_by
from agnesi.codegen.interrupts import Pace, chunk, poll, polls
from agnesi.codegen.kernel_key import structure
from agnesi.codegen.launch import Runner, Step, address_key
from agnesi.codegen.llvm.builder import HOT, LIGHT, Builder, Module, Value, i64
from agnesi.codegen.loops.nest import emit_nest
from agnesi.codegen.opt_level import Effort
from agnesi.codegen.position_independent import anchored, moved, moves_of
from agnesi.core.ir.dims import Size, combine
from agnesi.core.ir.extents import Extent, guess
from agnesi.core.ir.foreign import Walk
from agnesi.core.ir.kernels import (
    DECIDES,
    ELSEWHERE,
    FIRST_FAILURE,
    Branch,
    Buffer,
    Callback,
    Check,
    Convolution,
    Foreign,
    Instance,
    Kernel,
    Loop,
    Nest,
    Product,
    Sparse,
    nested,
)
from agnesi.core.ir.mapping import Mapping, is_parallel
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.support.record import record, replace
from agnesi.core.target import Target

Written = Callable[[str, Callable[[], list[str]]], None]
_TASK = (("ptr", "addresses"), ("i64", "begin"), ("i64", "end"), ("i64", "thread"))
_CONTROL = (("ptr", "addresses"), ("ptr", "rt"))
#: Units of a group of kernels, about: the parts in which threads share their work.
_GROUP_UNITS = 64


@record
class Varying:
    """The run-time sizes of a program.

    :ivar names: The sizes that a call brings along, in the order of the table of buffers, where
        they begin at entry ``slot``.
    :ivar results: The sizes of all axes of all new results.
    :ivar arena_bytes: Scratch memory of a call.
    """

    names: tuple[Extent, ...]
    slot: int
    results: tuple[Size, ...]
    arena_bytes: Size


def emit_program(kernels: Sequence[Kernel], target: Target, mapping: Mapping,
                 policy: CompilePolicy = FAST_RUN, *, threads: int = 1,
                 varying: Varying | None = None,
                 written: Written = lambda function, outside: None,
                 groups: Sequence[Any] = ()) -> tuple[str, list[Step]]:
    """The module's text, and how each kernel is run.

    The body is ``i32 @body(ptr bufs, ptr rt)``; equal kernels share one function.  ``mapping``
    says how loop nests run.  So many
    ``threads`` of ours share products that a library evaluates (``core.ir.calls.gemm.Library``).
    ``written`` is
    given the function of each kernel as soon as there is one, and how to get the lines
    outside of functions then.  Kernels of one of the ``groups`` run at the same time.
    """
    module = Module(target, policy, mapping)
    program = _Program(kernels, module, threads, varying.names if varying else (), written)
    steps = [program.step(kernel) for kernel in kernels]
    _body(program, program.together(kernels, steps, groups), varying.slot if varying else 0)
    if varying:
        _measure(program.module, varying)
    return str(program.module), steps


class _Program:
    """The functions of one module; blocks inside of loops and branches are written through it."""

    def __init__(self, kernels: Sequence[Kernel], module: Module, threads: int,
                 sizes: Sequence[Extent], written: Written) -> None:
        self._written = written
        self._effort = Effort(kernels)
        self.module, self.threads = module, threads
        self.sizes = sizes
        self._known: dict[Hashable, Step] = {}
        self._alike: dict[Hashable, tuple[Step, list[tuple[int, int]]]] = {}
        back = [k for k in nested(kernels) if isinstance(k, Callback)]
        self._callbacks = {id(k): i for i, k in enumerate(back)}
        failing = [k for k in nested(kernels) if isinstance(k, Check | Foreign)]
        self._failures = {
            id(k): ELSEWHERE if isinstance(k, Check) and k.error == DECIDES else FIRST_FAILURE + i
            for i, k in enumerate(failing)}
        called = dict.fromkeys(s for k in failing if isinstance(k, Foreign) for s in k.call.symbols)
        self._symbols = {symbol: i for i, symbol in enumerate(called)}
        #: Kernels whose time is measured; the first row is that of the body.
        self._rows: list[Any] = [None]

    def step(self, kernel: Kernel) -> Step:
        """Return the step of a kernel; its function is emitted here unless an equal one exists."""
        if not self.module.policy.profiled or isinstance(kernel, Check):
            return self._step(kernel)
        first = len(self._rows)
        self._rows.append(kernel)
        made = self._step(kernel)
        return replace(made, rows=tuple(enumerate(self._rows))[first:])

    def _step(self, kernel: Kernel) -> Step:
        if isinstance(kernel, Callback):
            buffers = (*kernel.inputs, *kernel.results)
            return Step(f"python {kernel.op.name}", 1, False, buffers, self._callbacks[id(kernel)])
        if isinstance(kernel, Loop | Branch):
            return self._control(kernel)
        if isinstance(kernel, Check):
            return Step("", 1, False, (kernel.flag,), failure=self._failures[id(kernel)])
        if isinstance(kernel, Foreign):
            return self._foreign(kernel)
        like = kernel.like
        if like is None:
            return self._own(anchored(kernel))
        key = like.key()
        known = self._alike.get(key)
        if known is not None:
            step, picked = known
            buffers = tuple([moved(like.buffers[i], by) for i, by in picked])
            if len({address_key(b) for b in buffers}) == len(buffers):
                return replace(step, buffers=buffers)
        return self._first(kernel, like, key)

    def together(self, kernels: Sequence[Kernel], steps: Sequence[Step],
                 groups: Sequence[Any]) -> list[tuple[Step, Sequence[Kernel]]]:
        """Return the steps of a body with their kernels; the kernels of a group become one step."""
        works = {id(group.kernels[0]): group.work for group in groups if group.work}
        result: list[tuple[Step, Sequence[Kernel]]] = []
        k = 0
        while k < len(steps):
            work = works.get(id(kernels[k]), [0])
            members = steps[k : k + len(work)]
            step = self._joined(members, work) if len(work) > 1 else steps[k]
            result.append((step, kernels[k : k + len(work)]))
            k += len(work)
        return result

    def _joined(self, steps: Sequence[Step], work: Sequence[int]) -> Step:
        """Return one step for several: its units are those of all, in proportion to their work."""
        b = Builder(self.module, self.module.fresh("k"), _TASK, attributes=LIGHT)
        addresses, begin, end, thread = b.parameters
        first = at = 0
        for step, mine in zip(steps, work, strict=True):
            count = max(1, min(guess(step.units), round(_GROUP_UNITS * mine / sum(work))))

            def unit(n: Value, first: int = first, step: Step = step, count: int = count) -> Value:
                whole = b.mul(b.sub(n, i64(first)), b.size(step.units))
                return b.op("udiv", whole, i64(count))

            low = b.intrinsic("smax", begin, i64(first))
            high = b.intrinsic("smin", end, i64(first + count))
            with b.when(b.icmp("slt", low, high)):
                b.call("void", step.name, b.gep("ptr", addresses, i64(at)), unit(low), unit(high),
                       thread)
            first, at = first + count, at + len(step.buffers)
        b.ret()
        return Step(self._added(b), first, True, tuple([p for s in steps for p in s.buffers]),
                    rows=steps[0].rows, looks=any(s.looks for s in steps))

    def _own(self, kernel: Kernel) -> Step:
        """Return the step of a kernel without constant offsets."""
        key = structure(kernel)
        if key not in self._known:
            self._known[key] = self._task(kernel)
        return replace(self._known[key], buffers=_buffers_of(kernel))

    def _first(self, kernel: Kernel, like: Instance, key: Hashable) -> Step:
        """Return the step of the first kernel of a template; other instances differ in addresses
        only.
        """
        moves = moves_of(kernel)
        step = self._own(anchored(kernel, moves))
        address_keys = [address_key(b) for b in like.buffers]
        at = [(slot, offset + moves.get((slot, offset), 0)) for slot, offset in address_keys]
        numbers = {p: i for i, p in reversed([*enumerate(at)])}
        if len(numbers) == len({*address_keys}):  # none is where another one is by moving only
            picked = [numbers[address_key(p)] for p in step.buffers]
            self._alike[key] = step, [(i, moves.get(address_keys[i], 0)) for i in picked]
        return step

    def _task(self, kernel: Kernel) -> Step:
        conv = self._cut(kernel) if isinstance(kernel, Convolution) else None
        hot = self.module.policy.opt_level == 0 and conv is not None and not conv.tiled
        b = Builder(self.module, self.module.fresh("k"), _TASK,
                    attributes=HOT if hot else "nounwind")
        _, begin, end, thread = b.parameters
        buffers = _buffers_of(kernel)
        pointer = self._addresses(b, buffers)
        target = self.module.target

        def interrupted() -> Value:
            return b.icmp("ne", poll(b, thread), Value("0", "i32"))

        surplus: Any = 0
        units: Size
        looks = False
        if isinstance(kernel, Product):
            units, looks = self._product(b, kernel, pointer, begin, end, interrupted)
            surplus = _work(kernel) - target.costs.product_multiply_adds
        elif conv is not None:
            from agnesi.codegen.kernels.conv import emit_convolution

            units, surplus = conv.units, conv.surplus
            emit_convolution(
                b, conv, lambda f: pointer if f is b else self._addresses(f, buffers), begin, end)
        elif isinstance(kernel, Sparse):
            from agnesi.codegen.kernels.sparse import emit_sparse, plan_sparse

            rows = plan_sparse(kernel, target)
            units, surplus = rows.units, rows.surplus
            emit_sparse(b, rows, pointer, begin, end)
        else:
            assert isinstance(kernel, Nest)
            plan = self.module.mapping.nest(kernel)
            units, surplus = plan.units, plan.surplus
            b.calls_functions |= self._effort.repeats(plan)
            looks = emit_nest(b, plan, pointer, begin, end, interrupted=interrupted)
            if self._effort.little(plan.work):
                b.attributes = LIGHT
        b.ret()
        name = self._added(b)
        polled = looks and isinstance(kernel, Product)
        if size := 0 if polled else chunk(kernel, units):
            name, looks = self._in_chunks(name, size), True
        parallel = target.threads > 1 and is_parallel(units, surplus)
        return Step(name, units, parallel, buffers, surplus=surplus, looks=looks)

    def _in_chunks(self, name: str, size: int) -> str:
        """A task that runs another one for so many units at a time, and looks for signals."""
        b = Builder(self.module, self.module.fresh("k"), _TASK)
        addresses, begin, end, thread = b.parameters
        with b.loop(begin, end, size) as loop:
            stop = b.intrinsic("smin", b.add(loop.index, i64(size)), end)
            b.call("void", name, addresses, loop.index, stop, thread)
            loop.until = b.icmp("ne", poll(b, thread), Value("0", "i32"))
        b.ret()
        return self._added(b)

    def _product(self, b: Builder, kernel: Product, pointer: Callable[[Buffer], Value],
                 begin: Value, end: Value, interrupted: Callable[[], Value]) -> tuple[Size, bool]:
        """Emit the work of a product; return its units, and whether it polls for signals."""
        module = self.module
        if kernel.symbol:
            from agnesi.codegen.kernels.library_products import emit_call, plan_call

            call = plan_call(kernel, self.threads)
            if call is not None:
                emit_call(b, call, pointer, begin, end)
                return call.units, False
        from agnesi.codegen.kernels.product import emit_product, plan_product

        cut = plan_product(kernel, module.target, module.policy)
        polled = cut.form != "stream" and polls(kernel)
        emit_product(b, kernel, cut, pointer, begin, end, interrupted if polled else None)
        return cut.units, polled

    def _addresses(self, b: Builder, buffers: Sequence[Buffer]) -> Callable[[Buffer], Value]:
        """Return a function that emits the address of a buffer, for code whose first parameter is
        the table of the buffers' addresses and then of the dynamic sizes.
        """
        b.give_sizes(b.parameters[0], len(buffers), self.sizes)
        return _given(b, b.parameters[0], buffers)

    def _cut(self, kernel: Convolution) -> Any:
        """How a convolution is cut."""
        from agnesi.codegen.kernels.conv import plan_convolution

        return plan_convolution(kernel, self.module.target, self.module.policy, self.threads)

    def _control(self, kernel: Loop | Branch) -> Step:
        from agnesi.codegen.control import emit_control

        inside = self.module.mapping.inlined(kernel)
        with self._effort.inside(kernel):
            steps = [[inside[id(k)] if id(k) in inside else self.step(k) for k in block.kernels]
                     for block in kernel.blocks()]
            light = all(self._effort.little(plan.work) for plan in inside.values())
        b = Builder(self.module, self.module.fresh("k"), _CONTROL, "i32",
                    attributes=LIGHT if light else "nounwind")
        addresses, rt = b.parameters
        buffers = _buffers_of(kernel)
        b.give_sizes(addresses, len(buffers), self.sizes)
        called = [s for inner in steps for s in inner if isinstance(s, Step)]
        run = Runner(b, rt, called, self.sizes)
        emit_control(b, kernel, steps, _given(b, addresses, buffers), run)
        b.ret(Value("0", "i32"))
        return Step(self._added(b), 1, False, buffers, control=True)

    def _walk(self, kernel: Foreign) -> Step:
        """Return the step that calls a ufunc's inner loop on blocks of elements; the table of its
        arguments has the addresses of buffers, then those of the inner loop and its data.
        """
        from agnesi.codegen.kernels.ufunc_loop import emit_walk, may_be_long, plan_walk

        b = Builder(self.module, self.module.fresh("k"), _TASK)
        addresses, begin, end, thread = b.parameters
        buffers, plan = _buffers_of(kernel), plan_walk(kernel, self.module.target)

        def interrupted() -> Value:
            return b.icmp("ne", poll(b, thread), Value("0", "i32"))

        looks = may_be_long(plan)
        symbols = tuple(self._symbols[s] for s in kernel.call.symbols)
        b.give_sizes(addresses, len(buffers) + len(symbols), self.sizes)
        functions = [b.load("ptr", b.gep("ptr", addresses, i64(len(buffers) + i)))
                     for i in range(len(symbols))]
        emit_walk(b, plan, _given(b, addresses, buffers), functions, begin, end,
                  interrupted if looks else None)
        b.ret()
        parallel = self.module.target.threads > 1 and is_parallel(plan.units, plan.surplus)
        return Step(self._added(b), plan.units, parallel, buffers, surplus=plan.surplus,
                    symbols=symbols, looks=looks)

    def _foreign(self, kernel: Foreign) -> Step:
        if isinstance(kernel.call, Walk):
            return self._walk(kernel)
        from agnesi.codegen.kernels.foreign import emit_foreign

        b = Builder(self.module, self.module.fresh("k"), _CONTROL, "i32", attributes=LIGHT)
        addresses, rt = b.parameters
        buffers = _buffers_of(kernel)
        b.give_sizes(addresses, len(buffers), self.sizes)
        emit_foreign(b, kernel, rt, _given(b, addresses, buffers),
                     self._symbols[kernel.call.symbol], self._failures[id(kernel)])
        return Step(self._added(b), 1, False, buffers, control=True)

    def _added(self, b: Builder) -> str:
        """Add a function to the module and its declaration to other parts; return its name."""
        name = self.module.shared(b)
        for function in self.module.new():
            self._written(function, self.module.outside)
        return name


def _given(b: Builder, addresses: Value, buffers: Sequence[Buffer]) -> Callable[[Buffer], Value]:
    """Return a function that gives the addresses of buffers from a function's table."""
    numbers = {address_key(buffer): i for i, buffer in enumerate(buffers)}
    pointers = [b.load("ptr", b.gep("ptr", addresses, i64(i))) for i in range(len(buffers))]
    return lambda buffer: pointers[numbers[address_key(buffer)]]


def _buffers_of(kernel: Kernel) -> tuple[Buffer, ...]:
    return _distinct((*kernel.reads(), *kernel.writes()))


def _work(product: Product) -> Any:
    """Return the multiply-adds of a product, or as many as take the time of reading its matrices.
    """
    batch, m, n, k = product.sizes
    elements = m * k + k * n + m * n
    reading = 3 * elements * product.total.dtype.itemsize // 4
    return batch * combine("max", m * n * k, reading)


def _distinct(buffers: Iterable[Buffer]) -> tuple[Buffer, ...]:
    """Buffers without those that share the memory of an earlier one."""
    found: dict[tuple[int, int], Buffer] = {}
    for buffer in buffers:
        found.setdefault(address_key(buffer), buffer)
    return tuple(found.values())


def _measure(module: Module, varying: Varying) -> None:
    """Write ``i64 @measure(ptr sizes, ptr out)``: of dynamic sizes it returns the bytes of the
    arena, and stores the sizes of results at ``out``.
    """
    b = Builder(module, "measure", (("ptr", "sizes"), ("ptr", "out")), "i64", internal=False)
    sizes, out = b.parameters
    b.give_sizes(sizes, 0, varying.names)
    for i, n in enumerate(varying.results):
        b.store(b.size(n), b.gep("i64", out, i64(i)))
    b.finish(b.size(varying.arena_bytes))


def _body(program: _Program, runs: Sequence[tuple[Step, Sequence[Kernel]]],
          first_size: int) -> None:
    leaving = left_by([k for _, run in runs for k in run])
    b = Builder(program.module, "steps" if leaving else "body", (("ptr", "bufs"), ("ptr", "rt")),
                "i32", internal=False, attributes=LIGHT)
    bufs, rt = b.parameters
    b.give_sizes(bufs, first_size, program.sizes)
    steps = [step for step, _ in runs]
    runner, pace = Runner(b, rt, steps, program.sizes), Pace([run for _, run in runs])
    if program.module.policy.profiled:
        runner.timed(0, lambda: runner.all(steps, bufs, pace))
    else:
        runner.all(steps, bufs, pace)
    b.finish(Value("0", "i32"))
    if leaving:
        emit_leaving(program.module, leaving)
