# SPDX-License-Identifier: Apache-2.0
"""Devices: counting, choosing, naming, refusing."""

import threading

import pytest
import torch
from subprocesses import output_of, run_python

import torch_fl


def test_module_is_the_same_under_both_names() -> None:
    assert torch.flagos is torch_fl.flagos
    assert torch.get_device_module("flagos") is torch.flagos


def test_device_is_available_and_counted() -> None:
    assert torch.flagos.is_available()
    assert torch.flagos.device_count() >= 1
    assert torch.flagos.current_device() == 0


def test_tensor_lands_on_the_named_device(device: torch.device) -> None:
    x = torch.ones(3, device="flagos")
    assert x.device == device
    assert x.is_flagos
    assert torch.ones(2).flagos().device == device
    assert torch.nn.Linear(2, 2).flagos().weight.device == device


@pytest.mark.usefixtures("two_devices")
def test_current_device_is_per_thread() -> None:
    torch.flagos.set_device(1)
    seen = []
    worker = threading.Thread(target=lambda: seen.append(torch.flagos.current_device()))
    worker.start()
    worker.join()
    assert seen == [0]
    assert torch.flagos.current_device() == 1


@pytest.mark.usefixtures("two_devices")
def test_device_context_restores_after_an_exception() -> None:
    def leave_by_error() -> None:
        with torch.flagos.device(1):
            assert torch.flagos.current_device() == 1
            assert torch.empty(1, device="flagos").device.index == 1
            raise KeyError("out")

    with pytest.raises(KeyError):
        leave_by_error()
    assert torch.flagos.current_device() == 0


@pytest.mark.usefixtures("two_devices")
def test_working_on_another_device_leaves_the_current_one() -> None:
    x = torch.ones(4, device="flagos:1")
    y = (x + x) * 2
    assert y.device.index == 1
    assert y.tolist() == [4.0] * 4
    assert torch.flagos.current_device() == 0


def test_device_context_with_minus_one_changes_nothing() -> None:
    with torch.flagos.device(-1):
        assert torch.flagos.current_device() == 0


def test_unknown_index_is_refused_by_name() -> None:
    count = torch.flagos.device_count()
    with pytest.raises(RuntimeError, match=rf"{count}"):
        torch.empty(1, device=f"flagos:{count}")
    with pytest.raises(RuntimeError, match=rf"{count}"):
        torch.flagos.set_device(count)


def test_properties_tell_name_memory_and_capability() -> None:
    properties = torch.flagos.get_device_properties(0)
    assert properties.name == torch.flagos.get_device_name(0)
    assert properties.total_memory > 0
    assert properties.multi_processor_count >= 1
    capability = torch.flagos.get_device_capability(0)
    assert capability == (properties.major, properties.minor)


@pytest.mark.usefixtures("two_devices")
def test_mixed_devices_are_refused_like_torch_does() -> None:
    a, b = torch.ones(2, device="flagos:0"), torch.ones(2, device="flagos:1")
    with pytest.raises(RuntimeError, match="same device"):
        a + b
    with pytest.raises(RuntimeError, match="device"):
        a @ torch.ones(2)
    with pytest.raises(RuntimeError, match="same device"):
        torch.add(torch.ones(2), a)


def test_machine_without_a_device_says_so() -> None:
    text = output_of(
        """
import torch, torch_fl
assert not torch.flagos.is_available()
assert torch.flagos.device_count() == 0
assert (torch.ones(3) + 1).tolist() == [2, 2, 2]
torch.manual_seed(3)
x = torch.nn.Linear(2, 2)
x(torch.ones(1, 2)).sum().backward()
try:
    torch.ones(1, device="flagos")
except RuntimeError as error:
    print(error)
""",
        MUSA_CPU_DEVICES="0",
        MUSA_VISIBLE_DEVICES="",
    )
    assert "no " in text.lower()
    assert "device" in text
    assert len(text.strip().splitlines()) == 1


READS_IT = pytest.mark.cpu_engine("reads no MUSA_CPU_* variable")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("MUSA_CPU_DEVICES", "many", marks=READS_IT),
        pytest.param("MUSA_CPU_MEMORY", "8 parsecs", marks=READS_IT),
        pytest.param("MUSA_CPU_THREADS", "-3", marks=READS_IT),
        ("FLAGOS_STRICT", "maybe"),
        ("FLAGOS_LOG_FALLBACK", "2x"),
    ],
)
def test_malformed_variable_is_named_with_its_value(name: str, value: str) -> None:
    code = "import torch, torch_fl; print(torch.ones(2, device='flagos').sum().item())"
    done = run_python(code, **{name: value})
    assert done.returncode == 1, done.stdout + done.stderr
    assert name in done.stderr
    assert value in done.stderr


def test_helpers_of_the_renamed_backend() -> None:
    x = torch.ones(2, device="flagos")
    assert x.untyped_storage().is_flagos
    assert not torch.ones(2).is_flagos
    assert torch.flagos.get_amp_supported_dtype()
    assert torch.flagos.is_bf16_supported()


def test_default_device_context() -> None:
    with torch.device("flagos"):
        x = torch.zeros(3)
        layer = torch.nn.Linear(3, 3)
    assert x.is_flagos
    assert layer.weight.is_flagos
    assert torch.zeros(1).device.type == "cpu"


def test_threads_may_come_and_go() -> None:
    errors = []

    def work() -> None:
        try:
            x = torch.ones(8, device="flagos")
            assert (x + x).sum().item() == 16
        except BaseException as error:
            errors.append(error)

    for _ in range(20):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
