"""``tensorflow.python.tools.freeze_graph``: a graph and the values of its variables as one GraphDef of constants."""
from __future__ import annotations

from typing import Any

from google.protobuf import text_format
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from tensorboard.compat.proto.saver_pb2 import SaverDef

from penstock.checkpoint.checkpoint_state import checkpoint_exists
from penstock.checkpoint.contents import new_checkpoint_reader
from penstock.graph.graph_def import import_graph_def
from penstock.graph.graph_util import convert_variables_to_constants
from penstock.platform import gfile
from penstock.saved_model import loader, tag_constants
from penstock.session.session import Session
from penstock.train.saver import Saver, import_meta_graph


def freeze_graph(input_graph: str, input_saver: str, input_binary: bool, input_checkpoint: str, output_node_names: str, restore_op_name: str,
                 filename_tensor_name: str, output_graph: str, clear_devices: bool, initializer_nodes: str, variable_names_whitelist: str = "",
                 variable_names_blacklist: str = "", input_meta_graph: str | None = None, input_saved_model_dir: str | None = None,
                 saved_model_tags: str = tag_constants.SERVING, checkpoint_version: int = SaverDef.V2) -> Any:
    """Reads a graph (or a meta graph, or a SavedModel) and a checkpoint, writes ``output_graph`` and returns it."""
    graph_def = meta_graph_def = None
    if input_saved_model_dir:
        graph_def = loader.SavedModelLoader(input_saved_model_dir).get_meta_graph_def_from_tags(saved_model_tags.split(",")).graph_def
    elif input_graph:
        graph_def = _read("graph", input_graph, GraphDef(), input_binary)
    if input_meta_graph:
        meta_graph_def = _read("meta graph", input_meta_graph, MetaGraphDef(), input_binary)
    saver_def = _read("saver", input_saver, SaverDef(), input_binary) if input_saver else None
    return freeze_graph_with_def_protos(graph_def, saver_def, input_checkpoint, output_node_names, restore_op_name, filename_tensor_name,
                                        output_graph, clear_devices, initializer_nodes, variable_names_whitelist, variable_names_blacklist,
                                        meta_graph_def, input_saved_model_dir, saved_model_tags.split(","), checkpoint_version)


def _read(what: str, path: str, message: Any, is_binary: bool) -> Any:
    if not gfile.Exists(path):
        raise OSError(f"Input {what} file '{path}' does not exist!")
    with gfile.GFile(path, "rb" if is_binary else "r") as file:
        if is_binary:
            message.ParseFromString(file.read())
        else:
            text_format.Merge(file.read(), message)
    return message


def freeze_graph_with_def_protos(input_graph_def: Any, input_saver_def: Any, input_checkpoint: str, output_node_names: str, restore_op_name: str,
                                 filename_tensor_name: str, output_graph: str, clear_devices: bool, initializer_nodes: str,
                                 variable_names_whitelist: str = "", variable_names_blacklist: str = "", input_meta_graph_def: Any = None,
                                 input_saved_model_dir: str | None = None, saved_model_tags: Any = None,
                                 checkpoint_version: int = SaverDef.V2) -> Any:
    """The same for protocol buffers that are read already. ``restore_op_name`` and ``filename_tensor_name`` are not used any more."""
    if not input_saved_model_dir and not checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    graph_def = input_meta_graph_def.graph_def if input_meta_graph_def else input_graph_def
    if clear_devices and graph_def:
        for node in graph_def.node:
            node.device = ""
    if input_graph_def and not input_saved_model_dir:  # which brings its graph
        import_graph_def(input_graph_def, name="")
    with Session() as session:
        if input_saver_def:
            Saver(saver_def=input_saver_def, write_version=checkpoint_version).restore(session, input_checkpoint)
        elif input_meta_graph_def:
            saver = import_meta_graph(input_meta_graph_def, clear_devices=True)
            assert saver is not None, "the meta graph has no saver"
            saver.restore(session, input_checkpoint)
        elif input_saved_model_dir:
            loader.load(session, saved_model_tags or [], input_saved_model_dir)
        else:
            _saver_of_contents(session, input_checkpoint, checkpoint_version).restore(session, input_checkpoint)
        if initializer_nodes and not input_saver_def and not input_saved_model_dir:
            session.run(_names(initializer_nodes))
        frozen = convert_variables_to_constants(session, graph_def, _names(output_node_names), _names(variable_names_whitelist) or None,
                                                _names(variable_names_blacklist) or None)
    if output_graph:
        with gfile.GFile(output_graph, "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen


def _names(text: str) -> list[str]:
    return text.replace(" ", "").split(",") if text else []


def _saver_of_contents(session: Session, checkpoint: str, version: int) -> Saver:
    """A Saver of the variables that are in the checkpoint and in the graph."""
    names = {tensor.name for operation in session.graph.get_operations() for tensor in operation.outputs}
    kept = {key: session.graph.get_tensor_by_name(f"{key}:0") for key in new_checkpoint_reader(checkpoint).get_variable_to_shape_map()
            if f"{key}:0" in names}
    operations = session.graph.get_operations()
    if any(f"{key}/part_" in name for key in kept for name in names):
        raise ValueError("Models containing partition variables cannot be converted from checkpoint files. Please pass in a SavedModel using the "
                         "flag --input_saved_model_dir.")
    if not any(operation.type.startswith("Variable") or operation.type.endswith("VariableOp") for operation in operations):
        raise ValueError("No variables were found in this model. It is likely the model was frozen previously. You cannot freeze a graph twice.")
    return Saver(var_list=kept, write_version=version)
