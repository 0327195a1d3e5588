"""The fuzzer: GraphDefs, MetaGraphs, checkpoints of both versions, SavedModels, event files, records, images, frames between tasks and requests of
TensorFlow's clients, each with something wrong in it.

    python tests/support/fuzz_files.py SEED COUNT FOLDER [KIND...]

Each file starts out right and is changed in one to four places: bytes that are flipped, cut out, put in or taken from elsewhere; or, for graphs, a
node that is renamed, wired to another one (circles too), given an attribute of another node or a monstrous shape. Files with checksums get
right ones for half of the changes, so that these reach what is behind the checks. What may come out is a result or an error of the kind that the
function documents. Prints a JSON line per failure; the file under way is kept as ``FOLDER/current``,
so that a crash or a hang is a result as well.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2] / "src"), str(Path(__file__).parents[1])]

import numpy as np  # noqa: E402
from google.protobuf.message import DecodeError  # noqa: E402

import penstock as tf  # noqa: E402
from penstock.checkpoint.sstable import build_table, read_table  # noqa: E402
from penstock.graph.graph import Graph  # noqa: E402
from penstock.platform.records import RecordReader, frame  # noqa: E402
from support import fuzz_conversations, fuzz_data  # noqa: E402

ADDRESSES = 7 << 29  # bytes of address space: a file that would fill the machine fails instead
MEMORY, SLOW = 1 << 30, 10  # bytes and seconds that no file as small as these may take
_STATUS = Path("/proc/self/status")
_ALLOWED = (tf.errors.OpError, ValueError, TypeError, OSError)
_NUMBERS = [0, 1, -1, 2, 7, 127, 255, 2**31 - 1, 2**31, -2**31, 2**40, 2**62, 2**63 - 1, -2**63]


# --- files that are right --------------------------------------------------------------------------------------------

def _model() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        w = tf.get_variable("w", [4, 3], initializer=tf.ones_initializer())
        r = tf.get_variable("r", [3], initializer=tf.zeros_initializer(), use_resource=True)
        p = tf.get_variable("p", [6], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(2))
        y = tf.nn.relu(tf.matmul(x, w) + r, name="y")
        _, total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.reduce_sum(y)), [0, 0.0])
        chosen = tf.cond(total > 1.0, lambda: total * 2.0, lambda: total - 1.0)
        tf.concat([tf.reshape(chosen, [1]), p.as_tensor()], 0, name="out")
        tf.Variable([b"text", b""], name="words")
        tf.summary.scalar("total", total)
    return graph


def write_files(folder: Path) -> None:
    """A file of each kind, or some, in a folder each."""
    graph = _model()
    with graph.as_default(), tf.Session(graph=graph) as sess:
        saver = tf.train.Saver()
        sess.run(tf.global_variables_initializer())
        for kind in KINDS.keys() - {"saved"}:
            (folder / kind).mkdir(parents=True)
        (folder / "graph" / "graph").write_bytes(graph.as_graph_def(add_shapes=True).SerializeToString())
        saver.save(sess, str(folder / "checkpoint" / "model"), write_meta_graph=False, write_state=False)
        tf.train.Saver(sharded=True).save(sess, str(folder / "sharded" / "model"), write_meta_graph=False, write_state=False)
        saver.export_meta_graph(str(folder / "meta" / "graph.meta"))
        tf.saved_model.simple_save(sess, str(folder / "saved"), {"x": graph.get_tensor_by_name("x:0")}, {"out": graph.get_tensor_by_name("out:0")})
        with tf.summary.FileWriter(str(folder / "events"), graph) as writer:
            for step in range(3):
                writer.add_summary(sess.run(tf.summary.merge_all(), {"x:0": np.ones((2, 4))}), step)
    fuzz_data.write_version1_checkpoint(folder / "version1")
    fuzz_data.write_records(folder / "records")
    fuzz_data.write_images(folder / "images")
    fuzz_conversations.record_frames(_model(), folder / "frames" / "frames")
    for client in fuzz_conversations.CLIENTS:
        fuzz_conversations.record_requests(client, folder / client)


# --- what is done to them --------------------------------------------------------------------------------------------

class Mutator:
    """Changes bytes and protos, by a seeded generator."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def bytes(self, contents: bytes) -> bytes:
        """The bytes with one to four changes."""
        changed = bytearray(contents)
        for _ in range(self.random.randint(1, 4)):
            self._change_bytes(changed)
        return bytes(changed)

    def _change_bytes(self, data: bytearray) -> None:
        place = self.random.randrange(len(data) + 1)
        length = self.random.choice([1, 1, 2, 4, 8, 64])
        action = self.random.randrange(7)
        if action == 0:
            del data[place:]
        elif action == 1:
            del data[place:place + length]
        elif action == 2:
            data[place:place] = self.random.randbytes(length)
        elif action == 3:
            data[place:place + length] = self.random.choice([b"\xff", b"\x00", b"\x80", b"\x7f"]) * length
        elif action == 4 and data:
            other = self.random.randrange(len(data))
            data[place:place + length] = data[other:other + length]
        elif data:
            data[min(place, len(data) - 1)] ^= 1 << self.random.randrange(8)

    def graph(self, graph_def: Any) -> None:
        """One to four changes of a GraphDef."""
        for _ in range(self.random.randint(1, 4)):
            self.random.choice([self._rename, self._rewire, self._rewire, self._take_attr, self._drop_attr, self._reshape, self._reshape,
                                self._repeat, self._retype, self._content])(graph_def, self.random.choice(graph_def.node))

    def _rename(self, graph_def: Any, node: Any) -> None:
        node.name = self.random.choice(["", "^", "a//b", "x" * 5000, "\x00", "y:0", self.random.choice(graph_def.node).name])

    def _rewire(self, graph_def: Any, node: Any) -> None:
        other = self.random.choice(graph_def.node).name
        number = self.random.choice(_NUMBERS)
        name = self.random.choice([other, f"^{other}", f"{other}:{number}", f"{other}:x", "", "^", ":", "nowhere", f"^{other}:1"])
        if node.input and self.random.random() < 0.8:
            node.input[self.random.randrange(len(node.input))] = name
        else:
            node.input.append(name)

    def _take_attr(self, graph_def: Any, node: Any) -> None:
        other = self.random.choice(graph_def.node)
        if other.attr:
            key = self.random.choice(sorted(other.attr))
            node.attr[self.random.choice(sorted(node.attr)) if node.attr and self.random.random() < 0.7 else key].CopyFrom(other.attr[key])

    def _drop_attr(self, graph_def: Any, node: Any) -> None:
        if node.attr:
            del node.attr[self.random.choice(sorted(node.attr))]

    def _reshape(self, graph_def: Any, node: Any) -> None:
        for value in node.attr.values():
            shapes = [value.shape] if value.HasField("shape") else [value.tensor.tensor_shape] if value.HasField("tensor") else list(value.list.shape)
            for shape in shapes:
                shape.dim.add(size=self.random.choice(_NUMBERS))
                shape.dim[self.random.randrange(len(shape.dim))].size = self.random.choice(_NUMBERS)

    def _repeat(self, graph_def: Any, node: Any) -> None:
        graph_def.node.add().CopyFrom(node)

    def _retype(self, graph_def: Any, node: Any) -> None:
        node.op = self.random.choice([self.random.choice(graph_def.node).op, "", "NoSuchOp", "While", "_Recv"])

    def _content(self, graph_def: Any, node: Any) -> None:
        for value in node.attr.values():
            if value.HasField("tensor"):
                value.tensor.tensor_content = self.random.randbytes(self.random.choice([1, 3, 4, 9, 1000]))
            elif value.WhichOneof("value") in ("i", "type", "f"):
                value.i = self.random.choice(_NUMBERS)


# --- what is done with them ------------------------------------------------------------------------------------------

def _import_graph(path: Path) -> None:
    graph_def = tf.GraphDef.FromString((path / "graph").read_bytes())
    with Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    _run(graph, "out:0")


def _run(graph: Any, fetch: str) -> None:
    """A graph that could be imported is run too: its variables may be without values, its loops without an end."""
    with tf.Session(graph=graph) as sess:
        try:
            element = graph.as_graph_element(fetch)
        except (KeyError, ValueError):
            return
        sess.run(element, {op.outputs[0]: np.ones((2, 4)) for op in graph.get_operations() if op.type == "Placeholder" and op.name == "x"},
                 options=tf.RunOptions(timeout_in_ms=1000))


def _import_meta(path: Path) -> None:
    with Graph().as_default() as graph:
        tf.train.import_meta_graph(str(path / "graph.meta"))
    _run(graph, "out:0")


def _read_checkpoint(path: Path) -> None:
    prefix = str(path / "model")
    reader = tf.train.load_checkpoint(prefix)
    for name, _ in tf.train.list_variables(prefix):
        reader.get_tensor(name)


def _load_saved_model(path: Path) -> None:
    with Graph().as_default(), tf.Session() as sess:
        tf.saved_model.loader.load(sess, ["serve"], str(path))
        if "out" in {op.name for op in sess.graph.get_operations()}:
            sess.run("out:0", {"x:0": np.ones((2, 4))}, options=tf.RunOptions(timeout_in_ms=1000))


def _read_events(path: Path) -> None:
    for name in os.listdir(path):
        for event in tf.train.summary_iterator(str(path / name)):
            str(event.WhichOneof("what"))


KINDS: dict[str, tuple[Callable[[Path], None], tuple[type, ...]]] = {
    "graph": (_import_graph, (DecodeError,)), "meta": (_import_meta, (KeyError,)),
    "checkpoint": (_read_checkpoint, ()), "sharded": (_read_checkpoint, ()),
    "saved": (_load_saved_model, (RuntimeError, KeyError)), "events": (_read_events, ()),
    "version1": (_read_checkpoint, ()), "records": (fuzz_data.read_records, ()), "images": (fuzz_data.decode_images, ()),
    "frames": (fuzz_conversations.play_frames, ()), **dict.fromkeys(fuzz_conversations.CLIENTS, (fuzz_conversations.play_requests, ()))}


def attempt(kind: str, path: Path) -> str | None:
    """What is wrong with how reading ended; None if it ended well, with a result or with a proper error."""
    use, more = KINDS[kind]
    try:
        use(path)
    except tf.errors.InternalError as error:
        return _problem(error.__cause__ or error)
    except (*_ALLOWED, *more) as error:
        if not str(error).strip():
            return _problem(error)
    except Exception as error:
        return _problem(error)
    return None


def forget_peak() -> None:
    """From now on ``peak_memory`` counts anew. (On Linux; elsewhere the limit of the address space has to do.)"""
    if _STATUS.exists():
        _STATUS.with_name("clear_refs").write_text("5")


def peak_memory() -> int:
    """Bytes that this process has had in memory, at most."""
    if not _STATUS.exists():
        return 0
    return int(re.search(r"VmHWM:\s+(\d+)", _STATUS.read_text())[1]) << 10  # type: ignore[index]


def _problem(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}penstock{os.sep}" in frame.filename]
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}{where}"


def _with_checksums(mutator: Mutator, index: Path) -> bytes:
    """An index of a checkpoint in which an entry, or a key, is wrong."""
    table = read_table(str(index))
    key = mutator.random.choice(sorted(table))
    if mutator.random.random() < 0.2:
        table[mutator.bytes(key)] = table.pop(key)
    else:
        table[key] = mutator.bytes(table[key])
    return build_table(sorted(table.items()))


def _damage(mutator: Mutator, kind: str, path: Path) -> None:
    """Changes one of the files in a folder."""
    target = mutator.random.choice(sorted(file for file in path.rglob("*") if file.is_file()))
    contents = target.read_bytes()
    if kind == "graph" and mutator.random.random() < 0.7:
        graph_def = tf.GraphDef.FromString(contents)
        mutator.graph(graph_def)
        contents = graph_def.SerializeToString()
    elif kind == "meta" and mutator.random.random() < 0.5:
        meta_graph = tf.MetaGraphDef.FromString(contents)
        mutator.graph(meta_graph.graph_def)
        contents = meta_graph.SerializeToString()
    elif mutator.random.random() < 0.5 and target.suffix == ".index":
        contents = _with_checksums(mutator, target)
    elif mutator.random.random() < 0.5 and kind == "events":
        records = list(RecordReader(io.BytesIO(contents)))
        changed = mutator.random.randrange(len(records))
        contents = b"".join(frame(mutator.bytes(record) if index == changed else record) for index, record in enumerate(records))
    else:
        contents = mutator.bytes(contents)
    target.write_bytes(contents)


def main(seed: int, count: int, folder: Path, kinds: list[str]) -> None:
    """Tries ``count`` files, spread evenly over the kinds."""
    warnings.simplefilter("error")
    tf.logging.set_verbosity(tf.logging.FATAL)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    mutator = Mutator(seed)
    write_files(folder / "right")
    for kind in kinds or KINDS:
        with contextlib.suppress(tf.errors.FailedPreconditionError):  # variables without values
            KINDS[kind][0](folder / "right" / kind)  # as they are they can be read: else nothing would be tried below
    slowest, largest = 0.0, 0
    for index in range(count):
        kind = (kinds or list(KINDS))[index % len(kinds or KINDS)]
        current = folder / "current"
        shutil.rmtree(current, ignore_errors=True)
        shutil.copytree(folder / "right" / kind, current)
        _damage(mutator, kind, current)
        forget_peak()
        start = time.process_time()  # of this process: the machine may be busy
        problem = attempt(kind, current)
        taken, peak = time.process_time() - start, peak_memory()
        slowest, largest = max(slowest, taken), max(largest, peak)
        if problem is None and (taken > SLOW or peak > MEMORY):
            problem = f"it takes {taken:.1f} s and {peak >> 20} MB"
        if problem is not None:
            shutil.copytree(current, folder / f"failure-{seed}-{index}")
            print(json.dumps({"kind": kind, "index": index, "problem": problem}), flush=True)
    print(f"{count} files; the slowest took {slowest:.1f} s, the largest {largest >> 20} MB with all that was there before", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
