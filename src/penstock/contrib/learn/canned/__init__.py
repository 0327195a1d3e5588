"""The canned estimators of ``tf.contrib.learn``: linear models, networks, both together, recurrent networks."""
