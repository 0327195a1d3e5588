"""``tf.train.Example``: the bytes are TensorFlow's."""
from __future__ import annotations

from penstock.graph.example_proto import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)

FEATURES = Features(feature={"b": Feature(int64_list=Int64List(value=[1, -2, 300])), "a": Feature(bytes_list=BytesList(value=[b"x"])),
                             "c": Feature(float_list=FloatList(value=[0.5, 2]))})
# Recorded from TensorFlow 1.15.
EXAMPLE = "0a370a0a0a016112050a030a01780a160a016212111a0f0a0d01feffffffffffffffff01ac020a110a0163120c120a0a080000003f00000040"
SEQUENCE = EXAMPLE + "120e0a0c0a017112070a051a030a0107"


def test_bytes():
    assert Example(features=FEATURES).SerializeToString(deterministic=True).hex() == EXAMPLE
    lists = FeatureLists(feature_list={"q": FeatureList(feature=[Feature(int64_list=Int64List(value=[7]))])})
    assert SequenceExample(context=FEATURES, feature_lists=lists).SerializeToString(deterministic=True).hex() == SEQUENCE


def test_reading():
    example = Example.FromString(bytes.fromhex(EXAMPLE))
    assert list(example.features.feature["b"].int64_list.value) == [1, -2, 300]
    assert example.features.feature["a"].WhichOneof("kind") == "bytes_list"
    example.features.feature["new"].float_list.value.append(1.5)
    assert Example.FromString(example.SerializeToString()) == example
