"""Captures chosen training steps of a PyTorch job for `reprise convert`.

    import reprise_capture
    capture = reprise_capture.start("capture_dir")   # before the training loop
    ...
        optimizer.step()
        capture.step()                               # at the end of every step

A step ends where the weights have changed: with gradient accumulation after optimizer.step(), not
after each micro-batch. Where transformers.Trainer has the loop, one argument replaces both calls:

    trainer = Trainer(..., callbacks=[reprise_capture.TrainerCapture("capture_dir")])

Every rank writes, of steps 5, 6 and 7 (the first is step 0; `steps="10-12"` chooses others):

    capture_dir/rank<N>.et.json.gz      host execution trace (torch.profiler.ExecutionTraceObserver)
    capture_dir/rank<N>.kineto.json.gz  Kineto trace of the same steps
    capture_dir/rank<N>.meta.json       which steps, what steps take without tracing, and what the
                                        rank runs on, and where (reprise_machine.py)

Copy this file and reprise_machine.py beside your script; they need PyTorch 2.1 or newer and the
standard library. They open no connection, start no process and no thread, and call no collective.
Steps that were not chosen run without any hook. What was written and what went wrong is reported on
stderr; in any case the training goes on.

A process has one capture at a time. From the step before the chosen ones until they are over, step()
belongs to one thread; another thread's call ends the capture. In a forked child step() does nothing.
PyTorch takes one profiler at a time: where the training runs its own, the capture gives way.
"""
import atexit
import contextlib
import gzip
import hashlib
import json
import logging
import operator
import os
import re
import resource
import shlex
import shutil
import sys
import threading
import time

__all__ = ["Capture", "TrainerCapture", "start"]

_log = logging.getLogger("reprise_capture")

_DEFAULT_STEPS = (5, 7)  # allocators and data loaders have settled by then

# Steps timed after the traced ones: the converter takes the median of all untraced steps, of a
# GPU those before if there are any.
_TIMED_AFTERWARDS = 10
_WARM_UP = 2  # steps that the converter leaves out
# Of a launcher: the rank, the number of ranks, the rank's number among those of its host.
_RANK_VARIABLES = (("RANK", "WORLD_SIZE", "LOCAL_RANK"),
                   ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
                   ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
                   ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"))
# Of a launcher: what all ranks of a job have in common, and no other job has.
_JOB_VARIABLES = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_STEP_ID",
                  "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PBS_JOBID", "LSB_JOBID")

_claim = threading.Lock()
_running = None  # this process' capture


def start(directory="capture", steps=None, compress=True, **unknown):
    """Begins counting steps. `steps`: a number, (first, last) with both included, several steps in
    a row such as [5, 6, 7], or "5-7"; 5 to 7 if it is left out.

    Returns a Capture in any case; one that cannot capture reports why and does nothing.
    """
    if unknown:
        _warn("start() has no parameter %s; it takes directory, steps and compress",
              ", ".join(sorted(unknown)))
    return Capture(directory, steps, compress)


class Capture:
    """Call step() at the end of every training step. Usable as a context manager."""

    def __init__(self, directory, steps=None, compress=True):
        self._tracer = None
        self._step = 0  # the step that runs now
        self._seconds = []  # by step; None where it says nothing about an untraced step
        self._page_faults = []  # likewise
        self._machine = None  # what the rank runs on, once its files are there
        self._compress = bool(compress)
        self._process = os.getpid()
        self._thread = None  # that the profiler belongs to, once there is one
        self._entered = threading.Lock()  # by the thread that is in step() or close()
        self._called_elsewhere = False  # step() was called by another thread than the profiler's
        self._lock = None  # of this rank's files
        self._active = False
        with self._harmless("cannot begin"):
            self._directory = os.path.abspath(os.fspath(directory))
            self._first, self._last = _step_range(_DEFAULT_STEPS if steps is None else steps)
            _torch_parts()
            self._claim_process()
            self._active = True
            atexit.register(self.close)
            if self._first == 0:
                self._begin()
            elif self._first == 1:
                self._prepare()
        self._faults = _page_faults()
        self._clock = time.perf_counter()

    def step(self):
        """Marks the end of one training step."""
        if not self._may_enter():
            return
        now = time.perf_counter()
        try:
            with self._harmless(f"failed at step {self._step}"):
                if self._called_elsewhere:
                    raise RuntimeError("step() was called by another thread, too")
                self._end_step(now - self._clock, _page_faults() - self._faults)
            self._faults = _page_faults()
            self._clock = time.perf_counter()
        finally:
            self._entered.release()

    def close(self):
        """Ends the capture; called by itself when the program ends."""
        if not self._may_enter():
            return
        try:
            self._end()
        finally:
            self._entered.release()

    def _end(self):
        self._active = False
        atexit.unregister(self.close)
        with self._harmless("failed while it ended"):
            self._report_end()
        with self._harmless("failed while it ended"):
            self._drop_tracer()
            self._unlock()

    def _may_enter(self):
        """Takes `_entered` and returns True where the caller may go on. PyTorch's profiler belongs to one process and,
        from _prepare on, to one thread. Others must not call it."""
        if not self._active or os.getpid() != self._process:  # a forked child is not the training
            return False
        if self._entered.acquire(blocking=False):
            if self._tracer is None or self._thread == threading.get_ident():
                return True
            self._entered.release()
        if not self._called_elsewhere:
            self._called_elsewhere = True
            _warn("step() or close() was called by another thread than the one whose steps are captured; the "
                  "training goes on without the capture")
        return False

    def _claim_process(self):
        global _running
        with _claim:
            if _running is not None and _running._active and _running._process == os.getpid():
                raise RuntimeError("a process has one capture at a time, and start() was called before: close() that "
                                   "capture first")
            _running = self

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def _report_end(self):
        if self._machine is not None:
            self._write_meta()
            if self._untraced_steps() == 0:
                _warn("no step was timed without tracing, so reports cannot compare with it: let "
                      "the training run for some steps after step %d", self._last)
        elif self._step == 0:
            _warn("nothing was captured: capture.step() was never called; call it at the end of "
                  "every training step")
        else:
            _warn("nothing was captured: the training ended after %d steps, before step %d was "
                  "over (the first step is step 0); choose earlier steps, such as steps=%d",
                  self._step, self._last, max(self._step - 1, 0))

    def _untraced_steps(self):
        """As the converter counts them: without the first two."""
        return sum(seconds is not None and not self._first <= step <= self._last
                   for step, seconds in enumerate(self._seconds) if step >= _WARM_UP)

    def _end_step(self, seconds, page_faults):
        ended, self._step = self._step, self._step + 1
        # The steps around the traced ones prepare the profiler or wait for ranks that still write.
        clean = not self._first - 1 <= ended <= self._last + 1
        traced = self._first <= ended <= self._last
        self._seconds.append(seconds if clean or traced else None)
        self._page_faults.append(page_faults if clean or traced else None)
        if ended == self._last:
            self._finish()
        elif traced:
            self._tracer.mark(self._step)
        elif self._step == self._first:
            self._begin()
        elif self._step == self._first - 1:
            self._prepare()
        elif ended == self._last + 1 + _TIMED_AFTERWARDS:
            self._end()

    def _prepare(self):
        self._rank, self._world_size, self._backend = _rank()
        os.makedirs(self._directory, exist_ok=True)
        self._stem = os.path.join(self._directory, f"rank{self._rank}")
        self._lock = _FileLock(self._stem + ".lock", self._directory, self._rank)
        self._thread = threading.get_ident()
        _let_children_end()
        self._tracer = _Tracer(self._stem)

    def _begin(self):
        if self._tracer is None:
            self._prepare()
        self._tracer.begin(self._first)

    def _finish(self):
        host, kineto = self._tracer.end()
        _check_complete(host, [])
        _check_complete(kineto, range(self._first, self._last + 1))
        for path, kind in ((host, "et"), (kineto, "kineto")):
            _publish(path, f"{self._stem}.{kind}.json", self._compress)
        self._machine = _machine(self._rank, self._world_size)
        self._write_meta()
        self._drop_tracer()
        if self._rank == 0:
            self._report_files()

    def _report_files(self):
        steps = (f"step {self._first}" if self._first == self._last
                 else f"steps {self._first} to {self._last}")
        others = f" ({self._world_size} ranks, each with its own files)"
        _report(f"captured {steps}{others if self._world_size > 1 else ''} in {self._directory}")
        for name in sorted(os.listdir(self._directory)):
            if name.startswith("rank0.") and ".tmp-" not in name and not name.endswith(".lock"):
                size = os.path.getsize(os.path.join(self._directory, name))
                _report(f"  {name}  {size / 1e6:.2f} MB")
        _report(f"next: reprise convert {shlex.quote(self._directory)} -o trace")

    def _write_meta(self):
        import torch

        meta = {
            "rank": self._rank, "world_size": self._world_size, "backend": self._backend,
            "job": _job(),
            "torch": str(torch.__version__),
            "cuda": getattr(torch.version, "cuda", None), "hip": getattr(torch.version, "hip", None),
            "threads": torch.get_num_threads(), **self._machine,
            "traced_steps": list(range(self._first, self._last + 1)), "step_seconds": self._seconds,
            "step_page_faults": self._page_faults,
        }
        temporary = _temporary(self._stem + ".meta.json")
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(meta, file, indent=1)
        os.replace(temporary, self._stem + ".meta.json")

    def _drop_tracer(self):
        tracer, self._tracer = self._tracer, None
        if tracer is not None:
            tracer.discard()

    def _unlock(self):
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    @contextlib.contextmanager
    def _harmless(self, what):
        """No failure of the capture reaches the training: it is logged and the capture ends."""
        try:
            yield
        except Exception as error:  # KeyboardInterrupt and SystemExit are the training's
            _warn("the capture %s, the training goes on without it: %s: %s", what,
                  type(error).__name__, error)
            self._active = False
            with contextlib.suppress(Exception):  # the reason to give up is logged already
                atexit.unregister(self.close)
                try:
                    self._drop_tracer()
                finally:
                    self._unlock()


def _warn(text, *values):
    with contextlib.suppress(Exception):  # a logger that fails is no reason to end a training
        _log.warning("reprise_capture: " + text, *values)


def _report(text):
    """By the program's own logging where it shows such messages, else on stderr."""
    with contextlib.suppress(Exception):
        if _log.hasHandlers() and _log.isEnabledFor(logging.INFO):
            _log.info("reprise_capture: %s", text)
        else:
            print(f"reprise_capture: {text}", file=sys.stderr, flush=True)


class TrainerCapture:
    """Captures steps of a transformers.Trainer, which calls it: callbacks=[TrainerCapture("capture_dir")].
    Parameters are those of start(). Trainer's step is one of the optimizer, with all its micro-batches;
    what Trainer logs, evaluates or saves after a step belongs to the next one."""

    def __init__(self, directory="capture", steps=None, compress=True, **unknown):
        self._arguments = {"directory": directory, "steps": steps, "compress": compress, **unknown}
        self._capture = None

    def on_train_begin(self, *unused, **unused_too):
        self._capture = start(**self._arguments)

    def on_step_end(self, *unused, **unused_too):
        if self._capture is not None:
            self._capture.step()

    def on_train_end(self, *unused, **unused_too):
        if self._capture is not None:
            self._capture.close()

    def __getattr__(self, name):
        # Trainer calls every callback for every event: the others change nothing. No base class of
        # transformers is needed for that.
        if name.startswith("on_"):
            return lambda *unused, **unused_too: None
        raise AttributeError(name)


class _Tracer:
    """Host trace and Kineto, switched on and off together."""

    def __init__(self, stem):
        self._torch, observer_type, profile_type, activities = _torch_parts()
        _check_no_profiler(self._torch)
        self._host, self._kineto = _temporary(stem + ".et.json"), _temporary(stem + ".kineto.json")
        self._observer = observer_type()
        self._annotation = contextlib.ExitStack()  # of the step that runs now
        self._registered = self._prepared = self._tracing = False
        self._profile = profile_type(activities=activities, record_shapes=True,
                                     **self._profile_options())
        self._profile.prepare_trace()
        self._prepared = True

    def _profile_options(self):
        # Waits between CUDA streams are recorded only if asked for; not every version can.
        try:
            from torch._C._profiler import _ExperimentalConfig
            return {"experimental_config": _ExperimentalConfig(enable_cuda_sync_events=True)}
        except (ImportError, TypeError):
            return {}

    def begin(self, step):
        _check_no_profiler(self._torch)
        self._synchronize()  # kernels of the step before belong to it
        self._observer.register_callback(self._host)
        self._registered = True
        if not os.path.exists(self._host):
            raise RuntimeError("the host trace did not begin: PyTorch takes one "
                               "ExecutionTraceObserver at a time")
        self._start_profile()
        self._observer.start()
        self.mark(step)

    def _start_profile(self):
        self._prepared = False
        self._profile.start_trace()
        self._tracing = True

    def mark(self, step):
        """Ends the annotation of the step before, if any, and begins this one's."""
        self._annotation.close()
        # The name that torch.profiler gives to steps; the converter looks for it.
        self._annotation.enter_context(
            self._torch.profiler.record_function(f"ProfilerStep#{step}"))

    def end(self):
        self._synchronize()  # the step's last kernels end within its annotation
        self._annotation.close()
        self._stop()
        self._profile.export_chrome_trace(self._kineto)
        return self._host, self._kineto

    def discard(self):
        """Switches off what is on and removes the temporary files that were not published."""
        # Some versions leave compiled kernels beside the host trace.
        resources = os.path.splitext(self._host)[0] + "_resources"
        with contextlib.ExitStack() as all_of_it:  # each, whatever becomes of those before
            all_of_it.callback(shutil.rmtree, resources, ignore_errors=True)
            for path in (self._host, self._kineto):
                all_of_it.callback(_remove, path)
            all_of_it.callback(self._stop)
            all_of_it.callback(self._annotation.close)

    def _stop(self):
        with contextlib.ExitStack() as all_of_it:
            if self._prepared:
                self._start_profile()  # what was prepared can only be ended by way of a start
            registered, self._registered = self._registered, False
            tracing, self._tracing = self._tracing, False
            if registered:
                all_of_it.callback(self._observer.unregister_callback)
            if tracing:
                all_of_it.callback(self._profile.stop_trace)
            if registered:
                self._observer.stop()

    def _synchronize(self):
        if self._torch.cuda.is_available():
            self._torch.cuda.synchronize()


def _torch_parts():
    """torch, ExecutionTraceObserver, profile and the activities that this build can record."""
    import torch
    import torch.profiler

    observer = getattr(torch.profiler, "ExecutionTraceObserver", None)
    if observer is None or not hasattr(observer, "register_callback"):
        raise RuntimeError(f"PyTorch {torch.__version__} has no ExecutionTraceObserver; it takes "
                           "2.1 or newer")
    known = torch.profiler.ProfilerActivity
    supported = torch.profiler.supported_activities()
    activities = [known.CPU] + [getattr(known, name) for name in ("CUDA", "XPU")  # CUDA: ROCm, too
                                if getattr(known, name, None) in supported]
    return torch, observer, torch.profiler.profile, activities


def _check_no_profiler(torch):
    """PyTorch ends the process, or fails in the training's calls, where two profilers run at once."""
    enabled = getattr(getattr(torch, "autograd", None), "_profiler_enabled", None)
    if enabled is not None and enabled():
        raise RuntimeError("the training runs a profiler of its own, and PyTorch takes one at a time")


_children_end = False


def _let_children_end():
    """The exit of a forked child waits for the threads of PyTorch's profiler, and a child has none of them. The child now
    ends before that wait, with its own exit code, once Python has ended. Workers of data loaders end by os._exit anyway."""
    global _children_end
    if _children_end or not hasattr(os, "register_at_fork"):
        return
    _children_end = True
    os.register_at_fork(after_in_child=_end_before_profiler)


def _end_before_profiler():
    with contextlib.suppress(Exception):  # another C library
        import ctypes

        libc = ctypes.CDLL(None)
        libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)
        atexit.register(libc.fflush, None)


def _job():
    """The same text on all ranks of a job, and another one in other jobs; None without a launcher."""
    known = [f"{name}={os.environ[name]}" for name in _JOB_VARIABLES if name in os.environ]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16] if known else None


class _FileLock:
    """Keeps two jobs from writing the same rank's files, until the capture or the process ends."""

    def __init__(self, path, directory, rank):
        self._path, self._file = path, None
        try:
            import fcntl

            self._file = open(path, "a", encoding="utf-8")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise RuntimeError(f"another job captures rank {rank} into {directory}: give each job a directory "
                               "of its own") from None
        except (ImportError, OSError):
            pass  # a file system without locks

    def release(self):
        if self._file is not None:
            _remove(self._path)
            self._file.close()


def _rank():
    """(rank, world size, backend) as torch.distributed has them, else as the launcher says."""
    import torch

    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()
    for rank, size, _ in _RANK_VARIABLES:
        if rank in os.environ:
            return int(os.environ[rank]), int(os.environ.get(size, "1")), None
    return 0, 1, None


def _page_faults():
    """Of this process so far: pages of memory that were used for the first time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _machine(rank, world_size):
    """Processor, device, cores and placement, by reprise_machine.py."""
    try:
        import reprise_machine

        return reprise_machine.describe(rank, world_size, _RANK_VARIABLES, _report)
    except Exception as error:  # the capture is good without them
        if rank == 0:
            _warn("processor, device and placement of the ranks are not recorded; "
                  "reprise_machine.py belongs beside reprise_capture.py: %s", error)
        return {}


def _step_range(steps):
    """(first, last) of whatever names steps in a row."""
    wrong = ValueError(f"steps={steps!r}: expected a step such as 5, (5, 7) or '5-7' for steps 5 "
                       "to 7, or steps in a row such as [5, 6, 7]")
    numbers = steps if hasattr(steps, "__iter__") else [steps]
    if isinstance(steps, str):
        if not re.fullmatch(r"\s*\d+(\s*-\s*\d+|(\s*,\s*\d+)*)\s*", steps):
            raise wrong
        numbers = re.findall(r"\d+", steps)
    try:
        numbers = [int(n) if isinstance(n, str) else operator.index(n) for n in numbers]
    except (TypeError, ValueError):
        raise wrong from None
    first, last = (numbers[0], numbers[-1]) if numbers else (0, -1)
    if not 0 <= first <= last or len(numbers) != 2 and numbers != list(range(first, last + 1)):
        raise wrong
    return first, last


def _temporary(path):
    return f"{path}.tmp-{os.getpid()}"


def _check_complete(path, steps):
    """PyTorch says nothing of a disk that was full, nor of another profiler that took over during the steps."""
    missing = {f'ProfilerStep#{step}"'.encode() for step in steps}
    end = b""
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            end = end[-64:] + block  # names across the border of two blocks
            missing = {name for name in missing if name not in end}
    if not end.rstrip().endswith(b"}"):
        raise RuntimeError(f"{path} is not whole: perhaps the disk is full")
    if missing:
        raise RuntimeError(f"the Kineto trace lacks {min(missing).decode()[:-1]}: another profiler ran during the steps")


def _remove(path):
    if os.path.exists(path):
        os.remove(path)


def _publish(temporary, path, compress):
    """Moves a finished file to its name, in one go; an older capture's file gives way."""
    final, other = (path + ".gz", path) if compress else (path, path + ".gz")
    with contextlib.ExitStack() as unfinished:
        unfinished.callback(_remove, temporary)
        if compress:
            packed = _temporary(final)
            unfinished.callback(_remove, packed)
            with open(temporary, "rb") as source, gzip.open(packed, "wb", compresslevel=4) as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
        os.replace(packed if compress else temporary, final)
    _remove(other)  # the converter refuses two files for one rank
