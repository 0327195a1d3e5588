"""Variables: reading, writing, training, saving."""
