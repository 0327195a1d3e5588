"""``tf.keras`` on the graph engine.

Read it in this order: ``engine/`` (what a model is, and how it trains), ``layers/``, ``losses.py``, ``metrics/``, ``optimizers/``, ``callbacks/``,
``saving/``. A model is a graph of layers, which are called on placeholders once. ``compile`` adds the loss and the metrics to the same graph; a batch
is one run of a session (``backend/steps.py``).
"""
