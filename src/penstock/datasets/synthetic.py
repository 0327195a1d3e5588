"""``tf.contrib.learn.datasets``: circles and spirals, and data sets by name. Equal seeds give the points that TensorFlow gives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.datasets.csv_files import Dataset, load_boston, load_iris
from penstock.datasets.mnist import load_mnist
from penstock.datasets.text_datasets import load_dbpedia

_RADII: dict[str, Callable[..., np.ndarray]] = {
    "archimedes": lambda theta, exp_scale: theta, "bernoulli": lambda theta, exp_scale: np.exp(exp_scale * theta),
    "fermat": lambda theta, exp_scale: np.sqrt(theta)}


def circles(n_samples: int = 100, noise: float | None = None, seed: int | None = None, factor: float = 0.8, n_classes: int = 2, *args: Any,
            **kwargs: Any) -> Dataset:
    """Points on circles, one within the other; ``factor`` is the ratio of their radii."""
    if seed is not None:
        np.random.seed(seed)
    theta, extras = np.linspace(0, 2 * np.pi, n_samples // n_classes), n_samples % n_classes
    points = [factor ** label * np.array([np.cos(theta), np.sin(theta)]) for label in range(n_classes)]
    points.append(np.array([np.cos(np.random.rand(extras) * 2 * np.pi), np.sin(np.random.rand(extras) * 2 * np.pi)]))
    return _shuffle(points, n_samples, n_classes, noise)


def spirals(n_samples: int = 100, noise: float | None = None, seed: int | None = None, mode: str = "archimedes", n_loops: int = 2, *args: Any,
            **kwargs: Any) -> Dataset:
    """Points on two spirals, which turn by half a circle against each other."""
    if mode not in _RADII:
        raise ValueError(f"Cannot generate spiral with mode {mode}. There are {sorted(_RADII)}.")
    if seed is not None:
        np.random.seed(seed)

    def spiral(theta: np.ndarray, offset: float) -> np.ndarray:
        points = _RADII[mode](theta, kwargs.get("exp_scale", 0.1)) * np.array([np.cos(theta + offset), np.sin(theta + offset)])
        return points / np.max(np.abs(points), axis=1, keepdims=True)
    theta, extras = np.linspace(0, 2 * n_loops * np.pi, n_samples // 2), n_samples % 2
    points = [spiral(theta, label * np.pi) for label in range(2)]
    if extras:
        points.append(spiral(np.random.rand(extras) * 2 * np.pi, 0.0))
    return _shuffle(points, n_samples, 2, noise)


def _shuffle(points: list[np.ndarray], n_samples: int, n_classes: int, noise: float | None) -> Dataset:
    """The points of all classes in a random order. Those that are left over belong to class 0."""
    data = np.concatenate(points, axis=1).T
    labels = np.zeros(n_samples, np.int32)
    labels[:n_samples // n_classes * n_classes] = np.repeat(np.arange(n_classes), n_samples // n_classes)
    order = np.random.permutation(range(n_samples))
    if noise is not None:
        data = data + np.random.normal(scale=noise, size=data.shape)
    return Dataset(data[order], labels[order])


DATASETS: dict[str, Callable[..., Any]] = {"iris": load_iris, "boston": load_boston, "mnist": load_mnist, "dbpedia": load_dbpedia}
SYNTHETIC: dict[str, Callable[..., Dataset]] = {"circles": circles, "spirals": spirals}


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """``tf.contrib.learn.datasets.load_dataset``: a data set by name."""
    if name not in DATASETS:
        raise ValueError(f"Name of dataset is not found: {name}. There are {sorted(DATASETS)}.")
    return load_dbpedia(size, test_with_fake_data) if name == "dbpedia" else DATASETS[name]()


def make_dataset(name: str, n_samples: int = 100, noise: float | None = None, seed: int = 42, *args: Any, **kwargs: Any) -> Dataset:
    """``tf.contrib.learn.datasets.make_dataset``: made-up data by name."""
    if name not in SYNTHETIC:
        raise ValueError(f"Synthetic dataset not found or not implemeted: {name}. There are {sorted(SYNTHETIC)}.")
    return SYNTHETIC[name](*args, n_samples=n_samples, noise=noise, seed=seed, **kwargs)
