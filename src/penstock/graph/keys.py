"""GraphKeys: the names of the collections that the library itself fills and reads."""
from __future__ import annotations


class GraphKeys:
    """``tf.GraphKeys``: standard names of graph collections."""

    # variables, by who made them and what reads them
    GLOBAL_VARIABLES = "variables"  # shared between the tasks of a cluster, saved in checkpoints
    LOCAL_VARIABLES = "local_variables"  # of one process, not saved
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    CONCATENATED_VARIABLES = "concatenated_variables"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    _STREAMING_MODEL_PORTS = "streaming_model_ports"

    # what is run
    SUMMARIES = "summaries"
    _SUMMARY_COLLECTION = "_SUMMARY_V2"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    UPDATE_OPS = "update_ops"
    TRAIN_OP = "train_op"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    SAVERS = "savers"
    SAVEABLE_OBJECTS = "saveable_objects"

    # control flow
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"

    # names of the first releases
    VARIABLES = GLOBAL_VARIABLES
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"

    _VARIABLE_COLLECTIONS = [GLOBAL_VARIABLES, LOCAL_VARIABLES, METRIC_VARIABLES, MODEL_VARIABLES, TRAINABLE_VARIABLES,
                             MOVING_AVERAGE_VARIABLES, CONCATENATED_VARIABLES, TRAINABLE_RESOURCE_VARIABLES]
