"""Writes ``opdefs.txt.gz``: the signatures of all ops of TensorFlow 1.15, under which it runs.

    python3.7 tests/graph/data/record_opdefs.py

One JSON list per op: name, inputs, outputs, attributes, flags; an argument is [name, type], with types
as TensorFlow writes them in a signature; an attribute is [name, kind, default, allowed values, minimum]. Quantized types are left out.
"""
import gzip
import json
import os

QUANTIZED = ("qint8", "quint8", "qint16", "quint16", "qint32")


def type_name(number):
    """``float32`` for the number of a DataType."""
    import tensorflow as tf
    return tf.as_dtype(number).name


def argument(arg):
    """[name, type as in a signature]."""
    text = arg.type_attr or arg.type_list_attr or type_name(arg.type)
    text = arg.number_attr + " * " + text if arg.number_attr else text
    return [arg.name, f"Ref({text})" if arg.is_ref else text]


def plain(kind, value):
    """The Python value in an AttrValue of a known kind."""
    if kind.startswith("list("):
        field = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type", "shape": "shape"}[kind[5:-1]]
        return [one(kind[5:-1], item) for item in getattr(value.list, field)]
    return one(kind, getattr(value, {"int": "i", "float": "f", "bool": "b", "string": "s"}.get(kind, kind)))


def one(kind, item):
    """A single value in its JSON form."""
    if kind == "type":
        return type_name(item)
    if kind == "string":
        return item.decode("latin-1")
    if kind == "shape":
        return None if item.unknown_rank else [dim.size for dim in item.dim]
    return item.name if kind == "func" else "tensor" if kind == "tensor" else item


def attribute(attr):
    """[name, kind, [default] or None, allowed values or None, minimum or None]."""
    default = [plain(attr.type, attr.default_value)] if attr.HasField("default_value") else None
    allowed = None
    if attr.HasField("allowed_values"):
        values = attr.allowed_values.list
        allowed = [type_name(item) for item in values.type] or [item.decode() for item in values.s]
        allowed = sorted(set(allowed) - set(QUANTIZED))
    return [attr.name, attr.type, default, allowed, attr.minimum if attr.has_minimum else None]


def main():
    """The command."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from tensorflow.python.framework import op_def_registry
    known = op_def_registry.get_registered_ops()
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opdefs.txt.gz")
    with gzip.GzipFile(target, "wb", mtime=0) as data:
        for name in sorted(known):
            op = known[name]
            flags = [flag for flag in ("is_stateful", "is_commutative", "allows_uninitialized_input") if getattr(op, flag)]
            entry = [name, [argument(a) for a in op.input_arg], [argument(a) for a in op.output_arg], [attribute(a) for a in op.attr], flags]
            data.write(json.dumps(entry).encode() + b"\n")
    print(f"{len(known)} ops")


if __name__ == "__main__":
    main()
