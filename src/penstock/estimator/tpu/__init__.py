"""``tf.contrib.tpu``: programs for TPUs, which run on the CPUs of the machine or cluster."""
