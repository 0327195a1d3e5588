"""Writes ``signatures.txt.gz``: what the public functions and methods of TensorFlow 1.15, under which it runs, are called with.

    python3.7 tests/api/data/record_signatures.py

One JSON list per function or class, and per public method: its name, and [argument, default] for each argument, in order. A default is written as
``repr`` has it, or by its name; an argument without one is [argument] alone. What TensorFlow itself hides behind ``*args`` is left out.
"""
import gzip
import inspect
import json
import os

NAMESPACES = """
app bitwise config data data.experimental debugging dtypes flags gfile graph_util image initializers io io.gfile
estimator estimator.experimental estimator.export estimator.inputs estimator.tpu feature_column keras.estimator
contrib.cluster_resolver contrib.estimator contrib.feature_column contrib.tpu
keras keras.activations keras.backend keras.callbacks keras.constraints keras.initializers keras.layers keras.losses keras.metrics keras.models
keras.optimizers keras.optimizers.schedules keras.regularizers keras.utils layers layers.experimental linalg logging losses metrics
raw_ops
lookup lookup.experimental manip math nest nn nn.rnn_cell profiler python_io quantization queue random resource_loader saved_model sets signal sparse
spectral strings summary sysconfig test train contrib.data contrib.legacy_seq2seq contrib.lookup contrib.rnn contrib.seq2seq contrib.staging
contrib.tfprof contrib.training
contrib.framework contrib.framework.nest contrib.layers contrib.slim contrib.slim.utils contrib.slim.learning contrib.slim.evaluation
contrib.slim.summaries contrib.slim.model_analyzer contrib.slim.queues contrib.slim.dataset contrib.slim.data_provider
contrib.slim.dataset_data_provider contrib.slim.parallel_reader contrib.slim.prefetch_queue contrib.slim.tfexample_decoder
distributions contrib.crf contrib.distributions contrib.distributions.bijectors contrib.graph_editor contrib.image contrib.integrate
contrib.losses contrib.losses.metric_learning contrib.memory_stats contrib.metrics contrib.mixed_precision contrib.opt
contrib.summary contrib.cudnn_rnn contrib.nn contrib.deprecated
contrib.learn contrib.learn.io contrib.learn.models contrib.learn.monitors contrib.learn.preprocessing contrib.learn.utils
contrib.checkpoint contrib.factorization contrib.linear_optimizer contrib.quantize
contrib.recurrent contrib.signal contrib.solvers contrib.sparsemax contrib.stateless contrib.util
keras.datasets.boston_housing keras.datasets.cifar10 keras.datasets.cifar100 keras.datasets.fashion_mnist keras.datasets.imdb keras.datasets.mnist
keras.datasets.reuters keras.experimental keras.mixed_precision.experimental keras.preprocessing.image keras.preprocessing.sequence
keras.preprocessing.text keras.wrappers.scikit_learn train.experimental
"""

LAYERS = ("build", "call")  # methods that others call, and whose arguments TensorFlow's own cells name differently


def default(value):
    """A default as text."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return repr(list(value))
    name = getattr(value, "name", getattr(value, "__name__", None))
    return name if isinstance(name, str) else type(value).__name__


def arguments(function):
    """[[argument, default], ...]; None if it is not known."""
    from tensorflow.python.util import tf_inspect
    try:
        spec = tf_inspect.getfullargspec(function)
    except TypeError:
        return None
    if spec.varargs or (spec.varkw and not spec.args):
        return None
    defaults = [(default(value),) for value in spec.defaults or ()]
    found = [[name] for name in spec.args[:len(spec.args) - len(defaults)]]
    found += [[name, value[0]] for name, value in zip(spec.args[len(spec.args) - len(defaults):], defaults)]
    bound = ("self", "cls", "_cls", "instance") if len(found) > 1 else ("self", "cls", "_cls")  # "instance": what decorators call it
    return found[1:] if found and found[0][0] in bound else found


def constructor(cls):
    """The function that gets the arguments of a call of a class."""
    return cls.__new__ if cls.__init__ is object.__init__ and cls.__new__ is not object.__new__ else cls.__init__


def members(name, value):
    """(name, arguments) of a function, or of a class and its methods."""
    if not inspect.isclass(value):
        yield name, arguments(value)
        return
    yield name, arguments(constructor(value))
    for key in dir(value):
        method = inspect.getattr_static(value, key)
        if not key.startswith("_") and key not in LAYERS and (inspect.isroutine(method) or isinstance(method, (classmethod, staticmethod))):
            yield name + "." + key, arguments(getattr(value, key))


def main():
    """Writes the file next to this one."""
    import tensorflow as tf
    found = {}
    for namespace in ["", *NAMESPACES.split()]:
        module, prefix = tf, "tf."
        for part in filter(None, namespace.split(".")):
            module, prefix = getattr(module, part), prefix + part + "."
        for name in dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and callable(value) and getattr(value, "__module__", "").startswith("tensorflow"):
                found.update(members(prefix + name, value))
    with gzip.GzipFile(os.path.join(os.path.dirname(os.path.abspath(__file__)), "signatures.txt.gz"), "wb", mtime=0) as file:
        file.write("".join(json.dumps([name, value]) + "\n" for name, value in sorted(found.items()) if value is not None).encode())


if __name__ == "__main__":
    main()
