"""``tf.contrib.slim.nets``: networks for the classification of images."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.slim.nets"
TABLE: dict[str, str] = {
    f"{HERE}.classifiers:": "alexnet overfeat vgg",
    f"{HERE}.inception:": "inception",
    f"{HERE}.inception_v1:": "inception_v1",
    f"{HERE}.inception_v2:": "inception_v2",
    f"{HERE}.inception_v3:": "inception_v3",
    f"{HERE}.resnet_utils:": "resnet_utils",
    f"{HERE}.resnet_v1:": "resnet_v1",
    f"{HERE}.resnet_v2:": "resnet_v2",
}
publish(__name__, TABLE)
