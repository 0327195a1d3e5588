"""Several threads compile at once."""
from __future__ import annotations

import threading

import pytest

from penstock.native.calls import Code
from penstock.native.contract.microkernel import micro_code
from penstock.native.contract.tile import tile_for
from penstock.native.machine import codegen, target

pytestmark = pytest.mark.process


def module(index: int) -> str:
    """A function that adds a number."""
    return f"""define void @kernel(ptr %words) {{
  %value = load i64, ptr %words
  %sum = add i64 %value, {index}
  store i64 %sum, ptr %words
  ret void
}}"""


def test_threads_generate_the_same_code_as_one():
    wanted = [codegen.generate(module(index), target.cpu(), target.features()) for index in range(20)]
    assert len(set(wanted)) == 20
    found: dict[int, bytes] = {}

    def work(first: int) -> None:
        for index in range(first, 20, 4):
            found[index] = codegen.generate(module(index), target.cpu(), target.features())
    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[index] for index in range(20)] == wanted


def test_errors_of_llvm_are_errors():
    with pytest.raises(RuntimeError, match="parsing error"):
        codegen.generate("this is no module", target.cpu(), target.features())


MEMORY = """define i64 @kernel(ptr %words) {
  %place = alloca i64
  %value = load i64, ptr %words
  store i64 %value, ptr %place
  %same = load i64, ptr %place
  ret i64 %same
}"""


def test_a_final_module_is_compiled_as_it_is():
    cleaned, final = (codegen.readable(start + MEMORY, target.cpu(), target.features(), ir=True, assembly=False)[0] for start in ("", codegen.FINAL))
    assert "alloca" not in cleaned
    assert "alloca" in final


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_passes_would_not_make_micro_kernels_shorter(columns):
    tile = tile_for(4)
    text = micro_code(tile, columns, tile.rows, tile.vectors).text()
    assert text.startswith(codegen.FINAL)
    final, cleaned = (len(codegen.generate(each, target.cpu(), target.features())) for each in (text, text.removeprefix(codegen.FINAL)))
    assert final <= 1.02 * cleaned


def test_more_threads_than_benches_wait(monkeypatch):
    monkeypatch.setattr(codegen, "_benches", codegen._benches[:1])
    threads = [threading.Thread(target=codegen.generate, args=(module(index), target.cpu(), target.features())) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_a_kernel_is_compiled_by_one_thread(tmp_path, monkeypatch):
    """The others wait for it, or leave it to that one."""
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    begun, go, builds = threading.Event(), threading.Event(), []

    def build() -> str:
        builds.append(1)
        begun.set()
        assert go.wait(60)
        return module(1)

    code = Code("a kernel of this test", build)
    first = threading.Thread(target=code.compile)
    first.start()
    assert begun.wait(60)
    assert not code.load()
    code.compile(wait=False)
    second = threading.Thread(target=code.compile)
    second.start()
    go.set()
    first.join(60)
    second.join(60)
    assert len(builds) == 1 and code.load() and code.address
