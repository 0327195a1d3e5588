"""The program of a step: pruned out of a graph (``ir.py``), placed (``placement.py``), simplified (``passes/``), given copies between memories
(``copies.py``), cut by device (``partition.py``). The registry of device kinds is in ``devices.py``.
"""
