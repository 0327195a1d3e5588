"""The step that trains a board, seen from below: its graph, any of its operations with its value, and the kernels that it becomes."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.debug.explain import Explainer
from penstock.debug.picture import picture
from penstock.debug.values import corner
from penstock.debug.views import of_program
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation
from penstock.native import config
from penstock.playground.board import Board
from penstock.playground.program import FILE
from penstock.playground.settings import BadSettings
from penstock.program.ir import Node, Program
from penstock.session.session import Session

_RUNS = 50  # of a step whose kernels are timed


def graph(board: Board) -> dict[str, Any]:
    """The operations of a step with their places on a page, the scopes around them, and the edges between them."""
    return picture(of_program(_placed_program(board).nodes), lambda view: phase(view.name))


def phase(name: str) -> str:
    """Which part of a step an operation belongs to; the program names its optimizer ``train``."""
    return {"gradients": "gradient", "train": "update"}.get(name.split("/")[0], "forward")


def _placed_program(board: Board) -> Program:
    """The step with all of its operations, placeholders too, and the devices that they run on."""
    pipeline = board.session._backend.pipeline
    return pipeline.place(pipeline.prune([], [board.names.train], []), pipeline.environment.devices)


# --- one operation ---------------------------------------------------------------------------------------------------

def operation(board: Board, name: Any) -> dict[str, Any]:
    """What there is to know of an operation: its type, inputs, shapes, device, attributes, line, and its value for the last batch."""
    program = _placed_program(board)
    node = next((node for node in program.nodes if node.name == name), None)
    if node is None:
        raise BadSettings(f"the step has no operation {name!r}")
    (view,) = of_program([node])
    consumers = [each.name for each in program.nodes if node in each.before]
    return {"name": view.name, "type": view.op, "phase": phase(view.name), "device": view.device, "outputs": view.outputs, "attrs": view.attrs,
            "inputs": [*dict.fromkeys(source for source, _ in view.inputs)], "consumers": consumers, **_line(board, node), **_value(board, node)}


def _line(board: Board, node: Node) -> dict[str, Any]:
    """The innermost line of the program that made the operation; a gradient has that of ``minimize``."""
    lines = [line for file, line, _, _ in (node.origin.traceback if node.origin is not None else ()) if file == FILE]
    return {"line": lines[-1], "code": board.text.splitlines()[lines[-1] - 1].strip()} if lines else {"line": None, "code": ""}


def _value(board: Board, node: Node) -> dict[str, Any]:
    op = board.graph.get_operation_by_name(node.name)
    if phase(op.name) != "update":
        return _describe_op(board, op, "for the last batch" if board.step else "for all training points") if op.outputs else {"note": "has no output"}
    variables = {variable.op for variable in board.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
    updated = next((tensor.op for tensor in op.inputs if tensor.op in variables), None)
    if updated is None:
        return {"note": "to compute it would be to train: press Step"}
    return _describe_op(board, updated, f"of {updated.name}, which it updates")


def _describe_op(board: Board, op: Operation, note: str) -> dict[str, Any]:
    return {"note": note, **corner(np.asarray(board.session.run(op.outputs[0], board.step_feeds())))}


# --- kernels ---------------------------------------------------------------------------------------------------------

def kernels(board: Board) -> dict[str, Any]:
    """What the step becomes in the long run: each kernel with the operations that were fused into it, and its time, the slowest first.

    Measured in a session of its own, which waits for native code as ``penstock explain`` does. What only hands over a variable is left out.
    """
    mode = config.get_compiler()
    config.set_compiler("off" if mode == "off" else "eager")
    try:
        with Session(graph=board.graph) as session, Explainer() as explainer:
            session.run(board.initializer)
            for _ in range(_RUNS):
                session.run(board.names.train, board.step_feeds())
    finally:
        config.set_compiler(mode)
    report = max(explainer.reports(), key=lambda each: each.runs)
    why = {name: reason for name, _, reason in report.fallbacks}
    shown = sorted((each for each in report.kernels if each.bytes or each.flops), key=lambda each: -each.seconds)
    return {"runs": report.runs, "seconds": sum(each.seconds for each in shown), "arena": report.arena_bytes,
            "kernels": [{"name": each.name, "nodes": each.nodes, "seconds": each.seconds, "why": why.get(each.nodes[0], "")} for each in shown]}
