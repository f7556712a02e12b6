# SPDX-License-Identifier: Apache-2.0
"""Memory of the devices and pinned memory of the host: numbers, limits, caches."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch_fl import _C
from torch_fl._utils import DeviceLike, _get_device_index


def _index(device: DeviceLike) -> int:
    return _get_device_index(device, optional=True)


def _flatten(nested: dict[str, Any], prefix: str = "") -> OrderedDict[str, Any]:
    flat: OrderedDict[str, Any] = OrderedDict()
    for key in sorted(nested):
        value = nested[key]
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def memory_stats(device: DeviceLike = None) -> OrderedDict[str, Any]:
    """Statistics of a device's allocator, by the names of torch.cuda.memory_stats."""
    return _flatten(memory_stats_as_nested_dict(device))


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, Any]:
    """The same as nested dictionaries; empty before a device was used."""
    return _C.memory_stats(_index(device)) if _C.is_initialized() else {}


def host_memory_stats() -> OrderedDict[str, Any]:
    """Statistics of the allocator of pinned memory."""
    return _flatten(host_memory_stats_as_nested_dict())


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """The same as nested dictionaries; empty before a device was used."""
    return _C.host_memory_stats() if _C.is_initialized() else {}


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Restart the "allocated" and "freed" counters of a device."""
    _C.reset_accumulated_memory_stats(_index(device))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Let the peaks of a device begin at what is in use now."""
    _C.reset_peak_memory_stats(_index(device))


def reset_max_memory_allocated(device: DeviceLike = None) -> None:
    """Older name of reset_peak_memory_stats."""
    reset_peak_memory_stats(device)


def reset_accumulated_host_memory_stats() -> None:
    """Restart the counters of pinned memory."""
    _C.reset_accumulated_host_memory_stats()


def reset_peak_host_memory_stats() -> None:
    """Let the peaks of pinned memory begin at what is in use now."""
    _C.reset_peak_host_memory_stats()


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes that tensors hold on a device."""
    return int(memory_stats(device).get("allocated_bytes.all.current", 0))


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Most bytes that tensors held at once."""
    return int(memory_stats(device).get("allocated_bytes.all.peak", 0))


def memory_reserved(device: DeviceLike = None) -> int:
    """Bytes that the allocator has taken from a device."""
    return int(memory_stats(device).get("reserved_bytes.all.current", 0))


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Most bytes that the allocator had taken at once."""
    return int(memory_stats(device).get("reserved_bytes.all.peak", 0))


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total bytes of a device."""
    return _C.memory_info(_index(device))


def device_memory_used(device: DeviceLike = None) -> int:
    """Bytes of a device that are in use by anybody."""
    free, total = mem_get_info(device)
    return total - free


def empty_cache() -> None:
    """Give cached memory that no tensor uses back to the devices."""
    if _C.is_initialized():
        _C.empty_cache()


def empty_host_cache() -> None:
    """Give cached pinned memory back to the host."""
    if _C.is_initialized():
        _C.empty_host_cache()


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """Cap what this process takes from a device, as a part of its memory.

    Asking for more raises ``torch.OutOfMemoryError``. 1.0 takes the cap away.
    """
    _C.set_memory_fraction(float(fraction), _index(device))


def get_per_process_memory_fraction(device: DeviceLike = None) -> float:
    """The cap set by set_per_process_memory_fraction; 1.0 without one."""
    return _C.memory_fraction(_index(device))


def report_memory_to_profiler(on: bool = True) -> None:
    """Let torch.profiler's profile_memory see flagos; costs time on each allocation."""
    _C.report_memory_to_profiler(on)


def get_allocator_backend() -> str:
    """Name of the allocator: there is one."""
    return "native"


# ---- the summary


def _bytes(count: int) -> str:
    value = float(count)
    for unit in ("B  ", "KiB", "MiB"):
        if value < 10240:
            return f"{int(value):6d} {unit}"
        value /= 1024
    return f"{int(value):6d} GiB"


def _count(count: int) -> str:
    value = float(count)
    for unit in ("  ", "K "):
        if value < 100000:
            return f"{int(value):7d} {unit}"
        value /= 1000
    return f"{int(value):7d} M "


_METRICS = (
    ("allocated_bytes", "Allocated memory", _bytes),
    ("active_bytes", "Active memory", _bytes),
    ("requested_bytes", "Requested memory", _bytes),
    ("reserved_bytes", "GPU reserved memory", _bytes),
    ("inactive_split_bytes", "Non-releasable memory", _bytes),
    ("allocation", "Allocations", _count),
    ("active", "Active allocs", _count),
    ("segment", "GPU reserved segments", _count),
    ("inactive_split", "Non-releasable allocs", _count),
)
_POOLS = (("large_pool", "from large pool"), ("small_pool", "from small pool"))
_COLUMNS = ("current", "peak", "allocated", "freed")
_TITLES = ("Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")
_WIDTHS = (23, 12, 12, 12, 12)


def _row(cells: tuple[str, ...]) -> str:
    padded = (f" {cell:<{w}} " for cell, w in zip(cells, _WIDTHS, strict=True))
    return "|" + "|".join(padded) + "|"


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """A table of a device's memory statistics, to be printed."""
    index = _index(device)
    stats = memory_stats(index)
    rule = "|" + "-" * (sum(_WIDTHS) + 3 * len(_WIDTHS) - 1) + "|"
    inner = len(rule) - 2
    title = f"flagos memory summary, device ID {index}"
    oom = stats.get("num_ooms", 0)
    retries = stats.get("num_alloc_retries", 0)
    lines = [
        rule.replace("|", "|").replace("-", "="),
        f"|{title:^{inner}}|",
        rule,
        f"|{f'OOMs: {oom}':^{inner // 2}}|"
        f"{f'retries of allocations: {retries}':^{inner - inner // 2 - 1}}|",
        rule,
        _row(("Metric", *_TITLES)),
    ]
    for metric, name, form in _METRICS:
        pools = (("all", name),) if abbreviated else (("all", name), *_POOLS)
        lines.append(rule)
        for pool, label in pools:
            values = (stats.get(f"{metric}.{pool}.{c}", 0) for c in _COLUMNS)
            text = label if pool == "all" else f"  {label}"
            lines.append(_row((text, *(form(value) for value in values))))
    lines.append(rule)
    return "\n".join(lines) + "\n"
