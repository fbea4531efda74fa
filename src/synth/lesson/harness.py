# The rest is the same in every test. NumPy alone is needed.
import ctypes
import importlib.util
import struct
import sys


def column(array, path):
    for part in filter(None, path.split(".")):
        array = array[part]
    return array


def fill(array, numbers):
    """An array of structs has its numbers by field."""
    for path, values in (numbers if isinstance(numbers, dict) else {"": numbers}).items():
        view = column(array, path)
        view[...] = np.array(values).reshape(view.shape)


def arguments(case):
    """Fresh arguments in the order of the signature: arrays, and scalars of their own types."""
    made = []
    for name, rank, dtype, _ in PARAMETERS:
        array = np.zeros((case["size"],) * rank, dtype)
        fill(array, case["inputs"][name])
        made.append(array if rank else array[()])
    return made


def weights(shape):
    """The adjoint that a result starts the backward pass with."""
    return ((np.arange(np.prod(shape, dtype=int)) * 37 % 16 - 7.5) / 8).reshape(shape)


def adjoints(case, args):
    """Zeros, but for the results; None where there are no floats."""
    made = []
    for (name, rank, dtype, written), value in zip(PARAMETERS, args):
        array = np.zeros_like(value) if rank else None
        for path in FLOATS[name] if rank and written else []:
            view = column(array, path)
            view[...] = weights(view.shape)
        made.append(array)
    return made


def compare(name, array, numbers, problems):
    for path, values in (numbers if isinstance(numbers, dict) else {"": numbers}).items():
        got = column(array, path).astype(np.float64).reshape(-1)
        want = np.array(values, np.float64)
        exact = not np.issubdtype(column(array, path).dtype, np.floating)
        bound = 0.0 if exact else 1e-4 * np.abs(want) + 2e-5 * np.abs(want).max() + 1e-6
        wrong = ~(np.abs(got - want) <= bound)
        if wrong.any():
            at = int(np.argmax(wrong))
            where = f"{name}.{path}" if path else name
            problems.append(f"{where}: {wrong.sum()} of {want.size} numbers are wrong; number {at} is {got[at]:.7g}, "
                            f"not {want[at]:.7g}")


def check(forward, backward=None):
    """What is wrong with an implementation: a list of lines, empty when it is right."""
    problems = []
    for case in CASES:
        args, found = arguments(case), []
        forward(tuple(case["launch"]), *args)
        for (name, _, _, written), value in zip(PARAMETERS, args):
            if written:
                compare(name, value, case["outputs"][name], found)
        if backward is not None and case["gradients"] and not found:
            grads = adjoints(case, args)
            backward(tuple(case["launch"]), *args, *grads)
            for (name, _, _, _), grad in zip(PARAMETERS, grads):
                if name in case["gradients"]:
                    compare("gradient of " + name, grad, case["gradients"][name], found)
        problems += [f"case {case['name']}: {line}" for line in found]
    return problems


def block(launch, args, grads):
    """The argument block of a compiled kernel."""
    out = bytearray(struct.pack(f"{len(launch)}i", *launch))
    for (_, rank, dtype, _), value, grad in zip(PARAMETERS, args, grads):
        out += bytes(-len(out) % (8 if rank else np.dtype(dtype).base.alignment))
        if not rank:
            out += np.asarray(value, np.dtype(dtype).base).tobytes()
            continue
        data = [value.ctypes.data, 0 if grad is None else grad.ctypes.data]
        out += struct.pack(f"2Q{rank}q{rank}i", *data, *value.strides[:rank], *value.shape[:rank])
        out += bytes(-len(out) % 8)
    return bytes(out) + bytes(-len(out) % 8)


def from_library(path):
    """The entry points of c_forward and c_backward, compiled to a shared library."""
    library = ctypes.CDLL(path)

    def entry(name):
        def call(launch, *args):
            grads = args[len(PARAMETERS):] or (None,) * len(PARAMETERS)
            memory = ctypes.create_string_buffer(block(launch, args, grads))
            count = int(np.prod(launch))
            function(memory, ctypes.c_uint64(0), ctypes.c_uint64(count), ctypes.c_uint64(count))

        function = getattr(library, name, None)
        return function and call

    return entry(ENTRY + "_forward"), entry(ENTRY + "_backward")


def from_module(path):
    spec = importlib.util.spec_from_file_location("implementation", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, KERNEL), getattr(module, KERNEL + "_backward", None)


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} MODULE.py|LIBRARY.so")
    load = from_module if sys.argv[1].endswith(".py") else from_library
    problems = check(*load(sys.argv[1]))
    print("\n".join(problems) if problems else "right")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
