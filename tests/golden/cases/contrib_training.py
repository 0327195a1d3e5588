"""tf.contrib.training: train ops with their names and values, gradients on the way, texts of hyperparameters and their errors."""


def _model(tf, np):
    x = tf.constant(np.cos(np.arange(12)).reshape(4, 3), tf.float32)
    y = tf.layers.dense(x, 2, kernel_initializer=tf.ones_initializer(), name="one")
    y = tf.layers.batch_normalization(y, training=True, name="norm")
    return tf.reduce_mean(tf.square(tf.layers.dense(y, 1, kernel_initializer=tf.ones_initializer(), name="two") - 0.3), name="loss")


def train_ops(tf, np):
    training = tf.contrib.training

    def case(optimizer=None, **more):
        def build():
            loss = _model(tf, np)
            if more.get("update_ops") == "one":
                more["update_ops"] = tf.get_collection("update_ops")[:1]
            train_op = training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1), **more)
            names = [train_op.name] + [each.name for key in ("train_op", "global_step", "summaries") for each in tf.get_collection(key)]
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                losses = [sess.run(train_op) for _ in range(4)]
                variables = sess.run(tf.global_variables())
            flat = np.concatenate([np.ravel(each).astype(np.float32) for each in losses + variables])
            return [tf.constant(names, name="names"), tf.constant(flat, name="values")]
        return build

    yield "create_train_op", case()
    yield "create_train_op clipped", case(transform_grads_fn=training.clip_gradient_norms_fn(0.01))
    yield "create_train_op multiplied", case(
        transform_grads_fn=lambda grads: training.multiply_gradients(grads, {"one/kernel": 0.0, "two/bias": 2.0}))
    yield "create_train_op summaries", case(summarize_gradients=True)
    yield "create_train_op bare", case(update_ops=[], global_step=None, check_numerics=False)
    yield "multiply nothing", lambda: training.multiply_gradients([], {})
    yield "multiply None", lambda: training.multiply_gradients([(None, tf.Variable(1.0, name="v"))], {"v": 2.0})
    yield "multiply no list", lambda: training.multiply_gradients({}, {"v": 2.0})

    def eval_step():
        step = training.get_or_create_eval_step()
        again = training.get_or_create_eval_step()
        return [tf.constant([step.name, again.name] + [v.name for v in tf.get_collection("local_variables")]), tf.identity(step)]
    yield "eval step", eval_step


def hparams(tf, np):
    def make():
        return tf.contrib.training.HParams(rate=0.1, layers=[1, 2], name="x", flag=True, nothing=None, count=3, pair=("a", "b"))

    def case(change):
        def build():
            params = make()
            result = change(params)
            return tf.constant([str(params), repr(params), params.to_json(sort_keys=True), str(type(result).__name__),
                                str(result) if isinstance(result, (int, float, str, list, bool)) else ""])
        return build

    for text in ["rate=0.5,layers=[3,4]", "name=hello world", "flag=false", "flag=0", "count=7,rate=1", "layers=[5]", "pair=[c,d]", "",
                 "rate=1e-3, count=-2", "flag=True,name=", "layers=[1 2 3]", "name=a=b"]:
        yield "parse " + text, case(lambda params, text=text: params.parse(text))
    for text in ["unknown=1", "rate=abc", "count=1.5", "rate", "rate=1,rate=2", "layers=3", "rate=[1,2]", "layers[0]=3", "flag=maybe",
                 "layers[0]=[1]", "=3", "count=x"]:
        yield "refused " + text, case(lambda params, text=text: params.parse(text))
    yield "set", case(lambda params: params.set_hparam("count", 9))
    yield "set int as float", case(lambda params: params.set_hparam("rate", 2))
    yield "set float as int", case(lambda params: params.set_hparam("count", 2.5))
    yield "set text as int", case(lambda params: params.set_hparam("count", "2"))
    yield "set int as bool", case(lambda params: params.set_hparam("flag", 1))
    yield "set bool as int", case(lambda params: params.set_hparam("count", True))
    yield "set int as text", case(lambda params: params.set_hparam("name", 1))
    yield "set scalar as list", case(lambda params: params.set_hparam("layers", 1))
    yield "set list as scalar", case(lambda params: params.set_hparam("count", [1]))
    yield "set unknown", case(lambda params: params.set_hparam("unknown", 1))
    yield "set None", case(lambda params: params.set_hparam("nothing", 5))
    yield "add", case(lambda params: params.add_hparam("more", [0.5]))
    yield "add reserved", case(lambda params: params.add_hparam("values", 1))
    yield "add twice", case(lambda params: params.add_hparam("rate", 1))
    yield "add empty", case(lambda params: params.add_hparam("more", []))
    yield "delete", case(lambda params: params.del_hparam("rate"))
    yield "get", case(lambda params: [params.get("rate"), params.get("rate", 0.3), params.get("zzz", 4), params.get("layers", [1]), "rate" in params,
                                      "zzz" in params])
    yield "get another type", case(lambda params: params.get("rate", "x"))
    yield "get another rank", case(lambda params: params.get("layers", 1))
    yield "json", case(lambda params: params.parse_json('{"rate": 0.25, "layers": [9]}'))
    yield "override", case(lambda params: params.override_from_dict({"rate": 7.0, "name": "z"}))
    yield "structure", case(lambda params: [params.set_model_structure("m"), params.get_model_structure()])

    def parse_values():
        found = tf.contrib.training.parse_values("a=1,b[1]=2.5,b[0]=3,c=[x,y],d=9", {"a": int, "b": float, "c": str}, ignore_unknown=True)
        return tf.constant(repr(sorted(found.items())))
    yield "parse_values", parse_values
    for text in ("a=1,a[1]=2", "a[1]=2,a[1]=3", "a[1]=2,a=1"):
        yield "parse_values refused " + text, lambda text=text: tf.constant(str(tf.contrib.training.parse_values(text, {"a": int})))


def cases(tf, np):
    for family in (train_ops, hparams):
        yield from family(tf, np)
