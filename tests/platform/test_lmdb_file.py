"""LMDB databases, as `tf.LMDBReader` and `LMDBDataset` read them. The files are laid out here as the library writes them."""
import contextlib
import io
import struct

import numpy as np
import pytest

import penstock as tf
from penstock.platform.lmdb_file import entries

SIZE = 4096
NO_PAGE = 2**64 - 1


def meta(number, transaction, root, depth):
    tables = struct.pack("<IHH5Q", SIZE, 0, 0, 0, 0, 0, 0, NO_PAGE) + struct.pack("<IHH5Q", 0, 0, depth, 0, 0, 0, 0, root)
    head = struct.pack("<QHHHH", number, 0, 0x08, 0, 0) + struct.pack("<II8x8x", 0xBEEFC0DE, 1)
    return (head + tables + struct.pack("<QQ", 9, transaction)).ljust(SIZE, b"\0")


def page(number, flags, nodes):
    """A page: offsets of nodes from the front, the nodes from the back, padded to even lengths."""
    offsets, body, end = [], bytearray(SIZE), SIZE
    for node in nodes:
        end -= len(node) + len(node) % 2
        body[end:end + len(node)] = node
        offsets.append(end)
    front = struct.pack("<QHHHH", number, 0, flags, 16 + 2 * len(nodes), end) + struct.pack(f"<{len(nodes)}H", *offsets)
    body[:len(front)] = front
    return bytes(body)


def leaf(key, value, flags=0, length=None):
    length = len(value) if length is None else length
    return struct.pack("<HHHH", length & 0xFFFF, length >> 16, flags, len(key)) + key + value


def branch(key, child):
    return struct.pack("<HHHH", child & 0xFFFF, child >> 16 & 0xFFFF, child >> 32, len(key)) + key


LARGE = bytes(range(256)) * 20  # more than a page


def database():
    """A root with two leaves; one value lies in overflow pages."""
    overflow = struct.pack("<QHHI", 5, 0, 0x04, 2) + LARGE
    return b"".join([meta(0, 1, NO_PAGE, 0), meta(1, 2, 2, 2), page(2, 0x01, [branch(b"", 3), branch(b"c", 4)]),
                     page(3, 0x02, [leaf(b"a", b"1"), leaf(b"b", b"")]),
                     page(4, 0x02, [leaf(b"c", struct.pack("<Q", 5), 0x01, len(LARGE)), leaf(b"d", b"odd")]), overflow.ljust(2 * SIZE, b"\0")])


WANTED = [(b"a", b"1"), (b"b", b""), (b"c", LARGE), (b"d", b"odd")]


@pytest.mark.graph
def test_entries_come_in_the_order_of_their_keys():
    assert list(entries(io.BytesIO(database()))) == WANTED


@pytest.mark.graph
def test_the_newer_meta_page_counts():
    older_is_second = meta(0, 3, 2, 2) + meta(1, 2, NO_PAGE, 0) + database()[2 * SIZE:]
    assert list(entries(io.BytesIO(older_is_second))) == WANTED
    empty = meta(0, 1, 2, 2) + meta(1, 2, NO_PAGE, 0)
    assert list(entries(io.BytesIO(empty))) == []


def one_leaf(*nodes, flags=0x02):
    return meta(0, 1, NO_PAGE, 0) + meta(1, 2, 2, 1) + page(2, flags, nodes)


BROKEN = {
    "empty": b"",
    "text": b"text" * 5000,
    "no root": database()[:2 * SIZE],
    "no overflow": database()[:5 * SIZE + 100],
    "circle": meta(0, 1, NO_PAGE, 0) + meta(1, 2, 2, 9) + page(2, 0x01, [branch(b"", 2)]),
    "deep circle": meta(0, 1, NO_PAGE, 0) + meta(1, 2, 2, 60_000) + page(2, 0x01, [branch(b"", 2)]),
    "large pages": (meta(0, 1, 2, 1) + page(2, 0x02, [])).replace(struct.pack("<I", SIZE), struct.pack("<I", 1 << 31)),
    "child behind the end": meta(0, 1, NO_PAGE, 0) + meta(1, 2, 2, 2) + page(2, 0x01, [branch(b"", 2**48 - 1)]),
    "root behind the end": meta(0, 1, NO_PAGE, 0) + meta(1, 2, 2**64 - 2, 1),
    "overflow behind the end": one_leaf(leaf(b"a", struct.pack("<Q", 2**63), 0x01, 10)),
    "long overflow": one_leaf(leaf(b"a", struct.pack("<Q", 1), 0x01, 2**32 - 1)),
    "overflow number cut": one_leaf(leaf(b"", b"abc", 0x01, 10)),
    "long key": one_leaf(struct.pack("<HHHH", 1, 0, 0, 60_000)),
    "free page": one_leaf(leaf(b"a", b"1"), flags=0),
    "leaf again and again": meta(0, 1, NO_PAGE, 0) + meta(1, 2, 2, 2) + page(2, 0x01, [branch(b"", 3)] * 200) + page(3, 0x02, [leaf(b"a", b"")]),
}


@pytest.mark.graph
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken_files_are_data_loss(broken):
    with pytest.raises(tf.errors.DataLossError):
        list(entries(io.BytesIO(broken)))


@pytest.mark.graph
def test_no_damage_gives_another_error():
    random, sound = np.random.RandomState(0), np.frombuffer(database(), np.uint8)
    for _ in range(300):
        damaged = sound.copy()
        damaged[random.randint(0, len(damaged), 20)] = random.randint(0, 256, 20)
        page = SIZE * random.randint(0, 5)
        damaged[page + random.randint(0, 64)] = random.randint(0, 256)  # near its head
        with contextlib.suppress(tf.errors.DataLossError, tf.errors.UnimplementedError):
            assert len(list(entries(io.BytesIO(damaged.tobytes())))) < 5000


@pytest.mark.process
def test_a_reader_and_a_dataset_of_a_folder(tmp_path):
    (tmp_path / "data.mdb").write_bytes(database())
    queue = tf.FIFOQueue(3, tf.string, shapes=())
    reader = tf.LMDBReader()
    record, produced = reader.read(queue), reader.num_records_produced()
    element = tf.contrib.data.LMDBDataset(str(tmp_path)).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        sess.run([queue.enqueue(str(tmp_path)), queue.enqueue(str(tmp_path / "data.mdb"))])
        assert [tuple(sess.run(record)) for _ in range(8)] == WANTED * 2
        assert sess.run(produced) == 8
        assert [sess.run(element) for _ in range(4)] == WANTED
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(element)
