"""The data sets of the playground: points of the plane between -6 and 6, and a label each.

Each function takes a ``RandomState``, the number of points and the noise (0 to 0.5), and uses nothing but NumPy: its source becomes a part of the
program that the page shows. Labels are 1 and -1 in problems of classification, and between the two in those of regression.
"""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
import numpy as np


def circle(rng, count, noise):
    """A disc inside of a ring."""
    radius = np.where(np.arange(count) < count // 2, rng.uniform(0, 2.5, count), rng.uniform(3.5, 5, count))
    angle = rng.uniform(0, 2 * np.pi, count)
    points = radius[:, None] * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    blurred = points + noise * rng.uniform(-5, 5, points.shape)
    return points, np.where(np.hypot(*blurred.T) < 2.5, 1, -1)


def xor(rng, count, noise):
    """Opposite quadrants have the same label."""
    points = rng.uniform(-5, 5, [count, 2])
    points += 0.3 * np.sign(points)
    blurred = points + noise * rng.uniform(-5, 5, points.shape)
    return points, np.where(blurred.prod(axis=1) >= 0, 1, -1)


def gauss(rng, count, noise):
    """Two clouds."""
    labels = np.where(np.arange(count) < count // 2, 1, -1)
    return 2 * labels[:, None] + rng.normal(0, np.sqrt(0.5 + 7 * noise), [count, 2]), labels


def spiral(rng, count, noise):
    """Two arms that wind around each other."""
    place = np.arange(count) // 2 / (count / 2)
    labels = np.where(np.arange(count) % 2, -1, 1)
    angle = 3.5 * np.pi * place + np.where(labels > 0, 0, np.pi)
    points = 5 * place[:, None] * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    return points + noise * rng.uniform(-1, 1, points.shape), labels


def plane(rng, count, noise):
    """A slope."""
    points = rng.uniform(-6, 6, [count, 2])
    blurred = points + noise * rng.uniform(-6, 6, points.shape)
    return points, np.clip(blurred.sum(axis=1) / 10, -1, 1)


def hills(rng, count, noise):
    """Three hills and three hollows."""
    centres = np.array([[-4, 2.5], [0, -2.5], [4, 2.5], [-4, -2.5], [0, 2.5], [4, -2.5]])
    signs = np.array([1, 1, 1, -1, -1, -1])
    points = rng.uniform(-6, 6, [count, 2])
    blurred = points + noise * rng.uniform(-6, 6, points.shape)
    distance = np.linalg.norm(blurred[:, None] - centres, axis=2)
    heights = signs * np.clip(1 - distance / 2, 0, 1)
    return points, heights[np.arange(count), np.abs(heights).argmax(axis=1)]


CLASSIFICATION = {function.__name__: function for function in (circle, xor, gauss, spiral)}
REGRESSION = {function.__name__: function for function in (plane, hills)}
