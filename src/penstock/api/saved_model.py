"""``tf.saved_model``: models for serving."""
from __future__ import annotations

from penstock.api._table import publish

_LOADER = "load maybe_saved_model_directory contains_saved_model"
TABLE: dict[str, str] = {
    "penstock.saved_model.builder": "Builder simple_save",
    "penstock.saved_model.loader": _LOADER,
    "penstock.saved_model.main_op": "main_op_with_restore",
    "penstock.saved_model.signatures": "build_tensor_info get_tensor_from_tensor_info build_signature_def classification_signature_def "
                                       "predict_signature_def regression_signature_def is_valid_signature",
    "penstock.saved_model.constants": "ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY LEGACY_INIT_OP_KEY MAIN_OP_KEY SAVED_MODEL_FILENAME_PB "
                                      "SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY VARIABLES_FILENAME",
    "penstock.saved_model.signature_constants": "CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
                                                "DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS "
                                                "REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS",
    "penstock.saved_model.tag_constants": "SERVING TRAINING GPU TPU",
    # the modules of the first versions
    "penstock.saved_model.builder:": "builder",
    "penstock.saved_model.loader:": "loader",
    "penstock.saved_model.main_op:": "main_op",
    "penstock.saved_model.constants:": "constants",
    "penstock.saved_model.signature_constants:": "signature_constants",
    "penstock.saved_model.tag_constants:": "tag_constants",
    "penstock.saved_model.signatures:": "signature_def_utils utils",
}
publish(__name__, TABLE)
