#!/usr/bin/env python3
"""The documentation: how it is written, where its links lead, and that it holds what the program prints."""
import json
import pathlib
import re
import subprocess
import sys

import markdown_page
import program
import prose

README = program.ROOT / "README.md"
KERNELS = program.ROOT / "docs" / "kernels.md"
COMMAND_LINE = program.ROOT / "docs" / "command_line.md"
PAGES = [README, program.ROOT / "traces" / "README.md", *sorted((program.ROOT / "docs").rglob("*.md"))]
NOT_ON_THE_START_PAGE = [program.ROOT / name for name in
                         ("CHANGELOG.md", "SECURITY.md", ".github/CONTRIBUTING.md", "bench/peers/README.md")]
SOURCES = {".cc", ".h", ".cl", ".def", ".proto", ".py", ".cmake", ".txt", ".sbatch", ""}
MOST_LINES_OF_README = 130


def name_of(page):
    return str(page.relative_to(program.ROOT))


def parsed(page):
    return markdown_page.parse(page.read_text(encoding="utf-8"))


class Prose(program.ProgramTest):
    def test_pages(self):
        terms = prose.banned_terms()
        faults = [f"{name_of(page)}:{line}: {fault}" for page in [*PAGES, *NOT_ON_THE_START_PAGE]
                  for line, fault in prose.faults(page.read_text(encoding="utf-8"), terms)]
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_a_fault_is_found(self):
        words = " ".join(["word"] * 31)
        terms = prose.banned_terms()
        self.assertEqual(prose.faults(f"Short.\nThe {words}.\nShort.\n", terms)[0][0], 2)
        self.assertEqual(len(prose.faults(f"{words[:-5]}. {'Two words. ' * 46}", terms)), 1)
        self.assertEqual([line for line, _ in prose.faults("# Played\n\n| room |\n|---|\n\nIt was\nplayed.", terms)],
                         [1, 3, 7])
        self.assertEqual(prose.faults(f"`{words}`\n\n    {words}\n\n```\n{words} played\n```\n", terms), [])

    def test_help(self):
        terms = prose.banned_terms()
        commands = re.findall(r"^  ([a-z]+) {2,}", self.run_program("--help").stdout, re.MULTILINE)
        self.assertGreater(len(commands), 10)
        for command in [[], *([command] for command in commands)]:
            text = re.sub(r"--[\w-]+", "", self.run_program(*command, "--help").stdout)
            self.assertEqual(prose.terms_in(text, terms), [], " ".join(["reprise", *command, "--help"]))

    def test_readme_is_short(self):
        self.assertLessEqual(len(README.read_text(encoding="utf-8").splitlines()), MOST_LINES_OF_README)


class Links(program.ProgramTest):
    def test_every_relative_link_leads_somewhere(self):
        broken, anchors = [], {}
        for page in [*PAGES, *NOT_ON_THE_START_PAGE]:
            for line, target in parsed(page).links:
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                if file.suffix == ".md" and file.exists() and file not in anchors:
                    anchors[file] = parsed(file).anchors
                if not file.exists() or anchor and anchor not in anchors.get(file, ()):
                    broken.append(f"{name_of(page)}:{line}: {target}")
        self.assertEqual(broken, [], "\n" + "\n".join(broken))

    def test_every_page_is_on_the_start_page(self):
        start = program.ROOT / "docs" / "README.md"
        named = {(start.parent / target.partition("#")[0]).resolve() for _, target in parsed(start).links}
        self.assertEqual([name_of(page) for page in PAGES if page not in named | {README, start}], [])

    def test_sources_name_pages_that_exist(self):
        wrong = []
        folders = [folder for folder in program.ROOT.iterdir() if not folder.name.startswith((".", "build"))]
        files = [file for folder in folders for file in ([folder] if folder.is_file() else folder.rglob("*"))]
        for file in sorted(files):
            if file.suffix not in SOURCES or not file.is_file() or "__pycache__" in file.parts:
                continue
            for path in re.findall(r"(?<![\w./])docs/[\w/]+\.md", file.read_text(encoding="utf-8", errors="replace")):
                if not (program.ROOT / path).exists():
                    wrong.append(f"{name_of(file)}: {path}")
        self.assertEqual(wrong, [])


class Commands(program.ProgramTest):
    """Blocks of commands in the README and the guides: `<!-- run -->` or `<!-- not run: REASON -->` above each."""

    PAGES = [README, *sorted((program.ROOT / "docs" / "guides").glob("*.md"))]

    def test_every_block_is_marked(self):
        wrong = []
        for page in self.PAGES:
            for block in parsed(page).blocks:
                if not block.fenced or block.language not in {"sh", "text", "python", "json"}:
                    wrong.append(f"{name_of(page)}:{block.line}: begin it with ```sh, text, python or json")
                elif block.language == "sh" and not re.fullmatch(r"run|not run: .{5,}", block.mark):
                    wrong.append(f"{name_of(page)}:{block.line}: needs <!-- run --> or <!-- not run: reason -->")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_guides_have_commands_that_run(self):
        self.assertEqual([name_of(page) for page in self.PAGES if page.parent.name == "guides"
                          and page.name != "capture.md" and not self.commands(page)], [])

    def test_commands_run(self):
        for page in self.PAGES:
            with self.subTest(page=name_of(page)):
                self.run_page(page, self.dir / page.stem)

    def commands(self, page):
        return [block for block in parsed(page).blocks if block.mark == "run"]

    def run_page(self, page, folder):
        """Runs the blocks of a page in order, in one folder that looks like the repository after a build."""
        (folder / "build").mkdir(parents=True)
        (folder / "build" / "reprise").symlink_to(pathlib.Path(program.REPRISE).resolve())
        for name in ("traces", "report", "scripts", "LICENSE"):
            (folder / name).symlink_to(program.ROOT / name)
        environment = {**program.ENVIRONMENT, "PATH": f"{folder / 'build'}:{program.ENVIRONMENT['PATH']}"}
        for block in self.commands(page):
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=folder, env=environment,
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0,
                             f"{name_of(page)}:{block.line}\n{block.text}\n{done.stdout}\n{done.stderr}")


class Kernels(program.ProgramTest):
    def test_kernel_table_is_what_the_program_prints(self):
        printed = self.run_program("list", "kernels", "--markdown").stdout
        page = KERNELS.read_text(encoding="utf-8")
        self.assertIn(printed, page,
                      f"{KERNELS}: replace the table by what `reprise list kernels --markdown` prints")
        self.assertEqual(page.count("\n|"), printed.count("\n|") + 1, f"{KERNELS}: one table only")

    def test_every_listed_operator_is_in_the_table(self):
        page = KERNELS.read_text(encoding="utf-8")
        for kernel in self.run_json("list", "kernels")["kernels"]:
            for operator in kernel["operators"]:
                self.assertTrue(re.search(re.escape(f"`{operator}`"), page), operator)

    def test_markdown_or_json(self):
        self.run_program("list", "kernels", "--markdown", "--json", expect=2)


class Models(program.ProgramTest):
    def test_architectures_are_those_that_the_program_knows(self):
        config = self.dir / "config.json"
        config.write_text('{"model_type": "none of them"}')
        refused = self.run_program("predict", config, "--machine", "h100-hgx", expect=3).stderr
        known = re.search(r"known are ([\w, ]+)\.", refused).group(1).split(", ")
        page = (program.ROOT / "docs" / "guides" / "generate.md").read_text(encoding="utf-8")
        listed = re.search(r"Known are the architectures (.*?)\. Others", page, re.DOTALL).group(1)
        self.assertEqual(re.findall(r"`(\w+)`", listed), known)


class Policies(program.ProgramTest):
    def test_table_holds_what_the_presets_do(self):
        page = (program.ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
        header = re.search(r"^\| fields \|(.*)\|$", page, re.MULTILINE)
        presets = re.findall(r"`(\w+)`", header.group(1))
        self.assertEqual(len(presets), 3)
        table = {preset: {} for preset in presets}
        for row in page[header.end():].split("\n\n")[0].splitlines()[2:]:
            names, *actions = (cell.strip() for cell in row.strip("|").split("|"))
            for preset, action in zip(presets, actions):
                table[preset].update({name: action for name in re.findall(r"`(\w+)`", names)})
        for preset in presets:
            fields = json.loads(self.run_program("anonymize", "--print-policy", preset).stdout)["fields"]
            self.assertEqual(table[preset], fields, preset)


class Versions(program.ProgramTest):
    def test_numbers_are_those_of_the_sources(self):
        page = (program.ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| .* \| (\d+) \| `([\w/.]+)`: `([^|]+)` \|", page, re.MULTILINE)
        self.assertGreater(len(rows), 5)
        for number, file, text in rows:
            self.assertRegex(text, rf"\b{number}\b")
            self.assertIn(text, (program.ROOT / file).read_text(encoding="utf-8"), file)

    def test_one_version_of_the_program(self):
        version = self.run_program("--version").stdout.split()[1]
        for file, text in (("CITATION.cff", f"\nversion: {version}\n"), ("CHANGELOG.md", f"\n## {version}\n")):
            self.assertIn(text, (program.ROOT / file).read_text(encoding="utf-8"), file)


class Joining(program.ProgramTest):
    """What GitHub shows to those who join: the scripts that it names exist, and reports ask for what is needed."""

    FILES = sorted(path for path in (program.ROOT / ".github").rglob("*") if path.is_file())

    def test_scripts_exist(self):
        named = {(path.name, name) for path in self.FILES
                 for name in re.findall(r"(?<![\w./])(?:\.ci|scripts|tests|docs)/[\w/.]*\w", path.read_text(encoding="utf-8"))}
        self.assertGreater(len(named), 5)
        self.assertEqual([pair for pair in sorted(named) if not (program.ROOT / pair[1]).exists()], [])

    def test_reports_ask_for_version_and_trace(self):
        for name in ("ISSUE_TEMPLATE/bug.yml", "pull_request_template.md"):
            text = (program.ROOT / ".github" / name).read_text(encoding="utf-8")
            self.assertIn("reprise --version", text)
            self.assertIn("reprise anonymize", text)


class CommandLine(program.ProgramTest):
    def test_page_is_what_the_program_prints(self):
        printed = self.run_program("man", "--markdown").stdout
        self.assertEqual(COMMAND_LINE.read_text(encoding="utf-8"), printed,
                         "refresh the page: build/reprise man --markdown > docs/command_line.md")


if __name__ == "__main__":
    sys.exit(program.main())
