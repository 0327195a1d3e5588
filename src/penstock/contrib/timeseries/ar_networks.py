"""What an autoregressive model predicts with: networks from a window of what was observed to a window of what is to come."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.keras.models import Model, Sequential
from penstock.layers.dense import Dense, Flatten
from penstock.rnn.fused import LSTMBlockFusedCell


class FlatPredictionModel(Model):
    """Both windows as one vector, through dense layers."""

    def __init__(self, num_features: int, input_window_size: int, output_window_size: int, hidden_layer_sizes: Any = None) -> None:
        super().__init__()
        self._input_flatten, self._output_flatten = Flatten(), Flatten()
        self._hidden_layers = Sequential([Dense(size, activation="relu") for size in hidden_layer_sizes]) if hidden_layer_sizes else None
        self._mean_transform = Dense(num_features * output_window_size, name="predicted_mean")
        self._covariance_transform = Dense(num_features * output_window_size, name="log_sigma_square")
        self._prediction_shape = [-1, output_window_size, num_features]

    def call(self, input_window_features: Any, output_window_features: Any) -> dict[str, Any]:
        """Mean and covariance of each time and feature to come."""
        parts = []
        if input_window_features.shape[1].value > 0:
            parts.append(self._input_flatten(input_window_features))
        if output_window_features.shape[2].value > 0:
            parts.append(self._output_flatten(output_window_features))
        hidden = tf.concat(parts, 1)
        if self._hidden_layers is not None:
            hidden = self._hidden_layers(hidden)
        mean = tf.reshape(self._mean_transform(hidden), self._prediction_shape)
        return {"mean": mean, "covariance": tf.reshape(tf.exp(self._covariance_transform(hidden)), self._prediction_shape)}


class LSTMPredictionModel(Model):
    """An LSTM that reads the window of what was observed, and one that writes the window of what is to come."""

    def __init__(self, num_features: int, input_window_size: int, output_window_size: int, num_units: int = 128) -> None:
        super().__init__()
        self._encoder = LSTMBlockFusedCell(num_units=num_units, name="encoder")
        self._decoder = LSTMBlockFusedCell(num_units=num_units, name="decoder")
        self._mean_transform = Dense(num_features, name="mean_transform")
        self._covariance_transform = Dense(num_features, name="covariance_transform")

    def call(self, input_window_features: Any, output_window_features: Any) -> dict[str, Any]:
        """Mean and covariance of each time and feature to come."""
        before, after = (tf.transpose(each, [1, 0, 2]) for each in (input_window_features, output_window_features))
        _, state = self._encoder(before, dtype=self.dtype or tf.float32)
        hidden, _ = self._decoder(after, initial_state=state, dtype=self.dtype or tf.float32)
        hidden = tf.transpose(hidden, [1, 0, 2])
        return {"mean": self._mean_transform(hidden), "covariance": tf.exp(self._covariance_transform(hidden))}
