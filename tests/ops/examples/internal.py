"""Examples of the runtime's own ops: they only make sense inside a plan, so they are only built."""
from support.examples import example, normal

example("_Arg", T="float32", index=0, run=False)
example("_Retval", normal(2), index=0, run=False)
example("_Send", normal(2), tensor_name="edge", send_device="/cpu:0", recv_device="/cpu:1", run=False)
example("_Recv", tensor_type="float32", tensor_name="edge", send_device="/cpu:0", recv_device="/cpu:1", run=False)
