"""How well ``penstock simulate`` predicts: steps per second and worker of the cluster benchmark's models, measured and simulated, on this machine.

Usage: python benchmarks/simulation.py [--rows LABEL ...] [--workers 1 2 4 8] [--seconds 2] [--write]

Costs of messages and the profile of each model are measured in the same run. All tasks are processes of this machine; so are the simulated ones.
"""
from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
sys.path.insert(0, str(HERE))

from cluster import MODELS, SYNCHRONOUS, Framework, Row, measure  # noqa: E402
from table import machine  # noqa: E402

from penstock.platform.cpus import available_cpus  # noqa: E402
from penstock.simulate.calibration import measure as measure_costs  # noqa: E402
from penstock.simulate.capture import Order  # noqa: E402
from penstock.simulate.costs import Costs  # noqa: E402
from penstock.simulate.job import Cluster, Simulation  # noqa: E402
from penstock.simulate.measuring import measure as measure_profile  # noqa: E402
from penstock.simulate.profile import JobProfile  # noqa: E402

PS = 2


def profile_of(row: Row, workers: int, runs: int = 40) -> JobProfile:
    """The profile of a model of the cluster benchmark."""
    addresses = {"ps": [f"ps-{index}:2222" for index in range(PS)], "worker": [f"worker-{index}:2222" for index in range(workers)]}
    settings = {"ps": PS, "workers": workers, "model": row.model, "size": row.size, "sync": row.sync, "backup": row.backup, "straggler": 0.0,
                "optimizer": row.optimizer, "seconds": 60.0, "warmup": 0.0, "cluster": addresses}
    program = [str(HERE / "cluster_task.py"), "penstock", "worker", "0", json.dumps(settings)]
    return measure_profile(Order(program, PS, workers, "", runs=runs))


def mean(one: Costs, other: Costs) -> Costs:
    """The costs of a machine whose speed changes, measured before and after."""
    names = [field.name for field in dataclasses.fields(Costs) if field.name != "network"]
    means = {name: (getattr(one, name) + getattr(other, name)) / 2 for name in names}
    return Costs(**means, network=mean(one.network, other.network) if one.network and other.network else None)


def record(path: Path, costs: Costs, profiles: dict[tuple[Row, int], JobProfile], measured: dict[tuple[Row, int], float]) -> None:
    """Keeps what was measured, for a test of the simulation."""
    rows = {row.label: json.loads(profiles[row, workers].to_json()) for row, workers in profiles if not row.sync}
    for profile in rows.values():
        profile["program"] = "cluster_task.py"
    rates = [[row.label, workers, round(rate, 1)] for (row, workers), rate in measured.items() if not row.sync]
    path.write_text(json.dumps({"machine": machine(), "cores": available_cpus(), "costs": json.loads(costs.to_json()), "profiles": rows,
                                "rates": rates}))


def main() -> int:
    """Measures, simulates, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="+", help="the labels of some rows (default: all)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--seconds", type=float, default=2.0, help="of measured steps")
    parser.add_argument("--record", metavar="FILE", help="keep what was measured")
    parser.add_argument("--write", action="store_true", help="write the table to benchmarks/SIMULATION.md")
    args = parser.parse_args()
    before = measure_costs()
    profiles: dict[tuple[Row, int], JobProfile] = {}
    measured: dict[tuple[Row, int], float] = {}
    for row in [*MODELS, *SYNCHRONOUS]:
        if args.rows and row.label not in args.rows:
            continue
        for workers in args.workers:
            if row.sync and workers < 2:
                continue
            same = None if row.sync else profiles.get((row, args.workers[0]))
            profiles[row, workers] = same or profile_of(row, workers)
            measured[row, workers] = measure(Framework("penstock", sys.executable), row, workers, args.seconds)["rate"]
            print(row.label, workers, f"{measured[row, workers]:.1f}", flush=True)
    costs = mean(before, measure_costs())
    print(costs, flush=True)
    lines = []
    for (row, workers), rate in measured.items():
        predicted = Simulation(profiles[row, workers], costs, Cluster(workers, available_cpus(), one_machine=True)).run().rate / workers
        lines.append(f"| {row.label} | {workers} | {rate:.1f} | {predicted:.1f} | {predicted / rate:.2f} |")
        print(lines[-1], flush=True)
    if args.record:
        record(Path(args.record), costs, profiles, measured)
    if args.write:
        (HERE / "SIMULATION.md").write_text(f"""# Simulated and measured

Written by `python benchmarks/simulation.py --write` on {datetime.date.today():%Y-%m-%d}; {machine()}. Steps per second and worker, {PS} parameter
servers, all tasks on this machine; the simulation knows the step of one worker and what messages cost.

| model | workers | measured | simulated | ratio |
|---|---|---|---|---|
""" + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
