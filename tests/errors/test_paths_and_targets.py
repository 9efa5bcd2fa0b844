"""Files, devices and values that cannot be: what was wanted, what there is, and the user's line."""

import pytest

import agnesi as ag


def endless():
    nest = [1.0]
    nest.append(nest)
    return nest


def leaf():
    return ag.ones(3, requires_grad=True)


TARGET = "neither a dtype nor a device: dtypes are bool, .*devices are 'cpu' and.*'emulated'"


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: (leaf() * 2).backward("a"), ag.DTypeError, r"backward\(float32\[3\].*cannot make"),
    (lambda: (leaf() * 2).backward(ag.ones((3, 2))), ag.GradientError,
     r"cotangent is float32\[3, 2\], but the result is float32\[3\]"),
    (lambda: ag.ones(3).to("mars"), ag.DTypeError, f"to: 'mars' is {TARGET}"),
    (lambda: ag.nn.Linear(2, 2).to("mars"), ag.DTypeError, f"Linear.to: 'mars' is {TARGET}"),
    (lambda: ag.ones(3).to(device="mars"), ValueError, "one device, 'cpu', and not 'mars'"),
    (lambda: ag.asarray(endless()), ValueError, "a list contains itself.*: give one that"),
    (lambda: ag.save([ag.ones(2)], "/no/folder/x"), FileNotFoundError,
     r"'/no/folder/x' cannot be written: there is no folder '/no/folder'; .*makedirs"),
    (lambda: ag.saving.save_file({"a": ag.ones(2)}, "/"), IsADirectoryError, "name a file in it"),
    (lambda: ag.saving.load_file("/no/file"), FileNotFoundError, "'/no/file' cannot be read: No s"),
    (lambda: ag.load("/no/file"), FileNotFoundError, "'/no/file' cannot be read: No such"),
])
def test_what_cannot_be_is_told_with_what_there_is(call, error, text):
    with pytest.raises(error, match=f"{text}(.|\n)*\n  at {__file__}:"
                                    f"({call.__code__.co_firstlineno}|"
                                    f"{call.__code__.co_firstlineno + 1})$"):
        call()
