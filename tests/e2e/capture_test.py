#!/usr/bin/env python3
"""report/python/reprise_capture.py: against a stand-in torch that writes down what is asked of it, and,
where PyTorch is installed (REPRISE_TORCH_PYTHON or this interpreter), for real."""
import fcntl
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import program
import skips

CAPTURE = program.ROOT / "report" / "python"
TORCH_PYTHON = os.environ.get("REPRISE_TORCH_PYTHON", sys.executable)

# What the module needs of torch, no more: a call that it should not make fails.
STAND_IN = '''
import json, os, sys, types
log, annotated = [], []
autograd = types.SimpleNamespace(_profiler_enabled=lambda: "USERS_PROFILER" in os.environ)
FAIL = os.environ.get("FAIL", "")
def call(text):
    log.append(text)
    if text.split(" ")[0] == FAIL:
        raise RuntimeError("the stand-in was told to fail")
__version__ = "2.9.stand-in"
version = types.SimpleNamespace(cuda=None, hip="6.0")
def get_num_threads(): return 3
def get_device_name(device):
    if "NAMELESS" in os.environ:
        raise RuntimeError("the stand-in's device has no name")
    return f"Stand-in GPU {device}"
cuda = types.SimpleNamespace(is_available=lambda: True, synchronize=lambda: call("synchronize"),
                             current_device=lambda: 1, get_device_name=get_device_name)
RANK = int(os.environ.get("STAND_IN_RANK", "-1"))
distributed = types.SimpleNamespace(
    is_available=lambda: True, is_initialized=lambda: RANK >= 0, get_rank=lambda: RANK,
    get_world_size=lambda: 4, get_backend=lambda: "nccl")
class ProfilerActivity:
    CPU, CUDA = "CPU", "CUDA"
class ExecutionTraceObserver:
    def register_callback(self, path):
        call("register")
        self.path = path
        if "TAKEN" in os.environ:
            return
        open(path, "w").write("{half")
        os.mkdir(os.path.splitext(path)[0] + "_resources")
    def start(self): call("observer_start")
    def stop(self): call("observer_stop")
    def unregister_callback(self):
        call("unregister")
        open(self.path, "w").write('{"schema": "host"}')
class profile:
    def __init__(self, activities, record_shapes, experimental_config=None):
        call(f"profile {activities} {record_shapes}")
    def prepare_trace(self): call("prepare")
    def start_trace(self): call("profile_start")
    def stop_trace(self): call("profile_stop")
    def export_chrome_trace(self, path):
        call("export")
        steps = [text.split()[1] for text in annotated if not ("OTHER_PROFILER" in os.environ and text.endswith("3"))]
        open(path, "w").write(json.dumps({"schemaVersion": 1, "steps": steps})[:-5 if "DISK_FULL" in os.environ else None])
class record_function:
    def __init__(self, name): self.name = name
    def __enter__(self):
        annotated.append("begin " + self.name)
        call("begin " + self.name)
        self.entered = True
    def __exit__(self, *unused):
        assert self.entered
        call("end " + self.name)
profiler = types.ModuleType("torch.profiler")
for thing in (ProfilerActivity, profile, record_function):
    setattr(profiler, thing.__name__, thing)
if "OLD" not in os.environ:
    profiler.ExecutionTraceObserver = ExecutionTraceObserver
profiler.supported_activities = lambda: {"CPU", "CUDA"}
sys.modules["torch.profiler"] = profiler
'''

# Trains steps, notes after each one what torch was asked for and which files there are.
TRAINING = '''
import glob, json, os, sys, threading, time
import torch, reprise_capture
steps = eval(sys.argv[2])
capture = reprise_capture.start(*eval(os.environ.get("START", "(sys.argv[1], steps)")),
                                compress="PLAIN" not in os.environ, **eval(os.environ.get("MORE", "{}")))
story = [list(torch.log)]
if "TWICE" in os.environ:
    second = reprise_capture.start(sys.argv[1] + "_second", steps)
for step in range(int(sys.argv[3])):
    time.sleep(0.002)
    torch.log.clear()
    if step == 3 and "THREAD" in os.environ:
        thread = threading.Thread(target=capture.step)
        thread.start()
        thread.join()
    if step == 3 and "FORK" in os.environ:
        child = os.fork()
        if child == 0:
            for _ in range(5):
                capture.step()
            print(len(torch.log), file=sys.stderr)
            sys.exit(7)
        print("the child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=sys.stderr)
    if step == 8 and "LOCK" in os.environ:  # the files are written, the last rank0.meta.json is not
        import fcntl
        try:
            fcntl.flock(open(sys.argv[1] + "/rank0.lock"), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("locked", file=sys.stderr)
    if "FORGET" not in os.environ:
        capture.step()
        if "TWICE" in os.environ:
            second.step()
    story.append(list(torch.log))
torch.log.clear()
if "CRASH" in os.environ:
    print(json.dumps(story), flush=True)
    raise ValueError("training failed")
capture.close()
print(json.dumps(story + [list(torch.log)]))
'''

# Calls callbacks as transformers.Trainer does: each of them for every event, with what is there by name. Two
# micro-batches make a step.
TRAINER = '''
import json, sys
import torch, reprise_capture
callback = reprise_capture.TrainerCapture(sys.argv[1], steps=eval(sys.argv[2]))
def fire(event):
    answer = getattr(callback, event)("args", "state", "control", model=None, optimizer=None)
    assert answer is None, "an answer would be the new control"
story = []
fire("on_init_end")
fire("on_train_begin")
fire("on_epoch_begin")
for step in range(int(sys.argv[3])):
    torch.log.clear()
    fire("on_step_begin")
    fire("on_substep_end")
    fire("on_pre_optimizer_step")
    fire("on_optimizer_step")
    fire("on_step_end")
    fire("on_log")
    story.append(list(torch.log))
fire("on_train_end")
assert not hasattr(callback, "state")
print(json.dumps(story))
'''

REAL_TRAINING = '''
import os, sys, threading
import torch, torch.distributed as dist
from torch import nn
import reprise_capture
torch.manual_seed(0)
torch.set_num_threads(1)
several = "RANK" in os.environ
if several:
    dist.init_process_group("gloo")
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10))
if several:
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters())
capture = reprise_capture.start(sys.argv[1], steps=(5, 6))
fault = os.environ.get("FAULT")
second = reprise_capture.start(sys.argv[1] + "_second", steps=(5, 6)) if fault == "twice" else None
for i in range(int(sys.argv[2])):
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if fault == "thread" and i == 6:
        thread = threading.Thread(target=capture.step)
        thread.start()
        thread.join()
    if fault == "fork" and i == 6:
        child = os.fork()
        if child == 0:
            capture.step()
            sys.exit(7)
        print("the child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if fault == "profiler" and i == 6:
        own = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
        own.start()
    if fault == "killed" and i == 6:
        print("loss", loss.item(), flush=True)
        os._exit(0)
    capture.step()
    if second is not None:
        second.step()
print("loss", loss.item())
if several:
    dist.destroy_process_group()
'''


def why_no_torch():
    done = subprocess.run([TORCH_PYTHON, "-c", "import torch; torch.profiler.ExecutionTraceObserver"],
                          capture_output=True, text=True, check=False)
    return done.stderr.strip().split("\n")[-1] if done.returncode else None


class StandIn(program.ProgramTest):
    def train(self, steps, count, expect=0, training=TRAINING, **env):
        (self.dir / "torch").mkdir(exist_ok=True)
        (self.dir / "torch" / "__init__.py").write_text(STAND_IN)
        script = self.dir / "train.py"
        script.write_text(training)
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("RANK", "WORLD_SIZE", "OMPI_", "PMI_", "SLURM_"))}
        done = subprocess.run(
            [sys.executable, script, self.dir / "capture", repr(steps), str(count)],
            env={**clean, "PYTHONPATH": f"{self.dir}:{CAPTURE}", "PYTHONDONTWRITEBYTECODE": "1",
                 **{name: str(value) for name, value in env.items()}},
            capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.stderr = done.stderr
        return json.loads(done.stdout)

    def files(self):
        return sorted(path.name for path in (self.dir / "capture").glob("*"))

    def meta(self, rank):
        return json.loads((self.dir / "capture" / f"rank{rank}.meta.json").read_text())

    def test_what_is_asked_of_torch_and_when(self):
        story = self.train((3, 4), 40)
        self.assertEqual(story[2], ["profile ['CPU', 'CUDA'] True", "prepare"])  # after step 1
        self.assertEqual(story[3], ["synchronize", "register", "profile_start", "observer_start",
                                    "begin ProfilerStep#3"])
        self.assertEqual(story[4], ["end ProfilerStep#3", "begin ProfilerStep#4"])
        self.assertEqual(story[5], ["synchronize", "end ProfilerStep#4", "observer_stop",
                                    "profile_stop", "unregister", "export"])
        untouched = story[:2] + story[6:]
        self.assertTrue(all(calls == [] for calls in untouched), untouched)
        self.assertEqual(self.files(),
                         ["rank0.et.json.gz", "rank0.kineto.json.gz", "rank0.meta.json"])
        host = gzip.decompress((self.dir / "capture" / "rank0.et.json.gz").read_bytes())
        self.assertEqual(host, b'{"schema": "host"}')

    def test_trainer_calls_it_once_a_step(self):
        story = self.train((3, 4), 20, training=TRAINER)
        self.assertEqual(story[3], ["end ProfilerStep#3", "begin ProfilerStep#4"])
        self.assertEqual(self.meta(0)["traced_steps"], [3, 4])
        self.assertIn("rank0.et.json.gz", self.files())

    def test_meta_has_untraced_steps(self):
        self.train((3, 4), 40, STAND_IN_RANK=2)
        meta = self.meta(2)
        self.assertEqual(meta["traced_steps"], [3, 4])
        self.assertEqual((meta["rank"], meta["world_size"], meta["backend"]), (2, 4, "nccl"))
        seconds = meta["step_seconds"]
        # Preparing (2) and what follows the writing (5) say nothing about a step; bounded after.
        self.assertEqual([i for i, value in enumerate(seconds) if value is None], [2, 5])
        self.assertEqual(len(seconds), 16)
        self.assertTrue(all(value is None or value >= 0.002 for value in seconds), seconds)
        page_faults = meta["step_page_faults"]
        self.assertEqual([value is None for value in page_faults], [value is None for value in seconds])
        self.assertTrue(all(value is None or value >= 0 for value in page_faults), page_faults)

    def test_steps_in_every_form(self):
        for steps in ([5, 6, 7], "5-7", "5, 6,7", (5, 7), range(5, 8)):
            with self.subTest(steps):
                self.train(steps, 12)
                self.assertEqual(self.meta(0)["traced_steps"], [5, 6, 7])
        for steps in (4, "4", [4]):
            self.train(steps, 12)
            self.assertEqual(self.meta(0)["traced_steps"], [4])
        self.train(None, 12, START="(sys.argv[1],)")  # none: 5 to 7
        self.assertEqual(self.meta(0)["traced_steps"], [5, 6, 7])

    def test_an_unknown_parameter_is_named(self):
        self.train((1, 2), 5, MORE="{'step': 3}")
        self.assertIn("no parameter step; it takes directory, steps and compress", self.stderr)
        self.assertEqual(self.meta(0)["traced_steps"], [1, 2])

    def test_it_reports_what_it_wrote(self):
        self.train((3, 4), 40, STAND_IN_RANK=0)
        for text in ("captured steps 3 to 4 (4 ranks, each with its own files) in "
                     f"{self.dir / 'capture'}\n", "  rank0.et.json.gz  0.00 MB\n",
                     "  rank0.kineto.json.gz  0.00 MB\n", "  rank0.meta.json  0.00 MB\n",
                     f"next: reprise convert {self.dir / 'capture'} -o trace\n"):
            self.assertIn(text, self.stderr)
        self.train((3, 4), 40, STAND_IN_RANK=1)
        self.assertEqual(self.stderr, "", "one rank reports for all")

    def test_no_untraced_step_is_named(self):
        self.train((3, 4), 5)  # steps 0 and 1 never count, step 2 prepares
        self.assertIn("no step was timed without tracing", self.stderr)
        self.train((3, 4), 8)
        self.assertNotIn("no step was timed without tracing", self.stderr)

    def test_meta_has_the_machine(self):
        self.train((3, 4), 12)
        meta = self.meta(0)
        self.assertEqual((meta["device"], meta["threads"]), ("Stand-in GPU 1", 3))
        self.assertEqual(meta["cores"], len(os.sched_getaffinity(0)))
        self.assertIn(f": {meta['processor']}\n", pathlib.Path("/proc/cpuinfo").read_text())
        self.train((3, 4), 12, NAMELESS=1)
        self.assertIsNone(self.meta(0)["device"])

    def test_meta_has_the_place_of_the_rank(self):
        self.train((3, 4), 12, RANK=5, WORLD_SIZE=8, LOCAL_RANK=1)
        placement = self.meta(5)["placement"]
        self.assertEqual((placement["host"], placement["slot"]), (os.uname().nodename, 1))
        # The stand-in has a device, and neither it nor a driver has an address.
        self.assertNotIn("pci_bus_id", placement)
        self.assertIn("libamdhip64.so", placement["unread"]["pci_bus_id"])
        self.assertEqual(self.stderr, "", "rank 0 reports for all")
        self.train((3, 4), 12)
        self.assertIn(f"rank 0: host {os.uname().nodename}, slot 0", self.stderr.replace(";", ","))
        self.assertIn("  pci_bus_id could not be read: ", self.stderr)

    def test_one_file_alone_captures_without_the_machine(self):
        shutil.copy(CAPTURE / "reprise_capture.py", self.dir)
        self.train((3, 4), 12, PYTHONPATH=self.dir)
        self.assertEqual(self.files(),
                         ["rank0.et.json.gz", "rank0.kineto.json.gz", "rank0.meta.json"])
        meta = self.meta(0)
        self.assertEqual(meta["threads"], 3)
        self.assertFalse({"processor", "device", "cores", "placement"} & set(meta))
        self.assertIn("reprise_machine.py belongs beside reprise_capture.py", self.stderr)

    def test_a_forgotten_step_is_named(self):
        self.train((3, 4), 12, FORGET=1)
        self.assertIn("capture.step() was never called", self.stderr)
        self.assertEqual(self.files(), [])

    def test_rank_from_the_launcher_and_plain_files(self):
        self.train(3, 6, RANK=7, WORLD_SIZE=8, PLAIN=1)
        self.assertEqual(self.files(), ["rank7.et.json", "rank7.kineto.json", "rank7.meta.json"])
        self.assertEqual(self.meta(7)["world_size"], 8)
        # The same rank again, compressed: the plain files give way.
        self.train(3, 6, RANK=7, WORLD_SIZE=8)
        self.assertEqual(self.files(),
                         ["rank7.et.json.gz", "rank7.kineto.json.gz", "rank7.meta.json"])

    def test_from_the_first_step(self):
        story = self.train((0, 0), 2)
        self.assertIn("begin ProfilerStep#0", story[0])
        self.assertIn("export", story[1])
        self.assertEqual(len(self.files()), 3)

    def test_training_that_ends_early_leaves_no_files(self):
        story = self.train((3, 6), 5)
        self.assertEqual(story[-1], ["end ProfilerStep#5", "observer_stop", "profile_stop",
                                     "unregister"])
        self.assertEqual(self.files(), [])
        self.assertIn("ended after 5 steps, before step 6 was over", self.stderr)
        story = self.train((3, 6), 2)  # prepared, never begun
        self.assertEqual(story[-1], ["profile_start", "profile_stop"])
        self.assertEqual(self.files(), [])

    def test_training_that_fails_while_it_is_traced(self):
        self.train((3, 6), 5, expect=1, CRASH=1)
        self.assertIn("training failed", self.stderr)
        self.assertIn("nothing was captured", self.stderr)
        self.assertEqual(self.files(), [])

    def test_no_failure_of_the_capture_reaches_the_training(self):
        for fail in ("profile", "prepare", "synchronize", "register", "profile_start", "begin",
                     "observer_start", "observer_stop", "profile_stop", "unregister", "export"):
            with self.subTest(fail):
                story = self.train((3, 4), 12, FAIL=fail)
                self.assertEqual(len(story), 14)
                self.assertTrue(all(calls == [] for calls in story[6:]), "went on after a failure")
                self.assertIn("the training goes on without it", self.stderr)
                self.assertEqual(self.files(), [])
                calls = [call for step in story for call in step]
                for on, off in (("register", "unregister"), ("profile_start", "profile_stop")):
                    if on in calls and on != fail:
                        self.assertIn(off, calls, "left switched on")

    def test_one_capture_at_a_time(self):
        story = self.train((3, 4), 12, TWICE=1)
        self.assertIn("a process has one capture at a time", self.stderr)
        self.assertEqual([call for step in story for call in step].count("profile_start"), 1)
        self.assertEqual(self.files(), ["rank0.et.json.gz", "rank0.kineto.json.gz", "rank0.meta.json"])
        self.assertFalse((self.dir / "capture_second").exists())

    def test_another_threads_step_ends_the_capture(self):
        story = self.train((2, 5), 12, THREAD=1)
        self.assertEqual(self.stderr.count("called by another thread than the one"), 1)
        self.assertEqual(story[4], ["end ProfilerStep#3", "observer_stop", "profile_stop", "unregister"])
        self.assertTrue(all(calls == [] for calls in story[5:]))
        self.assertEqual(self.files(), [])
        story = self.train((6, 7), 12, THREAD=1)  # a step too many, but before there is a profiler
        self.assertEqual(len(self.files()), 3)

    def test_a_forked_childs_steps_do_nothing(self):
        self.train((3, 4), 12, FORK=1)
        self.assertTrue(self.stderr.startswith("0\nthe child ended with 7\n"), self.stderr)
        self.assertEqual(self.files(), ["rank0.et.json.gz", "rank0.kineto.json.gz", "rank0.meta.json"])

    def test_the_trainings_own_profiler_goes_first(self):
        story = self.train((3, 4), 12, USERS_PROFILER=1)
        self.assertIn("the training runs a profiler of its own", self.stderr)
        self.assertNotIn("prepare", [call for step in story for call in step])
        self.train((2, 4), 12, OTHER_PROFILER=1)  # that began between two traced steps
        self.assertIn("the Kineto trace lacks ProfilerStep#3: another profiler ran during the steps", self.stderr)
        self.assertEqual(self.files(), [])

    def test_half_a_file_is_none(self):
        self.train((2, 4), 12, DISK_FULL=1)
        self.assertIn("is not whole: perhaps the disk is full", self.stderr)
        self.assertEqual(self.files(), [])

    def test_two_jobs_in_one_directory(self):
        (self.dir / "capture").mkdir()
        with open(self.dir / "capture" / "rank0.lock", "w", encoding="utf-8") as other_job:
            fcntl.flock(other_job, fcntl.LOCK_EX)
            self.train((2, 4), 12)
            self.assertIn("another job captures rank 0 into", self.stderr)
            self.assertEqual(self.files(), ["rank0.lock"])
        self.train((2, 4), 12, LOCK=1)  # the other one has ended: nobody holds what it left
        self.assertIn("locked", self.stderr)
        self.assertEqual(self.files(), ["rank0.et.json.gz", "rank0.kineto.json.gz", "rank0.meta.json"])

    def test_ranks_of_a_job_name_the_same_job(self):
        jobs = []
        for rank, port in ((0, 1), (1, 1), (0, 2)):
            self.train((2, 3), 12, RANK=rank, WORLD_SIZE=2, MASTER_PORT=port)
            jobs.append(self.meta(rank)["job"])
        self.assertEqual(jobs[0], jobs[1])
        self.assertNotEqual(jobs[0], jobs[2])

    def test_what_cannot_be_captured_is_said(self):
        for steps in ((5, 3), (-1, 2), "soon", 2.5, (1, 2, 4), [], "7-5"):
            self.train(steps, 3)
            self.assertIn("the capture cannot begin", self.stderr)
            self.assertIn("expected a step such as 5, (5, 7) or '5-7'", self.stderr)
        self.train(5, 3, START="(object(), 5)")
        self.assertIn("the capture cannot begin, the training goes on without it: TypeError", self.stderr)
        self.train((1, 2), 5, OLD=1)
        self.assertIn("2.1 or newer", self.stderr)
        self.train((1, 2), 5, TAKEN=1)
        self.assertIn("one ExecutionTraceObserver at a time", self.stderr)
        self.assertEqual(self.files(), [])
        (self.dir / "capture").rmdir()
        (self.dir / "capture").write_text("in the way")
        self.train((1, 2), 5)
        self.assertIn("the training goes on without it", self.stderr)

    def test_no_dependencies(self):
        for name in ("reprise_capture.py", "reprise_machine.py"):
            source = (CAPTURE / name).read_text()
            imported = {line.split()[1].split(".")[0] for line in source.split("\n")
                        if line.lstrip().startswith(("import ", "from ")) and '"""' not in line
                        and "reprise_capture" not in line}
            self.assertLessEqual(imported, {"torch", "reprise_machine", *sys.stdlib_module_names})


@skips.skip_class_if("torch_python", why_no_torch())
class RealTorch(program.ProgramTest):
    def train(self, count, ranks=1, **env):
        script = self.dir / "train.py"
        script.write_text(textwrap.dedent(REAL_TRAINING))
        launcher = [] if ranks == 1 else ["-m", "torch.distributed.run", "--standalone",
                                          f"--nproc-per-node={ranks}"]
        done = subprocess.run(
            [TORCH_PYTHON, *launcher, script, self.dir / "capture", str(count)],
            env={**os.environ, "PYTHONPATH": str(CAPTURE), "PYTHONDONTWRITEBYTECODE": "1", **env},
            capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("loss"), ranks)
        return done

    def convert_and_replay(self, ranks):
        trace = self.dir / "trace"
        self.run_program("convert", self.dir / "capture", "-o", trace)
        checked = self.run_json("validate", "--timing", trace)
        self.assertTrue(checked["ok"], checked)
        stats = self.run_json("stats", trace)
        for rank in stats["ranks"]:
            self.assertEqual([step["name"] for step in rank["steps"]],
                             ["ProfilerStep#5", "ProfilerStep#6"])
            self.assertGreater(rank["untraced_step_ns"], 0)
            self.assertGreaterEqual(rank["untraced_page_faults"], 0)
        self.run_program("replay", trace, "-o", self.dir / "run", "--iterations", 2, ranks=ranks)
        report = self.run_json("report", self.dir / "run")
        self.assertEqual(report["iterations"], 2)
        self.assertGreater(program.real_of_work(report), 0.9)
        return stats

    def test_one_rank(self):
        self.train(9)
        stats = self.convert_and_replay(1)
        self.assertIn("gemm", {row["class"] for row in stats["classes"]})

    def test_two_ranks(self):
        self.train(9, ranks=2)
        stats = self.convert_and_replay(2)
        self.assertEqual({row["kind"] for row in stats["transfers"]}, {"all_reduce"})

    def test_early_end(self):
        done = self.train(6)
        self.assertIn("nothing was captured", done.stderr)
        self.assertEqual(list((self.dir / "capture").glob("*")), [])

    def test_the_training_goes_on(self):
        """Each of these ended the process, or hung, where nothing was checked before PyTorch was asked."""
        whole = {"rank0.et.json.gz", "rank0.kineto.json.gz", "rank0.meta.json"}
        for fault, left in (("twice", whole), ("fork", whole), ("thread", set()), ("profiler", set())):
            with self.subTest(fault):
                shutil.rmtree(self.dir / "capture", ignore_errors=True)
                done = self.train(12, FAULT=fault)
                self.assertEqual({path.name for path in (self.dir / "capture").glob("*")}, left, done.stderr)
                if fault == "fork":
                    self.assertIn("the child ended with 7", done.stdout)
                else:
                    self.assertIn("the training goes on without", done.stderr)

    def test_what_a_killed_training_leaves_is_named(self):
        self.train(12, FAULT="killed")
        left = next((self.dir / "capture").glob("rank0.et.json.tmp-*")).name
        done = self.run_program("convert", self.dir / "capture", "-o", self.dir / "trace", expect=3)
        self.assertIn(left, done.stderr)


if __name__ == "__main__":
    sys.exit(program.main())
