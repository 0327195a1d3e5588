"""Layers: the one Layer base of ``tf.layers``, recurrent cells and Keras; the layers themselves; losses, metrics, regularizers, constraints.

``base.Layer`` is ``tf.keras.layers.Layer``; ``scoped.Layer`` adds variable scopes and is ``tf.layers.Layer``. A layer such as Dense is written
once, over the former (``dense.py``); the class that ``tf.layers`` publishes mixes in the latter (``scoped_layers.py``).
"""
