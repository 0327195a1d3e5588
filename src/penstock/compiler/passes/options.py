"""Which passes run: what ``ConfigProto.graph_options`` says, in TensorFlow's words.

    opt_level L0                                   none, but those that the two flags beside it ask for
    rewrite_options.disable_meta_optimizer         none
    rewrite_options.constant_folding               ``constants``, up to max_folded_constant_in_bytes
    rewrite_options.arithmetic_optimization        ``algebra``
    rewrite_options.common_subgraph_elimination    ``subexpressions``
    rewrite_options.dependency_optimization        ``identities``
    rewrite_options.layout_optimizer               ``layout``
    rewrite_options.loop_optimization              ``loops``

A toggle that is OFF switches its pass off; every other value leaves it on.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto.config_pb2 import OptimizerOptions
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

FOLDED_BYTES = 10 << 20  # of the results of one folded node


@dataclass(frozen=True)
class Options:
    """The passes that run, and their limits."""

    identities: bool = True
    constants: bool = True
    algebra: bool = True
    layout: bool = True
    subexpressions: bool = True
    folded_bytes: int = FOLDED_BYTES
    loops: bool = True


NONE = Options(False, False, False, False, False, loops=False)


def options_of(config: Any) -> Options:
    """The options in a ConfigProto."""
    old, new = config.graph_options.optimizer_options, config.graph_options.rewrite_options
    limit = old.max_folded_constant_in_bytes or FOLDED_BYTES
    if old.opt_level == OptimizerOptions.L0 or new.disable_meta_optimizer:
        return Options(False, old.do_constant_folding, False, False, old.do_common_subexpression_elimination, limit, False)
    off = RewriterConfig.OFF
    return Options(new.dependency_optimization != off, new.constant_folding != off, new.arithmetic_optimization != off, new.layout_optimizer != off,
                   new.common_subgraph_elimination != off, limit, new.loop_optimization != off)
