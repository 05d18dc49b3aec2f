#!/usr/bin/env python3
"""Holds scripts/packages.txt complete: each program and Python module that tests and scripts use comes from a package that
is listed there, from one that a listed package depends on, or from Debian's minimal system. What this machine has
installed besides does not count. About 3 s.

Read are the programs of subprocess calls and of program.need() and program.missing(), imports, and the first words of
shell commands. What those start in their turn is only seen in a bare root (scripts/lib/bare_root.sh).
"""
import ast
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import skips  # noqa: E402

LIST = ROOT / "scripts" / "packages.txt"
DPKG = pathlib.Path("/var/lib/dpkg")
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
MODULES = pathlib.Path("/usr/lib/python3/dist-packages")
# What scripts/test installs; tests/cluster skips where group [cluster] is not there.
FOR_TESTS = ("build", "test", "bundle", "package")
FOR_SCRIPTS = (*FOR_TESTS, "cluster", "ci", "container", "bare_root")
# No Debian package: where it is missing, tests say so, and values are made by hand.
OPTIONAL_MODULES = {"torch"}
# Before the command itself.
SHELL_PREFIXES = {"if", "then", "else", "elif", "while", "until", "do", "!", "exec", "time", "env", "nice", "sudo", "{", "("}


def groups():
    found, name = {}, None
    for line in LIST.read_text().split("\n"):
        if line.startswith("["):
            name = line.strip("[]")
            found[name] = []
        elif line and not line.startswith("#"):
            found[name].append(line)
    return found


class Packages:
    """What dpkg has installed here: dependencies, and which file is whose."""

    def __init__(self):
        self.depends, self.minimal, self._provided = {}, set(), {}
        for block in (DPKG / "status").read_text().split("\n\n"):
            fields = dict(re.findall(r"^([\w-]+): (.*)$", block, re.MULTILINE))
            if not fields.get("Status", "").endswith(" installed"):
                continue
            name = fields["Package"]
            self.depends[name] = [[re.match(r"[^\s:(]+", choice.strip())[0] for choice in clause.split("|")]
                                  for field in ("Depends", "Pre-Depends") for clause in fields.get(field, "").split(",") if clause.strip()]
            for provided in re.findall(r"[^\s,(]+(?=\s*(?:\(|,|$))", re.sub(r"\([^)]*\)", "", fields.get("Provides", ""))):
                self._provided.setdefault(provided, []).append(name)
            if fields.get("Essential") == "yes" or fields.get("Priority") == "required" or name == "apt":
                self.minimal.add(name)

    def closure(self, names):
        """These and what they depend on; of alternatives the first that is here."""
        found, left = set(), list(names)
        while left:
            name = left.pop()
            if name in found:
                continue
            if name not in self.depends:
                left += self._provided.get(name, [])
                continue
            found.add(name)
            for choices in self.depends[name]:
                left += next(([choice] for choice in choices if choice in self.depends or choice in self._provided), [])
        return found

    @functools.cached_property
    def _owners(self):
        return {line: file.stem.split(":")[0] for file in (DPKG / "info").glob("*.list")
                for line in file.read_text().split("\n")}

    def owner(self, path):
        """The package of a file, behind symbolic links, with or without the merged /usr."""
        for name in (os.path.realpath(path), str(path)):
            for place in (name, name.removeprefix("/usr"), f"/usr{name}"):
                if place in self._owners:
                    return self._owners[place]
        return None


def python_uses(path):
    """(line, what is used) of a test: programs as names, modules as paths below MODULES."""
    tree = ast.parse(path.read_text())
    local = {p.stem for folder in ("tests/attack", "tests/e2e", "tests/python", "tests/cluster", "tests/kernels", "report/python", "bench/predict", "bench/fidelity", "scripts/lib") for p in (ROOT / folder).glob("*")}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in names:
                top = name.split(".")[0]
                if top not in sys.stdlib_module_names | local | OPTIONAL_MODULES:
                    yield node.lineno, pathlib.Path(name.replace(".", "/") if top == "google" else top)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        starts = node.func.attr in ("run", "Popen", "check_output") and ast.unparse(node.func.value) == "subprocess"
        first = node.args[0].elts[:1] if starts and isinstance(node.args[0], ast.List) else []
        for word in first if starts else node.args if node.func.attr in ("need", "missing") else []:
            if isinstance(word, ast.Constant):
                yield node.lineno, word.value


def shell_uses(path):
    """(line, program): the first words of commands that are programs of some package."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        for command in re.split(r"[|;&]+|\$\(|<\(|&&", re.sub(r"(^|\s)#.*", "", line)):
            words = command.split()
            while words and (words[0] in SHELL_PREFIXES or re.match(r"\w+=", words[0])):
                words.pop(0)
            if words and re.fullmatch(r"[a-z][\w.+-]*", words[0]) and shutil.which(words[0], path=SYSTEM_PATH):
                yield number, words[0]


def tracked(*patterns):
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", *patterns], check=True,
                            capture_output=True, text=True).stdout.split("\n")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def place_of(used):
    """The file of a program or module; None: not there, or not from a package."""
    if isinstance(used, str):
        return shutil.which(used, path=SYSTEM_PATH)
    return next((path for path in (MODULES / used, MODULES / f"{used}.py") if path.exists()), None)


def check():
    packages, listed = Packages(), groups()
    closures = {}
    count = 0
    for path in tracked("tests/*.py", "tests/**/*.py", "scripts", ".ci"):
        relative = path.relative_to(ROOT).as_posix()
        is_test = relative.startswith("tests/")
        if not is_test and not path.read_text(errors="replace").startswith(("#!/usr/bin/env bash", "#!/bin/sh", "# shellcheck")):
            continue
        allowed = FOR_SCRIPTS if not is_test else (*FOR_TESTS, "cluster") if "/cluster/" in relative else FOR_TESTS
        names = {name for group in allowed for name in listed[group]}
        if allowed not in closures:
            closures[allowed] = packages.closure(names | packages.minimal)
        for line, used in (python_uses if is_test else shell_uses)(path):
            count += 1
            place = place_of(used)
            owner = place and packages.owner(place)
            # What is not here may come with those listed packages that are not here either.
            if owner is None and names <= packages.depends.keys():
                yield f"{relative}:{line}: {used} comes with no package of {LIST.name}"
            elif owner is not None and owner not in closures[allowed]:
                yield f"{relative}:{line}: {used} is from the package {owner}, which {LIST.name} lacks for {', '.join(allowed)}"
    print(f"{count} uses of programs and modules")
    # A checker that finds nothing checks nothing.
    if count < 50:
        yield "too few uses: is this a checkout, with the packages of scripts/packages.txt installed?"


def main():
    if not DPKG.exists():
        try:
            skips.skip("debian", "this machine is not Debian's")
        except unittest.SkipTest as why:
            print(why)
            return 0
    problems = list(check())
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
