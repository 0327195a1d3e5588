"""Names that do less than TensorFlow's: {public name: what is missing}. What is said of a name holds for all that is below it.

``penstock coverage`` and the API reference show these sentences. Each refusal is an error of TensorFlow's class where it happens.
"""
from __future__ import annotations

_ON_CPUS = "there are no TPUs: it runs on CPUs"

PARTIAL = {
    "tf.load_op_library": "libraries of C++ operations cannot be loaded; tf.op makes one of Python and compiles it",
    "tf.load_library": "libraries of C++ operations cannot be loaded",
    "tf.load_file_system_library": "libraries of C++ file systems cannot be loaded",
    "tf.sysconfig.get_include": "there are no C++ headers to compile against",
    "tf.sysconfig.get_lib": "there are no C++ libraries to compile against",
    "tf.sysconfig.get_compile_flags": "there are no C++ headers to compile against",
    "tf.sysconfig.get_link_flags": "there are no C++ libraries to compile against",
    "tf.distribute.experimental.MultiWorkerMirroredStrategy": "one replica per worker",
    "tf.contrib.distribute.CollectiveAllReduceStrategy": "one replica per worker",
    "tf.contrib.cudnn_rnn": "computed by loops over products; no projections, no skip_input, and dropout draws numbers of its own",
    "tf.contrib.memory_stats": "tells of the process: CPUs have no allocator of their own",
    "tf.contrib.tpu": _ON_CPUS,
    "tf.estimator.tpu": _ON_CPUS,
    "tf.keras.layers.CuDNNGRU": "computed without CUDA",
    "tf.keras.layers.CuDNNLSTM": "computed without CUDA",
    "tf.keras.utils.multi_gpu_model": "the replicas run on CPUs where there is no GPU",
}
