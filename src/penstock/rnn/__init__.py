"""Recurrent networks: cells, what unrolls them over time, and models that turn a sequence into another one."""
