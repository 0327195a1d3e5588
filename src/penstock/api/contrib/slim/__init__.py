"""``tf.contrib.slim``: argument scopes, layers, losses, metrics, training, evaluation, data and networks in one namespace."""
from __future__ import annotations

from penstock.api._table import publish
from penstock.api.contrib import framework, layers

HERE = "penstock.contrib.slim"
_SHARED = {
    **{module: framework.TABLE[module] for module in framework.TABLE if module.endswith((".arg_scope", ".variables", ".restoring"))},
    **{module: names for module, names in layers.TABLE.items() if not module.startswith("penstock.api")},
}
# slim has summaries of its own; those of layers are functions here.
_SHARED.pop("penstock.contrib.layers.summaries:")
TABLE: dict[str, str] = {
    **_SHARED,
    "penstock.api.contrib.layers:": "layers",
    "penstock.api.contrib.losses:": "losses",
    "penstock.api.contrib.metrics:": "metrics",
    f"{HERE}.evaluation:": "evaluation",
    f"{HERE}.learning:": "learning",
    f"{HERE}.model_analyzer:": "model_analyzer",
    f"{HERE}.queues:": "queues",
    f"{HERE}.summaries:": "summaries",
    f"{HERE}.data.data_decoder:": "data_decoder",
    f"{HERE}.data.data_provider:": "data_provider",
    f"{HERE}.data.dataset:": "dataset",
    f"{HERE}.data.dataset_data_provider:": "dataset_data_provider",
    f"{HERE}.data.parallel_reader:": "parallel_reader",
    f"{HERE}.data.prefetch_queue:": "prefetch_queue",
    f"{HERE}.data.tfexample_decoder:": "tfexample_decoder",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.slim:": "python slim data",
}
publish(__name__, TABLE, "nets")
