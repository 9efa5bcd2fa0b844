"""Cut an image into parts by the spanning tree of its pixels (Felzenszwalb and Huttenlocher, 2004).

    python examples/segmentation.py [image file] [result.png]

Neighbours are joined by edges that weigh how much their colours differ, computed for the whole
image by agnesi.  In the order of weights, an edge joins two parts if it is no heavier than what is
inside both, plus ``SCALE`` over their sizes: Kruskal's algorithm, stopped where colours change.
"""

from __future__ import annotations

import sys

import numpy as np

import agnesi as ag
from agnesi import image as images

SCALE, LEAST = 2.0, 20


@ag.jit
def weights(picture: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor]:
    """How much each pixel differs from that to the right, and that below."""
    def length(off):
        return ag.sqrt(ag.sum(off * off, 0))

    return length(picture[:, :, 1:] - picture[:, :, :-1]), length(picture[:, 1:] - picture[:, :-1])


def edges(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends and weights of edges, the lightest first."""
    number = np.arange(picture[0].size).reshape(picture.shape[1:])
    across, down = (np.asarray(w) for w in weights(picture))
    first = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    second = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    weight = np.concatenate([across.ravel(), down.ravel()])
    order = np.argsort(weight, kind="stable")
    return first[order], second[order], weight[order]


class Parts:
    """Disjoint sets of pixels; each knows its size and the heaviest edge of its spanning tree."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))
        self.size = [1] * count
        self.heaviest = [0.0] * count

    def find(self, x: int) -> int:
        """The pixel that stands for a part."""
        while self.parent[x] != x:
            self.parent[x] = x = self.parent[self.parent[x]]
        return x

    def limit(self, part: int, scale: float) -> float:
        """The heaviest edge that may still leave a part."""
        return self.heaviest[part] + scale / self.size[part]

    def join(self, a: int, b: int, weight: float) -> None:
        """Make two parts one."""
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        self.heaviest[a] = max(self.heaviest[a], self.heaviest[b], weight)


def segment(picture: np.ndarray, scale: float = SCALE, least: int = LEAST) -> np.ndarray:
    """The number of each pixel's part, from 0; parts below ``least`` pixels join a neighbour."""
    first, second, weight = (v.tolist() for v in edges(picture))
    parts = Parts(picture[0].size)
    for small in (False, True):
        for a, b, w in zip(first, second, weight, strict=True):
            a, b = parts.find(a), parts.find(b)
            if a == b:
                continue
            if min(parts.size[a], parts.size[b]) < least if small else (
                    w <= min(parts.limit(a, scale), parts.limit(b, scale))):
                parts.join(a, b, w)
    roots = [parts.find(x) for x in range(picture[0].size)]
    return np.unique(roots, return_inverse=True)[1].reshape(picture.shape[1:])


def scene(side: int = 48, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two discs on a background, with noise, and which pixel belongs to what."""
    y, x = np.indices((side, side)) / side
    truth = np.where(np.hypot(y - 0.3, x - 0.3) < 0.2, 1, np.where(
        np.hypot(y - 0.65, x - 0.7) < 0.25, 2, 0))
    colours = np.array([[0.1, 0.2, 0.3], [0.9, 0.5, 0.1], [0.2, 0.8, 0.6]])
    noise = 0.03 * np.random.default_rng(seed).standard_normal((3, side, side))
    return (colours[truth].transpose(2, 0, 1) + noise).astype(np.float32), truth


def main(path: str | None = None, result: str | None = None) -> int:
    """Cut an image, or a made one; returns the number of parts."""
    if path is None:
        picture = scene()[0]
    else:
        from PIL import Image

        picture = np.moveaxis(np.asarray(Image.open(path).convert("RGB")), 2, 0) / np.float32(255)
    numbers = segment(picture)
    count = int(numbers.max()) + 1
    print(f"{count} parts of {', '.join(map(str, np.bincount(numbers.ravel()).tolist()))} pixels")
    if result is not None:
        means = np.stack([picture[:, numbers == k].mean(1) for k in range(count)])
        images.imshow(means[numbers].transpose(2, 0, 1), result)
    return count


if __name__ == "__main__":
    main(*sys.argv[1:])
