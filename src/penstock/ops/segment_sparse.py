"""Reductions over segments of *gathered* rows: ``SparseSegmentSum(data, indices, ids)`` is ``SegmentSum(gather(data, indices), ids)``
without the gathered copy; and the unsorted means."""
from __future__ import annotations
