"""Kernels that are no plain loops over elements. An op's ``native`` calls them through the emitter: ``emit.move.concat(...)``.

    emit.move       moves.py, copying.py, views.py          emit.order     ordering.py, sorting.py
    emit.index      indexing.py, rows.py, segments.py       emit.scans     scans.py
    emit.windows    windows.py, pooling.py, lrn.py          emit.volumes   volumes.py
    emit.blocks     blocks.py                               emit.images    resampling.py
    emit.random     randomness.py                           emit.arrays    arrays.py

``tracing.py`` makes kernels of the rules of optimizers; ``layout.py`` is what all share.
"""
