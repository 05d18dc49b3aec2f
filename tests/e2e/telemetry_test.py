#!/usr/bin/env python3
"""Telemetry as a user meets it: monitor, list sources, options of replay, exports.

About 25 s.
"""
import csv
import json
import pathlib
import signal
import sqlite3
import subprocess
import time
import urllib.request

import program

USAGE = 2


def machine(root):
    """A host with a thermal zone and an energy counter, below `root`."""
    files = {
        "proc/stat": "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 50 0 25 400 25 0 0 0 0 0\nctxt 1000\n",
        "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
        "sys/class/thermal/thermal_zone0/temp": "41000\n",
        "sys/class/powercap/intel-rapl:0/name": "package-0\n",
        "sys/class/powercap/intel-rapl:0/energy_uj": "5000000\n",
        "sys/class/powercap/intel-rapl:0/max_energy_range_uj": "262143328850\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def rows(database, query):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        return connection.execute(query).fetchall()


def facts(run, rank=0):
    return dict(rows(run / f"rank{rank}.sqlite", "SELECT name, value FROM facts"))


class Monitor(program.ProgramTest):
    def test_ends_as_the_command_does_and_keeps_its_time(self):
        run = self.dir / "run"
        self.run_program("monitor", "-o", run, "--", "sh", "-c", "sleep 0.6; exit 7", expect=7)
        self.assertEqual(facts(run)["exit_code"], "7")
        (duration_ns,), = rows(run / "rank0.sqlite", "SELECT duration_ns FROM steps")
        self.assertGreater(duration_ns, 600_000_000)
        self.assertTrue(json.loads((run / "manifest.json").read_text())["complete"])
        report = self.run_json("report", run)
        self.assertEqual(report["run"]["options"]["mode"], "monitor")
        self.assertTrue(report["metrics"])
        text = self.run_program("report", run).stdout
        self.assertTrue(text.startswith("sh -c sleep 0.6; exit 7 ran for "), text)
        self.assertLessEqual(len(text.splitlines()), 40)
        self.assertIn("ended with exit code 7", text)
        self.assertNotIn("coverage", text)
        refused = self.run_program("monitor", "-o", run, "--", "true", expect=USAGE)
        self.assertIn("--force", refused.stderr)
        self.run_program("monitor", "-o", run, "--force", "--", "true")

    def test_a_signal_reaches_the_command(self):
        run = self.dir / "run"
        started = self.dir / "started"
        command = [program.REPRISE, "monitor", "-o", str(run), "--", "sh", "-c", f"touch {started}; exec sleep 600"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            program.wait_until(started.exists, "a started command", while_running=process)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), 128 + signal.SIGTERM)
        self.assertEqual(facts(run)["exit_code"], str(128 + signal.SIGTERM))

    def test_what_cannot_be_started_leaves_nothing(self):
        run = self.dir / "run"
        failed = self.run_program("monitor", "-o", run, "--", self.dir / "nothing", expect=USAGE)
        self.assertIn("No such file", failed.stderr)
        self.assertFalse(run.exists())
        self.run_program("monitor", "--", "true", expect=USAGE)

    def check_two_ranks(self, run, launcher):
        manifest = json.loads((run / "manifest.json").read_text())
        self.assertEqual((manifest["world_size"], manifest["complete"]), (2, True))
        self.assertEqual(manifest["options"]["launcher"], launcher)
        # One of a host samples.
        samples = dict(rows(run / "run.sqlite", "SELECT rank, count(*) FROM samples GROUP BY rank"))
        self.assertEqual(list(samples), [0])
        self.assertEqual(rows(run / "run.sqlite", "SELECT rank FROM steps ORDER BY rank"),
                         [(0,), (1,)])

    def test_ranks_of_mpirun_write_one_run(self):
        run = self.dir / "run"
        self.run_program("monitor", "-o", run, "--", "sleep", "0.5", ranks=2)
        self.check_two_ranks(run, "mpirun")

    def test_ranks_of_torchrun_write_one_run(self):
        run = self.dir / "run"
        processes = []
        for rank in range(2):
            env = {**program.ENVIRONMENT, "TORCHELASTIC_RUN_ID": "none", "RANK": str(rank),
                   "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)}
            processes.append(subprocess.Popen([program.REPRISE, "monitor", "-o", str(run), "--",
                                               "sleep", "0.5"], env=env, stderr=subprocess.DEVNULL))
        self.assertEqual([process.wait(60) for process in processes], [0, 0])
        self.check_two_ranks(run, "torchrun")
        self.assertIn("wall_readings", facts(run))

    def test_a_batch_script_is_no_rank(self):
        run = self.dir / "run"
        self.run_program("monitor", "-o", run, "--", "true",
                         env={"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0"})
        self.assertEqual(json.loads((run / "manifest.json").read_text())["world_size"], 1)

    def test_prometheus_is_served_on_loopback(self):
        root = machine(self.dir / "root")
        command = [program.REPRISE, "monitor", "--prometheus", "0", "--telemetry-root", str(root),
                   "--duration", "300"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            url = process.stderr.readline().split()[-1]
            self.assertRegex(url, r"^http://127\.0\.0\.1:[1-9]\d*/metrics$")
            text = ""

            def sampled():
                nonlocal text
                with urllib.request.urlopen(url, timeout=60) as answer:
                    self.assertIn("version=0.0.4", answer.headers["Content-Type"])
                    text = answer.read().decode()
                return "reprise_temperature_celsius{" in text and "energy_joules" in text

            program.wait_until(sampled, "a sample of each metric", while_running=process)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), 0)
        self.assertRegex(text, r'(?m)^reprise_temperature_celsius\{device="[^"]+",host="[^"]+",'
                               r'source="thermal"\} 41$')
        self.assertIn("# TYPE reprise_package_energy_joules_total counter\n", text)
        for wrong in ("x", "70000", ":1", "1.2.3.4:"):
            self.run_program("monitor", "--prometheus", wrong, expect=USAGE)

    def test_live_view(self):
        root = machine(self.dir / "root")
        shown = self.run_program("monitor", "--interval", 0.2, "--duration", 2, "--telemetry-root", root).stdout
        self.assertIn(shown.count("device"), range(2, 12))  # ten, and that at the end; fewer where others hold the cores
        self.assertRegex(shown, r"temperature +thermal +41\.0 +41\.0 +41\.0 +41\.0 +celsius")
        self.assertNotIn("\x1b", shown)  # no terminal

    def test_gpus_of_a_vendors_library(self):
        library = pathlib.Path(program.REPRISE).resolve().parent / "tests/telemetry/libstand_in_nvml.so"
        self.assertTrue(library.exists(), f"{library} is not built")
        run = self.dir / "run"
        self.run_program("monitor", "-o", run, "--telemetry-library", f"nvml={library}",
                         "--sample-period", "20,nvml=50", "--", "sleep", "0.6")
        self.assertEqual(rows(run / "run.sqlite", "SELECT device, source, pci_bus_id FROM meters"),
                         [("gpu-0000:01:00.0", "nvml", "0000:01:00.0")])
        energy = {row["metric"]: row for row in self.run_json("report", run)["energy"]
                  if row["source"] == "nvml"}
        self.assertAlmostEqual(energy["power"]["mean_watts"], 400)
        # The counter is what counts.
        self.assertEqual({name for name, row in energy.items() if row["in_total"]}, {"gpu_energy"})
        text = self.run_program("report", run, "--full").stdout
        self.assertIn("never: gpu-0000:01:00.0", text)
        self.run_program("monitor", "-o", self.dir / "other", "--telemetry-library",
                         f"nvml={self.dir}/missing.so", "--", "true")
        self.assertIn("missing.so", facts(self.dir / "other")["telemetry.nvml"])

    def test_csv_of_each_metric(self):
        run, out = self.dir / "run", self.dir / "csv"
        self.run_program("monitor", "-o", run, "--telemetry-root", machine(self.dir / "root"),
                         "--sample-period", 50, "--duration", 0.6)
        self.run_program("export", run, "--to", "csv", "-o", out)
        with open(out / "index.csv", newline="") as file:
            index = {row["metric"]: row for row in csv.DictReader(file)}
        self.assertEqual(index["package_energy"]["kind"], "energy")
        self.assertLess(abs(float(index["temperature"]["unix_time_of_zero"]) - time.time()), 60)
        with open(out / index["temperature"]["file"], newline="") as file:
            lines = list(csv.reader(file))
        self.assertEqual(lines[0], ["time", "value"])
        (samples,), = rows(run / "run.sqlite", "SELECT count(*) FROM samples JOIN metrics USING (metric) WHERE source = 'thermal'")
        self.assertGreaterEqual(samples, 2)
        self.assertEqual(len(lines), 1 + samples)
        self.assertEqual({line[1] for line in lines[1:]}, {"41"})
        times = [float(line[0]) for line in lines[1:]]
        self.assertEqual(times, sorted(times))
        self.run_program("export", run, "--to", "csv", "-o", out, expect=USAGE)  # is there already


class Sources(program.ProgramTest):
    def test_list_says_what_there_is_and_why_not(self):
        root = machine(self.dir / "root")
        sources = {row["name"]: row for row in
                   self.run_json("list", "sources", "--telemetry-root", root)["sources"]}
        self.assertEqual(sources["rapl"]["here"], "available")
        energy, = sources["rapl"]["metrics"]
        self.assertEqual((energy["name"], energy["unit"], energy["kind"], energy["devices"]),
                         ("package_energy", "joules", "energy", ["package-0"]))
        self.assertTrue(energy["help"])
        self.assertIn(str(root), sources["hwmon"]["here"])
        self.assertEqual(sources["hwmon"]["metrics"], [])
        text = self.run_program("list", "sources", "--telemetry-root", root).stdout
        self.assertRegex(text, r"package_energy +joules +energy +package-0")

    def test_flags_that_name_no_source(self):
        for flag, value in (("--sample-period", "20,nothing=30"), ("--sample-period", "4"),
                            ("--sample-period", "fast"), ("--telemetry-library", "nothing=x"),
                            ("--telemetry-library", "rapl")):
            with self.subTest(flag=flag, value=value):
                failed = self.run_program("monitor", flag, value, expect=USAGE)
                self.assertIn(flag, failed.stderr)


class Replay(program.ConvertedTest):
    def replay(self, *flags):
        run = self.dir / "run"
        done = self.run_program("replay", self.trace, "-o", run, "--device", "host",
                                "--host-gaps", "drop", "--iterations", 1, "--warmup", 0, *flags,
                                ranks=4)
        return run, done

    def test_idle_power_is_measured_where_power_is(self):
        run, _ = self.replay("--telemetry-root", machine(self.dir / "root"),
                             "--sample-period", "20,thermal=100")
        told = facts(run)
        begin_ns, end_ns = int(told["idle_begin_ns"]), int(told["idle_end_ns"])
        self.assertGreaterEqual(end_ns - begin_ns, 2_000_000_000)
        (first_ns,), = rows(run / "rank0.sqlite", "SELECT min(start_ns) FROM records")
        self.assertLess(end_ns, first_ns)
        counts = dict(rows(run / "rank0.sqlite",
                           "SELECT m.source, count(*) FROM samples s JOIN metrics m USING (metric) "
                           f"WHERE s.time_ns BETWEEN {begin_ns} AND {end_ns} GROUP BY m.source"))
        self.assertGreater(counts["rapl"], counts["thermal"])  # five times as many, where nothing else runs
        periods = dict(rows(run / "rank0.sqlite", "SELECT source, period_ns FROM metrics"))
        self.assertEqual((periods["rapl"], periods["thermal"]), (20_000_000, 100_000_000))
        self.assertNotIn("idle_begin_ns", facts(run, rank=1))

    def test_until_steady_warms_up_for_as_long_as_it_may(self):
        run, done = self.replay("--telemetry-root", machine(self.dir / "root"), "--idle", 0,
                                "--until-steady", 4)
        self.assertIn("had not settled after", done.stdout)
        warmups, = rows(run / "rank0.sqlite", "SELECT count(*) FROM steps WHERE warmup")[0]
        self.assertGreaterEqual(warmups, 1)
        self.assertEqual(json.loads((run / "manifest.json").read_text())["warmup"], warmups)
        measured, = rows(run / "rank0.sqlite", "SELECT count(*) FROM steps WHERE NOT warmup")[0]
        self.assertGreaterEqual(measured, 1)
        self.assertNotIn("idle_begin_ns", facts(run))

    def test_off_means_none(self):
        run, _ = self.replay("--sample-period", "off")
        self.assertEqual(rows(run / "rank0.sqlite", "SELECT count(*) FROM metrics"), [(0,)])
        self.assertIsNone(self.run_json("report", run)["energy_joules"])


if __name__ == "__main__":
    program.main()
