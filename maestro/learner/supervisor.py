"""Look after the processes of a training run: start them, watch them, start them again when one dies, end them cleanly.

sample-factory waits for ever when one of its processes is killed. Here the whole group of processes is watched from
outside: when any is gone, or nothing moves for a while, all are ended and training goes on from the last checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from maestro.errors import TrainingError
from maestro.learner.checkpoint import find_checkpoints, set_aside_broken
from maestro.learner.config import TrainConfig
from maestro.learner.faults import forget_fault, read_fault
from maestro.learner.processes import kind_of
from maestro.learner.progress import PROGRESS, Tail
from maestro.learner.run_policy import TASK, keep_init
from maestro.runs import write_atomically

LOG = "learner.log"
GRACE_S = 10.0
"""Seconds that the rest of the processes get to end by themselves when one of them has: at the end of training they do."""
START_S = 300.0
"""Seconds after which a start that brought nothing has failed: engines, torch and compilers begin slowly on small machines."""
STALL_S = 180.0
"""Seconds without a step after which the processes are taken for stuck."""
MOST_RESTARTS = 5
"""Restarts in a row without a single new checkpoint before giving up."""
STOP_S = 60.0


@dataclass
class Watch:
    """What the supervisor saw."""

    env_steps: int = 0
    """The most that any start reached."""
    restarts: int = 0
    reasons: list[str] = field(default_factory=list)
    """Why each restart was needed."""


class Supervisor:
    """Runs the training process of one run folder to its end."""

    def __init__(self, folder: Path, config: TrainConfig, steps: int, stall_s: float = STALL_S) -> None:
        self.folder, self.config, self.steps = folder, config, steps
        self.watch = Watch()
        self._stall_s = stall_s
        self._process: subprocess.Popen[bytes] | None = None
        self._members: dict[int, psutil.Process] = {}
        self._kinds: dict[int, str | None] = {}
        """What each process does, once it has said so; its death matters from then on."""

    def run(self, on_look: Callable[[Supervisor], None] = lambda supervisor: None) -> None:
        """Train to the end; `on_look` is called about once a second.

        Raises TrainingError when a process stopped by itself with a fault, or when restarts bring nothing, CheckpointError
        where no checkpoint can be read. KeyboardInterrupt passes through after a checkpoint was written.
        """
        in_vain = 0
        set_aside_broken(self.folder)
        while True:
            before = self._progress()
            try:
                reason = self._run_once(on_look)
            except KeyboardInterrupt:
                self._raise_fault()  # the checkpoint could not be written: nobody must believe that it was
                raise
            if (
                reason is None or self._is_complete()
            ):  # on a busy machine the end itself can outlast the grace
                return
            self._raise_fault()
            in_vain = 0 if self._progress() > before else in_vain + 1
            self.watch.restarts += 1
            self.watch.reasons.append(reason)
            if in_vain > MOST_RESTARTS:
                raise TrainingError(
                    f"training was started {in_vain} times in a row and got nowhere; the last time {reason}",
                    where=str(self.folder / LOG),
                    hint="the end of the log says more; fewer games or workers need less memory",
                )

    @property
    def processes(self) -> list[psutil.Process]:
        """List the living processes of the run, the training process first."""
        return list(self._members.values())

    def _progress(self) -> int:
        files = find_checkpoints(self.folder)
        return files[-1].train_steps if files else 0

    def _is_complete(self) -> bool:
        files = find_checkpoints(self.folder)
        return bool(files) and files[-1].env_steps >= self.steps

    def _run_once(self, on_look: Callable[[Supervisor], None]) -> str | None:
        """Start the processes and wait; None when training is complete, else why it is not."""
        forget_fault(self.folder)
        path = self.folder / TASK
        start = json.loads(path.read_text(encoding="utf-8"))["start"] + 1 if path.exists() else 0
        config = self.config.model_copy(update={"init": keep_init(self.folder, self.config.init)})
        task = {"config": config.model_dump(mode="json"), "steps": self.steps, "start": start}
        write_atomically(path, json.dumps(task, indent=2) + "\n")
        with open(self.folder / LOG, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "maestro.learner.worker", str(self.folder), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that Ctrl-C reaches the supervisor alone, and it can end them all
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "WANDB_MODE": "disabled"},
            )
        try:
            return self._wait(self._process, on_look)
        except BaseException:
            self._stop(self._process)
            raise
        finally:
            self._kill_all()

    def _wait(self, process: subprocess.Popen[bytes], on_look: Callable[[Supervisor], None]) -> str | None:
        started = last_moved = time.monotonic()
        dead, died = None, 0.0
        seen = 0  # of this start alone: steps that were lost and are taken again are movement, too
        tail = Tail(self.folder / PROGRESS)
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=1.0)
                return None if code == 0 else _ended(code)
            gone = self._look()
            if gone and dead is None:
                dead, died = gone, time.monotonic()
            for line in tail:
                if line["env_steps"] > seen:
                    seen = line["env_steps"]
                    last_moved = time.monotonic()
            self.watch.env_steps = max(self.watch.env_steps, seen)
            on_look(self)
            moved = last_moved > started
            if dead and time.monotonic() - died > GRACE_S:
                return dead
            if read_fault(self.folder) is not None:
                return "a process of the run stopped"
            if time.monotonic() - last_moved > (self._stall_s if moved else START_S):
                return f"no step was taken in {self._stall_s if moved else START_S:.0f} s"

    def _look(self) -> str | None:
        """Take in the processes that are there; say which one is gone that should not be."""
        process = self._process
        assert process is not None
        dead = None
        for pid, member in list(self._members.items()):
            with contextlib.suppress(psutil.NoSuchProcess):
                if member.is_running() and member.status() != psutil.STATUS_ZOMBIE:
                    self._kinds[pid] = self._kinds.get(pid) or kind_of(member)
                    continue
            del self._members[pid]
            kind = self._kinds.pop(pid, None) or kind_of(
                member
            )  # it may have said it a moment before it died
            if kind is not None:  # others are helpers, some of which end when the start is over
                dead = f"the {kind} process {pid} was killed or died"
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(process.pid)
            self._members.setdefault(parent.pid, parent)
            for child in parent.children(recursive=True):
                self._members.setdefault(child.pid, child)
        return dead

    def _raise_fault(self) -> None:
        text = read_fault(self.folder)
        if text is not None:
            raise TrainingError(text, where="training")

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """Ask for a clean end, with a checkpoint, and wait for it."""
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        end = time.monotonic() + STOP_S
        while time.monotonic() < end and read_fault(self.folder) is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.2)
                return

    def _kill_all(self) -> None:
        self._look_quietly()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        psutil.wait_procs(self.processes, timeout=5)
        self._members.clear()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)

    def _look_quietly(self) -> None:
        with contextlib.suppress(psutil.Error):
            self._look()


def _ended(code: int) -> str:
    if code < 0:
        return f"the training process was killed by {signal.Signals(-code).name}"
    return f"the training process ended with exit code {code}"
