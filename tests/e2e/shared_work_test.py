#!/usr/bin/env python3
"""Commands whose work several processes share under mpirun: the same bytes as one process writes, one result, one
error, and nothing partial."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import program
from program import BAD_INPUT, TRACES, ProgramTest

USAGE = 2
SOON_S = 60  # mpirun has ended its processes by then, on a loaded machine, too


def bytes_of(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def children_of(pid):
    """The processes that mpirun has started, by rank."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            environment = (path / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue
        ranks = [int(entry.partition(b"=")[2]) for entry in environment if entry.startswith(b"OMPI_COMM_WORLD_RANK=")]
        if parent == pid and ranks:
            found[ranks[0]] = int(path.name)
    return found


class SharedTest(ProgramTest):
    def in_folder(self, name, *args, ranks, expect=0):
        """Each run has a folder of its own, so that what is printed has the same paths."""
        folder = self.dir / name
        folder.mkdir(exist_ok=True)
        return folder, self.run_program(*args, ranks=ranks, expect=expect, cwd=folder)

    def check_one_error(self, done, *texts):
        own = [line for line in done.stderr.splitlines() if line.startswith("reprise: ")]
        self.assertEqual(len(own), 1, done.stderr)
        self.assertNotIn("mpirun", done.stderr)
        for text in texts:
            self.assertIn(text, own[0])


class Converts(SharedTest):
    def check_same(self, source, *options, processes=(2, 3), expect=0):
        command = ("convert", source, "-o", "set", *options)
        alone, said = self.in_folder("alone", *command, ranks=1, expect=expect)
        for count in processes:
            with self.subTest(source=str(source), processes=count):
                folder, shared = self.in_folder(f"of{count}", *command, ranks=count, expect=expect)
                self.assertEqual(shared.stdout, said.stdout)
                self.assertEqual(bytes_of(folder / "set"), bytes_of(alone / "set"))
                self.assertEqual([path.name for path in folder.iterdir()], ["set"])
        shutil.rmtree(alone)
        for count in processes:
            shutil.rmtree(self.dir / f"of{count}")

    def test_same_bytes_as_one_process(self):
        for case in ("gloo/gpt_ddp4", "gloo_comms/gpt_tp4", "gloo_comms/gpt_hsdp4", "gloo_comms/moe_ep4"):
            self.check_same(TRACES / case, "-v")

    def test_point_to_point(self):
        """Ends of sends and receives follow from what both sides recorded."""
        self.check_same(TRACES / "gloo_comms" / "gpt_pp4", "-v")
        self.check_same(TRACES / "gloo_comms" / "gpt_pp2_micro4", "--json")

    def test_more_processes_than_ranks(self):
        self.check_same(TRACES / "quickstart", processes=(3,))
        self.check_same(TRACES / "h100" / "resnet50", processes=(2,))

    def test_kineto_alone_and_host_traces_alone(self):
        for kind in ("et", "kineto"):
            capture = self.dir / kind
            capture.mkdir()
            for file in (TRACES / "gloo_comms" / "gpt_tp4").glob(f"rank*.{kind}.json.gz"):
                shutil.copy(file, capture)
            self.check_same(capture, "-v", processes=(2,))

    def test_folded(self):
        self.check_same(TRACES / "gloo" / "gpt_ddp4", "--fold")
        trace = self.convert("quickstart")
        self.check_same(trace, "--fold", processes=(2,))
        self.run_program("convert", trace, "-o", self.dir / "folded", "--fold")
        self.check_same(self.dir / "folded", "--expand", processes=(2,))

    def test_set_that_is_replaced(self):
        """Files of others stay, and nothing is left of the set that was there."""
        folder, _ = self.in_folder("forced", "convert", TRACES / "quickstart", "-o", "set", ranks=1)
        (folder / "set" / "notes.txt").write_text("mine")
        self.in_folder("forced", "convert", TRACES / "gloo" / "gpt_ddp4", "-o", "set", "--force", ranks=2)
        names = {path.name for path in (folder / "set").iterdir()}
        self.assertIn("notes.txt", names)
        self.assertIn("gpt_ddp4.3.et", names)
        self.assertFalse([name for name in names if name.startswith("quickstart")])
        self.assertEqual([path.name for path in folder.iterdir()], ["set"])

    def test_other_formats_by_the_first_process(self):
        text = self.dir / "work.txt"
        text.write_text("DATA\n1\nlayer -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n")
        self.check_same(text, "--ranks", 2, processes=(2,))


class Anonymizes(SharedTest):
    def test_same_bytes_with_one_salt(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        command = ("anonymize", trace, "set", "--salt-file", self.dir / "salt", "--policy", "statistics", "-v")
        alone, said = self.in_folder("alone", *command, ranks=1)
        for count in (2, 3):
            folder, shared = self.in_folder(f"of{count}", *command, ranks=count)
            self.assertEqual(shared.stdout, said.stdout)
            self.assertEqual(bytes_of(folder / "set"), bytes_of(alone / "set"))

    def test_salt_of_all_that_is_not_kept(self):
        """Names agree between ranks that different processes wrote."""
        trace = self.convert("gloo_comms/gpt_tp4")
        folder, done = self.in_folder("random", "anonymize", trace, "set", "--verify", ranks=2)
        self.assertIn("the same up to names", done.stderr)
        self.run_program("validate", folder / "set")

    def test_folded_set_by_the_first(self):
        folded = self.dir / "folded"
        self.run_program("generate", "gpt-small", "-o", folded)
        folder, _ = self.in_folder("folded_shared", "anonymize", folded, "set", ranks=2)
        self.run_program("validate", folder / "set")

    def test_damaged_rank(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        (trace / "checksums.xxh128").unlink()
        (path,) = trace.glob("*.3.et")
        path.write_bytes(path.read_bytes()[:1000])
        folder, done = self.in_folder("fails", "anonymize", trace, "set", ranks=2, expect=BAD_INPUT)
        self.check_one_error(done, path.name, "process 1 of 2")
        self.assertEqual(list(folder.iterdir()), [])


class Fails(SharedTest):
    def check_fails(self, source, *texts, expect, processes=2, options=()):
        folder, done = self.in_folder("fails", "convert", source, "-o", "set", *options, ranks=processes, expect=expect)
        self.check_one_error(done, *texts)
        self.assertEqual(done.stdout, "")
        self.assertEqual(list(folder.iterdir()), [])
        return done

    def test_damaged_capture_of_one_rank(self):
        for rank, process in ((0, 0), (3, 1)):
            with self.subTest(rank=rank):
                capture = self.copy_capture("gloo_comms/gpt_tp4")
                damaged = capture / f"rank{rank}.kineto.json.gz"
                data = bytearray(damaged.read_bytes())
                data[len(data) // 2:] = b""
                damaged.write_bytes(data)
                done = self.check_fails(capture, damaged.name, expect=BAD_INPUT)
                self.assertIn(f"process {process} of 2, on {os.uname().nodename}: ", done.stderr)
                shutil.rmtree(capture)

    def test_first_of_several_damaged(self):
        capture = self.copy_capture("gloo_comms/gpt_tp4")
        for rank in (1, 2):
            (capture / f"rank{rank}.et.json.gz").write_bytes(b"no trace")
        self.check_fails(capture, "rank1.et.json.gz", expect=BAD_INPUT)

    def test_missing_capture_of_one_rank(self):
        """All find it alike, so no process is named."""
        capture = self.copy_capture("gloo_comms/gpt_tp4")
        (capture / "rank3.kineto.json.gz").unlink()
        done = self.check_fails(capture, "rank", expect=BAD_INPUT)
        self.assertNotIn("process 0", done.stderr)

    def test_strict(self):
        capture = self.copy_capture("gloo_comms/gpt_tp4")
        for file in capture.glob("rank3.*"):
            file.unlink()
        self.check_fails(capture, "rank 3 is missing", expect=BAD_INPUT, options=("--strict",))

    def test_output_that_exists(self):
        folder = self.dir / "exists"
        (folder / "set").mkdir(parents=True)
        (folder / "set" / "notes.txt").write_text("mine")
        _, done = self.in_folder("exists", "convert", TRACES / "quickstart", "-o", "set", ranks=2, expect=USAGE)
        self.check_one_error(done, "set exists and is not empty")
        self.assertNotIn("process 0", done.stderr)
        self.assertEqual(bytes_of(folder / "set"), {"notes.txt": b"mine"})


class Reads(SharedTest):
    """Commands that only read: what they print is what one process prints."""

    def check_same(self, *command, expect=0):
        _, alone = self.in_folder("reads", *command, ranks=1, expect=expect)
        for count in (2, 3):
            _, shared = self.in_folder("reads", *command, ranks=count, expect=expect)
            self.assertEqual(shared.stdout, alone.stdout)
        return alone.stdout

    def damaged(self, trace, rank):
        """Of one rank a file that no longer has its content, but is a trace."""
        (path,) = trace.glob(f"*.{rank}.et")
        shutil.copy(next(trace.glob("*.0.et")), path)

    def test_sound_sets(self):
        for case in ("gloo_comms/gpt_tp4", "quickstart"):
            trace = self.convert(case)
            for options in ([], ["--json"], ["-v"]):
                self.check_same("validate", trace, *options)
                self.check_same("stats", trace, *options)

    def test_findings_about_ranks(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        self.damaged(trace, 3)
        (trace / "checksums.xxh128").unlink()
        said = self.check_same("validate", trace, "-v", expect=1)
        self.assertIn("FAILED", said)

    def test_changed_content(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        self.damaged(trace, 2)
        self.assertIn("checksums.xxh128", self.check_same("validate", trace, "-v", expect=1))
        _, done = self.in_folder("reads", "stats", trace, ranks=2, expect=BAD_INPUT)
        self.check_one_error(done, ".2.et")

    def test_file_that_cannot_be_read(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        (trace / "checksums.xxh128").unlink()
        (path,) = trace.glob("*.3.et")
        path.write_bytes(path.read_bytes()[:1000])
        for command in ("validate", "stats"):
            _, done = self.in_folder("reads", command, trace, ranks=2, expect=BAD_INPUT)
            self.check_one_error(done, path.name, "process 1 of 2")

    def test_single_files_timing_and_folded_sets(self):
        trace = self.convert("quickstart")
        self.check_same("validate", next(trace.glob("*.1.et")))
        self.check_same("stats", next(trace.glob("*.1.et")), "--json")
        self.check_same("validate", trace, "--timing", "--json")
        folded = self.dir / "folded"
        self.run_program("generate", "gpt-small", "-o", folded)
        self.check_same("validate", folded)
        self.check_same("stats", folded, "--json")

    def test_several_sets(self):
        """Of two paths the second fails in what one process reads."""
        trace = self.convert("quickstart")
        _, done = self.in_folder("reads", "validate", trace, self.dir / "none", ranks=2, expect=BAD_INPUT)
        self.check_one_error(done, "none: no such file")


class Reports(SharedTest):
    """Of a run that does not fit in memory each process finds the sums of its ranks."""

    def setUp(self):
        super().setUp()
        self.run_dir = self.dir / "run"
        self.run_program("predict", "llama3-8b", "--tp", 2, "--pp", 2, "--dp", 2, "--machine", "h100-hgx", "-o", self.run_dir)
        self.sums = {path.name: path.read_bytes() for path in self.run_dir.glob("rank*.sums")}
        self.assertGreater(len(self.sums), 1)
        self.memory = 12 * max(path.stat().st_size for path in self.run_dir.glob("rank*.sqlite"))
        self.forget()

    def forget(self):
        """What a report would start from."""
        for pattern in ("rank*.sums", "analysis.bin"):
            for path in self.run_dir.glob(pattern):
                path.unlink()

    def kept(self):
        return {path.name: path.read_bytes() for path in self.run_dir.glob("rank*.sums")}

    def report(self, name, *options, **held):
        return self.in_folder(name, "report", self.run_dir, "--memory", self.memory, *options, **held)

    def test_same_report_and_page(self):
        for options in (("--json",), ("--full", "-o", "page.html", "--force")):
            folder, alone = self.report("alone", *options, ranks=1)
            self.assertEqual(self.kept(), {})
            for count in (2, 3):
                self.forget()
                shared_folder, shared = self.report(f"of{count}", *options, ranks=count)
                self.assertEqual(shared.stdout, alone.stdout)
                self.assertEqual(shared.stderr, "")
                self.assertEqual(bytes_of(shared_folder), bytes_of(folder))
                self.assertEqual(self.kept(), self.sums)
            self.forget()

    def test_sums_that_are_there_stay(self):
        self.report("first", ranks=2)
        damaged, *others = sorted(self.sums)
        times = {name: (self.run_dir / name).stat().st_mtime_ns for name in others}
        (self.run_dir / damaged).write_bytes(self.sums[damaged][:-1])
        (self.run_dir / "analysis.bin").unlink(missing_ok=True)
        self.report("again", ranks=2)
        self.assertEqual(self.kept(), self.sums)
        self.assertEqual({name: (self.run_dir / name).stat().st_mtime_ns for name in others}, times)

    def test_run_that_fits_and_set_are_the_first_ones(self):
        trace = self.convert("quickstart")
        for path in (self.run_dir, trace):
            _, alone = self.in_folder("fits", "report", path, "--json", ranks=1)
            (self.run_dir / "analysis.bin").unlink(missing_ok=True)
            _, shared = self.in_folder("fits", "report", path, "--json", ranks=2)
            self.assertEqual(shared.stdout, alone.stdout)
        self.assertEqual(self.kept(), {})

    def test_damaged_rank(self):
        path = self.run_dir / sorted(self.sums)[-1].replace(".sums", ".sqlite")
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)
        folder, done = self.report("fails", "-o", "page.html", ranks=2, expect=BAD_INPUT)
        self.check_one_error(done, path.name, "process 0 of 2", os.uname().nodename)  # which verifies all
        self.assertEqual(list(folder.iterdir()), [])

    def test_wrong_names(self):
        for options, text in ((("-o", "page.txt"), "must end in .html"), (("--section", "none"), "none")):
            _, done = self.report("wrong", *options, ranks=2, expect=USAGE)
            self.check_one_error(done, text)


class Killed(SharedTest):
    def many_ranks(self, count):
        """A capture that takes a while."""
        capture = self.dir / "many"
        capture.mkdir()
        for rank in range(count):
            for kind in ("et", "kineto"):
                shutil.copy(TRACES / "gloo" / "gpt_single" / f"rank0.{kind}.json.gz", capture / f"rank{rank}.{kind}.json.gz")
        return capture

    def end_of(self, capture, number, rank):
        folder = self.dir / f"killed{number}_{rank}"
        folder.mkdir()
        command = ["mpirun", "-n", "2", os.path.abspath(program.REPRISE), "convert", str(capture), "-o", "set"]
        with subprocess.Popen(command, cwd=folder, env=program.ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            program.wait_until(lambda: list(folder.glob("set.tmp-*")), "the directory to write to", while_running=run)
            os.kill(children_of(run.pid)[rank], number)
            began = time.monotonic()
            run.communicate(timeout=SOON_S)
            self.assertLess(time.monotonic() - began, SOON_S)
        self.assertNotEqual(run.returncode, 0)
        return folder

    def test_nothing_is_left(self):
        capture = self.many_ranks(16)
        for number in (signal.SIGKILL, signal.SIGTERM):
            for rank in (0, 1):
                with self.subTest(signal=number.name, rank=rank):
                    folder = self.end_of(capture, number, rank)
                    self.assertEqual(list(folder.iterdir()), [])


class Packs(SharedTest):
    def test_same_bytes_as_one_process(self):
        """With a licence of several pieces (converters/share/package/compressed_pieces.h)."""
        trace = self.convert("gloo_comms/gpt_tp4")
        licence = self.dir / "LICENCE"
        licence.write_bytes(b"all rights\n" * 10_000_000)
        command = ("pack", trace, "-o", "set.reprise", "--not-anonymized", "--licence", licence)
        alone, said = self.in_folder("alone", *command, ranks=1)
        for count in (2, 3):
            folder, shared = self.in_folder(f"of{count}", *command, ranks=count)
            self.assertEqual(shared.stdout, said.stdout)
            self.assertEqual(bytes_of(folder), bytes_of(alone))
        self.run_program("unpack", alone / "set.reprise", "-o", self.dir / "back")
        self.assertEqual({name: content for name, content in bytes_of(self.dir / "back").items() if name in bytes_of(trace)},
                         bytes_of(trace))
        subprocess.run(["tar", "--zstd", "-xf", alone / "set.reprise", "-C", self.dir], check=True)
        self.assertEqual((self.dir / "LICENCE").read_bytes(), licence.read_bytes())

    def test_errors(self):
        trace = self.convert("gloo_comms/gpt_tp4")
        for path in trace.glob("*.3.et"):
            path.write_bytes(path.read_bytes()[:-100])
        (trace / "checksums.xxh128").unlink()
        folder, done = self.in_folder("damaged", "pack", trace, "-o", "set.reprise", "--not-anonymized", ranks=2, expect=BAD_INPUT)
        self.check_one_error(done, ".3.et")
        self.assertEqual(list(folder.iterdir()), [])
        (folder / "set.reprise").write_text("mine")
        _, done = self.in_folder("damaged", "pack", trace, "-o", "set.reprise", "--not-anonymized", ranks=2, expect=USAGE)
        self.check_one_error(done, "set.reprise exists")


class ByTheFirst(SharedTest):
    """Commands that are not shared: the first process does all of it, once."""

    def test_output_is_written_once(self):
        trace = self.convert("quickstart")
        command = ("export", trace, "--to", "json", "-o", "nodes.json")
        alone, said = self.in_folder("alone", *command, ranks=1)
        shared, done = self.in_folder("shared", *command, ranks=3)
        self.assertEqual(done.stdout, said.stdout)
        self.assertEqual(bytes_of(shared), bytes_of(alone))

    def test_exit_code_of_all(self):
        _, done = self.in_folder("none", "audit", "missing", ranks=2, expect=BAD_INPUT)
        self.check_one_error(done, "missing")

    def test_program_within_a_rank_is_alone(self):
        """A training script under mpirun that calls reprise on one of its ranks: no other one comes."""
        trace = self.convert("quickstart")
        script = ("import os, subprocess, sys\n"
                  "if os.environ['OMPI_COMM_WORLD_RANK'] == '1':\n"
                  f"    sys.exit(subprocess.call([{os.path.abspath(program.REPRISE)!r}, 'stats', {str(trace)!r}]))\n")
        done = subprocess.run(["mpirun", "-n", "2", sys.executable, "-c", script], env=program.ENVIRONMENT,
                              capture_output=True, text=True, timeout=SOON_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.run_program("stats", trace).stdout)


if __name__ == "__main__":
    program.main()
