"""Iterator and its kinds: batches of images from arrays and from folders."""
from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from penstock.keras.preprocessing.images import array_to_img, img_to_array, load_img
from penstock.keras.utils.data import Sequence
from penstock.layers import settings

_EXTENSIONS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")


class Iterator(Sequence):
    """``tf.keras.preprocessing.image.Iterator``: batches of ``n`` samples, by number or one after the other for ever."""

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
            self.batch_index = (self.batch_index + 1) % len(self)
            self.total_batches_seen += 1
        return self._get_batches_of_transformed_samples(rows)

    next = __next__

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        raise NotImplementedError


def _save(batch: Any, folder: str | None, prefix: str, file_format: str, data_format: str, rows: Any) -> None:
    if folder:
        for index, image in zip(rows, batch):
            array_to_img(image, data_format, scale=True).save(os.path.join(folder, f"{prefix}_{index}_{np.random.randint(10_000)}.{file_format}"))


class NumpyArrayIterator(Iterator):
    """``tf.keras.preprocessing.image.NumpyArrayIterator``: batches of arrays, each image changed at random."""

    def __init__(self, x: Any, y: Any, image_data_generator: Any, batch_size: int = 32, shuffle: bool = False, sample_weight: Any = None,
                 seed: int | None = None, data_format: str | None = None, save_to_dir: str | None = None, save_prefix: str = "",
                 save_format: str = "png", subset: str | None = None, dtype: Any = None) -> None:
        self.data_format, self.dtype = data_format or settings.image_data_format(), dtype or settings.floatx()
        rows = _subset_rows(len(x), image_data_generator._validation_split, subset)
        self.x = np.asarray(x, dtype=self.dtype)[rows]
        if self.x.ndim != 4:
            raise ValueError("Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape", self.x.shape)
        if y is not None and len(x) != len(y):
            raise ValueError("`x` (images tensor) and `y` (labels) should have the same length. "
                             f"Found: x.shape = {np.shape(x)}, y.shape = {np.shape(y)}")
        self.y = None if y is None else np.asarray(y)[rows]
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
        _save(batch, self.save_to_dir, self.save_prefix, self.save_format, self.data_format, index_array)
        if self.y is None:
            return batch
        return (batch, self.y[index_array]) if self.sample_weight is None else (batch, self.y[index_array], self.sample_weight[index_array])


def _subset_rows(count: int, share: float | None, subset: str | None) -> slice:
    """The first rows are held out for validation."""
    if subset is None:
        return slice(None)
    if subset not in ("training", "validation"):
        raise ValueError("Invalid subset name:", subset, '; expected "training" or "validation".')
    first = int(count * (share or 0))
    return slice(0, first) if subset == "validation" else slice(first, None)


class DirectoryIterator(Iterator):
    """``tf.keras.preprocessing.image.DirectoryIterator``: batches of image files; each folder is a class."""

    def __init__(self, directory: str, image_data_generator: Any, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
                 class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
                 data_format: str | None = None, save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png",
                 follow_links: bool = False, subset: str | None = None, interpolation: str = "nearest", dtype: Any = None) -> None:
        if class_mode not in ("categorical", "binary", "sparse", "input", None):
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: categorical, binary, sparse, input, None")
        self.directory, self.image_data_generator, self.target_size = directory, image_data_generator, tuple(target_size)
        self.color_mode, self.class_mode, self.interpolation = color_mode, class_mode, interpolation
        self.data_format, self.dtype = data_format or settings.image_data_format(), dtype or settings.floatx()
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        names = list(classes) if classes else sorted(name for name in os.listdir(directory) if os.path.isdir(os.path.join(directory, name)))
        self.class_indices = {name: index for index, name in enumerate(names)}
        self.num_classes = len(names)
        self.filenames, labels = [], []
        for name in names:
            files_of_class = sorted(os.path.relpath(os.path.join(folder, file), directory) for folder, _, files in
                                    os.walk(os.path.join(directory, name), followlinks=follow_links) for file in files
                                    if file.lower().rpartition(".")[2] in _EXTENSIONS)
            files_of_class = files_of_class[_subset_rows(len(files_of_class), image_data_generator._validation_split, subset)]
            self.filenames += files_of_class
            labels += [self.class_indices[name]] * len(files_of_class)
        self.classes = np.array(labels, "int32")
        self.filepaths = [os.path.join(directory, name) for name in self.filenames]
        self.samples = len(self.filenames)
        channels = {"grayscale": 1, "rgb": 3, "rgba": 4}[color_mode]
        self.image_shape = (channels, *self.target_size) if self.data_format == "channels_first" else (*self.target_size, channels)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        generator, made = self.image_data_generator, []
        for index in index_array:
            image = load_img(self.filepaths[index], color_mode=self.color_mode, target_size=self.target_size, interpolation=self.interpolation)
            array = img_to_array(image, self.data_format, self.dtype)
            made.append(generator.standardize(generator.apply_transform(array, generator.get_random_transform(array.shape))))
        batch = np.stack(made) if made else np.zeros((0, *self.image_shape), self.dtype)
        _save(batch, self.save_to_dir, self.save_prefix, self.save_format, self.data_format, index_array)
        labels = self.classes[index_array]
        if self.class_mode is None:
            return batch
        if self.class_mode == "input":
            return batch, batch.copy()
        if self.class_mode == "categorical":
            return batch, np.eye(self.num_classes, dtype=self.dtype)[labels]
        return batch, labels.astype(self.dtype)
