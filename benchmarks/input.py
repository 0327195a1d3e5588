"""Input pipelines beside TensorFlow: `python benchmarks/input.py`, also a part of `make bench`.

    python benchmarks/input.py                                  every pipeline, beside TensorFlow 2.21
    python benchmarks/input.py --cases csv,jpeg --rounds 5      some of them
    python benchmarks/input.py --write                          and writes the table to benchmarks/INPUT.md

PENSTOCK_TF1_PYTHON names a Python that has TensorFlow 1.15, which is then a column too. All run the same lines (`models/input_models.py`), each in a
process of its own; they take turns, and the best round counts. Penstock runs in its default mode.
"""
from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import table
from models.input_models import BATCH, COUNTS
from peers import PEERS, Peer
from processes import BenchmarkFailed, Worker

LABELS = {
    "parse_example": "TFRecordDataset, batch, parse_example", "parse_single": "parse_single_example, parallel map, batch",
    "jpeg": "JPEG: decode, crop, flip, resize", "shuffle": "slices of 784 floats: shuffle, batch", "csv": "decode_csv of lines, batch",
    "csv_batched": "lines, batch, decode_csv", "text": "text lines: split, look up, padded_batch", "padded": "ragged sequences: padded_batch",
    "interleave": "interleave of 16 files", "cache": "cache to a file, second epoch", "window": "time series: window, batch",
    "queue": "string_input_producer, reader, train.batch", "map": "range, map, batch", "step": "training steps on records",
    "step_alone": "the same steps without input"}
AIM = 1.5  # times TensorFlow 2's rate


def peers() -> list[Peer]:
    """The columns."""
    ours, theirs = PEERS["penstock"], PEERS["onednn"]
    columns = [ours._replace(module="input_models", settings=()), theirs._replace(module="input_models", name="tf", label="TF 2", settings=())]
    if os.environ.get("PENSTOCK_TF1_PYTHON"):
        columns.append(columns[1]._replace(name="tf1", label="TF 1.15", python_variable="PENSTOCK_TF1_PYTHON"))
    return columns


# --- the files -----------------------------------------------------------------------------------------------------------

def make_files(folder: Path) -> None:
    """What the pipelines read: the same on each machine."""
    import penstock as tf  # the folder of the package is found by way of the environment of this process

    random = np.random.default_rng(0)

    def write(name: str, records: list[bytes]) -> None:
        with tf.python_io.TFRecordWriter(str(folder / name)) as writer:
            for record in records:
                writer.write(record)

    def example(index: int) -> bytes:
        feature = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=random.random(40, np.float32))),
                   "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[index])),
                   "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"example number %d" % index]))}
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    examples = [example(index) for index in range(COUNTS["parse_example"])]
    write("examples.tfrecord", examples)
    for part in range(16):
        write(f"part-{part}.tfrecord", examples[part::16][:COUNTS["interleave"] // 16])
    lines = [",".join([*(f"{value:.4f}" for value in row), str(index), str(index * 7), f"word{index % 100}"])
             for index, row in enumerate(random.normal(size=(COUNTS["csv_batched"], 18)) * 100)]
    (folder / "lines.csv").write_text("\n".join(lines) + "\n")
    words = [f"w{number:04d}" for number in range(10000)]
    (folder / "vocabulary.txt").write_text("\n".join(words) + "\n")
    texts = [" ".join(words[number % len(words)] if number % 50 else "unknown" for number in random.zipf(1.3, random.integers(5, 31)))
             for _ in range(COUNTS["text"])]
    (folder / "text.txt").write_text("\n".join(texts) + "\n")
    write("jpeg.tfrecord", _pictures(random, COUNTS["jpeg"]))


def _pictures(random: np.random.Generator, count: int) -> list[bytes]:
    """JPEG files of 256 x 256 pixels with soft shapes, of about 15 kB each."""
    from PIL import Image

    import penstock as tf

    images = []
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [256, 256, 3])
        encoded = tf.image.encode_jpeg(pixels, quality=90)
        for _ in range(count):
            coarse = Image.fromarray(random.integers(0, 256, (24, 24, 3), np.uint8))
            images.append(session.run(encoded, {pixels: np.asarray(coarse.resize((256, 256), Image.Resampling.BICUBIC))}))
    return images


# --- measuring -----------------------------------------------------------------------------------------------------------

def rates(case: str, columns: list[Peer], rounds: int, seconds: float, versions: dict[str, str]) -> dict[str, float]:
    """Examples per second of each peer: the best of its rounds, which are taken in turn."""
    workers, best = [], {}
    try:
        for peer in columns:
            try:
                workers.append(Worker(peer, case))
            except BenchmarkFailed as error:
                print(f"failed: {error}", file=sys.stderr)
        for worker in workers:
            versions[worker.peer.name] = worker.about["version"]
        sums = {worker.peer.label: worker.about["parameters"] for worker in workers}
        if len(set(sums.values())) > 1:
            print(f"{case}: not the same data: {sums}", file=sys.stderr)
        for _ in range(rounds):
            for worker in workers:
                rate = COUNTS.get(case, COUNTS["step"]) / worker.round(seconds)
                best[worker.peer.name] = max(best.get(worker.peer.name, 0.0), rate)
    finally:
        for worker in workers:
            worker.close()
    return best


def row(case: str, found: dict[str, float], columns: list[Peer]) -> list[str]:
    """A line of the table."""
    ratio = f"{found['penstock'] / found['tf']:.2f}" if "penstock" in found and "tf" in found else ""
    return [LABELS[case], *(f"{found[peer.name]:,.0f}" if peer.name in found else "" for peer in columns), ratio]


def waiting(results: dict[str, dict[str, float]], columns: list[Peer]) -> str:
    """How much of a training step on records is spent waiting for them."""
    if "step" not in results or "step_alone" not in results:
        return ""
    parts = [f"{peer.label} {max(0.0, 1 - results['step'][peer.name] / results['step_alone'][peer.name]):.1%}"
             for peer in columns if peer.name in results["step"] and peer.name in results["step_alone"]]
    return "Part of a training step on records that input takes: " + ", ".join(parts) + "."


def write(path: Path, results: dict[str, dict[str, float]], columns: list[Peer], versions: dict[str, str], rounds: int) -> None:
    """The table as Markdown."""
    names = ", ".join(f"{peer.label} {versions[peer.name]}" for peer in columns if peer.name in versions)
    heads = ["pipeline", *(peer.label for peer in columns), "Penstock / TF 2"]
    lines = [heads, ["---"] * len(heads), *(row(case, found, columns) for case, found in results.items())]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    path.write_text(f"""# Input pipelines

Written by `python benchmarks/input.py --write` on {datetime.date.today():%Y-%m-%d}; {table.machine()}.
{names}. Examples per second, the best of {rounds} rounds; the frameworks take turns and run the same lines (`models/input_models.py`), in batches of
{BATCH} (images: 32). Penstock runs in its default mode. Aim: {AIM} times TensorFlow 2. {waiting(results, columns)}

{text}
""")


def main() -> int:
    """Measures all cases and prints them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(LABELS), help="names, with commas: " + ", ".join(LABELS))
    parser.add_argument("--rounds", type=int, default=3, help="turns of each framework (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a turn lasts, at least one pass (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="Penstock only")
    parser.add_argument("--data", help="a folder for the files, which is used again if it has them (default: one for this run)")
    parser.add_argument("--write", nargs="?", const="INPUT.md", metavar="FILE", help="write the table to this file of benchmarks/ (%(const)s)")
    args = parser.parse_args()
    columns = peers()[:1] if args.alone else peers()
    results: dict[str, dict[str, float]] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as own:
        folder = Path(args.data or own)
        if not (folder / "jpeg.tfrecord").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make_files(folder)
        os.environ["PENSTOCK_BENCH_DATA"] = str(folder)
        print(table.line(["examples per second", *(peer.label for peer in columns), "ratio", ""]))
        for case in args.cases.split(","):
            results[case] = rates(case, columns, args.rounds, args.seconds, versions)
            print(table.line([*row(case, results[case], columns), ""]), flush=True)
            if args.write:
                write(Path(__file__).with_name(args.write), results, columns, versions, args.rounds)
    print(waiting(results, columns))
    return int(any(len(found) < len(columns) for found in results.values()))


if __name__ == "__main__":
    sys.exit(main())
