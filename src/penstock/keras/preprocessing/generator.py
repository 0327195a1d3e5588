"""ImageDataGenerator: batches of images that are changed at random, and normalised."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.keras.preprocessing.augmentation import apply_affine_transform, apply_brightness_shift, apply_channel_shift
from penstock.keras.preprocessing.image_files import DataFrameIterator, DirectoryIterator
from penstock.keras.preprocessing.iterators import NumpyArrayIterator
from penstock.layers import settings
from penstock.platform import logging


class ImageDataGenerator:
    """``tf.keras.preprocessing.image.ImageDataGenerator``."""

    def __init__(self, featurewise_center: bool = False, samplewise_center: bool = False, featurewise_std_normalization: bool = False,
                 samplewise_std_normalization: bool = False, zca_whitening: bool = False, zca_epsilon: float = 1e-6, rotation_range: float = 0,
                 width_shift_range: Any = 0.0, height_shift_range: Any = 0.0, brightness_range: Any = None, shear_range: float = 0.0,
                 zoom_range: Any = 0.0, channel_shift_range: float = 0.0, fill_mode: str = "nearest", cval: float = 0.0,
                 horizontal_flip: bool = False, vertical_flip: bool = False, rescale: float | None = None,
                 preprocessing_function: Callable[[Any], Any] | None = None, data_format: str | None = None, validation_split: float = 0.0,
                 dtype: Any = None) -> None:
        self.featurewise_center = featurewise_center or featurewise_std_normalization or zca_whitening  # these need it
        self.samplewise_center = samplewise_center or samplewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.featurewise_std_normalization = featurewise_std_normalization and not zca_whitening  # whitening has deviations of 1 already
        self.zca_whitening, self.zca_epsilon, self.rotation_range = zca_whitening, zca_epsilon, rotation_range
        self.width_shift_range, self.height_shift_range, self.brightness_range = width_shift_range, height_shift_range, brightness_range
        self.shear_range, self.channel_shift_range, self.fill_mode, self.cval = shear_range, channel_shift_range, fill_mode, cval
        self.horizontal_flip, self.vertical_flip, self.rescale = horizontal_flip, vertical_flip, rescale
        self.preprocessing_function, self.dtype = preprocessing_function, dtype or settings.floatx()
        self.data_format = data_format or settings.image_data_format()
        if self.data_format not in ("channels_last", "channels_first"):
            raise ValueError('`data_format` should be `"channels_last"` (channel after row and column) or `"channels_first"` (channel before row and '
                             f"column). Received: {data_format}")
        if np.ndim(zoom_range) and len(zoom_range) != 2:
            raise ValueError(f"`zoom_range` should be a float or a tuple or list of two floats. Received: {zoom_range}")
        if brightness_range is not None and np.size(brightness_range) != 2:
            raise ValueError(f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}")
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1.  Received: {validation_split}")
        self._validation_split = validation_split
        self.zoom_range = [1 - zoom_range, 1 + zoom_range] if np.ndim(zoom_range) == 0 else list(zoom_range)
        self.channel_axis, self.row_axis, self.col_axis = (0, 1, 2) if self.data_format == "channels_first" else (2, 0, 1)
        self.mean: Any = None
        self.std: Any = None
        self.principal_components: Any = None

    def flow(self, x: Any, y: Any = None, batch_size: int = 32, shuffle: bool = True, sample_weight: Any = None, seed: int | None = None,
             save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None) -> NumpyArrayIterator:
        """Batches of arrays."""
        return NumpyArrayIterator(x, y, self, batch_size, shuffle, sample_weight, seed, self.data_format, save_to_dir, save_prefix, save_format,
                                  subset, self.dtype)

    def flow_from_directory(self, directory: str, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
                            class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
                            save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", follow_links: bool = False,
                            subset: str | None = None, interpolation: str = "nearest") -> DirectoryIterator:
        """Batches of image files."""
        return DirectoryIterator(directory, self, target_size, color_mode, classes, class_mode, batch_size, shuffle, seed, self.data_format,
                                 save_to_dir, save_prefix, save_format, follow_links, subset, interpolation, self.dtype)

    def flow_from_dataframe(self, dataframe: Any, directory: str | None = None, x_col: str = "filename", y_col: Any = "class",
                            weight_col: str | None = None, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
                            class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
                            save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None,
                            interpolation: str = "nearest", validate_filenames: bool = True, **kwargs: Any) -> DataFrameIterator:
        """Batches of the image files that a column of a pandas table names."""
        if kwargs.pop("has_ext", True) is not True:
            raise ValueError("has_ext=False: the names of files must have their extensions.")
        if kwargs.pop("sort", None) is not None:
            logging.warning("sort has no effect any more: class labels are always sorted.")
        if class_mode == "other":
            logging.warning('`class_mode` "other" is deprecated, please use `class_mode` "raw".')
            class_mode = "raw"
        if kwargs.pop("drop_duplicates", False):
            dataframe = dataframe.drop_duplicates(x_col)
        if kwargs:
            raise TypeError(f"flow_from_dataframe() got unexpected keyword arguments: {sorted(kwargs)}")
        return DataFrameIterator(dataframe, directory, self, x_col, y_col, weight_col, target_size, color_mode, classes, class_mode, batch_size,
                                 shuffle, seed, self.data_format, save_to_dir, save_prefix, save_format, subset, interpolation, self.dtype,
                                 validate_filenames)

    def standardize(self, x: Any) -> Any:
        """An image, normalised as was asked for."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (np.std(x, keepdims=True) + 1e-6)
        if self.featurewise_center and self._is_fitted("featurewise_center", self.mean):
            x = x - self.mean
        if self.featurewise_std_normalization and self._is_fitted("featurewise_std_normalization", self.std):
            x = x / (self.std + 1e-6)
        if self.zca_whitening and self._is_fitted("zca_whitening", self.principal_components):
            x = (x.reshape(1, -1) @ self.principal_components).reshape(x.shape)
        return x

    def _is_fitted(self, what: str, statistics: Any) -> bool:
        """Whether ``fit`` has computed what a normalisation needs; a warning if not."""
        if statistics is None:
            logging.warning("This ImageDataGenerator specifies `%s`, but it hasn't been fit on any training data. Fit it first by calling "
                            "`.fit(numpy_data)`.", what)
        return statistics is not None

    def _shift(self, shift_range: Any, length: int) -> float:
        """Pixels to move by: one of a list or, for a whole number, of those below it, to either side; otherwise any up to a number."""
        if not np.size(shift_range) or not np.any(shift_range):
            return 0
        if np.ndim(shift_range) or isinstance(shift_range, (int, np.integer)):
            shift = np.random.choice(shift_range) * np.random.choice([-1, 1])
        else:
            shift = np.random.uniform(-shift_range, shift_range)
        return shift * length if np.max(shift_range) < 1 else shift

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """How an image is to be changed."""
        if seed is not None:
            np.random.seed(seed)
        theta = np.random.uniform(-self.rotation_range, self.rotation_range) if self.rotation_range else 0
        tx = self._shift(self.height_shift_range, img_shape[self.row_axis])
        ty = self._shift(self.width_shift_range, img_shape[self.col_axis])
        shear = np.random.uniform(-self.shear_range, self.shear_range) if self.shear_range else 0
        smallest, largest = self.zoom_range
        zx, zy = (1, 1) if smallest == 1 and largest == 1 else np.random.uniform(smallest, largest, 2)
        flips = [(np.random.random() < 0.5) * wanted for wanted in (self.horizontal_flip, self.vertical_flip)]
        shift = np.random.uniform(-self.channel_shift_range, self.channel_shift_range) if self.channel_shift_range else None
        return {"theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy, "flip_horizontal": flips[0], "flip_vertical": flips[1],
                "channel_shift_intensity": shift,
                "brightness": np.random.uniform(*self.brightness_range) if self.brightness_range is not None else None}

    def apply_transform(self, x: Any, transform_parameters: dict[str, Any]) -> np.ndarray:
        """An image, changed in the given way."""
        given = transform_parameters
        x = apply_affine_transform(x, given.get("theta", 0), given.get("tx", 0), given.get("ty", 0), given.get("shear", 0), given.get("zx", 1),
                                   given.get("zy", 1), row_axis=self.row_axis, col_axis=self.col_axis, channel_axis=self.channel_axis,
                                   fill_mode=self.fill_mode, cval=self.cval)
        if given.get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, given["channel_shift_intensity"], self.channel_axis)
        if given.get("flip_horizontal"):
            x = np.flip(x, self.col_axis)
        if given.get("flip_vertical"):
            x = np.flip(x, self.row_axis)
        return x if given.get("brightness") is None else apply_brightness_shift(x, given["brightness"])

    def random_transform(self, x: Any, seed: int | None = None) -> np.ndarray:
        """An image, changed at random."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Computes the statistics that normalisation over all images needs."""
        x = np.asarray(x, dtype=self.dtype)
        if x.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        if seed is not None:
            np.random.seed(seed)
        if augment:
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x])
        axes = (0, self.row_axis + 1, self.col_axis + 1)
        shape = [1, 1, 1]
        shape[self.channel_axis] = x.shape[self.channel_axis + 1]
        if self.featurewise_center:
            self.mean = np.mean(x, axis=axes).reshape(shape)
            x = x - self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(x, axis=axes).reshape(shape)
            x = x / (self.std + 1e-6)
        if self.zca_whitening:
            flat = x.reshape(len(x), -1)
            u, s, _ = np.linalg.svd(flat.T @ flat / len(flat))
            self.principal_components = (u * (1.0 / np.sqrt(s + self.zca_epsilon))) @ u.T
