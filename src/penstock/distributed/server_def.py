"""ServerDef, the protocol buffer that describes one task of a cluster, wire-compatible with TensorFlow's."""
from __future__ import annotations

from tensorboard.compat.proto import cluster_pb2, config_pb2

from penstock.platform.proto import messages

ServerDef, = messages("server.proto", """
    message ServerDef {
        ClusterDef cluster = 1; string job_name = 2; int32 task_index = 3; ConfigProto default_session_config = 4; string protocol = 5;
    }""", "ServerDef", package="penstock", borrowed=(cluster_pb2, config_pb2))
