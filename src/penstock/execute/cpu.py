"""The host as a device kind: NumPy kernels, and regions of native code."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.execute.blockwise import in_blocks, runs_in_blocks
from penstock.execute.recheck import kernel_with_check, result_checked
from penstock.program.devices import Device, DeviceKind
from penstock.program.ir import Node, RegionBody, carries_reference
from penstock.state.resources import Ref


class Cpu(DeviceKind):
    """The processors of this machine. One device or several make no difference to speed: they show how programs are placed and cut."""

    name = "CPU"
    priority = 70
    native = True

    def devices(self, config: Any, task: str, incarnation: int) -> list[Device]:
        """At least one: the host reads files, and runs what no other device can."""
        return super().devices(config, task, incarnation) or [Device.named(f"{task}/device:{self.name}:0", incarnation=incarnation)]

    def supports(self, node: Node) -> bool:
        """It runs everything: an op without a NumPy kernel says so when it runs."""
        return True

    def kernel(self, node: Node, context: Any) -> Callable[..., Any]:
        """The op's NumPy kernel, in blocks where arrays may be large, behind the checks that had to wait for the inputs."""
        kernel = in_blocks(node, node.definition.bind(node, context))
        if not node.definition.__module__.startswith("penstock."):
            kernel = result_checked(node, kernel)  # ours are held to their word by the tests, users' here
        kernel = kernel_with_check(node, kernel)
        return _borrowing(kernel) if node.definition.borrows and any(map(carries_reference, node.inputs)) else kernel

    def region(self, body: RegionBody, environment: Any, interpret: Any) -> Any:
        """Native code, made when the shapes are known."""
        from penstock.execute.region import RegionRun  # brings in LLVM

        return RegionRun(body, environment, interpret)

    def reuses_inputs(self, node: Node) -> bool:
        """Those that run in blocks do."""
        return runs_in_blocks(node)


def _borrowing(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, which holds the variables among its inputs for no longer than it runs: a write at this moment waits and does not copy."""
    def borrow_and_run(*inputs: Any) -> Any:
        values, borrowed = list(inputs), []
        try:
            for position, value in enumerate(inputs):
                if isinstance(value, Ref):
                    values[position] = value.borrow()
                    borrowed.append(value)
            return kernel(*values)
        finally:
            values.clear()
            for ref in borrowed:
                ref.give_back()

    return borrow_and_run
