"""Input pipelines: ``tf.data``. The operations behind them are in ``ops/data/dataset_*.py`` and ``ops/data/iterator.py``."""
