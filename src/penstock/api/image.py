"""``tf.image``: operations on images."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.image.image": "ResizeMethod resize_images resize=resize_images crop_to_bounding_box pad_to_bounding_box "
                                "resize_image_with_crop_or_pad "
                          "resize_with_crop_or_pad=resize_image_with_crop_or_pad resize_image_with_pad central_crop flip_left_right flip_up_down "
                          "random_flip_left_right random_flip_up_down transpose_image transpose=transpose_image rot90 per_image_standardization "
                          "per_image_whitening=per_image_standardization",
    "penstock.ops.image.image_resize": "resize_bilinear resize_nearest_neighbor resize_bicubic resize_area",
    "penstock.ops.image.image_color": "convert_image_dtype rgb_to_hsv hsv_to_rgb adjust_brightness adjust_contrast adjust_hue adjust_saturation "
                                "adjust_gamma random_brightness random_contrast random_hue random_saturation rgb_to_grayscale grayscale_to_rgb "
                                "rgb_to_yiq yiq_to_rgb rgb_to_yuv yuv_to_rgb",
    "penstock.ops.image.image_codec": "decode_jpeg encode_jpeg decode_png encode_png decode_gif decode_bmp decode_image decode_and_crop_jpeg "
                                "extract_jpeg_shape is_jpeg",
    "penstock.ops.image.image_boxes": "non_max_suppression non_max_suppression_padded sample_distorted_bounding_box "
                                      "draw_bounding_boxes extract_glimpse",
    "penstock.ops.image.combined_suppression": "combined_non_max_suppression",
    "penstock.ops.image.crop_and_resize": "crop_and_resize",
    "penstock.ops.image.image_quality": "total_variation image_gradients psnr ssim ssim_multiscale sobel_edges adjust_jpeg_quality "
                                        "random_jpeg_quality",
    "penstock.ops.random.random_extra": "random_crop",
    "penstock.ops.nn.patches": "extract_image_patches extract_patches",
}
publish(__name__, TABLE, missing="non_max_suppression_overlaps non_max_suppression_with_scores",
        older={"per_image_whitening": "image.per_image_standardization"})
