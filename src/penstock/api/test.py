"""``tf.test``: test cases, and questions about the machine."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.testing.case": "TestCase main get_temp_dir test_src_dir_path",
    "penstock.testing.benchmark": "Benchmark benchmark_config",
    "penstock.testing.gradient_checker": "compute_gradient compute_gradient_error",
    "penstock.testing.local_devices": "is_gpu_available is_built_with_cuda is_built_with_rocm is_built_with_gpu_support gpu_device_name",
    "penstock.testing.graphs": "assert_equal_graph_def",
    "penstock.testing.local_cluster": "create_local_cluster",
    "penstock.testing.stubs": "StubOutForTesting",
    "unittest.mock:": "mock",
}
publish(__name__, TABLE)
