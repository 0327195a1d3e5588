"""The structs that C and Python both read: those of the header, and those of ``shim.c``."""
from __future__ import annotations

import ctypes


class Output(ctypes.Structure):
    """TF_Output, and TF_Input: an operation, and which of its outputs or inputs."""

    _fields_ = [("oper", ctypes.c_void_p), ("index", ctypes.c_int)]


class Buffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("data_deallocator", ctypes.c_void_p)]


class AttrMetadata(ctypes.Structure):
    """TF_AttrMetadata."""

    _fields_ = [("is_list", ctypes.c_ubyte), ("list_size", ctypes.c_int64), ("type", ctypes.c_int), ("total_size", ctypes.c_int64)]


class WhileParams(ctypes.Structure):
    """TF_WhileParams."""

    _fields_ = [("ninputs", ctypes.c_int), ("cond_graph", ctypes.c_void_p), ("cond_inputs", ctypes.POINTER(Output)), ("cond_output", Output),
                ("body_graph", ctypes.c_void_p), ("body_inputs", ctypes.POINTER(Output)), ("body_outputs", ctypes.POINTER(Output)),
                ("name", ctypes.c_char_p)]


class TensorBlock(ctypes.Structure):
    """The memory of a tensor."""

    _fields_ = [("references", ctypes.c_long), ("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("deallocator", ctypes.c_void_p),
                ("argument", ctypes.c_void_p)]


class TensorStruct(ctypes.Structure):
    """TF_Tensor."""

    _fields_ = [("type", ctypes.c_int), ("rank", ctypes.c_int), ("dims", ctypes.POINTER(ctypes.c_int64)), ("block", ctypes.POINTER(TensorBlock))]
