#!/usr/bin/env python3
"""libreprise_trace, installed from this build tree into a prefix of its own: the example outside the tree is built against it by CMake
and by pkg-config, and counts what the program counts; every public header compiles alone; C reads a table. About a minute."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import program

BUILD = pathlib.Path(program.REPRISE).resolve().parent
EXAMPLE = program.ROOT / "examples" / "count_transfers"
C_PROGRAM = """
#include <reprise/trace_library/tables.h>
#include <stdio.h>
int main(int argc, char** argv) {
  char error[200] = "";
  reprise_column column;
  reprise_table* table = argc == 2 ? reprise_read_nodes(argv[1], 0, error, sizeof error) : NULL;
  if (table == NULL) {
    fprintf(stderr, "%s\\n", error);
    return 3;
  }
  reprise_get_column(table, 0, &column);
  printf("%s %llu %s\\n", reprise_version(), (unsigned long long)reprise_rows(table), column.name);
  reprise_free(table);
  return 0;
}
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class Library(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        program.need("cmake", "ninja", "make", "pkg-config", "g++", "gcc")
        cls.scratch = tempfile.TemporaryDirectory(prefix="reprise_library_")
        cls.prefix = pathlib.Path(cls.scratch.name) / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "library")
        pkgconfig, = cls.prefix.rglob("pkgconfig")
        cls.env = {**os.environ, "PKG_CONFIG_PATH": str(pkgconfig), "LD_LIBRARY_PATH": str(pkgconfig.parent)}
        cls.traces = pathlib.Path(cls.scratch.name) / "trace"
        run(program.REPRISE, "convert", program.TRACES / "quickstart", "-o", cls.traces)
        stats = json.loads(run(program.REPRISE, "stats", cls.traces, "--json"))
        cls.expected = {row["kind"]: (row["count"], row["in_bytes"]) for row in stats["transfers"]}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def check_example(self, counts):
        said = run(counts, self.traces, env=self.env)
        self.assertEqual(said.splitlines(), [f"{kind}: {count} transfers, {size} bytes in, 0 of unknown size"
                                             for kind, (count, size) in sorted(self.expected.items())])
        self.assertGreater(len(self.expected), 0)
        done = subprocess.run([counts, self.dir / "absent"], capture_output=True, text=True, check=False, env=self.env)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("absent", done.stderr)

    def test_by_cmake(self):
        run("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", self.dir / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", self.dir / "build")
        self.check_example(self.dir / "build" / "count_transfers")

    def test_by_pkg_config(self):
        for file in ("Makefile", "count_transfers.cc"):
            (self.dir / file).write_bytes((EXAMPLE / file).read_bytes())
        run("make", cwd=self.dir, env=self.env)
        self.check_example(self.dir / "count_transfers")
        version = run("pkg-config", "--modversion", "reprise-trace", env=self.env).strip()
        self.assertEqual(version, self.run_program("--version").stdout.split()[1])

    def test_c(self):
        (self.dir / "table.c").write_text(C_PROGRAM)
        flags = run("pkg-config", "--cflags", "--libs", "reprise-trace", env=self.env).split()
        run("gcc", "-std=c99", "-pedantic-errors", "-Wall", "-Werror", self.dir / "table.c", "-o", self.dir / "table", *flags)
        file = sorted(self.traces.glob("*.0.et*"))[0]
        nodes = json.loads(run(program.REPRISE, "stats", file, "--json"))["nodes"]
        said = run(self.dir / "table", file, env=self.env).split()
        self.assertEqual(said[1:], [str(nodes), "node_id"])
        done = subprocess.run([self.dir / "table", __file__], capture_output=True, text=True, check=False, env=self.env)
        self.assertEqual(done.returncode, 3)
        self.assertIn(__file__, done.stderr)

    def test_public_headers_alone(self):
        """Each compiles by itself, and nothing but the standard library and tl::expected comes with it."""
        include = self.prefix / "include"
        headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
        listed = [f"reprise/{line}" for line in (program.ROOT / "trace_library/public_headers.txt").read_text().splitlines()
                  if not line.startswith("#")]
        self.assertEqual(headers, listed)
        source = self.dir / "alone.cc"
        for header in headers:
            source.write_text(f'#include "{header}"\n')
            run("g++", "-std=c++20", "-fsyntax-only", f"-I{include}", source)
        source.write_text("".join(f'#include "{header}"\n' for header in headers))
        used = run("g++", "-std=c++20", "-M", f"-I{include}", source)
        for absent in ("google/protobuf", ".pb.h", "nlohmann", "simdjson", "spdlog", "/fmt/"):
            self.assertNotIn(absent, used)

    def test_library_exports_reprise_alone(self):
        library, = (path for path in self.prefix.rglob("libreprise_trace.so.*") if not path.is_symlink())
        names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
        self.assertGreater(len(names), 100)
        self.assertEqual([name for name in names if not name.startswith(("reprise_", "_ZN7reprise", "_ZNK7reprise", "_ZTVN7reprise",
                                                                          "_ZTIN7reprise", "_ZTSN7reprise"))], [])


if __name__ == "__main__":
    sys.exit(program.main())
