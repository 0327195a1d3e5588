"""``install_as_tensorflow()``: from then on ``import tensorflow`` gives Penstock, in this process.

``tensorflow`` is the module `penstock.api.root`; ``tensorflow.nn`` is `penstock.api.nn`, and so on. Modules inside TensorFlow that programs
reach into (``tensorflow.python.framework.ops``) are made when they are imported and look their names up by the rules of `penstock.api.paths`;
``tensorflow.core.*.x_pb2`` are TensorBoard's copies of the same protocol buffers. What is not there raises ModuleNotFoundError and says so.
"""
from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from importlib.abc import SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Any

from penstock.api import library_modules, paths, root
from penstock.api._table import loaded_members, resolve
from penstock.api.generated import function_of
from penstock.graph.opdef import REGISTRY

NAME = "tensorflow"
_ESTIMATOR = "tensorflow_estimator"  # the package that TensorFlow 1.14 and 1.15 take tf.estimator from
_MAIN = ".__main__"
_PACKAGES = frozenset(["python", "core"]) | {
    ".".join(["python", *parts[:length]])
    for parts in (path.split(".") for path in [*paths.MODULES, *(f"{package}.any" for package in paths.PLAIN)])
    for length in range(1, len(parts))}


def install_as_tensorflow() -> None:
    """Makes ``import tensorflow`` mean Penstock. Raises RuntimeError if TensorFlow itself has been imported; a second call changes nothing."""
    present = sys.modules.get(NAME)
    if present is root:
        return
    if present is not None:
        raise RuntimeError(f"TensorFlow is already imported ({getattr(present, '__file__', present)}). Call penstock.install_as_tensorflow() "
                           "before anything imports tensorflow, or start the program with `penstock run`.")
    sys.modules[NAME] = root
    # A package of that name, so that `import tensorflow.nn` and `from tensorflow import nn` ask the finder.
    root.__name__, root.__path__ = NAME, []  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder())
    for name in ("python", "core"):  # `tf.python` was an attribute up to TensorFlow 1.13
        importlib.import_module(f"{NAME}.{name}")


class _Finder:
    """Finds ``tensorflow.*``; loading puts the Penstock module in the place of the one that the import system made."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname == _ESTIMATOR:
            return ModuleSpec(fullname, self, is_package=True)
        fullname_here = _of_tensorflow(fullname)
        if not fullname_here.startswith(NAME + "."):
            return None
        if fullname.endswith(_MAIN):  # `python -m tensorflow.python.debug.cli.offline_analyzer`
            return ModuleSpec(fullname, self) if _program(fullname) else None
        return ModuleSpec(fullname, self, is_package=True) if _exists(_below(fullname_here)) else None

    def create_module(self, spec: ModuleSpec) -> None:
        """None: the import system makes an empty module first."""

    def get_code(self, fullname: str) -> CodeType | None:
        """What `python -m` runs."""
        spec = find_spec(_program(fullname))
        return spec.loader.get_code(spec.name) if spec is not None and isinstance(spec.loader, SourceLoader) else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name == _ESTIMATOR:
            sys.modules[name] = _Inside(name, None)
        elif name.startswith(_ESTIMATOR):
            sys.modules[name] = importlib.import_module(_of_tensorflow(name))
        else:
            sys.modules[name] = _module(_below(name), name)


def _of_tensorflow(fullname: str) -> str:
    """The module that a module of the package of estimators is here: ``tensorflow.python.estimator.util``. Other names stay what they are."""
    return NAME + fullname.removeprefix(_ESTIMATOR) if fullname.startswith(_ESTIMATOR + ".") else fullname


def _program(fullname: str) -> str:
    """The module of Penstock that is run as ``tensorflow.python.module.__main__``; "" if there is none."""
    return next(iter(paths.MODULES.get(_below(fullname).removeprefix("python.").removesuffix(_MAIN), "").split()), "")


def _below(fullname: str) -> str:
    """``nn`` for ``tensorflow.nn`` and ``tensorflow.compat.v1.nn``."""
    path = fullname.removeprefix(NAME + ".").removeprefix("compat.v1.")
    for pattern, place in paths.MOVED:
        path = re.sub(pattern, place, path)
    return path


def _exists(path: str) -> bool:
    """Whether Penstock has the module. Raises ModuleNotFoundError with the reason if it belongs to a part that Penstock does not have."""
    if path == "compat.v1" or path in _PACKAGES or path in paths.FUNCTIONS:
        return True
    libraries = library_modules.namespaces(path)
    if libraries and library_modules.is_module(path):
        return all(_namespace(space) is not None for space in libraries)
    package, _, rest = path.partition(".")
    if package == "python":
        _check_part(rest)
        return _is_python_module(rest)
    if package == "core":
        return _proto(path) is not None or not path.endswith("_pb2")
    missing = _missing(path)
    if missing is not None and not libraries:
        raise _not_here(path, missing)
    return _namespace(path) is not None


def _missing(path: str) -> str | None:
    """The part on the way to a public namespace that Penstock does not have: ``contrib.slim`` for ``contrib.slim.nets``."""
    module, parts = root, path.split(".")
    for length, part in enumerate(parts, 1):
        if part in getattr(module, "MISSING", ()):
            return ".".join(parts[:length])
        origin = getattr(module, "ORIGINS", {}).get(part, "")
        if not origin.endswith(":"):
            return None
        module = resolve(origin)
    return None


def _check_part(path: str) -> None:
    for prefix, part in paths.PARTS.items():
        if (path == prefix or path.startswith(prefix + ".")) and part.split(".")[0] not in root.ORIGINS:
            raise _not_here(f"python.{path}", part)


def _not_here(path: str, part: str) -> ModuleNotFoundError:
    # Without `name`, by which `from tensorflow import keras` would know that nothing worse happened and drop the explanation.
    return ModuleNotFoundError(f"No module named '{NAME}.{path}': tf.{part} is not in this version of Penstock")


def _is_python_module(path: str) -> bool:
    package, _, name = path.rpartition(".")
    generated = package == "ops" and re.fullmatch(r"gen_\w+_ops", name) is not None
    return path in paths.MODULES or generated or name in paths.PLAIN.get(package, "").split()


def _proto(path: str) -> str | None:
    """The module that holds the protocol buffers of ``core.framework.graph_pb2``."""
    name = path.rpartition(".")[2]
    module = paths.PROTOS.get(name, f"tensorboard.compat.proto.{name}")
    return module if name.endswith("_pb2") and find_spec(module) is not None else None


def _namespace(path: str) -> ModuleType | None:
    """The module of a public namespace, such as ``app.flags``."""
    module: ModuleType = root
    for part in path.split("."):
        origin = getattr(module, "ORIGINS", {}).get(part, "")
        if not origin.endswith(":"):
            return None
        module = resolve(origin)
    return module


def _module(path: str, fullname: str) -> ModuleType:
    if path == "compat.v1":
        return root
    if path in paths.FUNCTIONS:
        return _FunctionModule(fullname, paths.FUNCTIONS[path])
    if path == "python" or path.startswith("python."):
        return _Inside(fullname, path.removeprefix("python").removeprefix("."))
    if library_modules.is_module(path):
        return _Inside(fullname, path)
    if path == "core" or path.startswith("core."):
        proto = _proto(path)
        return _Inside(fullname, None) if proto is None else importlib.import_module(proto)
    namespace = _namespace(path)
    assert namespace is not None, f"{fullname} was found, but is not there"
    namespace.__path__ = getattr(namespace, "__path__", [])  # a package: there may be modules inside it
    return namespace


class _FunctionModule(ModuleType):
    """A module with the name of a function, in whose place the import system puts it: calling it calls the function."""

    def __init__(self, fullname: str, origin: str) -> None:
        super().__init__(fullname, f"Penstock's stand-in for TensorFlow's private module {fullname}.")
        self._module, self._function = resolve(origin.partition(":")[0] + ":"), resolve(origin)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


class _Inside(ModuleType):
    """A module inside TensorFlow. ``path`` is its place below ``tensorflow.python``, or that of a library below ``tensorflow`` (it begins with
    ``contrib``); None for a package that has nothing but modules.
    """

    def __init__(self, fullname: str, path: str | None) -> None:
        super().__init__(fullname, f"Penstock's stand-in for TensorFlow's private module {fullname}.")
        self.__path__: list[str] = []
        self._inside = path

    def __getattr__(self, name: str) -> Any:
        if name == "__all__" and self._inside:
            return _public_names(self._inside)
        if name.startswith("__") and name not in paths.NAMES.get(self._inside or "", {}):
            raise AttributeError(name)
        try:
            return importlib.import_module(f"{self.__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name is None:
                raise AttributeError(str(error)) from error
            if error.name != f"{self.__name__}.{name}":
                raise
        if self._inside is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}' in Penstock")
        value = _look_up(self._inside, name) if self._inside else _of_python(name)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        """What is known without a search: the names of the modules that stand behind it, and what has been asked for already."""
        path = self._inside or ""
        behind = [importlib.import_module(source) for source in paths.MODULES.get(path, "").split()]
        own = {name for module in behind for name, value in loaded_members(module).items()
               if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__}
        return sorted({*super().__dir__(), *paths.NAMES.get(path, ()), *own})

    def __setattr__(self, name: str, value: Any) -> None:
        """Programs replace functions inside TensorFlow, ``tf_logging.info`` for example: Penstock then calls theirs."""
        self.__dict__[name] = value
        place = None if name.startswith("__") or isinstance(value, ModuleType) else _place(self.__dict__.get("_inside"), name)
        if place is not None:
            module, attribute = place
            self.__dict__.setdefault("_replaced", {}).setdefault(name, getattr(module, attribute))
            setattr(module, attribute, value)

    def __delattr__(self, name: str) -> None:
        """Forgets what a name was set to: what it stood for is there again."""
        place, replaced = _place(self._inside, name), self.__dict__.get("_replaced", {})
        if place is not None and name in replaced:
            setattr(*place, replaced.pop(name))
        del self.__dict__[name]


def _place(path: str | None, name: str) -> tuple[ModuleType, str] | None:
    """The module of Penstock, and the name there, that a name of a module inside TensorFlow stands for; None if it is found by search only."""
    if path is None:
        return None
    full = path if path.startswith("contrib.") else f"python.{path}"
    origin = paths.NAMES.get(path, {}).get(name) or library_modules.NAMES.get(full, {}).get(name, "")
    if origin and not origin.endswith(":"):
        module, _, attribute = origin.partition(":")
        return importlib.import_module(module), attribute
    for source in [*paths.MODULES.get(path, "").split(), *library_modules.SOURCES.get(full, "").split()]:
        published = getattr(importlib.import_module(source), "ORIGINS", {}).get(name, "") if source.startswith("penstock.api.") else ""
        if published and not published.endswith(":"):  # a public namespace hands on what other modules define and call
            module, _, attribute = published.partition(":")
            return importlib.import_module(module), attribute
        for candidate in (name, name.removeprefix("_")):  # what is private in TensorFlow has a public name here
            if source.startswith("penstock.") and candidate in loaded_members(importlib.import_module(source)):
                return importlib.import_module(source), candidate
    return None


def _look_up(path: str, name: str) -> Any:
    """The object that programs find as ``name`` in ``tensorflow.python.<path>``."""
    origin = paths.NAMES.get(path, {}).get(name)
    if origin is not None:
        return resolve(origin)
    namespaces = [] if name.startswith("_") else [f"penstock.api.{namespace}" for namespace in paths.NAMESPACES]
    public = path.partition(".")[0] in paths.PLAIN and not path.startswith("ops.gen_")
    for source in [*paths.MODULES.get(path, "").split(), *(namespaces if public else [])]:
        if hasattr(importlib.import_module(source), name):
            return getattr(importlib.import_module(source), name)
    for source in paths.MODULES.get(path, "").split() if name.startswith("_") else ():  # what is private in TensorFlow has a public name here
        if not source.startswith("penstock.api.") and hasattr(importlib.import_module(source), name[1:]):
            return getattr(importlib.import_module(source), name[1:])
    full = path if path.startswith("contrib.") else f"python.{path}"
    for candidate in (_library_value(full, name), _generated_function(name) if path.endswith("_ops") else None, _of_version(path, name)):
        if candidate is not None:
            return candidate
    beside = f"{path.rpartition('.')[0]}.{name}"
    if not path.startswith("contrib.") and beside in paths.MODULES:  # TensorFlow's modules import each other, and programs go that way
        return importlib.import_module(f"{NAME}.python.{beside}")
    namespace = None if path.startswith("contrib.") else _namespace(path)
    if namespace is not None and hasattr(namespace, name):  # packages such as tensorflow.python.data hand on what is public
        return getattr(namespace, name)
    raise AttributeError(f"module '{NAME}.{full}' has no attribute '{name}' in Penstock")


def _of_python(name: str) -> Any:
    """What ``tensorflow.python`` itself hands on: modules of operations and of the framework, then what is public."""
    for package in ("ops", "framework"):
        if _is_python_module(f"{package}.{name}"):
            return importlib.import_module(f"{NAME}.python.{package}.{name}")
    if not hasattr(root, name):
        raise AttributeError(f"module '{NAME}.python' has no attribute '{name}' in Penstock")
    return getattr(root, name)


def _of_version(path: str, name: str) -> Any:
    """What TensorFlow's modules tell apart by a suffix: ``reduce_sum_v1`` is ``tf.reduce_sum``, ``expand_dims_v2`` ``tf.compat.v2.expand_dims``."""
    base, version = name[:-3], name[-3:]
    if version == "_v1":
        return _look_up(path, base)
    if name.endswith(("V1", "V2")):  # a class that serves both versions here
        return _library_value(path if path.startswith("contrib.") else f"python.{path}", name[:-2])
    for namespace in paths.NAMESPACES if version == "_v2" else ():
        space = root.compat.v2 if namespace == "root" else getattr(root.compat.v2, namespace, None)
        for candidate in dict.fromkeys([base, base.removeprefix(f"{namespace.removesuffix('s')}_")]):  # sparse_ops.sparse_add_v2: sparse.add
            if candidate in getattr(space, "ORIGINS", ()):
                return getattr(space, candidate)
    return None


def _library_value(path: str, name: str) -> Any:
    """What a module inside a library calls ``name``, by the rules of `library_modules`; None if there is nothing of that name."""
    origin = library_modules.NAMES.get(path, {}).get(name)
    if origin is not None:
        return resolve(origin)
    spaces = [space for public in library_modules.namespaces(path) for space in _with_namespaces_below(f"penstock.api.{public}")]
    leaf = path.rpartition(".")[2]
    modules = [space.ORIGINS[leaf][:-1] for space in spaces if space.ORIGINS.get(leaf, "").endswith(":")]
    for source in [*library_modules.SOURCES.get(path, "").split(), *modules]:
        for candidate in (name, name.removeprefix("_")):  # what is private in TensorFlow has a public name here
            if hasattr(importlib.import_module(source), candidate):
                return getattr(importlib.import_module(source), candidate)
    public = next((space for space in spaces if name in space.ORIGINS), None)
    if public is not None:
        return getattr(public, name)
    for source in dict.fromkeys(origin.partition(":")[0] for space in spaces for origin in space.ORIGINS.values()):
        members = loaded_members(importlib.import_module(source))
        for candidate in dict.fromkeys([name, name.removeprefix("_")]):
            value = members.get(candidate)
            if candidate in members and getattr(value, "__module__", source) == source and not isinstance(value, ModuleType):
                return value
    return None


def _public_names(path: str) -> list[str]:
    """The public names that a module inside a library defines. AttributeError if that is not known."""
    sources = library_modules.SOURCES.get(path, "").split()
    if not sources and path in paths.MODULES:  # of tensorflow.python: what the namespaces among its sources publish
        return sorted({name for source in paths.MODULES[path].split() for name in getattr(importlib.import_module(source), "__all__", ())})
    if not sources:
        raise AttributeError("__all__")
    declared = [name for source in sources for name in getattr(importlib.import_module(source), "__all__", ())]
    if declared:
        return declared
    spaces = [space for public in library_modules.namespaces(path) for space in _with_namespaces_below(f"penstock.api.{public}")]
    return sorted({name for space in spaces for name, origin in space.ORIGINS.items() if origin.partition(":")[0] in sources and origin[-1] != ":"})


def _with_namespaces_below(space: str) -> list[Any]:
    module = importlib.import_module(space)
    below = [origin[:-1] for origin in module.ORIGINS.values() if origin.endswith(":") and origin.startswith(space + ".")]
    return [module, *(namespace for child in dict.fromkeys(below) for namespace in _with_namespaces_below(child))]


def _generated_function(name: str) -> Any:
    """A generated function: ``max_pool_grad`` adds a MaxPoolGrad."""
    wanted = name.strip("_").replace("_", "").lower()
    return next((function_of(definition, name) for op_type, definition in REGISTRY.items() if op_type.lower() == wanted), None)
