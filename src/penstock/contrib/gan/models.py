"""The models of ``tf.contrib.gan``: tuples of the tensors, variables, scopes and functions of a generator and its discriminator."""
from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.framework.variables import get_trainable_variables

GANModel = collections.namedtuple("GANModel", (
    "generator_inputs", "generated_data", "generator_variables", "generator_scope", "generator_fn", "real_data", "discriminator_real_outputs",
    "discriminator_gen_outputs", "discriminator_variables", "discriminator_scope", "discriminator_fn"))
InfoGANModel = collections.namedtuple("InfoGANModel", (*GANModel._fields, "structured_generator_inputs", "predicted_distributions",
                                                       "discriminator_and_aux_fn"), defaults=(None,))
ACGANModel = collections.namedtuple("ACGANModel", (*GANModel._fields, "one_hot_labels", "discriminator_real_classification_logits",
                                                   "discriminator_gen_classification_logits"))
CycleGANModel = collections.namedtuple("CycleGANModel", ("model_x2y", "model_y2x", "reconstructed_x", "reconstructed_y"))
StarGANModel = collections.namedtuple("StarGANModel", (
    "input_data", "input_data_domain_label", "generated_data", "generated_data_domain_target", "reconstructed_data",
    "discriminator_input_data_source_predication", "discriminator_generated_data_source_predication",
    "discriminator_input_data_domain_predication", "discriminator_generated_data_domain_predication", "generator_variables", "generator_scope",
    "generator_fn", "discriminator_variables", "discriminator_scope", "discriminator_fn"))
GANLoss = collections.namedtuple("GANLoss", ("generator_loss", "discriminator_loss"))
CycleGANLoss = collections.namedtuple("CycleGANLoss", ("loss_x2y", "loss_y2x"))
GANTrainOps = collections.namedtuple("GANTrainOps", ("generator_train_op", "discriminator_train_op", "global_step_inc_op", "train_hooks"),
                                     defaults=((),))
GANTrainSteps = collections.namedtuple("GANTrainSteps", ("generator_train_steps", "discriminator_train_steps"))


def as_tensors(values: Any) -> Any:
    """A value, those of a list or those of a dict, as tensors."""
    if isinstance(values, (list, tuple)):
        return [tf.convert_to_tensor(value) for value in values]
    if isinstance(values, dict):
        return {key: tf.convert_to_tensor(value) for key, value in values.items()}
    return tf.convert_to_tensor(values)


def _check_shapes(generated: Any, real: Any) -> None:
    if not generated.shape.is_compatible_with(real.shape):
        raise ValueError(f"Generator output shape ({generated.shape}) must be the same shape as real data ({real.shape}).")


def gan_model(generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], real_data: Any, generator_inputs: Any,
              generator_scope: Any = "Generator", discriminator_scope: Any = "Discriminator", check_shapes: bool = True) -> GANModel:
    """``tf.contrib.gan.gan_model``: a generator, and a discriminator that sees generated and real data."""
    with tf.variable_scope(generator_scope) as gen_scope:
        generator_inputs = as_tensors(generator_inputs)
        generated = generator_fn(generator_inputs)
    with tf.variable_scope(discriminator_scope) as dis_scope:
        on_generated = discriminator_fn(generated, generator_inputs)
    with tf.variable_scope(dis_scope, reuse=True):
        real_data = as_tensors(real_data)
        on_real = discriminator_fn(real_data, generator_inputs)
    if check_shapes:
        _check_shapes(generated, real_data)
    return GANModel(generator_inputs, generated, get_trainable_variables(gen_scope), gen_scope, generator_fn, real_data, on_real, on_generated,
                    get_trainable_variables(dis_scope), dis_scope, discriminator_fn)


def infogan_model(generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], real_data: Any, unstructured_generator_inputs: Any,
                  structured_generator_inputs: Any, generator_scope: Any = "Generator", discriminator_scope: Any = "Discriminator") -> InfoGANModel:
    """``tf.contrib.gan.infogan_model``: the discriminator also gives distributions of the structured part of the noise."""
    with tf.variable_scope(generator_scope) as gen_scope:
        unstructured, structured = as_tensors(unstructured_generator_inputs), as_tensors(structured_generator_inputs)
        inputs = unstructured + structured
        generated = generator_fn(inputs)
    with tf.variable_scope(discriminator_scope) as dis_scope:
        on_generated, distributions = discriminator_fn(generated, inputs)
    if not isinstance(distributions, (tuple, list)):
        raise ValueError(f"`predicted_distributions` must be a list. Instead, found {type(distributions)}.")
    if len(distributions) != len(structured):
        raise ValueError(f"Length of `predicted_distributions` {len(distributions)} must be the same as the length of structured noise "
                         f"{len(structured)}.")
    with tf.variable_scope(dis_scope, reuse=True):
        real_data = tf.convert_to_tensor(real_data)
        on_real, _ = discriminator_fn(real_data, inputs)
    _check_shapes(generated, real_data)
    return InfoGANModel(inputs, generated, get_trainable_variables(gen_scope), gen_scope, generator_fn, real_data, on_real, on_generated,
                        get_trainable_variables(dis_scope), dis_scope, lambda data, noise: discriminator_fn(data, noise)[0], structured,
                        distributions, discriminator_fn)


def _logits_and_classes(outputs: Any) -> tuple[Any, Any]:
    try:
        logits, classes = outputs
    except (TypeError, ValueError):
        raise TypeError("A discriminator function for ACGAN must output a tuple consisting of (discrimination logits, classification logits).") \
            from None
    return logits, classes


def acgan_model(generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], real_data: Any, generator_inputs: Any, one_hot_labels: Any,
                generator_scope: Any = "Generator", discriminator_scope: Any = "Discriminator", check_shapes: bool = True) -> ACGANModel:
    """``tf.contrib.gan.acgan_model``: the discriminator also classifies."""
    with tf.variable_scope(generator_scope) as gen_scope:
        generator_inputs = as_tensors(generator_inputs)
        generated = generator_fn(generator_inputs)
    with tf.variable_scope(discriminator_scope) as dis_scope, tf.name_scope(dis_scope.name + "/generated/"):
        on_generated, generated_classes = _logits_and_classes(discriminator_fn(generated, generator_inputs))
    with tf.variable_scope(dis_scope, reuse=True), tf.name_scope(dis_scope.name + "/real/"):
        real_data = tf.convert_to_tensor(real_data)
        on_real, real_classes = _logits_and_classes(discriminator_fn(real_data, generator_inputs))
    if check_shapes:
        _check_shapes(generated, real_data)
    return ACGANModel(generator_inputs, generated, get_trainable_variables(gen_scope), gen_scope, generator_fn, real_data, on_real, on_generated,
                      get_trainable_variables(dis_scope), dis_scope, discriminator_fn, one_hot_labels, real_classes, generated_classes)


def cyclegan_model(generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], data_x: Any, data_y: Any,
                   generator_scope: Any = "Generator", discriminator_scope: Any = "Discriminator", model_x2y_scope: Any = "ModelX2Y",
                   model_y2x_scope: Any = "ModelY2X", check_shapes: bool = True) -> CycleGANModel:
    """``tf.contrib.gan.cyclegan_model``: one model from X to Y, one back, and both in turn."""
    def partial_model(scope: Any, inputs: Any, outputs: Any) -> GANModel:
        with tf.variable_scope(scope):
            return gan_model(generator_fn, discriminator_fn, outputs, inputs, generator_scope, discriminator_scope, check_shapes)

    def generate(model: GANModel, inputs: Any) -> Any:
        with tf.variable_scope(model.generator_scope, reuse=True):
            return model.generator_fn(inputs)

    model_x2y = partial_model(model_x2y_scope, data_x, data_y)
    model_y2x = partial_model(model_y2x_scope, data_y, data_x)
    return CycleGANModel(model_x2y, model_y2x, generate(model_y2x, model_x2y.generated_data), generate(model_x2y, model_y2x.generated_data))


def _one_tensor(values: Any) -> tf.Tensor:
    values = as_tensors(values)
    return tf.concat(values, 0) if isinstance(values, list) else values


def stargan_model(generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], input_data: Any, input_data_domain_label: Any,
                  generator_scope: Any = "Generator", discriminator_scope: Any = "Discriminator") -> StarGANModel:
    """``tf.contrib.gan.stargan_model``: one generator for several domains; the discriminator names the domain."""
    input_data, labels = _one_tensor(input_data), _one_tensor(input_data_domain_label)
    labels.shape.assert_has_rank(2)
    labels.shape.assert_is_fully_defined()
    batch, domains = labels.shape.as_list()
    with tf.variable_scope(generator_scope) as gen_scope:
        targets = tf.one_hot(tf.random_uniform([batch], minval=0, maxval=domains, dtype=tf.int32), domains)
        generated = generator_fn(input_data, targets)
    with tf.variable_scope(gen_scope, reuse=True):
        reconstructed = generator_fn(generated, labels)
    with tf.variable_scope(discriminator_scope) as dis_scope:
        generated_source, generated_domain = discriminator_fn(generated, domains)
    with tf.variable_scope(dis_scope, reuse=True):
        input_source, input_domain = discriminator_fn(input_data, domains)
    return StarGANModel(input_data, labels, generated, targets, reconstructed, input_source, generated_source, input_domain, generated_domain,
                        get_trainable_variables(gen_scope), gen_scope, generator_fn, get_trainable_variables(dis_scope), dis_scope, discriminator_fn)
