"""Which nodes of a program run together as native code."""
