"""Graphs as text and as drawings."""
from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.debug.drawing import draw
from penstock.debug.graph_layout import fitting_depth, lay_out, tree, visible
from penstock.debug.printing import node_line
from penstock.debug.stages import STAGES, stages
from penstock.debug.views import NodeView, add_costs, of_graph, of_graph_def

SVG = "{http://www.w3.org/2000/svg}"


def boxes(box):
    for child in box.children.values():
        yield box, child
        yield from boxes(child)


def overlap(a, b):
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def check_layout(root, views):
    owner = lay_out(root, views)
    assert set(owner) == {view.name for view in views}
    for parent, child in boxes(root):
        assert parent.x <= child.x and child.x + child.width <= parent.x + parent.width + 1e-6, child
        assert parent.y <= child.y and child.y + child.height <= parent.y + parent.height + 1e-6, child
        assert not any(overlap(child, other) for other in parent.children.values() if other is not child), child
    return owner


names = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(names, unique=True, max_size=20), st.randoms(use_true_random=False), st.integers(0, 4))
def test_boxes_are_inside_their_scopes_and_never_overlap(found, chance, depth):
    """Whatever the names and edges are, circles and edges to nowhere too."""
    views = [NodeView(name, "Op", inputs=[(other, 0) for other in chance.sample([*found, "gone"], k=min(2, len(found)))]) for name in found]
    if found:
        check_layout(tree(views, depth), views)
    ElementTree.fromstring(draw(views, depth=depth))


def test_what_is_computed_first_stands_above():
    views = [NodeView("x", "Placeholder"), NodeView("w", "VariableV2"), NodeView("y", "MatMul", inputs=[("x", 0), ("w", 0)]),
             NodeView("z", "Relu", inputs=[("y", 0)], control=["late"]), NodeView("late", "NoOp")]
    owner = check_layout(tree(views, 9), views)
    assert owner["x"].y == owner["w"].y < owner["y"].y == owner["late"].y < owner["z"].y


def test_a_large_graph_is_folded():
    chance = random.Random(0)
    views = [NodeView(f"s{number % 20}/t{number % 7}/n{number}", "Add", inputs=[(f"s{chance.randrange(20)}/t0/n0", 0)]) for number in range(3000)]
    depth = fitting_depth(views, 400)
    assert depth == 1 and visible(tree(views, depth)) == 140
    drawing = draw(views)
    ElementTree.fromstring(drawing)
    assert "22 nodes" in drawing or "21 nodes" in drawing


def model():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.variable_scope("layer"), tf.device("/cpu:1"):
            y = tf.matmul(x, tf.get_variable("w", [4, 3]), name="y")
        tf.constant(0, name="unused")
        with tf.control_dependencies([y]):
            tf.reduce_sum(y, name="loss")
    return graph


def test_a_drawing_has_nodes_scopes_devices_shapes_and_costs():
    views = of_graph(model().get_operations())
    metadata = tf.RunMetadata()
    metadata.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="layer/y", all_end_rel_micros=2500)
    add_costs(views, metadata)
    root = ElementTree.fromstring(draw(views, "a <title>"))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"x", "y", "loss", "layer", "/device:CPU:1", "no device yet", "[?,4]", "[?,3]", "[4,3]", "2.5 ms"} <= set(texts)
    colours = {element.get("fill") for element in root.iter(f"{SVG}rect") if element.get("class") == "node"}
    assert len(colours) == 2
    assert any("control" in element.get("class") for element in root.iter(f"{SVG}path") if element.get("class"))


def test_a_graph_def_is_shown_without_knowing_its_operations():
    graph_def = tf.GraphDef()
    graph_def.node.add(name="a", op="FromTheFuture", device="/gpu:7")
    graph_def.node.add(name="b", op="Other", input=["a:1", "^a"])
    graph_def.node[0].attr["T"].type = tf.float32.as_datatype_enum
    assert [node_line(view) for view in of_graph_def(graph_def)] == ["a = FromTheFuture() {T=float32}  @/gpu:7", "b = Other(a:1, ^a)"]


@pytest.fixture
def found():
    graph = model()
    loss, x = graph.get_tensor_by_name("loss:0"), graph.get_tensor_by_name("x:0")
    with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        return {stage.name: stage for stage in stages(graph, [loss], [], [x], session._backend.pipeline)}


def test_the_stages_of_a_step(found):
    assert tuple(found) == STAGES
    names = {name: {node.name for node in stage.nodes} for name, stage in found.items()}
    assert "unused" in names["built"] and "unused" not in names["pruned"] and "_arg_x_0_0" in names["pruned"]
    assert not any("/job:" in node.device for node in found["pruned"].nodes) and all("/job:" in node.device for node in found["placed"].nodes)
    assert {"_Send", "_Recv"} <= {node.op for node in found["partitioned"].nodes} and found["partitioned"].summary.endswith("on 2 devices")
    assert "layer/y = MatMul(_arg_x_0_0" in found["placed"].text and "CPU:1: " in found["planned"].text and "may wait" in found["planned"].text
