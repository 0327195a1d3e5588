"""tf.contrib.gan: models, losses, training ops, features, metrics.

TensorFlow 1.15 has no tf.contrib.gan any more: recorded with that of TensorFlow 1.13 running on 1.15.5.
"""


def _noise(tf, np, *shape):
    return tf.constant(np.sin(np.arange(int(np.prod(shape))) * 0.9 + 0.3).reshape(shape), tf.float32)


def _kernel(tf, np):
    def make(shape, dtype=None, partition_info=None, **_):
        size = int(np.prod(shape)) if len(shape) else 1
        return tf.constant(np.sin(np.arange(size) * 1.3 + len(shape)).reshape(shape) * 0.6, dtype=dtype or tf.float32)
    return make


def _networks(tf, np, classes=0):
    def generator(inputs, targets=None):
        inputs = tf.concat(list(inputs), 1) if isinstance(inputs, (list, tuple)) else inputs
        inputs = inputs if targets is None else tf.concat([inputs, targets], 1)
        return tf.layers.dense(inputs, 3, kernel_initializer=_kernel(tf, np), kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1), name="g")

    def discriminator(data, _):
        hidden = tf.layers.dense(data, 4, tf.tanh, kernel_initializer=_kernel(tf, np), name="one")
        logits = tf.layers.dense(hidden, 1, kernel_initializer=_kernel(tf, np), name="two")
        if not classes:
            return logits
        return logits, tf.layers.dense(hidden, classes, kernel_initializer=_kernel(tf, np), name="classes")

    return generator, discriminator


def _model(tf, np):
    return tf.contrib.gan.gan_model(*_networks(tf, np), real_data=_noise(tf, np, 5, 3), generator_inputs=_noise(tf, np, 5, 2) * 0.5)


def _acgan(tf, np):
    labels = tf.one_hot([0, 1, 1, 2, 0], 3)
    return tf.contrib.gan.acgan_model(*_networks(tf, np, classes=3), real_data=_noise(tf, np, 5, 3), generator_inputs=_noise(tf, np, 5, 2),
                                      one_hot_labels=labels)


def _infogan(tf, np):
    generator, discriminator = _networks(tf, np, classes=1)

    def both(data, noise):
        logits, mean = discriminator(data, noise)
        return logits, [tf.contrib.distributions.Normal(mean, 1.0)]
    return tf.contrib.gan.infogan_model(generator, both, _noise(tf, np, 5, 3), [_noise(tf, np, 5, 2)], [_noise(tf, np, 5, 1) * 0.5])


def _cyclegan(tf, np):
    return tf.contrib.gan.cyclegan_model(*_networks(tf, np), data_x=_noise(tf, np, 5, 3), data_y=tf.cos(_noise(tf, np, 5, 3)))


def _names(tf):
    keys = ("variables", "trainable_variables", "losses", "regularization_losses", "summaries", "update_ops")
    return tf.constant([key + " " + each.name for key in keys for each in tf.get_collection(key)] + [""], name="names")


def models(tf, np):
    """The tensors of each model, and the names that it leaves."""
    for name, make in (("gan", _model), ("acgan", _acgan), ("infogan", _infogan), ("cyclegan", _cyclegan)):
        def case(make=make):
            model = make(tf, np)
            fields = [part for field in model for part in (field if isinstance(field, (tuple, list)) else [field])]
            return [tf.identity(each) for each in fields if isinstance(each, tf.Tensor)] + [_names(tf), str(list(model._fields))]
        yield name + " model", case
    generator, discriminator = _networks(tf, np)
    yield "gan model of other shape", lambda: tf.contrib.gan.gan_model(generator, discriminator, _noise(tf, np, 5, 4), _noise(tf, np, 5, 2))
    yield "acgan without classes", lambda: tf.contrib.gan.acgan_model(generator, discriminator, _noise(tf, np, 5, 3), _noise(tf, np, 5, 2), None)


def losses(tf, np):
    """Each loss of a model, its gradient, and the summaries that it adds."""
    gan = tf.contrib.gan

    def case(make, loss, **kwargs):
        def build():
            model = make(tf, np)
            value = loss(model, add_summaries=True, **kwargs)
            return [value, _names(tf)] + [tf.identity(g) for g in tf.gradients(value, list(model.discriminator_variables)) if g is not None]
        return build

    for name in ("wasserstein", "minimax", "modified", "least_squares"):
        yield name + " generator", case(_model, getattr(gan.losses, name + "_generator_loss"), weights=0.5)
        yield name + " discriminator", case(_model, getattr(gan.losses, name + "_discriminator_loss"), real_weights=2.0)
    yield "acgan generator", case(_acgan, gan.losses.acgan_generator_loss)
    yield "acgan discriminator", case(_acgan, gan.losses.acgan_discriminator_loss, label_smoothing=0.1)
    yield "mutual information", case(_infogan, gan.losses.mutual_information_penalty)
    yield "twice", lambda: gan.losses.wasserstein_generator_loss(_model(tf, np), discriminator_gen_outputs=1.0)
    yield "no distributions", lambda: gan.losses.mutual_information_penalty(_model(tf, np))
    yield "cycle consistency", lambda: [gan.losses.cycle_consistency_loss(_cyclegan(tf, np), add_summaries=True), _names(tf)]

    def penalty(**kwargs):
        def build():
            tf.set_random_seed(3)
            return [gan.losses.wasserstein_gradient_penalty(_model(tf, np), **kwargs), _names(tf)]
        return build
    yield "gradient penalty", penalty()
    yield "gradient penalty one sided", penalty(one_sided=True, target=0.2)

    def combined(**kwargs):
        def build():
            model = _model(tf, np)
            loss = gan.GANLoss(gan.losses.modified_generator_loss(model), gan.losses.modified_discriminator_loss(model))
            other = tf.reduce_mean(tf.square(model.generated_data))
            return list(gan.losses.combine_adversarial_loss(loss, model, other, **kwargs)) + [_names(tf)]
        return build
    yield "combined by weight", combined(weight_factor=0.3)
    yield "combined by ratio", combined(gradient_ratio=2.0)
    yield "combined by nothing", combined(weight_factor=0.0, gradient_summaries=False)
    yield "combined by both", combined(weight_factor=0.3, gradient_ratio=2.0)


def training(tf, np):
    """Both losses, both training ops, and some steps."""
    gan = tf.contrib.gan

    def trained(make, loss, steps=None, races=False, **kwargs):
        def build():
            tf.set_random_seed(5)
            model = make(tf, np)
            both = loss(model, **kwargs)
            ops = gan.gan_train_ops(model, both, tf.train.GradientDescentOptimizer(0.1), tf.train.MomentumOptimizer(0.1, 0.5))
            hooks = (steps or gan.get_sequential_train_hooks())(ops)
            names = _names(tf)
            with tf.train.MonitoredSession(hooks=hooks) as sess:
                for _ in range(3):
                    step = sess.run(ops.global_step_inc_op)
                values = sess.run(tf.trainable_variables())
            flat = np.zeros(0) if races else np.concatenate([np.ravel(value) for value in values])
            return [names, tf.constant(flat, name="values"), tf.constant(step, name="step"), str(hooks and len(hooks))]
        return build

    yield "train", trained(_model, gan.gan_loss)
    yield "train with penalty", trained(_model, gan.gan_loss, gradient_penalty_weight=2.0)
    yield "train jointly", trained(_model, gan.gan_loss, gan.get_joint_train_hooks(gan.GANTrainSteps(2, 3)), races=True)
    yield "train acgan", trained(_acgan, gan.gan_loss, aux_cond_generator_weight=0.5, aux_cond_discriminator_weight=0.25)
    yield "train infogan", trained(_infogan, gan.gan_loss, mutual_information_penalty_weight=0.5)
    yield "train cyclegan", trained(_cyclegan, gan.cyclegan_loss, races=True)
    yield "negative weight", lambda: gan.gan_loss(_model(tf, np), gradient_penalty_weight=-1.0)
    yield "no infogan", lambda: gan.gan_loss(_model(tf, np), mutual_information_penalty_weight=1.0)

    def stargan():
        tf.set_random_seed(2)
        generator, _ = _networks(tf, np)
        model = gan.stargan_model(generator, _networks(tf, np, classes=2)[1], _noise(tf, np, 4, 3), tf.one_hot([0, 1, 1, 0], 2))
        return list(gan.stargan_loss(model)) + [_names(tf), tf.identity(model.reconstructed_data)]
    yield "stargan", stargan


def features(tf, np):
    gan = tf.contrib.gan.features

    def spectral():
        kernel = tf.get_variable("kernel", [2, 3, 4], initializer=_kernel(tf, np))
        tf.set_random_seed(4)
        with tf.variable_scope("", custom_getter=gan.spectral_normalization_custom_getter()):
            layer = tf.layers.dense(_noise(tf, np, 2, 3), 2, kernel_initializer=_kernel(tf, np))
        return [gan.compute_spectral_norm(kernel, 3), gan.spectral_normalize(kernel), layer, _names(tf),
                gan.spectral_norm_regularizer(0.5)(tf.constant(np.eye(3), tf.float32))]
    yield "spectral norm", spectral

    def vbn(shape, **kwargs):
        def build():
            norm = gan.VBN(_noise(tf, np, *shape), **kwargs)
            return [norm.reference_batch_normalization(), norm(tf.sin(_noise(tf, np, *shape) * 2.0)), _names(tf)]
        return build
    yield "vbn", vbn((4, 3))
    yield "vbn images", vbn((2, 3, 3, 2))
    yield "vbn axis", vbn((2, 3, 4), axis=1, center=False)
    yield "vbn batch axis", vbn((3, 4, 2), batch_axis=1, axis=0)
    yield "vbn same axis", vbn((3, 4), axis=0)

    def conditioned():
        contrib = tf.contrib
        with tf.variable_scope("", initializer=_kernel(tf, np)), \
                contrib.framework.arg_scope([contrib.layers.fully_connected], weights_initializer=_kernel(tf, np)):
            one = gan.condition_tensor_from_onehot(_noise(tf, np, 3, 2, 2), tf.one_hot([0, 2, 1], 3), embedding_size=4)
        return [one, _names(tf)]
    yield "condition", conditioned

    def pool():
        values = gan.tensor_pool([_noise(tf, np, 2), tf.constant(3)], pool_size=2)
        return [tf.identity(each, name="each") for each in values]
    yield "pool", pool
    yield "pool of nothing", lambda: gan.tensor_pool(_noise(tf, np, 2), pool_size=-1)

    def clipped():
        model = _model(tf, np)
        optimizer = gan.clip_discriminator_weights(tf.train.GradientDescentOptimizer(0.1), model, 0.05)
        train = optimizer.minimize(tf.reduce_sum(model.discriminator_gen_outputs))
        with tf.control_dependencies([train]):
            return [variable.read_value() for variable in model.discriminator_variables]
    yield "clip", clipped


def evaluation(tf, np):
    gan = tf.contrib.gan.eval
    images = _noise(tf, np, 6, 4, 4, 3)
    yield "grid", lambda: gan.image_grid(_noise(tf, np, 6, 4, 4, 3), (2, 3), (4, 4))
    yield "grid flat", lambda: gan.image_grid(_noise(tf, np, 4, 12), (2, 2), (2, 2))
    yield "grid wrong", lambda: gan.image_grid(_noise(tf, np, 6, 4, 4, 3), (2, 2), (4, 4))
    yield "reshaper", lambda: gan.image_reshaper(_noise(tf, np, 5, 2, 2, 1))
    yield "reshaper columns", lambda: gan.image_reshaper(_noise(tf, np, 5, 2, 2, 3), num_cols=4)
    del images

    def image_model():
        return tf.contrib.gan.gan_model(lambda z: z * tf.get_variable("a", [], initializer=tf.ones_initializer()),
                                        lambda x, z: tf.reduce_sum(x, [1, 2, 3]) * tf.get_variable("b", [], initializer=tf.ones_initializer()),
                                        _noise(tf, np, 16, 4, 4, 3), tf.cos(_noise(tf, np, 16, 4, 4, 3)))

    def summaries():
        model = image_model()
        gan.add_gan_model_image_summaries(model)
        gan.add_image_comparison_summaries(model, display_diffs=True)
        gan.add_regularization_loss_summaries(model)
        return _names(tf)
    yield "summaries", summaries

    def logits():
        return _noise(tf, np, 6, 4) * 2.0
    yield "score", lambda: gan.classifier_score_from_logits(logits())
    yield "frechet", lambda: gan.frechet_classifier_distance_from_activations(logits(), tf.cos(logits() * 1.5))
    yield "frechet means", lambda: gan.mean_only_frechet_classifier_distance_from_activations(logits(), tf.cos(logits()))
    yield "frechet diagonal", lambda: gan.diagonal_only_frechet_classifier_distance_from_activations(logits(), tf.cos(logits()))
    yield "frechet images", lambda: gan.frechet_classifier_distance(logits(), tf.cos(logits() * 1.5), lambda x: tf.square(x), num_batches=2)
    yield "preprocess", lambda: gan.preprocess_image(_noise(tf, np, 1, 4, 4, 3) * 100.0, 3, 5)


def cases(tf, np):
    for part in (models, losses, training, features, evaluation):
        for name, case in part(tf, np):
            yield part.__name__ + " " + name, case
