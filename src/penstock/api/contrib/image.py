"""``tf.contrib.image``: projective transforms of images, and warps by flows and splines."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.image.projective": "angles_to_projective_transforms compose_transforms flat_transforms_to_matrices "
                                         "matrices_to_flat_transforms rotate transform translate translations_to_projective_transforms",
    "penstock.ops.image.components": "bipartite_match connected_components",
    "penstock.contrib.image.warping": "dense_image_warp interpolate_spline sparse_image_warp",
}
publish(__name__, TABLE, missing="single_image_random_dot_stereograms")
