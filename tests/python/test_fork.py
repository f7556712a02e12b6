# SPDX-License-Identifier: Apache-2.0
"""Fork, spawn, exit, data loading."""

import pytest
import torch
from subprocesses import output_of, run_python


def test_forked_child_gets_one_clear_sentence() -> None:
    text = output_of(
        """
import os, torch, torch_fl
x = torch.ones(3, device="flagos") + 1
torch.flagos.synchronize()
pid = os.fork()
if pid == 0:
    code = 3
    try:
        assert torch.flagos._is_in_bad_fork()
        assert (torch.ones(4) @ torch.ones(4)).item() == 4
        torch.manual_seed(1)
        try:
            torch.ones(2, device="flagos")
        except RuntimeError as error:
            print(error, flush=True)
            code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert (x + 1).tolist() == [3, 3, 3]
"""
    )
    assert "fork" in text
    assert "spawn" in text


@pytest.mark.cpu_engine("a driver that was asked for its devices is lost to a child")
def test_counting_and_seeding_before_fork_leaves_the_child_free() -> None:
    output_of(
        """
import os, torch, torch_fl
torch.flagos.device_count(), torch.flagos.is_available()
torch.manual_seed(5)
pid = os.fork()
if pid == 0:
    code = 1
    try:
        x = torch.ones(3, device="flagos") * 2
        code = 0 if x.tolist() == [2, 2, 2] else 2
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    )


def test_spawned_child_may_use_the_device() -> None:
    output_of(
        """
import torch, torch_fl, torch.multiprocessing as mp
from torch.multiprocessing.spawn import spawn
import importlib.util, sys, tempfile, pathlib
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "child.py").write_text('''
import torch, torch_fl
def work(rank):
    assert (torch.ones(3, device="flagos") + rank).sum().item() == 3 + 3 * rank
''')
sys.path.insert(0, str(folder))
import os
os.environ["PYTHONPATH"] = str(folder) + os.pathsep + os.environ.get("PYTHONPATH", "")
import child
if __name__ == "__main__":
    spawn(child.work, nprocs=2)
"""
    )


class Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((8,), float(index)), index


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader_pins_and_feeds_the_device(workers: int) -> None:
    torch.ones(1, device="flagos") + 1
    loader = torch.utils.data.DataLoader(
        Numbers(), batch_size=16, num_workers=workers, pin_memory=True
    )
    total = torch.zeros((), device="flagos")
    seen = 0
    for x, index in loader:
        assert x.is_pinned()
        assert index.is_pinned()
        total += x.to("flagos", non_blocking=True).sum()
        seen += len(index)
    assert seen == 64
    assert total.item() == 8 * sum(range(64))


def test_process_exits_well_with_work_queued() -> None:
    for delay in (0, 0.002, 0.02):
        done = run_python(
            f"""
import time, torch, torch_fl
w = torch.randn(8, 3, 3, 3, device="flagos")
x = torch.randn(4, 3, 32, 32, device="flagos")
a = torch.randn(256, 256, device="flagos")
for _ in range(20):
    a = a @ a
    y = torch.nn.functional.conv2d(x, w)
time.sleep({delay})
"""
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_tensors_alive_at_exit_do_no_harm() -> None:
    done = run_python(
        """
import sys, threading, torch, torch_fl
sys.kept = [torch.ones(3, device="flagos") for _ in range(4)]
sys.event = torch.flagos.Event(); sys.event.record()
sys.pinned = torch.ones(4).pin_memory()
sys.stream = torch.flagos.Stream()
class Late:
    def __del__(self):
        self.x = None
sys.late = Late(); sys.late.x = torch.ones(2, device="flagos")
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
