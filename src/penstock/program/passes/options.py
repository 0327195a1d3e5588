"""Which passes run: what ``ConfigProto.graph_options`` says, in TensorFlow's words.

    opt_level L0                                   none, but those that the two flags beside it ask for
    rewrite_options.disable_meta_optimizer         none
    rewrite_options.optimizers                     only those that it names
    rewrite_options.min_graph_nodes                none, for programs with fewer nodes
    rewrite_options.meta_optimizer_iterations      TWO: all passes run twice
    rewrite_options.constant_folding               ``constants``, up to max_folded_constant_in_bytes, and ``factors``
    rewrite_options.arithmetic_optimization        ``algebra``
    rewrite_options.common_subgraph_elimination    ``subexpressions``
    rewrite_options.dependency_optimization        ``identities``
    rewrite_options.layout_optimizer               ``layout``
    rewrite_options.loop_optimization              ``loops``; sessions run it anyway: what nobody asks for does not run
    rewrite_options.remapping                      ``remapping``: products take over the bias, the relu, ... behind them when code is made
    rewrite_options.memory_optimization            ``updates``, but for NO_MEM_OPT; ``recompute``: cheap nodes (RECOMPUTATION_HEURISTICS), those with
                                                   _recompute_hint (MANUAL), both (HEURISTICS), for the nodes in the scope
                                                   memory_optimizer_target_node_name_scope
    rewrite_options.debug_stripper                 ``debugging``, if it is ON

A toggle that is OFF switches its pass off; every other value leaves it on (debug_stripper: leaves it off, but for ON). What is asked for that is
not done here is told in a warning.
"""
from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from tensorboard.compat.proto.config_pb2 import OptimizerOptions
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

from penstock.platform.logging import runtime_logger
from penstock.program.passes.recompute import SCOPE

FOLDED_BYTES = 10 << 20  # of the results of one folded node
_RECOMPUTED = {RewriterConfig.MANUAL: (False, True), RewriterConfig.RECOMPUTATION_HEURISTICS: (True, False), RewriterConfig.HEURISTICS: (True, True)}
_WITHOUT_SWITCH = {"pruning", "function", "shape", "debug_stripper"}  # further names that ``optimizers`` may have
_NOT_DONE = ("scoped_allocator_optimization", "pin_to_host_optimization", "implementation_selector", "auto_mixed_precision",
             "auto_mixed_precision_mkl", "auto_mixed_precision_onednn_bfloat16", "auto_mixed_precision_cpu", "use_plugin_optimizers",
             "experimental_conditional_code_motion", "shape_optimization", "function_optimization")  # toggles; OFF is what they are


class PassSwitch(NamedTuple):
    """What switches a pass off: a field of RewriterConfig, and a name that is missing from ``optimizers``."""

    toggle: str
    optimizer: str
    off: int = RewriterConfig.OFF


def _switch(toggle: str, optimizer: str, off: int = RewriterConfig.OFF) -> bool:
    result: bool = field(default=True, metadata={"switch": PassSwitch(toggle, optimizer, off)})
    return result


@dataclass(frozen=True)
class PassOptions:
    """The passes that run, each with its switch, and their limits."""

    identities: bool = _switch("dependency_optimization", "dependency")
    constants: bool = _switch("constant_folding", "constfold")
    factors: bool = _switch("constant_folding", "constfold")
    algebra: bool = _switch("arithmetic_optimization", "arithmetic")
    layout: bool = _switch("layout_optimizer", "layout")
    subexpressions: bool = _switch("common_subgraph_elimination", "common_subgraph_elimination")
    loops: bool = _switch("loop_optimization", "loop")
    remapping: bool = _switch("remapping", "remap")
    updates: bool = _switch("memory_optimization", "memory", RewriterConfig.NO_MEM_OPT)
    folded_bytes: int = FOLDED_BYTES
    debugging: bool = False
    recompute_cheap: bool = False
    recompute_hinted: bool = False
    gradient_scope: str = SCOPE
    fewest_nodes: int = 0
    rounds: int = 1


SWITCHES: dict[str, PassSwitch] = {each.name: each.metadata["switch"] for each in fields(PassOptions) if each.metadata}
NONE = PassOptions(**dict.fromkeys(SWITCHES, False))  # type: ignore[arg-type]


def options_of(config: Any) -> PassOptions:
    """The options in a ConfigProto."""
    old, new = config.graph_options.optimizer_options, config.graph_options.rewrite_options
    limit = old.max_folded_constant_in_bytes or FOLDED_BYTES
    if old.opt_level == OptimizerOptions.L0 or new.disable_meta_optimizer:
        return replace(NONE, constants=old.do_constant_folding, subexpressions=old.do_common_subexpression_elimination, folded_bytes=limit)
    for problem in _complaints(new):
        runtime_logger().warning("graph_options.rewrite_options: %s", problem)
    on = {name: getattr(new, switch.toggle) != switch.off and (not new.optimizers or switch.optimizer in new.optimizers)
          for name, switch in SWITCHES.items()}
    cheap, hinted = _RECOMPUTED.get(new.memory_optimization, (False, False))
    return PassOptions(**on, folded_bytes=limit, debugging=new.debug_stripper == RewriterConfig.ON, recompute_cheap=cheap, recompute_hinted=hinted,
                       gradient_scope=new.memory_optimizer_target_node_name_scope or SCOPE, fewest_nodes=max(new.min_graph_nodes, 0),
                       rounds=2 if new.meta_optimizer_iterations == RewriterConfig.TWO else 1)


def _complaints(asked: Any) -> list[str]:
    """What is asked for, but does not exist here."""
    complaints = [f"{name} does nothing here" for name in _NOT_DONE if getattr(asked, name, 0) not in (RewriterConfig.DEFAULT, RewriterConfig.OFF)]
    if asked.memory_optimization in (RewriterConfig.SWAPPING_HEURISTICS, RewriterConfig.SCHEDULING_HEURISTICS, RewriterConfig.HEURISTICS):
        complaints.append("memory_optimization: nothing is swapped out, only updates are scheduled for memory; "
                          "RECOMPUTATION_HEURISTICS and MANUAL work")
    if asked.disable_model_pruning:
        complaints.append("disable_model_pruning does nothing here: a step never has nodes that its fetches do not need")
    if asked.auto_parallel.enable:
        complaints.append("auto_parallel does nothing here")
    if getattr(asked, "cpu_layout_conversion", 0) == RewriterConfig.NHWC_TO_NCHW:
        complaints.append("cpu_layout_conversion: images are computed with their channels last, whatever their format")
    known = {switch.optimizer for switch in SWITCHES.values()} | _WITHOUT_SWITCH
    unknown = [*(name for name in asked.optimizers if name not in known), *(custom.name for custom in asked.custom_optimizers)]
    if unknown:
        complaints.append(f"there are no optimizers {', '.join(unknown)}; those that are: {', '.join(sorted(known))}")
    return complaints
