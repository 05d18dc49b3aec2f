#!/usr/bin/env python3
"""--resume: a command that was ended goes on with what it has left, and writes the bytes of one that was not."""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import program
from integrity_test import edit_json
from program import BAD_INPUT, TRACES
from shared_work_test import SharedTest, bytes_of, children_of

USAGE, ENVIRONMENT = 2, 4
SOON_S = 60


def bytes_of_files(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


class ResumeTest(SharedTest):
    def setUp(self):
        super().setUp()
        self.work = self.dir / "work"
        self.work.mkdir()
        self.partial = self.work / "set.partial"
        self.ranks = self.partial / "ranks"

    def resume(self, *command, ranks=1, expect=0):
        return self.run_program(*command, "--resume", ranks=ranks, expect=expect, cwd=self.work)

    def plain(self, *command, expect=0):
        """The bytes of a run that nothing ends, and what it says."""
        folder = self.dir / "plain"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        done = self.run_program(*command, cwd=folder, expect=expect)
        return bytes_of(folder / "set"), done.stdout

    def check_whole(self, done, plain, said):
        """The output, that nothing else is left, and what the command says beside what it says without --resume."""
        expected, lines = plain
        self.assertEqual(bytes_of(self.work / "set"), expected)
        self.assertEqual([path.name for path in self.work.iterdir()], ["set"])
        own = [line for line in done.stdout.splitlines() if "resume" in line]
        self.assertEqual(own, [said])
        self.assertEqual([line for line in done.stdout.splitlines() if line != said], lines.splitlines())

    def check_no_set(self, whole=None):
        """Nothing is where the output is to be, and nothing that is left reads as a set; `whole`, its bytes, apart."""
        self.assertFalse((self.work / "set").exists())
        for path in (self.partial, self.ranks, self.partial / "set"):
            if not path.exists() or bytes_of_files(path) == whole:
                continue
            for command in ("stats", "validate"):
                done = subprocess.run([os.path.abspath(program.REPRISE), command, str(path)], cwd=self.work,
                                      capture_output=True, text=True, check=False)
                if "no file of rank" not in done.stdout:  # ended while it published
                    self.assertEqual(done.returncode, BAD_INPUT, done.stdout + done.stderr)

    def flip(self, path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)


class Converts(ResumeTest):
    """One rank fails, the others' work stays."""

    def setUp(self):
        super().setUp()
        self.source = self.dir / "capture"
        self.command = ("convert", self.source, "-o", "set")

    def damaged(self, case, rank, kind="kineto"):
        """A copy of the capture, one of its files cut; what puts it back."""
        shutil.rmtree(self.source, ignore_errors=True)
        shutil.copytree(TRACES / case, self.source)
        path = self.source / f"rank{rank}.{kind}.json.gz"
        whole = path.read_bytes()
        path.write_bytes(whole[:len(whole) // 2])
        return lambda: path.write_bytes(whole)

    def all_made(self, case="gloo_comms/gpt_tp4", options=()):
        """All ranks are made, and the set is not published: --strict refuses it."""
        shutil.copytree(TRACES / case, self.source)

        def rename(kineto):
            for event in kineto["traceEvents"]:
                if event.get("name", "").startswith("ProfilerStep#"):
                    event["name"] = "ProfilerStep#77"
        edit_json(self.source / "rank1.kineto.json.gz", rename)
        self.resume(*self.command, *options, "--strict", expect=BAD_INPUT)
        self.assertEqual(len(list(self.ranks.glob("*.made"))), 4)
        self.check_no_set()

    def part(self, rank, ending):
        return self.ranks / f"capture.{rank}.et.{ending}"

    def test_nothing_to_resume(self):
        command = ("convert", TRACES / "gloo_comms" / "gpt_tp4", "-o", "set")
        for count in (1, 2):
            done = self.resume(*command, ranks=count)
            self.check_whole(done, self.plain(*command), "nothing to resume: 4 ranks made")
            shutil.rmtree(self.work / "set")

    def test_what_was_read_before_a_rank_failed(self):
        """Groups, clocks and ends of transfers follow from what other ranks recorded, whoever read them when."""
        for case in ("gloo_comms/gpt_tp4", "gloo_comms/gpt_pp4", "gloo_comms/moe_ep4", "gloo/gpt_ddp4", "gloo_comms/collectives4"):
            for first, second in ((1, 1), (2, 3), (3, 1)):
                with self.subTest(case, processes=(first, second)):
                    mend = self.damaged(case, 3)
                    self.resume(*self.command, "-v", ranks=first, expect=BAD_INPUT)
                    self.assertEqual({path.name for path in self.ranks.glob("*.read")},
                                     {f"capture.{rank}.et.read" for rank in range(3)})
                    self.check_no_set()
                    mend()
                    done = self.resume(*self.command, "-v", ranks=second)
                    self.check_whole(done, self.plain(*self.command, "-v"), "resumed: 0 ranks taken up, 4 made")
                    shutil.rmtree(self.work / "set")

    def test_files_that_are_whole(self):
        for first, second in ((1, 2), (2, 1)):
            with self.subTest(processes=(first, second)):
                self.all_made()
                done = self.resume(*self.command, ranks=second)
                self.check_whole(done, self.plain(*self.command), "resumed: 4 ranks taken up, 0 made")
                shutil.rmtree(self.work / "set")
                shutil.rmtree(self.source)

    def test_damaged_leftovers_are_made_anew(self):
        self.all_made()
        plain = self.plain(*self.command)
        left = self.dir / "left"
        shutil.copytree(self.partial, left)

        def cut(path):
            path.write_bytes(path.read_bytes()[:-100])

        def empty(path):
            path.write_bytes(b"")
        for what, rank, ending, harm, taken_up in (
                ("file flipped", 2, "part", self.flip, 3), ("file cut", 0, "part", cut, 3),
                ("file empty", 1, "part", empty, 3), ("file missing", 3, "part", pathlib.Path.unlink, 3),
                ("record flipped", 0, "made", self.flip, 3), ("record empty", 2, "made", empty, 3),
                ("record missing", 1, "made", pathlib.Path.unlink, 3), ("reading flipped", 1, "read", self.flip, 4),
                ("reading missing", 2, "read", pathlib.Path.unlink, 4), ("another rank's file", 1, "part",
                 lambda path: shutil.copy(self.part(0, "part"), path), 3)):
            for count in (1, 2):
                with self.subTest(what, processes=count):
                    harm(self.part(rank, ending))
                    done = self.resume(*self.command, ranks=count)
                    ranks = "ranks" if taken_up != 1 else "rank"
                    self.check_whole(done, plain, f"resumed: {taken_up} {ranks} taken up, {4 - taken_up} made")
                    shutil.rmtree(self.work / "set")
                    shutil.copytree(left, self.partial)
        for harm in (self.flip, empty, pathlib.Path.unlink):
            harm(self.partial / "job")
            done = self.resume(*self.command)
            self.check_whole(done, plain, "nothing to resume: 4 ranks made")
            shutil.rmtree(self.work / "set")
            shutil.copytree(left, self.partial)

    def test_what_else_lies_there_is_not_published(self):
        self.all_made()
        for name in ("capture.4.et.part", "capture.4.et.made", "capture.0.et.part.tmp-0123456789abcdef", "other.0.et.part"):
            shutil.copy(self.part(0, "part"), self.ranks / name)
        shutil.copy(self.part(0, "part"), self.partial / "set" / "capture.4.et")
        done = self.resume(*self.command)
        self.check_whole(done, self.plain(*self.command), "resumed: 4 ranks taken up, 0 made")

    def test_ended_while_it_published(self):
        """Files of ranks go to the set last, when checksums and groups are there."""
        self.all_made()
        plain = self.plain(*self.command)
        for name in ("checksums.xxh128", "comm_groups.json", "comm_groups_info.json"):
            if name in plain[0]:
                (self.partial / "set" / name).write_bytes(plain[0][name])
        for rank in (0, 1, 3):
            self.part(rank, "part").rename(self.partial / "set" / f"capture.{rank}.et")
        self.assertIn("no file of rank 2", self.run_program("stats", self.partial / "set").stdout)
        self.assertIn("no file of rank 2", self.run_program("validate", self.partial / "set", expect=BAD_INPUT).stderr)
        done = self.resume(*self.command, ranks=2)
        self.check_whole(done, plain, "resumed: 4 ranks taken up, 0 made")

    def test_changed_captures(self):
        self.all_made()
        left = self.dir / "left"
        shutil.copytree(self.partial, left)
        os.utime(self.source / "rank2.et.json.gz")  # the same content: only that rank is made anew
        done = self.resume(*self.command)
        self.check_whole(done, self.plain(*self.command), "resumed: 3 ranks taken up, 1 made")
        shutil.rmtree(self.work / "set")
        shutil.copytree(left, self.partial)

        def later(kineto):
            for event in kineto["traceEvents"]:
                if "ts" in event:
                    event["ts"] = event["ts"] + 1000
        edit_json(self.source / "rank2.kineto.json.gz", later)  # which the others' transfers depend on
        for count in (2, 1):
            done = self.resume(*self.command, ranks=count)
            self.check_whole(done, self.plain(*self.command), "resumed: 0 ranks taken up, 4 made")
            shutil.rmtree(self.work / "set")
            shutil.copytree(left, self.partial)

    def test_fewer_ranks(self):
        """A capture of other ranks in the same place."""
        self.all_made()
        shutil.rmtree(self.source)
        shutil.copytree(TRACES / "quickstart", self.source)
        done = self.resume(*self.command)
        self.check_whole(done, self.plain(*self.command), "resumed: 0 ranks taken up, 2 made")

    def test_other_options_are_refused(self):
        self.all_made()
        before = bytes_of(self.ranks)
        for options, *texts in ((("--repeat", "median"), "--repeat recorded", "--repeat median"),
                                (("--mem-nodes",), "no --mem-nodes"), (("--name", "other"), "no --name", "--name other")):
            for count in (1, 2):
                done = self.resume(*self.command, *options, ranks=count, expect=USAGE)
                self.check_one_error(done, "set.partial: begun with", *texts)
        other = self.dir / "elsewhere"
        shutil.copytree(self.source, other)
        done = self.resume("convert", other, "-o", "set", expect=USAGE)
        self.check_one_error(done, str(self.source), str(other))
        self.assertEqual(bytes_of(self.ranks), before)
        self.check_whole(self.resume(*self.command), self.plain(*self.command), "resumed: 4 ranks taken up, 0 made")

    def test_another_program_is_refused(self):
        self.all_made()
        other = self.dir / "reprise"
        shutil.copy(program.REPRISE, other)
        with other.open("ab") as file:
            file.write(b"another build")
        done = subprocess.run([str(other), *map(str, self.command), "--resume"], cwd=self.work, capture_output=True,
                              text=True, env=program.ENVIRONMENT, check=False)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.check_one_error(done, "begun by another program")

    def test_another_command_is_refused(self):
        self.all_made()
        trace = self.convert("quickstart")
        done = self.resume("anonymize", trace, "set", "--salt-file", self.dir / "salt", expect=USAGE)
        self.check_one_error(done, "begun by `reprise convert`")

    def test_folded(self):
        command = (*self.command, "--fold")
        mend = self.damaged("gloo/gpt_ddp4", 2, "et")
        self.resume(*command, ranks=2, expect=BAD_INPUT)
        mend()
        done = self.resume(*command)
        self.check_whole(done, self.plain(*command), "resumed: 0 ranks taken up, 4 made")

    def test_set_that_is_replaced(self):
        (self.work / "set").mkdir()
        (self.work / "set" / "notes.txt").write_text("mine")
        (self.work / "set" / "old.0.et").write_text("old")
        mend = self.damaged("gloo_comms/gpt_tp4", 3)
        done = self.resume(*self.command, expect=USAGE)
        self.assertIn("set exists and is not empty", done.stderr)
        self.assertFalse(self.partial.exists())
        self.resume(*self.command, "--force", expect=BAD_INPUT)
        self.assertEqual((self.work / "set" / "old.0.et").read_text(), "old")
        mend()
        done = self.resume(*self.command, "--force", ranks=2)
        expected, _ = self.plain(*self.command)
        self.assertEqual(bytes_of(self.work / "set"), {**expected, "notes.txt": b"mine"})
        self.assertFalse(self.partial.exists())

    def test_link_to_another_place(self):
        """The work lies beside the directory, from where it can be moved."""
        real = self.dir / "real"
        real.mkdir()
        (self.work / "set").symlink_to(real)
        mend = self.damaged("gloo_comms/gpt_tp4", 3)
        self.resume(*self.command, expect=BAD_INPUT)
        self.assertTrue((self.dir / "real.partial").exists())
        mend()
        self.resume(*self.command)
        self.assertEqual(bytes_of(real), self.plain(*self.command)[0])

    def test_without_it_nothing_is_taken_up_or_removed(self):
        self.all_made()
        before = bytes_of(self.ranks)
        done = self.run_program(*self.command, cwd=self.work)
        self.assertNotIn("resume", done.stdout)
        self.assertEqual(bytes_of(self.work / "set"), self.plain(*self.command)[0])
        self.assertEqual(bytes_of(self.ranks), before)

    def test_json(self):
        self.all_made()
        said = json.loads(self.resume(*self.command, "--json").stdout)
        self.assertEqual(said["resumed"], {"found": True, "taken_up": 4, "made": 0})
        self.assertNotIn("resumed", json.loads(self.plain(*self.command, "--json")[1]))

    def test_where_it_is_not_possible(self):
        text = self.dir / "work.txt"
        text.write_text("DATA\n1\nlayer -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n")
        self.resume("convert", text, "-o", "set", "--ranks", 2, expect=USAGE)
        files = [TRACES / "gloo" / "gpt_single" / f"rank0.{kind}.json.gz" for kind in ("et", "kineto")]
        self.resume("convert", "--host-trace", files[0], "--device-trace", files[1], "-o", "a.et", expect=USAGE)
        trace = self.convert("gloo/gpt_ddp4")
        self.resume("convert", trace, "--fold", "-o", "set", expect=USAGE)
        self.assertEqual(list(self.work.iterdir()), [])


class Places(ResumeTest):
    """The directory beside the output is used only where it is the user's own, and by one job."""
    command = ("convert", TRACES / "quickstart", "-o", "set")

    def test_two_jobs(self):
        self.partial.mkdir(mode=0o700)
        with (self.partial / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)  # as a process of another job has it
            for count in (1, 2):
                done = self.resume(*self.command, ranks=count, expect=ENVIRONMENT)
                self.check_one_error(done, "set.partial: another job is at work in it")
        self.assertEqual([path.name for path in self.partial.iterdir()], ["lock"])
        self.resume(*self.command, ranks=2)
        self.assertEqual([path.name for path in self.work.iterdir()], ["set"])

    def test_something_else_has_the_name(self):
        self.partial.mkdir(mode=0o700)
        (self.partial / "thesis.txt").write_text("mine")
        done = self.resume(*self.command, expect=USAGE)
        self.check_one_error(done, "holds something else: thesis.txt")
        self.assertEqual((self.partial / "thesis.txt").read_text(), "mine")
        (self.partial / "thesis.txt").unlink()
        self.partial.chmod(0o777)
        self.check_one_error(self.resume(*self.command, expect=USAGE), "only they can write to")
        self.partial.rmdir()
        other = self.dir / "other"
        other.mkdir(mode=0o700)
        self.partial.symlink_to(other)
        self.check_one_error(self.resume(*self.command, expect=USAGE), "only they can write to")
        self.assertEqual(list(other.iterdir()), [])
        self.partial.unlink()
        self.partial.write_text("a file")
        self.resume(*self.command, expect=USAGE)
        self.assertEqual(self.partial.read_text(), "a file")

    def test_modes(self):
        """What is unfinished only its user may see; the output has the modes of any other."""
        shutil.copytree(TRACES / "quickstart", self.dir / "capture")
        (self.dir / "capture" / "rank1.kineto.json.gz").write_bytes(b"no trace")
        self.resume("convert", self.dir / "capture", "-o", "set", expect=BAD_INPUT)
        self.assertEqual(self.partial.stat().st_mode & 0o777, 0o700)
        shutil.rmtree(self.partial)
        self.resume(*self.command)
        self.run_program("convert", TRACES / "quickstart", "-o", "plain", cwd=self.work)
        modes = [{path.name: path.stat().st_mode for path in (folder, *folder.iterdir()) if path != folder} | {
            "": folder.stat().st_mode} for folder in (self.work / "set", self.work / "plain")]
        self.assertEqual(*modes)


class Anonymizes(ResumeTest):
    def setUp(self):
        super().setUp()
        self.trace = self.convert("gloo_comms/gpt_tp4")
        (self.trace / "checksums.xxh128").unlink()
        self.command = ("anonymize", self.trace, "set", "--salt-file", self.dir / "salt")

    def failed(self, ranks=1):
        (path,) = self.trace.glob("*.3.et")
        whole = path.read_bytes()
        path.write_bytes(whole[:1000])
        self.resume(*self.command, ranks=ranks, expect=BAD_INPUT)
        self.check_no_set()
        path.write_bytes(whole)

    def test_goes_on(self):
        for first, second in ((1, 1), (2, 1), (1, 3)):
            with self.subTest(processes=(first, second)):
                self.failed(first)
                done = self.resume(*self.command, ranks=second)
                self.check_whole(done, self.plain(*self.command), "resumed: 3 ranks taken up, 1 made")
                shutil.rmtree(self.work / "set")

    def test_damaged(self):
        self.failed()
        self.flip(next(self.ranks.glob("*.1.et.part")))
        next(self.ranks.glob("*.2.et.made")).write_bytes(b"")
        done = self.resume(*self.command, "-v")
        self.check_whole(done, self.plain(*self.command, "-v"), "resumed: 1 rank taken up, 3 made")

    def test_other_salt_and_options(self):
        self.failed()
        for options, *texts in ((("--policy", "simulate"), "--policy replay", "--policy simulate"),
                                (("--durations", "grid:1000"), "--durations keep", "--durations grid:1000"),
                                (("--shapes", "grid:8"), "--shapes keep", "--shapes grid:8")):
            done = self.resume(*self.command, *options, expect=USAGE)
            self.check_one_error(done, "set.partial: begun with", *texts)
        (self.dir / "salt").unlink()  # another one is made
        done = self.resume(*self.command)
        self.check_whole(done, self.plain(*self.command), "resumed: 0 ranks taken up, 4 made")

    def test_changed_rank(self):
        self.failed()
        os.utime(next(self.trace.glob("*.1.et")))
        done = self.resume(*self.command, ranks=2)
        self.check_whole(done, self.plain(*self.command), "resumed: 2 ranks taken up, 2 made")

    def test_needs_a_salt_that_stays(self):
        done = self.resume("anonymize", self.trace, "set", expect=USAGE)
        self.check_one_error(done, "--salt-file")

    def test_folded_sets(self):
        classes = self.dir / "classes"
        self.run_program("generate", "gpt-small", "-o", classes)
        folded = self.dir / "folded"
        self.run_program("convert", self.trace, "--fold", "-o", folded)
        for trace in (classes, folded):
            command = ("anonymize", trace, "set", "--salt-file", self.dir / "salt")
            done = self.resume(*command, ranks=2)
            self.assertIn("nothing to resume", done.stdout)
            self.assertEqual(bytes_of(self.work / "set"), self.plain(*command)[0])
            self.assertEqual([path.name for path in self.work.iterdir()], ["set"])
            shutil.rmtree(self.work / "set")

    def test_folded_set_goes_on(self):
        classes = self.dir / "classes"
        self.run_program("generate", "gpt-small", "--pp", 2, "-o", classes)
        (classes / "checksums.xxh128").unlink()
        files = sorted(classes.glob("*.et"))
        self.assertGreater(len(files), 1)
        whole = files[-1].read_bytes()
        files[-1].write_bytes(whole[:1000])
        command = ("anonymize", classes, "set", "--salt-file", self.dir / "salt")
        self.resume(*command, expect=BAD_INPUT)
        files[-1].write_bytes(whole)
        done = self.resume(*command)
        self.assertIn("resumed: ", done.stdout)
        self.assertNotIn("resumed: 0 ", done.stdout)
        self.assertEqual(bytes_of(self.work / "set"), self.plain(*command)[0])


class Killed(ResumeTest):
    """SIGKILL and SIGTERM, of the only process and of one of two, from the first file on to the last."""
    RANKS = 12

    def setUp(self):
        super().setUp()
        self.capture = self.dir / "many"
        self.capture.mkdir()
        for rank in range(self.RANKS):
            for kind in ("et", "kineto"):
                shutil.copy(TRACES / "gloo" / "gpt_single" / f"rank0.{kind}.json.gz",
                            self.capture / f"rank{rank}.{kind}.json.gz")
        self.command = ("convert", self.capture, "-o", "set")

    def left(self, ending):
        return len(list(self.ranks.glob(f"*.{ending}")))

    def kill(self, ready, command, processes, victim, number):
        """Ends a process as soon as `ready`; whether there was time for it."""
        own = [os.path.abspath(program.REPRISE), *map(str, command), "--resume"]
        launch = ["mpirun", "-n", str(processes), *own] if processes > 1 else own
        with subprocess.Popen(launch, cwd=self.work, env=program.ENVIRONMENT, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as run:
            deadline = time.monotonic() + 2 * SOON_S
            while run.poll() is None and not ready() and time.monotonic() < deadline:
                time.sleep(0.001)
            pid = run.pid if processes == 1 else children_of(run.pid).get(victim)
            if run.poll() is None and pid is not None:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            run.communicate(timeout=SOON_S)
        return not (self.work / "set").exists()

    def check_kills(self, command, stages, taken_up):
        plain = self.plain(*command)
        ended = 0
        for stage, ready in stages.items():
            for processes, victim, number in ((1, 0, signal.SIGKILL), (2, 0, signal.SIGKILL), (2, 1, signal.SIGKILL),
                                              (1, 0, signal.SIGTERM), (2, 1, signal.SIGTERM)):
                with self.subTest(stage, processes=processes, victim=victim, signal=number.name):
                    if not self.kill(ready, command, processes, victim, number):
                        shutil.rmtree(self.work / "set")  # it was whole by then
                        continue
                    ended += 1
                    self.check_no_set(plain[0])
                    made = self.left("made")
                    done = self.resume(*command, ranks=3 - processes)
                    self.assertEqual(bytes_of(self.work / "set"), plain[0])
                    self.assertEqual([path.name for path in self.work.iterdir()], ["set"])
                    self.assertIn(f"resumed: {made} rank" if made or stage != "begun" else "resume", done.stdout)
                    shutil.rmtree(self.work / "set")
        self.assertGreaterEqual(ended, taken_up)

    def test_convert(self):
        self.check_kills(self.command, {
            "begun": self.partial.exists,
            "first read": lambda: self.left("read") > 0,
            "all read": lambda: self.left("read") == self.RANKS,
            "first made": lambda: self.left("made") > 0,
            "most made": lambda: self.left("made") >= self.RANKS - 3,
            "publishes": lambda: (self.partial / "set" / "comm_groups.json").exists()}, 20)

    def test_anonymize(self):
        self.run_program("convert", self.capture, "-o", self.dir / "trace")
        self.check_kills(("anonymize", self.dir / "trace", "set", "--salt-file", self.dir / "salt"), {
            "first made": lambda: self.left("made") > 0,
            "most made": lambda: self.left("made") >= self.RANKS - 3}, 5)

    def test_killed_again_and_again(self):
        """Each run gets a little further, although none has the time to read all."""
        plain = self.plain(*self.command)
        for run in range(1, self.RANKS):
            self.kill(lambda least=run: self.left("read") >= least, self.command, 1, 0, signal.SIGKILL)
            self.assertGreaterEqual(self.left("read"), run)
        read = self.left("read")
        for run in range(1, self.RANKS - 1):
            self.kill(lambda least=run: self.left("made") >= least, self.command, 1, 0, signal.SIGKILL)
            if (self.work / "set").exists():
                break
            self.assertGreaterEqual(self.left("made"), run)
            self.assertGreaterEqual(self.left("read"), read)
        else:
            self.resume(*self.command)
        self.assertEqual(bytes_of(self.work / "set"), plain[0])

    def test_second_job_while_one_is_at_work(self):
        own = [os.path.abspath(program.REPRISE), *map(str, self.command), "--resume"]
        with subprocess.Popen(own, cwd=self.work, env=program.ENVIRONMENT, stdout=subprocess.DEVNULL) as run:
            program.wait_until(lambda: self.left("read") > 0, "a rank that was read", while_running=run)
            run.send_signal(signal.SIGSTOP)  # its lock stays
            for count in (1, 2):
                done = self.resume(*self.command, ranks=count, expect=ENVIRONMENT)
                self.check_one_error(done, "another job is at work in it")
            run.send_signal(signal.SIGCONT)
            self.assertEqual(run.wait(SOON_S), 0)
        self.assertEqual(bytes_of(self.work / "set"), self.plain(*self.command)[0])


if __name__ == "__main__":
    program.main()
