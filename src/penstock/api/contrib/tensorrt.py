"""``tf.contrib.tensorrt``: names that say that there is no TensorRT."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {"penstock.api.explained": "calib_graph_to_infer_graph create_inference_graph"})
