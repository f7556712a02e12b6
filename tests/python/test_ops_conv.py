# SPDX-License-Identifier: Apache-2.0
"""Convolution: shapes, layouts, gradients, what goes to the CPU."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from compare import same, same_gradients
from torch.nn import functional as F

from torch_fl.testing import waits

TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}
CASES = {
    "plain": ((2, 3, 8, 9), (4, 3, 3, 3), {}),
    "padding": ((2, 3, 8, 9), (4, 3, 3, 5), {"padding": (1, 2)}),
    "stride": ((2, 3, 11, 10), (4, 3, 3, 3), {"stride": (2, 3), "padding": 1}),
    "dilation": ((2, 3, 12, 11), (4, 3, 3, 3), {"dilation": (2, 3)}),
    "groups": ((2, 6, 7, 7), (4, 3, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": ((2, 4, 7, 7), (8, 1, 3, 3), {"groups": 4, "padding": 1}),
    "pointwise": ((2, 5, 6, 7), (3, 5, 1, 1), {}),
    "one pixel": ((3, 4, 3, 3), (2, 4, 3, 3), {}),
    "one image": ((3, 8, 9), (4, 3, 3, 3), {"padding": 1}),
    "same": ((2, 3, 8, 9), (4, 3, 4, 3), {"padding": "same"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("bias", [False, True])
def test_conv2d_and_gradients(name: str, bias: bool) -> None:
    image, filters, options = CASES[name]
    args = [torch.randn(image), torch.randn(filters)]
    if bias:
        args.append(torch.randn(filters[0]))
    args = [a.requires_grad_() for a in args]
    same_gradients(lambda *a: F.conv2d(*a, **options), *args, **TOLERANCE)


@pytest.mark.parametrize("name", ["plain", "stride", "groups", "pointwise"])
@pytest.mark.parametrize("which", ["input", "weight", "both"])
def test_channels_last_stays_channels_last(name: str, which: str) -> None:
    image, filters, options = CASES[name]
    x, w, b = torch.randn(image), torch.randn(filters), torch.randn(filters[0])
    if which != "weight":
        x = x.contiguous(memory_format=torch.channels_last)
    if which != "input":
        w = w.contiguous(memory_format=torch.channels_last)
    out = same(lambda x, w, b: F.conv2d(x, w, b, **options), x, w, b, **TOLERANCE)
    if which != "weight":
        assert out.is_contiguous(memory_format=torch.channels_last)
    args = [a.requires_grad_() for a in (x, w, b)]
    same_gradients(lambda x, w, b: F.conv2d(x, w, b, **options), *args, **TOLERANCE)


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2}])
def test_conv1d_and_gradients(options: dict[str, int]) -> None:
    # muDNN refuses one spatial dimension (quirk 51); a bias at height 1 (56)
    args = [torch.randn(s).requires_grad_() for s in ((2, 3, 14), (4, 3, 3), (4,))]
    same_gradients(lambda *a: F.conv1d(*a, **options), *args, **TOLERANCE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_dtypes(dtype: torch.dtype) -> None:
    args = [
        torch.randn(s).mul(0.3).to(dtype).requires_grad_()
        for s in ((2, 3, 8, 8), (4, 3, 3, 3), (4,))
    ]
    same_gradients(lambda *a: F.conv2d(*a, padding=1), *args, rtol=5e-2, atol=8e-2)


def test_strided_operands() -> None:
    x = torch.randn(2, 3, 8, 16)
    w = torch.randn(3, 4, 3, 3)
    same(lambda x, w: F.conv2d(x[..., ::2], w.transpose(0, 1)), x, w, **TOLERANCE)


def test_gradient_that_is_a_broadcast() -> None:
    # Reduce crashes on a broadcast gradient (quirks 26 to 28)
    args = [torch.randn(s).requires_grad_() for s in ((2, 3, 6, 6), (4, 3, 3, 3), (4,))]
    same_gradients(lambda *a: F.conv2d(*a).sum(), *args, **TOLERANCE)
    same_gradients(lambda *a: F.conv2d(*a).mean(), *args, **TOLERANCE)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_only_the_gradients_asked_for(wanted: tuple[int, ...]) -> None:
    shapes = ((2, 3, 6, 6), (4, 3, 3, 3), (4,))
    args = [torch.randn(s).requires_grad_(i in wanted) for i, s in enumerate(shapes)]
    same_gradients(lambda *a: F.conv2d(*a), *args, **TOLERANCE)


def test_second_derivative() -> None:
    def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = F.conv2d(x, w, padding=1)
        (g,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
        return g

    args = [torch.randn(s).requires_grad_() for s in ((2, 3, 6, 6), (4, 3, 3, 3))]
    same_gradients(run, *args, rtol=1e-3, atol=1e-3)


def test_empty_batch() -> None:
    same(F.conv2d, torch.zeros(0, 3, 8, 8), torch.randn(4, 3, 3, 3))


def test_wrong_operands_are_refused() -> None:
    x = torch.randn(1, 3, 8, 8, device="flagos")
    with pytest.raises(RuntimeError, match="channels"):
        F.conv2d(x, torch.randn(4, 2, 3, 3, device="flagos"))
    with pytest.raises(RuntimeError, match="should be the same"):
        F.conv2d(x, torch.randn(4, 3, 3, 3, device="flagos").half())
    with pytest.raises(RuntimeError, match=r"[Dd]evice|type"):
        F.conv2d(x, torch.randn(4, 3, 3, 3))


def test_what_mudnn_refuses_is_refused_by_name_under_strict() -> None:
    # doubles (quirk 54)
    x = torch.randn(1, 3, 8, 8, dtype=torch.float64, device="flagos")
    with pytest.raises(RuntimeError, match="convolution"):
        F.conv2d(x, torch.randn(4, 3, 3, 3, dtype=torch.float64, device="flagos"))


SCRIPT = """
import torch, torch_fl
F = torch.nn.functional
def check(function, *args):
    a = [x.clone().requires_grad_() for x in args]
    b = [x.to("flagos").requires_grad_() for x in args]
    for inputs in (a, b):
        function(*inputs).pow(2).sum().backward()
    for x, y in zip(a, b):
        torch.testing.assert_close(y.grad.cpu(), x.grad)
check(F.conv2d, *(torch.randn(s).double() for s in ((1, 2, 5, 5), (3, 2, 3, 3), (3,))))
counts = torch_fl.fallbacks()
assert any("convolution" in name for name in counts), counts
print("right")
"""


def run_script(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_doubles_run_on_the_cpu_and_are_counted() -> None:
    done = run_script(SCRIPT, FLAGOS_STRICT="0")
    assert done.stdout.strip() == "right", done.stderr


REFUSED = """
import threading, torch, torch_fl
F = torch.nn.functional
x = torch.randn(2, 8, 9, 9, device="flagos")
w = torch.randn(8, 1, 3, 3, device="flagos")
start = threading.Barrier(4)
def work():
    start.wait()
    for _ in range(5):
        F.conv2d(x, w, groups=8)
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
torch.flagos.synchronize()
"""


def test_a_refused_algorithm_is_reported_once_per_shape() -> None:
    # the recommended one may be refused, which prints a line (quirks 7 and 55)
    done = run_script(REFUSED)
    assert done.returncode == 0, done.stderr
    lines = [x for x in done.stderr.splitlines() if "Unsupported Convolution" in x]
    assert len(lines) <= 1, done.stderr


def test_tf32_follows_the_flag() -> None:
    x, w = torch.randn(2, 64, 9, 9), torch.randn(8, 64, 3, 3)
    exact = F.conv2d(x.double(), w.double())
    dx, dw = x.to("flagos"), w.to("flagos")

    def error() -> float:
        return (F.conv2d(dx, dw).cpu().double() - exact).abs().max().item()

    before = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        assert error() > 1e-3
        torch.backends.cuda.matmul.allow_tf32 = False
        assert error() < 2e-4
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def waited(work: Callable[[], object]) -> int:
    """How often the host waited in it; a vendor's toolkit does not count."""
    before = waits()
    work()
    after = waits()
    if before is None or after is None:
        pytest.skip("this toolkit does not count waits")
    return after - before


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)


@pytest.mark.usefixtures("benchmark")
@pytest.mark.parametrize("name", CASES)
def test_benchmark_keeps_results(name: str) -> None:
    image, filters, options = CASES[name]
    args = [torch.randn(s).requires_grad_() for s in (image, filters, filters[:1])]
    for _ in range(2):  # by trial, then by its choice
        same_gradients(lambda *a: F.conv2d(*a, **options), *args, **TOLERANCE)
    last = [a.detach().clone() for a in args]
    if last[0].dim() == 4:
        last[0] = last[0].contiguous(memory_format=torch.channels_last)
    last = [a.requires_grad_() for a in last]
    same_gradients(lambda *a: F.conv2d(*a, **options), *last, **TOLERANCE)


def directions(*, batch: int) -> dict[str, Callable[[], object]]:
    """Each pass alone, its operands on the device."""
    x = torch.randn(batch, 3, 9, 9, device="flagos", requires_grad=True)
    w = torch.randn(5, 3, 3, 3, device="flagos", requires_grad=True)
    grad = torch.randn(batch, 5, 7, 7, device="flagos")

    def backward(mask: list[bool]) -> Callable[[], object]:
        return lambda: torch.ops.aten.convolution_backward(
            grad, x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, mask
        )

    return {
        "forward": lambda: F.conv2d(x.detach(), w.detach()),
        "backward data": backward([True, False, False]),
        "backward filter": backward([False, True, False]),
    }


@pytest.mark.parametrize("direction", ["forward", "backward data", "backward filter"])
def test_a_trial_happens_once_per_configuration(direction: str) -> None:
    batch = 11 + len(direction)  # shapes of their own: choices stay
    run = directions(batch=batch)[direction]
    assert waited(run) == 0  # the flag is off
    with torch.backends.cudnn.flags(benchmark=True):
        assert waited(run) > 0
        assert waited(run) == 0
    assert waited(run) == 0
    with torch.backends.cudnn.flags(benchmark=True):
        assert waited(run) == 0
        assert waited(directions(batch=batch + 50)[direction]) > 0


@pytest.mark.usefixtures("benchmark")
def test_type_layout_and_tf32_are_configurations_of_their_own() -> None:
    x = torch.randn(7, 4, 9, 9, device="flagos")
    w = torch.randn(5, 4, 3, 3, device="flagos")
    last = x.contiguous(memory_format=torch.channels_last)
    half = x.half(), w.half()
    for work in (
        lambda: F.conv2d(x, w),
        lambda: F.conv2d(last, w),
        lambda: F.conv2d(*half),
    ):
        assert waited(work) > 0
        assert waited(work) == 0
    flag = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = not flag
        assert waited(lambda: F.conv2d(x, w)) > 0
    finally:
        torch.backends.cuda.matmul.allow_tf32 = flag
    assert waited(lambda: F.conv2d(x, w)) == 0


@pytest.mark.usefixtures("benchmark")
def test_deterministic_mode_tries_nothing() -> None:
    x = torch.randn(3, 4, 11, 9, requires_grad=True)
    w = torch.randn(4, 2, 3, 3, requires_grad=True)
    X, W = x.detach().to("flagos"), w.detach().to("flagos")
    torch.use_deterministic_algorithms(True)
    try:
        assert waited(lambda: F.conv2d(X, W, groups=2)) == 0
        same_gradients(lambda x, w: F.conv2d(x, w, groups=2), x, w, **TOLERANCE)
    finally:
        torch.use_deterministic_algorithms(False)
    with torch.backends.cudnn.flags(benchmark=True, deterministic=True):
        assert waited(lambda: F.conv2d(X, W, groups=2)) == 0
        for run in directions(batch=9).values():
            assert waited(run) == 0
            once, again = run(), run()
            if isinstance(once, torch.Tensor):
                assert torch.equal(once.cpu(), again.cpu())
            else:
                pairs = zip(once, again, strict=True)
                assert all(a is b or torch.equal(a.cpu(), b.cpu()) for a, b in pairs)
    assert waited(lambda: F.conv2d(X, W, groups=2)) > 0


@pytest.mark.usefixtures("benchmark")
def test_no_trial_in_a_capture(device: torch.device) -> None:
    x = torch.randn(3, 6, 9, 9, device=device)
    w = torch.randn(5, 6, 3, 3, device=device)
    graph = torch.flagos.Graph()
    with torch.flagos.graph(graph):
        during = waited(lambda: F.conv2d(x, w))
        y = F.conv2d(x, w)
    assert during == 0
    assert waited(lambda: F.conv2d(x, w)) > 0  # it is still to come
    x.fill_(0.5)
    graph.replay()
    torch.testing.assert_close(y.cpu(), F.conv2d(x.cpu(), w.cpu()), **TOLERANCE)
    # what a trial has chosen serves a capture too
    again = torch.flagos.Graph()
    with torch.flagos.graph(again):
        y = F.conv2d(x, w)
    again.replay()
    torch.testing.assert_close(y.cpu(), F.conv2d(x.cpu(), w.cpu()), **TOLERANCE)


TRIED = """
import torch
torch.backends.cudnn.benchmark = True
""" + REFUSED.replace(
    "torch.flagos.synchronize()",
    """
y = F.conv2d(x, w, groups=8)
torch.testing.assert_close(y.cpu(), F.conv2d(x.cpu(), w.cpu(), groups=8))
print("right")
""",
)


def test_a_trial_skips_what_is_refused_in_one_thread_of_many() -> None:
    done = run_script(TRIED)
    assert done.stdout.strip() == "right", done.stderr
    lines = [x for x in done.stderr.splitlines() if "Unsupported Convolution" in x]
    assert len(lines) <= 1, done.stderr
