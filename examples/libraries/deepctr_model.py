"""DeepCTR 0.7.5 on Penstock: DeepFM on made-up clicks.

    make libraries ARGS=deepctr
"""
import numpy as np
from deepctr.inputs import DenseFeat, SparseFeat, get_feature_names
from deepctr.models import DeepFM

rng = np.random.RandomState(0)
data = {"user": rng.randint(20, size=600), "item": rng.randint(10, size=600), "price": rng.rand(600)}
clicks = ((data["user"] % 2 == data["item"] % 2) & (data["price"] < 0.8)).astype(int)
columns = [SparseFeat("user", 20, embedding_dim=4), SparseFeat("item", 10, embedding_dim=4), DenseFeat("price", 1)]
model = DeepFM(columns, columns, task="binary", dnn_hidden_units=(16, 16))
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
inputs = {name: data[name] for name in get_feature_names(columns)}
history = model.fit(inputs, clicks, batch_size=32, epochs=40, verbose=0)
predicted = model.predict(inputs)[:, 0] > 0.5
print("deepctr: loss %.3f, accuracy %.2f" % (history.history["loss"][-1], np.mean(predicted == clicks)))
assert np.mean(predicted == clicks) > 0.8
