"""``tf.contrib.tensorboard.plugins.projector``: which embeddings TensorBoard's projector shows, and with which names."""
from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig, SpriteMetadata

from penstock.platform.gfile import GFile

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


def visualize_embeddings(summary_writer: Any, config: ProjectorConfig) -> None:
    """Writes the configuration beside the event files of ``summary_writer``, where TensorBoard looks for it."""
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    with GFile(os.path.join(folder, "projector_config.pbtxt"), "w") as file:
        file.write(text_format.MessageToString(config))
