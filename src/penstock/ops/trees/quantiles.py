"""Quantiles of float features, which become their buckets. The state is a ``penstock.state.quantiles.QuantileStreams``."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import count
from penstock.graph.opdef import op
from penstock.ops.common import nothing
from penstock.ops.queues.handles import SHARING, plain
from penstock.ops.trees.resources import Handle, IsInitialized, created
from penstock.state import quantiles

_HANDLE = "quantile_stream_resource_handle: resource"


@op("BoostedTreesQuantileStreamResourceHandleOp", "-> resource: resource", **SHARING)
class BoostedTreesQuantileStreamResourceHandleOp(Handle):
    """A handle of streams whose quantiles are wanted."""

    _resource = quantiles.QuantileStreams


@op("IsBoostedTreesQuantileStreamResourceInitialized", f"{_HANDLE} -> is_initialized: bool")
class IsBoostedTreesQuantileStreamResourceInitialized(IsInitialized):
    """True if the streams have been created."""


@op("BoostedTreesCreateQuantileStreamResource", f"{_HANDLE}, epsilon: float, num_streams: int64 ->", max_elements=1 << 40)
class BoostedTreesCreateQuantileStreamResource:
    """Creates streams, unless there are some."""

    stateful = True
    ranks = {"epsilon": 0, "num_streams": 0}
    shape = nothing()
    gradient = None

    def kernel(quantile_stream_resource_handle, epsilon, num_streams, max_elements):
        if epsilon <= 0:
            raise invalid_argument("An epsilon value of zero is not allowed.")
        plain(quantile_stream_resource_handle).create(float(epsilon), max_elements, int(num_streams))
        return ()


@op("BoostedTreesMakeQuantileSummaries", "float_values: num_features * float, example_weights: float, epsilon: float -> "
    "summaries: num_features * float", num_features=count())
class BoostedTreesMakeQuantileSummaries:
    """A summary of a batch of each feature: [entries, 4]."""

    dynamic_shape = True
    ranks = {"epsilon": 0}
    gradient = None

    def shape(float_values):
        return [[None, 4]] * len(float_values)

    def kernel(float_values, example_weights, epsilon):
        weights, summaries = example_weights.ravel(), []
        for values in float_values:
            batch = values.size
            if weights.size not in (1, batch):
                raise invalid_argument(f"Weights should be a single value or same size as features: {weights.size} weights, {batch} values.")
            stream = quantiles.QuantileStream(float(epsilon), batch + 1)
            stream.push(values.ravel(), np.broadcast_to(weights, batch))
            summaries.append(stream.final_summary())
        return tuple(summaries)


@op("BoostedTreesQuantileStreamResourceAddSummaries", f"{_HANDLE}, summaries: num_features * float ->", num_features=count())
class BoostedTreesQuantileStreamResourceAddSummaries:
    """Adds a summary to each stream."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(quantile_stream_resource_handle, summaries):
        created(quantile_stream_resource_handle).add_summaries(summaries)
        return ()


@op("BoostedTreesFlushQuantileSummaries", f"{_HANDLE} -> summaries: num_features * float", num_features=count())
class BoostedTreesFlushQuantileSummaries:
    """Takes what the streams hold, as summaries."""

    stateful = dynamic_shape = True
    gradient = None

    def shape(num_features):
        return [[None, 4]] * num_features

    def kernel(quantile_stream_resource_handle):
        return tuple(created(quantile_stream_resource_handle).take_summaries())


@op("BoostedTreesQuantileStreamResourceFlush", f"{_HANDLE}, num_buckets: int64 ->", generate_quantiles=False)
class BoostedTreesQuantileStreamResourceFlush:
    """Makes boundaries of what the streams hold; they are empty then."""

    stateful = True
    ranks = {"num_buckets": 0}
    shape = nothing()
    gradient = None

    def kernel(quantile_stream_resource_handle, num_buckets, generate_quantiles):
        streams, number = created(quantile_stream_resource_handle), int(num_buckets)
        summaries = streams.take_summaries()
        streams.boundaries = [quantiles.quantiles(each, number - 1) if generate_quantiles else quantiles.boundaries(each, number)
                              for each in summaries]
        return ()


@op("BoostedTreesQuantileStreamResourceDeserialize", f"{_HANDLE}, bucket_boundaries: num_streams * float ->", num_streams=count(1))
class BoostedTreesQuantileStreamResourceDeserialize:
    """Restores boundaries."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(quantile_stream_resource_handle, bucket_boundaries):
        created(quantile_stream_resource_handle).boundaries = list(bucket_boundaries)
        return ()


@op("BoostedTreesQuantileStreamResourceGetBucketBoundaries", f"{_HANDLE} -> bucket_boundaries: num_features * float", num_features=count())
class BoostedTreesQuantileStreamResourceGetBucketBoundaries:
    """The boundaries of each feature."""

    stateful = dynamic_shape = True
    gradient = None

    def shape(num_features):
        return [[None]] * num_features

    def kernel(quantile_stream_resource_handle):
        return tuple(created(quantile_stream_resource_handle).boundaries)


@op("BoostedTreesBucketize", "float_values: num_features * float, bucket_boundaries: num_features * float -> buckets: num_features * int32",
    num_features=count())
class BoostedTreesBucketize:
    """The bucket of each number: the first whose boundary is not below it, or the last."""

    gradient = None

    def shape(float_values):
        return [values.shape for values in float_values]

    def kernel(float_values, bucket_boundaries):
        return tuple(np.minimum(np.searchsorted(boundaries, values), max(len(boundaries) - 1, 0)).astype(np.int32)
                     for values, boundaries in zip(float_values, bucket_boundaries))
