"""Model: a network that can be compiled, trained, evaluated and saved."""
from __future__ import annotations

import contextlib
import inspect
from typing import Any

import numpy as np

from penstock.graph import dtypes, nest
from penstock.graph.convert import to_tensor
from penstock.graph.function import init_scope, outermost
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.symbolic import graph_for_symbols, in_symbolic_graph
from penstock.keras.backend.steps import ArrayStep
from penstock.keras.engine import multi_worker, runs, standardize
from penstock.keras.engine.batches import Source
from penstock.keras.engine.compiled import Compiled, fixed_phase
from penstock.keras.engine.eager_steps import EagerCompiled, predict_step
from penstock.keras.engine.generators import Workers
from penstock.keras.engine.loop import Validation, iterate, train
from penstock.keras.engine.network import Network
from penstock.keras.optimizers import registry as optimizers
from penstock.keras.saving import entry as saving
from penstock.layers import settings
from penstock.layers.branching import learning_phase
from penstock.layers.sessions import values_of
from penstock.ops.constant import placeholder
from penstock.platform import logging
from penstock.platform.deprecation import renamed_args

_with_older_names = renamed_args(max_q_size="max_queue_size", nb_worker="workers", pickle_safe="use_multiprocessing")  # those of Keras 1


class Model(Network):
    """``tf.keras.Model``: of inputs and outputs, or a subclass that defines ``call``."""

    _untracked = Network._untracked | {"_compiled", "_compile_arguments", "optimizer", "history", "loss", "_feed_inputs", "_predict_step",
                                       "_run_eagerly", "_collected_trainable_weights", "_nested_inputs", "_nested_outputs", "_extra_outputs",
                                       "callback_model", "_strategy", "_compile_metrics", "_compile_weighted_metrics"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._compiled: Compiled | None = None
        self._compile_arguments: tuple[Any, ...] | None = None
        self._predict_step: Any = None
        self._run_eagerly: bool | None = None
        self._newer_loop = False
        self._takes_names = self._takes_list = False  # of a subclassed model: how it takes its inputs
        self._strategy = multi_worker.strategy_of_models()  # whose replicas train it
        multi_worker.join(self._strategy)  # before variables have values
        self.stop_training = False
        self.optimizer: Any = None
        self.loss: Any = None
        super().__init__(*args, **kwargs)

    # --- inputs ------------------------------------------------------------------------------------------------------

    @property
    def _feed_inputs(self) -> list[Any]:
        """The inputs that are fed: those that do not stand for a tensor of the user's."""
        layers = getattr(self, "_input_layers", None) if self._is_graph_network else None
        if layers is None:
            return list(self.inputs)
        return [tensor for tensor, layer in zip(self.inputs, layers) if getattr(layer, "is_placeholder", True)]

    @property
    def _feed_input_names(self) -> list[str]:
        fed = {id(tensor) for tensor in self._feed_inputs}
        return [name for tensor, name in zip(self.inputs, self.input_names) if id(tensor) in fed]

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for ``inputs``; a subclassed model learns its inputs and outputs from the first call."""
        outputs = super().__call__(inputs, *args, **kwargs)
        if not self._is_graph_network and not self.inputs and all(_is_symbolic(tensor) for tensor in nest.flatten(inputs)):
            self._set_ends(inputs, outputs)
        return outputs

    def _set_ends(self, inputs: Any, outputs: Any) -> None:
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self.input_names = list(inputs) if isinstance(inputs, dict) else [f"input_{index + 1}" for index in range(len(self.inputs))]
        self.output_names = [f"output_{index + 1}" for index in range(len(self.outputs))]
        self._takes_names, self._takes_list = isinstance(inputs, dict), isinstance(inputs, (list, tuple))

    def _ensure_inputs(self, x: Any) -> None:
        """Gives a model without inputs placeholders that fit the data, and calls it on them."""
        if self.inputs:
            return
        if self.run_eagerly:
            self._ensure_ends_of_values(x)
            return
        arrays = x if isinstance(x, (list, tuple, dict)) else [x]
        named = arrays if isinstance(arrays, dict) else {f"input_{index + 1}": array for index, array in enumerate(arrays)}
        made = {name: _placeholder_for(np.asarray(value) if not isinstance(value, Tensor) else value, name) for name, value in named.items()}
        inputs = made if isinstance(x, dict) else list(made.values()) if isinstance(x, (list, tuple)) else next(iter(made.values()))
        takes = inspect.signature(self.call).parameters
        self(inputs, **({"training": learning_phase()} if "training" in takes and not self._is_graph_network else {}))

    def _ensure_ends_of_values(self, x: Any) -> None:
        """Calls the model with the first sample: its inputs and outputs are values, of which only shapes and types count."""
        with init_scope():
            first = nest.map_structure(lambda array: to_tensor(array[:1]), x)
            self._set_ends(first, self(first))

    # --- compile -----------------------------------------------------------------------------------------------------

    @in_symbolic_graph
    def compile(self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None, loss_weights: Any = None, sample_weight_mode: Any = None,
                weighted_metrics: Any = None, target_tensors: Any = None, distribute: Any = None, **kwargs: Any) -> None:
        """Says how the model is trained and what is reported."""
        self.run_eagerly = kwargs.pop("run_eagerly", None)
        if distribute is not None:
            logging.warning("Distribute argument in compile is deprecated please create the model under the distribution strategy scope.")
        self._strategy = strategy = distribute or multi_worker.strategy_of_models() or self._strategy
        multi_worker.join(strategy)
        self._newer_loop = kwargs.pop("experimental_run_tf_function", True)
        self.optimizer = [optimizers.get(each) for each in optimizer] if isinstance(optimizer, (list, tuple)) else optimizers.get(optimizer)
        self.loss, self.loss_weights, self.sample_weight_mode = loss or {}, loss_weights, sample_weight_mode
        self._compile_metrics, self._compile_weighted_metrics = metrics or [], weighted_metrics
        self._compile_arguments = (loss, metrics, weighted_metrics, loss_weights, sample_weight_mode, target_tensors)
        self._compiled = None
        self._predict_step = None
        if self.built and self.inputs and self.outputs:
            self._compile_now()

    def _compile_now(self) -> Compiled:
        if self._compile_arguments is None:
            raise RuntimeError("You must compile your model before training/testing. Use `model.compile(optimizer, loss)`.")
        if self._compiled is None:
            with graph_for_symbols().as_default():
                calls_model = self.run_eagerly or self._steps_call_it()
                self._compiled = EagerCompiled(self, None, *self._compile_arguments) if calls_model else \
                    Compiled(self, self._strategy, *self._compile_arguments)
            self._collected_trainable_weights = self._compiled.trained
        return self._compiled

    @property
    def has_newer_loop(self) -> bool:
        """Whether TensorFlow 1.15 trains the model by its newer loop: in imperative style, if that can do all that was asked for."""
        *_, weight_mode, targets = self._compile_arguments or (None, None)
        optimizers_ = self.optimizer if isinstance(self.optimizer, list) else [self.optimizer]
        return (self._newer_loop and isinstance(outermost(default_graph()), EagerGraph) and weight_mode is None and targets is None
                and not any(isinstance(each, optimizers.TFOptimizer) for each in optimizers_))

    def _steps_call_it(self) -> bool:
        """Whether steps are traced calls of the model, as in the newer loop; replicas have a step in a graph."""
        several = self._strategy is not None and (multi_worker.are_several(self._strategy) or len(self._strategy.extended.worker_devices) > 1)
        return self.has_newer_loop and not several

    @property
    def run_eagerly(self) -> bool:
        """Whether each batch calls the model with values, in imperative style."""
        return bool(self._run_eagerly)

    @run_eagerly.setter
    def run_eagerly(self, value: bool | None) -> None:
        if value and not isinstance(outermost(default_graph()), EagerGraph):
            raise ValueError("You can only set `run_eagerly=True` if eager execution is enabled.")
        if bool(value) != self.run_eagerly:
            self._compiled = self._predict_step = None
        self._run_eagerly = value

    @property
    def _is_compiled(self) -> bool:
        return self._compiled is not None

    total_loss = property(lambda self: self._compile_now().total_loss(self._no_weights()), doc="The loss that is minimised.")
    targets = property(lambda self: [endpoint.target for endpoint in self._compile_now().endpoints], doc="The placeholders of the targets.")

    @property
    def sample_weights(self) -> list[Any]:
        """Per output that is trained, the placeholder of the weights of samples; None before weights were given."""
        return [endpoint._sample_weight for endpoint in self._compile_now().trained_endpoints]

    def _no_weights(self) -> tuple[bool, ...]:
        return (False,) * len(self._compile_now().trained_endpoints)

    @property
    def metrics(self) -> list[Any]:
        """The metrics that are reported."""
        own = self._compiled.metrics if self._compiled is not None else []
        return own + self._added_metrics()

    def _added_metrics(self) -> list[Any]:
        """The metrics of ``add_metric``, of the model and its layers: not those that a model inside was compiled with."""
        inside = [layer._added_metrics() if isinstance(layer, Model) else getattr(layer, "metrics", ()) for layer in self._sublayers()]
        return list({id(metric): metric for metrics in (self._metrics, *inside) for metric in metrics}.values())

    @property
    def metrics_names(self) -> list[str]:
        """The names of what training reports: "loss", and the metrics."""
        return ["loss"] if self._compile_arguments is None else self._compile_now().names

    @in_symbolic_graph
    def reset_metrics(self) -> None:
        """Sets all metrics to 0."""
        if self._compiled is not None:
            self._compiled.reset_metrics()

    def _check_trainable_weights_consistency(self) -> None:  # libraries call it by this name
        collected = getattr(self, "_collected_trainable_weights", None)
        if collected is not None and {id(weight) for weight in collected} != {id(weight) for weight in self.trainable_weights}:
            logging.log_first_n(logging.WARN, "Discrepancy between trainable weights and collected trainable weights, did you set "
                                "`model.trainable` without calling `model.compile` after ?", 1)

    def get_weights(self) -> list[Any]:
        """The values of all variables, layer by layer."""
        return values_of(self.weights)

    # --- data --------------------------------------------------------------------------------------------------------

    def _standardize(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None,
                      training: bool = True) -> tuple[list[Any], list[Any], list[Any]]:
        """(inputs, targets, weights per output) as lists of arrays; the model is built and compiled if that was not done."""
        self._ensure_inputs(x)
        inputs = self._feed_inputs
        shapes = [None if tensor.shape.ndims is None else tuple(tensor.shape.as_list()) for tensor in inputs]
        xs = standardize.arrays(x, self._feed_input_names, shapes, "input")
        if not training:
            return xs, [], []
        compiled = self._compile_now()
        endpoints = compiled.fed_endpoints
        names = [endpoint.name for endpoint in endpoints]
        ys = standardize.arrays(y, names, [], "target")
        if names and y is None:
            raise ValueError(f"You must pass targets (`y`) for the outputs {names}.")
        fed, trained = dict(zip(names, ys)), compiled.trained_endpoints
        given = standardize.weights_per_output(sample_weight, [endpoint.name for endpoint in trained], "sample_weight")
        classes = standardize.weights_per_output(class_weight, [endpoint.name for endpoint in trained], "class_weight")
        weights = [standardize.sample_weights(fed.get(endpoint.name), weight, by_class, endpoint.sample_weight_mode)
                   for weight, by_class, endpoint in zip(given, classes, trained)]
        standardize.check_lengths(xs, ys, [weight for weight in weights if weight is not None])
        standardize.check_losses(ys, endpoints)
        return xs, ys, weights

    def _step_for(self, mode: str, weights: list[Any], source: Source | None = None) -> Any:
        """The function of one batch: of a loop over ``source``, or one that comes alone."""
        compiled, weighted = self._compile_now(), tuple(weight is not None for weight in weights)
        return compiled.step(mode, weighted) if source is None else compiled.loop_step(mode, weighted, source.shape_of)

    def _training_updates(self, trained: list[Any], loss: Any) -> list[Any]:
        """The operations of a step of the optimizer."""
        return self.optimizer.get_updates(params=trained, loss=loss)

    @in_symbolic_graph
    def _make_train_function(self) -> None:
        """Makes the variables of the optimizer."""
        self._compile_now().prepare_training()

    @in_symbolic_graph
    def _make_test_function(self) -> Any:
        """The step of an evaluation."""
        return self._compile_now().step("test", self._no_weights())

    def _predict_function(self, source: Source | None = None) -> Any:
        if source is not None and isinstance(self._compiled, EagerCompiled):
            return self._compiled.predict_step(source.shape_of)
        if self._predict_step is None and (self.run_eagerly or isinstance(self._compiled, EagerCompiled)):
            self._predict_step = predict_step(self)
        elif self._predict_step is None:
            self._predict_step = ArrayStep(self._feed_inputs, self.outputs, self.state_updates, fixed_phase(False))
        return self._predict_step

    @in_symbolic_graph
    def _run_batch(self, mode: str, source: Source, element: Any, class_weight: Any = None) -> list[Any]:
        """Runs a step on what a generator or a dataset gave: inputs, or a tuple of inputs, targets and weights."""
        x, y, weight = runs.unpacked(element, mode)
        if mode == "predict":
            return self._predict_function(source)(self._standardize(x, training=False)[0])
        xs, ys, weights = self._standardize(x, y, weight, class_weight)
        return self._step_for(mode, weights, source)([*xs, *ys, *(each for each in weights if each is not None)])

    # --- training ----------------------------------------------------------------------------------------------------

    @in_symbolic_graph
    def fit(self, x: Any = None, y: Any = None, batch_size: int | None = None, epochs: int = 1, verbose: int = 1, callbacks: Any = None,
            validation_split: float = 0.0, validation_data: Any = None, shuffle: Any = True, class_weight: Any = None, sample_weight: Any = None,
            initial_epoch: int = 0, steps_per_epoch: int | None = None, validation_steps: int | None = None, validation_freq: Any = 1,
            max_queue_size: int = 10, workers: int = 1, use_multiprocessing: bool = False, **kwargs: Any) -> Any:
        """Trains the model; returns its History."""
        if "nb_epoch" in kwargs:
            logging.warning("The `nb_epoch` argument in `fit` has been renamed `epochs`.")
            epochs = kwargs.pop("nb_epoch")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        loop = runs.Loop(Workers(workers, use_multiprocessing, max_queue_size), self.has_newer_loop)
        return self._fit(loop, x, y, batch_size, epochs, verbose, callbacks, validation_split, validation_data, shuffle, class_weight, sample_weight,
                         initial_epoch, steps_per_epoch, validation_steps, validation_freq)

    def _fit(self, loop: runs.Loop, x: Any, y: Any, batch_size: int | None, epochs: int, verbose: int, callbacks: Any, validation_split: float,
             validation_data: Any, shuffle: Any, class_weight: Any, sample_weight: Any, initial_epoch: int, steps_per_epoch: int | None,
             validation_steps: int | None, validation_freq: Any) -> Any:
        self._assert_compiled()
        held_out = None
        if validation_data is None and validation_split and 0.0 < validation_split < 1.0:
            (x, y, sample_weight), held_out = self._split(x, y, sample_weight, class_weight, validation_split)
            class_weight = None if isinstance(class_weight, dict) else class_weight
        elif validation_data is not None:
            held_out = runs.unpacked_validation(validation_data)
        elif validation_steps:
            raise ValueError("`validation_steps` should not be specified if `validation_data` is None.")
        run = runs.make(self, "train", runs.Data(x, y, sample_weight, class_weight), loop, batch_size, steps_per_epoch, verbose, shuffle, epochs)
        validation = None if held_out is None else Validation(
            runs.held_out(run, runs.Data(*held_out), loop, batch_size, validation_steps, verbose), validation_freq)
        self._check_trainable_weights_consistency()
        begin = multi_worker.together(self._strategy) if multi_worker.are_several(self._strategy) else contextlib.nullcontext()
        try:
            with begin:
                return train(run, epochs, callbacks, validation, initial_epoch)
        finally:
            run.source.close()
            if validation is not None:
                validation.run.source.close()

    def _split(self, x: Any, y: Any, sample_weight: Any, class_weight: Any, share: float) -> tuple[Any, Any]:
        """(x, y, weights) for training and for validation: the last samples are held out."""
        if runs.has_batches(x):
            if not hasattr(x, "make_initializable_iterator"):
                raise ValueError("If your data is in the form of a Python generator, you cannot use `validation_split`.")
            raise ValueError("`validation_split` argument is not supported when input `x` is a dataset or a dataset iterator. "
                             f"Received: x={x}, validation_split={share:f}")
        xs, ys, weights = self._standardize(x, y, sample_weight, class_weight)
        first = int(len(xs[0]) * (1.0 - share))

        def part(arrays: list[Any], rows: slice) -> Any:
            return [None if array is None else array[rows] for array in arrays]

        return tuple((part(xs, rows), part(ys, rows), part(weights, rows)) for rows in (slice(0, first), slice(first, None)))  # type: ignore[return-value]

    def _assert_compiled(self) -> None:
        if self._compile_arguments is None:
            raise RuntimeError("You must compile your model before training/testing. Use `model.compile(optimizer, loss)`.")

    @in_symbolic_graph
    def evaluate(self, x: Any = None, y: Any = None, batch_size: int | None = None, verbose: int = 1, sample_weight: Any = None,
                 steps: int | None = None, callbacks: Any = None, max_queue_size: int = 10, workers: int = 1,
                 use_multiprocessing: bool = False) -> Any:
        """The loss, or the loss and the metrics."""
        self._assert_compiled()
        return self._iterate("test", runs.Loop(Workers(workers, use_multiprocessing, max_queue_size), self.has_newer_loop), x, y, batch_size, verbose,
                             sample_weight, steps, callbacks)

    def _iterate(self, mode: str, loop: runs.Loop, x: Any, y: Any, batch_size: int | None, verbose: int, sample_weight: Any, steps: int | None,
                 callbacks: Any) -> Any:
        run = runs.make(self, mode, runs.Data(x, y, sample_weight), loop, batch_size, steps, verbose)
        try:
            return _one_or_all(iterate(run, callbacks))
        finally:
            run.source.close()

    @in_symbolic_graph
    def predict(self, x: Any, batch_size: int | None = None, verbose: int = 0, steps: int | None = None, callbacks: Any = None,
                max_queue_size: int = 10, workers: int = 1, use_multiprocessing: bool = False) -> Any:
        """The outputs for all samples."""
        return self._iterate("predict", runs.Loop(Workers(workers, use_multiprocessing, max_queue_size), self.has_newer_loop), x, None, batch_size,
                             verbose, None, steps, callbacks)

    @in_symbolic_graph
    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, reset_metrics: bool = True) -> Any:
        """One step; the loss, or the loss and the metrics."""
        return self._on_batch("train", x, y, sample_weight, class_weight, reset_metrics)

    @in_symbolic_graph
    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True) -> Any:
        """The loss, or the loss and the metrics, of one batch."""
        return self._on_batch("test", x, y, sample_weight, None, reset_metrics)

    def _on_batch(self, mode: str, x: Any, y: Any, sample_weight: Any, class_weight: Any, reset_metrics: bool) -> Any:
        self._assert_compiled()
        xs, ys, weights = self._standardize(x, y, sample_weight, class_weight)
        if mode == "train":
            self._check_trainable_weights_consistency()
        outputs = self._step_for(mode, weights)([*xs, *ys, *(weight for weight in weights if weight is not None)])
        if reset_metrics:
            self.reset_metrics()
        return _one_or_all(outputs)

    @in_symbolic_graph
    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch: arrays in a graph, tensors in imperative style."""
        outputs = self._predict_function_for(x)
        if isinstance(outermost(default_graph()), EagerGraph):
            with init_scope():
                outputs = [to_tensor(output) for output in outputs]
        return _one_or_all(outputs)

    def _predict_function_for(self, x: Any) -> list[Any]:
        xs, _, _ = self._standardize(x, training=False)
        return self._predict_function()(xs)

    # --- generators --------------------------------------------------------------------------------------------------

    @_with_older_names
    @in_symbolic_graph
    def fit_generator(self, generator: Any, steps_per_epoch: int | None = None, epochs: int = 1, verbose: int = 1, callbacks: Any = None,
                      validation_data: Any = None, validation_steps: int | None = None, validation_freq: Any = 1, class_weight: Any = None,
                      max_queue_size: int = 10, workers: int = 1, use_multiprocessing: bool = False, shuffle: bool = True,
                      initial_epoch: int = 0) -> Any:
        """Trains on batches that a generator or a Sequence gives."""
        return self._fit(runs.Loop(Workers(workers, use_multiprocessing, max_queue_size)), generator, None, None, epochs, verbose, callbacks, 0.0,
                         validation_data, shuffle, class_weight, None, initial_epoch, steps_per_epoch, validation_steps, validation_freq)

    @_with_older_names
    @in_symbolic_graph
    def evaluate_generator(self, generator: Any, steps: int | None = None, callbacks: Any = None, max_queue_size: int = 10, workers: int = 1,
                           use_multiprocessing: bool = False, verbose: int = 0) -> Any:
        """Evaluates on batches that a generator or a Sequence gives."""
        self._assert_compiled()
        loop = runs.Loop(Workers(workers, use_multiprocessing, max_queue_size))
        return self._iterate("test", loop, generator, None, None, verbose, None, steps, callbacks)

    @_with_older_names
    @in_symbolic_graph
    def predict_generator(self, generator: Any, steps: int | None = None, callbacks: Any = None, max_queue_size: int = 10, workers: int = 1,
                          use_multiprocessing: bool = False, verbose: int = 0) -> Any:
        """The outputs for batches that a generator or a Sequence gives."""
        loop = runs.Loop(Workers(workers, use_multiprocessing, max_queue_size))
        return self._iterate("predict", loop, generator, None, None, verbose, None, steps, callbacks)

    # --- files -------------------------------------------------------------------------------------------------------

    @in_symbolic_graph
    def save(self, filepath: str, overwrite: bool = True, include_optimizer: bool = True, save_format: str | None = None, signatures: Any = None,
             options: Any = None) -> None:
        """Saves the model, in HDF5 or as a SavedModel."""
        saving.save_model(self, filepath, overwrite, include_optimizer, save_format, signatures, options)

    @in_symbolic_graph
    def save_weights(self, filepath: str, overwrite: bool = True, save_format: str | None = None) -> None:
        """Saves the weights, in HDF5 or as a checkpoint of TensorFlow."""
        saving.save_weights(self, filepath, overwrite, save_format)

    @in_symbolic_graph
    def load_weights(self, filepath: str, by_name: bool = False) -> Any:
        """Loads weights, from HDF5 or a checkpoint of TensorFlow."""
        return saving.load_weights(self, filepath, by_name)

    def _check_has_weights(self) -> None:
        """ValueError if a subclassed model has no variables yet."""
        if not self.built and not self._is_graph_network:
            raise ValueError(f"Unable to save the weights of {self.name}: they have not been created yet. Call the model on data first.")

    def to_json(self, **kwargs: Any) -> str:
        """The configuration, as JSON."""
        return saving.to_json(self, **kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """The configuration, as YAML."""
        return saving.to_yaml(self, **kwargs)


def _is_symbolic(value: Any) -> bool:
    """Whether a value is a tensor of a graph, not one that has a value."""
    return isinstance(value, Tensor) and not isinstance(value.op.graph, EagerGraph)


def _placeholder_for(value: Any, name: str) -> Any:
    """A placeholder for batches like this one; floats get the default type."""
    kind = dtypes.as_dtype(value.dtype)
    kind = dtypes.as_dtype(settings.floatx()) if kind.is_floating else kind
    rank = value.ndim if isinstance(value, np.ndarray) else value.shape.ndims
    extents = value.shape if isinstance(value, np.ndarray) else value.shape.as_list()
    return placeholder(kind, [None, *extents[1:]] if rank and rank > 1 else [None, 1], name=name)


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values
