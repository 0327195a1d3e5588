"""Wide & deep with an Estimator: crossed columns remember pairs, embeddings generalise; trained, evaluated and exported.

    python examples/wide_deep.py [MODEL_DIR]
"""
import sys
import tempfile

import numpy as np

import penstock as tf

COLOURS, SHAPES = ["red", "green", "blue"], ["disc", "cube", "cone"]


def rows(count, seed):
    """Made-up purchases: people buy red cubes and blue cones, and more as they get older."""
    rng = np.random.RandomState(seed)
    colour, shape, age = rng.choice(COLOURS, count), rng.choice(SHAPES, count), rng.uniform(18, 80, count).astype(np.float32)
    liked = ((colour == "red") & (shape == "cube")) | ((colour == "blue") & (shape == "cone"))
    return {"colour": colour, "shape": shape, "age": age}, (liked | (age > 70)).astype(np.int32)


def main(steps=300, model_dir=None):
    """Returns the accuracy on new rows."""
    column = tf.feature_column
    colour = column.categorical_column_with_vocabulary_list("colour", COLOURS)
    shape = column.categorical_column_with_vocabulary_list("shape", SHAPES)
    age = column.numeric_column("age", normalizer_fn=lambda x: (x - 50) / 20)
    wide = [column.crossed_column(["colour", "shape"], 100)]
    deep = [column.embedding_column(colour, 4), column.embedding_column(shape, 4), age]
    with tempfile.TemporaryDirectory() as scratch:
        folder = model_dir or scratch
        config = tf.estimator.RunConfig(model_dir=folder, tf_random_seed=1, log_step_count_steps=None)
        estimator = tf.estimator.DNNLinearCombinedClassifier(linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[16],
                                                             dnn_optimizer=tf.train.AdagradOptimizer(0.2), config=config)
        features, labels = rows(2000, 0)
        estimator.train(tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=64, num_epochs=None, shuffle=True), steps=steps)
        features, labels = rows(500, 1)
        metrics = estimator.evaluate(tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=100, shuffle=False))
        receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(column.make_parse_example_spec([*wide, *deep]))
        print("exported to", estimator.export_saved_model(f"{folder}/export", receiver).decode())
    print(f"accuracy {metrics['accuracy']:.3f}, AUC {metrics['auc']:.3f}")
    return float(metrics["accuracy"])


if __name__ == "__main__":
    main(model_dir=sys.argv[1] if len(sys.argv) > 1 else None)
