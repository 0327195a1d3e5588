"""``tf.contrib.learn.datasets.base``: tables from CSV files, and files from the web."""
from __future__ import annotations

import csv
import os
import random
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.datasets.mnist import Datasets
from penstock.platform import gfile

__all__ = ["Dataset", "Datasets", "load_boston", "load_csv_with_header", "load_csv_without_header", "load_iris", "maybe_download", "retry",
           "shrink_csv", "urlretrieve_with_retry"]
_TIMED_OUT = 110  # the number of the error after which a download is tried again


class Dataset(NamedTuple):
    """Features and labels, a row each per example."""

    data: np.ndarray
    target: np.ndarray


def load_csv_with_header(filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """A table whose first line says how many rows and features it has."""
    with gfile.GFile(filename) as file:
        header, *rows = csv.reader(file)
    labels = [row.pop(target_column) for row in rows]
    data = np.array(rows, features_dtype).reshape(len(rows), -1)
    if (len(rows), data.shape[1]) != (int(header[0]), int(header[1])):
        raise ValueError(f"{filename} has {len(rows)} rows with {data.shape[1]} features; its first line says {header[0]} and {header[1]}.")
    return Dataset(data, np.array(labels).astype(target_dtype))


def load_csv_without_header(filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """A table of rows alone."""
    with gfile.GFile(filename) as file:
        rows = list(csv.reader(file))
    labels = [row.pop(target_column) for row in rows]
    return Dataset(np.array(rows, features_dtype), np.array(labels).astype(target_dtype))


def shrink_csv(filename: str, ratio: int) -> None:
    """Writes every ``ratio``-th line of a file to one with ``_small`` in its name."""
    stem, extension = os.path.splitext(filename)
    with gfile.GFile(filename) as source, gfile.GFile(f"{stem}_small{extension}", "w") as target:
        writer = csv.writer(target)
        for number, row in enumerate(csv.reader(source)):
            if number % ratio == 0:
                writer.writerow(row)


def load_iris(data_path: str | None = None) -> Dataset:
    """Fisher's irises, or another table with numbers as features and a class in the last column, from a CSV file with a header."""
    return load_csv_with_header(data_path or str(Path(__file__).with_name("iris.csv")), target_dtype=int, features_dtype=float)


def load_boston(data_path: str | None = None) -> Dataset:
    """Prices of houses in Boston, or another table of numbers from a CSV file with a header."""
    return load_csv_with_header(data_path or str(Path(__file__).with_name("boston.csv")), target_dtype=float, features_dtype=float)


def retry(initial_delay: float, max_delay: float, factor: float = 2.0, jitter: float = 0.25,
          is_retriable: Callable[[Exception], bool] | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: a function that fails is called again, after delays that grow up to ``max_delay`` seconds."""
    if factor < 1:
        raise ValueError(f"factor must be >= 1; was {factor:f}")
    if jitter >= 1:
        raise ValueError(f"jitter must be < 1; was {jitter:f}")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def persistent(*args: Any, **kwargs: Any) -> Any:
            delay = initial_delay
            while delay <= max_delay:
                try:
                    return function(*args, **kwargs)
                except Exception as error:
                    if is_retriable is not None and not is_retriable(error):
                        raise
                time.sleep(delay * random.uniform(1 - jitter, 1 + jitter))
                delay *= factor
            return function(*args, **kwargs)
        return persistent
    return decorate


@retry(initial_delay=1.0, max_delay=16.0, is_retriable=lambda error: isinstance(error, OSError) and error.errno == _TIMED_OUT)
def urlretrieve_with_retry(url: str, filename: str | None = None) -> Any:
    """(path, headers) of a download."""
    return urllib.request.urlretrieve(url, filename)


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """The path of a file in a folder; it is fetched from ``source_url``, if it is not there yet."""
    path = os.path.join(work_directory, filename)
    if not gfile.Exists(path):
        gfile.MakeDirs(work_directory)
        try:
            fetched, _ = urlretrieve_with_retry(source_url)
        except OSError as error:
            raise OSError(f"{source_url} could not be fetched ({error}). Put the file to {os.path.abspath(path)}.") from error
        gfile.Copy(fetched, path)
        print("Successfully downloaded", filename, os.path.getsize(path), "bytes.")
    return path
