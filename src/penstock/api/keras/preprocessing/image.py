"""``tf.keras.preprocessing.image``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.preprocessing.image_files": "DirectoryIterator",
    "penstock.keras.preprocessing.iterators": "Iterator NumpyArrayIterator",
    "penstock.keras.preprocessing.generator": "ImageDataGenerator",
    "penstock.keras.preprocessing.images": "array_to_img img_to_array load_img save_img",
    "penstock.keras.preprocessing.augmentation": "apply_affine_transform apply_brightness_shift apply_channel_shift random_brightness "
                                                 "random_channel_shift random_rotation random_shear random_shift random_zoom",
}
publish(__name__, TABLE)
