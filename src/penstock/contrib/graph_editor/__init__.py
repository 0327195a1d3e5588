"""``tf.contrib.graph_editor``: operations and tensors, chosen by name or by what they depend on; inputs that are moved to other tensors."""
