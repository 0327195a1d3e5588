"""Contractions: products of matrices and convolutions, all by one packed micro-kernel.

    contractions.py, products.py                                    what ops call: ``emit.contract``,
    convolutions.py, convolution.py, depthwise.py                   and ``emit.convolve``
    product.py                                                      a product as calls: its parts and blocks
    gemm.py, packing.py, microkernel.py, tile.py                    the kernel, from the outside to the inner loop
    panels.py                                                       a right factor that many blocks of rows share is copied once
    winograd.py, winograd_kernel.py, winograd_matrices.py           3x3 and 5x5 convolutions with fewer multiplications
    winograd_guard.py                                               what of them has to be sums of products: squares with outliers
    volumes.py                                                      convolutions of volumes: ``emit.volumes``
    narrow.py                                                       float16 and bfloat16, by way of float32
"""
