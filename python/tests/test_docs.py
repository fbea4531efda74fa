# SPDX-License-Identifier: MIT
"""Public names have docstrings and annotations and stand in docs/python.md; the extension is what _core.pyi says; the
document's Python is Python."""

import ast
import importlib
import inspect
import pathlib
import re

import pytest

import dotmatrix as dm
from dotmatrix import _core, pyboy
from dotmatrix import programs

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "python.md"
CODE = re.findall(r"`([^`]+)`", re.sub(r"(?s)```.*?```", "", DOCUMENT.read_text())) if DOCUMENT.exists() else []
BLOCKS = re.findall(r"(?s)```python\n(.*?)```", DOCUMENT.read_text()) if DOCUMENT.exists() else []
CLASSES = [dm.GameBoy, dm.Kernel, dm.Program, dm.Screen, dm.Swarm, dm.Tape, dm.VectorEnv]
MODULES = ["arrays", "command", "dynamics", "env", "gameboy", "kernels", "programs", "pyboy", "pyboy.utils", "selftest", "swarm", "symbols", "synth",
           "train", "wp"]  # fmt: skip
ADAPTERS = {"gym": "gymnasium", "jax": "jax", "puffer": "pufferlib", "rsl_rl": "rsl_rl", "sb3": "stable_baselines3",
            "skrl": "skrl", "torch": "torch", "torchrl": "torchrl"}  # fmt: skip


def public(thing):
    return [name for name in vars(thing) if not name.startswith("_")]


def written(name):
    return any(re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", code) for code in CODE)


@pytest.mark.parametrize("name", dm.__all__)
def test_name(name):
    thing = getattr(dm, name)
    assert inspect.getdoc(thing), f"dm.{name} has no docstring"
    assert written(name), f"dm.{name} is not in docs/python.md"


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_members(cls):
    base = set(public(_core.GameBoy)) if issubclass(cls, _core.GameBoy) else set()
    for name in {*public(cls), *base}:
        member = inspect.getattr_static(cls, name)
        if isinstance(member, (property, staticmethod)) or callable(member):
            assert inspect.getdoc(getattr(cls, name)) or inspect.getdoc(member), f"{cls.__name__}.{name} has no docstring"
        assert written(name), f"{cls.__name__}.{name} is not in docs/python.md"


def test_pyboys_names():
    for name in pyboy.__all__:
        assert inspect.getdoc(getattr(pyboy, name)) and written(name), name


def functions(module):
    """(where, function) of every public one of a module, and of its public classes."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            for member, value in vars(thing).items():
                value = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", None) or value
                if inspect.isfunction(value) and (not member.startswith("_") or member == "__init__"):
                    yield f"{name}.{member}", value


def check(module):
    found = 0
    for where, function in functions(module):
        if function.__qualname__.startswith("_name."):
            continue  # dm.u8 and the like
        parameters = list(inspect.signature(function).parameters)
        wanted = {p for p in parameters if p not in ("self", "cls")} | {"return"}
        assert wanted <= set(function.__annotations__), f"{module.__name__}.{where}: {wanted - set(function.__annotations__)}"
        if not where.endswith("__init__"):
            assert function.__doc__, f"{module.__name__}.{where} has no docstring"
        found += 1
    assert found, module.__name__


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    module = importlib.import_module(f"dotmatrix.{name}")
    assert module.__doc__
    if name != "pyboy.utils":
        check(module)
    for public_name in getattr(module, "__all__", ()):
        assert hasattr(module, public_name)
        if name in ("command", "dynamics", "synth", "train"):
            assert written(public_name), f"dotmatrix.{name}.{public_name} is not in docs/python.md"


@pytest.mark.parametrize("name", ADAPTERS)
def test_adapter(name):
    pytest.importorskip(ADAPTERS[name], reason=f"{ADAPTERS[name]} is not installed")
    module = importlib.import_module(f"dotmatrix.{name}")
    check(module)
    assert written(f"dotmatrix.{name}") or written(f".{name}")
    for public_name in getattr(module, "__all__", ()):
        assert written(public_name), f"dotmatrix.{name}.{public_name} is not in docs/python.md"


def test_stub_is_the_extension():
    path = pathlib.Path(dm.__file__).with_name("_core.pyi")
    tree = {n.name: n for n in ast.parse(path.read_text()).body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    assert set(tree) == {name for name in vars(_core) if not name.startswith("__")}
    special = {"__dlpack__", "__dlpack_device__", "__array_interface__", "__cuda_array_interface__", "__getitem__", "__setitem__"}
    for name, node in tree.items():
        thing = getattr(_core, name)
        if isinstance(node, ast.FunctionDef) or issubclass(thing, Exception):
            continue
        said = {m.name if isinstance(m, ast.FunctionDef) else m.target.id for m in node.body
                if isinstance(m, (ast.FunctionDef, ast.AnnAssign))}  # fmt: skip
        there = {m for m in vars(thing) if not m.startswith("__") or m in special}
        assert said - {"__init__"} == there, name
    assert path.with_name("py.typed").exists()


def test_program_names_are_all():
    assert set(programs.__all__) <= set(dm.__all__)


@pytest.mark.skipif(not BLOCKS, reason="the package's source is not here")
def test_blocks_are_python():
    assert len(BLOCKS) >= 4
    for block in BLOCKS:
        ast.parse(block)


@pytest.mark.skipif(not BLOCKS, reason="the package's source is not here")
def test_first_block_runs():
    space = {}
    exec(BLOCKS[0], space)
    assert space["obs"].shape == (64, 72, 20) and space["reward"].shape == (64,)
    space["env"].close()
