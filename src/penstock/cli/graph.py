"""``penstock graph FILE|PROGRAM``: draws a graph, and prints it at each stage on its way to the executor."""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.config_pb2 import ConfigProto, RunMetadata

from penstock.cli.graph_sources import WatchedStep, read_graph, run_program
from penstock.cli.run import main as run_main
from penstock.debug.drawing import draw
from penstock.debug.printing import print_nodes
from penstock.debug.stages import STAGES, StageGraph, stages
from penstock.debug.views import add_costs, of_graph_def
from penstock.errors import OpError
from penstock.graph.graph import Graph, default_graph
from penstock.graph.graph_def import import_graph_def
from penstock.graph.node import Operation, Tensor
from penstock.program import ir
from penstock.program.devices import host_kind
from penstock.session.local import LocalBackend
from penstock.train.meta_graph import parse_binary_or_text

_DESCRIPTION = """Draw a graph as SVG, and print it at each stage between the program and the executor: built, pruned, placed, optimised,
partitioned, planned. Of a program, the step with the most nodes is shown, unless --fetch or --step names another."""


def main(argv: list[str]) -> int:
    """Runs the command; the exit code is 1 if there is no graph."""
    options = _parse(argv)
    try:
        is_program = options.source.endswith((".py", ".ipynb"))
        for stage in _of_program(options) if is_program else _of_file(options):
            if stage.name in options.stages:
                print(f"--- {stage.name}: {stage.summary}\n{stage.text}\n" if not options.quiet else f"{stage.name}: {stage.summary}")
            if stage.name == options.draw:
                _write(stage, options)
    except (OSError, ValueError, KeyError, LookupError, OpError, DecodeError) as error:
        print(f"penstock graph: {error}", file=sys.stderr)
        return 1
    return 0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="penstock graph", description=_DESCRIPTION, epilog="What stands behind a program goes to the program.")
    parser.add_argument("--svg", metavar="PATH", help="where the image goes (default: graph.svg)", default="graph.svg")
    parser.add_argument("--draw", choices=STAGES, default="built", help="the stage that is drawn (default: built)")
    parser.add_argument("--stages", default=",".join(STAGES), help="the stages that are printed, with commas between them (default: all)")
    parser.add_argument("--quiet", action="store_true", help="print one line per stage, not all nodes")
    parser.add_argument("--fetch", action="append", default=[], metavar="NAME", help="a tensor or operation to compute (default: the ends)")
    parser.add_argument("--feed", action="append", default=[], metavar="NAME", help="a tensor that is fed (default: the placeholders)")
    parser.add_argument("--step", type=int, metavar="N", help="of a program: its N-th different step")
    parser.add_argument("--runs", type=int, metavar="N", help="stop the program after N steps")
    parser.add_argument("--trace", action="store_true", help="of a program: measure what each node costs")
    parser.add_argument("--metadata", metavar="PATH", help="a RunMetadata with the costs of a traced step")
    parser.add_argument("--depth", type=int, metavar="N", help="fold scopes that are more than N levels deep (default: as the image needs)")
    parser.add_argument("--devices", type=int, default=1, metavar="N", help="how many CPU devices there are, for a file (default: 1)")
    parser.add_argument("source", metavar="FILE|PROGRAM", help="a GraphDef (.pb, .pbtxt), a .meta file, a SavedModel, an event file; or a program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="of the program")
    options = parser.parse_args(argv)
    options.stages = options.stages.split(",")
    unknown = set(options.stages) - {*STAGES, ""}
    if unknown:
        parser.error(f"no such stage: {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    return options


def _write(stage: StageGraph, options: argparse.Namespace) -> None:
    metadata = options.costs
    if options.metadata:
        with open(options.metadata, "rb") as file:
            metadata = parse_binary_or_text(file.read(), RunMetadata, options.metadata)
    if metadata is not None:
        add_costs(stage.nodes, metadata)
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write(draw(stage.nodes, f"{os.path.basename(options.source.rstrip('/'))}, {stage.name}", options.depth))
    print(f"{options.svg}: {stage.name}, {stage.summary}", file=sys.stderr)


# --- files -----------------------------------------------------------------------------------------------------------

def _of_file(options: argparse.Namespace) -> Iterator[StageGraph]:
    """A graph with unknown operations can be drawn, but goes no further."""
    source = read_graph(options.source)
    options.costs = source.metadata
    graph = Graph()
    try:
        with graph.as_default():
            import_graph_def(source.graph_def, name="")
    except (ValueError, OpError) as error:
        views = of_graph_def(source.graph_def)
        yield StageGraph("built", f"{len(views)} nodes", views, print_nodes(views))
        print(f"penstock graph: no further stages, this graph cannot be imported: {error}", file=sys.stderr)
        return
    yield from _stages(graph, options)


def _stages(graph: Graph, options: argparse.Namespace) -> Iterator[StageGraph]:
    """The stages of the step that the options name; by default the outputs that no operation uses are fetched, with the placeholders fed."""
    named = [graph.as_graph_element(name) for name in options.fetch] or _ends(graph)
    feeds = [_tensor(graph, name) for name in options.feed] or [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
    tensors = [item for item in named if isinstance(item, Tensor)]
    targets = [item for item in named if isinstance(item, Operation)]
    config = ConfigProto(allow_soft_placement=True, device_count={host_kind().name: options.devices})
    yield from stages(graph, tensors, targets, feeds, LocalBackend(graph, config).pipeline)


def _tensor(graph: Graph, name: str) -> Tensor:
    tensor = graph.as_graph_element(name if ":" in name else f"{name}:0", allow_operation=False)
    assert isinstance(tensor, Tensor)
    return tensor


def _ends(graph: Graph) -> list[Operation]:
    operations = graph.get_operations()
    used = {tensor.op for op in operations for tensor in op._inputs} | {other for op in operations for other in op._control_inputs}
    return [op for op in operations if op not in used]


# --- programs --------------------------------------------------------------------------------------------------------

def _of_program(options: argparse.Namespace) -> Iterator[StageGraph]:
    watch = run_program(run_main, [options.source, *options.arguments], options.runs, options.trace)
    options.costs = None
    if options.fetch or not watch.steps:
        graph = watch.steps[0].graph if watch.steps else default_graph()
        if not graph.get_operations():
            raise LookupError(f"{options.source} built no graph and ran no step")
        yield from _stages(graph, options)
        return
    print(f"{options.source}: {watch.runs} runs of {len(watch.steps)} different steps", file=sys.stderr)
    step = _step_of_number(watch.steps, options.step)
    options.costs = step.metadata
    yield from stages(step.graph, step.fetches, step.targets, step.feeds, step.pipeline)


def _step_of_number(steps: Sequence[WatchedStep], number: int | None) -> WatchedStep:
    if number is None:
        return max(steps, key=lambda step: len(ir.prune(step.fetches, step.targets, step.feeds).nodes))
    if not 1 <= number <= len(steps):
        raise LookupError(f"--step {number}: the program has run {len(steps)} different steps")
    return steps[number - 1]
