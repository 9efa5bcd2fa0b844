"""Values and indices where a module writes agnesi as torch and unpacks both."""

import textwrap
import types

import pytest

import agnesi as ag

FORMS = """
    torch.max(x, 1) | x.max(1) | torch.min(x, -1) | x.min(0) | torch.sort(x) | torch.sort(x, 0)
    x.sort(1) | x.sort() | torch.median(x, 1) | torch.nanmedian(x, 0)
"""
#: What a call may be used for at once, and what it says then, for a pair.
USES = {
    "_, i = {0}\nresult = i": 1, "[v, i] = {0}\nresult = v": 0, "result = {0}[1]": 1,
    "result = {0}[0]": 0, "result = ({0})[-1]": 1, "result = {0}.indices": 1,
    "result = {0}.values": 0,
}


def run(text, name="torch", **names):
    module = types.ModuleType("program")
    module.__dict__.update({name: ag, **names})
    exec(compile(textwrap.dedent(text), "program.py", "exec"), module.__dict__)
    return module.__dict__


def forms():
    return [form.strip() for line in FORMS.split("\n") for form in line.split("|") if form.strip()]


@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("form", forms())
def test_pairs_are_pytorchs(form, rows):
    x = ag.random.Generator(3).uniform(shape=(rows, 3))
    named = form.replace("torch.sort(x)", "x.sort()").replace("x.sort()", "x.sort(dim=-1)")
    if "dim=" not in named:
        named = named.replace("(x, ", "(x, dim=").replace("x.max(", "x.max(dim=").replace(
            "x.min(", "x.min(dim=").replace("x.sort(", "x.sort(dim=")
    pair = eval(named, {"torch": ag, "x": x})
    for use, place in USES.items():
        program = "def f():\n" + textwrap.indent(use.format(form), "    ") + "\n    return result"
        f = run(program, x=x)["f"]
        for _ in range(12):  # of which the later ones are planned
            assert f().tolist() == pair[place].tolist(), (use, form)


def test_values_alone_are_numpys():
    names = run("""
        def f(x):
            y = torch.max(x, 1)
            return y, torch.max(x, 1) + 1, sum(torch.max(x, 1)), [v for v in x.max(1)]
    """)
    x = ag.tensor([[3.0, 1.0], [0.0, 5.0]])
    for _ in range(12):
        y, z, total, listed = names["f"](x)
        assert y.tolist() == [3.0, 5.0] and z.tolist() == [4.0, 6.0]
        assert total.item() == 8.0 and [v.item() for v in listed] == [3.0, 5.0]
    low, high = run("def f(x):\n    a, b = ag.max(x, 1)\n    return a, b", "ag")["f"](x)
    assert (low.item(), high.item()) == (3.0, 5.0)


def test_pairs_compile_and_have_gradients():
    f = run("def f(x):\n    v, i = x.max(1)\n    return v.sum(), i")["f"]
    x = ag.tensor([[3.0, 1.0], [0.0, 5.0], [2.0, 4.0]])
    value, places = ag.jit(f)(x)
    assert value.item() == 12.0 and places.tolist() == [0, 1, 1]
    assert ag.grad(lambda x: f(x)[0])(x).tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize(("rows", "text"), [(5, "too many values to unpack"),
                                            (1, "not enough values to unpack")])
def test_unpacked_rows_tell_of_the_pair(rows, text):
    x = ag.zeros((rows, 3))
    with pytest.raises(ValueError, match=text + r" \(expected 2\).*write x.max\(dim="):
        _, _ = ag.max(x, 1)


def test_tuples_that_are_no_shapes_are_data():
    assert ag.LongTensor((True, False)).tolist() == [1, 0]
    assert ag.FloatTensor((-1, 2)).tolist() == [-1.0, 2.0]
    with pytest.raises(TypeError, match="may be a shape, or data"):
        ag.LongTensor((1, 2))


def test_two_axes_of_a_matrix_are_swapped_as_pytorchs():
    x = ag.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    f = run("def f(x):\n    return x.transpose(0, 1), x.transpose(-1, -2)")["f"]
    for g in [f] * 12 + [ag.jit(f)]:
        assert [y.tolist() for y in g(x)] == [x.T.tolist()] * 2
    for _ in range(3):  # which no plan of the other module answers
        with pytest.raises(TypeError, match="leaves a matrix as it is in NumPy"):
            x.transpose(0, 1)
