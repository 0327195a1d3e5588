"""The language of protocol buffers, as far as it is read."""
from __future__ import annotations

import pytest
from tensorboard.compat.proto import tensor_shape_pb2

from penstock.platform.proto import messages


def test_all_that_is_understood():
    (outer,) = messages("test_all.proto", """
        enum Colour { RED = 0; BLUE = 5; }  // of what
        message Outer {
            message Inner { int64 number = 1; repeated string names = 3; }
            repeated Inner inner = 1;
            map<string, Inner> by_name = 2;
            map<int64, float> by_number = 4;
            oneof choice { bool yes = 6; bytes text = 7; }
            Colour colour = 8;
            repeated Colour colours = 9;
        }""", "Outer")
    made = outer(colour=5, colours=[0, 5], text=b"t")
    made.inner.add(number=-1, names=["a", "b"])
    made.by_name["k"].number = 7
    made.by_number[3] = 0.5
    found = outer.FromString(made.SerializeToString())
    assert found == made and found.WhichOneof("choice") == "text" and found.by_name["k"].number == 7
    assert outer(colour=5).SerializeToString() == b"\x40\x05" and outer(colours=[0, 5]).SerializeToString() == b"\x4a\x02\x00\x05"


def test_messages_of_others():
    (holder,) = messages("test_others.proto", "message Holder { TensorShapeProto shape = 1; }", "Holder", package="penstock.test",
                         borrowed=[tensor_shape_pb2])
    assert isinstance(holder().shape, tensor_shape_pb2.TensorShapeProto)


@pytest.mark.parametrize("text", ["service Greeter { }", "message M { int64 n 1; }", "message M { map<string> m = 1; }"])
def test_what_is_not_understood(text):
    with pytest.raises(ValueError, match=r"should stand where|neither a message nor an enum"):
        messages("test_wrong.proto", text, "M")
