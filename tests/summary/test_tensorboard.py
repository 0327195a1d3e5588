"""The real TensorBoard reads what Penstock writes: what its pages ask for, without the pages. (They are in tests/browser.)"""
from __future__ import annotations

import json
import time
import urllib.error

import pytest
from google.protobuf import text_format
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef

from support.board import tensorboard, write_log

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("log"))
    write_log(folder)
    with tensorboard(folder) as running:
        deadline = time.monotonic() + 30
        while json.loads(running.get("/data/runs")) != ["."]:  # it reads the files in a thread
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield running


def ask(board, path):
    return json.loads(board.get(f"/data/plugin/{path}"))


def test_scalars(board):
    assert ask(board, "scalars/tags") == {".": {"loss": {"displayName": "loss", "description": ""}}}
    points = ask(board, "scalars/scalars?tag=loss&run=.")
    assert [(step, value) for _, step, value in points] == [(0, 0.0), (1, 4.0), (2, 8.0)]


def test_histograms(board):
    found = ask(board, "histograms/histograms?tag=activations&run=.")
    assert [step for _, step, _ in found] == [0, 1, 2]
    _, _, bins = found[2]
    assert sum(count for _, _, count in bins) == 15 and all(low <= 8 <= high for low, high, count in bins if count)


def test_images(board):
    tags = ask(board, "images/tags")["."]
    assert list(tags) == ["picture/image/0"]
    pictures = ask(board, "images/images?tag=picture/image/0&run=.&sample=0")
    assert [picture["step"] for picture in pictures] == [0, 1, 2]
    assert board.get(f"/data/plugin/images/individualImage?{pictures[0]['query']}").startswith(b"\x89PNG")


def test_the_graph_with_devices_and_shapes(board):
    graph = text_format.Parse(board.get("/data/plugin/graphs/graph?run=.").decode(), GraphDef())
    nodes = {node.name: node for node in graph.node}
    assert nodes["layer/y"].op == "MatMul" and list(nodes["layer/y"].input) == ["x", "layer/w/read"]
    assert nodes["layer/y"].device == "/device:CPU:1" and nodes["x"].device == ""
    assert [dim.size for dim in nodes["layer/y"].attr["_output_shapes"].list.shape[0].dim] == [-1, 3]


def test_run_statistics(board):
    assert ask(board, "graphs/info")["."]["tags"]["step 2"]["profile"]
    metadata = text_format.Parse(board.get("/data/plugin/graphs/run_metadata?tag=step%202&run=.").decode(), RunMetadata())
    stats = {node.node_name: node for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert stats["layer/y"].all_end_rel_micros >= 1 and {device.device[-5:] for device in metadata.step_stats.dev_stats} == {"CPU:0", "CPU:1"}
    with pytest.raises(urllib.error.HTTPError):
        board.get("/data/plugin/graphs/run_metadata?tag=nothing&run=.")
