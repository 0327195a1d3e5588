"""``tf.contrib.constrained_optimization``: an objective under constraints, as a game of two players (Cotter, Jiang, Sridharan 2018)."""
