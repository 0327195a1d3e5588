"""``tf.keras.applications``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.applications.densenet": "DenseNet121 DenseNet169 DenseNet201",
    "penstock.keras.applications.inception": "InceptionResNetV2 InceptionV3",
    "penstock.keras.applications.mobilenet": "MobileNet MobileNetV2",
    "penstock.keras.applications.nasnet": "NASNetLarge NASNetMobile",
    "penstock.keras.applications.resnet": "ResNet50 ResNet101 ResNet152 ResNet50V2 ResNet101V2 ResNet152V2",
    "penstock.keras.applications.vgg": "VGG16 VGG19",
    "penstock.keras.applications.xception": "Xception",
}
publish(__name__, TABLE, "densenet imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 nasnet resnet resnet50 resnet_v2 vgg16 "
        "vgg19 xception")
