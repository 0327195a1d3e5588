"""Fusion: which items are computed in one loop nest, and the code of such a nest.

    composition.py                          ops that are made of others are taken apart
    sums.py, epilogues.py                   sums of products are one product; products take over what comes after them
    cluster_space.py, clusters.py           which items share a space, and so a nest
    cluster_writer.py, cluster_code.py      a cluster as a nest over arrays, and its calls
    loop_nest.py, nest_layout.py, spills.py what a nest computes; its axes and parts; what is kept from loop to loop
    nest_kernel.py, reducers.py             its loops, as LLVM IR; how it folds
    lowering.py                             what the ops themselves say of one element
"""
