"""Graph passes: a program with less to do, that gives the same results. Each pass is a function Program -> Program, checked after it has run.

Passes ask ops for their properties only (``graph/properties.py``). They run after placement, on what one task runs, and not on programs with
the primitives of control flow, whose tensors may be dead. A step that is traced or debugged runs the nodes that the user made, and so does the first
of several: only their order may change, and variables of loops that no fetch depends on are left out, as nodes outside of loops are.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from penstock.program.ir import Program
from penstock.program.passes.algebra import simplify
from penstock.program.passes.channels import choose_layout
from penstock.program.passes.constants import fold_constants
from penstock.program.passes.debugging import strip_debugging
from penstock.program.passes.factors import merge_factors
from penstock.program.passes.identities import remove_identities, remove_waits
from penstock.program.passes.legality import Promises
from penstock.program.passes.lookups import merge_lookups
from penstock.program.passes.loops import drop_loop_variables
from penstock.program.passes.options import NONE, PassOptions, options_of
from penstock.program.passes.recompute import recompute
from penstock.program.passes.subexpressions import merge_equal
from penstock.program.passes.transposes import simplify_layout
from penstock.program.passes.updates import has_updates, update_early

__all__ = ["NONE", "PassOptions", "optimise", "options_of"]


def optimise(program: Program, options: PassOptions) -> Program:
    """The program after all passes that the options ask for; the one that was given stays as it was."""
    passes = [*[each for _ in range(options.rounds) for each in _passes(options)], *_last(options)]
    if not passes or len(program.nodes) < options.fewest_nodes or (passes == [update_early] and not has_updates(program)):
        return program
    program = program.copy()
    for run in passes:
        promises = Promises(program)
        program = run(program)
        try:
            promises.check(program)
        except AssertionError as broken:
            raise AssertionError(f"the pass {getattr(run, 'func', run).__name__} broke the program: {broken}") from None
    return program


def _passes(options: PassOptions) -> Iterator[Callable[[Program], Program]]:
    """The passes, in an order in which each one leaves more to do for the next."""
    if options.debugging:
        yield strip_debugging
    if options.loops:
        yield drop_loop_variables
    if options.identities:
        yield remove_identities
    if options.algebra:
        yield merge_lookups
    if options.constants:
        yield partial(fold_constants, limit=options.folded_bytes)
    if options.algebra:
        yield simplify
    if options.factors:
        yield merge_factors
    if options.layout:
        yield simplify_layout
        yield choose_layout
    if options.subexpressions:
        yield merge_equal
    if options.identities:
        yield remove_waits


def _last(options: PassOptions) -> Iterator[Callable[[Program], Program]]:
    """What others must not look at again: copies that are there on purpose, and the order."""
    if options.recompute_cheap or options.recompute_hinted:
        yield partial(recompute, cheap=options.recompute_cheap, hinted=options.recompute_hinted, scope=options.gradient_scope)
    if options.updates:
        yield update_early
