"""Keras 2.2.5 of PyPI on Penstock: trains, saves and loads a model, and goes on.

    make libraries
"""
import os
import tempfile

import numpy as np
from keras.callbacks import ModelCheckpoint
from keras.layers import BatchNormalization, Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras.models import Model, load_model

rng = np.random.RandomState(0)
labels = rng.randint(3, size=300)
images = rng.rand(300, 12, 12, 1) * 0.5
for image, label in zip(images, labels):
    image[4 * label:4 * label + 4] += 0.5  # a bright band at the top, in the middle, or at the bottom

inputs = Input((12, 12, 1))
x = MaxPooling2D()(BatchNormalization()(Conv2D(8, 3, activation="relu")(inputs)))
model = Model(inputs, Dense(3, activation="softmax")(Flatten()(x)))
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.h5")
    history = model.fit(images[:240], labels[:240], epochs=6, batch_size=16, validation_data=(images[240:], labels[240:]), verbose=0,
                        callbacks=[ModelCheckpoint(path)])
    loaded = load_model(path)

np.testing.assert_allclose(loaded.predict(images), model.predict(images), rtol=1e-5)
loaded.fit(images, labels, epochs=1, verbose=0)
loss, accuracy = loaded.evaluate(images[240:], labels[240:], verbose=0)
print("keras: accuracy %.2f after saving and loading" % accuracy)
assert history.history["loss"][-1] < history.history["loss"][0] and accuracy > 0.9
