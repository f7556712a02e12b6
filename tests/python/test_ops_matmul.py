# SPDX-License-Identifier: Apache-2.0
"""Products: every form, strides, factors, dtypes, empty sizes."""

import pytest
import torch
from compare import same, same_gradients

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


def matrix(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(*shape, dtype=torch.float64).to(dtype)
    return torch.randint(0, 100, shape).to(dtype)


def laid_out(t: torch.Tensor, layout: str) -> torch.Tensor:
    """The same values with other strides."""
    if layout == "transposed":
        return t.mT.contiguous().mT
    if layout == "strided":
        wide = torch.zeros(*t.shape[:-1], 2 * t.shape[-1], dtype=t.dtype)
        wide[..., ::2] = t
        return wide[..., ::2]
    if layout == "offset":
        return torch.cat([t[:1], t])[1:]
    return t.contiguous()


LAYOUTS = ["dense", "transposed", "strided", "offset"]


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_mm_in_every_dtype(dtype: torch.dtype) -> None:
    same(torch.mm, matrix(5, 7, dtype=dtype), matrix(7, 3, dtype=dtype))


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_mm_takes_operands_of_any_strides(left: str, right: str) -> None:
    a = laid_out(matrix(6, 5), left)
    b = laid_out(matrix(5, 4), right)
    same(torch.mm, a, b)


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_bmm_takes_operands_of_any_strides(left: str, right: str) -> None:
    a = laid_out(matrix(3, 6, 5), left)
    b = laid_out(matrix(3, 5, 4), right)
    same(torch.bmm, a, b)


@pytest.mark.parametrize("which", ["left", "right", "both"])
def test_bmm_with_one_matrix_for_all_batches(which: str) -> None:
    # muDNN refuses a batch of stride 0 (quirk 42)
    a, b = matrix(4, 6, 5), matrix(4, 5, 3)
    if which != "right":
        a = matrix(1, 6, 5).expand(4, 6, 5)
    if which != "left":
        b = matrix(1, 5, 3).expand(4, 5, 3)
    reference = torch.bmm(a, b)
    da, db = a.to("flagos"), b.to("flagos")
    if which != "right":
        da = a[:1].to("flagos").expand(4, 6, 5)
    if which != "left":
        db = b[:1].to("flagos").expand(4, 5, 3)
    torch.testing.assert_close(torch.bmm(da, db).cpu(), reference)
    transposed = torch.bmm(db.mT, da.mT).cpu()
    torch.testing.assert_close(transposed, reference.mT)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", ["mm", "addmm", "bmm", "baddbmm"])
def test_out_of_any_strides(op: str, layout: str) -> None:
    batch = (2,) if "b" in op else ()
    a, b = matrix(*batch, 6, 5), matrix(*batch, 5, 4)
    out = laid_out(torch.zeros(*batch, 6, 4), layout)
    function = getattr(torch, op)
    args = (matrix(*batch, 6, 4), a, b) if "add" in op else (a, b)

    def run(out: torch.Tensor, *args: torch.Tensor) -> torch.Tensor:
        before = out.stride()
        result = function(*args, out=out)
        assert result is out
        assert out.stride() == before
        return out

    same(run, out, *args)


def test_out_is_resized_and_checked() -> None:
    a = matrix(3, 4).to("flagos")
    b = matrix(4, 2).to("flagos")
    out = torch.empty(0, device="flagos")
    torch.mm(a, b, out=out)
    torch.testing.assert_close(out.cpu(), a.cpu() @ b.cpu())
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        torch.mm(a, b, out=torch.empty(3, 2, dtype=torch.int64, device="flagos"))
    with pytest.raises(RuntimeError, match="device"):
        torch.mm(a, b, out=torch.empty(3, 2))


def test_out_that_is_an_operand() -> None:
    a, b = matrix(4, 4), matrix(4, 4)
    expected = a @ b
    da, db = a.to("flagos"), b.to("flagos")
    torch.mm(da, db, out=da)
    torch.testing.assert_close(da.cpu(), expected)


@pytest.mark.parametrize("self_shape", [(5, 6), (6,), (1, 6), (5, 1), (1,), ()])
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0.5, 1), (1, -2), (0, 3), (2, 0)])
def test_addmm_slots_and_factors(
    self_shape: tuple[int, ...], beta: float, alpha: float
) -> None:
    def run(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.addmm(c, a, b, beta=beta, alpha=alpha)

    same(run, torch.randn(self_shape), matrix(5, 7), matrix(7, 6))


@pytest.mark.parametrize("self_shape", [(2, 5, 6), (1, 5, 6), (5, 6), (6,), (2, 1, 6)])
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0.5, 2), (0, 1)])
def test_baddbmm_slots_and_factors(
    self_shape: tuple[int, ...], beta: float, alpha: float
) -> None:
    def run(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.baddbmm(c, a, b, beta=beta, alpha=alpha)

    same(run, torch.randn(self_shape), matrix(2, 5, 7), matrix(2, 7, 6))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_addmm_in_every_dtype(dtype: torch.dtype) -> None:
    # muDNN refuses doubles with a bias (quirk 44)
    factors = (0.5, 2.5) if dtype.is_floating_point else (2, 3)

    def run(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.addmm(c, a, b, beta=factors[0], alpha=factors[1])

    args = [matrix(*s, dtype=dtype) for s in ((4, 3), (4, 6), (6, 3))]
    same(run, *args)
    same(torch.addmm, args[0][0], *args[1:])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_addmm_in_place(layout: str) -> None:
    def run(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return c.addmm_(a, b, beta=0.25, alpha=2)

    same(run, laid_out(matrix(5, 4), layout), matrix(5, 6), matrix(6, 4))


def test_baddbmm_in_place() -> None:
    def run(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return c.baddbmm_(a, b, beta=0.25)

    same(run, matrix(2, 5, 4), matrix(2, 5, 6), matrix(2, 6, 4))


def test_beta_zero_ignores_nan() -> None:
    nan = torch.full((3, 3), float("nan"))

    def run(c: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return torch.addmm(c, a, a, beta=0)

    same(run, nan, matrix(3, 3))
    same(lambda c, a: c.addmm_(a, a, beta=0), nan, matrix(3, 3))
    same(lambda c, a: torch.addmv(c, a, a[0], beta=0), nan[0], matrix(3, 3))


def test_nothing_to_sum_gives_zeros_or_beta_times_self() -> None:
    # muDNN leaves the output alone when K is 0 (quirk 43)
    a, b = torch.zeros(3, 0), torch.zeros(0, 4)
    same(torch.mm, a, b)
    same(lambda c, a, b: torch.addmm(c, a, b, beta=2), matrix(3, 4), a, b)
    same(torch.addmm, matrix(4), a, b)
    same(lambda c, a, b: c.addmm_(a, b, beta=0.5), matrix(3, 4), a, b)
    same(torch.bmm, torch.zeros(2, 3, 0), torch.zeros(2, 0, 4))


def test_empty_results() -> None:
    same(torch.mm, torch.zeros(0, 3), matrix(3, 2))
    same(torch.mm, matrix(2, 3), torch.zeros(3, 0))
    same(torch.bmm, torch.zeros(0, 2, 3), torch.zeros(0, 3, 2))
    same(torch.addmm, matrix(2), torch.zeros(0, 3), matrix(3, 2))


def test_vectors() -> None:
    same(torch.mv, matrix(4, 5), matrix(5))
    same(torch.mv, matrix(5, 4).t(), matrix(5))
    same(lambda m, v: torch.mv(m, v[::2]), matrix(4, 5), matrix(10))
    same(torch.addmv, matrix(4), matrix(4, 5), matrix(5))
    same(lambda c, m, v: torch.addmv(c, m, v, beta=2, alpha=0.5), *vector_args())
    same(lambda c, m, v: c.addmv_(m, v, beta=2), *vector_args())
    same(torch.matmul, matrix(3), matrix(3, 2))
    same(torch.outer, matrix(3), matrix(4))


def vector_args() -> tuple[torch.Tensor, ...]:
    return matrix(4), matrix(4, 5), matrix(5)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.int32])
def test_dot(dtype: torch.dtype) -> None:
    same(torch.dot, matrix(33, dtype=dtype), matrix(33, dtype=dtype), rtol=3e-2)
    same(lambda a, b: torch.dot(a[::2], b[1::2]), matrix(8), matrix(8))
    same(torch.vdot, matrix(5), matrix(5))
    same(torch.dot, torch.zeros(0), torch.zeros(0))


def test_addmm_activation() -> None:
    for gelu in (False, True):
        same(
            lambda c, a, b, g=gelu: torch._addmm_activation(c, a, b, use_gelu=g),
            matrix(4),
            matrix(3, 5),
            matrix(5, 4),
        )


def test_matmul_of_many_dimensions_and_einsum() -> None:
    same(torch.matmul, matrix(2, 3, 4, 5), matrix(5, 6))
    same(torch.matmul, matrix(2, 3, 4, 5), matrix(3, 5, 6))
    same(
        lambda a, b: torch.einsum("bij,bkj->bik", a, b),
        matrix(2, 3, 4),
        matrix(2, 5, 4),
    )


def test_linear_and_its_gradients() -> None:
    same_gradients(
        torch.nn.functional.linear,
        matrix(6, 5).requires_grad_(),
        matrix(4, 5).requires_grad_(),
        matrix(4).requires_grad_(),
    )
    same_gradients(
        torch.nn.functional.linear,
        matrix(2, 3, 5).requires_grad_(),
        matrix(4, 5).requires_grad_(),
    )


def test_large_product_is_close_to_double() -> None:
    a, b = matrix(130, 257), matrix(257, 65)
    exact = a.double() @ b.double()
    ours = (a.to("flagos") @ b.to("flagos")).cpu().double()
    assert (ours - exact).abs().max() < 1e-4


def test_tf32_follows_the_flag_on_every_call() -> None:
    # a new muDNN handle has TF32 on (quirks 6 and 45)
    a, b = matrix(64, 256), matrix(256, 64)
    da, db = a.to("flagos"), b.to("flagos")
    exact = a.double() @ b.double()

    def error() -> float:
        return ((da @ db).cpu().double() - exact).abs().max().item()

    before = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = False
        assert error() < 1e-4
        torch.backends.cuda.matmul.allow_tf32 = True
        assert error() > 1e-3
        torch.backends.cuda.matmul.allow_tf32 = False
        assert error() < 1e-4
        torch.set_float32_matmul_precision("high")
        assert error() > 1e-3
        torch.set_float32_matmul_precision("highest")
        assert error() < 1e-4
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        assert error() > 1e-3
        torch.backends.cuda.matmul.fp32_precision = "ieee"
        assert error() < 1e-4
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def test_wrong_operands_are_refused() -> None:
    a = torch.ones(2, 3, device="flagos")
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.mm(a, a)
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.mm(a, a.t().double())
    with pytest.raises(RuntimeError, match="same device"):
        torch.mm(a, torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="must not be a floating point number"):
        torch.addmm(
            *(torch.ones(2, 2, dtype=torch.int64, device="flagos") for _ in range(3)),
            alpha=0.5,
        )
    with pytest.raises(RuntimeError, match="1D tensors expected"):
        torch.dot(a, a)


def test_bool_and_complex_products_reach_the_counted_fallback() -> None:
    a = torch.ones(2, 2, dtype=torch.complex64, device="flagos")
    with pytest.raises(RuntimeError, match="mm"):
        torch.mm(a, a)
