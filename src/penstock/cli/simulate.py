"""``penstock simulate --ps 2 --workers 50 program.py``: what a program would do on a cluster that is not there."""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.distributed.launch_plan import CLASSIC_FLAGS
from penstock.simulate import calibration, costs, graph_program, machines, measuring, modes, report
from penstock.simulate.capture import CaptureOrder
from penstock.simulate.job import Cluster, Result
from penstock.simulate.machines import MachineSpec
from penstock.simulate.network import NetworkSpeed
from penstock.simulate.predict import predict
from penstock.simulate.profile import JobProfile
from penstock.simulate.ring import all_reduce
from penstock.simulate.simulated_trace import SimulatedTrace
from penstock.simulate.stragglers import Straggling

_HINT_STEPS = 2000  # of all workers, by which changes of the cluster are compared
_MOST_STEPS = 10_000_000  # of all workers: hours to simulate
_EPILOG = """\
The program runs for a moment, as worker 0 of the cluster that it is told of (TF_CONFIG, or --flags as in `penstock launch`), with all tasks inside
one process of this machine. Its step is measured there, part by part; then the cluster runs it on a virtual clock.

  penstock simulate --ps 2 --workers 50 --network 10Gbit,50us --cores 16 train.py --batch 64
  penstock simulate --ps 4 --workers 50 --mode sync --backups 4 --straggler pareto:20ms,1.5 train.py
  penstock simulate --ps 2 --workers 50 --chief estimator.py
  penstock simulate --ps 2 --workers 8 --save step.json train.py        then: penstock simulate --profile step.json --workers 200
  penstock simulate --machines cluster.json train.py        {"machines": [{"count": 2, "tasks": {"ps": 1}, "cores": 32},
                                                                          {"count": 25, "tasks": {"worker": 2}, "network": "10Gbit,50us"}]}
  penstock simulate --ps 2 --workers 50 --target train --batch 32 graph.pb        a GraphDef: zeros are fed
"""


def main(argv: list[str]) -> int:
    """Simulates; the exit code is 1 if the program's step cannot be had, or does not fit."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.calibrate and options.program is None and options.profile is None:
        print(report.describe_costs(_costs(anew=True)))
        return 0
    if (options.program is None) == (options.profile is None):
        parser.error("a PROGRAM, or --profile FILE")
    if options.profile and options.save:
        parser.error("--save writes what was measured of a PROGRAM, and --profile FILE measures none")
    if options.target and not (options.program or "").endswith(graph_program.SUFFIXES):
        parser.error(f"--target names an operation of a GraphDef ({', '.join(graph_program.SUFFIXES)}), and there is none")
    if options.backups and options.mode != "sync":
        parser.error("--backups needs --mode sync: without it no update waits for several gradients")
    try:
        _check_outputs(options)
        described = _machines(options)
        if options.workers * options.steps > _MOST_STEPS:
            raise ValueError(f"{options.workers:,} workers with {options.steps:,} steps each are too much to simulate: {_MOST_STEPS:,} steps of all "
                             "workers are the most (--workers, --steps)")
        if options.ps is None and options.program:
            options.ps = 1
        measured = _profile(options, options.ps)
        profile = _in_mode(options, measured)
        reason = report.too_large(profile, options.memory or 0.0, described)
        if reason:
            raise measuring.NotMeasured(reason)
        prices = _costs(options.calibrate)
        cluster = Cluster(options.workers, options.cores, options.network, options.one_machine, options.straggler, described)
    except (measuring.NotMeasured, OSError, ValueError, RuntimeError) as error:
        print(f"penstock simulate: {error}", file=sys.stderr)
        return 1
    trace = SimulatedTrace()
    result = predict(profile, prices, cluster, options.steps, options.seed, trace.add if options.trace else None)
    print(report.describe(profile, cluster, result), flush=True)
    hints = _hints(options, measured, profile, prices, cluster, result) if result.step_times and options.advice else []
    for hint in hints:
        print(f"  {hint}")
    if options.trace:
        Path(options.trace).write_text(trace.to_json(), encoding="utf-8")
    if options.json:
        Path(options.json).write_text(report.as_json(profile, cluster, result, hints), encoding="utf-8")
    return 0 if result.step_times else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock simulate", usage="%(prog)s [OPTIONS] PROGRAM ...",
                                     description="Predict what a program does on a cluster.", epilog=_EPILOG,
                                     allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_cluster(parser.add_argument_group("the cluster").add_argument)
    _add_program(parser.add_argument_group("the program").add_argument)
    _add_output(parser.add_argument_group("the simulation").add_argument)
    parser.add_argument("program", metavar="PROGRAM", nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    return parser


def _add_cluster(add: Callable[..., Any]) -> None:
    add("--ps", type=_count_or_zero, metavar="N", help="parameter servers (default: 1, or as many as those of --profile)")
    add("--workers", type=_count, default=1, metavar="N", help="workers (default: %(default)s)")
    add("--network", type=_network, default="10Gbit,50us", metavar="RATE,LATENCY", help="of each machine's link (default: %(default)s)")
    add("--cores", type=_positive, default=16.0, metavar="N", help="of each machine (default: %(default)g)")
    add("--memory", type=_bytes, metavar="SIZE", help="of each machine, such as 64GB: an error if the variables of a task do not fit")
    add("--machines", metavar="FILE", help="a file that describes the machines and their tasks, in the place of --ps and --workers")
    add("--one-machine", action="store_true", help="all tasks on one machine")
    add("--straggler", type=_straggling, default="none", metavar="KIND", help="how late workers are: none, exponential:20ms (the mean), "
                                                                              "pareto:20ms,1.5 (scale and shape: a heavy tail)")


def _add_program(add: Callable[..., Any]) -> None:
    add("--mode", choices=["program", "async", "sync", "allreduce"], default="program",
        help="how workers cooperate: as the program says (async: and it must not make them wait for each other), as if its optimizer were wrapped "
             "in tf.train.SyncReplicasOptimizer, or without parameter servers, by all-reduce over a ring")
    add("--backups", type=_count_or_zero, default=0, metavar="N", help="with --mode sync: workers whose gradients an update does not wait for")
    add("--chief", action="store_true", help="one of the workers is a chief, as estimators want it")
    add("--flags", action="store_const", const=CLASSIC_FLAGS, default="", help=f"add {CLASSIC_FLAGS}")
    add("--flags-as", dest="flags", metavar="TEXT", help="add these arguments, as in `penstock launch`")
    add("--runs", type=_count, default=40, metavar="N", help="how often the step is measured (default: %(default)s)")
    add("--target", default="", metavar="NAME", help="of a GraphDef: the operation that a step runs")
    add("--batch", type=_count, default=1, metavar="N", help="of a GraphDef: the size of what is fed where the graph leaves it open")
    add("--profile", metavar="FILE", help="what --save has written, in the place of a program")
    add("--save", metavar="FILE", help="write what was measured")


def _add_output(add: Callable[..., Any]) -> None:
    add("--steps", type=_count, default=100, metavar="N", help="of each worker (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the delays of stragglers (default: %(default)s)")
    add("--no-advice", dest="advice", action="store_false", help="do not look for what would help most")
    add("--calibrate", action="store_true", help="measure anew what messages cost on this machine (done once otherwise); without PROGRAM, print it")
    add("--trace", metavar="FILE", help="write the simulated timeline, for chrome://tracing and Perfetto")
    add("--json", metavar="FILE", help="write the prediction as JSON")


def _check_outputs(options: argparse.Namespace) -> None:
    """What is to be written at the end can be: it is said before anything is measured. OSError if not."""
    for option in ("save", "trace", "json"):
        path = getattr(options, option)
        if path and (Path(path).is_dir() or not os.access(Path(path).resolve().parent, os.W_OK)):
            raise OSError(f"--{option} {path}: no file can be written there")


# --- what is measured ------------------------------------------------------------------------------------------------

def _costs(anew: bool) -> costs.Costs:
    prices = None if anew else costs.measured_before()
    if prices is None:
        print("Measuring what messages cost on this machine ...", file=sys.stderr, flush=True)
        prices = calibration.measure()
        costs.keep(prices)
    return prices


def _machines(options: argparse.Namespace) -> tuple[MachineSpec, ...]:
    """Those of the file; the number of tasks is theirs then."""
    if not options.machines:
        return ()
    if options.one_machine:
        raise ValueError("--machines and --one-machine contradict each other")
    try:
        text = Path(options.machines).read_text(encoding="utf-8")
        described = machines.read_machines(text, options.cores, options.network, options.memory or 0.0)
    except ValueError as error:  # also what is no text
        raise ValueError(f"{options.machines}: {error}") from None
    options.ps, options.workers = machines.tasks_of(described, "ps"), machines.tasks_of(described, "worker")
    if not options.workers:
        raise ValueError(f"{options.machines} describes no machine with a worker")
    return tuple(described)


def _in_mode(options: argparse.Namespace, profile: JobProfile) -> JobProfile:
    if options.mode == "async":
        return modes.asynchronous(profile)
    if options.mode == "sync":
        return modes.synchronous(profile, options.workers, options.backups)
    return all_reduce(profile, options.workers) if options.mode == "allreduce" else profile


def _program(options: argparse.Namespace) -> list[str]:
    """The program and its arguments; that of a GraphDef is ours."""
    if not options.program.endswith(graph_program.SUFFIXES):
        return [options.program, *options.arguments]
    if options.arguments:
        raise ValueError(f"a GraphDef takes no arguments: {' '.join(options.arguments)}; options stand before it")
    graph_program.target_of(graph_program.load(options.program), options.target)  # what is wrong with it is said at once
    return [graph_program.__file__, os.path.abspath(options.program), options.target, str(options.batch)]


def _profile(options: argparse.Namespace, ps: int) -> JobProfile:
    if options.profile:
        try:
            profile = JobProfile.from_json(Path(options.profile).read_text(encoding="utf-8"))
        except ValueError as error:  # also what is no text
            raise ValueError(f"{options.profile} is not what --save has written: {error}") from None
        if options.ps not in (None, profile.ps) and options.mode != "allreduce":
            raise ValueError(f"{options.profile} was measured with {profile.ps} ps, and the cluster has {options.ps}: measure the program with these")
        return profile
    if not Path(options.program).is_file():
        what = "it is a folder" if Path(options.program).is_dir() else "there is no such file"
        raise OSError(f"can't open {options.program!r}: {what}")
    if not ps and "{ps_hosts}" in (options.flags or ""):
        raise ValueError(f"{options.program} is told of its parameter servers (--ps_hosts), and the cluster has none: add --ps 1")
    print(f"Measuring a step of {options.program} with {ps} ps ...", file=sys.stderr, flush=True)
    order = CaptureOrder(_program(options), ps, options.workers, "", options.flags or "", options.runs, chief=options.chief)
    profile = measuring.measure(order, graph=options.program if options.program.endswith(graph_program.SUFFIXES) else "")
    profile.program = " ".join([options.program, *options.arguments])
    if options.save and ps == options.ps:
        Path(options.save).write_text(profile.to_json(), encoding="utf-8")
    return profile


def _hints(options: argparse.Namespace, measured: JobProfile, profile: JobProfile, prices: costs.Costs, cluster: Cluster,
           result: Result) -> list[str]:
    """What would help, the most helpful first."""
    steps = max(min(options.steps // 4, _HINT_STEPS // cluster.workers), 5)

    def gain(other: JobProfile) -> float:
        return predict(_in_mode(options, other), prices, cluster, steps).rate / result.rate - 1.0

    changes = list(report.what_would_help(profile, prices, cluster, result, steps))
    shared = report.with_less_on_the_busiest(measured, result) if profile.ps else None
    if shared:
        changes.append(report.WhatIf(shared[0], gain(shared[1])))
    if options.program and profile.ps:
        try:
            changes.append(report.WhatIf("one more ps", gain(_profile(options, profile.ps + 1))))
        except measuring.NotMeasured as error:
            print(f"penstock simulate: with one more ps: {error}", file=sys.stderr)
    changes = sorted((change for change in changes if change.gain > report.WORTH), key=lambda change: -change.gain)
    hints = [f"what would help     {change.change}: {change.gain:+.0%}" for change in changes]
    return [*hints, *(f"note                {note}" for note in (report.uneven(profile), report.unshared(profile, cluster)) if note)]


# --- arguments -------------------------------------------------------------------------------------------------------

def _check(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _network(text: str) -> NetworkSpeed:
    return _check(NetworkSpeed.parse, text)


def _straggling(text: str) -> Straggling:
    return _check(Straggling.parse, text)


def _count_or_zero(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tasks or steps")
    if len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text} is too much to simulate")
    return int(text)


def _count(text: str) -> int:
    if not (count := _count_or_zero(text)):
        raise argparse.ArgumentTypeError("at least one is needed")
    return count


def _positive(text: str) -> float:
    return _check(machines.parse_cores, text)


def _bytes(text: str) -> float:
    if not (size := _check(machines.parse_size, text)):
        raise argparse.ArgumentTypeError("a machine without memory runs nothing")
    return size
