"""The simulation against real clusters: ``data/measured.json`` holds costs, profiles and rates of one machine (``benchmarks/simulation.py --record``;
medians of repeated runs, see ``benchmarks/SIMULATION.md``)."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.simulate.costs import Costs
from penstock.simulate.job import Cluster, Simulation
from penstock.simulate.profile import JobProfile

pytestmark = pytest.mark.graph


def test_predictions_are_near_what_was_measured():
    recorded = json.loads((Path(__file__).parent / "data" / "measured.json").read_text())
    costs = Costs.from_json(json.dumps(recorded["costs"]))
    ratios = {}
    for label, workers, rate in recorded["rates"]:
        profile = JobProfile.from_json(json.dumps(recorded["profiles"][label]))
        predicted = Simulation(profile, costs, Cluster(workers, recorded["cores"], one_machine=True)).run(50).rate / workers
        ratios[label, workers] = predicted / rate
    near = [ratio for ratio in ratios.values() if 0.8 <= ratio <= 1.2]
    assert len(near) >= 14 and len(ratios) == 16, ratios
    assert all(0.77 <= ratio <= 1.2 for ratio in ratios.values()), ratios
