# SPDX-License-Identifier: Apache-2.0
"""flagos tensors in multiprocessing queues: they travel through host memory.

torch would hand them to its file-descriptor path for CPU storages, which fails in a
queue's feeder thread and leaves the reader waiting. The receiver gets a copy on the
same device, not the same memory.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def _rebuild(
    kind: type[torch.Tensor],
    data: torch.Tensor,
    device: torch.device,
    requires_grad: bool,
) -> torch.Tensor:
    tensor = data.to(device)
    if kind is torch.nn.Parameter:
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_(requires_grad)


def _reducer(reduce: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    def reduce_tensor(tensor: torch.Tensor) -> Any:
        if tensor.device.type != "flagos":
            return reduce(tensor)
        if tensor.requires_grad and not tensor.is_leaf:
            raise RuntimeError(
                "a tensor that requires grad and is not a leaf cannot be sent to "
                "another process: send tensor.detach()."
            )
        host = tensor.detach().cpu()
        return _rebuild, (type(tensor), host, tensor.device, tensor.requires_grad)

    return reduce_tensor


def register() -> None:
    """Teach multiprocessing about flagos tensors; the others keep torch's way."""
    import torch.multiprocessing.reductions as reductions

    reduce = _reducer(reductions.reduce_tensor)
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, reduce)
