"""Values that a later loop over the same row needs again: computed again if that is cheap, else left in scratch memory that stays in the cache."""
from __future__ import annotations

from penstock.native.fusion.loop_nest import Fold, Nest, OpStep
from penstock.native.fusion.lowering import cost

_FOLD = 4
_WORTH = 12  # LLVM instructions that are not worth a store and a load


def spills(nest: Nest) -> dict[int, int]:
    """The ids of these values, and the loop that stores each."""
    if nest.form != "rows" or nest.loops < 2:
        return {}
    spilled: dict[int, int] = {}
    computed: dict[int, int] = {}  # and in which loop first
    for loop in range(nest.loops):
        ready = nest.ready(loop) | spilled.keys()
        waiting, seen = list(nest.targets(loop)), set()
        while waiting:
            each = waiting.pop()
            if each in ready or each in seen:
                continue
            seen.add(each)
            maker = nest.makers[each]
            if maker is None:
                continue
            if each in computed and not nest.kept[each] and _price(nest, each, ready) > _WORTH:
                spilled[each] = computed[each]
                continue
            waiting.extend(maker.operands)
        for each in nest.ids_needed_for(nest.targets(loop), nest.ready(loop) | spilled.keys()):
            computed.setdefault(each, loop)
    return spilled


def last_reads(nest: Nest) -> dict[int, int]:
    """For each input that is read per element: the last loop over a row that reads it."""
    stored, reads = spills(nest), {}
    for loop in range(nest.loops):
        ready = nest.ready(loop) | {each for each, when in stored.items() if when < loop}
        targets = [*nest.targets(loop), *[each for each, when in stored.items() if when == loop]]
        reads.update(dict.fromkeys((each for each in nest.ids_needed_for(targets, ready) if each < len(nest.inputs)), loop))
    return reads


def _price(nest: Nest, value: int, ready: set[int]) -> int:
    steps = {id(maker): maker for each in nest.ids_needed_for([value], ready) if isinstance(maker := nest.makers[each], OpStep)}
    return sum(step_cost(step, nest) for step in steps.values())


def step_cost(step: OpStep | Fold, nest: Nest) -> int:
    """How many LLVM instructions a step is, about."""
    return _FOLD if isinstance(step, Fold) else cost(step.definition, step.attrs, [nest.dtypes[operand] for operand in step.operands])
