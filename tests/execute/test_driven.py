"""Parts of steps that have no thread of their own: who brings what they wait for goes on with them."""
import threading
import time

import pytest

import penstock as tf
from penstock import errors
from penstock.execute.environment import Environment
from penstock.execute.pipeline import Pipeline
from penstock.execute.step import Step
from penstock.program.devices import local_devices

PATIENCE = 10.0


def plan_of(pipeline, fetches, targets=()):
    program = pipeline.prune(fetches, targets, ())
    return pipeline.pack(pipeline.place(program, pipeline.environment.devices), native=False)


class Running:
    """A part under way: its step, and how it ended."""

    def __init__(self, pipeline, fetches, targets=()):
        self.step, self.ended, self.values, self.error = Step(), threading.Event(), None, None

        plan = plan_of(pipeline, fetches, targets).drivable

        def done(error):
            self.error = error
            self.values = plan.fetched([self.run.slots]) if error is None else None
            self.ended.set()

        self.run = plan.drive([], self.step, done)
        self.run.begin()

    def result(self):
        assert self.ended.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return self.values


@pytest.fixture
def pipeline():
    with tf.Graph().as_default():
        yield Pipeline(Environment(local_devices(tf.ConfigProto())))


def pool_threads():
    return sum(thread.name == "penstock-kernel" for thread in threading.enumerate())


def queue_of(capacity=10):
    queue = tf.FIFOQueue(capacity, tf.int32, shapes=())
    value = tf.Variable(0)
    return queue, queue.enqueue(tf.constant(7)), value


def test_a_dequeue_waits_without_a_thread_and_the_enqueuer_goes_on_with_it(pipeline):
    queue, enqueue, _ = queue_of()
    taken = queue.dequeue() + 1
    before = pool_threads()
    first, second = Running(pipeline, [taken]), Running(pipeline, [taken])
    assert not first.ended.is_set() and pool_threads() == before
    Running(pipeline, [], [enqueue]).result()
    assert first.ended.is_set() and first.result() == [8], "in the enqueuer's thread, at once"
    assert not second.ended.is_set(), "who came first is served first"
    Running(pipeline, [], [enqueue]).result()
    assert second.result() == [8]


def test_who_leaves_the_line_lets_the_next_one_pass(pipeline):
    queue, enqueue, _ = queue_of()
    first, second = Running(pipeline, [queue.dequeue()]), Running(pipeline, [queue.dequeue()])
    first.step.cancel(errors.CancelledError(None, None, "enough"))
    with pytest.raises(errors.CancelledError, match="enough"):
        first.result()
    Running(pipeline, [], [enqueue]).result()
    assert second.result() == [7]
    Running(pipeline, [], [enqueue]).result()
    assert Running(pipeline, [queue.size()]).result() == [1], "nothing was lost with the first"


def test_the_end_of_a_queue_reaches_who_is_suspended(pipeline):
    queue, _, _ = queue_of()
    waiting = [Running(pipeline, [queue.dequeue()]) for _ in range(3)]
    Running(pipeline, [], [queue.close()]).result()
    for one in waiting:
        with pytest.raises(errors.OutOfRangeError):
            one.result()


def test_an_enqueue_without_room_waits_in_a_thread_and_puts_each_element_once(pipeline):
    queue = tf.FIFOQueue(3, tf.int32, shapes=())
    put, take = queue.enqueue_many([tf.range(5)]), queue.dequeue()
    putting = Running(pipeline, [], [put])
    time.sleep(0.05)
    assert not putting.ended.is_set()
    assert [Running(pipeline, [take]).result()[0] for _ in range(5)] == [0, 1, 2, 3, 4]
    putting.result()
    assert Running(pipeline, [queue.size()]).result() == [0]


def test_dequeue_many_takes_nothing_until_it_can_wait(pipeline):
    queue, enqueue, _ = queue_of()
    many = Running(pipeline, [queue.dequeue_many(3)])
    for _ in range(3):
        assert not many.ended.is_set()
        Running(pipeline, [], [enqueue]).result()
    assert many.result()[0].tolist() == [7, 7, 7]


def test_an_accumulator_wakes_its_taker_when_there_are_enough(pipeline):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=())
    apply, take = accumulator.apply_grad(tf.constant(3.0), 0), accumulator.take_grad(2)
    taking = Running(pipeline, [take])
    Running(pipeline, [], [apply]).result()
    assert not taking.ended.is_set()
    Running(pipeline, [], [apply]).result()
    assert taking.ended.is_set() and taking.result() == [3.0]
    given_up = Running(pipeline, [take])
    given_up.step.cancel(errors.AbortedError(None, None, "over"))
    with pytest.raises(errors.AbortedError):
        given_up.result()


def test_threads_that_wait_and_suspended_kernels_stand_in_one_line(pipeline):
    queue, enqueue, _ = queue_of()
    take = queue.dequeue()
    plan = plan_of(pipeline, [take])
    first = Running(pipeline, [take])
    got = []

    def work():
        got.extend(plan.run([], Step()))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.05)
    third = Running(pipeline, [take])
    for count in range(1, 4):
        Running(pipeline, [], [enqueue]).result()
        if count == 2:
            thread.join(PATIENCE)
        assert first.ended.wait(PATIENCE)
        assert (count == 3) == third.ended.wait(0.05 if count < 3 else PATIENCE)
    assert got == [7]


def test_many_tokens_from_many_threads(pipeline):
    queue, enqueue, _ = queue_of(-1)
    taking = [Running(pipeline, [queue.dequeue()]) for _ in range(50)]
    threads = [threading.Thread(target=lambda: [Running(pipeline, [], [enqueue]).result() for _ in range(10)]) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [one.result() for one in taking] == [[7]] * 50


def test_an_error_ends_the_part_and_what_it_waits_for(pipeline):
    queue, _, _ = queue_of()
    with tf.control_dependencies([tf.Assert(tf.constant(False), ["no"])]):
        bad = tf.identity(tf.constant(1))
    part = Running(pipeline, [queue.dequeue(), bad])
    with pytest.raises(errors.InvalidArgumentError):
        part.result()
    assert not queue_has_a_line(pipeline, queue)


def queue_has_a_line(pipeline, queue):
    state = next(item for (_, _, kind), item in pipeline.environment.resources.items() if kind == "FIFOQueue")
    return bool(state._dequeuing)
