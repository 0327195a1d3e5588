"""Running a program: plans, the executor, frames of control flow, native regions and what NumPy runs instead, failures."""
from __future__ import annotations

from penstock.execute.cpu import Cpu
from penstock.program.devices import register

register(Cpu())
