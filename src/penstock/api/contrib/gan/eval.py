"""``tf.contrib.gan.eval``: summaries of models, and metrics by classifiers."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.gan.summaries": "add_cyclegan_image_summaries add_gan_model_image_summaries add_gan_model_summaries "
                                      "add_image_comparison_summaries add_regularization_loss_summaries add_stargan_image_summaries image_grid "
                                      "image_reshaper",
    "penstock.contrib.gan.classifier_metrics": (
        "INCEPTION_DEFAULT_IMAGE_SIZE classifier_score classifier_score_from_logits diagonal_only_frechet_classifier_distance_from_activations "
        "frechet_classifier_distance frechet_classifier_distance_from_activations mean_only_frechet_classifier_distance_from_activations "
        "preprocess_image run_image_classifier"),
    "penstock.contrib.gan.kernel_metrics": "kernel_classifier_distance kernel_classifier_distance_and_std "
                                           "kernel_classifier_distance_and_std_from_activations kernel_classifier_distance_from_activations",
    "penstock.contrib.gan.sliced_wasserstein": "sliced_wasserstein_distance",
    "penstock.contrib.gan.inception_metrics": "frechet_inception_distance get_graph_def_from_disk get_graph_def_from_resource "
                                              "get_graph_def_from_url_tarball inception_score kernel_inception_distance "
                                              "kernel_inception_distance_and_std run_inception",
    "penstock.api.contrib.gan.eval:": "classifier_metrics eval_utils summaries",
}
publish(__name__, TABLE)
