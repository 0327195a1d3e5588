"""``tf.contrib.lookup``: tables from keys to values, and vocabularies."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.train.lookup": "HashTable InitializableLookupTableBase KeyValueTensorInitializer LookupInterface MutableDenseHashTable "
                             "MutableHashTable TableInitializerBase TextFileIdTableInitializer TextFileIndex TextFileInitializer "
                             "TextFileStringTableInitializer",
    "penstock.train.index_tables": "FastHashSpec HasherSpec IdTableWithHashBuckets StrongHashSpec index_table_from_file index_table_from_tensor "
                                   "index_to_string index_to_string_table_from_file index_to_string_table_from_tensor string_to_index "
                                   "string_to_index_table_from_file string_to_index_table_from_tensor",
}
publish(__name__, TABLE)
