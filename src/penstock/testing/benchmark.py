"""``tf.test.Benchmark``: how long a session takes to run an operation."""
from __future__ import annotations

import time
from typing import Any

import numpy as np
from tensorboard.compat.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

from penstock.session.session import Session


def benchmark_config() -> ConfigProto:
    """The configuration for benchmarks: without optimizations that could remove what is measured."""
    config = ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = RewriterConfig.OFF
    return config


class Benchmark:
    """A base class for benchmarks: methods named ``benchmark...`` call `run_op_benchmark` and `report_benchmark`."""

    def _get_name(self, overwrite_name: str | None = None) -> str:
        return overwrite_name or type(self).__name__

    def report_benchmark(self, iters: int | None = None, cpu_time: float | None = None, wall_time: float | None = None,
                         throughput: float | None = None, extras: dict[str, Any] | None = None, name: str | None = None,
                         metrics: list[dict[str, Any]] | None = None) -> None:
        """Prints one result."""
        measured = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput, "extras": extras, "metrics": metrics}
        print(self._get_name(name), *(f"{key}: {value}" for key, value in measured.items() if value is not None))

    def run_op_benchmark(self, sess: Any, op_or_tensor: Any, feed_dict: Any = None, burn_iters: int = 2, min_iters: int = 10,
                         store_trace: bool = False, store_memory_usage: bool = True, name: str | None = None,
                         extras: dict[str, Any] | None = None, mbs: float = 0) -> dict[str, Any]:
        """Runs an operation ``min_iters`` times after ``burn_iters`` times, reports the median time and returns the measurements."""
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict=feed_dict)
        seconds = np.array([self._seconds(sess, op_or_tensor, feed_dict) for _ in range(min_iters)])
        extras = dict(extras or {})
        extras.update(wall_time_mean=float(seconds.mean()), wall_time_stdev=float(seconds.std()))
        if store_trace:
            metadata = RunMetadata()
            sess.run(op_or_tensor, feed_dict=feed_dict, options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=metadata)
            extras["full_trace_chrome_format"] = str(metadata.step_stats)
        median = float(np.median(seconds))
        throughput = mbs / median if mbs else None
        self.report_benchmark(iters=min_iters, wall_time=median, throughput=throughput, extras=extras, name=name)
        return {"iters": min_iters, "wall_time": median, "throughput": throughput, "extras": extras, "name": self._get_name(name)}

    @staticmethod
    def _seconds(sess: Any, op_or_tensor: Any, feed_dict: Any) -> float:
        start = time.perf_counter()
        sess.run(op_or_tensor, feed_dict=feed_dict)
        return time.perf_counter() - start

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in a session of their own."""
        with Session() as session:
            return session.run(tensors)
