"""SparseTensors, IndexedSlices, sets and embeddings."""
