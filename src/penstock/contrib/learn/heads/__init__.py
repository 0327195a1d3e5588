"""The heads of ``tf.contrib.learn``: what stands on the logits of a model. Predictions, loss, metrics and exports."""
