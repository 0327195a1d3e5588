"""Iterator: batches of images; and those of arrays."""
from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from penstock.keras.preprocessing.images import array_to_img
from penstock.keras.utils.data import Sequence
from penstock.layers import settings


class Iterator(Sequence):
    """``tf.keras.preprocessing.image.Iterator``: batches of ``n`` samples, by number or one after the other forever."""

    white_list_formats = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Any = None

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def __len__(self) -> int:
        return (self.n + self.batch_size - 1) // self.batch_size

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise ValueError(f"Asked to retrieve element {index}, but the Sequence has length {len(self)}")
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        return self._get_batches_of_transformed_samples(self.index_array[self.batch_size * index:self.batch_size * (index + 1)])

    def on_epoch_end(self) -> None:
        """Shuffles."""
        self._set_index_array()

    def reset(self) -> None:
        """Begins again."""
        self.batch_index = 0

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        with self.lock:
            if self.seed is not None:
                np.random.seed(self.seed + self.total_batches_seen)
            if self.batch_index == 0:
                self._set_index_array()
            rows = self.index_array[self.batch_size * self.batch_index:self.batch_size * (self.batch_index + 1)]
            self.batch_index = (self.batch_index + 1) % max(1, len(self))
            self.total_batches_seen += 1
        return self._get_batches_of_transformed_samples(rows)

    next = __next__

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        raise NotImplementedError


def save_images(batch: Any, folder: str | None, prefix: str, file_format: str, data_format: str, rows: Any) -> None:
    """Writes the images of a batch to a folder, if there is one."""
    if folder:
        for index, image in zip(rows, batch):
            array_to_img(image, data_format, scale=True).save(os.path.join(folder, f"{prefix}_{index}_{np.random.randint(10_000)}.{file_format}"))


class NumpyArrayIterator(Iterator):
    """``tf.keras.preprocessing.image.NumpyArrayIterator``: batches of arrays, each image changed at random."""

    def __init__(self, x: Any, y: Any, image_data_generator: Any, batch_size: int = 32, shuffle: bool = False, sample_weight: Any = None,
                 seed: int | None = None, data_format: str | None = None, save_to_dir: str | None = None, save_prefix: str = "",
                 save_format: str = "png", subset: str | None = None, dtype: Any = None) -> None:
        self.data_format, self.dtype = data_format or settings.image_data_format(), dtype or settings.floatx()
        x, misc = _images_and_others(x)
        rows = subset_rows(len(x), image_data_generator._validation_split, subset)
        self.x_misc = [each[rows] for each in misc]
        self.x = np.asarray(x, dtype=self.dtype)[rows]
        if self.x.ndim != 4:
            raise ValueError("Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape", self.x.shape)
        if y is not None and len(x) != len(y):
            raise ValueError("`x` (images tensor) and `y` (labels) should have the same length. "
                             f"Found: x.shape = {np.shape(x)}, y.shape = {np.shape(y)}")
        if sample_weight is not None and len(x) != len(sample_weight):
            raise ValueError("`x` (images tensor) and `sample_weight` should have the same length. "
                             f"Found: x.shape = {np.shape(x)}, sample_weight.shape = {np.shape(sample_weight)}")
        self.y = None if y is None else np.asarray(y)[rows]
        if subset is not None and self.y is not None and not np.array_equal(np.unique(self.y), np.unique(np.delete(np.asarray(y), rows, 0))):
            raise ValueError("Training and validation subsets have different number of classes after the split. If your numpy arrays are sorted by "
                             "the label, you might want to shuffle them.")
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        self.image_data_generator = image_data_generator
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        generator = self.image_data_generator
        made = []
        for index in index_array:
            parameters = generator.get_random_transform(self.x.shape[1:])
            made.append(generator.standardize(generator.apply_transform(self.x[index].astype(self.dtype), parameters)))
        batch = np.stack(made) if made else np.zeros((0, *self.x.shape[1:]), self.dtype)
        save_images(batch, self.save_to_dir, self.save_prefix, self.save_format, self.data_format, index_array)
        inputs = [batch, *(each[index_array] for each in self.x_misc)] if self.x_misc else batch
        if self.y is None:
            return inputs
        return (inputs, self.y[index_array]) if self.sample_weight is None else (inputs, self.y[index_array], self.sample_weight[index_array])


def _images_and_others(x: Any) -> tuple[Any, list[np.ndarray]]:
    """(images, further inputs of a model that are given with them as they are): a pair has one or several of these behind the images."""
    if not isinstance(x, (tuple, list)) or not len(x) or np.ndim(x[0]) != 4:
        return x, []
    if len(x) != 2:
        raise ValueError(f"`x` should be an array of images, or a pair of it and an array or a list of arrays. Received {len(x)} parts.")
    others = [np.asarray(each) for each in (x[1] if isinstance(x[1], list) else [x[1]])]
    for each in others:
        if len(each) != len(x[0]):
            raise ValueError(f"All of the arrays in `x` should have the same length. Found a pair with: len(x[0]) = {len(x[0])}, "
                             f"len(x[?]) = {len(each)}")
    return x[0], others


def subset_rows(count: int, share: float | None, subset: str | None) -> slice:
    """The first rows are held out for validation."""
    if subset is None:
        return slice(None)
    if subset not in ("training", "validation"):
        raise ValueError("Invalid subset name:", subset, '; expected "training" or "validation".')
    first = int(count * (share or 0))
    return slice(0, first) if subset == "validation" else slice(first, None)
