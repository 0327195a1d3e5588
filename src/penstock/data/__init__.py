"""Input pipelines: ``tf.data``. The operations behind them are in ``ops/dataset_*.py`` and ``ops/data/iterator.py``."""
