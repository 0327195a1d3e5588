"""What the recorder (under TensorFlow 1, Python 3.7) and the test (under Penstock) share: finding, running and storing cases."""
import hashlib
import json
import linecache
import os
import tokenize

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def families():
    """The names of the files in ``cases``."""
    found = (name[:-3] for name in os.listdir(os.path.join(HERE, "cases")) if name.endswith(".py") and not name.startswith("_"))
    return sorted(found)


def cases_of(family, tf, numpy):
    """The (name, function) pairs of a family."""
    path = os.path.join(HERE, "cases", family + ".py")
    with open(path) as source:
        text = source.read()
    namespace = {"__name__": "golden_cases_" + family, "__file__": path}
    exec(compile(text, path, "exec"), namespace)
    return list(namespace["cases"](tf, numpy))


def digest(function):
    """A hash of the source of a case: of its ``def``, or of the statement that its ``lambda`` stands in."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1:]
    text = _block(lines) if lines[0].lstrip().startswith("def ") else _statement(lines)
    return hashlib.sha256("\n".join(line.strip() for line in text).encode()).hexdigest()[:16]


def _block(lines):
    """The first line and those that are indented deeper."""
    margin = len(lines[0]) - len(lines[0].lstrip())
    end = next((i for i, line in enumerate(lines) if i and line.strip() and len(line) - len(line.lstrip()) <= margin), len(lines))
    return lines[:end]


def _statement(lines):
    """The lines up to the end of the statement that the first one belongs to."""
    depth = 0
    try:
        for token in tokenize.generate_tokens(iter(lines).__next__):
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            if token.type == tokenize.NEWLINE or depth < 0:
                return lines[:token.end[0]]
    except (tokenize.TokenError, StopIteration):
        return lines
    return lines


def run(tf, function):
    """Builds and runs a case: (entry for the table, flat list of values)."""
    with tf.Graph().as_default() as graph:
        try:
            built = function()
            elements = flatten(built)
            tensors = [tensor for element in elements for tensor in parts(element)]
            with tf.Session(graph=graph) as session:
                _initialize(tf, graph, session)
                values = [stored(value) for value in session.run([t for t in tensors if fetched(t)])]
        except Exception as error:
            return {"error": type(error).__name__, "message": str(error).split("\n")[0][:300]}, []
    values = iter(values)
    return {"outputs": [describe(t) for t in tensors], "structure": structure(built)}, [next(values) if fetched(t) else None for t in tensors]


def _initialize(tf, graph, session):
    if graph.get_collection("variables") or graph.get_collection("local_variables"):
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    if graph.get_collection("table_initializer"):
        session.run(tf.tables_initializer())


def flatten(built):
    """The tensors in a nest, dicts in the order of their keys; None and Python values are left out."""
    if isinstance(built, dict):
        return [item for key in sorted(built) for item in flatten(built[key])]
    if isinstance(built, (list, tuple)) and not hasattr(built, "dense_shape"):
        return [item for inner in built for item in flatten(inner)]
    return [built] if hasattr(built, "dtype") and hasattr(built, "graph") else []


def structure(built):
    """The nest with its leaves by kind: what is compared beside the tensors."""
    if isinstance(built, dict):
        return {str(key): structure(built[key]) for key in built}
    if isinstance(built, (list, tuple)) and not hasattr(built, "dense_shape"):
        return [structure(item) for item in built]
    if hasattr(built, "dense_shape"):
        return type(built).__name__
    if hasattr(built, "dtype") and hasattr(built, "graph"):
        return "tensor"
    if built is None or isinstance(built, (bool, int, float, str)):
        return [repr(built)]
    return str(built) if type(built).__name__ in ("TensorShape", "Dimension") else type(built).__name__


def parts(element):
    """The tensors of a SparseTensor or of IndexedSlices; anything else itself."""
    if hasattr(element, "dense_shape"):
        return [t for t in (element.indices, element.values, element.dense_shape) if t is not None]
    return [element]


def fetched(tensor):
    """True if the tensor has an array form."""
    return tensor.dtype.name.replace("_ref", "") not in ("resource", "variant")


def describe(tensor):
    """What is recorded of a tensor beside its value."""
    shape = tensor.shape.as_list() if tensor.shape.ndims is not None else None
    return {"dtype": tensor.dtype.name, "shape": shape, "name": tensor.name, "type": tensor.op.type}


def stored(value):
    """A value as an array that ``np.savez`` takes without pickling: strings as hexadecimal text, bfloat16 as float32."""
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "SU":
        flat = [(item if isinstance(item, bytes) else str(item).encode()).hex() for item in array.astype(object).ravel().tolist()]
        return np.array(flat, dtype="U").reshape(array.shape) if flat else np.zeros(array.shape, "U1")
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def restored(array):
    """What ``stored`` made of a value, with its strings as bytes again."""
    if array.dtype.kind != "U":
        return array
    result = np.empty(array.size, object)
    result[:] = [bytes.fromhex(text) for text in array.ravel().tolist()]
    return result.reshape(array.shape)


def read(path):
    """(table, arrays) of a file of recordings."""
    with np.load(path) as data:
        table = json.loads(bytes(data["__table__"].tobytes()).decode())
        return table, {key: data[key] for key in data.files if key != "__table__"}
