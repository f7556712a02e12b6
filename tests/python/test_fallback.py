# SPDX-License-Identifier: Apache-2.0
"""What has no native kernel: counted, named, refused when strict, never silent."""

from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING

import pytest
import torch
from compare import close
from subprocesses import output_of, run_python

import torch_fl

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def lenient() -> Iterator[None]:
    torch_fl.set_strict(False)
    torch_fl.reset_fallbacks()
    yield
    torch_fl.set_strict(True)
    torch_fl.reset_fallbacks()


def test_strict_names_operator_dtypes_and_shapes() -> None:
    x = torch.randn(2, 3, device="flagos")
    with pytest.raises(
        RuntimeError,
        match=r"forbids the CPU fallback of aten::special_bessel_j0\(Float\[2, 3\]",
    ):
        torch.special.bessel_j0(x)


def test_calls_are_counted_by_operator(lenient: None) -> None:
    x = torch.rand(2, 3)
    X = x.to("flagos")
    close(torch.special.bessel_j0(X), torch.special.bessel_j0(x))
    close(torch.special.bessel_j0(X), torch.special.bessel_j0(x))
    close(torch.igamma(X, X), torch.igamma(x, x))
    assert torch_fl.fallbacks() == {"aten::special_bessel_j0": 2, "aten::igamma": 1}
    assert torch_fl.fallbacks(raw=True) == {
        "aten::special_bessel_j0.out": 2,
        "aten::igamma.out": 1,
    }
    torch_fl.reset_fallbacks()
    assert torch_fl.fallbacks() == {}


def test_native_operators_are_not_counted(lenient: None) -> None:
    x = torch.randn(4, 4, device="flagos")
    (x + x).relu().sum().item()
    x.t().contiguous().to(torch.int64).cpu()
    assert torch_fl.fallbacks() == {}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, out: torch.special.bessel_j0(x, out=out),
        lambda x, out: out.copy_(x).abs_().igamma_(x.abs()),
        lambda x, out: torch.triu(x, out=out),
        lambda x, out: torch.flip(x, (0,)),
        lambda x, out: torch.sort(x, 1).values,
        lambda x, out: torch.cdist(x, x),
        lambda x, out: torch.linalg.inv(x),
        lambda x, out: torch.roll(x, 1),
        lambda x, out: torch.histc(x, 4),
        lambda x, out: torch.asinh(x),
        lambda x, out: x.index_add(0, torch.tensor([0, 1], device=x.device), x[:2]),
        lambda x, out: x.scatter(
            0, torch.zeros(1, 4, dtype=torch.long, device=x.device), 2
        ),
    ],
)
def test_values_are_the_cpus(lenient: None, function: object) -> None:
    x = torch.randn(4, 4)
    reference = function(x, torch.empty(4, 4))  # type: ignore[operator]
    ours = function(x.to("flagos"), torch.empty(4, 4, device="flagos"))  # type: ignore[operator]
    close(ours, reference, rtol=1e-4, atol=1e-4)
    assert ours.device.type == "flagos"


def test_out_is_resized_and_returned(lenient: None) -> None:
    x = torch.randn(4, 4, device="flagos")
    out = torch.empty(0, device="flagos")
    assert torch.special.bessel_j0(x, out=out) is out
    close(out, torch.special.bessel_j0(x.cpu()))


def test_refused_dtypes_are_counted(lenient: None) -> None:
    c = torch.randn(3, 4, dtype=torch.complex64)
    C = c.to("flagos")
    near = {"rtol": 1e-5, "atol": 1e-5}
    close(C**3, c**3, **near)
    close(C.exp(), c.exp(), **near)
    close(C.prod(), c.prod(), **near)
    counted = torch_fl.fallbacks()
    assert counted["aten::pow.Tensor_Scalar"] == 1
    assert counted["aten::exp"] == 1
    z = C.clone()
    z.sqrt_()
    close(z, c.sqrt(), **near)
    close(torch.exp(C, out=torch.empty_like(C)), c.exp(), **near)


def test_mixed_devices_are_refused(lenient: None) -> None:
    x = torch.randn(3, device="flagos")
    with pytest.raises(
        RuntimeError, match="Expected all tensors to be on the same device"
    ):
        torch.igamma(x, torch.randn(3))
    with pytest.raises(RuntimeError, match="same device"):
        torch.dist(x, torch.randn(3))


def test_two_devices_are_refused(lenient: None, two_devices: None) -> None:
    with pytest.raises(RuntimeError, match="same device"):
        torch.igamma(torch.ones(3, device="flagos:0"), torch.ones(3, device="flagos:1"))


def test_results_stay_on_the_operands_device(lenient: None, two_devices: None) -> None:
    assert torch.special.bessel_j0(torch.ones(3, device="flagos:1")).device.index == 1


def test_operator_without_any_kernel_says_so(lenient: None) -> None:
    x = torch.ones(2, 4, device="flagos")
    with pytest.raises(NotImplementedError, match="no CPU kernel exists for aten::"):
        torch.ops.aten._cudnn_rnn_flatten_weight([x], 1, 4, 2, 4, 0, 1, False, False)


def test_random_operators_follow_the_devices_seed(lenient: None) -> None:
    torch.manual_seed(3)
    a = torch.empty(64, device="flagos").geometric_(0.3)
    b = torch.empty(64, device="flagos").geometric_(0.3)
    torch.manual_seed(3)
    c = torch.empty(64, device="flagos").geometric_(0.3)
    assert torch.equal(a, c)
    assert not torch.equal(a, b)
    generator = torch.Generator(device="flagos").manual_seed(1)
    d = torch.empty(64, device="flagos").geometric_(0.3, generator=generator)
    generator.manual_seed(1)
    e = torch.empty(64, device="flagos").geometric_(0.3, generator=generator)
    assert torch.equal(d, e)


def test_log_names_each_operator_once() -> None:
    done = run_python(
        "import torch, torch_fl\n"
        "x = torch.ones(2, 3, device='flagos')\n"
        "for _ in range(3): torch.special.bessel_j0(x); torch.frexp(x)\n",
        FLAGOS_LOG_FALLBACK="1",
        FLAGOS_STRICT="0",
    )
    assert done.returncode == 0, done.stderr
    lines = [s for s in done.stderr.splitlines() if s.startswith("[flagos fallback]")]
    assert lines == [
        "[flagos fallback] aten::special_bessel_j0 runs on the CPU "
        "(Float[2, 3], Float[2, 3])",
        "[flagos fallback] aten::frexp runs on the CPU "
        "(Float[2, 3], Float[2, 3], Int[2, 3])",
    ]


def test_fallbacks_are_silent_unless_asked() -> None:
    done = run_python(
        "import torch, torch_fl\n"
        "torch.special.bessel_j0(torch.ones(2, device='flagos'))",
        FLAGOS_STRICT="0",
        FLAGOS_LOG_FALLBACK=None,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_dispatch_log_names_native_calls() -> None:
    done = run_python(
        "import torch, torch_fl\n"
        "x = torch.ones(2, 3, device='flagos')\n"
        "y = torch.add(x, x); y.mul_(2); torch.sum(y, 0); y.relu()\n"
        "assert y.tolist() == [[4.0] * 3] * 2\n",
        FLAGOS_LOG_DISPATCH="1",
    )
    assert done.returncode == 0, done.stderr
    for op in ("add.Tensor", "mul_.Tensor", "sum.dim_IntList", "relu", "fill_.Scalar"):
        assert f"[flagos dispatch] {op} -> musa\n" in done.stderr


@pytest.mark.parametrize(
    "name", ["FLAGOS_STRICT", "FLAGOS_LOG_FALLBACK", "FLAGOS_LOG_DISPATCH"]
)
def test_malformed_switches_are_named(name: str) -> None:
    done = run_python("import torch_fl", **{name: "maybe"})
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert name in last
    assert "maybe" in last


def test_no_registration_dangles() -> None:
    code = (
        "import torch, torch_fl\n"
        "print([n for n in torch._C._dispatch_find_dangling_impls()"
        " if 'PrivateUse1' in n and 'torch_flagos' in n])"
    )
    assert output_of(code).strip() == "[]"


# Of other keys or builds of torch, never called on this device.
NOT_OURS = (
    r"sparse|quantiz|mkldnn|cudnn|miopen|fbgemm|_qr_helper|q_per|int_repr|dequant|nested|"
    r"xnn|fake_quant|_weight_int|_convert_weight|_dyn_quant|csr|coalesce|indices|"
    r"values$|nnpack|to_padded|_jagged|_padded_dense|_transform_bias|_spmm|_sspaddmm|hspmm|"
    r"dense_dim|is_pinned|_pin|_test_|_foobar|_make_dep|_wrapped_|thnn_conv|_convolution|"
    r"slow_conv"
)


def without_kernel() -> set[str]:
    """Operators with a CPU kernel only: what the boxed fallback is for."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = set()
    for name in torch._C._dispatch_get_all_op_names():
        keys = (
            "PrivateUse1",
            "CompositeExplicitAutograd",
            "CompositeImplicitAutograd",
            "CompositeExplicitAutogradNonFunctional",
        )
        if not name.startswith("aten::") or re.search(NOT_OURS, name):
            continue
        if has(name, "CPU") and not any(has(name, key) for key in keys):
            names.add(name.split(".")[0])
    return names


@pytest.mark.skipif(
    not torch.__version__.startswith("2.13."), reason="the list is of torch 2.13"
)
def test_missing_txt_lists_every_operator_without_a_kernel() -> None:
    path = pathlib.Path(__file__).parents[2] / "csrc" / "ops" / "missing.txt"
    _, whole = path.read_text().split("# Operators without a native kernel")
    always, unless_built = whole.split("# Without device kernels of ours")
    if torch_fl.info()["device kernels"] != "ON":
        always += unless_built
    listed = [s.split(" | ")[0] for s in always.splitlines() if s.startswith("aten::")]
    assert len(listed) == len(set(listed))
    assert set(listed) == without_kernel()
    for line in path.read_text().splitlines():
        assert line == "" or line.startswith("#") or line.count(" | ") == 2, line
