"""ApiDefs: what of an op an API shows, and how: what follows from its OpDef, changed by texts (TensorFlow's ``api_def_*.pbtxt``)."""
from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from google.protobuf import text_format
from tensorboard.compat.proto.api_def_pb2 import ApiDef, ApiDefs
from tensorboard.compat.proto.op_def_pb2 import OpDef, OpList

from penstock.capi.entries import entry, kind
from penstock.capi.memory import from_buffer, new_buffer, read_bytes
from penstock.errors import FailedPreconditionError, InvalidArgumentError


@kind("TF_ApiDefMap*")
class ApiDefMap:
    """TF_ApiDefMap."""

    def __init__(self, ops: Iterable[OpDef]) -> None:
        self.defs = {each.name: _api_def(each) for each in ops}
        self.shown = False  # from then on nothing changes


def _api_def(op: OpDef) -> ApiDef:
    made = ApiDef(graph_op_name=op.name, visibility=ApiDef.VISIBLE, endpoint=[ApiDef.Endpoint(name=op.name)], summary=op.summary,
                  description=op.description, arg_order=[arg.name for arg in op.input_arg])
    for args, places in ((op.input_arg, made.in_arg), (op.output_arg, made.out_arg)):
        for arg in args:
            places.add(name=arg.name, rename_to=arg.name, description=arg.description)
    for attr in op.attr:
        place = made.attr.add(name=attr.name, rename_to=attr.name, description=attr.description)
        if attr.HasField("default_value"):
            place.default_value.CopyFrom(attr.default_value)
    return made


_MULTILINE = re.compile(r"^(\s*\w+:[ \t]*)<<(\w+)\n(.*?)^\2[ \t]*$", re.M | re.S)


def _plain_text(text: str) -> str:
    """Values that are written as ``<<END``, lines, ``END`` become strings."""
    return _MULTILINE.sub(lambda match: match[1] + json.dumps(match[3].removesuffix("\n"), ensure_ascii=False), text)


def _merge(base: ApiDef, change: ApiDef) -> None:
    """Changes ``base`` where ``change`` says something; nothing, if one of its names is unknown."""
    name = change.graph_op_name
    pairs = [(_known(label, each.name, places, name), each) for label, places, given in (
        ("Argument", base.in_arg, change.in_arg), ("Argument", base.out_arg, change.out_arg),
        ("Attribute", base.attr, change.attr)) for each in given]
    if change.arg_order and len(change.arg_order) != len(base.arg_order):
        raise FailedPreconditionError(None, None, f"Invalid number of arguments {len(change.arg_order)} for {name}. Expected: {len(base.arg_order)}")
    if sorted(change.arg_order) != sorted(base.arg_order) and change.arg_order:
        raise FailedPreconditionError(None, None, f"The order of arguments of {name} is not one of {', '.join(base.arg_order)}")
    base.visibility = change.visibility or base.visibility
    base.deprecation_message = change.deprecation_message or base.deprecation_message
    if change.endpoint:
        base.ClearField("endpoint")
        base.endpoint.extend(change.endpoint)
    for place, each in pairs:
        place.rename_to, place.description = each.rename_to or place.rename_to, each.description or place.description
        if isinstance(each, ApiDef.Attr) and each.HasField("default_value"):
            place.default_value.CopyFrom(each.default_value)
    if change.arg_order:
        base.arg_order[:] = change.arg_order
    base.summary, base.description = change.summary or base.summary, change.description or base.description
    around = (change.description_prefix, base.description, change.description_suffix)
    base.description = "\n".join(filter(None, around))


def _known(label: str, wanted: str, places: Iterable[Any], op: str) -> Any:
    place = next((each for each in places if each.name == wanted), None)
    if place is None:
        raise FailedPreconditionError(None, None, f"{label} {wanted} not defined in base api for {op}")
    return place


def _rename_in_texts(made: ApiDef) -> None:
    """Names that have others now get these where texts have them between backticks."""
    renamed = {each.name: each.rename_to for each in (*made.in_arg, *made.out_arg, *made.attr) if each.rename_to != each.name}
    if not renamed:
        return
    pattern = re.compile("`(" + "|".join(map(re.escape, renamed)) + ")`")

    def text(given: str) -> str:
        return pattern.sub(lambda match: f"`{renamed[match[1]]}`", given)

    made.summary, made.description = text(made.summary), text(made.description)
    for each in (*made.in_arg, *made.out_arg, *made.attr):
        each.description = text(each.description)


@entry
def TF_NewApiDefMap(op_list_buffer: Any) -> ApiDefMap:
    """Of the ops of an OpList."""
    try:
        ops: OpList = from_buffer(OpList, op_list_buffer)
    except InvalidArgumentError:
        raise InvalidArgumentError(None, None, "Unparseable OpList") from None
    return ApiDefMap(ops.op)


@entry
def TF_DeleteApiDefMap(apimap: ApiDefMap | None) -> None:
    """Nothing else is to be done."""


@entry
def TF_ApiDefMapPut(api_def_map: ApiDefMap, text: int | None, text_len: int) -> None:
    """Changes by a text; of ops that are not in the map, nothing. Not after the first look."""
    if api_def_map.shown:
        raise FailedPreconditionError(None, None, "TF_ApiDefMapPut cannot be called after TF_ApiDefMapGet has been called.")
    changes = ApiDefs()
    try:
        text_format.Parse(_plain_text(read_bytes(text, text_len).decode(errors="surrogateescape")), changes)
    except (text_format.ParseError, UnicodeError) as error:
        raise InvalidArgumentError(None, None, str(error)) from None
    for change in changes.op:
        if change.graph_op_name in api_def_map.defs:
            _merge(api_def_map.defs[change.graph_op_name], change)


@entry
def TF_ApiDefMapGet(api_def_map: ApiDefMap, name: int | None, name_len: int) -> int | None:
    """What the API shows of an op, in a new buffer; NULL if it is not in the map."""
    if not api_def_map.shown:
        api_def_map.shown = True
        for each in api_def_map.defs.values():
            _rename_in_texts(each)
    made = api_def_map.defs.get(read_bytes(name, name_len).decode(errors="surrogateescape"))
    return None if made is None else new_buffer(made.SerializeToString())
