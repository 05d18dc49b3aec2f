#!/usr/bin/env python3
"""Nothing mistaken, nothing lost: identity of captures, outputs, damage, limits, hostile text. docs/threat_model.md."""
import gzip
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

import browser
import program
import wire

USAGE, BAD_INPUT, ENVIRONMENT = 2, 3, 4


def edit_json(path, change):
    """Rewrites a capture's file; `change` gets its object."""
    value = json.loads(gzip.decompress(path.read_bytes()))
    change(value)
    path.write_bytes(gzip.compress(json.dumps(value).encode(), 1))


class IdentityTest(program.ProgramTest):
    """Files that do not belong together are refused with both files' own account, or counted."""

    def refused(self, capture, *needles):
        for more in ([], ["--strict"]):
            done = self.run_program("convert", capture, "-o", self.dir / "out", *more, expect=BAD_INPUT)
            for needle in needles:
                self.assertIn(needle, done.stderr)
            self.assertFalse((self.dir / "out").exists())

    def test_clock_of_another_century(self):
        """The fit ends, however far a clock is off; on one host such a clock is another capture's."""
        for host, expect in (("host0", BAD_INPUT), ("host1", 0)):
            capture = self.dir / host
            shutil.copytree(program.TRACES / "gloo_comms/collectives4", capture)

            def change(kineto, host=host):
                kineto["baseTimeNanoseconds"] = 0
                kineto["host_name"] = host
            edit_json(capture / "rank1.kineto.json.gz", change)
            done = self.run_program("convert", capture, "-o", self.dir / "out", expect=expect, timeout=120)
        self.assertIn("not recorded at the time of the others", done.stdout)
        self.run_program("convert", capture, "-o", self.dir / "strict", "--strict", expect=BAD_INPUT)

    def test_host_trace_of_another_rank(self):
        for case in ("gloo_comms/gpt_fsdp4", "gloo/gpt_ddp4", "gloo_comms/gpt_tp4", "gloo_comms/collectives4"):
            with self.subTest(case):
                capture = self.dir / case.replace("/", "_")
                shutil.copytree(program.TRACES / case, capture)
                shutil.copy(capture / "rank0.et.json.gz", capture / "rank1.et.json.gz")
                pids = [json.loads(gzip.decompress((program.TRACES / case / f"rank{r}.et.json.gz").read_bytes()))["pid"]
                        for r in (0, 1)]
                self.refused(capture, f"of process {pids[0]}", f"of process {pids[1]}")

    def test_two_files_of_two_ranks(self):
        case = program.TRACES / "gloo/gpt_ddp4"
        done = self.run_program("convert", "--host-trace", case / "rank0.et.json.gz", "--device-trace",
                                case / "rank1.kineto.json.gz", "-o", self.dir / "a.et", expect=BAD_INPUT)
        self.assertIn("two processes", done.stderr)

    def test_files_of_two_captures(self):
        capture = self.dir / "mixed"
        capture.mkdir()
        for rank, case in ((0, "gloo/gpt_single"), (1, "quickstart")):
            source = rank if case == "quickstart" else 0
            for kind in ("et", "kineto"):
                shutil.copy(program.TRACES / case / f"rank{source}.{kind}.json.gz",
                            capture / f"rank{rank}.{kind}.json.gz")
        self.refused(capture, "two captures", "rank1.kineto.json.gz")

    def test_stale_rank_of_an_earlier_run(self):
        capture = self.copy_capture("quickstart")

        def an_hour_earlier(kineto):
            kineto["baseTimeNanoseconds"] -= 3600 * 10**9
        edit_json(capture / "rank1.kineto.json.gz", an_hour_earlier)
        self.refused(capture, "apart on one host")

    def test_another_step_is_counted(self):
        capture = self.copy_capture("quickstart")

        def rename(kineto):
            for event in kineto["traceEvents"]:
                if event.get("name", "").startswith("ProfilerStep#"):
                    event["name"] = "ProfilerStep#77"
        edit_json(capture / "rank1.kineto.json.gz", rename)
        done = self.run_program("convert", capture, "-o", self.dir / "out")
        self.assertIn("other steps than rank 0", done.stdout)
        self.run_program("convert", capture, "-o", self.dir / "strict", "--strict", expect=BAD_INPUT)

    def test_numbers_that_are_none_are_counted(self):
        for value in (-1, "5", None):
            with self.subTest(value):
                capture = self.dir / f"capture{value}"
                shutil.copytree(program.TRACES / "quickstart", capture)
                edit_json(capture / "rank0.kineto.json.gz", lambda k, v=value: k["distributedInfo"].update(rank=v))
                done = self.run_program("convert", capture, "-o", self.dir / f"out{value}")
                self.assertIn("identif", done.stdout)
                self.run_program("convert", capture, "-o", self.dir / "strict", "--strict", expect=BAD_INPUT)

    def test_strict_leaves_no_file_of_one_rank(self):
        capture = self.copy_capture("quickstart")
        edit_json(capture / "rank0.kineto.json.gz", lambda kineto: kineto["distributedInfo"].update(rank=-1))
        out = self.dir / "a.et"
        command = ("convert", "--host-trace", capture / "rank0.et.json.gz", "--device-trace",
                   capture / "rank0.kineto.json.gz", "-o", out)
        self.run_program(*command, "--strict", expect=BAD_INPUT)
        self.assertFalse(out.exists())
        self.run_program(*command)

    def test_real_captures_are_whole(self):
        self.run_program("convert", program.TRACES / "quickstart", "-o", self.dir / "out", "--strict")


class OutputTest(program.ProgramTest):
    """An output appears whole, alone, and only in the place of its own kind."""

    def test_force_replaces_its_own_kind_only(self):
        trace = self.convert("gloo/resnet18")
        run = self.dir / "run"
        self.run_program("simulate", trace, "-o", run, "--machine", "recorded")
        package, unpacked = self.dir / "a.reprise", self.dir / "unpacked"
        self.run_program("pack", trace, "-o", package, "--not-anonymized")
        self.run_program("unpack", package, "-o", unpacked)
        project = self.dir / "project"
        project.mkdir()
        (project / "manifest.json").write_text('{"name": "my extension"}')
        (project / "code.js").write_text("1")
        capture = program.TRACES / "gloo/resnet18"
        makers = {trace: ("convert", capture), run: ("simulate", trace, "--machine", "recorded"), unpacked: ("unpack", package)}
        for target in (trace, run, unpacked, project):
            before = {path: path.read_bytes() for path in target.iterdir()}
            for own, maker in makers.items():
                if own == target:
                    continue
                self.run_program(*maker, "-o", target, "--force", expect=USAGE)
                self.assertEqual(before, {path: path.read_bytes() for path in target.iterdir()})
        for target, maker in makers.items():
            (target / "note.txt").write_text("mine")
            self.run_program(*maker, "-o", target, "--force")
            self.assertEqual((target / "note.txt").read_text(), "mine")
        self.assertEqual([], [path for path in self.dir.iterdir() if ".tmp" in path.name])

    def test_interrupted_commands_leave_nothing(self):
        trace = self.convert("gloo/gpt_ddp4")
        work = self.dir / "work"
        work.mkdir()
        commands = {"convert": [program.TRACES / "gloo/gpt_ddp4", "-o", work / "set"],
                    "pack": [trace, "-o", work / "a.reprise", "--not-anonymized"]}
        for name, arguments in commands.items():
            for number in (signal.SIGINT, signal.SIGTERM):
                child = subprocess.Popen([program.REPRISE, name, *map(str, arguments)], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
                try:
                    program.wait_until(lambda c=child: any(work.iterdir()) or c.poll() is not None, "an output")
                    child.send_signal(number)
                finally:
                    code = child.wait(60)
                self.assertIn(code, (0, -number))
                if code == 0:
                    for path in work.iterdir():
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
                self.assertEqual([], list(work.iterdir()), f"{name} after signal {number}")

    def test_remains_of_killed_processes_are_never_used(self):
        """Whatever stands beside the target under an earlier version's names, with any process id."""
        capture = program.TRACES / "gloo/resnet18"
        victim = self.dir / "victim"
        victim.mkdir()
        for pid in range(1, 400):
            (self.dir / f"out.tmp-{pid}").symlink_to(victim)
        self.run_program("convert", capture, "-o", self.dir / "out")
        self.assertEqual([], list(victim.iterdir()))
        self.assertEqual({"comm_groups.json", "comm_groups_info.json", "checksums.xxh128", "resnet18.0.et"},
                         {path.name for path in (self.dir / "out").iterdir()})


class DamageTest(program.ProgramTest):
    """Checksums from the conversion to the report."""

    def test_set(self):
        trace = self.convert("gloo/resnet18")
        sums = (trace / "checksums.xxh128").read_text().splitlines()
        self.assertEqual(len(sums), 4)
        file = trace / "resnet18.0.et"
        data = bytearray(file.read_bytes())
        at = data.index(b"aten::relu") + 6  # another name, but a sound trace
        data[at] ^= 1
        file.write_bytes(data)
        for command, expect in ((["validate", trace], 1),
                                (["simulate", trace, "--machine", "recorded", "-o", self.dir / "run"], BAD_INPUT),
                                (["stats", trace], BAD_INPUT),
                                (["export", trace, "--to", "graphml", "-o", self.dir / "graph"], BAD_INPUT),
                                (["export", trace, "--to", "dot", "--rank", "0", "-o", self.dir / "graph"], BAD_INPUT),
                                (["export", trace, "--to", "chakra-json", "-o", self.dir / "json"], BAD_INPUT),
                                (["export", trace, "--to", "goal", "-o", self.dir / "goal"], BAD_INPUT),
                                (["report", trace], BAD_INPUT),
                                (["compare", f"A={trace}", f"B={trace}"], BAD_INPUT),
                                (["rescale", trace, "--dp", "2", "-o", self.dir / "large"], BAD_INPUT),
                                (["transform", trace, "--rule", "=> scale 2", "-o", self.dir / "slow"], BAD_INPUT),
                                (["calibrate", trace, "--machine", "h100-hgx", "-o", self.dir / "machine.json"], BAD_INPUT),
                                (["audit", trace], BAD_INPUT),
                                (["anonymize", trace, "-o", self.dir / "shared"], BAD_INPUT),
                                (["pack", trace, "-o", self.dir / "a.reprise", "--not-anonymized"], BAD_INPUT)):
            done = self.run_program(*command, expect=expect)
            self.assertIn("resnet18.0.et: damaged or changed", done.stdout + done.stderr)

    def test_sets_without_checksums_still_read(self):
        trace = self.convert("gloo/resnet18")
        (trace / "checksums.xxh128").unlink()
        done = self.run_program("validate", trace)
        self.assertIn("no checksums.xxh128", done.stdout)
        self.run_program("simulate", trace, "--machine", "recorded", "-o", self.dir / "run")

    def test_run(self):
        trace = self.convert("quickstart")
        run = self.dir / "run"
        self.run_program("simulate", trace, "--machine", "recorded", "-o", run)
        whole = self.run_program("report", run, "--json").stdout
        file = run / "rank1.sqlite"
        data = file.read_bytes()
        for damaged in (data[:-2622], data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1:]):
            file.write_bytes(damaged)
            done = self.run_program("report", run, "--json", expect=BAD_INPUT)
            self.assertIn("rank1.sqlite", done.stderr)
        file.write_bytes(data)
        self.assertEqual(self.run_program("report", run, "--json").stdout, whole)
        (run / "checksums.xxh128").unlink()
        self.assertIn("no checksums.xxh128", self.run_program("report", run, "--full").stdout)
        file.write_bytes(data[:-2622])
        self.run_program("report", run, expect=BAD_INPUT)

    def test_unreadable_sets_are_not_packed(self):
        trace = self.convert("gloo/resnet18")
        file = trace / "resnet18.0.et"
        file.write_bytes(file.read_bytes()[:-100])
        (trace / "checksums.xxh128").unlink()
        done = self.run_program("pack", trace, "-o", self.dir / "a.reprise", "--not-anonymized", expect=BAD_INPUT)
        self.assertIn("truncated", done.stderr)
        self.assertFalse((self.dir / "a.reprise").exists())


def measured(command, limit_bytes=None):
    """Exit code, seconds of CPU time, peak memory in bytes, stderr."""
    def limit():
        if limit_bytes:
            resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))
    child = subprocess.Popen([program.REPRISE, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             preexec_fn=limit, env=program.ENVIRONMENT)
    text = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    return child.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, text


class BudgetTest(program.ProgramTest):
    """What others wrote takes no more than a bounded share of the machine."""

    MOST_BYTES = 500_000_000

    def bounded(self, *command, expect=BAD_INPUT):
        code, _, peak, text = measured(command)
        self.assertEqual(code, expect, text)
        self.assertLess(peak, self.MOST_BYTES, text)
        return text

    def test_zeros_as_trace(self):
        """Every empty message would be a node."""
        file = self.dir / "bomb.0.et.zst"
        program.need("zstd")
        # Not through this process: a child's peak begins with its parent's.
        subprocess.run(["bash", "-c", f'head -c 2G /dev/zero | zstd -q -f -o "{file}"'], check=True)
        self.bounded("validate", file)

    def test_many_small_nodes(self):
        header = wire.field(1, b"0.0.4")
        nodes = (wire.varint(2) + wire.field(1, 1)) * 2**20
        file = self.dir / "bomb.0.et.gz"
        with gzip.open(file, "wb", 1) as out:
            out.write(wire.varint(len(header)) + header)
            for _ in range(60):
                out.write(nodes)
        self.bounded("validate", file)

    def test_brackets(self):
        for head in (b"[", b'{"schema": "1.1.1-chakra.0.0.4", "nodes": ', b'{"traceEvents": [{"a": '):
            file = self.dir / "rank0.et.json.gz"
            with gzip.open(file, "wb", 1) as out:
                out.write(head)
                for _ in range(512):
                    out.write(b"[" * 2**20)
            self.bounded("convert", file, "-o", self.dir / "out", "--format", "pytorch")

    def test_brackets_as_manifest(self):
        import io
        import tarfile
        text = b"[" * 30_000_000  # as large as this process may become: see above
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            info = tarfile.TarInfo("manifest.json")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
        program.need("zstd")
        package = self.dir / "bomb.reprise"
        subprocess.run(["zstd", "-q", "-f", "-o", package], input=tar.getvalue(), check=True)
        self.bounded("unpack", package, "-o", self.dir / "out")

    def test_limits_are_raised_on_request(self):
        trace = self.convert("gloo_comms/collectives4")
        done = self.run_program("validate", trace, "--limits", "depth=1", expect=BAD_INPUT)
        self.assertIn("--limits depth=", done.stderr)
        self.run_program("validate", trace, "--limits", "none")
        self.run_program("validate", trace, "--limits", "size=1", expect=USAGE)

    def test_special_files(self):
        fifo = self.dir / "fifo"
        os.mkfifo(fifo)
        trace = self.convert("gloo/resnet18")
        (self.dir / "a.0.et").symlink_to("/dev/zero")
        commands = [["validate", self.dir / "a.0.et"], ["export", "--to", "json", self.dir / "a.0.et", "-o", self.dir / "x"]]
        for path in (fifo, self.dir):
            commands += [["convert", path, "-o", self.dir / "out", "--format", "pytorch"] if path == fifo else
                         ["convert", "--host-trace", path, "--device-trace", path, "-o", self.dir / "x.et"],
                         ["unpack", path, "-o", self.dir / "out"],
                         ["anonymize", trace, self.dir / "anon", "--policy", path]]
        for name in ("comm_groups.json", "comm_groups_info.json", "checksums.xxh128", "resnet18.0.et"):
            for kind in ("fifo", "directory"):
                copy = self.dir / f"{name}.{kind}"
                shutil.copytree(trace, copy)
                (copy / name).unlink()
                os.mkfifo(copy / name) if kind == "fifo" else (copy / name).mkdir()
                commands += [["validate", copy], ["simulate", copy, "--machine", "recorded", "-o", self.dir / "run"]]
        for command in commands:
            done = subprocess.run([program.REPRISE, *map(str, command)], capture_output=True, text=True, timeout=60,
                                  env=program.ENVIRONMENT, check=False)
            self.assertIn(done.returncode, (1, USAGE, BAD_INPUT), (command, done))
            self.assertNotIn("internal error", done.stderr)

    def test_full_disk_of_stdout(self):
        trace = self.convert("gloo/resnet18")
        run = self.dir / "run"
        self.run_program("simulate", trace, "--machine", "recorded", "-o", run)
        for command in (["validate", trace, "--json"], ["stats", trace, "--json"], ["report", run, "--json"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([program.REPRISE, *map(str, command)], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, ENVIRONMENT, done.stderr)
            self.assertNotIn("internal error", done.stderr)

    def test_byte_order_mark(self):
        capture = self.copy_capture("gloo/resnet18")
        for path in capture.glob("rank0.*.json.gz"):
            path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + gzip.decompress(path.read_bytes()), 1))
        self.run_program("convert", capture, "-o", self.dir / "out")

    def test_low_limits_of_the_process(self):
        trace = self.convert("gloo/resnet18")
        for megabytes in (300, 600):
            code, _, _, text = measured(["simulate", trace, "--machine", "recorded", "-o", self.dir / f"run{megabytes}"],
                                        megabytes * 2**20)
            self.assertIn(code, (0, ENVIRONMENT), text)
        for megabytes in (300, 600, 700, 800, 1000):
            code, _, _, text = measured(["replay", trace, "-o", self.dir / f"real{megabytes}", "--iterations", "1"],
                                        megabytes * 2**20)
            self.assertIn(code, (0, ENVIRONMENT), text)
        for command in (f'validate "{trace}"', f'simulate "{trace}" --machine recorded -o "{self.dir}/few"'):
            few = f'ulimit -n 5; exec "{program.REPRISE}" {command}'
            done = subprocess.run(["bash", "-c", few], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, ENVIRONMENT, done.stderr)


HOSTILE = "\x1b]0;owned\x07\n=cmd|' /C calc'!A0\nreprise: all is well\u202egnp\u2066</script><img src=x onerror=alert(1)>|`\"\\"
RAW = ("\x1b]0", "\x07", "\u202e", "\u2066", "\nreprise: all is well", "\n=cmd")


class HostileTextTest(program.ProgramTest):
    """One way to print foreign text: no escape sequence, line or formula of a file reaches a console or another program."""

    def clean(self, text):
        for raw in RAW:
            self.assertNotIn(raw, text)

    def hostile_capture(self):
        capture = self.dir / "capture"
        shutil.copytree(program.TRACES / "quickstart", capture, dirs_exist_ok=True)
        for rank in (0, 1):
            def host(trace):
                for node in trace["nodes"]:
                    if node["name"] in ("aten::mm", "aten::add"):
                        node["name"] += HOSTILE
            def kineto(trace):
                for event in trace["traceEvents"]:
                    if event.get("name") in ("aten::mm", "aten::add"):
                        event["name"] += HOSTILE
                trace["host_name"] = HOSTILE
                for group in trace["distributedInfo"]["pg_config"]:
                    group["pg_desc"] = HOSTILE
            edit_json(capture / f"rank{rank}.et.json.gz", host)
            edit_json(capture / f"rank{rank}.kineto.json.gz", kineto)
        return capture

    def test_from_capture_to_page(self):
        trace, run = self.dir / "set", self.dir / "run"
        capture = self.hostile_capture()
        outputs = [self.run_program("convert", capture, "-o", trace, *more) for more in ([], ["--force", "-v"])]
        outputs += [self.run_program("stats", trace, "-v"), self.run_program("validate", trace, "-v"),
                    self.run_program("audit", trace, "--all", expect=1),
                    *[self.run_program(command, trace, "--json", expect=expect)
                      for command, expect in (("stats", 0), ("validate", 0), ("audit", 1))],
                    self.run_program("simulate", trace, "--machine", "recorded", "-o", run), self.run_program("report", run, "--full")]
        shutil.copytree(run, self.dir / "run2")
        outputs += [self.run_program("compare", run, self.dir / "run2", "--markdown")]
        page = self.dir / "page.html"
        outputs += [self.run_program("report", run, "-o", page)]
        for done in outputs:
            self.clean(done.stdout + done.stderr)
        for kind in ("dot", "graphml"):
            self.run_program("export", trace, "--to", kind, "-o", self.dir / f"a.{kind}")
            self.clean((self.dir / f"a.{kind}").read_text())
        with browser.Page() as shown:
            shown.open(page)
            self.assertEqual(shown.problems, [])
            self.assertEqual(shown.evaluate("document.querySelectorAll('img[src=x]').length"), 0)

    def test_tampered_run(self):
        import sqlite3
        trace, run = self.convert("quickstart"), self.dir / "run"
        self.run_program("simulate", trace, "--machine", "recorded", "-o", run)
        (run / "checksums.xxh128").unlink()
        for name in ("rank0.sqlite", "rank1.sqlite", "run.sqlite"):
            database = sqlite3.connect(run / name)
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")]
            for table in tables:
                for column in database.execute(f"PRAGMA table_info({table})").fetchall():
                    if column[2].upper() == "TEXT" and column[1] in ("name", "host", "device", "shape", "help", "vendor"):
                        database.execute(f"UPDATE {table} SET {column[1]} = {column[1]} || ?", (HOSTILE,))
            database.commit()
            database.close()
        manifest = json.loads((run / "manifest.json").read_text())
        for key in ("command", "trace_path", "trace_name", "started_at"):
            manifest[key] = HOSTILE
        manifest["hosts"] = [HOSTILE] * len(manifest["hosts"])
        (run / "manifest.json").write_text(json.dumps(manifest))
        for command in (["report", run, "--full"], ["report", run], ["compare", run, run], ["compare", run, run, "--markdown"]):
            done = subprocess.run([program.REPRISE, *map(str, command)], capture_output=True, text=True, timeout=120, check=False)
            self.clean(done.stdout + done.stderr)

    def test_tampered_package(self):
        program.need("zstd", "tar")
        trace, package = self.convert("gloo/resnet18"), self.dir / "a.reprise"
        self.run_program("pack", trace, "-o", package, "--not-anonymized")
        folder = self.dir / "tampered"
        folder.mkdir()
        subprocess.run(["tar", "--zstd", "-xf", package, "-C", folder], check=True)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["policy"] = {"name": HOSTILE, "sha256": "0", "durations": HOSTILE, "shapes": HOSTILE}
        manifest["licence"] = manifest["name"] = HOSTILE
        (folder / "manifest.json").write_text(json.dumps(manifest))
        names = ["manifest.json"] + [file["path"] for file in manifest["files"]]
        subprocess.run(["tar", "--zstd", "-cf", package, "-C", folder, *names], check=True)
        done = self.run_program("unpack", package, "-o", self.dir / "out")
        self.clean(done.stdout + done.stderr)


class MetricsServerTest(program.ProgramTest):
    def test_bounds_and_ipv6(self):
        for address, family in (("127.0.0.1:0", socket.AF_INET), ("[::1]:0", socket.AF_INET6)):
            if family == socket.AF_INET6 and not os.path.exists("/proc/net/if_inet6"):
                continue
            child = subprocess.Popen([program.REPRISE, "monitor", "--prometheus", address, "-o", self.dir / address[:3].strip("["),
                                      "--", "sleep", "60"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            try:
                line = ""
                while "http://" not in line:
                    line = child.stdout.readline()
                    self.assertNotEqual(line, "", "ended without a server")
                port = int(line.split("http://")[1].split("/")[0].rsplit(":", 1)[1])
                host = address.rsplit(":", 1)[0].strip("[]")
                idle = [socket.create_connection((host, port)) for _ in range(100)]
                open_now = len(list(pathlib.Path(f"/proc/{child.pid}/fd").iterdir()))
                self.assertLess(open_now, 100)
                for one in idle:
                    one.close()
                long = socket.create_connection((host, port))
                long.settimeout(30)
                long.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 100_000)
                try:
                    answer = long.recv(100)
                except ConnectionResetError:
                    answer = b""
                self.assertNotIn(b" 200 ", answer)
            finally:
                child.send_signal(signal.SIGTERM)
                child.wait(60)
                child.stdout.close()

    def test_slow_clients_hold_nothing(self):
        child = subprocess.Popen([program.REPRISE, "monitor", "--prometheus", "0", "--duration", "600"],
                                 stderr=subprocess.PIPE, text=True)
        try:
            port = int(child.stderr.readline().split(":")[-1].split("/")[0])

            def connect():
                return socket.create_connection(("127.0.0.1", port), 60)

            def answer(request):
                with connect() as client:
                    client.sendall(request)
                    return b"".join(iter(lambda: client.recv(65536), b""))

            silent = [connect() for _ in range(200)]
            sends_slowly, reads_nothing = connect(), connect()
            reads_nothing.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reads_nothing.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            begin = time.monotonic()
            whole = answer(b"GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertLess(time.monotonic() - begin, 15)  # a new client waited six seconds for each 64 silent ones: 20 here
            head, text = whole.split(b"\r\n\r\n", 1)
            self.assertTrue(head.startswith(b"HTTP/1.1 200 OK\r\n"), head)
            self.assertIn(b"Content-Length: %d\r\n" % len(text), head)
            self.assertIn(b"# TYPE reprise_", text)
            self.assertEqual(answer(b"HEAD /metrics HTTP/1.1\r\n\r\n").split(b"\r\n\r\n")[1], b"")
            for request, status in ((b"GET / HTTP/1.1\r\n\r\n", b"404"), (b"PUT /metrics HTTP/1.1\r\n\r\n", b"405"),
                                    (b"\0\xff\r\n\r\n", b"400")):
                self.assertEqual(answer(request).split(b" ")[1], status)
            sends_slowly.settimeout(0.5)
            begin = time.monotonic()
            while time.monotonic() - begin < 60:  # one byte at a time kept a connection for ever
                try:
                    sends_slowly.sendall(b"G")
                    if sends_slowly.recv(1) == b"":
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
            self.assertLess(time.monotonic() - begin, 30)
            held = [connect() for _ in range(60)]
            begin = time.monotonic()
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(60), 0)
            self.assertLess(time.monotonic() - begin, 3)
            for client in silent + held + [sends_slowly, reads_nothing]:
                client.close()
        finally:
            child.kill()
            child.wait()
            child.stderr.close()


if __name__ == "__main__":
    program.main()
