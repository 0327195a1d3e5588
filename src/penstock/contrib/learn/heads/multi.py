"""Several heads on one model, and heads that have a loss alone."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.learn.heads.base import Head, TrainOpFn, check_mode, summarize_loss, training_op
from penstock.contrib.learn.keys import ModeKeys
from penstock.contrib.learn.model_fn import ModelFnOps


def no_op_train_fn(loss: Any) -> Any:
    """``tf.contrib.learn.no_op_train_fn``: a training step that does nothing."""
    return tf.no_op()


class LossOnlyHead(Head):
    """A head without logits and predictions: ``loss_fn()`` is its loss."""

    def __init__(self, loss_fn: Callable[[], Any], head_name: str | None = None) -> None:
        self._loss_fn, self.head_name = loss_fn, head_name or "loss_only_head"

    @property
    def logits_dimension(self) -> int:
        """None."""
        return 0

    def create_model_fn_ops(self, features: Any, mode: str, labels: Any = None, train_op_fn: TrainOpFn | None = None, logits: Any = None,
                            logits_input: Any = None, scope: Any = None) -> ModelFnOps:
        """The loss, and a step that trains it."""
        check_mode(mode)
        if mode == ModeKeys.INFER:
            return ModelFnOps(mode, predictions={})
        with tf.variable_scope(scope, default_name=self.head_name):
            loss = self._loss_fn()
            loss = tf.add_n(loss) if isinstance(loss, list) else loss
            summarize_loss(f"loss/{self.head_name}", loss)
            train_op = training_op(loss, train_op_fn) if mode == ModeKeys.TRAIN else None
        return ModelFnOps(mode, {}, loss, train_op)


class MultiHead(Head):
    """Several heads with names. The logits of all stand side by side, or come in a dict; losses are added."""

    head_name = None

    def __init__(self, heads: Sequence[Head], loss_weights: Sequence[float] | None = None) -> None:
        if loss_weights and len(loss_weights) != len(heads):
            raise ValueError("heads and loss_weights must have same size")
        if not all(head.head_name for head in heads):
            raise ValueError("Members of MultiHead must have names.")
        self._heads, self._loss_weights = list(heads), loss_weights

    @property
    def logits_dimension(self) -> int:
        """The logits of all heads."""
        return sum(head.logits_dimension for head in self._heads)

    def create_model_fn_ops(self, features: Any, mode: str, labels: Any = None, train_op_fn: TrainOpFn | None = None, logits: Any = None,
                            logits_input: Any = None, scope: Any = None) -> ModelFnOps:
        """Predictions and metrics of all heads, and the sum of their losses."""
        check_mode(mode)
        of_heads = [None] * len(self._heads) if logits is None else self._split(logits)
        made = [head.create_model_fn_ops(features, mode, labels, no_op_train_fn, own, logits_input if logits is None else None, scope)
                for head, own in zip(self._heads, of_heads)]
        metrics = {key: value for ops in made for key, value in ops.eval_metric_ops.items()}
        if mode == ModeKeys.TRAIN:
            if train_op_fn is None:
                raise ValueError("train_op_fn can not be None in TRAIN mode.")
            loss = self._loss(made)
            return ModelFnOps(mode, loss=loss, train_op=tf.group(train_op_fn(loss), *[ops.train_op for ops in made]), eval_metric_ops=metrics)
        predictions = {(head.head_name, key): value for head, ops in zip(self._heads, made) for key, value in ops.predictions.items()}
        if mode == ModeKeys.EVAL:
            return ModelFnOps(mode, predictions, self._loss(made), eval_metric_ops=metrics)
        outputs = {head.head_name: ops.output_alternatives[head.head_name] for head, ops in zip(self._heads, made) if ops.output_alternatives}
        return ModelFnOps(mode, predictions, output_alternatives=outputs)

    def _split(self, logits: Any) -> list[Any]:
        """The logits of each head."""
        if isinstance(logits, dict):
            return [None if isinstance(head, LossOnlyHead) else logits[head.head_name] for head in self._heads]
        result, begin = [], 0
        for head in self._heads:
            result.append(tf.slice_(logits, [0, begin], [-1, head.logits_dimension]))
            begin += head.logits_dimension
        return result

    def _loss(self, made: list[ModelFnOps]) -> Any:
        losses = [ops.loss for ops in made]
        return tf.add_n([tf.multiply(loss, weight) for loss, weight in zip(losses, self._loss_weights)] if self._loss_weights else losses)


def loss_only_head(loss_fn: Callable[[], Any], head_name: str | None = None) -> LossOnlyHead:
    """A head that adds a loss to those of others, in ``multi_head``."""
    return LossOnlyHead(loss_fn, head_name)


def multi_head(heads: Sequence[Head], loss_weights: Sequence[float] | None = None) -> MultiHead:
    """``tf.contrib.learn.multi_head``: several heads on one model."""
    return MultiHead(heads, loss_weights)
