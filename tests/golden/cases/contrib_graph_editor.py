"""tf.contrib.graph_editor: what is selected, what walks reach, and graphs whose inputs were moved."""


def _graph(tf):
    a = tf.constant(1.0, name="a")
    with tf.name_scope("scope"):
        b = tf.add(a, a, name="b")
        with tf.control_dependencies([b]):
            c = tf.constant(5.0, name="c")
    d = tf.multiply(b, c, name="d")
    with tf.control_dependencies([c]):
        e = tf.negative(d, name="e")
    tf.identity(a, name="other")
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


def selections(tf, np):
    editor = tf.contrib.graph_editor

    def case(call):
        def build():
            t = _graph(tf)
            found = call(t, tf.get_default_graph())
            parts = found if isinstance(found, tuple) else (found,)
            return tf.constant(["|".join(sorted(element.name for element in part)) for part in parts], name="found")
        return build

    yield "backward", case(lambda t, g: editor.get_backward_walk_ops(t["e"].op))
    yield "backward of tensors", case(lambda t, g: editor.get_backward_walk_ops([t["d"]], inclusive=False))
    yield "backward control", case(lambda t, g: editor.get_backward_walk_ops([t["c"].op], control_inputs=True))
    yield "backward stop", case(lambda t, g: editor.get_backward_walk_ops([t["e"].op], stop_at_ts=[t["b"]]))
    yield "backward within", case(lambda t, g: editor.get_backward_walk_ops([t["e"].op], within_ops=[t["e"].op, t["d"].op]))
    yield "backward within_fn", case(lambda t, g: editor.get_backward_walk_ops([t["e"].op], within_ops_fn=lambda op: op.name != "a"))
    yield "forward", case(lambda t, g: editor.get_forward_walk_ops(t["b"].op))
    yield "forward of tensors", case(lambda t, g: editor.get_forward_walk_ops([t["b"]], inclusive=False))
    yield "forward control", case(lambda t, g: editor.get_forward_walk_ops([t["b"].op], control_outputs=editor.ControlOutputs(g)))
    yield "forward stop", case(lambda t, g: editor.get_forward_walk_ops([t["a"].op], stop_at_ts=[t["d"]]))
    yield "intersection", case(lambda t, g: editor.get_walks_intersection_ops([t["b"].op], [t["d"].op]))
    yield "intersection control", case(
        lambda t, g: editor.get_walks_intersection_ops([t["b"].op], [t["e"].op], control_ios=editor.ControlOutputs(g)))
    yield "union", case(lambda t, g: editor.get_walks_union_ops([t["d"].op], [t["b"].op], forward_inclusive=False))
    yield "within boundary", case(lambda t, g: editor.get_within_boundary_ops(g, [t["d"].op], [t["b"].op]))
    yield "within boundary exclusive", case(lambda t, g: editor.get_within_boundary_ops(g, [t["d"].op], [t["b"].op], inclusive=False))
    yield "boundary meets seeds", case(lambda t, g: editor.get_within_boundary_ops(g, [t["d"].op], [t["d"].op]))
    yield "neighbours", case(lambda t, g: editor.get_ops_ios([t["d"].op]))
    yield "neighbours control", case(lambda t, g: editor.get_ops_ios([t["c"].op], control_ios=editor.ControlOutputs(g)))
    yield "boundary tensors", case(lambda t, g: editor.compute_boundary_ts([t["b"].op, t["d"].op]))
    yield "select_ops", case(lambda t, g: editor.select_ops("^scope", t["d"].op, graph=g))
    yield "select_ops filter", case(lambda t, g: editor.select_ops(".*", graph=g, positive_filter=lambda op: len(op.inputs) == 2))
    yield "select_ops comment", case(lambda t, g: editor.select_ops("(?#ts)^scope", "d", graph=g))
    yield "select_ts", case(lambda t, g: editor.select_ts("^scope", t["d"], graph=g))
    yield "select_ops_and_ts", case(lambda t, g: editor.select_ops_and_ts("^d$", "(?#ts)^scope", graph=g))
    yield "select without a graph", case(lambda t, g: editor.select_ops("d"))
    yield "select with a wrong keyword", case(lambda t, g: editor.select_ops("d", graph=g, other=1))
    yield "name scope", case(lambda t, g: editor.get_name_scope_ops(g, "scope/"))
    yield "filter_ts", case(lambda t, g: editor.filter_ts(g, lambda tensor: "d" in tensor.name))
    yield "filter_ts_from_regex", case(lambda t, g: editor.filter_ts_from_regex([t["d"].op], "scope"))
    yield "filter_ops", case(lambda t, g: editor.filter_ops(g, True))
    yield "consumers", case(lambda t, g: (editor.get_consuming_ops([t["a"]]), editor.get_generating_ops([t["d"], t["b"]]), editor.get_tensors(g)))
    yield "list of wrong type", case(lambda t, g: editor.make_list_of_op([t["a"]]))
    yield "list of a graph", case(lambda t, g: editor.make_list_of_op(g, allow_graph=False))
    yield "regex of a number", lambda: editor.make_regex(3)
    yield "wrong control_ios", case(lambda t, g: editor.get_ops_ios([t["c"].op], control_ios=3))

    def placeholders():
        t = _graph(tf)
        made = [editor.make_placeholder_from_tensor(t["b"]), editor.make_placeholder_from_tensor(t["b"], scope="there"),
                editor.make_placeholder_from_dtype_and_shape(tf.float32, [2])]
        return tf.constant([p.name for p in made] + [str(p.shape) for p in made])
    yield "placeholders", placeholders


def edits(tf, np):
    editor = tf.contrib.graph_editor

    def case(change):
        def build():
            t = _graph(tf)
            t["x"], t["y"] = tf.constant(10.0, name="x"), tf.constant([1.0, 2.0], name="y")
            count = change(t)
            ops = ["{}: {} / {}".format(op.name, [i.name for i in op.inputs], sorted(c.name for c in op.control_inputs))
                   for op in tf.get_default_graph().get_operations()]
            return [tf.constant(ops, name="ops"), tf.constant(-1 if count is None else count, name="count"), t["e"]]
        return build

    yield "reroute_ts", case(lambda t: editor.reroute_ts([t["x"]], [t["a"]]))
    yield "reroute_ts one", case(lambda t: editor.reroute_ts(t["x"], t["b"], can_modify=[t["d"].op]))
    yield "reroute_ts not", case(lambda t: editor.reroute_ts(t["x"], t["a"], cannot_modify=[t["b"].op]))
    yield "reroute_ts sizes", case(lambda t: editor.reroute_ts([t["x"]], [t["a"], t["b"]]))
    yield "reroute_ts shapes", case(lambda t: editor.reroute_ts([t["y"]], [t["a"]]))
    yield "swap_ts", case(lambda t: editor.swap_ts([t["a"]], [t["c"]], cannot_modify=[t["b"].op]))
    yield "add_control_inputs", case(lambda t: editor.add_control_inputs(t["d"].op, [t["x"].op]))
    yield "add_control_inputs twice", case(lambda t: editor.add_control_inputs(t["c"].op, [t["b"].op]))
    yield "remove_control_inputs", case(lambda t: editor.remove_control_inputs(t["c"].op, [t["b"].op]))
    yield "remove_control_inputs not there", case(lambda t: editor.remove_control_inputs(t["d"].op, [t["b"].op]))
    yield "add_control_inputs of a tensor", case(lambda t: editor.add_control_inputs(t["d"], [t["x"].op]))


def copies(tf, np):
    """Views, and copies of parts of the graph."""
    editor = tf.contrib.graph_editor

    def listing(graph):
        return ["{} {} {} {}".format(op.name, op.type, [t.name for t in op.inputs], sorted(c.name for c in op.control_inputs))
                for op in graph.get_operations()]

    def case(change):
        def build():
            t = _graph(tf)
            t["x"] = tf.constant(7.0, name="x")
            tf.add_to_collection("mine", t["d"])
            tf.add_to_collection(tf.GraphKeys.LOSSES, t["d"])
            graph = tf.get_default_graph()
            found = change(t)
            kept = [key + " " + each.name for key in ("mine", "copied/mine", "losses") for each in graph.get_collection(key)]
            return [tf.constant(listing(graph), name="ops"), tf.constant(kept), found if found is not None else t["e"]]
        return build

    def parts(view):
        return tf.constant(["|".join(each.name for each in part) for part in
                            (view.ops, view.inputs, view.outputs, view.connected_inputs, view.connected_outputs, view.passthroughs)])

    yield "view", case(lambda t: parts(editor.sgv(t["b"].op, t["d"].op)))
    yield "view with tensors", case(lambda t: parts(editor.sgv(t["d"].op, t["x"])))
    yield "view by name", case(lambda t: parts(editor.sgv("scope/.*", graph=tf.get_default_graph())))
    yield "view of scope", case(lambda t: parts(editor.sgv_scope("scope", graph=tf.get_default_graph())))
    yield "view remapped", case(lambda t: parts(editor.sgv(t["b"].op, t["c"].op, t["d"].op).remap(None, [0, 0])))
    yield "view remapped by tensors", case(lambda t: parts(editor.sgv(t["d"].op).remap_inputs([t["c"], t["b"]])))
    yield "view remapped wrongly", case(lambda t: parts(editor.sgv(t["d"].op).remap_inputs([0, 0])))
    yield "view beyond", case(lambda t: parts(editor.sgv(t["d"].op).remap_outputs([5])))
    yield "view to consumers", case(lambda t: parts(editor.sgv(t["a"].op).remap_outputs_to_consumers()))
    yield "view unused", case(lambda t: parts(editor.sgv(t["d"].op, t["x"].op).remap(None, [0]).remove_unused_ops()))
    yield "copy", case(lambda t: parts(editor.copy(editor.sgv(t["b"].op, t["d"].op), dst_scope="copied")[0]))
    yield "copy from scope", case(lambda t: parts(editor.copy(editor.sgv_scope("scope", tf.get_default_graph()), None, "copied", "scope")[0]))
    yield "copy from other scope", case(lambda t: parts(editor.copy([t["d"].op], None, "copied", "scope")[0]))
    yield "copy replaced", case(lambda t: parts(editor.copy_with_input_replacements(
        [t["d"].op, t["e"].op], {t["b"]: t["x"]}, dst_scope="copied")[0]))
    yield "replace", case(lambda t: editor.graph_replace(t["e"], {t["a"]: t["x"]}, dst_scope="copied"))
    yield "replace inside", case(lambda t: editor.graph_replace([t["e"], t["d"]], {t["b"]: t["x"]}, dst_scope="copied")[0])
    yield "replace nothing", case(lambda t: editor.graph_replace(t["e"], {t["x"]: t["a"]}))

    def looked_up(t):
        _, info = editor.copy_with_input_replacements([t["d"].op, t["e"].op], {t["b"]: t["x"]}, dst_scope="copied")
        copied = info.transformed(t["e"])
        return tf.constant([copied.name, info.transformed(t["d"].op).name, info.original(copied).name, str(info.transformed(t["a"]))])
    yield "copy looked up", case(looked_up)

    def other_graph():
        t = _graph(tf)
        graph = tf.Graph()
        view, _ = editor.copy([t["b"].op, t["d"].op], graph, dst_scope="there")
        return tf.constant(listing(graph) + [each.name for each in view.outputs])
    yield "copy to other graph", other_graph


def cases(tf, np):
    for family in (selections, edits, copies):
        yield from family(tf, np)
