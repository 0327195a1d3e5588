"""Printing: tensors as text, written when they are computed."""
from __future__ import annotations

import pprint
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, type_list
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.ops.common import like
from penstock.ops.flow.summarize import summarize as summary
from penstock.ops.flow.summarize import summarize_ends
from penstock.ops.text.files import file_error, path_of, text


@op("Print", "input: T, data: U -> output: T", T=TYPE, U=type_list(), message="", first_n=-1, summarize=3)
class PrintOp:
    """``input``; as a side effect, ``data`` is written to standard error."""

    stateful = aliases = watches = True
    shape = like("input")

    def kernel(input, data, ctx, message, first_n, summarize):
        if first_n < 0 or _count(ctx) <= first_n:
            sys.stderr.write(text(message).decode("utf-8", "replace") + "".join(f"[{summary(value, summarize)}]" for value in data) + "\n")
        return input

    def gradient(op, dy):
        return [dy] + [None] * (len(op.inputs) - 1)


def _count(ctx: Any) -> int:
    """How often this node has run in its session, this time included."""
    ctx.state["runs"] = ctx.state.get("runs", 0) + 1
    return ctx.state["runs"]


def Print(input_: Any, data: Any, message: str | None = None, first_n: int | None = None, summarize: int | None = None,
          name: str | None = None) -> Tensor:
    """``tf.Print``: ``input_``, with the side effect that ``data`` is written to standard error whenever it is computed."""
    return PrintOp(input_, list(data), message=message, first_n=first_n, summarize=summarize, name=name)


@op("StringFormat", "inputs: T -> output: string", T=type_list(), template="%s", placeholder="%s", summarize=3)
class StringFormat:
    """``template`` with each placeholder replaced by the text of a tensor."""

    gradient = None

    def shape(inputs, template, placeholder):
        placeholders = len(_pieces(template, placeholder)) - 1
        if placeholders != len(inputs):
            raise ValueError(f"num placeholders in template and num inputs must match: {placeholders} vs. {len(inputs)}")
        return []

    def kernel(inputs, template, placeholder, summarize):
        values = [summarize_ends(value, summarize).encode() for value in inputs]
        return np.asarray(b"".join(part for pair in zip(_pieces(template, placeholder), [*values, b""]) for part in pair), object)


def _pieces(template: str | bytes, placeholder: str | bytes) -> list[bytes]:
    """What stands around the placeholders."""
    return text(template).split(text(placeholder)) if placeholder else [text(template)]


def string_format(template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Tensor:
    """``tf.strings.format``: ``template`` with each ``placeholder`` replaced by the text of a tensor."""
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(f"{template.count(placeholder)} placeholder(s) in template does not match {len(inputs)} tensor(s) provided as input")
    return StringFormat(inputs, template=template, placeholder=placeholder, summarize=summarize, name=name)


@op("PrintV2", "input: string ->", output_stream="stderr", end="\n")
class PrintV2:
    """Writes a string to a stream or a file."""

    touches = lambda attrs: "" if attrs["output_stream"] in _STREAMS else "files"
    ranks = {"input": 0}
    stateful = True
    gradient = None

    def shape(output_stream):
        if output_stream not in _STREAMS and not text(output_stream).startswith(b"file://"):
            raise ValueError(f"Unknown output stream: {output_stream}, Valid streams are: {' '.join(_STREAMS)}")
        return []

    def kernel(input, output_stream, end):
        shown = (text(input) + text(end)).decode("utf-8", "replace")
        if _listeners:
            for listener in _listeners:
                listener(shown)
            return ()
        if output_stream in _STREAMS:
            stream = sys.stdout if output_stream == "stdout" else sys.stderr
            stream.write(shown)
            stream.flush()
            return ()
        path = path_of(text(output_stream)[len("file://"):])
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(shown)
        except OSError as error:
            raise file_error(error, path) from None
        return ()


_listeners: list[Callable[[str], object]] = []


def add_print_listener(listener: Callable[[str], object]) -> None:
    """From now on PrintV2 gives its lines to listeners, and writes none."""
    _listeners.append(listener)


_STREAMS = ("stdout", "stderr", "log(info)", "log(warning)", "log(error)")


def print_v2(*inputs: Any, **kwargs: Any) -> Any:
    """``tf.print``: an operation that writes its inputs (tensors, values, nests of both) to ``output_stream``, standard error if not given."""
    stream, end, summarize, sep, name = (kwargs.pop(key, default) for key, default in (
        ("output_stream", sys.stderr), ("end", "\n"), ("summarize", 3), ("sep", " "), ("name", None)))
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    if len(inputs) == 1 and isinstance(inputs[0], Tensor) and inputs[0].dtype.base_dtype is dt.string and inputs[0].shape.ndims == 0:
        text = inputs[0]
    else:
        tensors: list[Tensor] = []
        texts = [_template(value, tensors) for value in inputs]
        text = string_format(sep.join(texts), tensors, _Shown.mark, summarize, name=None if name is None else name + "_format")
    printed = PrintV2(text, output_stream=_stream_name(stream), end=end, name=name)
    return None if default_graph().imperative else printed


def _template(value: Any, tensors: list[Tensor]) -> str:
    marked = _with_marks(value, tensors)
    return marked if isinstance(marked, str) else pprint.pformat(marked)


class _Shown:
    """Stands for a tensor inside a nest that is formatted."""

    mark = "{_tensor_}"  # not likely to be part of what a program prints

    def __repr__(self) -> str:
        return self.mark


def _with_marks(value: Any, tensors: list[Tensor]) -> Any:
    """``value`` with its tensors moved to a list and replaced by marks."""
    if isinstance(value, SparseTensor):
        tensors += [value.indices, value.values, value.dense_shape]
        return f"SparseTensor(indices={_Shown.mark}, values={_Shown.mark}, shape={_Shown.mark})"
    if isinstance(value, dict):
        return {key: _with_marks(item, tensors) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_with_marks(item, tensors) for item in value]
    if isinstance(value, tuple):
        items = [_with_marks(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
        tensors.append(to_tensor(value))
        return _Shown()
    return value


def _stream_name(stream: Any) -> str:
    if stream is sys.stdout or stream is sys.stderr:
        return "stdout" if stream is sys.stdout else "stderr"
    if isinstance(stream, str) and (stream in _STREAMS or stream.startswith("file://")):
        return stream
    names = {"info": "log(info)", "warning": "log(warning)", "warn": "log(warning)", "error": "log(error)"}
    name = names.get(getattr(stream, "__name__", ""))
    if name is None:
        raise ValueError(f"Unsupported output stream, logging level, or file: {stream}. Supported are sys.stdout, sys.stderr, "
                         "tf.logging.info, tf.logging.warning, tf.logging.error and 'file://...'.")
    return name
