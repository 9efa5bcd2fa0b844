"""Images: round trips, turns, colours beside the standard library, filters beside SciPy, plots."""

from __future__ import annotations

import colorsys
import math
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.signal

import agnesi as ag
from agnesi import data, image

PICTURE = np.random.default_rng(0).random((3, 6, 5)).astype(np.float32)


def test_a_file_comes_back(tmp_path: Any) -> None:
    pixels = (PICTURE * 255).astype(np.uint8)
    data.write_image(pixels, tmp_path / "a.png")
    np.testing.assert_array_equal(data.read_image(tmp_path / "a.png").numpy(), pixels)


@pytest.mark.parametrize("shape", [(3, 6, 5), (1, 4, 4), (2, 1, 3)])
def test_four_quarter_turns_are_none(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random((shape[0], shape[1], shape[1]))
    turned = image.rotate(x, math.pi / 2)
    np.testing.assert_allclose(turned.numpy(), np.rot90(x, axes=(1, 2)), atol=1e-9)
    for _ in range(3):
        turned = image.rotate(turned, math.pi / 2)
    np.testing.assert_allclose(turned.numpy(), x, atol=1e-9)
    np.testing.assert_allclose(image.rotate(PICTURE, 0.0).numpy(), PICTURE, atol=1e-6)


def test_sizes() -> None:
    larger = image.scale(PICTURE, 11, 9)
    np.testing.assert_allclose(larger.numpy()[:, ::2, ::2], PICTURE, atol=1e-6)
    assert image.scale(PICTURE, 2, 7, "nearest").shape == (3, 2, 7)


def test_colours() -> None:
    for there, back in ((image.rgb_to_yuv, image.yuv_to_rgb), (image.rgb_to_hsv, image.hsv_to_rgb)):
        np.testing.assert_allclose(back(there(PICTURE)).numpy(), PICTURE, atol=1e-5)
        np.testing.assert_allclose(ag.jit(there)(PICTURE).numpy(), there(PICTURE).numpy(),
                                   atol=1e-6)
        ag.testing.check_grads(there, [PICTURE[:, :2, :2]], order=1)
    points = [(0, 0, 0), (1, 1, 1), (0.5, 0.5, 0.5), (1, 0, 0), (0.2, 0.9, 0.1), (0.3, 0.1, 0.8)]
    want = np.array([colorsys.rgb_to_hsv(*p) for p in points]).T[:, None]
    np.testing.assert_allclose(image.rgb_to_hsv(np.array(points).T[:, None]).numpy(), want,
                               atol=1e-6)
    np.testing.assert_allclose(image.rgb_to_grey(PICTURE)[0].numpy(),
                               image.rgb_to_yuv(PICTURE)[0].numpy(), rtol=1e-5)


@pytest.mark.parametrize("mode", ["same", "valid", "full"])
@pytest.mark.parametrize("size", [(3, 3), (2, 4)])
def test_filters(mode: str, size: tuple[int, int]) -> None:
    kernel = np.random.default_rng(1).random(size).astype(np.float32)
    want = np.stack([scipy.signal.convolve2d(p, kernel, mode) for p in PICTURE])
    np.testing.assert_allclose(image.convolve(PICTURE, kernel, mode).numpy(), want, rtol=1e-5)
    even = image.convolve(np.ones((1, 9, 9)), image.gaussian_kernel(3), "valid")
    np.testing.assert_allclose(even.numpy(), 1, rtol=1e-6)
    flat = image.convolve(np.ones((1, 9, 9)), image.laplacian_kernel(5), "valid")
    np.testing.assert_allclose(flat.numpy(), 0, atol=1e-5)


def test_errors_name_the_function() -> None:
    with pytest.raises(ag.ShapeError, match=r"rgb_to_hsv: an image is \(3, height, width\)"):
        image.rgb_to_hsv(PICTURE[:2])
    with pytest.raises(ag.ShapeError, match="scale: an image is"):
        image.scale(PICTURE[0], 2, 2)
    with pytest.raises(ag.ShapeError, match="a kernel is"):
        image.convolve(PICTURE, [1.0])
    with pytest.raises(ValueError, match="mode is 'same'"):
        image.convolve(PICTURE, [[1.0]], "some")


def test_plots_go_to_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    told: list[Any] = []

    class Axes:
        def __getattr__(self, name: str) -> Any:
            return lambda *args, **options: told.append((name, args, options))

    class Figure:
        def __init__(self, **options: Any) -> None:
            self.savefig = lambda path: told.append(Path(path).write_bytes(b"plot"))

        def add_subplot(self) -> Axes:
            return Axes()

    module: Any = types.ModuleType("matplotlib.figure")
    module.Figure = Figure
    monkeypatch.setitem(sys.modules, "matplotlib", types.ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", module)
    image.imshow(PICTURE, tmp_path / "a.png")
    assert told[0][1][0].shape == (6, 5, 3) and (tmp_path / "a.png").read_bytes() == b"plot"
    image.imshow(PICTURE[:1])
    assert told[-2][2] == {"cmap": "gray"} and told[-2][1][0].shape == (6, 5)
    image.hist(ag.ones(3, requires_grad=True), 4)
    assert told[-1][0] == "hist" and told[-1][1][1] == 4
    image.plot([1.0, 2.0], [[0.0, 1.0], [2.0, 3.0]])
    assert [len(t[1]) for t in told[-2:]] == [1, 2]
    with pytest.raises(ag.ShapeError, match="imshow"):
        image.imshow(PICTURE[:2])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"agnesi\[plot\]"):
        image.hist([1.0])


@pytest.mark.parametrize("kernel", [image.gaussian_kernel, image.laplacian_kernel])
def test_kernels_have_slopes_to_their_width(kernel):
    def made(width):
        return kernel(5, width, dtype="float64")

    value, slope = ag.jvp(made, (ag.tensor(0.4, "float64"),), (1.0,))
    assert np.allclose(slope, (made(0.4 + 1e-6) - made(0.4 - 1e-6)) / 2e-6, atol=1e-7)
    assert np.allclose(ag.jit(made)(0.4), value)


@pytest.mark.parametrize("draw", [image.plot, image.imshow, image.hist])
def test_only_numbers_are_drawn(draw):
    with pytest.raises(TypeError, match=r"only numbers are drawn, not .*; a file is path="):
        draw(["curve.png"])
    with pytest.raises(TypeError, match=r"only numbers are drawn, not .*; a file is path="):
        image.plot([1.0, 2.0], "curve.png")
