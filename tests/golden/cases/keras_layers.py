"""tf.keras.layers: outputs, gradients, names and order of weights, seeded initial values, configurations, shapes."""
import json


def _data(np, shape):
    return np.cos(np.arange(int(np.prod(shape))) * 0.7).reshape(shape).astype("float32")


def _weight(np, value):
    """Different numbers in every place, none of them negative: some weights are variances."""
    return (0.5 + 0.4 * np.sin(np.arange(value.size) * 1.3 + value.ndim)).reshape(value.shape).astype("float32")


def _described(tf, np, layer, shapes):
    """What is compared of a layer: it is made part of a model, gets other weights, and is run."""
    inputs = [tf.keras.Input(shape[1:]) for shape in shapes]
    model = tf.keras.Model(inputs, layer(inputs if len(inputs) > 1 else inputs[0]))
    first = model.get_weights()
    model.set_weights([_weight(np, value) for value in first])
    arrays = [_data(np, shape) for shape in shapes]
    outputs = model.predict(arrays)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    gradients = []
    if model.trainable_weights:
        loss = tf.add_n([tf.reduce_sum(output * output) for output in model.outputs])
        gradients = [value if isinstance(value, np.ndarray) else np.asarray(value.values) for value in
                     tf.keras.backend.get_session().run(tf.gradients(loss, model.trainable_weights), dict(zip(model.inputs, arrays)))]
    config = json.loads(model.to_json())
    for each in config["config"]["layers"]:
        if each["class_name"] == "Lambda":
            each["config"]["function"] = each["config"]["module"] = None  # byte code, and the name of this module
    texts = [weight.name for weight in model.weights] + [str(model.output_shape), json.dumps(config, sort_keys=True)]
    return {"texts": tf.constant(texts, name="texts"),
            "values": [tf.constant(value, name="value") for value in outputs],
            "gradients": [tf.constant(value, name="gradient") for value in gradients],
            "first": [tf.constant(value, name="first") for value in first]}


def layers(tf):
    """(name, function that makes a layer, shapes of its inputs)."""
    new = tf.keras.layers
    yield "Dense", lambda: new.Dense(3, activation="relu", kernel_regularizer="l2"), [(4, 5)]
    yield "Dense 3", lambda: new.Dense(3, use_bias=False), [(2, 3, 4)]
    yield "Activation", lambda: new.Activation("softmax"), [(4, 5)]
    yield "Reshape", lambda: new.Reshape((2, -1)), [(4, 6)]
    yield "Permute", lambda: new.Permute((2, 1)), [(4, 3, 2)]
    yield "RepeatVector", lambda: new.RepeatVector(3), [(4, 3)]
    yield "Flatten", lambda: new.Flatten(), [(4, 3, 2)]
    yield "Masking", lambda: new.Masking(1.0), [(2, 3, 2)]
    yield "ActivityRegularization", lambda: new.ActivityRegularization(0.1, 0.2), [(4, 3)]
    yield "Dropout", lambda: new.Dropout(0.4, seed=3), [(4, 3)]
    yield "Lambda", lambda: new.Lambda(lambda x: x * 2 + 1), [(2, 3)]
    for rank, shape in ((1, (2, 4, 3)), (2, (2, 4, 4, 3)), (3, (2, 2, 3, 3, 2))):
        for name in ("SpatialDropout%dD", "GlobalMaxPooling%dD", "GlobalAveragePooling%dD"):
            yield name % rank, lambda name=name, rank=rank: getattr(new, name % rank)(*([0.4] if "Drop" in name else [])), [shape]
    for name in ("GaussianNoise", "GaussianDropout", "AlphaDropout"):
        yield name, lambda name=name: getattr(new, name)(0.4), [(4, 3)]
    for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        yield name, lambda name=name: getattr(new, name)(), [(4, 3), (4, 3)]
    yield "Concatenate 1", lambda: new.Concatenate(1), [(4, 3, 2), (4, 2, 2)]
    yield "Add broadcast", lambda: new.Add(), [(4, 3, 2), (4, 2)]
    yield "Dot", lambda: new.Dot(1, normalize=True), [(4, 3), (4, 3)]
    yield "Dot 3", lambda: new.Dot((2, 1)), [(4, 3, 2), (4, 2, 5)]
    yield "Dot 3 and 2", lambda: new.Dot((2, 1)), [(4, 3, 2), (4, 2)]
    yield "Embedding", lambda: new.Embedding(7, 3), [(2, 4)]
    for name, options in (("LeakyReLU", {}), ("PReLU", {}), ("PReLU", {"shared_axes": [1]}), ("ELU", {"alpha": 0.7}), ("ReLU", {}),
                          ("ThresholdedReLU", {"theta": 0.3}), ("Softmax", {}),
                          ("ReLU", {"max_value": 0.5, "negative_slope": 0.1, "threshold": 0.2})):
        yield "%s %s" % (name, sorted(options.items())), lambda name=name, options=options: getattr(new, name)(**options), [(2, 4, 3)]
    yield from _windows(new)
    yield from _normalizations(new)
    yield from _recurrent(tf, new)


def _windows(new):
    first = {"data_format": "channels_first"}
    return [
        ("Conv1D causal", lambda: new.Conv1D(2, 3, padding="causal", dilation_rate=2), [(2, 7, 3)]),
        ("Conv1D strides", lambda: new.Conv1D(2, 3, strides=2, padding="same", activation="tanh"), [(2, 7, 3)]),
        ("Conv2D", lambda: new.Conv2D(2, 3, padding="same"), [(2, 5, 5, 3)]),
        ("Conv2D dilated", lambda: new.Conv2D(2, 3, dilation_rate=2), [(2, 7, 7, 3)]),
        ("Conv3D", lambda: new.Conv3D(2, 2), [(2, 3, 3, 3, 2)]),
        ("Conv2DTranspose", lambda: new.Conv2DTranspose(2, 3, strides=2, output_padding=1), [(2, 3, 3, 2)]),
        ("Conv3DTranspose", lambda: new.Conv3DTranspose(2, 2, strides=2), [(1, 2, 2, 2, 2)]),
        ("SeparableConv1D", lambda: new.SeparableConv1D(2, 3, depth_multiplier=2), [(2, 7, 3)]),
        ("SeparableConv2D", lambda: new.SeparableConv2D(2, 3, padding="same"), [(2, 5, 5, 3)]),
        ("DepthwiseConv2D", lambda: new.DepthwiseConv2D(3, depth_multiplier=2, padding="same", strides=2), [(2, 5, 5, 3)]),
        ("LocallyConnected1D", lambda: new.LocallyConnected1D(2, 3), [(2, 6, 3)]),
        ("LocallyConnected1D masked", lambda: new.LocallyConnected1D(2, 3, padding="same", implementation=2), [(2, 6, 3)]),
        ("LocallyConnected2D", lambda: new.LocallyConnected2D(2, (2, 3), strides=(1, 2)), [(2, 4, 5, 2)]),
        ("LocallyConnected2D sparse", lambda: new.LocallyConnected2D(2, (2, 3), strides=(1, 2), implementation=3), [(2, 4, 5, 2)]),
        ("Cropping1D", lambda: new.Cropping1D((1, 2)), [(2, 6, 3)]),
        ("Cropping2D", lambda: new.Cropping2D(((1, 0), (2, 1))), [(2, 6, 5, 3)]),
        ("Cropping2D channels first", lambda: new.Cropping2D(1, **first), [(2, 3, 6, 5)]),
        ("Cropping3D", lambda: new.Cropping3D(), [(2, 4, 4, 4, 2)]),
        ("ZeroPadding1D", lambda: new.ZeroPadding1D(2), [(2, 3, 2)]),
        ("ZeroPadding2D", lambda: new.ZeroPadding2D(((1, 0), (2, 1))), [(2, 3, 3, 2)]),
        ("ZeroPadding3D", lambda: new.ZeroPadding3D(), [(1, 2, 2, 2, 2)]),
        ("UpSampling1D", lambda: new.UpSampling1D(3), [(2, 3, 2)]),
        ("UpSampling2D", lambda: new.UpSampling2D((2, 3)), [(2, 3, 3, 2)]),
        ("UpSampling2D bilinear", lambda: new.UpSampling2D(interpolation="bilinear"), [(2, 3, 3, 2)]),
        ("UpSampling2D channels first", lambda: new.UpSampling2D(**first), [(2, 2, 3, 3)]),
        ("UpSampling3D", lambda: new.UpSampling3D(), [(1, 2, 2, 2, 2)]),
        ("MaxPooling1D", lambda: new.MaxPooling1D(2, padding="same"), [(2, 5, 3)]),
        ("MaxPooling2D", lambda: new.MaxPooling2D((2, 3), strides=1), [(2, 5, 5, 3)]),
        ("AveragePooling2D", lambda: new.AveragePooling2D(), [(2, 5, 5, 3)]),
        ("AveragePooling3D", lambda: new.AveragePooling3D(), [(1, 4, 4, 4, 2)]),
    ]


def _normalizations(new):
    return [
        ("BatchNormalization", lambda: new.BatchNormalization(), [(4, 3)]),
        ("BatchNormalization fused", lambda: new.BatchNormalization(scale=False), [(2, 3, 3, 2)]),
        ("LayerNormalization", lambda: new.LayerNormalization(), [(4, 3)]),
        ("LayerNormalization axes", lambda: new.LayerNormalization(axis=[1, 2]), [(4, 3, 2)]),
        ("Attention", lambda: new.Attention(use_scale=True), [(2, 3, 4), (2, 5, 4)]),
        ("Attention causal", lambda: new.Attention(causal=True), [(2, 3, 4)] * 3),
        ("AdditiveAttention", lambda: new.AdditiveAttention(), [(2, 3, 4), (2, 5, 4)]),
    ]


def _recurrent(tf, new):
    given = [(2, 4, 2)]
    for name in ("SimpleRNN", "GRU", "LSTM"):
        for options in ({}, {"return_sequences": True, "go_backwards": True}, {"return_state": True}, {"unroll": True, "use_bias": False},
                        {"dropout": 0.3, "recurrent_dropout": 0.2}):
            yield "%s %s" % (name, sorted(options)), lambda name=name, options=options: getattr(new, name)(3, **options), given
    for options in ({"implementation": 2}, {"reset_after": True}, {"reset_after": True, "implementation": 2}):
        yield "GRU %s" % sorted(options.items()), lambda options=options: new.GRU(3, **options), given
    yield "LSTM second", lambda: new.LSTM(3, implementation=2, unit_forget_bias=False, recurrent_activation="sigmoid"), given
    yield "LSTM states", lambda: new.LSTM(3), [(2, 4, 2), (2, 3), (2, 3)]
    yield "RNN stacked", lambda: new.RNN([new.LSTMCell(3), new.GRUCell(2)], return_sequences=True, return_state=True), given
    yield "RNN cell", lambda: new.RNN(new.SimpleRNNCell(3)), given
    yield "RNN peephole", lambda: new.RNN(tf.keras.experimental.PeepholeLSTMCell(3)), given
    yield "ConvLSTM2D", lambda: new.ConvLSTM2D(2, 2, return_sequences=True), [(1, 3, 4, 4, 2)]
    yield "ConvLSTM2D strides", lambda: new.ConvLSTM2D(2, (3, 2), padding="same"), [(1, 2, 4, 4, 2)]
    yield "TimeDistributed", lambda: new.TimeDistributed(new.Dense(3)), given
    yield "TimeDistributed images", lambda: new.TimeDistributed(new.Conv2D(2, 2)), [(2, 2, 4, 4, 2)]
    for mode in ("concat", "sum", None, "ave", "mul"):
        yield "Bidirectional %s" % mode, lambda mode=mode: new.Bidirectional(new.LSTM(3, return_sequences=True), merge_mode=mode), given
    yield "Bidirectional states", lambda: new.Bidirectional(new.GRU(3, return_state=True)), given


def masked(tf, np):
    """Layers behind a mask, and states that stay."""
    def of_sequence(layer):
        x = np.array([[3, 1, 2, 0], [4, 0, 0, 0], [1, 5, 0, 0]])
        model = tf.keras.Sequential([tf.keras.layers.Embedding(6, 3, mask_zero=True, input_length=4), layer])
        model.set_weights([_weight(np, value) for value in model.get_weights()])
        return [tf.constant(value, name="value") for value in (lambda found: found if isinstance(found, list) else [found])(model.predict(x))]

    def stateful():
        model = tf.keras.Sequential([tf.keras.layers.GRU(3, stateful=True, batch_input_shape=(2, 4, 2))])
        model.set_weights([_weight(np, value) for value in model.get_weights()])
        x = _data(np, (2, 4, 2))
        found = [model.predict(x), model.predict(x)]
        model.reset_states()
        return [tf.constant(value, name="value") for value in found + [model.predict(x)]]

    new = tf.keras.layers
    yield "mask LSTM", lambda: of_sequence(new.LSTM(3))
    yield "mask GRU sequences", lambda: of_sequence(new.GRU(3, return_sequences=True))
    yield "mask unrolled", lambda: of_sequence(new.SimpleRNN(3, unroll=True))
    yield "mask Bidirectional", lambda: of_sequence(new.Bidirectional(new.LSTM(3, return_sequences=True)))
    yield "mask pooling", lambda: of_sequence(new.GlobalAveragePooling1D())
    yield "mask TimeDistributed", lambda: of_sequence(new.TimeDistributed(new.Dense(2)))
    yield "stateful GRU", stateful


def cases(tf, np):
    """All of them; each in a graph with a seed."""
    for name, make, shapes in layers(tf):
        def case(make=make, shapes=shapes):
            tf.set_random_seed(3)
            return _described(tf, np, make(), shapes)
        yield name, case
    yield from masked(tf, np)
