"""``tf.keras.activations``: activation functions."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.layers.activations": "deserialize elu exponential get hard_sigmoid linear relu selu serialize sigmoid softmax softplus softsign tanh",
}
publish(__name__, TABLE)
