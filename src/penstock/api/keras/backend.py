"""``tf.keras.backend``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.layers.settings": "epsilon floatx image_data_format set_epsilon set_floatx set_image_data_format",
    "penstock.layers.branching": "learning_phase set_learning_phase",
    "penstock.layers.sessions": "manual_variable_initialization set_session",
    "penstock.keras.engine.input_layer": "get_uid",
    "penstock.keras.backend.values": "backend batch_get_value batch_set_value cast cast_to_floatx clear_session constant count_params dtype eval eye "
                                     "function get_session get_value gradients int_shape is_sparse moving_average_update name_scope ndim ones "
                                     "ones_like placeholder print_tensor random_binomial random_normal random_normal_variable random_uniform "
                                     "random_uniform_variable reset_uids set_value shape stop_gradient to_dense truncated_normal update update_add "
                                     "update_sub variable zeros zeros_like",
    "penstock.keras.backend.math": "abs all any argmax argmin clip cos cumprod cumsum equal exp greater greater_equal l2_normalize less less_equal "
                                   "log max maximum mean min minimum not_equal pow prod round sign sin sqrt square std sum var",
    "penstock.keras.backend.shaping": "arange batch_flatten concatenate expand_dims flatten gather one_hot permute_dimensions reshape reverse "
                                      "squeeze stack tile transpose",
    "penstock.keras.backend.products": "batch_dot dot",
    "penstock.keras.backend.resizing": "repeat repeat_elements resize_images resize_volumes spatial_2d_padding spatial_3d_padding temporal_padding",
    "penstock.keras.backend.convolutions": "bias_add conv1d conv2d conv2d_transpose conv3d local_conv1d local_conv2d pool2d pool3d separable_conv2d",
    "penstock.keras.backend.nn": "batch_normalization dropout elu hard_sigmoid in_top_k normalize_batch_in_training relu sigmoid softmax softplus "
                                 "softsign tanh",
    "penstock.keras.backend.crossentropy": "binary_crossentropy categorical_crossentropy sparse_categorical_crossentropy",
    "penstock.keras.backend.control": "foldl foldr in_test_phase in_train_phase learning_phase_scope map_fn switch",
    "penstock.keras.backend.recurrence": "rnn",
    "penstock.keras.backend.ctc": "ctc_batch_cost ctc_decode ctc_label_dense_to_sparse",
}
publish(__name__, TABLE)
