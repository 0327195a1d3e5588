"""Kernels that are not plain loops over elements. An op's ``native`` calls them through the emitter: ``emit.move.concat(...)``.

    emit.move       moves.py, copying.py, views.py                  emit.order     ordering.py, sorting.py
    emit.index      indexing.py, rows.py, row_rules.py, segments.py emit.scans     scans.py
    emit.windows    pooling.py, pooling_kernel.py, lrn.py           emit.images    resampling.py
    emit.blocks     space_to_depth.py                               emit.random    randomness.py
    emit.arrays     arrays.py

``axes.py`` is what all share.
"""
