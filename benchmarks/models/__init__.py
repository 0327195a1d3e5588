"""The models of the benchmarks: the same step, written once for the TensorFlow 1 API, once for PyTorch and once for JAX."""
