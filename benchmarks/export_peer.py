"""One model of ``export_models.py`` in another system, timed. Run by ``benchmarks/export.py`` in an environment that has the system.

    python export_peer.py onnx|tflite MODEL THREADS FILE         # prints nothing but answers each line of its input with the milliseconds of a run
    python export_peer.py convert MODEL FILE                     # in TensorFlow 2's: writes a .tflite
"""
from __future__ import annotations

import sys
import time

import export_models
import numpy as np


def onnx_model(name):
    """The model in ONNX's words: images with their channels first."""
    from onnx import TensorProto, helper, numpy_helper
    shape, layers = export_models.build(name)
    nodes, weights = [], []

    def weight(array, label):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(array), label))
        return label

    if name == "gru":
        (layer,) = layers
        features = shape[2]
        gates = {gate: layer[gate].T for gate in "zrn"}  # ONNX: z, r, h
        w = np.stack([np.concatenate([gates[gate][:, :features] for gate in "zrn"])])
        r = np.stack([np.concatenate([gates[gate][:, features:] for gate in "zrn"])])
        b = np.stack([np.concatenate([*(layer[f"b{gate}"] for gate in "zrn"), np.zeros(3 * layer["units"], np.float32)])])
        nodes.append(helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]))
        nodes.append(helper.make_node("GRU", ["t", weight(w, "w"), weight(r, "r"), weight(b, "b")], ["y"], hidden_size=layer["units"]))
        return _finish(helper, TensorProto, nodes, weights, shape, "y")
    nodes.append(helper.make_node("Transpose", ["x"], ["start"], perm=[0, 3, 1, 2]))
    results = []
    size = shape[1]
    sizes = []
    for index, layer in enumerate(layers):
        source = results[layer["from"]] if "from" in layer else results[-1] if results else "start"
        size = sizes[layer["from"]] if "from" in layer else size
        op, last = layer["op"], f"layer{index}"
        if op in ("conv", "depthwise"):
            kernel = layer["w"].shape[0]
            groups = layer["w"].shape[2] if op == "depthwise" else 1
            w = layer["w"].transpose(2, 3, 0, 1) if op == "depthwise" else layer["w"].transpose(3, 2, 0, 1)
            pads, size = _same(size, kernel, layer["stride"])
            nodes.append(helper.make_node("Conv", [source, weight(w, f"w{index}"), weight(layer["b"], f"b{index}")], [last], group=groups,
                                          pads=pads, strides=[layer["stride"]] * 2, kernel_shape=[kernel] * 2))
        elif op == "add":
            nodes.append(helper.make_node("Add", [source, results[layer["with"]]], [last]))
        elif op == "max_pool":
            pads, size = _same(size, 3, 2)
            nodes.append(helper.make_node("MaxPool", [source], [last], kernel_shape=[3, 3], strides=[2, 2], pads=pads))
        elif op == "mean":
            nodes.append(helper.make_node("GlobalAveragePool", [source], [f"{last}p"]))
            nodes.append(helper.make_node("Flatten", [f"{last}p"], [last]))
        else:
            nodes.append(helper.make_node("Gemm", [source, weight(layer["w"], f"w{index}"), weight(layer["b"], f"b{index}")], [last]))
        act = layer.get("act", "")
        if act == "relu6":
            low, high = weight(np.array(0, np.float32), f"low{index}"), weight(np.array(6, np.float32), f"high{index}")
            nodes.append(helper.make_node("Clip", [last, low, high], [f"{last}a"]))
        elif act:
            nodes.append(helper.make_node({"relu": "Relu", "softmax": "Softmax"}[act], [last], [f"{last}a"]))
        results.append(f"{last}a" if act else last)
        sizes.append(size)
    return _finish(helper, TensorProto, nodes, weights, shape, results[-1])


def _same(size, kernel, stride):
    """TensorFlow's SAME padding, and the size after it."""
    after = -(-size // stride)
    total = max((after - 1) * stride + kernel - size, 0)
    return [total // 2, total // 2, total - total // 2, total - total // 2], after


def _finish(helper, types, nodes, weights, shape, last):
    given, result = helper.make_tensor_value_info("x", types.FLOAT, shape), helper.make_tensor_value_info(last, types.FLOAT, None)
    graph = helper.make_graph(nodes, "model", [given], [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def convert(name, path):
    """The model as a .tflite file, made of a function of TensorFlow 2."""
    import tensorflow as tf
    shape, layers = export_models.build(name)

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float32)])
    def model(x):
        if name == "gru":
            return _gru(tf, layers[0], x)
        results = []
        for layer in layers:
            source = results[layer["from"]] if "from" in layer else results[-1] if results else x
            op = layer["op"]
            if op in ("conv", "depthwise"):
                function = tf.nn.depthwise_conv2d if op == "depthwise" else tf.nn.conv2d
                y = tf.nn.bias_add(function(source, layer["w"], strides=[1, layer["stride"], layer["stride"], 1], padding="SAME"), layer["b"])
            elif op == "add":
                y = source + results[layer["with"]]
            elif op == "max_pool":
                y = tf.nn.max_pool2d(source, 3, 2, "SAME")
            elif op == "mean":
                y = tf.reduce_mean(source, [1, 2])
            else:
                y = tf.matmul(source, layer["w"]) + layer["b"]
            act = layer.get("act", "")
            results.append({"relu": tf.nn.relu, "relu6": tf.nn.relu6, "softmax": tf.nn.softmax, "": tf.identity}[act](y))
        return results[-1]

    converter = tf.lite.TFLiteConverter.from_concrete_functions([model.get_concrete_function()])
    with open(path, "wb") as file:
        file.write(converter.convert())


def _gru(tf, layer, x):
    """Unrolled: TFLite has no GRU."""
    h, outputs = tf.zeros([1, layer["units"]]), []
    for time_step in range(x.shape[1]):
        now = x[:, time_step]
        both = tf.concat([now, h], 1)
        r = tf.sigmoid(tf.matmul(both, layer["r"]) + layer["br"])
        z = tf.sigmoid(tf.matmul(both, layer["z"]) + layer["bz"])
        n = tf.tanh(tf.matmul(tf.concat([now, r * h], 1), layer["n"]) + layer["bn"])
        h = z * h + (1 - z) * n
        outputs.append(h)
    return tf.stack(outputs, 1)


def onnx_runner(name, threads, path):
    """A function that runs it in ONNX Runtime."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_model(name), options, providers=["CPUExecutionProvider"])
    x = export_models.data(name)
    return lambda: session.run(None, {"x": x})[0]


def tflite_runner(name, threads, path):
    """A function that runs it in LiteRT."""
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(model_path=path, num_threads=threads)
    interpreter.allocate_tensors()
    place, result = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    interpreter.set_tensor(place, export_models.data(name))

    def run():
        interpreter.invoke()
        return interpreter.get_tensor(result)
    return run


def serve(run):
    """Answers each line with the milliseconds of the best of some runs, and of "sum" with a checksum."""
    for line in sys.stdin:
        if line.strip() == "result":
            result = np.asarray(run()).ravel()
            print(repr([float(each) for each in result[:8]]), flush=True)
            continue
        best = float("inf")
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            best = min(best, time.perf_counter() - start)
        print(best * 1000, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "convert":
        convert(*sys.argv[2:4])
    else:
        serve({"onnx": onnx_runner, "tflite": tflite_runner}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), sys.argv[4]))
