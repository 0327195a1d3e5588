"""``tf.strings``: operations on strings."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.ops.text.strings": "join=string_join to_number=string_to_number to_hash_bucket=string_to_hash_bucket "
                            "to_hash_bucket_fast=string_to_hash_bucket_fast to_hash_bucket_strong=string_to_hash_bucket_strong as_string substr "
                            "reduce_join strip=string_strip length=string_length lower=string_lower upper=string_upper",
    "penstock.ops.text.string_functions": "regex_replace regex_full_match",
    "penstock.ops.text.unicode": "unicode_transcode unsorted_segment_join",
    "penstock.ragged.strings": "split=strings_split bytes_split=string_bytes_split ngrams unicode_decode unicode_decode_with_offsets unicode_encode "
                               "unicode_split unicode_split_with_offsets",
    "penstock.ops.flow.printing": "format=string_format",
}
publish(__name__, TABLE)
