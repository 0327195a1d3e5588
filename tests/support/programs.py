"""What the tests of passes share: the op types that are left of a step, and steps with and without passes."""
from __future__ import annotations

from dataclasses import replace

import penstock as tf
import penstock.execute  # registers the CPU, whatever other tests have imported
from penstock.program import ir
from penstock.program.devices import local_devices
from penstock.program.passes import NONE, PassOptions, optimise
from penstock.program.placement import place


def nodes_after(fetches, feeds=(), options=None, targets=()):
    """The nodes that are left of a step, without its feeds."""
    program = ir.prune(fetches, targets, feeds)
    place(program, local_devices(None), False)
    return [node for node in optimise(program, options or PassOptions()).nodes if node.definition.type != "_Arg"]


def types_after(fetches, feeds=(), options=None, targets=()):
    """Their op types."""
    return [node.definition.type for node in nodes_after(fetches, feeds, options, targets)]


def only(**switched_on):
    """PassOptions with nothing on but these."""
    return replace(NONE, **switched_on)


def session(**rewrites):
    """A session whose RewriterConfig has these fields."""
    config = tf.ConfigProto()
    for name, value in rewrites.items():
        setattr(config.graph_options.rewrite_options, name, value)
    return tf.Session(config=config)
