"""``tf.contrib.tensorboard.plugins.projector``: embeddings in TensorBoard."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.projector": "EmbeddingInfo ProjectorConfig SpriteMetadata visualize_embeddings",
}
publish(__name__, TABLE)
