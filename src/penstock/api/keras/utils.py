"""``tf.keras.utils``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.utils.progbar": "Progbar",
    "penstock.keras.utils.data": "GeneratorEnqueuer OrderedEnqueuer Sequence SequenceEnqueuer",
    "penstock.keras.utils.arrays": "normalize to_categorical",
    "penstock.keras.utils.files": "get_file",
    "penstock.keras.tools.hdf5_matrix": "HDF5Matrix",
    "penstock.keras.tools.picture": "get_source_inputs model_to_dot plot_model",
    "penstock.keras.tools.replicas": "multi_gpu_model",
    "penstock.keras.tools.kernels": "convert_all_kernels_in_model",
    "penstock.layers.objects": "CustomObjectScope custom_object_scope get_custom_objects deserialize_keras_object=deserialize_object "
                               "serialize_keras_object=serialize_object",
}
publish(__name__, TABLE)
