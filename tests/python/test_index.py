# SPDX-License-Identifier: Apache-2.0
"""x[indices] and x[indices] = values, take, put_ and masked_scatter_."""

from __future__ import annotations

import warnings

import pytest
import torch
from compare import on, same, same_gradients
from marks import needs_kernels

import torch_fl

pytestmark = needs_kernels
ANY = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8,
    torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.complex64,
    torch.complex128,
]  # fmt: skip
SUMMED = [dtype for dtype in ANY if dtype != torch.bool]


def make(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(0 if dtype == torch.uint8 else -7, 8, shape, dtype=dtype)
    if dtype.is_complex:  # whole numbers, whose sums are exact
        parts = torch.randint(-7, 8, (2, *shape)).to(dtype)
        return parts[0] + 1j * parts[1]
    return torch.randn(shape, dtype=dtype)


def picks(shape: tuple[int, ...]) -> list[tuple]:
    """Keys of every kind for a tensor of three dimensions."""
    a, b, c = (torch.randint(-size, size, (4,)) for size in shape)
    mask = torch.rand(shape) > 0.6
    return [
        (a,),
        (a.int(),),
        (slice(None), b),
        (slice(None), slice(None), c),
        (a, b),
        (a, slice(None), c),
        (slice(None), b, c),
        (a, b, c),
        (a[:, None], b),
        (a[:, None], slice(None), c[None, :2]),
        (a.view(2, 2), b.view(2, 2), c.view(2, 2)),
        (a[:1], b, slice(1, None)),
        (None, a, slice(None), b),
        (Ellipsis, c),
        (1, b),
        (b[:2], 1, c[:2]),
        (slice(None, None, 2), b),
        (torch.tensor(1), slice(None), c),
        (torch.tensor(-1),),
        (mask,),
        (mask[:, 0, 0],),
        (mask[:, :, 0],),
        (slice(None), mask[0]),
        (mask[:, 0, 0], slice(None), torch.tensor(1)),
        (torch.zeros(shape, dtype=torch.bool),),
        (torch.zeros(0, dtype=torch.int64),),
        (torch.zeros((0, 3), dtype=torch.int64), slice(None), torch.tensor(0)),
    ]


SHAPE = (5, 6, 7)
KEYS = range(len(picks(SHAPE)))


def layouts(x: torch.Tensor) -> list[torch.Tensor]:
    wide = x.new_zeros(x.shape[0], 2 * x.shape[1], x.shape[2] + 1)[:, ::2, 1:]
    return [x, x.permute(2, 0, 1).contiguous().permute(1, 2, 0), wide.copy_(x)]


@pytest.mark.parametrize("which", KEYS)
def test_get(which) -> None:
    key = picks(SHAPE)[which]
    for x in layouts(make(*SHAPE)):
        same(lambda x, *key: x[key], x, *key)


@pytest.mark.parametrize("dtype", ANY, ids=str)
def test_get_of_every_dtype(dtype) -> None:
    rows = torch.tensor([3, 0, -1, 3])
    for columns in (1, 2, 3, 8, 16, 33):
        same(lambda x, i: x[i], make(5, columns, dtype=dtype), rows)
        same(lambda x, i: x[:, i], make(3, 5, columns, dtype=dtype), rows)
        same(lambda x, i: x[i, :, i], make(5, columns, 5, dtype=dtype), rows)


def test_get_keeps_the_layout_of_torch() -> None:
    x = make(4, 3, 5, 6).to(memory_format=torch.channels_last)
    index = torch.tensor([2, 0])
    for key in ((index,), (slice(None), index), (slice(None), slice(None), index)):
        ours = x.to("flagos")[tuple(on("flagos", list(key)))]
        assert ours.stride() == x[key].stride()


def test_index_tensors_of_the_cpu_are_moved() -> None:
    x = make(5, 6)
    index = torch.tensor([3, 1])
    assert torch.equal(x.to("flagos")[index].cpu(), x[index])
    assert torch.equal(x.to("flagos")[x > 0].cpu(), x[x > 0])


def test_byte_masks_and_scalars() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mask = torch.tensor([1, 0, 1], dtype=torch.uint8)
        same(lambda x, m: x[m], make(3, 4), mask)
    same(lambda x: x[torch.tensor(True)], make(2, 3))
    same(lambda x: x[True], make(2, 3))
    same(lambda x, i: x[i], make(3), torch.tensor(2))
    same(lambda x, i: x[i], make(3), torch.tensor([[[2]]]))


def test_more_index_tensors_than_a_launch_takes() -> None:
    indices = [torch.randint(-3, 3, (2, 4)) for _ in range(6)]
    x = torch.arange(3**6).view((3,) * 6)
    for count in (3, 4, 5, 6):
        same(lambda x, *key: x[key], x, *indices[:count])
        same(lambda x, *key: x[(slice(None), *key)], x, *indices[: count - 1])
        value = torch.tensor(7)
        same(lambda x, v, *key: x.index_put_(key, v), x, value, *indices[:count])
        same(
            lambda x, v, *key: x.index_put_(key, v, accumulate=True),
            x, value, *indices[:count],
        )  # fmt: skip


def test_get_out_and_errors() -> None:
    x, i = on("flagos", (make(5, 6), torch.tensor([3, 1])))
    out = torch.empty(0, device="flagos")
    torch.ops.aten.index.Tensor_out(x, [i], out=out)
    assert torch.equal(out.cpu(), x.cpu()[i.cpu()])
    with pytest.raises(IndexError, match="too many indices"):
        x[i, i, i]
    with pytest.raises(IndexError, match="could not be broadcast"):
        x[i, torch.tensor([0, 1, 2], device="flagos")]
    with pytest.raises(IndexError, match="does not match the shape"):
        x[torch.ones(4, dtype=torch.bool, device="flagos")]
    with pytest.raises(IndexError, match="tensors used as indices"):
        x[i.float()]
    with pytest.raises(IndexError, match="out of bounds for dimension with size 0"):
        x[:0][i]
    with pytest.raises(IndexError, match="too many indices"):
        x.index_put_((i, i, i), x[0, 0])
    with pytest.raises((RuntimeError, IndexError), match="dtypes match"):
        x.index_put_((i,), torch.ones(2, 6, device="flagos", dtype=torch.float64))
    for accumulate in (False, True):
        with pytest.raises(RuntimeError, match="shape mismatch: value tensor"):
            x.index_put_((i,), torch.ones(2, 5, device="flagos"), accumulate=accumulate)


@pytest.mark.parametrize("which", KEYS)
def test_put(which) -> None:
    def put(x, value, *key):
        x[key] = value
        return x

    # Equal indices would race; deterministic mode has an answer.
    key = picks(SHAPE)[which]
    torch.use_deterministic_algorithms(True)
    try:
        for x in layouts(make(*SHAPE)):
            picked = x[key]
            same(put, x, make(*picked.shape), *key)
            same(put, x, torch.tensor(3.5), *key)
            if picked.dim() > 0:
                same(put, x, make(*picked.shape[1:]), *key)
    finally:
        torch.use_deterministic_algorithms(False)
    same(lambda x, *key: put(x, 2.5, *key), make(*SHAPE), *key)


@pytest.mark.parametrize("dtype", ANY, ids=str)
def test_put_of_every_dtype(dtype) -> None:
    rows = torch.tensor([3, 0, -1])
    for columns in (1, 2, 3, 16):
        value = make(3, columns, dtype=dtype)
        same(
            lambda x, v, i: x.index_put_((i,), v),
            make(5, columns, dtype=dtype),
            value,
            rows,
        )
        same(
            lambda x, v, i: x.transpose(0, 1).index_put_((i,), v[:, None]),
            make(2, 5, columns, dtype=dtype), value, rows,
        )  # fmt: skip
        same(lambda x, i: x.index_fill(0, i, 1), make(5, columns, dtype=dtype), rows)


@pytest.mark.parametrize("which", KEYS)
def test_accumulate(which) -> None:
    key = picks(SHAPE)[which]
    if any(item is None or isinstance(item, (int, slice, type(...))) for item in key):
        key = tuple(item for item in key if isinstance(item, torch.Tensor))
    if sum(item.dim() if item.dtype == torch.bool else 1 for item in key) > 3:
        pytest.skip("not a key of three dimensions")
    for x in layouts(make(*SHAPE, dtype=torch.float64)):
        try:
            picked = x[key]
        except IndexError:
            pytest.skip("the tensors of this key do not index the first dimensions")
        for value in (make(*picked.shape).double(), torch.tensor(0.5).double()):
            same(
                lambda x, v, *key: x.index_put_(key, v, accumulate=True), x, value, *key
            )


@pytest.mark.parametrize("dtype", SUMMED, ids=str)
def test_accumulate_repeats_of_every_dtype(dtype) -> None:
    rows = torch.randint(-5, 5, (300,))
    for columns in (1, 3, 16):
        same(
            lambda x, v, i: x.index_put_((i,), v, accumulate=True),
            make(5, columns, dtype=dtype),
            (make(300, columns, dtype=dtype) if not dtype.is_floating_point
             else make(300, columns).to(dtype).sign()),
            rows,
        )  # fmt: skip
    same(
        lambda x, v, i: x.index_put_((i, i), v, accumulate=True),
        make(5, 5, dtype=dtype), torch.ones((), dtype=dtype), rows,
    )  # fmt: skip


def test_accumulate_of_bool_is_an_or() -> None:
    rows = torch.tensor([1, 1, 0])
    value = torch.tensor([True, False, False])
    same(
        lambda x, v, i: x.index_put_((i,), v, accumulate=True),
        torch.zeros(3, dtype=torch.bool), value, rows,
    )  # fmt: skip


def test_accumulate_a_number_of_the_cpu() -> None:
    x = torch.zeros(4, device="flagos")
    index = torch.tensor([1, 1, 2], device="flagos")
    x.index_put_((index,), torch.tensor(2.0), accumulate=True)
    assert x.tolist() == [0, 4, 2, 0]


@pytest.mark.parametrize("dtype", ANY, ids=str)
def test_take(dtype) -> None:
    index = torch.tensor([[3, -1, 0], [11, 3, -12]])
    x = make(3, 4, dtype=dtype)
    same(torch.take, x, index)
    same(torch.take, x.t(), index)
    same(torch.take, make(3, 8, dtype=dtype)[:, ::2], index)


def test_take_of_scalars_empties_out_and_errors() -> None:
    same(torch.take, make(), torch.tensor([0, 0]))
    same(torch.take, make(3), torch.tensor(1))
    same(torch.take, make(3), torch.zeros(0, 2, dtype=torch.int64))
    same(torch.take, make(0), torch.zeros(0, dtype=torch.int64))
    x, i = on("flagos", (make(3, 4), torch.tensor([5, 7])))
    out = torch.empty(0, device="flagos")
    assert torch.equal(torch.take(x, i, out=out).cpu(), x.cpu().take(i.cpu()))
    with pytest.raises(RuntimeError, match="Expected a long tensor"):
        x.take(i.int())
    with pytest.raises(IndexError, match="empty tensor"):
        x[:0].take(i)


@pytest.mark.parametrize("dtype", SUMMED, ids=str)
def test_put_flat(dtype) -> None:
    index = torch.tensor([[3, -1, 0], [10, 4, -10]])
    repeats = torch.tensor([[3, -1, 0], [11, 3, -12]])
    for x in (
        make(3, 4, dtype=dtype), make(4, 3, dtype=dtype).t(),
        make(3, 8, dtype=dtype)[:, ::2],
    ):  # fmt: skip
        value = make(3, 2, dtype=dtype)
        same(lambda x, i, v: x.put_(i, v), x, index, value)
        if not dtype.is_complex:
            same(lambda x, i, v: x.put_(i, v, accumulate=True), x, repeats, value)
    x, i = on("flagos", (make(3, 4), index))
    with pytest.raises(RuntimeError, match="same number of elements"):
        x.put_(i, x[0])


@pytest.mark.parametrize("dtype", ANY, ids=str)
def test_masked_scatter(dtype) -> None:
    mask = torch.rand(4, 5) > 0.5
    source = make(30, dtype=dtype)
    same(lambda x, m, s: x.masked_scatter_(m, s), make(4, 5, dtype=dtype), mask, source)
    same(
        lambda x, m, s: x.masked_scatter(m, s),
        make(5, 4, dtype=dtype).t(),
        mask,
        source,
    )
    same(
        lambda x, m, s: x.masked_scatter_(m, s.view(5, 6).t()),
        make(4, 5, dtype=dtype), mask[:, :1], source,
    )  # fmt: skip
    same(
        lambda x, m, s: x.masked_scatter_(m, s),
        make(0, dtype=dtype),
        mask[0, :0],
        source,
    )
    with pytest.raises(RuntimeError, match="boolean masks"):
        make(3).to("flagos").masked_scatter_(
            torch.ones(3, device="flagos"), torch.ones(3, device="flagos")
        )


def test_gradients() -> None:
    x = torch.randn(5, 6, 7, requires_grad=True)
    a, b = torch.tensor([3, 0, 3]), torch.tensor([1, 1, -1])
    same_gradients(lambda x, a: x[a], x, a)
    same_gradients(lambda x, a, b: x[a, :, b], x, a, b)
    same_gradients(lambda x, m: x[m], x, torch.rand(5, 6) > 0.5)
    value = torch.randn(3, 6, requires_grad=True)
    for accumulate in (False, True):
        distinct = torch.tensor([3, 0, 2])
        same_gradients(
            lambda x, v, a, b, add=accumulate: x.transpose(1, 2).index_put(
                (a, b), v, accumulate=add
            ),
            x, value, distinct, b,
        )  # fmt: skip
    same_gradients(lambda x, i: x.take(i), x, torch.tensor([4, 4, -1]))
    source = torch.randn(40, requires_grad=True)
    mask = torch.rand(5, 6, 7) > 0.9
    same_gradients(lambda x, m, s: x.masked_scatter(m, s), x, mask, source)


def test_nothing_falls_back() -> None:
    torch_fl.reset_fallbacks()
    x, i = on("flagos", (make(4, 4), torch.tensor([1, 3])))
    x[i, i] = x[i, 0]
    x[x > 0] = 1
    x.index_put_((i,), x[:2] + 1, accumulate=True)
    x.put_(i, x.take(i)).masked_scatter_(x > 0, x + 1)
    assert torch_fl.fallbacks() == {}
