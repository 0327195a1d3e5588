"""``penstock export MODEL -o DIR``: a SavedModel or a frozen graph as native code that needs no Python."""
from __future__ import annotations

import argparse
import sys

from penstock.errors import OpError
from penstock.export.model import KINDS, WEIGHTS, Exported, export_file
from penstock.export.targets import TARGETS, host


def main(argv: list[str] | None = None) -> int:
    """Exports a model; the exit code is 1 if that is not possible."""
    parser = argparse.ArgumentParser(prog="penstock export", description="Compile a model ahead of time, for programs without Python.")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="the folder of a SavedModel, or a file with a frozen GraphDef")
    parser.add_argument("-o", "--output", metavar="DIR", help="where the files go")
    parser.add_argument("--target", default="host", help="what it shall run on (default: this machine's kind); --list names all")
    parser.add_argument("--cpu", default="", help="the least CPU: x86-64-v2, -v3 (with AVX2, the default), -v4; host; or LLVM's name of one")
    parser.add_argument("--kind", choices=KINDS, default="library", help="a shared library or WebAssembly module (needs ziglang), or an object file")
    parser.add_argument("--name", default="model", help="begins the names of files and functions (default: %(default)s)")
    parser.add_argument("--weights", choices=WEIGHTS, default="inside", help="inside of the code, or beside it in a file that can be mapped")
    parser.add_argument("--batch", type=_sizes, default=[1], metavar="N,N,...", help="sizes of the batch (default: 1)")
    parser.add_argument("--any-batch", action="store_true", help="all sizes work, cut into those of --batch; rows must not depend on each other")
    parser.add_argument("--shape", action="append", type=_shape, default=[], metavar="NAME=N,N,...",
                        help="of an input whose shape is not known; ? for the batch")
    parser.add_argument("--quantize", action="store_true", help="keep large weights as 8-bit numbers, with a scale per channel")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="that may run a step, once the program has started them (default: 1)")
    parser.add_argument("--signature", action="append", default=[], help="of a SavedModel (default: all)")
    parser.add_argument("--tags", default="serve", help="of a SavedModel's graph (default: %(default)s)")
    parser.add_argument("--input", action="append", default=[], metavar="TENSOR", help="of a frozen graph (default: its placeholders)")
    parser.add_argument("--fetch", action="append", default=[], metavar="TENSOR", help="of a frozen graph (default: what nothing else takes)")
    parser.add_argument("--list", action="store_true", help="the targets")
    options = parser.parse_args(argv)
    if options.list:
        print("\n".join(f"{name:18} {target.machine.triple:34} {target.machine.cpu}{'   this machine' if name == host() else ''}"
                        for name, target in TARGETS.items()))
        return 0
    if not options.model or not options.output:
        parser.error("MODEL and -o DIR are needed")
    try:
        made = export_file(options.model, options.output, inputs=options.input, outputs=options.fetch, signatures=options.signature,
                           tags=options.tags.split(","), name=options.name, target=options.target, cpu=options.cpu, kind=options.kind,
                           weights=options.weights, batch=options.batch, any_batch=options.any_batch, shapes=dict(options.shape),
                           quantize=options.quantize, threads=options.threads)
    except (OpError, OSError, ValueError, RuntimeError) as error:
        print(f"penstock export: {error}", file=sys.stderr)
        return 1
    print(described(made))
    return 0


def described(made: Exported) -> str:
    """What was written, for people."""
    sizes = f"code {made.code_bytes:,} bytes, weights {made.weights_bytes:,}, memory of a model {made.model_bytes:,}"
    return "\n".join([f"{made.name} for {made.target.name} ({made.target.machine.cpu}): {sizes}",
                      *(f"  {kind:8} {path}" for kind, path in made.files.items())])


def _sizes(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _shape(text: str) -> tuple[str, list[int | None]]:
    name, _, extents = text.partition("=")
    return name, [None if word.strip() in ("?", "") else int(word) for word in extents.split(",")]
