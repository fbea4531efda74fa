# SPDX-License-Identifier: MIT
"""python -m dotmatrix.pyboy script.py [argument ...]: run a script that says `import pyboy` on dotmatrix."""

import os
import runpy
import sys

import dotmatrix.pyboy

if len(sys.argv) < 2:
    print("usage: python -m dotmatrix.pyboy script.py [argument ...]", file=sys.stderr)
    sys.exit(2)
del sys.argv[0]
if not os.path.isfile(sys.argv[0]):
    print(f"dotmatrix.pyboy: {sys.argv[0]}: there is no such file", file=sys.stderr)
    sys.exit(4)
dotmatrix.pyboy.install()
runpy.run_path(sys.argv[0], run_name="__main__")
