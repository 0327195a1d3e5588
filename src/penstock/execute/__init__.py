"""Running a program: plans, the executor, frames of control flow, native regions and what NumPy runs instead, failures."""
