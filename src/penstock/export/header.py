"""The C header of a model, for C11 and C++11."""
from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.export.entries import EntryArgument, EntryPoint, identifiers
from penstock.export.freezing import FrozenVariable
from penstock.graph.dtypes import DType

_TYPES = {"float32": "float", "float64": "double", "bool": "uint8_t", "float16": "uint16_t", "bfloat16": "uint16_t"}


def c_type(dtype: DType) -> str:
    """The type of an element in C."""
    return _TYPES.get(dtype.name) or f"{dtype.name}_t"


def header(name: str, entries: Sequence[EntryPoint], variables: Sequence[tuple[FrozenVariable, int]], nbytes: int, weights_beside: int | None,
           threads: int = 1) -> str:
    """The header's text; ``variables`` with their places in the model's memory, ``weights_beside`` the size of a file of weights, or None."""
    guard = f"{name.upper()}_H"
    lines = [f"/* The model {name}, exported by Penstock. All functions return 0, or a status that {name}_message explains. */",
             f"#ifndef {guard}\n#define {guard}\n#include <stdint.h>\n",
             f"#define {name.upper()}_BYTES {nbytes}  /* of the memory of a model */"]
    if weights_beside is not None:
        lines.append(f"#define {name.upper()}_WEIGHTS_BYTES {weights_beside}  /* of {name}.weights */")
    lines += ["", "#ifdef __cplusplus", f"#define {name.upper()}_ALIGNED alignas(64)", 'extern "C" {', "#else",
              f"#define {name.upper()}_ALIGNED _Alignas(64)", "#endif\n",
              "/* The memory of a model: its variables, and what a step works in. Have as many as there are threads that run it at the same time. */"]
    lines += [f"typedef struct {name} {{", *_members(name, variables, nbytes), f"}} {name};\n"]
    if weights_beside is None:
        lines.append(f"/* Must be called before anything else, and gives variables their first values. */\nint {name}_init({name} *model);")
    else:
        lines.append(f"/* Must be called before anything else. weights: the content of {name}.weights, read or mapped, aligned to 64 bytes; "
                     f"it has to stay. */\nint {name}_init({name} *model, const void *weights);")
    lines += [f"const char *{name}_message(int status);\n"]
    if threads > 1:
        helpers = f"{threads - 1} thread{'s' * (threads > 2)}"
        lines += [f"/* Starts {helpers} to help with this model's steps, which without them run in the caller's alone;\n"
                  f" * the model must not move. */\nint {name}_start({name} *model);",
                  f"/* Ends them: before the memory of the model goes, and before init is called again. */\nvoid {name}_stop({name} *model);\n"]
    for entry in entries:
        lines.append(_comment(entry) + f"int {name}_{entry.name}({name} *model{_parameters(entry)});\n")
    lines += ["#ifdef __cplusplus\n}\n#endif", "#endif", ""]
    return "\n".join(lines)


def _members(name: str, variables: Sequence[tuple[FrozenVariable, int]], nbytes: int) -> list[str]:
    lines, end = [], 0
    for (variable, place), member in zip(variables, identifiers([each.name for each, _ in variables])):
        kind = _TYPES.get(variable.value.dtype.name) or f"{variable.value.dtype.name}_t"
        lines.append(f"    {name.upper()}_ALIGNED {kind} {member}[{max(variable.value.size, 1)}];  /* {list(variable.value.shape)} */")
        end = place + max(variable.value.nbytes, 1)
    end = -(-end // 64) * 64
    return [*lines, f"    {name.upper()}_ALIGNED unsigned char memory_[{nbytes - end}];"]


def _comment(entry: EntryPoint) -> str:
    rows = [f" * {each.name}: {each.dtype.name}[{', '.join('batch' if extent is None else str(extent) for extent in each.shape)}]"
            + (f", of which the first {each.count} count" if each.count else "") for each in (*entry.inputs, *entry.outputs)]
    sizes = ", ".join(map(str, sorted(entry.batches)))
    batch = [" * batch: any; the model was compiled for " + sizes if entry.any_batch else f" * batch: {sizes}"] if entry.takes_batch else []
    return "\n".join(["/*", *batch, *rows, " */", ""])


def _parameters(entry: EntryPoint) -> str:
    names = identifiers([each.name for each in (*entry.inputs, *entry.outputs)])
    count = len(entry.inputs)
    batch = ", int64_t batch" if entry.takes_batch else ""
    return batch + "".join(f", {'const ' if index < count else ''}{c_type(each.dtype)} *{name}"
                           for index, (each, name) in enumerate(zip((*entry.inputs, *entry.outputs), names)))


def elements(argument: EntryArgument, batch: int) -> int:
    """How many elements an argument has for a batch."""
    return math.prod(argument.of_batch(batch))
