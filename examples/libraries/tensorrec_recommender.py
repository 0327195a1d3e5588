"""TensorRec 0.26 on Penstock: a recommender learns who likes what.

    make libraries ARGS=tensorrec
"""
import numpy as np
import scipy.sparse as sp
import tensorrec

rng = np.random.RandomState(0)
groups_of_users, groups_of_items = np.arange(30) % 2, np.arange(20) % 2
likes = (groups_of_users[:, None] == groups_of_items) & (rng.rand(30, 20) < 0.6)
interactions = sp.coo_matrix(likes.astype(np.float32))
users, items = sp.identity(30, format="coo"), sp.identity(20, format="coo")
model = tensorrec.TensorRec(n_components=4, loss_graph=tensorrec.loss_graphs.WMRBLossGraph())
model.fit(interactions, users, items, epochs=100, learning_rate=0.1, n_sampled_items=10, verbose=False)
scores = model.predict(users, items)
right = np.mean([groups_of_items[row.argmax()] == group for row, group in zip(scores, groups_of_users)])
print("tensorrec: %.2f of the users are recommended something of their kind" % right)
assert right > 0.9
