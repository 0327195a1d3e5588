"""A SavedModel, written and served: exported with signatures, then answered over HTTP by the server of the standard library.

    python examples/serving.py           # exports, serves, asks itself
"""
import json
import tempfile
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np

import penstock as tf
from penstock.datasets import load_digits


def export(folder, steps):
    """Trains a classifier of digits and writes it as a SavedModel."""
    digits = load_digits()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        images, labels = tf.placeholder(tf.float32, [None, 64], "images"), tf.placeholder(tf.int64, [None])
        logits = tf.layers.dense(tf.layers.dense(images, 32, tf.nn.relu), 10)
        train = tf.train.AdamOptimizer(0.01).minimize(tf.losses.sparse_softmax_cross_entropy(labels, logits))
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train, {images: digits.train_images.reshape(-1, 64), labels: digits.train_labels})
        tf.saved_model.simple_save(session, folder, {"images": images}, {"classes": tf.argmax(logits, 1), "scores": tf.nn.softmax(logits)})


def make_server(folder):
    """A server that answers {"images": [...]} with {"classes": [...]}; any thread may run the session."""
    predict = tf.contrib.predictor.from_saved_model(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            try:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = 200, {"classes": predict({"images": asked["images"]})["classes"].tolist()}
            except (KeyError, ValueError) as error:
                status, answer = 400, {"error": f"{type(error).__name__}: {error}"}
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Nothing: quiet."""

    return HTTPServer(("127.0.0.1", 0), Handler)


def main(steps=150):
    """Returns the accuracy of the answers."""
    digits = load_digits()
    with tempfile.TemporaryDirectory() as scratch:
        export(f"{scratch}/model", steps)
        server = make_server(f"{scratch}/model")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            question = json.dumps({"images": digits.test_images.reshape(-1, 64).tolist()}).encode()
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", question, timeout=60) as reply:
                answer = json.loads(reply.read())["classes"]
        finally:
            server.shutdown()
            server.server_close()
    accuracy = float(np.mean(np.array(answer) == digits.test_labels))
    print(f"{len(answer)} digits answered, {accuracy:.3f} of them right")
    return accuracy


if __name__ == "__main__":
    main()
