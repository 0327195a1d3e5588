"""Files: what they do, and the class of each error."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock import errors
from penstock.platform import gfile


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_bytes("hé\nw\n".encode())
    (tmp_path / ".hidden").write_bytes(b"")
    return tmp_path


def test_reading(folder):
    path = str(folder / "a.txt")
    with gfile.GFile(path) as file:
        assert file.size() == 6 and file.readline() == "hé\n" and file.tell() == 4 and file.read(1) == "w"
        file.seek(0)
        assert file.readlines() == ["hé\n", "w\n"] and file.read() == ""
        assert (file.name, file.mode) == (path, "r")
    assert gfile.FastGFile(path, "rb").read() == "hé\nw\n".encode()
    assert list(gfile.Open(folder / "a.txt")) == ["hé\n", "w\n"]
    assert gfile.GFile("file://" + path).read() == "hé\nw\n"


def test_writing(folder):
    path = str(folder / "new")
    with gfile.GFile(path, "w") as file:
        file.write("é")
        file.write(b"zz")
        assert file.size() == 4
    with gfile.GFile(path, "a") as file:
        file.write("+")
    assert gfile.read_file_to_string(path) == "ézz+"
    gfile.atomic_write_string_to_file(path, "other")
    assert gfile.read_file_to_string(path, binary_mode=True) == b"other" and not gfile.Glob(path + ".*")


@pytest.mark.parametrize(("error", "action"), [
    (errors.NotFoundError, lambda d: gfile.GFile(f"{d}/no").read()),
    (errors.NotFoundError, lambda d: gfile.Remove(f"{d}/no")),
    (errors.NotFoundError, lambda d: gfile.MkDir(f"{d}/no/no")),
    (errors.NotFoundError, lambda d: gfile.ListDirectory(f"{d}/no")),
    (errors.NotFoundError, lambda d: gfile.ListDirectory(f"{d}/a.txt")),
    (errors.NotFoundError, lambda d: gfile.Stat(f"{d}/no")),
    (errors.NotFoundError, lambda d: gfile.DeleteRecursively(f"{d}/no")),
    (errors.NotFoundError, lambda d: gfile.Copy(f"{d}/no", f"{d}/b")),
    (errors.NotFoundError, lambda d: gfile.Rename(f"{d}/no", f"{d}/b")),
    (errors.AlreadyExistsError, lambda d: gfile.Copy(f"{d}/a.txt", f"{d}/.hidden")),
    (errors.AlreadyExistsError, lambda d: gfile.Rename(f"{d}/a.txt", f"{d}/.hidden")),
    (errors.FailedPreconditionError, lambda d: gfile.GFile(f"{d}/sub").read()),
    (errors.FailedPreconditionError, lambda d: gfile.MakeDirs(f"{d}/a.txt/b")),
    (errors.FailedPreconditionError, lambda d: gfile.DeleteRecursively(f"{d}/a.txt")),
    (errors.InvalidArgumentError, lambda d: gfile.GFile(f"{d}/a.txt", "x")),
    (errors.InvalidArgumentError, lambda d: gfile.GFile(f"{d}/a.txt").seek(-1)),
    (errors.PermissionDeniedError, lambda d: gfile.GFile(f"{d}/a.txt").write("x")),
    (errors.PermissionDeniedError, lambda d: gfile.GFile(f"{d}/b.txt", "w").read()),
    (errors.UnimplementedError, lambda d: gfile.Exists("gs://bucket/file")),
])
def test_errors(folder, error, action):
    with pytest.raises(error):
        action(folder)


def test_a_missing_file_shows_when_it_is_used(folder):
    file = gfile.GFile(folder / "no")
    with pytest.raises(errors.NotFoundError, match="no; No such file or directory"):
        file.read()


def test_directories(folder):
    assert gfile.ListDirectory(folder) == [".hidden", "a.txt", "sub"]
    gfile.MakeDirs(folder / "x/y")
    gfile.MkDir(folder / "x")
    assert gfile.IsDirectory(folder / "x/y") and not gfile.IsDirectory(folder / "a.txt") and gfile.Stat(folder).is_directory
    assert [where for where, _, _ in gfile.Walk(folder)] == [str(folder / p) for p in ("", "sub", "x", "x/y")]
    assert [where for where, _, _ in gfile.Walk(folder, in_order=False)][-1] == str(folder)
    assert list(gfile.Walk(folder / "no")) == []
    gfile.DeleteRecursively(folder / "x")
    assert not gfile.Exists(folder / "x")


def test_glob(folder):
    assert gfile.Glob(f"{folder}/*") == [f"{folder}/.hidden", f"{folder}/a.txt", f"{folder}/sub"]
    assert gfile.Glob([f"{folder}/*.txt", f"{folder}/s?b"]) == [f"{folder}/a.txt", f"{folder}/sub"]
    for pattern in (f"{folder}/[a-b].*", f"{folder.parent}/{folder.name[:-1]}?/a.txt", f"{folder}/a.txt"):
        assert gfile.Glob(pattern) == [f"{folder}/a.txt"]
    assert gfile.Glob(f"{folder}/no*") == []
    for pattern, error, words in ((f"{folder}/no/*", tf.errors.NotFoundError, f"{folder}/no; No such file or directory"),
                                  (f"{folder}/a.txt/*", tf.errors.FailedPreconditionError, f"{folder}/a.txt; Not a directory")):
        with pytest.raises(error) as caught:
            gfile.Glob(pattern)
        assert caught.value.message == words


def test_the_argument_names_of_later_versions(folder):
    files = tf.io.gfile
    files.makedirs(path=str(folder / "p/q"))
    files.copy(src=str(folder / "a.txt"), dst=str(folder / "p/q/b.txt"))
    files.rename(src=str(folder / "p/q/b.txt"), dst=str(folder / "p/c.txt"))
    assert files.glob(pattern=f"{folder}/p/*.txt") == [f"{folder}/p/c.txt"] and files.listdir(path=str(folder / "p")) == ["c.txt", "q"]
    assert list(files.walk(str(folder / "p"), topdown=False)) == [(f"{folder}/p/q", [], []), (f"{folder}/p", ["q"], ["c.txt"])]
    files.remove(path=str(folder / "p/c.txt"))
    files.rmtree(path=str(folder / "p"))
    assert not files.exists(path=str(folder / "p")) and files.isdir(path=str(folder)) and files.stat(path=str(folder / "a.txt")).length == 6


def test_copy_and_rename(folder):
    gfile.Copy(folder / "a.txt", folder / "b.txt")
    gfile.Rename(folder / "b.txt", folder / ".hidden", overwrite=True)
    assert gfile.GFile(folder / ".hidden").read() == gfile.GFile(folder / "a.txt").read()
    assert gfile.Stat(folder / "a.txt").length == 6


def test_reading_and_writing_have_places_of_their_own(tmp_path):
    """As TensorFlow's: reading begins at the start, and goes on when the file has been closed."""
    path = str(tmp_path / "both")
    with gfile.GFile(path, "r+") as file:  # makes it
        file.write("one\ntwo\n")
    assert file.size() == 8 and file.readline() == "one\n" and file.tell() == 4 and file.read() == "two\n"
    file.seek(-4, 2)
    assert file.read() == "two\n"
    other = gfile.GFile(path, "w+")
    other.write("three")
    other.flush()
    assert other.read() == "three"
    other.close()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid whence argument: 3"):
        other.seek(0, 3)
    with pytest.raises(TypeError, match="may not be set simultaneously"):
        other.seek(offset=0, position=0)
