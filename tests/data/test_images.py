"""Images through Pillow, for which a stand-in of three lines a function is put here."""

import struct
import sys
import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import data


class Picture:
    """What this test needs of Pillow's images: their pixels lie in a file of NumPy's."""

    format, mode = None, "RGB"

    def __init__(self, pixels):
        self.pixels = pixels

    def convert(self, mode):
        grey = self.pixels if self.pixels.ndim == 2 else self.pixels[..., 0]
        return Picture(grey if mode == "L" else np.stack([grey] * 3, -1))

    def resize(self, size, how):
        assert how == "bilinear"
        rows, columns = (
            np.arange(n) * m // n for n, m in zip(size[::-1], self.pixels.shape, strict=False)
        )
        return Picture(self.pixels[rows][:, columns])

    def __array__(self, dtype=None, copy=None):
        return self.pixels

    def save(self, path):
        with open(path, "wb") as file:
            np.save(file, self.pixels)


@pytest.fixture(autouse=True)
def pillow(monkeypatch):
    image = types.ModuleType("PIL.Image")
    image.open = lambda file: Picture(np.load(file))
    image.fromarray, image.Resampling = Picture, types.SimpleNamespace(BILINEAR="bilinear")
    image.DecompressionBombError = ArithmeticError
    package = types.ModuleType("PIL")
    package.Image = image
    monkeypatch.setitem(sys.modules, "PIL", package)
    monkeypatch.setitem(sys.modules, "PIL.Image", image)


def test_images_are_written_and_read(tmp_path):
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    data.write_image(grey, tmp_path / "a.png")
    found = data.read_image(tmp_path / "a.png")
    assert found.shape == (3, 3, 4) and found.dtype == ag.uint8
    assert (found.numpy() == grey).all()
    assert data.read_image(tmp_path / "a.png", "L", size=(6, 2)).shape == (1, 6, 2)
    data.write_image(ag.tensor([[[0.0, 0.5, 2.0]]]), tmp_path / "b.png")
    assert data.read_image(tmp_path / "b.png", "L").tolist() == [[[0, 128, 255]]]
    data.write_image(np.zeros((3, 2, 5), np.uint8), tmp_path / "c.png")
    assert data.read_image(tmp_path / "c.png").shape == (3, 2, 5)
    with pytest.raises(ag.ShapeError, match=r"float64\[2, 2, 2\]"):
        data.write_image(np.zeros((2, 2, 2)), tmp_path / "d.png")
    (tmp_path / "e.png").write_bytes(b"no image")
    with pytest.raises(ag.FileFormatError, match=r"e\.png is no image"):
        data.read_image(tmp_path / "e.png")
    with pytest.raises(FileNotFoundError):
        data.read_image(tmp_path / "f.png")


def test_folders_are_classes(tmp_path, monkeypatch):
    for k, name in enumerate(["cat/1.png", "cat/inner/2.JPG", "dog/3.png", "dog/notes.txt"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data.write_image(np.full((4 + k, 5), 51 * k, np.uint8), path)
    pets = data.ImageFolder(tmp_path, size=(4, 4))
    assert " images of " in repr(pets)
    assert pets.classes == ["cat", "dog"] and len(pets) == 3
    x, y = next(iter(data.DataLoader(pets, batch_size=3)))
    assert x.shape == (3, 3, 4, 4) and x.dtype == ag.float32 and y.tolist() == [0, 0, 1]
    np.testing.assert_allclose(x.numpy()[:, 0, 0, 0], [0, 0.2, 0.4], rtol=1e-6)
    with pytest.raises(FileNotFoundError, match="no images in folders of"):
        data.ImageFolder(tmp_path / "cat" / "inner")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"agnesi\[data\]"):
        pets[0]


def test_pixels_of_more_bits_keep_their_values_or_their_upper_bits(tmp_path, monkeypatch):
    monkeypatch.undo()  # this one asks Pillow itself
    from PIL import Image

    wide = np.array([[0, 300], [1000, 65535]], np.uint16)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    assert data.read_image(tmp_path / "wide.png", "L").tolist() == [[[0, 1], [3, 255]]]
    assert data.read_image(tmp_path / "wide.png").shape == (3, 2, 2)
    kept = data.read_image(tmp_path / "wide.png", "I")
    assert kept.dtype == ag.int32 and kept.tolist() == [wide.tolist()]
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1)
    with pytest.raises(ag.FileFormatError, match="exceeds limit"):  # of a header that claims more
        data.read_image(tmp_path / "wide.png")
    monkeypatch.undo()
    Image.fromarray(np.array([[0.5, 300.0]], np.float32)).save(tmp_path / "real.tiff")
    assert data.read_image(tmp_path / "real.tiff", "F").tolist() == [[[0.5, 300.0]]]
    with pytest.raises(ValueError, match=r"^read_image: \S+real.tiff has pixels of 32 bits: "):
        data.read_image(tmp_path / "real.tiff")


def test_headers_that_claim_too_much_are_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.undo()  # this one asks Pillow itself
    pytest.importorskip("PIL.Image")
    # A GIF of 3 kB took half a gigabyte and seconds; an honest file of one colour is read.
    path = tmp_path / "x.gif"
    data.write_image(ag.zeros((40, 50)), path)
    content = bytearray(path.read_bytes())
    content[6:10] = struct.pack("<HH", 9000, 9000)
    path.write_bytes(content)
    with pytest.raises(ag.FileFormatError, match="claims 9000 x 9000 pixels"):
        data.read_image(path)
    for ending in ("png", "gif"):
        data.write_image(ag.zeros((2500, 2500)), tmp_path / f"plain.{ending}")
        assert data.read_image(tmp_path / f"plain.{ending}", "L").shape == (1, 2500, 2500)
