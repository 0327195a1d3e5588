"""``penstock launch --ps 1 --workers 2 program.py args...``: a cluster of tasks, all running one TensorFlow 1 program."""
from __future__ import annotations

import argparse
import math
import os
import secrets
import shlex
import sys
from collections.abc import Callable
from typing import Any

from penstock.distributed import launch_local
from penstock.distributed.launch_engine import cluster_secret_for
from penstock.distributed.launch_plan import CLASSIC_FLAGS, LaunchPlan
from penstock.distributed.security import read_secret
from penstock.errors import OpError

EPILOG = """\
Every task runs `penstock run PROGRAM ...` with TF_CONFIG set, so that `import tensorflow` gives Penstock. The job is done when all workers have
ended with code 0; then the ps are stopped. Its exit code is 0, that of the worker that failed for good, or 130 after Ctrl-C.

  penstock launch --ps 1 --workers 2 train.py --steps 1000
  penstock launch --ps 2 --workers 4 --flags old_train.py           # with --job_name, --task_index, --ps_hosts, --worker_hosts
  penstock launch --ps 1 --workers 2 --flags-as "--role={job} --n={index} --servers={ps_hosts}" train.py
  penstock launch --ps 1 --chief --workers 2 --evaluator estimator.py
"""


def main(argv: list[str]) -> int:
    """Launches a job; returns its exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    plan = _plan(options)
    if not plan.tasks():
        parser.error("there is no task to start")
    source = f"--secret-file {options.secret_file}" if options.secret_file else "the cluster's secret"
    try:
        secret = cluster_secret_for(_secret(options.secret_file) if options.secret_file else None)
    except (OSError, OpError) as error:
        parser.error(f"{source}: {error}")
    if not (options.ray or options.module or os.path.isfile(options.program)):
        parser.error(f"can't open {options.program!r}: there is no such file")  # otherwise every task would say so, again and again
    if options.ray:
        return _launch_on_ray(plan, options, secret)
    return launch_local.launch(plan, options.max_restarts, options.grace, secret, options.color, healthy_after=options.healthy_after)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock launch", description="Run a TensorFlow 1 program as the tasks of a cluster.", epilog=EPILOG,
                                     allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_tasks(parser.add_argument_group("tasks").add_argument)
    _add_running(parser.add_argument_group("running").add_argument)
    _add_ray(parser.add_argument_group("many machines, with Ray (pip install penstock[ray])").add_argument)
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as in `python -m`")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    return parser


def _add_tasks(add: Callable[..., Any]) -> None:
    add("--ps", type=_count, default=0, metavar="N", help="parameter servers (default: %(default)s)")
    add("--workers", type=_count, default=1, metavar="N", help="workers (default: %(default)s); worker 0 is the chief by convention")
    add("--chief", action="store_true", help="a chief of its own, beside the workers")
    add("--evaluator", action="store_true", help="an evaluator, as estimators know it; it is not part of the cluster")
    add("--flags", action="store_const", const=CLASSIC_FLAGS, default="", help=f"add {CLASSIC_FLAGS}")
    add("--flags-as", dest="flags", type=_words, metavar="TEXT", help="add these arguments, in which {job}, {index}, {ps_hosts}, {worker_hosts} and "
                                                         "{chief_hosts} are filled in")


def _add_running(add: Callable[..., Any]) -> None:
    add("--max-restarts", type=_count, default=3, metavar="N", help="how often a task that fails is started again (default: %(default)s)")
    add("--healthy-after", type=_seconds, default=300.0, metavar="S", help="a task that has run so many seconds before it fails counts its restarts "
                                                                          "anew (default: %(default)g)")
    add("--grace", type=_seconds, default=5.0, metavar="S", help="seconds that a task gets to end by itself (default: %(default)g)")
    add("--secret-file", metavar="FILE", help="the cluster's secret; made if it is not there. With PENSTOCK_CLUSTER_SECRET_FILE=FILE "
                                              "`penstock status` can then ask the tasks (default: a secret that only they know)")
    add("--color", choices=["auto", "always", "never"], default="auto", help="of the tasks' names (default: on a terminal, unless NO_COLOR is set)")
    add("--no-era", action="store_true", help="as in `penstock run`")


def _add_ray(add: Callable[..., Any]) -> None:
    add("--ray", action="store_true", help="start the tasks as actors of a Ray cluster")
    add("--ray-address", default="auto", metavar="ADDRESS", help="of the Ray cluster (default: the one that this machine is in)")
    add("--working-dir", metavar="DIR", help="a folder that is sent to all machines, in which the program runs (default: it is there already)")
    add("--cpus", type=float, default=1.0, metavar="N", help="CPUs of each task (default: %(default)g)")
    add("--strategy", choices=["SPREAD", "PACK", "STRICT_SPREAD", "STRICT_PACK"], default="SPREAD",
        help="of the placement group (default: %(default)s)")


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if count < 0:
        raise argparse.ArgumentTypeError(f"{count} is less than 0")
    return count


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time to wait")
    return seconds


def _words(text: str) -> str:
    try:
        shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    return text


def _plan(options: argparse.Namespace) -> LaunchPlan:
    program = [*(["--no-era"] if options.no_era else []), *(["-m"] if options.module else []), options.program, *options.arguments]
    return LaunchPlan(program, options.ps, options.workers, options.chief, options.evaluator, options.flags or "")


def _secret(path: str) -> str:
    """The secret in a file, which is made with a new one if need be."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return read_secret(path)
    secret = secrets.token_hex(32)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(secret + "\n")
    return secret


def _launch_on_ray(plan: LaunchPlan, options: argparse.Namespace, secret: str) -> int:
    try:
        from penstock.distributed import ray as engine  # Ray is an extra
    except ModuleNotFoundError as error:
        print(f"penstock launch: {error}. Install it with: pip install 'penstock[ray]'", file=sys.stderr)
        return 2
    runtime_env = {"working_dir": options.working_dir} if options.working_dir else None
    return engine.launch(plan, runtime_env=runtime_env, address=options.ray_address, cpus=options.cpus, strategy=options.strategy,
                         max_restarts=options.max_restarts, grace=options.grace, secret=secret, color=options.color,
                         healthy_after=options.healthy_after)
