"""``tf.layers``: layers of neural networks, as functions and as classes."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.layers.scoped": "Layer",
    "penstock.layers.input_spec": "InputSpec",
    "penstock.layers.scoped_layers": "Dense Dropout Flatten BatchNormalization Conv1D Conv2D Conv3D Conv2DTranspose Conv3DTranspose SeparableConv1D "
                                     "SeparableConv2D AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D "
                                     "dense dropout flatten batch_normalization conv1d conv2d conv3d conv2d_transpose conv3d_transpose "
                                     "separable_conv1d separable_conv2d average_pooling1d average_pooling2d average_pooling3d max_pooling1d "
                                     "max_pooling2d max_pooling3d",
}
publish(__name__, TABLE, "experimental")
