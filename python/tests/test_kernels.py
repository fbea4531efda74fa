# SPDX-License-Identifier: MIT
"""Kernels of Python functions: launches on the caller's arrays, gradients, and errors with the user's own lines."""

import inspect
import shutil

import numpy as np
import pytest

import dotmatrix as dm
from dotmatrix import wp

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

GAIN = 2.0
STEPS = np.int64(3)
WEIGHTS = (1.0, 2.0, 4.0)
OFFSET = wp.vec3(1.0, 2.0, 3.0)
vec5 = wp.types.vector(5, wp.float32)


@wp.func
def gained(v: float):
    return v * GAIN


@wp.struct
class Spring:
    stiffness: float
    rest: float


@dm.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * gained(x[i]) + y[i]


@dm.kernel
def square_error(y: wp.array(dtype=float), t: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    d = y[i] - t[i]
    wp.atomic_add(loss, 0, d * d)


@dm.kernel
def shifted(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q[i] = p[i] + OFFSET


@dm.kernel
def plane(x: wp.array2d(dtype=wp.int32), k: int):
    i, j = wp.tid()
    x[i, j] = i * 10 + j + k


@dm.kernel
def powers(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    p = float(1.0)
    for k in range(STEPS):
        p = p * x[i]
    y[i] = p + WEIGHTS[1]


@dm.kernel
def pull(springs: wp.array(dtype=Spring), x: wp.array(dtype=float), f: wp.array(dtype=float)):
    i = wp.tid()
    f[i] = springs[i].stiffness * (x[i] - springs[i].rest)


@dm.kernel
def doubled_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@dm.kernel
def squared(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def floats(*values):
    return np.array(values, np.float32)


def test_launch():
    x, y = floats(0, 1, 2), floats(1, 1, 1)
    dm.launch(saxpy, 3, inputs=[2.0, x], outputs=[y])
    assert (y == floats(1, 5, 9)).all() and (x == floats(0, 1, 2)).all()


def test_dimensions():
    x = np.zeros((3, 4), np.int32)
    dm.launch(plane, (3, 4), inputs=[x, 100])
    assert (x == np.arange(3)[:, None] * 10 + np.arange(4) + 100).all()
    assert plane.dimensions == 2 and saxpy.dimensions == 1


def test_strides():
    x = np.zeros((4, 6), np.int32)
    dm.launch(plane, (2, 3), inputs=[x[::2, ::2], 0])
    assert x[2, 4] == 12 and x[1].sum() == 0 and (x[::2, ::2] == [[0, 1, 2], [10, 11, 12]]).all()
    back = np.zeros((2, 3), np.int32)
    dm.launch(plane, (2, 3), inputs=[back[::-1], 0])
    assert (back == [[10, 11, 12], [0, 1, 2]]).all()


def test_vectors():
    p, q = np.zeros((4, 3), np.float32), np.ones((4, 3), np.float32)
    dm.launch(shifted, 4, inputs=[p], outputs=[q])
    assert (q == floats(1, 2, 3)).all()


def test_constants_of_the_module():
    x, y = floats(2, 3), floats(0, 0)
    dm.launch(powers, 2, inputs=[x], outputs=[y])
    assert (y == floats(10, 29)).all()


def test_structs():
    springs = np.array([(2.0, 1.0), (3.0, 0.0)], [("stiffness", "f4"), ("rest", "f4")])
    x, f = floats(2, 2), floats(0, 0)
    dm.launch(pull, 2, inputs=[springs, x], outputs=[f])
    assert (f == floats(2, 6)).all()


@pytest.mark.parametrize("factor", [2, 5])
def test_closures(factor):
    number = float(factor)

    @dm.kernel
    def times(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * number

    x = floats(1, 2)
    dm.launch(times, 2, inputs=[x])
    assert (x == floats(factor, 2 * factor)).all()


def test_texts():
    assert "__global__" in saxpy.cuda and "saxpy_backward" in saxpy.cuda and "saxpy_forward" in saxpy.c
    assert [p["name"] for p in saxpy.params] == ["a", "x", "y"]
    assert saxpy.params[1]["is_array"] and saxpy.params[0]["scalar"] == "f4"
    assert saxpy.writes == {"y"} and square_error.writes == {"loss"} and saxpy.no_backward is None


@wp.func
def stores(a: wp.array(dtype=float), i: int, v: float):
    a[i] = gained(v)


def test_what_is_written():
    def through(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array2d(dtype=float)):
        i = wp.tid()
        stores(y, i, x[i])
        z[i, 0] += wp.max(x[i], 1.0)

    assert dm.kernel(through).writes == {"y", "z"} and halves.writes == {"y"}


def test_tape():
    x, y, t, loss = floats(0, 1, 2), floats(1, 1, 1), floats(0, 0, 0), floats(0)
    with dm.Tape() as tape:
        dm.launch(saxpy, 3, inputs=[2.0, x], outputs=[y])
        dm.launch(square_error, 3, inputs=[y, t], outputs=[loss])
    tape.backward(loss)
    assert (tape.gradient(x) == 4 * 2 * y).all() and (tape.gradient(t) == -2 * y).all()
    assert tape.gradient(floats(0)) is None


def test_tape_with_gradients():
    x, y = floats(3, 4), floats(0, 0)
    with dm.Tape() as tape:
        dm.launch(squared, 2, inputs=[x], outputs=[y])
    tape.backward(grads=[(y, floats(1, 10))])
    assert (tape.gradient(x) == floats(6, 80)).all()


def test_tape_keeps_what_is_overwritten():
    """y = (2x)^2, with x doubled in place between two uses: the first launch needs x as it was."""
    x, a, b = floats(3), floats(0), floats(0)
    with dm.Tape() as tape:
        dm.launch(squared, 1, inputs=[x], outputs=[a])
        dm.launch(doubled_in_place, 1, outputs=[x])
        dm.launch(squared, 1, inputs=[x], outputs=[b])
    assert x == 6 and a == 9 and b == 36
    tape.backward(grads=[(a, 1), (b, 1)])
    assert tape.gradient(x)[0] == 2 * 3 + 2 * 2 * 6  # d(x^2)/dx + d((2x)^2)/dx


def test_tape_against_differences():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(5).astype(np.float32)

    def value(x):
        y, t, loss = np.full(5, 0.5, np.float32), floats(1, 2, 3, 4, 5), floats(0)
        with dm.Tape() as tape:
            dm.launch(saxpy, 5, inputs=[0.3, x], outputs=[y])
            dm.launch(square_error, 5, inputs=[y, t], outputs=[loss])
        tape.backward(loss)
        return float(loss[0]), tape.gradient(x)

    _, gradient = value(x)
    for i in range(5):
        step = np.zeros(5, np.float32)
        step[i] = 0.01
        difference = (value(x + step)[0] - value(x - step)[0]) / 0.02
        assert abs(difference - gradient[i]) < 2e-2 * max(1, abs(difference))


def test_tape_refuses_overlapping_views():
    x, y = np.zeros(4, np.float32), np.zeros(3, np.float32)
    with dm.Tape() as tape:
        dm.launch(squared, 3, inputs=[x[1:]], outputs=[y])
        with pytest.raises(dm.Unsupported, match="one memory"):
            dm.launch(doubled_in_place, 4, outputs=[x])
    assert tape.gradient(x) is None


def test_adjoint_by_hand():
    x, y, gx, gy = floats(3, 4), floats(9, 16), floats(0, 0), floats(1, 1)
    dm.launch(squared, 2, inputs=[x], outputs=[y], adj_inputs=[gx], adj_outputs=[gy], adjoint=True)
    assert (gx == floats(6, 8)).all() and (gy == 0).all()


def test_options():
    @dm.kernel(bounds=True)
    def beyond(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i + 100] = 1.0

    with pytest.raises(dm.InvalidArgument, match="x"):
        dm.launch(beyond, 2, inputs=[floats(0, 0)])
    with pytest.raises(TypeError, match="no option"):
        dm.kernel(test_options, colour=True).c

    @dm.kernel(no_backward=True)
    def forward_only(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    assert "forward_only_backward" not in forward_only.c and forward_only.no_backward


def test_errors_have_the_users_lines():
    @dm.kernel
    def wrong(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * 2  # int and float

    with pytest.raises(dm.CompileError) as caught:
        dm.launch(wrong, 1, inputs=[floats(0)])
    lines, first = inspect.getsourcelines(wrong.func)
    line = first + [i for i, text in enumerate(lines) if "int and float" in text][0]
    assert caught.value.file == __file__ and caught.value.line == line
    assert f"{__file__}:{line}:16: error: '*' does not take (float32, int32)" in str(caught.value)
    assert "hint" in str(caught.value) and caught.value.status == "does not compile"


def broken_helper(v: float):
    return v + 1


def test_errors_in_functions_that_are_called():
    @dm.kernel
    def calls(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = broken_helper(x[i])

    with pytest.raises(dm.CompileError) as caught:
        calls.c
    assert caught.value.line == inspect.getsourcelines(broken_helper)[1] + 1


def test_unknown_name():
    @dm.kernel
    def unknown(x: wp.array(dtype=float)):
        x[wp.tid()] = nowhere  # noqa: F821

    with pytest.raises(dm.CompileError, match="nowhere"):
        unknown.c


@pytest.mark.parametrize(
    "values,text",
    [
        ([2.0, floats(0)], "takes 3 arguments"),
        ([2.0, np.zeros(1), floats(0)], "'x': .*elements of type f8"),
        ([2.0, np.zeros((2, 2), np.float32), floats(0)], "shape \\(2, 2\\)"),
        ([2.0, 7, floats(0)], "x: an array is wanted"),
        ([floats(1, 2), floats(0), floats(0)], "'a': float32 has 1 numbers, 2"),
        (["text", floats(0), floats(0)], "'a'"),
        ([2.0, floats(0), bytes(4)], "an array is wanted"),
    ],
)
def test_wrong_arguments(values, text):
    with pytest.raises(dm.InvalidArgument, match=text):
        dm.launch(saxpy, 1, inputs=values)


def test_more_wrong_launches():
    x = floats(0)
    with pytest.raises(dm.InvalidArgument, match="takes an integer"):
        dm.launch(plane, (1, 1), inputs=[np.zeros((1, 1), np.int32), 1.5])
    with pytest.raises(dm.InvalidArgument, match="read-only"):
        y = floats(0)
        y.flags.writeable = False
        dm.launch(saxpy, 1, inputs=[1.0, x], outputs=[y])
    with pytest.raises(dm.InvalidArgument, match="dimension of -1"):
        dm.launch(saxpy, -1, inputs=[1.0, x, x])
    with pytest.raises(dm.InvalidArgument, match="'x'|too short|elements"):
        dm.launch(saxpy, 10, inputs=[1.0, x, x])
    with pytest.raises(dm.InvalidArgument, match="is no kernel"):
        dm.launch(7, 1)
    with pytest.raises(dm.InvalidArgument, match="arrays like|an array like"):
        dm.launch(squared, 1, inputs=[x], outputs=[floats(1)], adj_inputs=[np.zeros(2, np.float32)], adj_outputs=[None], adjoint=True)
    with pytest.raises(TypeError, match="launched"):
        saxpy(1, 2)
    with pytest.raises(dm.InvalidArgument, match="Python function"):
        dm.kernel(len).c
    with pytest.raises(dm.InvalidArgument, match="no lambda|source"):
        dm.kernel(lambda x: x).c


def test_backward_of_what_has_none():
    @dm.kernel
    def overwrites(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * x[i]

    assert "before the kernel wrote" in overwrites.no_backward
    x = floats(2)
    with dm.Tape() as tape:
        dm.launch(overwrites, 1, outputs=[x])
    with pytest.raises(dm.Unsupported, match="before the kernel wrote"):
        tape.backward(grads=[(x, 1)])


def test_functions_of_no_decorator():
    def plain(x: wp.array(dtype=float)):
        x[wp.tid()] = 5.0

    x = floats(0, 0)
    dm.launch(plain, 2, inputs=[x])
    assert (x == 5).all()


def test_placeholders():
    assert repr(wp.vec3(1, 2.0)) == "wp.vec3(1, 2.0)" and repr(wp.array(dtype=float, ndim=2)) == "wp.array(dtype=float, ndim=2)"
    assert repr(wp.types.vector(5, wp.float32)) == "wp.types.vector(5, wp.float32)" and repr(wp.array[float]) == "wp.array[float]"
    with pytest.raises(TypeError, match="in a kernel only"):
        bool(wp.sin(1.0))
    assert wp.constant(3) == 3


def test_overloads_and_gradients_by_hand():
    @wp.func
    def bumped(v: float):
        return v * v

    @wp.func_grad(bumped)
    def bumped_gradient(v: float, adj: float):
        wp.adjoint[v] += 100.0 * adj

    @dm.kernel
    def uses(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = bumped(x[i])

    x, y = floats(3), floats(0)
    with dm.Tape() as tape:
        dm.launch(uses, 1, inputs=[x], outputs=[y])
    tape.backward(grads=[(y, 1)])
    assert y == 9 and tape.gradient(x)[0] == 100


def test_warps_own_names():
    """`import warp as wp` in the user's file means the same."""
    warp = pytest.importorskip("warp")

    @warp.kernel
    def its(x: warp.array(dtype=float)):
        i = warp.tid()
        x[i] = warp.sqrt(x[i])

    x = floats(4, 9)
    dm.launch(its, 2, inputs=[x])
    assert (x == floats(2, 3)).all()


def test_torch():
    torch = pytest.importorskip("torch")
    from dotmatrix.torch import call

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = call(squared, 3, inputs=[x], outputs=[torch.empty(3)])
    (y * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert torch.equal(x.grad, torch.tensor([2.0, 40.0, 600.0]))
    z = x.detach().clone()
    dm.launch(doubled_in_place, 3, outputs=[z])
    assert torch.equal(z, 2 * x.detach())
    with pytest.raises(dm.InvalidArgument, match="writes to 'x'"):
        call(doubled_in_place, 3, inputs=[x])
    assert torch.autograd.gradcheck(lambda v: call(halves, 3, inputs=[v], outputs=[torch.empty(3, dtype=torch.float64)]),
                                    (torch.rand(3, dtype=torch.float64, requires_grad=True),))


@dm.kernel
def halves(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * x[i]


def test_torch_tape():
    torch = pytest.importorskip("torch")
    x, y = torch.tensor([3.0]), torch.zeros(1)
    with dm.Tape() as tape:
        dm.launch(squared, 1, inputs=[x], outputs=[y])
    tape.backward(grads=[(y, torch.ones(1))])
    assert torch.equal(tape.gradient(x), torch.tensor([6.0]))
