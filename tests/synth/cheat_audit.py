#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are a dataset's tests worth their name? With the references, of NumPy alone:

    right        the reference passes its test
    cheats       zeros; nothing at all; a copy of each array that a result could be; each argument ignored, as if it
                 were zero, one, or what it is in the first case: every one must fail
    mutations    one operator of the kernel changed (+ for -, * for /, < for >=, and for or, min for max ...)
    edges        with --edges: < for <=, > for >= and the reverse; many of them change nothing, so they are counted
                 apart and fail nothing

    cheat_audit.py DATASET [--records N] [--mutations N|all] [--seed S] [--edges] [--verbose]

A mutation that is not noticed counts as missed even where it changes nothing. The exit code is 1 when a reference
fails, a cheat passes, or less than 98 of 100 mutations are noticed.
"""
import argparse
import ast
import copy
import glob
import json
import os
import random
import signal
import sys
import warnings

import numpy as np

SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Mult,
         ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitXor: ast.BitAnd,
         ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
         ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And}
EDGES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
SECONDS_MAX = 5  # of processor time; what loops longer is noticed
CALLS = {"min": "max", "max": "min", "sin": "cos", "cos": "sin"}


def load(text, name):
    space = {"__name__": name}
    exec(compile(text, name, "exec"), space)
    return space


def own_functions(tree, record):
    """The kernels and the functions that stand in its source: not the library's, nor the launches."""
    names = [f.name for f in tree.body if isinstance(f, ast.FunctionDef)]
    return [f for f in tree.body if isinstance(f, ast.FunctionDef) and
            f"def {f.name.removesuffix('_thread')}(" in record["python_source"] and
            (f.name.endswith("_thread") or f.name + "_thread" not in names) and f.name != record["kernel_name"]]


def sites(functions, edges=False):
    for function in functions:
        for node in ast.walk(function):
            if edges:
                if isinstance(node, ast.Compare) and type(node.ops[0]) in EDGES:
                    yield node
            elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPS:
                yield node
            elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
                yield node
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and \
                    not isinstance(node.operand, ast.Constant):
                yield node
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in CALLS:
                yield node


def mutate(node, edge=False):
    if edge:
        node.ops[0] = EDGES[type(node.ops[0])]()
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd()
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node.func.attr = CALLS[node.func.attr]
    elif isinstance(node, ast.Call):
        node.func.id = CALLS[node.func.id]
    else:
        node.op = SWAPS[type(node.op)]()


class TooLong(Exception):
    pass


def stop(number, frame):
    raise TooLong


def passes(test, forward):
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_MAX)
    try:
        return not test["check"](forward)
    except Exception:  # an index that is out of range, a division of integers by zero, a loop without end
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def cheats(test, right):
    parameters, first = test["PARAMETERS"], test["arguments"](test["CASES"][0])
    results = [i for i, p in enumerate(parameters) if p[3]]

    def zeros(launch, *args):
        for i in results:
            args[i][...] = np.zeros_like(args[i])

    yield "zeros", zeros
    yield "nothing", lambda launch, *args: None
    for k, (name, rank, dtype, _) in enumerate(parameters):
        if any(i != k and parameters[i][1:3] == (rank, dtype) for i in results):
            def copies(launch, *args, k=k):
                kept = args[k].copy()
                for i in results:
                    if parameters[i][1:3] == parameters[k][1:3]:
                        args[i][...] = kept

            yield f"copy of {name}", copies
        if k in results:
            continue
        for what, value in (("zero", 0), ("one", 1), ("as in the first case", None)):
            if value is None and rank:
                continue

            def ignores(launch, *args, k=k, value=value):
                args = list(args)
                if value is None:
                    args[k] = first[k]
                else:
                    array = np.zeros_like(args[k])[...] if parameters[k][1] else np.array(args[k])
                    fill = np.zeros_like(array)
                    for field in fill.dtype.names or ():
                        fill[field] = value
                    args[k] = fill if fill.dtype.names else fill + fill.dtype.type(value)
                    args[k] = args[k] if parameters[k][1] else args[k][()]
                right(launch, *args)

            yield f"{name} is {what}", ignores


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--mutations", default="1", help="of each record; all: every one")
    parser.add_argument("--edges", action="store_true", help="count them, too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    draw = random.Random(options.seed)
    records = [json.loads(line) for name in sorted(glob.glob(os.path.join(options.dataset, "pairs-*.jsonl")))
               for line in open(name)]
    records = [r for r in records if r.get("test")]
    if not records:
        sys.exit(f"{options.dataset}: no record has a test")
    records = draw.sample(records, min(options.records, len(records)))
    signal.signal(signal.SIGVTALRM, stop)
    most = 10**6 if options.mutations == "all" else int(options.mutations)
    wrong = planted = missed = 0
    made, noticed = [0, 0], [0, 0]  # mutations, edges
    for record in records:
        reference, test = load(record["reference"], "reference"), load(record["test"], "test")
        right = reference[record["kernel_name"]]
        if not passes(test, right):
            wrong += 1
            print(f"{record['id']} {record['idiom']}: the reference fails: {test['check'](right)[:1]}")
            continue
        for what, cheat in cheats(test, right):
            planted += 1
            if passes(test, cheat):
                missed += 1
                print(f"{record['id']} {record['idiom']}: passes: {what}")
        tree = ast.parse(record["reference"])
        for edge in (False, True) if options.edges else (False,):
            count = len(list(sites(own_functions(tree, record), edge)))
            for chosen in draw.sample(range(count), min(most, count)):
                mutant = copy.deepcopy(tree)
                site = list(sites(own_functions(mutant, record), edge))[chosen]
                before = ast.unparse(site)
                mutate(site, edge)
                made[edge] += 1
                space = load(ast.unparse(ast.fix_missing_locations(mutant)), "mutant")
                if not passes(test, space[record["kernel_name"]]):
                    noticed[edge] += 1
                elif options.verbose:
                    print(f"{record['id']} {record['idiom']}: not noticed: {before}  ->  {ast.unparse(site)}")
    share = noticed[0] / made[0] if made[0] else 0
    print(f"{len(records)} tests: {wrong} references fail; {planted} cheats, {missed} pass; {made[0]} mutations, "
          f"{noticed[0]} noticed ({100 * share:.2f}%)")
    if options.edges:
        print(f"{made[1]} edges, {noticed[1]} noticed")
    sys.exit(1 if wrong or missed or share < 0.98 else 0)


if __name__ == "__main__":
    main()
