"""Checkpoints as files: TensorFlow's formats, read and written without a graph.

    sstable.py           sorted string tables, the container of the index (and of the whole file in the first version)
    slices.py            which part of a tensor something is, and how such parts are named
    tensor_bytes.py      arrays as bytes on disk, and back
    data_file.py         the file that they go to
    bundle_writer.py     a new checkpoint                  publish.py    how it takes the place of the old one, whatever happens
    reader.py            what every checkpoint can do      bundle.py     version 2        version1.py    version 1
    versions.py          a checkpoint by its name, of either version
    contents.py          the names, shapes and values in a checkpoint, as TensorFlow's functions give them
    checkpoint_state.py  the file ``checkpoint``, which says which checkpoint is the latest
"""
