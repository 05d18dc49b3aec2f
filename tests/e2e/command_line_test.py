#!/usr/bin/env python3
"""What is made from the option tables: --version, the manual page, the completions of shells. About 5 s."""
import re
import subprocess
import sys

import program

# Prints what bash offers for the words of a command line, of which the last is being typed.
COMPLETE = '''source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
_reprise && printf '%s\\n' "${COMPREPLY[@]}"'''


class Version(program.ProgramTest):
    def test_says_what_it_is(self):
        first, *rest = self.run_program("--version").stdout.rstrip().split("\n")
        self.assertRegex(first, r"^reprise \d+\.\d+\.\d+$")
        facts = dict(line.split(maxsplit=1) for line in rest)
        self.assertEqual(facts["backends"], "cuda, opencl, host")
        self.assertRegex(facts["commit"], r"^([0-9a-f]{12}(-dirty)?|unknown)$")
        self.assertRegex(facts["mpi"], r"\d+\.\d+")
        for library in ("protobuf", "SQLite", "oneDNN", "TBB", "simdjson", "zstd", "zlib"):
            self.assertRegex(facts["libraries"], library + r" \d+\.\d+")

    def test_commit(self):
        """The header changes with the commit, and only then; an archive has none."""
        source, header = self.dir / "source", self.dir / "commit.h"
        source.mkdir()

        def commit():
            subprocess.run(["cmake", f"-DSOURCE={source}", f"-DOUTPUT={header}", "-P",
                            program.ROOT / "cmake" / "commit.cmake"], check=True)
            return re.search('"(.*)"', header.read_text()).group(1), header.stat().st_mtime_ns

        def git(*args):
            subprocess.run(["git", "-C", source, "-c", "user.name=x", "-c", "user.email=x@localhost", *args], check=True,
                           capture_output=True)

        self.assertEqual(commit()[0], "unknown")
        git("init")
        (source / "file").write_text("a")
        git("add", "file")
        git("commit", "-m", "one")
        git("tag", "-a", "v1", "-m", "not what is asked for")
        name, written = commit()
        self.assertRegex(name, "^[0-9a-f]{12}$")
        self.assertEqual(commit(), (name, written))
        (source / "file").write_text("b")
        self.assertEqual(commit()[0], name + "-dirty")
        (source / "within").mkdir()
        source = source / "within"
        self.assertEqual(commit()[0], "unknown")


class Manual(program.ProgramTest):
    def test_renders_without_warnings(self):
        page = self.run_program("man").stdout
        self.assertTrue(page.isascii())
        for macro in ("SH NAME", "SH OPTIONS", "SH COMMANDS", "SS reprise replay", "SH EXIT STATUS"):
            self.assertIn(f"\n.{macro}\n", page)
        program.need("groff")
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou"], input=page, capture_output=True, text=True,
                              check=True, encoding="utf-8")
        self.assertEqual(done.stderr, "")
        text = re.sub(r"\s+", " ", done.stdout)
        self.assertIn("--memory own|share which storages may share a buffer", text)
        self.assertIn("real|surrogate|timed|skip, or CLASS=MODE,…;", text)

    def test_has_what_help_has(self):
        """Every option of every command, on the two pages and in the three completions."""
        page = self.run_program("man").stdout.replace("\\-", "-")
        markdown = self.run_program("man", "--markdown").stdout
        shells = [self.run_program("completion", shell).stdout for shell in ("bash", "zsh", "fish")]
        commands = re.findall(r"^  ([a-z]+) {2,}", self.run_program("--help").stdout, re.MULTILINE)
        self.assertIn("replay", commands)
        for command in [[name] for name in commands] + [["bench", "kernels"], ["bench", "collectives"]]:
            options = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", self.run_program(*command, "--help").stdout, re.MULTILINE))
            self.assertIn("--help", options)
            section = page.split(f".SS reprise {' '.join(command)}\n")[1].split("\n.S")[0]
            rows = markdown.split(f"\n## reprise {' '.join(command)}\n")[1].split("\n## ")[0]
            for option in options - {"--help", "--verbose"}:  # the same for all, among the program's own
                self.assertIn(f"\\fB{option}\\fR", section, command)
                self.assertIn(f"`{option}`", rows, command)
                for script in shells:
                    self.assertIn(option[2:], script, command)


class Help(program.ProgramTest):
    # What each stands for; a command's own is named once.
    POSITIONALS = {"CAPTURE", "SET", "RUN", "JOB", "OUTPUT", "PACKAGE", "KEYS", "COMMAND", "COLLECTIVE", "SHELL", "WHAT"}
    MOST_COLUMNS = 132  # the registries of `list` are one line

    def commands(self):
        script = self.run_program("completion", "bash").stdout
        paths = re.findall(r"command='reprise ([a-z ]+)' ;;", script)
        self.assertIn("bench kernels", paths)
        return [[]] + [path.split() for path in sorted(set(paths))]

    def test_lines_fit(self):
        for command in self.commands():
            for line in self.run_program(*command, "--help").stdout.splitlines():
                self.assertLess(len(line), self.MOST_COLUMNS, f"{command}: {line}")

    def test_positionals_have_one_name_each(self):
        found = set()
        for command in self.commands():
            usage = re.search(r"^Usage: .*", self.run_program(*command, "--help").stdout, re.MULTILINE).group(0)
            words = usage.split("[OPTIONS]", 1)[1].replace("SUBCOMMAND", "").split()
            found |= {word.strip("[].") for word in words}
        self.assertEqual(found, self.POSITIONALS)

    def test_what_is_missing_is_named_as_the_help_has_it(self):
        for command, name in ((["replay"], "SET"), (["report"], "RUN"), (["audit"], "SET"), (["list"], "WHAT"),
                              (["replay", "set"], "--output"), (["predict"], "JOB"), (["unpack"], "PACKAGE")):
            said = self.run_program(*command, expect=2).stderr
            self.assertIn(f"{name} is required", said)
            self.assertEqual(said.count("reprise:"), 1, said)


class Completion(program.ProgramTest):
    def script(self, shell):
        path = self.dir / f"completion.{shell}"
        path.write_text(self.run_program("completion", shell).stdout)
        return path

    def offered(self, *words):
        done = subprocess.run(["bash", "-uc", COMPLETE, "bash", self.bash, *words], capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_bash(self):
        self.bash = self.script("bash")
        self.assertLessEqual({"convert", "replay", "bench", "completion"}, self.offered("reprise", ""))
        self.assertEqual(self.offered("reprise", "rep"), {"replay", "report"})
        self.assertEqual(self.offered("reprise", "bench", ""), {"collectives", "kernels"})
        self.assertEqual(self.offered("reprise", "-v", "bench", "kernels", "--dev"), {"--device", "--device-index"})
        sizes = {"keep", "scale"}
        self.assertEqual(self.offered("reprise", "replay", "set", "--group-sizes", ""), sizes)
        self.assertEqual(self.offered("reprise", "replay", "--group-sizes", "="), sizes)
        self.assertEqual(self.offered("reprise", "replay", "--group-sizes", "=", "k"), {"keep"})
        self.assertEqual(self.offered("reprise", "list", ""),
                         {"kernels", "backends", "collectives", "algorithms", "formats", "models", "schedules", "parallelisms",
                          "machines", "stacks", "sweeps", "sources"})
        self.assertLessEqual({"-o", "--output", "--force"}, self.offered("reprise", "convert", "dir", "-"))
        self.assertIn("h100-hgx", self.offered("reprise", "simulate", "set", "--machine", ""))
        self.assertIn("torch-eager", self.offered("reprise", "predict", "llama3-8b", "--stack", ""))
        self.assertIn("llama3-70b", self.offered("reprise", "predict", "llama"))
        self.assertLessEqual({"shapes", "critical-path"}, self.offered("reprise", "report", "run", "--section", ""))
        # Names of files, which bash itself completes.
        self.assertEqual(self.offered("reprise", "convert", "-o", ""), set())
        self.assertEqual(self.offered("reprise", "stats", ""), set())

    def test_bash_script_is_clean(self):
        program.need("shellcheck")
        subprocess.run(["shellcheck", "--shell=bash", self.script("bash")], check=True)

    def test_other_shells_read_theirs(self):
        program.need("zsh", "fish")
        for shell in ("zsh", "fish"):
            with self.subTest(shell):
                subprocess.run([shell, "-n", self.script(shell)], check=True)

    def test_unknown_shell(self):
        self.assertIn("bash", self.run_program("completion", "tcsh", expect=2).stderr)


if __name__ == "__main__":
    sys.exit(program.main())
