"""``tf.contrib.learn.datasets.text_datasets``: articles of DBpedia and their 14 kinds, from files that are fetched when they are not there."""
from __future__ import annotations

import os
import tarfile

import numpy as np

from penstock.datasets.csv_files import Datasets, load_csv_without_header, maybe_download, shrink_csv

DBPEDIA_URL = "https://github.com/le-scientifique/torchDatasets/raw/master/dbpedia_csv.tar.gz"
_ONE_OF = 1000  # rows of the small set


def maybe_download_dbpedia(data_dir: str) -> None:
    """Fetches the archive, unless its files are there: ``dbpedia_csv/train.csv`` and ``dbpedia_csv/test.csv``."""
    if not all(os.path.exists(os.path.join(data_dir, "dbpedia_csv", name)) for name in ("train.csv", "test.csv")):
        with tarfile.open(maybe_download("dbpedia_csv.tar.gz", data_dir, DBPEDIA_URL), "r:*") as archive:
            archive.extractall(data_dir, filter="data")


def load_dbpedia(size: str = "small", test_with_fake_data: bool = False) -> Datasets:
    """The articles, or one of a thousand of them (``size="small"``), from the folder ``dbpedia_data`` below TF_EXP_BASE_DIR."""
    if test_with_fake_data:
        raise ValueError("load_dbpedia: the made-up rows of TensorFlow's tests are not in Penstock. Put train.csv and test.csv, whose rows are "
                         "class, title and text, into dbpedia_data/dbpedia_csv.")
    folder = os.path.join(os.getenv("TF_EXP_BASE_DIR", ""), "dbpedia_data")
    maybe_download_dbpedia(folder)
    parts = {}
    for name in ("train", "test"):
        path = os.path.join(folder, "dbpedia_csv", f"{name}.csv")
        if size == "small":
            shrink_csv(path, _ONE_OF)
            path = path.replace(".csv", "_small.csv")
        parts[name] = load_csv_without_header(path, target_dtype=np.int32, features_dtype=np.str_, target_column=0)
    return Datasets(train=parts["train"], validation=None, test=parts["test"])
