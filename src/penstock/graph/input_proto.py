"""The protocol buffers of input pipelines: QueueRunnerDef, and the saved state of a reader."""
from __future__ import annotations

from penstock import errors
from penstock.platform.proto import messages

_CODES = {name: number for name, number in vars(errors).items() if name.isupper() and type(number) is int}  # TYPE_CHECKING is a bool

QueueRunnerDef, ReaderBaseState = messages("input.proto", f"""
    enum Code {{ {"".join(f"{name} = {number}; " for name, number in _CODES.items())} }}
    message QueueRunnerDef {{
        string queue_name = 1;
        repeated string enqueue_op_name = 2;
        string close_op_name = 3;
        string cancel_op_name = 4;
        repeated Code queue_closed_exception_types = 5;
    }}
    message ReaderBaseState {{
        int64 work_started = 1;
        int64 work_finished = 2;
        int64 num_records_produced = 3;
        bytes current_work = 4;
    }}
    """, "QueueRunnerDef", "ReaderBaseState")
