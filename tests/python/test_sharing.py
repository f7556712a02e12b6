# SPDX-License-Identifier: Apache-2.0
"""flagos tensors that go to another process."""

import pickle
from multiprocessing.reduction import ForkingPickler

import pytest
import torch
from subprocesses import output_of


def through_a_pipe(value: object) -> object:
    return pickle.loads(bytes(ForkingPickler.dumps(value)))


def test_tensor_parameter_and_gradient_flag_survive() -> None:
    x = torch.arange(6, dtype=torch.float32).to("flagos").reshape(2, 3).t()
    y = through_a_pipe(x)
    assert y.is_flagos
    assert y.device == x.device
    assert torch.equal(y.cpu(), x.cpu())
    weight = torch.nn.Parameter(x.clone(), requires_grad=False)
    again = through_a_pipe(weight)
    assert isinstance(again, torch.nn.Parameter)
    assert not again.requires_grad
    assert through_a_pipe(x.clone().requires_grad_()).requires_grad


def test_tensor_inside_a_graph_is_refused_in_one_sentence() -> None:
    x = torch.ones(2, device="flagos", requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="detach"):
        ForkingPickler.dumps(x)


def test_cpu_tensors_keep_sharing_their_memory() -> None:
    x = torch.zeros(3)
    y = through_a_pipe(x)
    y += 1
    assert x.tolist() == [1, 1, 1]


def test_queue_between_processes() -> None:
    output_of(
        """
import importlib, os, pathlib, sys, tempfile
import torch, torch_fl, torch.multiprocessing as mp
folder = tempfile.mkdtemp()
pathlib.Path(folder, "echo.py").write_text('''
import torch, torch_fl
def work(inbox, outbox):
    x = inbox.get(timeout=60)
    assert x.is_flagos
    outbox.put(x * 2)
    inbox.get(timeout=60)
''')
sys.path.insert(0, folder)
os.environ["PYTHONPATH"] = folder + os.pathsep + os.environ.get("PYTHONPATH", "")
echo = importlib.import_module("echo")
if __name__ == "__main__":
    context = mp.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    child = context.Process(target=echo.work, args=(inbox, outbox))
    child.start()
    inbox.put(torch.arange(4, device="cpu").to("flagos"))
    assert outbox.get(timeout=60).tolist() == [0, 2, 4, 6]
    inbox.put(None)
    child.join(60)
    assert child.exitcode == 0
"""
    )


def test_forked_reader_is_told_why_it_cannot_have_the_tensor() -> None:
    text = output_of(
        """
import os, torch, torch_fl
from multiprocessing.reduction import ForkingPickler
import pickle
data = bytes(ForkingPickler.dumps(torch.ones(2, device="flagos")))
pid = os.fork()
if pid == 0:
    try:
        pickle.loads(data)
    except RuntimeError as error:
        print(error, flush=True)
        os._exit(0)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    )
    assert "spawn" in text
