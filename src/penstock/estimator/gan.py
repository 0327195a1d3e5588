"""``tf.contrib.gan.estimator``: estimators that train a generator and a discriminator in turn."""
from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable
from typing import Any

from penstock.contrib.framework.variables import get_trainable_variables
from penstock.contrib.gan import summaries
from penstock.contrib.gan.models import GANLoss, GANModel, as_tensors, gan_model, stargan_model
from penstock.contrib.gan.training import gan_train_ops, get_sequential_train_hooks
from penstock.estimator.estimator import Estimator
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.scopes import name_scope
from penstock.layers.metrics.streaming import mean
from penstock.variables.scope import variable_scope


class SummaryType(enum.IntEnum):
    """``tf.contrib.gan.estimator.SummaryType``: what to show of a model."""

    NONE = 0
    VARIABLES = 1
    IMAGES = 2
    IMAGE_COMPARISON = 3


_SUMMARIES: dict[int, Callable[[Any], None]] = {
    SummaryType.VARIABLES: summaries.add_gan_model_summaries,
    SummaryType.IMAGES: summaries.add_gan_model_image_summaries,
    SummaryType.IMAGE_COMPARISON: summaries.add_image_comparison_summaries,
}
_STARGAN_SUMMARIES: dict[int, Callable[[Any], None]] = {
    SummaryType.VARIABLES: summaries.add_gan_model_summaries,
    SummaryType.IMAGES: summaries.add_stargan_image_summaries,
}


class GANHead:
    """``tf.contrib.gan.estimator.GANHead``: the losses of a GANModel, its metrics, and how it is trained. The model stands for the logits."""

    def __init__(self, generator_loss_fn: Callable[..., Any] | None, discriminator_loss_fn: Callable[..., Any] | None, generator_optimizer: Any,
                 discriminator_optimizer: Any, use_loss_summaries: bool | None = True, get_hooks_fn: Callable[..., Any] | None = None,
                 get_eval_metric_ops_fn: Callable[..., Any] | None = None, name: str | None = None) -> None:
        for what, function in (("generator_loss_fn", generator_loss_fn), ("discriminator_loss_fn", discriminator_loss_fn)):
            if not callable(function):
                raise ValueError(f"{what} must be callable.")
        if use_loss_summaries not in (True, False, None):
            raise ValueError("use_loss_summaries must be True, False or None.")
        if get_hooks_fn is not None and not callable(get_hooks_fn):
            raise TypeError("get_hooks_fn must be callable.")
        self._loss_fns: tuple[Any, Any] = (generator_loss_fn, discriminator_loss_fn)
        self._optimizers, self._use_loss_summaries = (generator_optimizer, discriminator_optimizer), use_loss_summaries
        self._get_hooks, self._get_metrics, self.name = get_hooks_fn or get_sequential_train_hooks(), get_eval_metric_ops_fn, name

    def create_loss(self, features: Any, mode: str, logits: GANModel, labels: Any = None) -> GANLoss:
        """The losses of generator and discriminator."""
        return GANLoss(*(loss_fn(logits, add_summaries=self._use_loss_summaries) for loss_fn in self._loss_fns))

    def create_estimator_spec(self, features: Any, mode: str, logits: Any, labels: Any = None,
                              train_op_fn: Callable[..., Any] = gan_train_ops) -> EstimatorSpec:
        """What an estimator does in a mode with the model."""
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode=mode, predictions=logits.generated_data)
        loss = self.create_loss(features, mode, logits, labels)
        if mode == ModeKeys.EVAL:
            return _evaluation(logits, loss, self._get_metrics)
        if mode != ModeKeys.TRAIN:
            raise ValueError(f"Mode not recognized: {mode}")
        train_ops = train_op_fn(logits, loss, *(made() if callable(made) else made for made in self._optimizers))
        return EstimatorSpec(mode=mode, loss=sum(loss), train_op=train_ops.global_step_inc_op, training_hooks=self._get_hooks(train_ops))


def gan_head(generator_loss_fn: Callable[..., Any], discriminator_loss_fn: Callable[..., Any], generator_optimizer: Any, discriminator_optimizer: Any,
             use_loss_summaries: bool = True, get_hooks_fn: Callable[..., Any] | None = None,
             get_eval_metric_ops_fn: Callable[..., Any] | None = None, name: str | None = None) -> GANHead:
    """``tf.contrib.gan.estimator.gan_head``."""
    return GANHead(generator_loss_fn, discriminator_loss_fn, generator_optimizer, discriminator_optimizer, use_loss_summaries, get_hooks_fn,
                   get_eval_metric_ops_fn, name)


class GANEstimator(Estimator):
    """``tf.contrib.gan.estimator.GANEstimator``: features are the generator's inputs, labels the real data."""

    def __init__(self, model_dir: Any = None, generator_fn: Callable[..., Any] | None = None, discriminator_fn: Callable[..., Any] | None = None,
                 generator_loss_fn: Callable[..., Any] | None = None, discriminator_loss_fn: Callable[..., Any] | None = None,
                 generator_optimizer: Any = None, discriminator_optimizer: Any = None, get_hooks_fn: Callable[..., Any] | None = None,
                 get_eval_metric_ops_fn: Callable[..., Any] | None = None, add_summaries: Any = None, use_loss_summaries: bool | None = True,
                 config: Any = None, warm_start_from: Any = None) -> None:
        head = GANHead(generator_loss_fn, discriminator_loss_fn, generator_optimizer, discriminator_optimizer, use_loss_summaries, get_hooks_fn,
                       get_eval_metric_ops_fn)

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            if mode == ModeKeys.PREDICT:
                if labels is not None:
                    raise ValueError(f"`labels` must be `None` when mode is `predict`. Instead, found {labels}")
                return head.create_estimator_spec(features, mode, _generator(_with_mode(generator_fn, mode), features))
            model = gan_model(_with_mode(generator_fn, mode), _with_mode(discriminator_fn, mode), labels, features, check_shapes=False)
            _summarize(model, add_summaries, _SUMMARIES)
            return head.create_estimator_spec(features, mode, model)

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class _StarGANHead(GANHead):
    """One function gives both losses of a StarGANModel."""

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any = None) -> GANLoss:
        """The losses of generator and discriminator."""
        return self._loss_fns[0](logits)


class StarGANEstimator(Estimator):
    """``tf.contrib.gan.estimator.StarGANEstimator``: features are images, labels their domains. To predict, features are (images, wanted domains)."""

    def __init__(self, model_dir: Any = None, generator_fn: Callable[..., Any] | None = None, discriminator_fn: Callable[..., Any] | None = None,
                 loss_fn: Callable[..., Any] | None = None, generator_optimizer: Any = None, discriminator_optimizer: Any = None,
                 get_hooks_fn: Callable[..., Any] | None = None, get_eval_metric_ops_fn: Callable[..., Any] | None = None, add_summaries: Any = None,
                 use_loss_summaries: bool | None = True, config: Any = None) -> None:
        if not callable(loss_fn):
            raise ValueError("loss_fn must be callable.")
        head = _StarGANHead(loss_fn, loss_fn, generator_optimizer, discriminator_optimizer, use_loss_summaries, get_hooks_fn, get_eval_metric_ops_fn)

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            if mode == ModeKeys.PREDICT:
                return head.create_estimator_spec(features, mode, _generator(_with_mode(generator_fn, mode), *features))
            model = stargan_model(_with_mode(generator_fn, mode), _with_mode(discriminator_fn, mode), features, labels)
            _summarize(model, add_summaries, _STARGAN_SUMMARIES)
            return head.create_estimator_spec(features, mode, model)

        super().__init__(model_fn, model_dir, config)


def _summarize(model: Any, kinds: Any, summarizers: dict[int, Callable[[Any], None]]) -> None:
    with name_scope(None):
        for kind in kinds if isinstance(kinds, (tuple, list)) else filter(None, [kinds]):
            summarizers[kind](model)


def _with_mode(function: Any, mode: str) -> Callable[..., Any]:
    """``function`` of a network; one that has an argument ``mode`` is told it."""
    return functools.partial(function, mode=mode) if "mode" in inspect.signature(function).parameters else function


def _generator(generator_fn: Callable[..., Any], inputs: Any, *domains: Any) -> GANModel:
    """A model without its discriminator."""
    with variable_scope("Generator") as scope:
        inputs = as_tensors(inputs)
        generated = generator_fn(inputs, *map(as_tensors, domains))
    return GANModel(inputs, generated, get_trainable_variables(scope), scope, generator_fn, *[None] * 6)


def _evaluation(model: GANModel, loss: GANLoss, get_eval_metric_ops_fn: Callable[..., Any] | None) -> EstimatorSpec:
    total = loss.generator_loss + loss.discriminator_loss
    with name_scope(None, "metrics", list(loss)):
        metrics = {name: mean(value) for name, value in loss._asdict().items()}
        if get_eval_metric_ops_fn is not None:
            more = get_eval_metric_ops_fn(model)
            if not isinstance(more, dict):
                raise TypeError(f"get_eval_metric_ops_fn must return a dict, received: {more}")
            metrics.update(more)
    return EstimatorSpec(mode=ModeKeys.EVAL, predictions=model.generated_data, loss=total, eval_metric_ops=metrics)
