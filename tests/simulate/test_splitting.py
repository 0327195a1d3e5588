"""A parameter server that shares its work with another one."""
from __future__ import annotations

import pytest

from penstock.distributed.cluster_spec import task_name
from penstock.simulate.job import Cluster, Simulation
from penstock.simulate.modes import synchronous
from penstock.simulate.profile import WORKER, JobProfile
from penstock.simulate.report import with_less_on_the_busiest
from penstock.simulate.splitting import split
from simulate.test_job import FREE, MEGABYTE, PS, dense, run

pytestmark = pytest.mark.graph


def times(profile: JobProfile) -> list[float]:
    return Simulation(profile, FREE, Cluster(4, cores=2)).run(10).step_times


def test_half_of_the_bytes_go_to_another_task():
    shared = split(dense(), PS[0])
    assert (shared.variable, shared.bytes, shared.profile.ps) == ("v", MEGABYTE, 2)
    assert shared.profile.variables == {PS[0]: {"v": MEGABYTE // 2}, PS[1]: {"v": MEGABYTE // 2}}
    assert times(shared.profile) == times(dense(2, MEGABYTE // 2))  # as if the variable had been measured in two partitions


def test_variables_take_their_operations_along():
    profile = dense()
    profile.variables[PS[0]] = {"v": MEGABYTE // 2, "w": MEGABYTE // 2}
    shared = split(profile, PS[0])
    assert shared.variable == ""
    assert [part.blocks[1].python for part in shared.profile.step.parts[1:]] == [5e-5, 5e-5]
    assert profile.step.part(PS[0]).blocks[1].python == 1e-4


def test_the_busiest_server_is_the_one_that_would_be_relieved():
    profile = dense(2)
    profile.step.part(PS[1]).blocks[1].python = 1e-2
    what, shared = with_less_on_the_busiest(profile, run(profile, workers=4))
    assert what == "'v' (1.0 MB) in two partitions, one on a task beside ps 1"
    assert shared.step.part(task_name("ps", 2)) is not None


def test_where_nothing_can_be_shared():
    assert split(dense(), WORKER) is None
    assert split(dense(), PS[1]) is None
    assert split(synchronous(dense(), 2), PS[0]) is None  # workers meet there: a job is shared out first and made synchronous then
    assert with_less_on_the_busiest(dense(0), run(dense(0))) is None
