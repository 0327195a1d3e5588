"""Queues, barriers, accumulators, tables and readers."""
