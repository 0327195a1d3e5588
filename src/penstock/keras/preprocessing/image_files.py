"""Batches of image files: of folders, each of which is a class, and of the rows of a table."""
from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from penstock.keras.preprocessing.images import img_to_array, load_img
from penstock.keras.preprocessing.iterators import Iterator, save_images, subset_rows
from penstock.layers import settings

_CHANNELS = {"grayscale": 1, "rgb": 3, "rgba": 4}


class FileIterator(Iterator):
    """What both share: images are read, changed at random, and given with the labels that ``class_mode`` asks for."""

    allowed_class_modes: set[Any] = {"categorical", "binary", "sparse", "input", None}
    image_data_generator: Any
    filepaths: list[str]
    class_mode: str | None
    num_classes: int
    classes: Any
    sample_weight: Any = None
    dtype: Any

    def set_processing_attrs(self, image_data_generator: Any, target_size: Any, color_mode: str, data_format: str | None, save_to_dir: str | None,
                             save_prefix: str, save_format: str, subset: str | None, interpolation: str) -> None:
        """Says how files are read, and where batches are saved."""
        if color_mode not in _CHANNELS:
            raise ValueError("Invalid color mode:", color_mode, '; expected "rgb", "rgba", or "grayscale".')
        self.image_data_generator, self.target_size, self.color_mode = image_data_generator, tuple(target_size), color_mode
        self.data_format, self.interpolation, self.subset = data_format or settings.image_data_format(), interpolation, subset
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        channels = _CHANNELS[color_mode]
        self.image_shape = (channels, *self.target_size) if self.data_format == "channels_first" else (*self.target_size, channels)

    def _check_class_mode(self, class_mode: str | None) -> None:
        if class_mode not in self.allowed_class_modes:
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {self.allowed_class_modes}")
        self.class_mode = class_mode

    @property
    def labels(self) -> Any:
        """The number of each file's class."""
        return self.classes

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        generator, made = self.image_data_generator, []
        for index in index_array:
            image = load_img(self.filepaths[index], color_mode=self.color_mode, target_size=self.target_size, interpolation=self.interpolation)
            array = img_to_array(image, self.data_format, self.dtype)
            made.append(generator.standardize(generator.apply_transform(array, generator.get_random_transform(array.shape))))
        batch = np.stack(made) if made else np.zeros((0, *self.image_shape), self.dtype)
        save_images(batch, self.save_to_dir, self.save_prefix, self.save_format, self.data_format, index_array)
        if self.class_mode is None:
            return batch
        targets = batch.copy() if self.class_mode == "input" else self._targets(index_array)
        return (batch, targets) if self.sample_weight is None else (batch, targets, self.sample_weight[index_array])

    def _targets(self, rows: Any) -> Any:
        """The labels of some files; a file may have several classes in categorical mode."""
        if self.class_mode != "categorical":
            return np.array([self.classes[row] for row in rows]).astype(self.dtype)
        hot = np.zeros((len(rows), self.num_classes), dtype=self.dtype)
        for place, row in enumerate(rows):
            hot[place, self.classes[row]] = 1
        return hot


class DirectoryIterator(FileIterator):
    """``tf.keras.preprocessing.image.DirectoryIterator``: batches of image files; each folder is a class."""

    def __init__(self, directory: str, image_data_generator: Any, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
                 class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
                 data_format: str | None = None, save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png",
                 follow_links: bool = False, subset: str | None = None, interpolation: str = "nearest", dtype: Any = None) -> None:
        self._check_class_mode(class_mode)
        self.set_processing_attrs(image_data_generator, target_size, color_mode, data_format, save_to_dir, save_prefix, save_format, subset,
                                  interpolation)
        self.directory, self.dtype = directory, dtype or settings.floatx()
        names = list(classes) if classes else sorted(name for name in os.listdir(directory) if os.path.isdir(os.path.join(directory, name)))
        self.class_indices = {name: index for index, name in enumerate(names)}
        self.num_classes = len(names)
        self.filenames, labels = [], []
        for name in names:
            files_of_class = sorted(os.path.relpath(os.path.join(folder, file), directory) for folder, _, files in
                                    os.walk(os.path.join(directory, name), followlinks=follow_links) for file in files
                                    if file.lower().rpartition(".")[2] in self.white_list_formats)
            files_of_class = files_of_class[subset_rows(len(files_of_class), image_data_generator._validation_split, subset)]
            self.filenames += files_of_class
            labels += [self.class_indices[name]] * len(files_of_class)
        self.classes = np.array(labels, "int32")
        self.filepaths = [os.path.join(directory, name) for name in self.filenames]
        self.samples = len(self.filenames)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        super().__init__(self.samples, batch_size, shuffle, seed)


class DataFrameIterator(FileIterator):
    """Batches of the image files that a table of pandas names, with labels or numbers of other columns."""

    allowed_class_modes = {"binary", "categorical", "input", "multi_output", "raw", "sparse", None}

    def __init__(self, dataframe: Any, directory: str | None, image_data_generator: Any, x_col: str, y_col: Any, weight_col: str | None,
                 target_size: Any, color_mode: str, classes: Any, class_mode: str | None, batch_size: int, shuffle: bool, seed: int | None,
                 data_format: str | None, save_to_dir: str | None, save_prefix: str, save_format: str, subset: str | None, interpolation: str,
                 dtype: Any, validate_filenames: bool) -> None:
        self._check_class_mode(class_mode)
        self.set_processing_attrs(image_data_generator, target_size, color_mode, data_format, save_to_dir, save_prefix, save_format, subset,
                                  interpolation)
        self.directory, self.dtype = directory or "", dtype or settings.floatx()
        self._check_columns(dataframe, x_col, y_col, weight_col, classes)
        table = self._with_files(dataframe, x_col) if validate_filenames else dataframe
        self._by_class = class_mode in ("binary", "categorical", "sparse")
        if self._by_class:
            table, names = self._of_classes(table, y_col, classes)
            self.num_classes, self.class_indices = len(names), {name: index for index, name in enumerate(names)}
        table = table.iloc[subset_rows(len(table), image_data_generator._validation_split, subset)]
        if self._by_class:
            self.classes = [[self.class_indices[each] for each in label] if isinstance(label, (list, tuple)) else self.class_indices[label]
                            for label in table[y_col]]
        elif class_mode == "multi_output":
            self._outputs: Any = [np.array(table[column].tolist()) for column in y_col]
        elif class_mode == "raw":
            self._outputs = table[y_col].values
        self.filenames = table[x_col].tolist()
        self.filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        self.sample_weight = None if weight_col is None else table[weight_col].values
        self.samples = len(self.filenames)
        kind = "validated" if validate_filenames else "non-validated"
        print(f"Found {self.samples} {kind} image filenames" + (f" belonging to {self.num_classes} classes." if self._by_class else "."))
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _check_columns(self, table: Any, x_col: str, y_col: Any, weight_col: str | None, classes: Any) -> None:
        if not all(isinstance(name, str) for name in table[x_col]):
            raise TypeError(f"All values in column x_col={x_col} must be strings.")
        labels = list(table[y_col]) if self.class_mode in ("binary", "categorical", "sparse") else []
        if self.class_mode in ("binary", "sparse") and not all(isinstance(label, str) for label in labels):
            raise TypeError(f'If class_mode="{self.class_mode}", y_col="{y_col}" column values must be strings.')
        if self.class_mode == "categorical" and not all(isinstance(label, (str, list, tuple)) for label in labels):
            raise TypeError(f'If class_mode="{self.class_mode}", y_col="{y_col}" column values must be type string, list or tuple.')
        if self.class_mode == "binary" and (count := len(set(classes or labels))) != 2:
            raise ValueError(f'If class_mode="binary" there must be 2 classes. Found {count} classes.')
        if self.class_mode == "multi_output" and not isinstance(y_col, (list, tuple)):
            raise TypeError(f'If class_mode="{self.class_mode}", y_col must be a list. Received {type(y_col).__name__}.')
        if weight_col and not np.issubdtype(np.asarray(table[weight_col]).dtype, np.number):
            raise TypeError(f"Column weight_col={weight_col} must be numeric.")

    def _with_files(self, table: Any, x_col: str) -> Any:
        """The rows whose files are there, and are images."""
        good = np.array([name.lower().rpartition(".")[2] in self.white_list_formats and os.path.isfile(os.path.join(self.directory, name))
                         for name in table[x_col]], dtype=bool)
        if not good.all():
            warnings.warn(f'Found {int((~good).sum())} invalid image filename(s) in x_col="{x_col}". These filename(s) will be ignored.')
        return table[good]

    @staticmethod
    def _of_classes(table: Any, y_col: str, classes: Any) -> tuple[Any, list[Any]]:
        """(the rows of the classes that were asked for, these classes); labels of others are taken out of lists."""
        if not classes:
            return table, sorted({each for label in table[y_col] for each in (label if isinstance(label, (list, tuple)) else [label])})
        kept = [[each for each in label if each in classes] if isinstance(label, (list, tuple)) else label if label in classes else None
                for label in table[y_col]]
        table = table[[bool(label) for label in kept]].copy()
        table[y_col] = [label for label in kept if label]
        return table, sorted(set(classes))

    def _targets(self, rows: Any) -> Any:
        if self.class_mode == "multi_output":
            return [output[rows] for output in self._outputs]
        return self._outputs[rows] if self.class_mode == "raw" else super()._targets(rows)
