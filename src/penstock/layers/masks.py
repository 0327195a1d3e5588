"""Masks: which steps of a sequence count. A tensor carries its mask (``_keras_mask``) from the layer that made it to those that ask for it."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest


class Masking:
    """The part of a layer that passes masks on."""

    name: str
    supports_masking = False

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The masks of the outputs, from those of the inputs."""
        if self.supports_masking:
            return mask
        if any(each is not None for each in nest.flatten(mask)):
            raise TypeError(f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}")
        return None

    @property
    def _computes_masks(self) -> bool:
        return self.supports_masking or type(self).compute_mask is not Masking.compute_mask

    def _set_output_masks(self, inputs: Any, outputs: Any, masks: Any) -> None:
        """Gives the outputs their masks; a layer that computes them together with its outputs has done so."""
        tensors = nest.flatten(outputs)
        if getattr(self, "_compute_output_and_mask_jointly", False) or not self._computes_masks:
            return
        if tensors and all(getattr(tensor, "_keras_mask", None) is not None for tensor in tensors):
            return
        computed = self.compute_mask(inputs, masks)
        for tensor, mask in zip(tensors, [None] * len(tensors) if computed is None else nest.flatten(computed)):
            if hasattr(type(tensor), "_keras_mask"):  # sparse tensors carry none
                tensor._keras_mask = mask


def masks_of(inputs: Any) -> Any:
    """The masks that tensors carry; None if they carry none."""
    masks = nest.map_structure(lambda tensor: getattr(tensor, "_keras_mask", None), inputs)
    return None if all(mask is None for mask in nest.flatten(masks)) else masks
