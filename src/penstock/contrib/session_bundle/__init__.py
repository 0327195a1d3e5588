"""``tf.contrib.session_bundle``: models for serving in the format of before SavedModels."""
