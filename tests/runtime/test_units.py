"""Modules cut into units: the same results, and common parts compiled once."""

import ctypes

import pytest

from agnesi.runtime import disk_cache, elf, llvm, machine, units


@pytest.fixture(autouse=True)
def small_limit(monkeypatch):
    monkeypatch.setattr(units, "LARGE_UNIT_CHARACTERS", 150)


def kernel(name, table, factor=3):
    return f"""define internal i64 @{name}(ptr noalias %p, i64 %n) nounwind {{
  %at = getelementptr i64, ptr @{table}, i64 %n
  %v = load i64, ptr %at
  %w = mul i64 %v, {factor}
  %m = call i64 @llvm.smax.i64(i64 %w, i64 5)
  store i64 %m, ptr %p
  ret i64 %m
}}
"""


def module(*kernels, tables="@.t0 = private unnamed_addr constant [2 x i64] [i64 1, i64 7]\n"):
    calls = "".join(f"  %r{i} = call i64 @k{i}(ptr %p, i64 1)\n" for i in range(len(kernels)))
    last = len(kernels) - 1
    taken = f"  store ptr @k{last}, ptr %q\n"
    body = f"define i64 @body(ptr %p, ptr %q) {{\n{calls}{taken}  ret i64 %r{last}\n}}\n"
    return tables + "declare i64 @llvm.smax.i64(i64, i64)\n" + "".join(kernels) + body


def run(code):
    value, function = ctypes.c_int64(), ctypes.c_void_p()
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    result = kind(code.address("body"))(ctypes.addressof(value), ctypes.addressof(function))
    own = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(function.value)
    assert own(ctypes.addressof(value), 1) == result == value.value
    return result


def test_large_functions_become_units():
    text = module(kernel("k0", ".t0"), kernel("k1", ".t0", 4))
    first, second, rest = units.split(text)
    assert first.name != second.name and not rest.name
    assert f"declare i64 @{first.name}(ptr noalias, i64)" in rest.text
    assert "@k0" not in rest.text and "define i64 @body" in rest.text
    assert run(machine.load(text)) == 28


def test_units_do_not_depend_on_names_and_numbers_of_their_module():
    one = units.split(module(kernel("k0", ".t0")))[0]
    other = units.split(
        module(
            kernel("k0", ".t0", 9), kernel("k1", ".t1"),
            tables="@.t0 = private unnamed_addr constant [2 x i64] [i64 0, i64 0]\n"
            "@.t1 = private unnamed_addr constant [2 x i64] [i64 1, i64 7]\n",
        )
    )[1]  # fmt: skip
    assert one == other
    assert len(units.split(module(kernel("k0", ".t0"), kernel("k1", ".t0")))) == 2


def test_what_cannot_stand_alone_stays():
    small = module(kernel("k0", ".t0"))
    for text in (
        small.replace("private unnamed_addr constant", "internal global"),
        small.replace("define internal", "define"),
        small.replace("nounwind {", "nounwind alwaysinline {"),
        small.replace("call i64 @llvm.smax.i64(i64 %w", "call i64 @body2(i64 %w")
        + "define internal i64 @body2(i64 %a, i64 %b) {\n  ret i64 %a\n}\n",
    ):
        assert units.split(text) == [units.Unit("", text)]
        assert run(machine.load(text)) == 21


def test_what_units_call_is_a_unit_before_them():
    rare = (
        "define internal i64 @rare.far(i64 %x) nounwind noinline cold {\n"
        "  %y = add i64 %x, 1\n  ret i64 %y\n}\n"
    )
    calls = kernel("k0", ".t0").replace("@llvm.smax.i64(i64 %w, i64 5)", "@rare.far(i64 %w)")
    text = module(rare, calls)
    text = text.replace("  %r1 = call i64 @k1(ptr %p, i64 1)\n", "")
    text = text.replace("@k1", "@k0").replace("%r1", "%r0")
    far, own, rest = units.split(text)
    assert "noinline" in far.text and f"declare i64 @{far.name}(i64)" in own.text
    assert "rare.far" not in own.text + rest.text
    first = machine.load(text)
    assert run(first) == 22
    again = machine.load(text + "; other\n")
    del first
    assert run(again) == 22


def test_metadata_goes_with_the_function_that_uses_it():
    plain = kernel("k0", ".t0")
    marked = plain.replace("ptr %p\n", "ptr %p, align 8, !nontemporal !0\n")
    for own in (plain, marked):
        text = module(own) + "!0 = !{i32 1}\n"
        unit, _ = units.split(text)
        assert ("!0 = !{i32 1}" in unit.text) == (own is marked)
        assert run(machine.load(text)) == 21


def test_common_units_are_compiled_and_loaded_once(fresh_cache, monkeypatch):
    compiled = []
    real = machine.compile_objects

    def count(texts, *settings):
        compiled.extend(texts)
        return real(texts, *settings)

    monkeypatch.setattr(machine, "compile_objects", count)
    first = machine.load(module(kernel("k0", ".t0", 11)))
    assert run(first) == 77 and len(compiled) == 2
    second = machine.load(module(kernel("k0", ".t0", 12), kernel("k1", ".t0", 11)))
    assert run(second) == 77 and len(compiled) == 4
    assert set(first._images) & set(second._images)
    disk_cache.clear()
    again = machine.load(module(kernel("k0", ".t0", 11)))
    assert run(again) == 77 and len(compiled) == 6


def test_units_are_known_while_a_module_is_written(monkeypatch):
    """Large functions as they come, small ones in groups; the same as of the whole module."""
    monkeypatch.setattr(units, "LARGE_UNIT_CHARACTERS", 400)
    monkeypatch.setattr(units, "UNIT_CHARACTERS", 500)
    large = kernel("k1", ".t0").replace("  ret", "  store i64 %m, ptr %p\n" * 10 + "  ret")
    calls = kernel("k3", ".t0").replace("@llvm.smax.i64(i64 %w, i64 5)", "@k0(ptr %p, i64 %w)")
    functions = [kernel("k0", ".t0"), large, kernel("k2", ".t0", 4), calls,
                 *(kernel(f"k{i}", ".t0", i) for i in range(4, 9))]
    text = module(*functions)
    outside = text[: text.index("define")].splitlines()
    stream = units.Stream()
    found = [stream.feed(f.rstrip("\n"), lambda: outside) for f in functions]
    whole = units.split(text)
    assert [u for made in found for u in made] == whole[:3]  # not a group's beginning
    assert len(whole) == 5


def test_at_level_0_units_are_groups_with_hot_functions_apart(monkeypatch):
    monkeypatch.setattr(units, "UNIT_CHARACTERS", 1400)
    hot = kernel("tile0", ".t0", 7).replace("nounwind", 'nounwind noinline "hot"')
    calls = kernel("k1", ".t0").replace("@llvm.smax.i64(i64 %w, i64 5)", "@tile0(ptr %p, i64 0)")
    text = module(kernel("k0", ".t0"), hot, calls, kernel("k2", ".t0", 9))
    text = text.replace("  %r3 = call i64 @k3(ptr %p, i64 1)\n", "")
    text = text.replace("@k3", "@k2").replace("%r3", "%r2")
    tiles, others, rest = units.split(text, opt_level=0)
    assert tiles.text.count("define") == 1 and '"hot"' in tiles.text
    assert others.text.count("define") == 3 and f"declare i64 @{tiles.name}(" in others.text
    assert "define i64 @body" in rest.text and rest.text.count("define") == 1
    assert run(machine.load(text, optimize=0)) == 63


def test_light_functions_are_units_of_their_own_at_the_quickest_level(monkeypatch):
    monkeypatch.setattr(units, "_MIN_WAITING_CHARACTERS", 300)
    levels = []
    real = llvm.Generator.object

    def count(generator, text):
        levels.append((generator._optimize, text.count("define ")))
        return real(generator, text)

    monkeypatch.setattr(llvm.Generator, "object", count)
    light = [kernel(f"k{i}", ".t0", i).replace("nounwind", 'nounwind "light"') for i in (1, 2)]
    text = module(kernel("k0", ".t0", 7), *light)
    large, others, rest = units.split(text)
    assert '"light"' not in large.text and others.text.count('nounwind "light" {') == 2
    assert rest.text.count("define") == 1
    assert machine.compile_objects([large.text, others.text, rest.text])
    assert sorted(levels) == [(0, 2), (1, 1), (1, 1)]
    assert run(machine.load(text)) == 14


def test_what_was_begun_ahead_is_not_made_again(fresh_cache, monkeypatch):
    made = []
    real = llvm.Generator.object

    def count(generator, text):
        made.append(text)
        return real(generator, text)

    monkeypatch.setattr(llvm.Generator, "object", count)
    functions = [kernel("k0", ".t0"), kernel("k1", ".t0", 4)]
    text = module(*functions)
    ahead = machine.Ahead(1, machine.native())
    for function in functions:
        ahead.add(function.rstrip("\n"), lambda: text[: text.index("define")].splitlines())
    assert run(machine.load(text, ahead=ahead)) == 28 and len(made) == 3


def test_llvm_loads_units_too(monkeypatch):
    monkeypatch.setattr(elf, "SUPPORTED", False)
    assert run(machine.load(module(kernel("k0", ".t0"), kernel("k1", ".t0", 4)))) == 28


def test_pack_and_unpack():
    objects = [("a", b"123"), ("long name", bytes(1000)), ("", b"")]
    assert units.unpack(units.pack(objects)) == objects
    packed = units.pack(objects)
    for wrong in (b"", packed[:-1], packed + b"x", units.pack(objects[:1])):
        with pytest.raises(ValueError):
            units.unpack(wrong)
