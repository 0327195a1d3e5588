"""Names that need hardware or software of others: they exist, and calling one says why it cannot work and what to do instead.

A module-level ``__getattr__``, so that the tables of namespaces refer to these names as to all others.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from penstock.errors import UnimplementedError

_QUEUES = "moves tensors between a host and the memory of a TPU, and there is none. Feed the values, or give TPUEstimator an input function"
_PLACES = "describes the cores of TPUs, and there are none. Leave it out: computations run on CPUs"
_EMBEDDINGS = ("describes an embedding table in the memory of TPUs, and there are none. tf.feature_column.embedding_column and the optimizers of "
               "tf.train work on CPUs")
_TENSORRT = "compiles graphs for NVIDIA GPUs by TensorRT, which Penstock does not use. Run the graph as it is: every step is compiled"
_COLLECTIVES = "is a collective operation, told from others by keys, and there are none. The strategies of tf.distribute reduce over devices"

_CLOUD = "talks to services of Google Cloud, for which Penstock has no client. Copy the files to a disk that every task sees, and read them there"
_PROFILER = "records a trace with TensorFlow's own profiler. tf.profiler.Profiler, tf.train.ProfilerHook and `penstock explain` measure steps"

_LITE = ("belongs to TensorFlow Lite, for which Penstock writes and reads no files. `penstock export MODEL` compiles a SavedModel or frozen graph "
         "to a library for phones, boards and browsers, with 8 bits by --quantize")

_FFMPEG = ("calls the program ffmpeg from inside a step, for which there is no operation. tf.audio.decode_wav and tf.audio.encode_wav read and write "
           "WAV files; `ffmpeg -i in.mp3 out.wav` makes them of others")

REASONS: dict[str, str] = {
    **dict.fromkeys(("Interpreter", "OpHint", "RepresentativeDataset", "TFLiteConverter", "TargetSpec", "TocoConverter", "toco_convert",
                     "convert_op_hints_to_stubs", "get_potentially_supported_ops", "load_delegate"), _LITE),
    **dict.fromkeys(("infeed_dequeue", "infeed_dequeue_tuple", "infeed_enqueue", "infeed_enqueue_tuple", "outfeed_dequeue", "outfeed_dequeue_tuple",
                     "outfeed_enqueue", "outfeed_enqueue_tuple", "InfeedQueue"), _QUEUES),
    **dict.fromkeys(("Topology", "DeviceAssignment", "device_assignment"), _PLACES),
    **dict.fromkeys(("AdagradParameters", "AdamParameters", "StochasticGradientDescentParameters", "EmbeddingConfigSpec", "embedding_column",
                     "shared_embedding_columns"), _EMBEDDINGS),
    **dict.fromkeys(("all_reduce", "broadcast_send", "broadcast_recv"), _COLLECTIVES),
    **dict.fromkeys(("decode_audio", "encode_audio", "decode_video"), _FFMPEG),
    **dict.fromkeys(("rpc", "try_rpc"), "calls a server of gRPC from inside a step, for which there is no operation. tf.py_func with grpcio does it"),
    "remote_fused_graph_execute": "runs a graph on a processor for signals (Hexagon), for which there is no code. `penstock export` compiles models "
                                  "for phones and boards",
    "keras_to_tpu_model": "makes a Keras model for TPUs, and there are none. Train the model itself",
    "TPUDistributionStrategy": "spreads a Keras model over TPUs, and there are none. tf.distribute.MirroredStrategy spreads it over CPUs",
    "TPUStrategy": "trains on TPUs, and there are none. tf.distribute.MirroredStrategy trains on CPUs",
    "initialize_tpu_system": "prepares TPUs, and there are none. Leave it out: computations run on CPUs",
    "create_db_writer": "writes summaries to an SQLite database, which TensorBoard does not read any more. create_file_writer writes event files",
    **dict.fromkeys(("BigQueryReader", "BlockCacheParams", "ConfigureColabSession", "ConfigureGcsHook", "configure_colab_session", "configure_gcs"),
                    _CLOUD),
    **dict.fromkeys(("start_profiler", "stop_profiler"), _PROFILER),
    "create_inference_graph": _TENSORRT, "calib_graph_to_infer_graph": _TENSORRT,
}

_CONVERTS = ("from_frozen_graph", "from_keras_model_file", "from_saved_model", "from_session")
METHODS: dict[str, tuple[str, ...]] = {"TFLiteConverter": _CONVERTS, "TocoConverter": _CONVERTS}  # of classes, which explain themselves too


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in REASONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnimplementedError(None, None, f"{name} {REASONS[name]}.")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not possible here: it {REASONS[name]}."
    for method in METHODS.get(name, ()):
        setattr(refuse, method, refuse)
    globals()[name] = refuse
    return refuse
