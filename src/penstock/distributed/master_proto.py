"""The messages of TensorFlow's MasterService, wire-compatible: those that tensorboard's protocol buffers lack."""
from __future__ import annotations

import re

from tensorboard.compat.proto import config_pb2, graph_pb2, tensor_pb2

from penstock.platform.proto import messages

_TEXT = """
message NamedTensor { string name = 1; TensorProto tensor = 2; }
message DeviceAttributes { string name = 1; string device_type = 2; int64 memory_limit = 4; fixed64 incarnation = 6; }
message CreateSessionRequest { GraphDef graph_def = 1; ConfigProto config = 2; string target = 3; }
message CreateSessionResponse { string session_handle = 1; int64 graph_version = 2; }
message ExtendSessionRequest { string session_handle = 1; GraphDef graph_def = 2; int64 current_graph_version = 3; }
message ExtendSessionResponse { int64 new_graph_version = 4; }
message RunStepRequest { string session_handle = 1; repeated NamedTensor feed = 2; repeated string fetch = 3; repeated string target = 4;
    RunOptions options = 5; string partial_run_handle = 6; bool store_errors_in_response_body = 7; int64 request_id = 8; }
message RunStepResponse { repeated NamedTensor tensor = 1; RunMetadata metadata = 2; int32 status_code = 3; string status_error_message = 4; }
message PartialRunSetupRequest { string session_handle = 1; repeated string feed = 2; repeated string fetch = 3; repeated string target = 4;
    int64 request_id = 5; }
message PartialRunSetupResponse { string partial_run_handle = 1; }
message CloseSessionRequest { string session_handle = 1; }
message CloseSessionResponse {}
message ResetRequest { repeated string container = 1; repeated string device_filters = 2; }
message ResetResponse {}
message ListDevicesRequest { string session_handle = 1; }
message ListDevicesResponse { repeated DeviceAttributes local_device = 1; repeated DeviceAttributes remote_device = 2; }
message MakeCallableRequest { string session_handle = 1; CallableOptions options = 2; int64 request_id = 3; }
message MakeCallableResponse { int64 handle = 1; }
message RunCallableRequest { string session_handle = 1; int64 handle = 2; repeated TensorProto feed = 3; int64 request_id = 4; }
message RunCallableResponse { repeated TensorProto fetch = 1; RunMetadata metadata = 2; }
message ReleaseCallableRequest { string session_handle = 1; int64 handle = 2; }
message ReleaseCallableResponse {}
"""
_names = re.findall(r"message (\w+)", _TEXT)
_classes = dict(zip(_names, messages("master.proto", _TEXT, *_names, package="penstock.master", borrowed=(config_pb2, graph_pb2, tensor_pb2))))
REQUESTS = {name.removesuffix("Request"): each for name, each in _classes.items() if name.endswith("Request")}
RESPONSES = {name.removesuffix("Response"): each for name, each in _classes.items() if name.endswith("Response")}
