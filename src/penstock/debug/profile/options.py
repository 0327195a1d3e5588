"""``tf.profiler.ProfileOptionBuilder``: what a profile shows, as a dictionary."""
from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

_DEFAULTS: dict[str, Any] = {
    "max_depth": 100, "min_bytes": 0, "min_micros": 0, "min_params": 0, "min_float_ops": 0, "min_occurrence": 0, "order_by": "name",
    "account_type_regexes": [".*"], "start_name_regexes": [".*"], "trim_name_regexes": [], "show_name_regexes": [".*"], "hide_name_regexes": [],
    "account_displayed_op_only": False, "select": ["micros"], "step": -1, "output": "stdout"}


class ProfileOptionBuilder:
    """Builds options; each method returns the builder, ``build()`` the options.

    >>> ProfileOptionBuilder(ProfileOptionBuilder.float_operation()).with_max_depth(2).build()["max_depth"]
    2
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = copy.deepcopy(options if options is not None else _DEFAULTS)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """The number of parameters of each trainable variable."""
        return {**copy.deepcopy(_DEFAULTS), "max_depth": 10000, "account_type_regexes": ["_trainable_variables"], "account_displayed_op_only": True,
                "select": ["params"]}

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """The float operations of each node."""
        return {**copy.deepcopy(_DEFAULTS), "max_depth": 10000, "min_float_ops": 1, "order_by": "float_ops", "account_displayed_op_only": True,
                "select": ["float_ops"]}

    @staticmethod
    def time_and_memory(min_micros: int = 1, min_bytes: int = 1, min_accelerator_micros: int = 0, min_cpu_micros: int = 0, min_peak_bytes: int = 0,
                        min_residual_bytes: int = 0, min_output_bytes: int = 0) -> dict[str, Any]:
        """How long each node ran, and how much memory it asked for."""
        return {**copy.deepcopy(_DEFAULTS), "max_depth": 10000, "min_bytes": min_bytes, "min_peak_bytes": min_peak_bytes,
                "min_residual_bytes": min_residual_bytes, "min_output_bytes": min_output_bytes, "min_micros": min_micros,
                "min_accelerator_micros": min_accelerator_micros, "min_cpu_micros": min_cpu_micros, "order_by": "micros",
                "account_displayed_op_only": True, "select": ["micros", "bytes"]}

    def build(self) -> dict[str, Any]:
        """The options."""
        return copy.deepcopy(self._options)

    def _with(self, **changes: Any) -> ProfileOptionBuilder:
        self._options.update(changes)
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows no more levels than this."""
        return self._with(max_depth=max_depth)

    def with_min_memory(self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0,
                        min_output_bytes: int = 0) -> ProfileOptionBuilder:
        """Shows only what asked for this much memory."""
        return self._with(min_bytes=min_bytes, min_peak_bytes=min_peak_bytes, min_residual_bytes=min_residual_bytes,
                          min_output_bytes=min_output_bytes)

    def with_min_execution_time(self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0) -> ProfileOptionBuilder:
        """Shows only what ran for this long."""
        return self._with(min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros)

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows only variables of this size."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows only types of which there are so many nodes."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows only nodes with so many float operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Iterable[str]) -> ProfileOptionBuilder:
        """Counts only nodes of which a type (its op, its device, ``_trainable_variables``) matches."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(self, start_name_regexes: Iterable[str] | None = None, show_name_regexes: Iterable[str] | None = None,
                        hide_name_regexes: Iterable[str] | None = None, trim_name_regexes: Iterable[str] | None = None) -> ProfileOptionBuilder:
        """Chooses nodes by their names."""
        given = {"start_name_regexes": start_name_regexes, "show_name_regexes": show_name_regexes, "hide_name_regexes": hide_name_regexes,
                 "trim_name_regexes": trim_name_regexes}
        return self._with(**{key: list(value) for key, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Whether totals are sums over what is shown."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Prints nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints to the standard output."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Prints to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Writes a Chrome trace of the step."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Writes a profile for pprof; only ``cmd="code"`` can."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """What nodes are sorted by: name, bytes, micros, params, float_ops, occurrence, ..."""
        return self._with(order_by=attribute)

    def select(self, attributes: Iterable[str]) -> ProfileOptionBuilder:
        """What is shown of each node: bytes, micros, params, float_ops, occurrence, device, op_types, ..."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Which of the steps that were added; -1 for the mean of all."""
        return self._with(step=step)
