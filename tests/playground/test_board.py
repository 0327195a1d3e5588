"""A board trains the program that it shows; an address gives the same board again."""
from __future__ import annotations

import json
import struct
import subprocess
import sys

import numpy as np
import pytest

from penstock.playground import step
from penstock.playground.board import GRID, Board
from penstock.playground.messages import MOST_BOARDS, Playground
from penstock.playground.program import FILE, write_program
from penstock.playground.settings import ACTIVATIONS, FEATURES, MOST_LAYERS, OPTIMIZERS, REGULARIZATIONS, BadSettings, Change, Settings

SMALL = Settings(data="xor", layers=(3,), batch=25)


def unpack(frame: bytes) -> tuple[dict, np.ndarray]:
    (length,) = struct.unpack("<I", frame[:4])
    return json.loads(frame[4:4 + length]), np.frombuffer(frame[4 + length:], np.int8).reshape(-1, GRID, GRID)


@pytest.fixture
def boards():
    """Makes boards that are closed at the end."""
    made = []

    def make(*arguments, **options):
        made.append(Board(*arguments, **options))
        return made[-1]
    yield make
    for board in made:
        board.close()


def test_a_frame(boards):
    board = boards(SMALL)
    board.advance(4)
    numbers, planes = unpack(board.frame())
    assert numbers["step"] == 4 and numbers["epoch"] == 0 and numbers["epoch_steps"] == 10
    assert [point[0] for point in numbers["curve"]] == [0, 4]
    assert [np.shape(each) for each in numbers["weights"]] == [(2, 3), (3, 1)]
    assert [np.shape(each) for each in numbers["biases"]] == [(3,), (1,)]
    assert planes.shape == (4, GRID, GRID) and numbers["grid"] == GRID
    assert unpack(board.frame())[0]["curve"] == []  # told once


def test_heat_maps_have_up_at_the_top(boards):
    """A neuron that sees y alone is positive above."""
    board = boards(Settings(features=("y",), layers=(), data="gauss"))
    board.change("w0.0.0", 1.0)
    _, planes = unpack(board.frame())
    assert planes[0, 0].min() > 100 and planes[0, -1].max() < -100


def test_training_lowers_the_loss(boards):
    board = boards(Settings(data="gauss", layers=(2,)))
    board.advance(200)
    (_, before, _), (_, after, _) = board.curve
    assert after < 0.1 * before


def test_the_same_seed_gives_the_same_board_and_another_another(boards):
    first, second, third = boards(SMALL), boards(SMALL), boards(Settings(data="xor", layers=(3,), batch=25, seed=2))
    for board in (first, second, third):
        board.advance(7)
    assert first.frame() == second.frame()
    assert first.frame() != third.frame()


def test_a_board_is_made_again_from_its_address(boards):
    board = boards(SMALL)
    board.advance(5)
    board.change("learning_rate", 0.3)
    board.advance(4)
    board.change("w0.1.2", 0.5)
    board.change("batch", 10)
    board.advance(11)
    again = boards(SMALL, [Change(5, "learning_rate", 0.3), Change(9, "w0.1.2", 0.5), Change(9, "batch", 10)], 20)
    assert again.step == 20 and again.settings == board.settings
    first, second = (unpack(each.frame()) for each in (board, again))
    assert first[0]["weights"] == second[0]["weights"] and np.array_equal(first[1], second[1])
    assert second[0]["curve"][-1] == first[0]["curve"][-1]


def test_changes_at_the_last_step_are_made(boards):
    board = boards(SMALL, [Change(0, "b1.0", 0.7), Change(3, "b0.2", -2.0)], 3)
    assert board.step == 3
    assert unpack(board.frame())[0]["biases"][0][2] == -2.0
    assert unpack(boards(SMALL, [Change(0, "b1.0", 0.75)]).frame())[0]["biases"][1] == [0.75]


@pytest.mark.parametrize("key", ["w0.2.0", "w0.0.3", "w2.0.0", "b0.3", "w0.0", "b0.0.0", "w-1.0.0", "seed", "layers", "__class__"])
def test_what_cannot_be_changed(boards, key):
    with pytest.raises(BadSettings):
        boards(SMALL).change(key, 1.0)


def test_a_loss_that_is_not_finite_is_null(boards):
    board = boards(Settings(problem="regression", data="plane", activation="linear", learning_rate=10, features=tuple(FEATURES)))
    with np.errstate(all="ignore"):
        board.advance(200)
        numbers, planes = unpack(board.frame())
    assert numbers["curve"][-1][1:] == [None, None]
    assert planes.shape == (7, GRID, GRID)


def test_frames_end_in_time(boards):
    board = boards(SMALL)
    board.advance(10_000, seconds=0.0)
    assert board.step == 1


# --- the program -----------------------------------------------------------------------------------------------------

def test_the_program_gives_the_numbers_of_the_board(boards, tmp_path):
    settings = Settings(data="circle", layers=(3, 2), regularization="l2", regularization_rate=0.001, optimizer="adam", learning_rate=0.01)
    (tmp_path / FILE).write_text(write_program(settings).replace("range(2000 + 1)", "range(200 + 1)"))
    output = subprocess.run([sys.executable, FILE], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True).stdout
    board = boards(settings)
    board.advance(200)
    expected = ["step {:5d}  training loss {:.4f}  test loss {:.4f}".format(*point) for point in board.curve]
    assert output.splitlines() == expected


@pytest.mark.parametrize("settings", [
    *(Settings(activation=name) for name in ACTIVATIONS), *(Settings(optimizer=name) for name in OPTIMIZERS),
    *(Settings(regularization=name, regularization_rate=0.01) for name in REGULARIZATIONS),
    Settings(layers=()), Settings(layers=(8,) * MOST_LAYERS, features=tuple(FEATURES)), Settings(problem="regression", data="hills")], ids=str)
def test_every_setting_trains(boards, settings):
    board = boards(settings)
    board.advance(2)
    assert np.isfinite(board.curve[-1]).all() and board.curve[0][1] != board.curve[-1][1]


def test_a_rate_of_regularization_reaches_the_step(boards):
    def weights(rate):
        board = boards(Settings(regularization="l1", regularization_rate=0))
        board.change("regularization_rate", rate)
        board.advance(3)
        return np.abs(unpack(board.frame())[0]["weights"][0]).sum()
    assert weights(1) < weights(0)


# --- the step --------------------------------------------------------------------------------------------------------

def test_the_graph_of_the_step(boards):
    graph = step.graph(boards(SMALL))
    names = [node["name"] for node in graph["nodes"]]
    phases = {node["name"]: node["phase"] for node in graph["nodes"]}
    assert phases["layer_1/MatMul"] == "forward" and phases["gradients/layer_1/MatMul_grad/MatMul_1"] == "gradient"
    assert any(phase == "update" for phase in phases.values())
    assert {"layer_1", "loss", "gradients", "train"} <= {scope["name"] for scope in graph["scopes"]}
    assert [names.index("layer_1/MatMul"), names.index("layer_1/add"), False] in [list(edge) for edge in graph["edges"]]
    for node in graph["nodes"]:
        assert node["x"] >= 0 and node["x"] + node["width"] <= graph["width"] and node["y"] + node["height"] <= graph["height"]


def test_an_operation(boards):
    board = boards(SMALL)
    board.advance(3)
    told = step.operation(board, "layer_1/MatMul")
    assert told["type"] == "MatMul" and told["outputs"] == ["float32[?,3]"] and told["device"].endswith("CPU:0")
    assert told["shape"] == [25, 3] and len(told["rows"]) == 8 and told["more"]
    assert told["code"] == board.text.splitlines()[told["line"] - 1].strip() == "hidden_1 = tf.tanh(tf.matmul(inputs, w1) + b1)"
    assert "layer_1/add" in told["consumers"]
    assert ".minimize(loss" in step.operation(board, "gradients/layer_1/MatMul_grad/MatMul_1")["code"]


def test_looking_at_operations_trains_nothing(boards):
    board = boards(Settings(data="xor", layers=(2,), optimizer="adam", regularization="l2", regularization_rate=0.01))
    board.advance(2)
    before = board.session.run(board.graph.get_collection("variables"))
    for node in step.graph(board)["nodes"]:
        assert step.operation(board, node["name"])["note"]
    after = board.session.run(board.graph.get_collection("variables"))
    assert all(map(np.array_equal, before, after))


@pytest.mark.parametrize("name", ["nothing", None, 3, ["layer_1/MatMul"]])
def test_an_operation_that_is_not_there(boards, name):
    with pytest.raises(BadSettings, match="no operation"):
        step.operation(boards(SMALL), name)


def test_kernels(boards):
    board = boards(SMALL)
    told = step.kernels(board)
    assert told["runs"] == 50 and told["seconds"] > 0
    assert "layer_1/MatMul" in {name for kernel in told["kernels"] for name in kernel["nodes"]}
    assert board.step == 0


# --- messages --------------------------------------------------------------------------------------------------------

def test_messages():
    playground = Playground()
    try:
        messages = playground.messages()
        answer = messages["build"]({"settings": {"layers": [2], "features": ["x", "xy"]}})
        assert len(answer["points"]) == 500 and len(answer["train"]) == 250 and len(answer["features"]) == 2
        board = {"board": answer["board"]}
        assert unpack(messages["advance"]({**board, "steps": 1}))[0]["step"] == 1
        assert unpack(messages["change"]({**board, "key": "b0.1", "value": 0.5}))[0]["biases"][0][1] == 0.5
        for name, body in {"advance": {**board, "steps": -1}, "change": {**board, "key": 1, "value": 1}, "operation": board, "graph": {"board": 99},
                           "kernels": {}, "build": {"settings": {"layers": 1}}}.items():
            with pytest.raises(BadSettings):
                messages[name](body)
        for _ in range(MOST_BOARDS):
            messages["build"]({"settings": {"layers": []}})
        with pytest.raises(BadSettings, match="closed"):
            messages["graph"](board)
    finally:
        playground.close()
