"""Small programs of tf.contrib with names that no other family calls: decoders and helpers of one's own, edits of graphs, event files, data sets."""
import os
import shutil
import tempfile


def _said(tf, value):
    return tf.constant(str(value), name="said")


def _told(tf, *values):
    return [tf.identity(each, name="told") for each in values]


def _data(np, *shape):
    return np.sin(np.arange(int(np.prod(shape))) * 0.7).reshape(shape).astype(np.float32)


def decoders(tf, np):
    seq2seq = tf.contrib.seq2seq

    class Echo(seq2seq.Decoder):
        """Gives its step as output, and stops after three."""

        batch_size = 2
        output_size = 1
        output_dtype = tf.float32

        def initialize(self, name=None):
            return tf.zeros([2], tf.bool), tf.zeros([2, 1]), tf.zeros([2, 1])

        def step(self, time, inputs, state, name=None):
            out = inputs + tf.cast(time, tf.float32)
            return out, state + 1.0, out * 2.0, tf.fill([2], time >= 2)

        def finalize(self, outputs, final_state, sequence_lengths):
            return outputs * 10.0, final_state

    class Own(seq2seq.Helper):
        """Feeds back the outputs."""

        @property
        def batch_size(self):
            return tf.constant(2)

        @property
        def sample_ids_shape(self):
            return tf.TensorShape([])

        @property
        def sample_ids_dtype(self):
            return tf.int32

        def initialize(self, name=None):
            return tf.zeros([2], tf.bool), tf.ones([2, 3])

        def sample(self, time, outputs, state, name=None):
            return tf.argmax(outputs, -1, output_type=tf.int32)

        def next_inputs(self, time, outputs, state, sample_ids, name=None):
            return tf.fill([2], time >= 3), outputs, state

    def own_decoder():
        outputs, state, lengths = seq2seq.dynamic_decode(Echo(), maximum_iterations=5)
        return _told(tf, outputs, state, lengths)
    yield "own decoder", own_decoder

    def own_helper():
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.3)):
            decoder = seq2seq.BasicDecoder(tf.nn.rnn_cell.GRUCell(3), Own(), tf.ones([2, 3]))
            outputs, state, lengths = seq2seq.dynamic_decode(decoder, output_time_major=True)
        assert isinstance(outputs, seq2seq.BasicDecoderOutput)
        return _told(tf, outputs.rnn_output, outputs.sample_id, state, lengths) + [str(decoder.output_size), str(decoder.output_dtype)]
    yield "own helper", own_helper

    def attention():
        memory = tf.constant(_data(np, 2, 4, 3))
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.2)):
            mechanism = seq2seq.BahdanauAttention(3, memory, memory_sequence_length=[4, 2], normalize=True)
            cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.LSTMCell(3), mechanism, attention_layer_size=2, alignment_history=True)
            state = cell.zero_state(2, tf.float32)
            out, new = cell(tf.ones([2, 2]), state)
            out, new = cell(out, new)
        assert isinstance(new, seq2seq.AttentionWrapperState) and isinstance(mechanism, seq2seq.AttentionMechanism)
        clone = new.clone(time=tf.constant(7))
        return _told(tf, out, new.attention, new.alignments, new.cell_state.c, new.time, clone.time, new.alignment_history.stack()) + [
            str(mechanism.alignments_size), str([v.name for v in tf.trainable_variables()])]
    yield "attention", attention
    yield "attention clone wrong", lambda: seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(3), seq2seq.LuongAttention(3, tf.zeros([2, 4, 3]))).zero_state(2, tf.float32).clone(other=1)
    yield "attention of no cell", lambda: seq2seq.AttentionWrapper(3, seq2seq.LuongAttention(3, tf.zeros([2, 4, 3])))
    yield "attention of no mechanism", lambda: seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), 3)

    def beams():
        table = tf.constant(_data(np, 5, 3))
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.4)):
            cell = tf.nn.rnn_cell.GRUCell(3)
            state = seq2seq.tile_batch(tf.constant(_data(np, 2, 3)), 2)
            project = tf.layers.Dense(5, use_bias=False, kernel_initializer=tf.constant_initializer(_data(np, 3, 5)))
            decoder = seq2seq.BeamSearchDecoder(cell, table, [1, 2], 0, state, 2, project, length_penalty_weight=0.5)
            outputs, last, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
        assert isinstance(outputs, seq2seq.FinalBeamSearchDecoderOutput) and isinstance(last, seq2seq.BeamSearchDecoderState)
        assert isinstance(outputs.beam_search_decoder_output, seq2seq.BeamSearchDecoderOutput)
        return _told(tf, outputs.predicted_ids, outputs.beam_search_decoder_output.scores, outputs.beam_search_decoder_output.parent_ids,
                     last.log_probs, lengths)
    yield "beams", beams

    def legacy():
        with tf.variable_scope("root", initializer=tf.constant_initializer(0.2)):
            outputs, state = tf.contrib.legacy_seq2seq.embedding_attention_decoder(
                [tf.constant([1, 2]), tf.constant([0, 3])], tf.ones([2, 3]), tf.constant(_data(np, 2, 4, 3)), tf.nn.rnn_cell.GRUCell(3), 5, 2,
                output_size=4, feed_previous=False)
        return _told(tf, *outputs, state) + [str([v.name for v in tf.trainable_variables()])]
    yield "legacy attention decoder", legacy


def graphs(tf, np):
    ge = tf.contrib.graph_editor

    def built():
        a, b = tf.constant([1.0, 2.0], name="a"), tf.constant([3.0, 4.0], name="b")
        with tf.name_scope("one"):
            c = tf.add(a, b, name="c")
            d = tf.multiply(c, 2.0, name="d")
        with tf.name_scope("two"):
            e = tf.subtract(a, 1.0, name="e")
            f = tf.square(e, name="f")
        return a, b, c, d, e, f

    def text():
        return str([(op.name, [t.name for t in op.inputs], [o.name for o in op.control_inputs]) for op in tf.get_default_graph().get_operations()])

    def edited(edit):
        def build():
            with tf.Graph().as_default():
                tensors = built()
                result = edit(*tensors)
                told = text() + str(result)
            return _said(tf, told)
        return build

    def view(*ops):
        return ge.make_view([t.op for t in ops])
    yield "swap_inputs", edited(lambda a, b, c, d, e, f: ge.swap_inputs(view(d).remap_inputs([0]), view(f)) and None)
    yield "swap_ios", edited(lambda a, b, c, d, e, f: ge.swap_ios(view(c, d).remap_inputs([0]), view(e, f).remap_inputs([0])) and None)
    yield "connect", edited(lambda a, b, c, d, e, f: ge.connect(view(c), view(f)) and None)
    yield "connect wrong", edited(lambda a, b, c, d, e, f: ge.connect(view(f), view(c)) and None)
    yield "detach", edited(lambda a, b, c, d, e, f: [[t.name for t in part] if isinstance(part, (list, tuple)) else None
                                                     for part in ge.detach(view(d))[1:]])
    yield "detach_inputs", edited(lambda a, b, c, d, e, f: [t.name for t in ge.detach_inputs(view(f))[1]])
    yield "detach_outputs", edited(lambda a, b, c, d, e, f: [t.name for t in ge.detach_outputs(view(e))[1]])

    def controls(a, b, c, d, e, f):
        ge.add_control_inputs(f.op, [c.op, d.op])
        ge.detach_control_inputs(view(f))
        ge.add_control_inputs(d.op, [e.op])
        ge.detach_control_outputs(view(e), ge.ControlOutputs(tf.get_default_graph()))
    yield "detach controls", edited(controls)
    yield "ph", edited(lambda a, b, c, d, e, f: [ge.ph(tf.float32, [2, None]).name, ge.ph(tf.int32, []).name])

    def copied(a, b, c, d, e, f):
        copier = ge.Transformer()
        copier.transform_external_input_handler = ge.keep_t_if_possible_handler
        sub, info = copier(view(c, d), tf.get_default_graph(), "copied", "")
        assert isinstance(info, ge.TransformerInfo)
        return [op.name for op in sub.ops], info.transformed(d).name, info.original(info.transformed(d)).name, info.transformed(c.op).name
    yield "copy with handlers", edited(copied)

    def placeheld(a, b, c, d, e, f):
        copier = ge.Transformer()
        copier.transform_external_input_handler = ge.replace_t_with_placeholder_handler
        copier.transform_op_handler = ge.copy_op_handler
        copier.assign_collections_handler = ge.assign_renamed_collections_handler
        tf.add_to_collection("mine", f)
        sub, _ = copier(view(e, f), tf.get_default_graph(), "other", "")
        return [op.name for op in sub.ops], [t.name for t in tf.get_collection("mine")], [t.name for t in sub.inputs]
    yield "copy with placeholders", edited(placeheld)
    yield "copy wrong", edited(lambda a, b, c, d, e, f: ge.Transformer()(3, tf.get_default_graph(), "x", ""))


def _folder(build):
    """A case that gets a folder which is removed behind it."""
    def case():
        folder = tempfile.mkdtemp()
        try:
            return build(folder)
        finally:
            shutil.rmtree(folder)
    return case


def events(tf, np):
    summary = tf.contrib.summary

    def tags(folder):
        found = []
        for path in sorted(os.listdir(folder)):
            for event in tf.train.summary_iterator(os.path.join(folder, path)):
                found += [(event.step, value.tag, value.simple_value, str(value.metadata.plugin_data.plugin_name)) for value in event.summary.value]
        return found

    def written(folder):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            writer = summary.create_file_writer(folder, max_queue=10, flush_millis=1000, name="w")
            told = [isinstance(writer, summary.SummaryWriter)]
            with writer.as_default(), summary.always_record_summaries():
                summary.scalar("loss", tf.constant(2.5))
                summary.generic("g", tf.constant([1, 2]), metadata=None)
                summary.histogram("h", tf.constant(_data(np, 5)))
                told.append(summary.should_record_summaries() is True or str(type(summary.should_record_summaries()).__name__))
                with summary.never_record_summaries():
                    summary.scalar("never", tf.constant(1.0))
                with summary.record_summaries_every_n_global_steps(2):
                    summary.scalar("often", tf.cast(step, tf.float32))
                event = tf.Event(wall_time=1.0, step=9, summary=tf.Summary(value=[tf.Summary.Value(tag="raw", simple_value=4.0)]))
                summary.import_event(tf.constant(event.SerializeToString()))
                told.append(len(summary.all_summary_ops()))
                flush = summary.flush()
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(summary.summary_writer_initializer_op())
                for _ in range(3):
                    sess.run(summary.all_summary_ops())
                    sess.run(tf.assign_add(step, 1))
                sess.run(flush)
            told.append([op.name for op in summary.summary_writer_initializer_op()])
        return _said(tf, (told, sorted(set(tags(folder)))))
    yield "summaries", _folder(written)
    yield "no writer", lambda: _said(tf, (summary.scalar("a", 1.0).name, summary.all_summary_ops(), summary.summary_writer_initializer_op()))
    yield "eval_dir", lambda: _said(tf, (summary.eval_dir("/tmp/model"), summary.eval_dir("/tmp/model", "test")))
    yield "recording", lambda: _said(tf, type(summary.should_record_summaries()).__name__)
    yield "initialize without", lambda: summary.initialize(graph=tf.get_default_graph())

    def projected(folder):
        projector = tf.contrib.tensorboard.plugins.projector
        config = projector.ProjectorConfig()
        embedding = config.embeddings.add()
        embedding.tensor_name, embedding.metadata_path = "emb:0", "labels.tsv"
        embedding.sprite.image_path = "sprite.png"
        embedding.sprite.single_image_dim.extend([28, 28])
        config.embeddings.extend([projector.EmbeddingInfo(tensor_name="other", sprite=projector.SpriteMetadata(image_path="x"))])
        projector.visualize_embeddings(tf.summary.FileWriter(folder), config)
        with open(os.path.join(folder, "projector_config.pbtxt")) as file:
            return _said(tf, file.read())
    yield "projector", _folder(projected)
    yield "projector nowhere", lambda: tf.contrib.tensorboard.plugins.projector.visualize_embeddings(
        3, tf.contrib.tensorboard.plugins.projector.ProjectorConfig())

    def utilities():
        util = tf.contrib.util
        proto = util.make_tensor_proto([[1.5, 2.0], [3.0, 4.0]], dtype=tf.float64)
        shapes = [util.make_tensor_proto(5, shape=[2, 2]), util.make_tensor_proto(["a", b"b"])]
        values = [util.constant_value(t) for t in (tf.constant([1, 2]), tf.shape(tf.zeros([2, 3])), tf.range(3), tf.placeholder(tf.int32),
                                                   tf.stack([1, 2]), tf.fill([2], 3))]
        used = sorted(util.ops_used_by_graph_def(tf.get_default_graph().as_graph_def()))
        return _said(tf, (util.make_ndarray(proto), str(proto.dtype), [util.make_ndarray(p).tolist() for p in shapes],
                          [None if v is None else v.tolist() for v in values], used))
    yield "utilities", utilities
    yield "tensor proto wrong", lambda: tf.contrib.util.make_tensor_proto([1, 2, 3], shape=[2])
    yield "tensor proto of text", lambda: tf.contrib.util.make_tensor_proto("a", dtype=tf.float32)


def optimizers(tf, np):
    opt = tf.contrib.opt

    def scipy(method, **options):
        def build():
            with tf.Graph().as_default():
                w = tf.get_variable("w", initializer=[7.0, 7.0])
                loss = tf.reduce_sum(tf.square(w - [1.0, -2.0]))
                seen = []
                optimizer = opt.ScipyOptimizerInterface(loss, method=method, **{key: make(w) for key, make in options.items()})
                with tf.Session() as sess:
                    sess.run(tf.global_variables_initializer())
                    optimizer.minimize(sess, fetches=[loss], loss_callback=lambda value: seen.append(float(value)))
                    return np.round(sess.run(w), 3).tolist(), seen[0]
        return lambda: _said(tf, build())
    yield "scipy", scipy("L-BFGS-B")
    yield "scipy constrained", scipy("SLSQP", equalities=lambda w: [w[0] + w[1] - 1.0], inequalities=lambda w: [w[1] - 0.5])
    yield "scipy bounded", scipy("L-BFGS-B", var_to_bounds=lambda w: {w: ([0.0, 0.0], np.inf)})

    def external():
        class Halving(opt.ExternalOptimizerInterface):
            def _minimize(self, initial_val, loss_grad_func, equality_funcs, equality_grad_funcs, inequality_funcs, inequality_grad_funcs,
                          packed_bounds, step_callback, optimizer_kwargs):
                gradient = loss_grad_func(initial_val)[1]
                step_callback(initial_val)
                return initial_val - optimizer_kwargs["rate"] * gradient
        with tf.Graph().as_default():
            w = tf.get_variable("w", initializer=[4.0, 8.0])
            optimizer = Halving(tf.reduce_sum(w * w), rate=0.25)
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                optimizer.minimize(sess)
                told = sess.run(w).tolist()
        return _said(tf, told)
    yield "external", external

    def decoupled():
        class Own(opt.DecoupledWeightDecayExtension, tf.train.GradientDescentOptimizer):
            def __init__(self, decay, *args, **kwargs):
                super().__init__(decay, *args, **kwargs)
        with tf.Graph().as_default():
            w = tf.get_variable("w", initializer=[4.0, 8.0])
            train = Own(0.1, learning_rate=0.5).minimize(tf.reduce_sum(w))
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(train)
                told = sess.run(w).tolist()
        return _said(tf, np.round(told, 4).tolist())
    yield "decoupled", decoupled


def cases(tf, np):
    for family in (decoders, graphs, events, optimizers):
        yield from family(tf, np)
