#!/usr/bin/env python3
"""The Python wheel: made from the build tree by scripts/wheel (two programs are linked), installed by pip in an environment of its own,
and used. Needs PyPI for the tools that make it. About a minute. first_use.sh does the same in a bare root (scripts/release)."""
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import program
import skips

ENVIRONMENT_ERROR = 4
FIRST_USE = program.ROOT / "tests" / "e2e" / "first_use.sh"


class Wheel(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        program.need("objdump", "patchelf")
        cls.scratch = tempfile.TemporaryDirectory(prefix="reprise_wheel_")
        made = subprocess.run([program.ROOT / "scripts" / "wheel", "-o", cls.scratch.name], capture_output=True, text=True,
                              check=False)
        if made.returncode == ENVIRONMENT_ERROR and "could not install from PyPI" in made.stderr:
            skips.skip("pypi", made.stderr.strip().rsplit("\n", 1)[-1])
        if made.returncode != 0:
            raise AssertionError(f"scripts/wheel: {made.stdout}{made.stderr}")
        print(made.stderr[made.stderr.find("the program"):])
        cls.wheel = pathlib.Path(made.stdout.strip())
        cls.prefix = pathlib.Path(cls.scratch.name) / "environment"
        subprocess.run([sys.executable, "-m", "venv", cls.prefix], check=True)
        subprocess.run([cls.prefix / "bin" / "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", cls.wheel],
                       check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def installed(self, *args, expect=0, env=None):
        done = subprocess.run([self.prefix / "bin" / "reprise", *map(str, args)], capture_output=True, text=True, check=False,
                              env={**program.ENVIRONMENT, **(env or {})}, cwd=self.dir, timeout=300)
        self.assertEqual(done.returncode, expect, f"{args}\n{done.stdout}\n{done.stderr}")
        return done

    def without_open_mpi(self):
        """Settings in which Open MPI's library cannot be opened."""
        (self.dir / "lib").mkdir()
        (self.dir / "lib" / "libmpi.so.40").write_text("")
        return {"LD_LIBRARY_PATH": str(self.dir / "lib")}

    def test_name_and_files(self):
        version = self.run_program("--version").stdout.split()[1]
        self.assertRegex(self.wheel.name, rf"^reprise_trace-{re.escape(version)}-py3-none-manylinux_2_\d+_x86_64\.whl$")
        self.assertLess(self.wheel.stat().st_size, 20_000_000)
        unexpected = [name for name in zipfile.ZipFile(self.wheel).namelist() if not name.endswith("/") and not re.match(
            r"reprise(_capture|_machine)?(\.py$|/\w+\.(py|def|binpb)$)|reprise_trace-[\d.]+\.dist-info/|"
            r"reprise_trace-[\d.]+\.data/data/(bin/reprise$|lib/reprise/(reprise-replay|lib[\w.+-]+)$|"
            r"share/(man|bash-completion|zsh|fish|doc/reprise/licences|reprise)/)", name)]
        self.assertEqual(unexpected, [])

    def test_libraries_are_inside_or_the_machines(self):
        """Open MPI's alone is for replay; each that is named as such is needed."""
        named = re.findall(r'^LIBRARY\("([^"]+)"', (program.ROOT / "cli/without_replay/replay_libraries.def").read_text(), re.MULTILINE)
        needed = {path.name: set(re.findall(r"NEEDED +(\S+)", subprocess.run(
            ["objdump", "-p", path], capture_output=True, text=True, check=True).stdout))
            for path in [self.prefix / "bin/reprise", *(self.prefix / "lib" / "reprise").iterdir()]}
        self.assertLessEqual(set(named), needed["reprise-replay"])
        self.assertFalse(set(named) & needed["reprise"])
        lacking = {name for names in needed.values() for name in names} - set(needed) - set(named)
        self.assertEqual([name for name in lacking if not re.match(r"(libc|libm|libmvec|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so\.", name)], [])

    def test_manual_and_completions_have_all_commands(self):
        share = self.prefix / "share"
        self.assertEqual(gzip.decompress((share / "man/man1/reprise.1.gz").read_bytes()).decode(), self.run_program("man").stdout)
        self.assertEqual((share / "bash-completion/completions/reprise").read_text(),
                         self.run_program("completion", "bash").stdout)
        descriptions = [re.findall(r"^  ([a-z]+ {2,}.*)$", done.stdout, re.MULTILINE)
                        for done in (self.run_program("--help"), self.installed("--help"))]
        self.assertEqual(*descriptions)

    def test_first_use(self):
        done = subprocess.run([FIRST_USE, self.wheel], capture_output=True, text=True, check=False, env=program.ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("first use: all passed", done.stdout)

    def test_replay_is_another_program(self):
        self.assertIn(str(self.prefix / "lib/reprise/reprise-replay"), self.installed("--version").stdout)
        self.installed("convert", self.prefix / "share/reprise/captures/quickstart", "-o", "trace")
        for start in ([], ["mpirun", "-n", "2"]):
            done = subprocess.run([*start, self.prefix / "bin/reprise", "replay", "trace", "-o", f"run{len(start)}", "--iterations", "1",
                                   "--device", "host", *([] if start else ["-n", "2"])], capture_output=True, text=True, check=False,
                                  env=program.ENVIRONMENT, cwd=self.dir, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.installed("compare", "run0", "run3")
        options = [[line for line in done.stdout.split("\n") if line.startswith("  -")]
                   for done in (self.installed("replay", "--help"), self.run_program("replay", "--help"))]
        self.assertEqual(*options)
        self.assertIn("--processes", self.installed("help", "replay").stdout)

    def test_without_open_mpi(self):
        env = self.without_open_mpi()
        for line in (["replay", "trace", "-o", "run"], ["devices", "--help"], ["help", "bench"], ["list", "kernels"], ["list", "backends"]):
            done = self.installed(*line, expect=ENVIRONMENT_ERROR, env=env)
            self.assertRegex(done.stderr, r"^reprise: `reprise [\w ]+` needs Open MPI \(Debian: openmpi-bin\): .*libmpi\.so\.40.*\n$")
        self.assertIn("all but replay, which needs Open MPI", self.installed("--version", env=env).stdout)
        self.installed("predict", "llama3-8b", "--machine", "h200-hgx", env=env)

    def test_lists_come_from_the_program_with_replay(self):
        for line in (["kernels", "--json"], ["backends"]):
            self.assertEqual(self.installed("list", *line).stdout, self.run_program("list", *line).stdout)

    def test_without_onednn(self):
        """Replay on the host's processor opens it at run time, and names it where it is not there."""
        (self.dir / "lib").mkdir()
        (self.dir / "lib" / "libdnnl.so.2").write_text("")
        self.installed("convert", self.prefix / "share/reprise/captures/quickstart", "-o", "trace")
        done = self.installed("replay", "trace", "-o", "run", "--device", "host", "-n", "2", expect=ENVIRONMENT_ERROR,
                              env={"LD_LIBRARY_PATH": str(self.dir / "lib")})
        self.assertRegex(done.stderr, r"oneDNN.*libdnnl\.so\.2.*libdnnl2")

    def test_nodes_are_read_by_the_library_of_the_wheel(self):
        self.installed("convert", self.prefix / "share/reprise/captures/quickstart", "-o", "trace")
        code = "import reprise.trace_library; print(reprise.trace_library.LIBRARY._name, len(reprise.TraceSet('trace').nodes(0)))"
        done = subprocess.run([self.prefix / "bin/python", "-c", code], capture_output=True, text=True, check=False, cwd=self.dir,
                              env={**program.ENVIRONMENT, "PYTHONPATH": "/usr/lib/python3/dist-packages"})
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = json.loads(self.installed("stats", "trace", "--json").stdout)
        self.assertEqual(done.stdout.split(), [str((self.prefix / "lib/reprise/libreprise_trace.so").resolve()), str(stats["ranks"][0]["nodes"])])

    def test_modules(self):
        code = "import reprise, reprise_capture, reprise_machine; print(*reprise.__all__)"
        done = subprocess.run([self.prefix / "bin/python", "-c", code], capture_output=True, text=True, check=True, cwd=self.dir)
        self.assertIn("TraceSet", done.stdout)
        pip = subprocess.run([self.prefix / "bin/pip", "show", "--verbose", "reprise-trace"], capture_output=True, text=True, check=True)
        self.assertRegex(pip.stdout, r"(?m)^Requires: *$")


if __name__ == "__main__":
    sys.exit(program.main())
