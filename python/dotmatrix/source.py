# SPDX-License-Identifier: MIT
"""The text of a function in the kernel dialect, with all that it uses, and where each line came from.

Nothing of a kernel runs as Python: the compiler gets a text. For a function that is its source, and what its names
mean in its module or around it: numbers become constants, functions and structs their own sources, aliases of Warp an
import. Lines keep their place, so that a message names the user's file and line.
"""

import ast
import enum
import inspect
import linecache
import math
import os
import re
import sys
import types

from . import _core

ALIAS = "_dm_wp"
WARPS = ("warp", "dotmatrix.wp", "dotmatrix")
KNOWN = ("math", "numpy")


class Text:
    """A text for the compiler. `path` is what messages call it, `name` the function that was asked for."""

    def __init__(self, path, name):
        self.path, self.name = path, name
        self.lines = []  # the text
        self.places = []  # (file, line, columns cut off) of each

    def add(self, text, file, line, indent=0):
        """One line of the text, and where it comes from."""
        self.lines.append(text)
        self.places.append((file, line, indent))

    def __str__(self):
        return "\n".join(self.lines) + "\n"

    def place(self, line):
        """(file, line, columns cut off) of a line of the text."""
        return self.places[line - 1] if 0 < line <= len(self.places) else (self.path, line, 0)

    def rewrite(self, messages):
        """The compiler's messages with the user's files, lines and columns."""

        def there(match):
            file, line, indent = self.place(int(match[1]))
            return f"{file}:{line}:{int(match[2]) + indent}:"

        return re.sub(rf"(?m)^{re.escape(self.path)}:(\d+):(\d+):", there, messages)

    def error(self, error):
        """The compiler's exception as one that shows the user's own lines."""
        file, line = getattr(error, "file", None), getattr(error, "line", None)
        messages = getattr(error, "messages", "")
        if line is not None and file in (self.path, None):
            file, line, _ = self.place(line)
        text = self.rewrite(messages).rstrip() or (f"{file}:{line}: {error}" if line else str(error))
        again = type(error)(text)
        again.status, again.file, again.line = getattr(error, "status", None), file, line
        again.messages = text
        return again


def gather(function, decorator=None):
    """The Text of a function. `decorator`: "kernel", "func" or None, put in the place of the function's own."""
    function = plain(function)
    if not isinstance(function, types.FunctionType):
        raise _core.InvalidArgument(f"{function!r} is no Python function")
    path = inspect.getsourcefile(function) or function.__code__.co_filename
    return _Gatherer(Text(path, function.__name__)).all(function, decorator)


def gather_program(function, decorator):
    """The Text of a reward program; `decorator` is what stands behind the module's name: "program"."""
    function = plain(function)
    if not isinstance(function, types.FunctionType):
        raise _core.InvalidArgument(f"{function!r} is no Python function")
    path = inspect.getsourcefile(function) or function.__code__.co_filename
    return _ProgramGatherer(Text(path, function.__name__)).all(function, decorator)


def shown(error):
    """The compiler's exception with all of its messages as its text."""
    again = type(error)(getattr(error, "messages", "").rstrip() or str(error))
    again.__dict__.update(error.__dict__)
    return again


def plain(function):
    """The Python function inside of a Kernel of ours, a kernel or function of Warp's, or the function itself."""
    seen = 0
    while not isinstance(function, types.FunctionType) and hasattr(function, "func") and seen < 4:
        function, seen = function.func, seen + 1
    return function


def is_warp(module_name):
    return module_name == "warp" or (module_name or "").startswith("warp.") or module_name in WARPS[1:]


def look_up(name, where):
    """(found, value) of a name as a function or a class sees it: around it, then in its module."""
    if isinstance(where, types.FunctionType):
        for free, cell in zip(where.__code__.co_freevars, where.__closure__ or ()):
            if free == name:
                try:
                    return True, cell.cell_contents
                except ValueError:
                    return False, None
        names = where.__globals__
    else:
        names = vars(inspect.getmodule(where) or types.ModuleType("none"))
    return (True, names[name]) if name in names else (False, None)


def _class_of_a_cell(name):
    """(file, first line, lines) of a class of a notebook or an interactive session: inspect knows files alone."""
    for file in reversed(list(linecache.cache)):
        if os.path.exists(file) and "ipykernel" not in file:
            continue
        lines = linecache.getlines(file)
        try:
            body = ast.parse("".join(lines)).body
        except SyntaxError:
            continue
        for node in reversed(body):
            if isinstance(node, ast.ClassDef) and node.name == name:
                first = min((d.lineno for d in node.decorator_list), default=node.lineno)
                return file, first, lines[first - 1 : node.end_lineno]
    raise OSError(name)


class _Gatherer:
    def __init__(self, text):
        self.text = text
        self.header = {}  # lines at the top
        self.chunks = []  # (file, first line, indent, lines)
        self.done = set()
        self.waiting = []  # names still to be explained: (name, function)

    def all(self, function, decorator):
        self.definition(function, decorator)
        while self.waiting:
            name, where = self.waiting.pop()
            if name not in self.done:
                self.done.add(name)
                self.explain(name, where)
        text = self.text
        first = function.__code__.co_firstlineno
        text.add(f"import warp as {ALIAS}", text.path, first)
        for line in self.header.values():
            text.add(line, text.path, first)
        for file, first, indent, lines in self.chunks:
            for i, line in enumerate(lines):
                text.add(line, file, max(first + i, 1), indent)
        return text

    @staticmethod
    def decoration(decorator):
        return f"@{ALIAS}.{decorator}"

    # ---- Definitions ----

    def definition(self, object, decorator):
        """A function's or class's source as a chunk, with `decorator` instead of its own (None: none; "=": its own)."""
        try:
            if inspect.isclass(object) and object.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
                file, first, lines = _class_of_a_cell(object.__name__)
            else:
                lines, first = inspect.getsourcelines(object)
                file = inspect.getsourcefile(object) or self.text.path
        except (OSError, TypeError):
            raise _core.InvalidArgument(
                f"{object.__name__}: its source cannot be read; define it in a file or a notebook's cell"
            ) from None
        indent = len(lines[0]) - len(lines[0].lstrip())
        lines = [line.rstrip("\n")[indent:] if not line[:indent].strip() else line.rstrip("\n") for line in lines]
        try:
            node = ast.parse("\n".join(lines)).body[0]
        except SyntaxError:
            raise _core.InvalidArgument(f"{object.__name__}: its source is no definition of its own") from None
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            raise _core.InvalidArgument(f"{object.__name__}: a function with `def` is wanted, no lambda")
        last = node.end_lineno
        lines = lines[:last]
        if decorator != "=":
            start = node.lineno - 1
            lines, first = lines[start:], first + start
            node.decorator_list = []
            if decorator is not None:
                lines, first = [self.decoration(decorator), *lines], first - 1
        self.done.add(node.name)
        self.chunks.append((file, first, indent, lines))
        self.names(node, object)
        for extra in getattr(object, "__dm_more__", ()):
            if extra not in self.done:
                self.done.add(extra)
                self.definition(extra, "=")

    def names(self, node, where):
        """Put what a definition uses on the list."""
        own = {name.arg for name in ast.walk(node) if isinstance(name, ast.arg)}
        own |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        # Annotations of parameters are read outside of the function, where its own names mean nothing.
        outside = []
        for a in ast.walk(node):
            if isinstance(a, (ast.arg, ast.AnnAssign)) and a.annotation is not None:
                outside.append(a.annotation)
                if isinstance(a.annotation, ast.Constant) and isinstance(a.annotation.value, str):
                    try:
                        outside.append(ast.parse(a.annotation.value, mode="eval"))
                    except SyntaxError:
                        pass
        for tree in outside:
            for n in ast.walk(tree):
                if isinstance(n, ast.Name):
                    self.waiting.append((n.id, where))
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in own:
                self.waiting.append((n.id, where))

    # ---- What a name means ----

    def explain(self, name, where):
        found, value = look_up(name, where)
        if found:
            self.value(name, value, where)

    def value(self, name, value, where):
        header = self.header
        kind = type(value).__module__
        if isinstance(value, types.ModuleType):
            header[name] = f"import {'warp' if is_warp(value.__name__) else value.__name__} as {name}"
        elif isinstance(value, bool) or value is None:
            header[name] = f"{name} = {value!r}"
        elif isinstance(value, enum.EnumMeta):
            self.definition(value, "=")
        elif isinstance(value, (int, float)):
            header[name] = f"{name} = {_number(value)}"
        elif kind == "numpy" and getattr(value, "shape", None) == () and not isinstance(value, type):
            header[name] = f"{name} = {_number(value.item())}"
        elif isinstance(value, (tuple, list)) and all(isinstance(v, (int, float)) for v in value):
            header[name] = f"{name} = ({', '.join(_number(v) for v in value)},)"
        elif hasattr(value, "__dm_text__"):  # of dotmatrix.wp
            header[name] = f"{name} = {value.__dm_text__(ALIAS)}"
        elif isinstance(plain(value), types.FunctionType) and not is_warp(plain(value).__module__):
            if plain(value).__module__ == "dotmatrix.kernels":
                header[name] = f"from warp import {value.__name__} as {name}"
            else:
                self.function(name, plain(value))
        elif inspect.isclass(getattr(value, "cls", None)):  # a struct of Warp's
            self.definition(value.cls, "struct")
        elif inspect.isclass(value) and not is_warp(kind) and not is_warp(value.__module__) and value.__module__ not in (
            "builtins",
            "numpy",
        ):
            self.definition(value, "struct")
        elif is_warp(getattr(value, "__module__", None)) and hasattr(value, "__name__"):
            header[name] = f"from warp import {value.__name__} as {name}"
        else:
            self.assignment(name, where)

    def function(self, name, function):
        if function.__name__ != name:
            self.header[name] = f"{name} = {function.__name__}"
            if function.__name__ in self.done:
                return
        self.definition(function, "func")

    def assignment(self, name, where):
        """A constant that is no number: the statement of the module that makes it."""
        module = inspect.getmodule(where)
        try:
            tree = ast.parse(inspect.getsource(module))
        except (OSError, TypeError, SyntaxError):
            return
        for node in reversed(tree.body):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                self.header[name] = f"{name} = {ast.unparse(node.value)}"
                for n in ast.walk(node.value):
                    if isinstance(n, ast.Name):
                        self.waiting.append((n.id, where))
                return


class _ProgramGatherer(_Gatherer):
    """Programs name the module dotmatrix, not Warp, by one name."""

    module = "dm"

    def all(self, function, decorator):
        for name, value in function.__globals__.items():
            if isinstance(value, types.ModuleType) and value.__name__ == "dotmatrix":
                self.module = name
        text = super().all(function, decorator)
        text.lines.insert(0, f"import dotmatrix as {self.module}")
        text.places.insert(0, (text.path, function.__code__.co_firstlineno, 0))
        return text

    def decoration(self, decorator):
        return f"@{ALIAS}.{decorator}" if decorator in ("func", "struct") else f"@{self.module}.{decorator}"

    def value(self, name, value, where):
        if isinstance(value, types.ModuleType) and value.__name__ == "dotmatrix":
            return  # it is at the top
        if inspect.isclass(value) and value.__dict__.get("__dm_memory__"):
            self.definition(value, "memory")
        else:
            super().value(name, value, where)


def _number(value):
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
