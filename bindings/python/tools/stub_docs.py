"""Puts the docstrings of the built module into its stub: ``python tools/stub_docs.py [--check]``.

Types are written by hand in ``python/weft/_weft.pyi``; texts are written once, in Rust. With ``--check`` nothing is written,
and a difference is an error.
"""

from __future__ import annotations

import ast
import inspect
import pathlib
import sys
import textwrap

from weft import _weft

STUB = pathlib.Path(__file__).parents[1] / "python" / "weft" / "_weft.pyi"


def documented(owner, name):
    """The text of ``owner.name``, if it is the module's own."""
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        return None
    if name.startswith("__") and name not in vars(owner):
        return None
    if name.startswith("__") and name.endswith("__"):
        return None  # what these do, Python's own documentation says
    is_method = isinstance(found, (classmethod, staticmethod))
    text = (getattr(owner, name) if is_method else found).__doc__
    return inspect.cleandoc(text) if text else None


def docstring(text, indent):
    """A docstring as source."""
    lines = []
    for paragraph in text.split("\n\n"):
        lines += [*textwrap.wrap(" ".join(paragraph.split()), 100 - indent), ""]
    lines.pop()
    pad = " " * indent
    if len(lines) == 1:
        return [f'{pad}"""{lines[0]}"""']
    return [f'{pad}"""{lines[0]}', *[(pad + line).rstrip() for line in lines[1:]], f'{pad}"""']


def lines_of_docstring(node):
    """The first and last line of a definition's docstring, if it has one."""
    first = node.body[0]
    value = getattr(first, "value", None)
    is_doc = isinstance(first, ast.Expr) and isinstance(getattr(value, "value", None), str)
    return (first.lineno, first.end_lineno) if is_doc else None


def merged(source):
    """The stub with the module's docstrings."""
    tree = ast.parse(source)
    lines = source.splitlines()
    edits = []  # (line to begin at, line to end at, new lines)

    def edit(node, text, indent):
        span = lines_of_docstring(node)
        if not text:
            return
        new = docstring(text, indent)
        first = node.body[0]
        if span:
            edits.append((span[0], span[1], new))
        elif isinstance(first, ast.Expr) and lines[first.lineno - 1].endswith(": ..."):
            line = lines[first.lineno - 1].rstrip()[: -len(" ...")]
            edits.append((first.lineno, first.lineno, [line, *new]))
        else:
            begin = min([first.lineno, *(it.lineno for it in getattr(first, "decorator_list", []))])
            edits.append((begin, begin - 1, new))

    seen = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            owner = getattr(_weft, node.name)
            edit(node, inspect.cleandoc(vars(owner).get("__doc__") or ""), 4)
            for member in node.body:
                if not isinstance(member, ast.FunctionDef) or (node.name, member.name) in seen:
                    continue
                seen.add((node.name, member.name))
                edit(member, documented(owner, member.name), 8)
        elif isinstance(node, ast.FunctionDef) and node.name not in seen and not node.name.startswith("_"):
            seen.add(node.name)
            edit(node, documented(_weft, node.name), 4)
    for begin, end, new in sorted(edits, reverse=True):
        lines[begin - 1 : end] = new
    return "\n".join(lines) + "\n"


def main():
    source = STUB.read_text()
    new = merged(source)
    if "--check" in sys.argv:
        if new != source:
            sys.exit(f"{STUB.name} does not have the docstrings of the module: run tools/stub_docs.py")
        return
    STUB.write_text(new)


if __name__ == "__main__":
    main()
