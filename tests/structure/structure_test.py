#!/usr/bin/env python3
"""Checks which library may include which, that no folders include each other in a circle, and where
third-party headers and the backends' names stay.

The layers are in cmake/layers.txt; a violation names file, line and rule.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_layers():
    """cmake/layers.txt: what each library may use, and the order of the folders within one."""
    may_use, order = {}, {}
    for line in (ROOT / "cmake" / "layers.txt").read_text().splitlines():
        if found := re.match(r"within ([\w/]+): (.*)", line):
            order[found.group(1)] = found.group(2).split()
        elif found := re.match(r"([\w/]+):([^[]*)\[.+\]$", line):
            may_use[found.group(1)] = found.group(2).split()
        elif line and not line.startswith("#"):
            raise SystemExit(f"cmake/layers.txt: expected LIBRARY: LIBRARIES [PRODUCT], or within FOLDER: FOLDERS: {line}")
    return may_use, order


MAY_USE, ORDER = read_layers()


def library_of(name):
    """The library that a file is in: the deepest folder of cmake/layers.txt. Empty: none."""
    folder = folder_of(name)
    while folder and folder not in MAY_USE:
        folder = folder_of(folder)
    return folder


def folder_of(name):
    return name.rpartition("/")[0]


# Folders that include each other in a circle nevertheless → why.
KNOWN_CIRCLES = {}
# Folders in which no files include each other in a circle, either.
FREE_OF_CIRCLES = ("report/",)
# Header pattern → path prefixes that may include it.
THIRD_PARTY = {
    r"mpi\.h": ["collectives/transport/mpi"],
    r"CL/": ["kernels/opencl/"],
    r"sqlite3\.h": ["core/sqlite/"],
    r".*\.pb\.h|google/protobuf/.*": ["et_schema/", "report/timeline/perfetto"],
    r"simdjson\.h|nlohmann/.*": ["core/json_fields", "core/parse_json", "converters/", "et_schema/", "report/",
                                  "kernels/bench/", "predict/", "cli/"],
    r"tbb/.*|oneapi/tbb.*": ["kernels/cpu/parallel_for", "replayer/"],
    r"spdlog/.*": ["core/"],
    r"CLI/.*": ["cli/"],
    r"dnnl.*": ["kernels/"],
    r"nettle/.*": ["converters/share/anonymize/keyed_hash"],
    r"archive\.h|archive_entry\.h": ["converters/share/package/"],
}
# Only cli/ ends the process, reads the environment or prints results.
FORBIDDEN_BELOW_CLI = re.compile(
    r"\b(?:std::)?(?:exit|abort|getenv|setenv|puts|printf)\s*\(|\bstd::cout\b|\bfmt::print\s*\(\s*[\"{]")
BAD_NAMES = re.compile(r"\b(?:class|struct)\s+\w*(?:Manager|Helper|Util|Utils)\b")


# A line that makes a backend's name (kernels/backends.def) matter: compares it, or chooses it.
NAME_MATTERS = r'[=!]=\s*"{0}"|"{0}"\s*[=!]=|\bbackend\w*\s*=\s*"{0}"|IsMember\(.*"{0}"|Devices\("{0}"\)'


def sources():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], check=True,
                            capture_output=True, text=True).stdout.split("\n")
    return [ROOT / name for name in listed
            if name.endswith((".cc", ".h")) and library_of(name)
            and (ROOT / name).is_file()]


def check(path):
    relative = path.relative_to(ROOT).as_posix()
    library = library_of(relative)
    for number, line in enumerate(path.read_text().split("\n"), 1):
        where = f"{relative}:{number}"
        include = re.match(r'\s*#include\s+[<"]([^>"]+)[>"]', line)
        if include:
            header = include.group(1)
            used = library_of(header)
            if used and used != library and used not in MAY_USE[library]:
                yield f"{where}: {library}/ may not use {used}/ ({header})"
            for pattern, allowed in THIRD_PARTY.items():
                if re.fullmatch(pattern + ("" if pattern.endswith(("h", "*")) else ".*"), header) \
                        and not any(relative.startswith(prefix) for prefix in allowed):
                    yield f"{where}: {header} belongs to {', '.join(allowed)}"
            continue
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line.split("//")[0])
        if not relative.startswith("cli/") and FORBIDDEN_BELOW_CLI.search(code):
            yield f"{where}: exit, environment and stdout belong to cli/: {line.strip()}"
        if BAD_NAMES.search(code):
            yield f"{where}: no Manager, Helper, Util: {line.strip()}"


def includes(path):
    """The project's own headers that a file includes, by line."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        include = re.match(r'\s*#include\s+"([^"]+)"', line)
        if include and library_of(include.group(1)):
            yield number, include.group(1)


def place_in_order(order, folder):
    within = next((above for above in order if "/" in above and folder.startswith(above + "/")), "*")
    return order.index(folder if folder in order else within)


def check_order(files):
    """A folder below one of ORDER's uses only what comes before it; what is of a plug-in is its own."""
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        own = folder_of(name)
        for number, header in includes(path):
            used = folder_of(header)
            order = ORDER.get(library_of(header))
            if order is None or used == own:
                continue
            if order[place_in_order(order, used)] == "*":
                yield f"{name}:{number}: {used}/ is a plug-in, whose headers are its own ({header})"
            elif library_of(name) == library_of(header) \
                    and place_in_order(order, used) > place_in_order(order, own):
                yield f"{name}:{number}: {own}/ comes before {used}/ ({header}), see docs/architecture.md"


def circles(uses):
    """The strongly connected parts of more than one folder, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(folder):
        index[folder] = low[folder] = len(index)
        stack.append(folder)
        for used in sorted(uses[folder]):
            if used not in index:
                visit(used)
                low[folder] = min(low[folder], low[used])
            elif used in stack:
                low[folder] = min(low[folder], index[used])
        if low[folder] == index[folder]:
            at = stack.index(folder)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for folder in sorted(uses):
        if folder not in index:
            visit(folder)
    return found


def check_circles(files):
    """No folders or sub-folders include each other, over however many others."""
    uses = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        for number, header in includes(path):
            if folder_of(header) != folder_of(name):
                uses[folder_of(name)][folder_of(header)].append(f"{name}:{number}")
                _ = uses[folder_of(header)]
    seen = set()
    for circle in circles(uses):
        seen.add(" ".join(circle))
        if " ".join(circle) not in KNOWN_CIRCLES:
            edges = [f"{a} -> {b} ({uses[a][b][0]})" for a in circle for b in circle if uses[a].get(b)]
            yield f"folders include each other in a circle: {', '.join(circle)}: {'; '.join(edges)}"
    for known in sorted(set(KNOWN_CIRCLES) - seen):
        yield f"KNOWN_CIRCLES: {known} is none any more"


def check_file_circles(files):
    """In FREE_OF_CIRCLES no files include each other, a header and its .cc taken as one: values stand below what finds them."""
    uses = collections.defaultdict(set)
    for path in files:
        name = path.relative_to(ROOT).with_suffix("").as_posix()
        if name.startswith(FREE_OF_CIRCLES):
            for _, header in includes(path):
                used = header.rpartition(".")[0]
                if header.startswith(FREE_OF_CIRCLES) and used != name:
                    uses[name].add(used)
                    _ = uses[used]
    for circle in circles(uses):
        edges = [f"{a} -> {b}" for a in circle for b in circle if b in uses[a]]
        yield f"files include each other in a circle: {'; '.join(edges)}"
    if len(uses) < 50:
        yield f"only {len(uses)} files looked at for circles"


def check_sections():
    """Every section of the report (report/sections/sections.def) has its name in docs/report.md, and the page no other."""
    registered = re.findall(r"^SECTION\((\w+)\)", (ROOT / "report" / "sections" / "sections.def").read_text(), re.MULTILINE)
    text = "".join(path.read_text() for path in sorted((ROOT / "report" / "sections").glob("*.cc")))
    names = dict(re.findall(r"^Section (\w+)Section\(\) \{\s*return \{\s*\.name = \"([\w-]+)\"", text, re.MULTILINE))
    for name in sorted(set(registered) ^ set(names)):
        yield f"report/sections/sections.def: {name} needs one line there and one {name}Section() in report/sections/"
    row = re.search(r"^\| `--section NAME` \|.*$", (ROOT / "docs" / "report.md").read_text(), re.MULTILINE)
    listed = re.findall(r"`([\w-]+)`", row.group(0).partition("one section:")[2]) if row else []
    if listed != [names.get(name) for name in registered]:
        yield f"docs/report.md: --section NAME: the names are {[names.get(name) for name in registered]}, in this order"


def check_backends(files):
    """A backend's name matters only in its folder: elsewhere its properties do (kernels/backend.h)."""
    folders = [name.lower() for name in
               re.findall(r"^BACKEND\((\w+)\)", (ROOT / "kernels" / "backends.def").read_text(), re.MULTILINE)]
    if not folders:
        yield "kernels/backends.def: no backend"
    for folder in folders:
        if not (ROOT / "kernels" / folder).is_dir():
            yield f"kernels/backends.def: there is no kernels/{folder}/"
        matters = re.compile(NAME_MATTERS.format(folder))
        for path in files:
            name = path.relative_to(ROOT).as_posix()
            for number, line in enumerate(path.read_text().split("\n"), 1):
                if not name.startswith(f"kernels/{folder}/") and matters.search(line.split("//")[0]):
                    yield f"{name}:{number}: the name of a backend matters only in kernels/{folder}/: {line.strip()}"


def counted_names(path):
    """The counters that a file counts (core/diagnostics.h), by line: what stands first in Count(…); where
    that is a variable, the names in the tables that it comes from."""
    text = path.read_text()
    names = {}
    indirect = False
    for call in re.finditer(r"\bCount(?:Named|Time)?\(\s*([^;]*?)(?=,|\);)", text):
        literals = re.findall(r'"([a-z][a-z_]*)(?:: [^"]*)?"', call.group(1))
        for name in literals:
            names.setdefault(name, text.count("\n", 0, call.start()) + 1)
        indirect = indirect or call.group(1) in ("name", "counter")
    if indirect:
        for row in re.finditer(r'\{(?:k\w+, )?"([a-z]+(?:_[a-z0-9]+)+)"[,}]', text):
            names.setdefault(row.group(1), text.count("\n", 0, row.start()) + 1)
    return names


def check_counters(files):
    """Every counter has its sentence in core/counters.def, and every sentence a counter."""
    table = (ROOT / "core" / "counters.def").read_text()
    said = re.findall(r"^COUNTER(?:_OF_TIME)?\((\w+),", table, re.MULTILINE)
    said += sorted(set(re.findall(r"^COUNTER_OF_TIME\(\w+, \w+, (\w+),", table, re.MULTILINE)))
    counted = {}
    for path in files:
        for name, line in counted_names(path).items():
            counted.setdefault(name, f"{path.relative_to(ROOT).as_posix()}:{line}")
    for name in sorted(set(counted) - set(said)):
        yield f"{counted[name]}: counter {name} needs a line in core/counters.def"
    for name in sorted(set(said) - set(counted)):
        yield f"core/counters.def: nothing counts {name}"
    for name in sorted({name for name in said if said.count(name) > 1}):
        yield f"core/counters.def: {name} stands there twice"


def check_skips():
    """A test is skipped for a reason of tests/needs.def, which can be required: by tests/skip.h and tests/e2e/skips.py."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "tests"], check=True,
                            capture_output=True, text=True).stdout.split()
    allowed = {"tests/skip.h", "tests/e2e/skips.py", "tests/structure/structure_test.py"}
    for name in sorted(set(listed) - allowed):
        if not name.endswith((".cc", ".h", ".py")) or not (ROOT / name).is_file():
            continue
        for number, line in enumerate((ROOT / name).read_text().split("\n"), 1):
            if re.search(r"\bGTEST_SKIP\b|\bskipTest\b|\bunittest\.skip|@skip(?:If|Unless)?\b|\bpytest\.skip", line):
                yield f"{name}:{number}: skip for a reason of tests/needs.def: {line.strip()}"


# A namespace, a type's definition, or a brace; of "struct A::B {" and of a specialisation no name.
SCOPES = re.compile(r"namespace\s*([\w:]*)\s*\{|\b(?:struct|class|union)\s+(\w+)\b(?!\s*(?:::|<))[^;{}()=]*\{|[{}]")


def types_of(path):
    """The types that a file defines outside others: the name, without anonymous namespaces, and whether it is in one."""
    code = re.sub(r'//.*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'', "", path.read_text())
    scopes = []  # of each open brace: the namespace's name, or None
    for scope in SCOPES.finditer(code):
        if scope.group(0) == "}":
            scopes[-1:] = []
        elif scope.group(1) is not None:
            scopes.append(scope.group(1))
        else:
            if scope.group(2) and None not in scopes:
                yield "::".join([*filter(None, scopes), scope.group(2)]), "" in scopes
            scopes.append(None)


def check_types(files):
    """One definition of a type: the linker silently takes either of two, and the program then frees what it never had.
    Sources of a library are compiled as one file: a name in an anonymous namespace is no name of the headers that they may see."""
    defined = {}
    anonymous = {}
    for path in files:
        for name, is_anonymous in types_of(path):
            (anonymous if is_anonymous else defined).setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    for name, places in sorted(defined.items()):
        if len(places) > 1:
            yield f"{name} is defined in {' and '.join(places)}"
        for place in anonymous.get(name, []):
            seen = [library_of(place), *MAY_USE[library_of(place)]]
            for header in places:
                if header.endswith(".h") and library_of(header) in seen:
                    yield f"{name} is defined in {header} and, in an anonymous namespace, in {place}"
    if len(defined) < 100 or len(anonymous) < 100:
        yield f"only {len(defined)} types found, and {len(anonymous)} in anonymous namespaces"


def check_picture():
    done = subprocess.run([ROOT / "scripts" / "draw_layers.py", "--check"], check=False, capture_output=True, text=True)
    if done.returncode:
        yield done.stderr.strip()


def main():
    files = sources()
    problems = [problem for path in files for problem in check(path)]
    for check_all in (check_counters, check_order, check_circles, check_file_circles, check_backends, check_types):
        problems += check_all(files)
    problems += [*check_skips(), *check_sections(), *check_picture()]
    print("\n".join(problems))
    print(f"{len(files)} files, {len(problems)} problems")
    # A checker that finds no files checks nothing.
    return 1 if problems or len(files) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
