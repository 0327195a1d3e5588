"""``tf.contrib.boosted_trees``: gradient boosted trees as estimators of ``tf.contrib.learn``."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.boosted_trees"
TABLE: dict[str, str] = {
    f"{HERE}.estimator": "GradientBoostedDecisionTreeClassifier GradientBoostedDecisionTreeEstimator GradientBoostedDecisionTreeRegressor",
    f"{HERE}.model": "StopAfterNTrees model_builder tree_ensemble_variable",
    "penstock.ops.trees.gradient_trees": "gradient_trees_partition_examples=GradientTreesPartitionExamples "
                                         "gradient_trees_prediction=GradientTreesPrediction tree_ensemble_deserialize=TreeEnsembleDeserialize "
                                         "tree_ensemble_serialize=TreeEnsembleSerialize tree_ensemble_stamp_token=TreeEnsembleStampToken "
                                         "tree_ensemble_stats=TreeEnsembleStats",
    f"{HERE}.estimator:": "estimator",
    f"{HERE}.model:": "model",
    f"{HERE}.losses:": "losses",
    f"{HERE}.learner_config:": "learner_pb2",
    # Modules inside, which programs reach through: their names are here.
    "penstock.api.contrib.boosted_trees:": "estimator_batch model_ops ops prediction_ops proto python trainer_hooks training_ops utils",
}
publish(__name__, TABLE)
