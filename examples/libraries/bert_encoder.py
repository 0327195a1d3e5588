"""bert-tensorflow 1.0.1 on Penstock: a small BERT encodes, and its parameters get gradients.

    make libraries ARGS=bert
"""
import numpy as np
import tensorflow as tf
from bert import modeling, optimization

config = modeling.BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                             max_position_embeddings=8)
ids = tf.constant(np.random.RandomState(0).randint(50, size=(4, 8)), tf.int32)
model = modeling.BertModel(config=config, is_training=True, input_ids=ids, input_mask=tf.ones_like(ids))
logits = tf.layers.dense(model.get_pooled_output(), 2)
loss = tf.losses.sparse_softmax_cross_entropy([0, 1, 0, 1], logits)
train = optimization.create_optimizer(loss, init_lr=1e-2, num_train_steps=60, num_warmup_steps=5, use_tpu=False)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, train])[0] for _ in range(60)]
    shape = session.run(model.get_sequence_output()).shape
print("bert: loss %.3f, then %.3f; sequence output %s" % (losses[0], losses[-1], shape))
assert losses[-1] < 0.5 * losses[0] and shape == (4, 8, 16)
