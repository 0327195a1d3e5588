"""Virtual machines, links and time."""
from __future__ import annotations

import math

import pytest

from penstock.simulate.clock import Clock
from penstock.simulate.machine import Crowding, Place, Process, SimulatedMachine
from penstock.simulate.network import Fabric, NetworkSpeed
from penstock.simulate.stragglers import Straggling

pytestmark = pytest.mark.graph


class Log:
    """When something was done."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.times = clock, dict[str, float]()

    def __call__(self, name: str):
        return lambda: self.times.__setitem__(name, round(self.clock.now, 9))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_each_core_is_shared_equally(clock):
    machine, log = SimulatedMachine(clock, 2), Log(clock)
    for name in "abc":
        machine.run(2.0, log(name))
    machine.run(0.5, log("short"))
    clock.run()
    assert log.times == {"short": 1.0, "b": 2.5, "a": 3.25, "c": 3.25}  # two on each core; when b is done, its core takes one of the others
    assert machine.busy == pytest.approx(6.5)


def test_an_idle_core_does_not_take_what_ran_elsewhere_just_now(clock):
    machine, log = SimulatedMachine(clock, 2), Log(clock)
    for _ in range(20):  # the machine is busy: no idle core is looked for
        for _ in range(2):
            machine.run(0.01, lambda: None)
        clock.run()
    first, second = Place(), Place()
    for place in (first, second):
        machine.waker = 0
        machine.run(1e-9, lambda: None, place=place)
        clock.run()
    begin = clock.now
    machine.run(0.002, log("waker"), place=first)
    machine.run(0.001, log("woken"), place=second)  # for half a millisecond each has half of the core
    clock.run()
    assert log.times["woken"] - begin == pytest.approx(0.0005 + 0.00075, rel=1e-5)
    assert log.times["waker"] - begin == pytest.approx(0.0005 + 0.00175, rel=1e-5)


def test_an_idle_core_is_looked_for_where_the_machine_is_not_busy(clock):
    machine, log = SimulatedMachine(clock, 2), Log(clock)
    machine.run(0.001, log("waker"))
    machine.run(0.001, log("woken"))
    clock.run()
    assert log.times == {"waker": 0.001, "woken": 0.001}


def test_times_in_python_differ(clock):
    process, ends = Process(SimulatedMachine(clock, 1), "a", Crowding(spread=0.3)), list[float]()
    for _ in range(2000):
        process.python(1.0, lambda: ends.append(clock.now))
    clock.run()
    times = sorted(later - sooner for sooner, later in zip([0.0, *ends], ends))
    assert ends[-1] == pytest.approx(2000, rel=0.03) and times[1680] / times[1000] == pytest.approx(math.exp(0.3), rel=0.05)


def test_work_that_starts_later_slows_down_the_others(clock):
    machine, log = SimulatedMachine(clock, 1), Log(clock)
    machine.run(2.0, log("first"))
    clock.after(1.0, machine.run, 0.5, log("second"))
    clock.run()
    assert log.times == {"second": 2.0, "first": 2.5}


def test_native_code_uses_the_cores_that_are_left(clock):
    machine, log = SimulatedMachine(clock, 4), Log(clock)
    machine.run(3.0, log("wide"), width=4.0)
    machine.run(1.0, log("narrow"))
    clock.run()
    assert log.times == {"wide": 1.0, "narrow": 1.0}


def test_a_serial_part_is_not_shared_out(clock):
    machine, log = SimulatedMachine(clock, 4), Log(clock)
    machine.run(1.0, log("half serial"), width=4.0, serial=0.5)
    clock.run()
    assert log.times["half serial"] == pytest.approx(0.5 + 0.5 / 4)


def test_what_one_thread_does_alone_leaves_the_other_cores_to_others(clock):
    machine, log = SimulatedMachine(clock, 2), Log(clock)
    for name in "ab":
        machine.run(1.0, log(name), width=2.0, serial=0.5)
    clock.run()
    assert log.times == {"a": 1.0, "b": 1.0} and machine.busy == pytest.approx(2.0)  # alone each would take 0.75 seconds


def test_threads_may_hold_their_cores_while_one_of_them_works_alone(clock):
    machine, log = SimulatedMachine(clock, 2), Log(clock)
    for name in "ab":
        machine.run(1.0, log(name), width=2.0, serial=0.5, held=1.0)
    clock.run()
    assert log.times == {"a": 1.5, "b": 1.5} and machine.busy == pytest.approx(3.0)
    machine.run(1.0, log("alone"), width=2.0, serial=0.5, held=0.5)
    clock.run()
    assert log.times["alone"] == pytest.approx(1.5 + 0.75)  # that others may need the cores does not matter then


def test_short_work_has_one_core_where_others_may_need_the_rest(clock):
    log = Log(clock)
    alone, machine = Process(SimulatedMachine(clock, 2), "alone"), SimulatedMachine(clock, 2)
    crowded, _ = [Process(machine, name) for name in "ab"]
    alone.native(1.0, log("alone"), 0.0, is_short=True)
    crowded.native(1.0, log("with a neighbour"), 0.0, is_short=True)
    clock.run()
    assert log.times == {"alone": 0.5, "with a neighbour": 1.0}


def test_a_process_has_one_interpreter(clock):
    machine, log = SimulatedMachine(clock, 4), Log(clock)
    process, other = Process(machine, "a"), Process(machine, "b")
    process.python(1.0, log("first"))
    process.python(1.0, log("second"))
    process.native(4.0, log("native"), 0.0)
    other.python(1.0, log("other"))
    clock.run()
    assert log.times["second"] - log.times["first"] == pytest.approx(1.0)
    assert log.times["other"] == log.times["first"] == 1.0
    assert log.times["native"] == pytest.approx(1.0 + 2.0 / 3.0)  # two cores while two interpreters run, then three


def test_native_code_gets_from_memory_what_is_in_no_cache(clock):
    log = Log(clock)
    for name, extra in (("warm", 0.0), ("cold", 0.5)):
        Process(SimulatedMachine(clock, 1), "a").native(1.0, log(name), 0.0, extra=extra)
    clock.run()
    assert log.times == {"warm": 1.0, "cold": 1.5}


def test_threads_of_native_code_wait_for_each_other_in_a_crowd(clock):
    for others, wanted in ((1, 1.0), (3, 3.0)):  # with a core for itself a process loses nothing; with half of one, half as much again
        clock = Clock()
        machine, log = SimulatedMachine(clock, 2), Log(clock)
        for name in range(1 + others):
            Process(machine, str(name)).native(1.0, log("last"), 0.0, crowded=1.5)
        clock.run()
        assert log.times == {"last": wanted}


def test_native_code_takes_longer_while_others_use_memory_at_the_same_time(clock):
    machine, log = SimulatedMachine(clock, 2), Log(clock)
    for name, seconds in (("a", 1.0), ("b", 2.0)):
        Process(machine, name).native(seconds, log(name), 0.0, uncached=seconds / 2)
    clock.run()
    assert log.times == {"a": 1.5, "b": 2.0}  # when a has ended, b has half of it left, and both cores


def test_a_worker_that_is_busy_is_not_cheaper_for_it(clock):
    machine, log = SimulatedMachine(clock, 1), Log(clock)
    process = Process(machine, "a", Crowding(python=1.5))
    for name in ("first", "second"):
        process.python(1.0, log(name))
    clock.run()
    assert log.times["second"] == 2.0


def test_a_core_that_never_goes_idle_need_not_be_woken(clock):
    machine, log = SimulatedMachine(clock, 1), Log(clock)
    first, second = (Process(machine, name, Crowding(python=0.5)) for name in "ab")
    first.python(1.0, log("woken"))
    second.python(1.0, log("in a crowd"))
    clock.run()
    assert log.times == {"in a crowd": 1.0, "woken": 1.5}


def test_a_process_that_is_busy_reads_several_messages_at_a_time(clock):
    machine, log = SimulatedMachine(clock, 4), Log(clock)
    process = Process(machine, "a", Crowding(queued=0.5))
    process.python(1.0, lambda: process.python(1.0, log("third")))
    process.python(1.0, log("second"))
    clock.run()
    assert log.times == {"second": 1.5, "third": 2.0}  # both had to wait
    process.python(1.0, log("woken again"))
    clock.run()
    assert log.times["woken again"] == 3.0 and process.in_python == 3.0


def test_messages_stand_in_line_at_both_ends(clock):
    fabric, log = Fabric(clock, NetworkSpeed(100.0, 0.5), 0.25), Log(clock)
    a, b, c = (SimulatedMachine(clock, 1, name) for name in "abc")
    fabric.send(a, b, 100.0, log("a to b"))
    fabric.send(a, c, 100.0, log("a to c"))   # behind the first, on its way out
    fabric.send(c, b, 100.0, log("c to b"))   # behind the first, on its way in
    fabric.send(b, b, 100.0, log("inside"))
    clock.run()
    assert log.times == {"inside": 0.25, "a to b": 1.5, "a to c": 2.5, "c to b": 2.5}
    assert (fabric.link(a).sent, fabric.link(b).received) == (200.0, 200.0)


def test_time_ends_where_it_is_told_to(clock):
    seen: list[float] = []
    for time in (1.0, 2.0, 3.0):
        clock.after(time, lambda: seen.append(clock.now))
    clock.run(until=2.5)
    assert (seen, clock.now) == ([1.0, 2.0], 2.5)
    clock.run()
    assert seen == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("text", ["", "fast", "10Gbit", "10Gbit,50", "0Gbit,1us", "-1Gbit,1us", "10Gbyte,1us", "1.2.3Gbit,1us", "1Gbit,.us"])
def test_what_is_not_a_network(text):
    with pytest.raises(ValueError, match="10Gbit,50us"):
        NetworkSpeed.parse(text)


@pytest.mark.parametrize("text", ["", "slow", "pareto:20ms", "exponential:20ms,3", "pareto:20,1.5", "exponential:0ms", "pareto:20ms,0",
                                  "pareto:1.2.3ms,1"])
def test_what_is_not_a_straggler(text):
    with pytest.raises(ValueError, match=r"pareto:20ms,1\.5"):
        Straggling.parse(text)
