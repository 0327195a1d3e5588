"""The program of a step: pruned out of a graph (``ir.py``), placed (``devices.py``), simplified (``passes/``), cut by device (``partition.py``)."""
