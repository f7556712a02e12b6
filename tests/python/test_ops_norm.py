# SPDX-License-Identifier: Apache-2.0
"""Batch and layer normalisation: training, evaluation, statistics, gradients."""

import copy

import pytest
import torch
from compare import close, same, same_gradients
from torch import nn
from torch.nn import functional as F

TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}
SHAPES = [(6, 4), (5, 4, 7), (3, 4, 5, 6), (2, 4, 3, 4, 5)]


def batch_norm(shape: tuple[int, ...], **options: object) -> nn.Module:
    kinds = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}
    module = kinds[len(shape)](shape[1], **options)
    if module.affine:
        nn.init.normal_(module.weight)
        nn.init.normal_(module.bias)
    return module


def compare_modules(module: nn.Module, *inputs: torch.Tensor) -> None:
    """Output, gradients and buffers after each input."""
    module.zero_grad()
    twin = copy.deepcopy(module).to("flagos")
    for x in inputs:
        a = x.clone(memory_format=torch.preserve_format).requires_grad_()
        b = x.to("flagos").requires_grad_()
        y, z = module(a), twin(b)
        close(z.detach(), y.detach(), **TOLERANCE)
        weights = torch.randn(y.shape)
        y.backward(weights)
        z.backward(weights.to("flagos"))
        close(b.grad, a.grad, **TOLERANCE)
        for p, q in zip(module.parameters(), twin.parameters(), strict=True):
            close(q.grad, p.grad, rtol=2e-4, atol=2e-4)
        for p, q in zip(module.buffers(), twin.buffers(), strict=True):
            close(q, p, **TOLERANCE)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("affine", [True, False])
def test_training(shape: tuple[int, ...], affine: bool) -> None:
    module = batch_norm(shape, affine=affine)
    compare_modules(module, torch.randn(shape) * 3 + 1, torch.randn(shape))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("affine", [True, False])
def test_evaluation(shape: tuple[int, ...], affine: bool) -> None:
    module = batch_norm(shape, affine=affine)
    module.running_mean.normal_()
    module.running_var.uniform_(0.5, 2)
    compare_modules(module.eval(), torch.randn(shape))


def test_without_running_statistics() -> None:
    module = batch_norm((3, 4, 5, 6), track_running_stats=False)
    compare_modules(module, torch.randn(3, 4, 5, 6))
    compare_modules(module.eval(), torch.randn(3, 4, 5, 6))


@pytest.mark.parametrize("momentum", [0.3, 1.0, 0.0, None])
def test_momentum(momentum: float | None) -> None:
    # running_var takes the sample variance, as torch does (quirk 65)
    shape = (3, 4, 5, 6)
    module = batch_norm(shape, momentum=momentum, eps=1e-3)
    compare_modules(module, *(torch.randn(shape) + i for i in range(3)))


def test_backward_twice_does_not_accumulate() -> None:
    # RunBwd adds to its outputs (quirk 64): memory is reused, so run twice
    for _ in range(3):
        compare_modules(batch_norm((3, 4, 5, 6)), torch.randn(3, 4, 5, 6))


def test_saved_statistics_are_those_of_the_batch() -> None:
    # muDNN may leave them unwritten (quirk 66)
    x = torch.randn(3, 4, 5, 6)
    _, mean, invstd = torch.native_batch_norm(
        x.to("flagos"), None, None, None, None, True, 0.1, 1e-5
    )
    close(mean, x.mean((0, 2, 3)))
    close(invstd, x.var((0, 2, 3), unbiased=False).add(1e-5).rsqrt())


def test_channels_last() -> None:
    x = torch.randn(3, 4, 5, 6).contiguous(memory_format=torch.channels_last)
    module = batch_norm((3, 4, 5, 6))
    compare_modules(module, x)
    y = copy.deepcopy(module).to("flagos")(x.to("flagos"))
    assert y.is_contiguous(memory_format=torch.channels_last)
    compare_modules(module.eval(), x)


def test_strided_input() -> None:
    module = batch_norm((3, 4, 5, 6))
    compare_modules(module, torch.randn(3, 4, 5, 12)[..., ::2])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_input_with_float_statistics(dtype: torch.dtype) -> None:
    x = torch.randn(4, 3, 5, 5).to(dtype)
    w, b = torch.rand(3) + 0.5, torch.randn(3)
    mean, var = torch.zeros(3), torch.ones(3)
    dm, dv = mean.to("flagos"), var.to("flagos")
    reference = F.batch_norm(x.float(), mean, var, w, b, True)
    ours = F.batch_norm(x.to("flagos"), dm, dv, w.to("flagos"), b.to("flagos"), True)
    assert ours.dtype == dtype
    torch.testing.assert_close(ours.cpu().float(), reference, rtol=2e-2, atol=3e-2)
    close(dm, mean, rtol=1e-3, atol=1e-3)
    close(dv, var, rtol=1e-3, atol=1e-3)


def test_narrow_module_trains() -> None:
    module = nn.BatchNorm2d(3).half().to("flagos")
    x = torch.randn(4, 3, 5, 5).half()
    module(x.to("flagos")).sum().backward()
    assert module.weight.grad.dtype == torch.float16
    close(module.running_mean.float(), 0.1 * x.float().mean((0, 2, 3)), atol=2e-3)


def test_other_entry_points() -> None:
    x, w, b = torch.randn(3, 4, 5, 6), torch.randn(4), torch.randn(4)
    stats = (torch.zeros(4), torch.ones(4))
    op = torch.ops.aten

    def legit(x, w, b, m, v):
        return (*op._native_batch_norm_legit(x, w, b, m, v, True, 0.1, 1e-5), m, v)

    same(legit, x, w, b, *stats, **TOLERANCE)
    same(
        lambda x, w, b: op._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5),
        x,
        w,
        b,
        **TOLERANCE,
    )

    def update(x, w, b, m, v):
        return (*op._batch_norm_with_update(x, w, b, m, v, 0.1, 1e-5)[:3], m, v)

    same(update, x, w, b, *stats, **TOLERANCE)


@pytest.mark.parametrize("shape", [(5,), (3, 7), (7,)])
@pytest.mark.parametrize("affine", ["both", "weight", "none"])
def test_layer_norm(shape: tuple[int, ...], affine: str) -> None:
    # a weight without a bias is not supported by muDNN (quirk 68)
    x = torch.randn(4, 3, *shape).mul(2).requires_grad_()
    args = [x]
    if affine != "none":
        args.append(torch.randn(shape).requires_grad_())
    if affine == "both":
        args.append(torch.randn(shape).requires_grad_())
    same_gradients(lambda x, *p: F.layer_norm(x, shape, *p), *args, **TOLERANCE)


def test_layer_norm_of_a_single_row_and_of_strides() -> None:
    same_gradients(
        lambda x: F.layer_norm(x, (5,)), torch.randn(5).requires_grad_(), **TOLERANCE
    )
    same_gradients(
        lambda x: F.layer_norm(x.t(), (4,)),
        torch.randn(4, 6).requires_grad_(),
        **TOLERANCE,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("parameters", ["same", "float"])
def test_layer_norm_in_narrow_dtypes(dtype: torch.dtype, parameters: str) -> None:
    x = torch.randn(6, 16).to(dtype)
    w, b = torch.randn(16), torch.randn(16)
    reference = F.layer_norm(x.float(), (16,), w, b)
    if parameters == "same":
        w, b = w.to(dtype), b.to(dtype)
    ours = F.layer_norm(x.to("flagos"), (16,), w.to("flagos"), b.to("flagos"))
    assert ours.dtype == dtype
    torch.testing.assert_close(ours.cpu().float(), reference, rtol=3e-2, atol=4e-2)


def test_layer_norm_statistics_keep_the_normalised_axes() -> None:
    # muDNN wants ones there (quirk 69), and so does torch
    def run(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.native_layer_norm(x, (5, 6), None, None, 1e-5)

    out = same(run, torch.randn(2, 3, 5, 6), **TOLERANCE)
    assert out[1].shape == (2, 3, 1, 1)


def test_wrong_sizes_are_refused() -> None:
    x = torch.randn(2, 3, 4, 4, device="flagos")
    with pytest.raises(RuntimeError, match="running_mean"):
        F.batch_norm(x, torch.zeros(4, device="flagos"), torch.ones(4, device="flagos"))
    with pytest.raises(RuntimeError, match="normalized_shape"):
        F.layer_norm(x, (5,))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("layout", ["dense", "channels last", "sliced"])
def test_group_norm(affine: bool, layout: str) -> None:
    x = torch.randn(2, 6, 4, 5)
    if layout == "channels last":
        x = x.contiguous(memory_format=torch.channels_last)
    if layout == "sliced":
        x = torch.randn(2, 6, 4, 10)[..., ::2]
    args = [x.requires_grad_()]
    if affine:
        args += [torch.randn(6).requires_grad_(), torch.randn(6).requires_grad_()]
    same_gradients(lambda x, *p: F.group_norm(x, 3, *p), *args, **TOLERANCE)
