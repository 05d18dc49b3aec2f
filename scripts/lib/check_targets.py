#!/usr/bin/env python3
"""Compiles the programs that tests/kernels/targets/program_variants wrote for GPUs that need not be here, and compares what
the compilers say of each kernel with tests/kernels/targets/targets.tsv. scripts/check_targets calls this.

NVIDIA: clang makes PTX, ptxas the machine code. AMD: clang makes the machine code. OpenCL C's library is libclc, not the
vendors' own, so registers are near those of a driver, not equal to them.

Exit codes: 0 all as in the table; 1 a kernel does not compile, spills without being listed, takes more than a GPU has, or
differs from the table, or no call launches it; 2 usage; 4 a package is missing.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "kernels" / "targets"
CLANG = "clang-14"
LIBCLC = pathlib.Path("/usr/lib/clc")
PTXAS_FROM_PYPI = pathlib.Path("nvidia") / "cu13" / "bin" / "ptxas"
# The newest PTX that CLANG writes; ptxas assembles it for later GPUs as well.
PTX_OF = "sm_80"
# Scalar: AMD's. Private: of one work-item, in memory; spilled registers are part of it. AMD's scalar registers are spilled
# to lanes of vector registers, not to memory.
VALUES = ("registers", "scalar_registers", "shared_bytes", "private_bytes", "spilled_bytes", "spilled_scalars")
# What one work-group can have.
SHARED_LIMIT_BYTES = {"nvidia": 49152, "amd": 65536}
NVIDIA_REGISTERS = 65536
NVIDIA_REGISTER_GRAIN = 8
AMD_REGISTER_BYTES = 4


class Missing(Exception):
    """A package that is not there."""


class Failed(Exception):
    """A kernel that does not compile."""


def vendor(target):
    return "nvidia" if target.startswith("sm_") else "amd"


def library(target):
    path = LIBCLC / ("nvptx64--nvidiacl.bc" if vendor(target) == "nvidia" else "amdgcn--amdhsa.bc")
    if not path.exists():
        raise Missing(f"{path} is missing: Debian's package libclc-14 has it")
    return path


def find_clang():
    found = shutil.which(CLANG)
    if found is None:
        raise Missing(f"{CLANG} is missing: Debian's package {CLANG} has it")
    return found


def find_ptxas(pypi):
    """A toolkit's, else PyPI's below the directory `pypi`."""
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    places = [shutil.which("ptxas"), *(f"{home}/bin/ptxas" for home in (*homes, "/usr/local/cuda")), pypi / PTXAS_FROM_PYPI]
    for place in places:
        if place is not None and os.access(place, os.X_OK):
            return str(place)
    raise Missing("ptxas is missing: a CUDA toolkit has it, and PyPI's package nvidia-cuda-nvcc (scripts/packages.txt, [pypi_targets])")


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def version_of(tool, pattern):
    text = run([tool, "--version"]).stdout
    found = re.search(pattern, text)
    if found is None:
        raise Missing(f"{tool} --version says no version: {text.strip()[:200]}")
    return found[1]


def compile_program(clang, target, source, options, to):
    """The assembly of a program; raises Failed with the compiler's message."""
    if vendor(target) == "nvidia":
        # cl_khr_fp16: clang's header declares vload_half only with it. asm: a keyword of NVIDIA's OpenCL.
        chosen = ["-target", "nvptx64-nvidia-nvcl", "-Xclang", "-target-cpu", "-Xclang", PTX_OF, "-Xclang", "-target-feature",
                  "-Xclang", "+ptx70", "-Xclang", "-cl-ext=+cl_khr_fp16", "-Dasm=__asm__"]
    else:
        chosen = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib"]
    done = run([clang, "-x", "cl", *chosen, "-O3", "-Xclang", "-finclude-default-header", "-Xclang", "-mlink-builtin-bitcode",
                "-Xclang", str(library(target)), *shlex.split(options), "-S", "-o", str(to), str(source)])
    if done.returncode != 0:
        raise Failed(f"clang for {target}:\n{done.stderr.strip()[:4000]}")
    return to.read_text()


def number(text, pattern):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def nvidia_values(ptxas, target, ptx_file):
    """{kernel: VALUES} by ptxas' own words; raises Failed."""
    done = run([ptxas, "-v", f"-arch={target}", "-o", os.devnull, str(ptx_file)])
    if done.returncode != 0:
        raise Failed(f"ptxas for {target}:\n{(done.stdout + done.stderr).strip()[:4000]}")
    kernels = {}
    for part in (done.stdout + done.stderr).split("Compiling entry function '")[1:]:
        # The properties of a program's functions that were not inlined follow those of the kernel.
        own = re.search(r"Used (\d+) registers[^\n]*", part)
        spills = [int(bytes_) for bytes_ in re.findall(r"(\d+) bytes spill (?:stores|loads)", part)]
        kernels[part.split("'", 1)[0]] = {
            "registers": int(own[1]), "scalar_registers": 0, "shared_bytes": number(own[0], r"(\d+) bytes smem"),
            "private_bytes": max(map(int, re.findall(r"(\d+) bytes stack frame", part)), default=0), "spilled_bytes": sum(spills),
            "spilled_scalars": 0}
    return kernels


def amd_values(assembly):
    """{kernel: VALUES} by the metadata that the driver reads."""
    metadata = assembly.split("\namdhsa.kernels:", 1)[-1].split("\namdhsa.target", 1)[0]
    kernels = {}
    for part in re.split(r"\n  - ", metadata)[1:]:
        facts = dict(re.findall(r"^(?: {4})?\.(\w+): +(\S+)$", part, re.MULTILINE))
        kernels[facts["name"]] = {
            "registers": int(facts["vgpr_count"]), "scalar_registers": int(facts["sgpr_count"]),
            "shared_bytes": int(facts["group_segment_fixed_size"]), "private_bytes": int(facts["private_segment_fixed_size"]),
            "spilled_bytes": AMD_REGISTER_BYTES * int(facts["vgpr_spill_count"]), "spilled_scalars": int(facts["sgpr_spill_count"])}
    return kernels


def undefined(amd_assembly):
    """Functions that neither the program nor libclc defines. Of NVIDIA's, ptxas names them."""
    used = set(re.findall(r"([\w.$]+)@(?:rel32|gotpcrel32)@lo", amd_assembly))
    return sorted(used - set(re.findall(r"^([\w.$]+):", amd_assembly, re.MULTILINE)))


class Compiler:
    def __init__(self, directory, tools, targets):
        self.directory, self.targets = directory, targets
        self.clang, self.ptxas = tools

    def compile(self, job):
        """{(target, program, entry, options): VALUES} of a job, and what is wrong with it."""
        (kind, program, options), by_target = job
        values, problems = {}, []
        name = f"{program} with {options or 'no options'}"
        with tempfile.TemporaryDirectory() as work:
            assembly_file = pathlib.Path(work) / "program.s"
            try:
                base = self.targets[next(iter(by_target))]["options"]
                first = PTX_OF if kind == "nvidia" else kind
                text = compile_program(self.clang, first, self.directory / program, f"{base} {options}", assembly_file)
                unknown = undefined(text) if kind != "nvidia" else []
                if unknown:
                    raise Failed(f"for {first}: no function {', '.join(unknown)} in the program or in {library(first)}")
                for target, variant in by_target.items():
                    kernels = nvidia_values(self.ptxas, target, assembly_file) if kind == "nvidia" else amd_values(text)
                    problems += [f"{name}, {target}: {problem}" for problem in check_variant(target, variant, kernels, text)]
                    for entry, of_kernel in kernels.items():
                        use = variant["entries"].get(entry, {})
                        problems += [f"{name}, {entry}, {target}: {problem}" for problem in check_limits(target, use, of_kernel)]
                        values[target, program, entry, options] = of_kernel
            except Failed as why:
                problems.append(f"{name} does not compile: {why}")
        return job, values, problems


def check_variant(target, variant, kernels, assembly):
    for entry in variant["entries"]:
        if entry not in kernels:
            yield f"is launched as {entry}, and has only {', '.join(kernels) or 'no kernel'}"
    if vendor(target) == "nvidia":
        for instruction, wanted in variant["instructions"].items():
            count = assembly.count(instruction)
            if count == 0 or wanted not in (0, count):
                yield f"{count} instructions {instruction}, expected {wanted or 'some'}"


def check_limits(target, use, values):
    limit = SHARED_LIMIT_BYTES[vendor(target)]
    if values["shared_bytes"] > limit:
        yield f"{values['shared_bytes']} bytes of shared memory; a work-group has {limit}"
    each = -(-values["registers"] // NVIDIA_REGISTER_GRAIN) * NVIDIA_REGISTER_GRAIN
    if vendor(target) == "nvidia" and each * use.get("work_items", 0) > NVIDIA_REGISTERS:
        yield f"{use['work_items']} work-items of {each} registers; a processor has {NVIDIA_REGISTERS}"


def jobs_of(targets, wanted, sample):
    """What is compiled once: [((kind, program, options), {target: variant})]. Kind: nvidia, or AMD's target. In a sample
    each program comes once, and of the tensor cores' each tile and each combination of types and layouts."""
    jobs = collections.OrderedDict()
    for target in wanted:
        for variant in targets[target]["variants"]:
            kind = "nvidia" if vendor(target) == "nvidia" else target
            jobs.setdefault((kind, variant["program"], variant["options"]), {})[target] = variant
    if not sample:
        return list(jobs.items())
    first = {}
    for key, by_target in jobs.items():
        first.setdefault((key[0], key[1]), (key, by_target))
        if key[1] == "gemm_mma.cl":
            tile = tuple(re.findall(r"-D(?:TILE|DEPTH|WARP|STAGES)\S+", key[2]))
            operands = tuple(word for word in key[2].split() if word not in tile)
            first.setdefault((key[0], tile), (key, by_target))
            first.setdefault((key[0], operands), (key, by_target))
    return list({key: job for key, job in first.values()}.items())


def read_table(path):
    """(versions, {(target, program, entry, options): VALUES})."""
    versions, rows = {}, {}
    header = None
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            versions.update(re.findall(r"(clang|ptxas) ([\d.]+\d)", line))
            continue
        cells = line.split("\t")
        if header is None:
            header = cells
            continue
        row = dict(zip(header, cells))
        for target in header[3:]:
            if row[target] != "-":
                rows[target, row["program"], row["entry"], row["options"]] = dict(zip(VALUES, map(int, row[target].split("/"))))
    return versions, rows


def write_table(path, versions, values, targets):
    by_kernel = collections.defaultdict(dict)
    for (target, *kernel), of_kernel in values.items():
        by_kernel[tuple(kernel)][target] = "/".join(str(of_kernel[name]) for name in VALUES)
    lines = ["# Written by scripts/check_targets --write, compared by scripts/check_targets and CTest's kernels_targets.",
             "# By " + ", ".join(f"{tool} {version}" for tool, version in versions.items()) + ", libclc 14. Of each kernel: " + "/".join(VALUES) + ".",
             "\t".join(["program", "entry", "options", *targets])]
    lines += ["\t".join([*kernel, *(row.get(target, "-") for target in targets)]) for kernel, row in sorted(by_kernel.items())]
    path.write_text("\n".join(lines) + "\n")


def read_spills(path):
    """{(target, program, entry)} of the listed."""
    lines = [line.split("#", 1)[0].split() for line in path.read_text().splitlines()]
    return {tuple(words[:3]) for words in lines if words}


def spill_problems(values, listed, complete):
    spilling = collections.defaultdict(int)
    for (target, program, entry, _), of_kernel in values.items():
        if of_kernel["spilled_bytes"] > 0:
            spilling[target, program, entry] = max(spilling[target, program, entry], of_kernel["spilled_bytes"])
    for kernel in sorted(spilling.keys() - listed):
        yield f"{kernel[1]}, {kernel[2]}, {kernel[0]}: spills {spilling[kernel]} bytes; it is not listed in spills.txt"
    if complete:
        for kernel in sorted(listed - spilling.keys()):
            yield f"{' '.join(kernel)}: is listed in spills.txt, and does not spill"


def table_problems(values, table, complete):
    for key, of_kernel in values.items():
        target, program, entry, options = key
        if key not in table:
            yield f"{program}, {entry}, {target}, {options}: not in the table"
        elif table[key] != of_kernel:
            changed = ", ".join(f"{name} {table[key][name]} -> {of_kernel[name]}" for name in VALUES if table[key][name] != of_kernel[name])
            yield f"{program}, {entry}, {target}, {options}: {changed}"
    if complete:
        for target, program, entry, options in sorted(table.keys() - values.keys()):
            yield f"{program}, {entry}, {target}, {options}: in the table, and no longer launched"


def unused_problems(directory, jobs, values):
    """Kernels that no call launches; what a macro makes for several programs is not looked at."""
    launched = {(key[1], entry) for key, by_target in jobs for variant in by_target.values() for entry in variant["entries"]}
    for program, entry in sorted({key[1:3] for key in values} - launched):
        if re.search(rf"^__kernel\b.*\b{entry}\(", (directory / program).read_text(), re.MULTILINE):
            yield f"{program}, {entry}: no call launches it; a sample is missing, or the kernel is to be deleted"


def summary(jobs, values, targets):
    """What was compiled, as lines."""
    rows = [("target", "variants", "kernels", "registers", "scalar", "shared", "private", "with private", "spilling")]
    for target in targets:
        of_target = [kernel for key, kernel in values.items() if key[0] == target]
        most = {name: max((kernel[name] for kernel in of_target), default=0) for name in VALUES}
        compiled = {key[1::2] for key in values if key[0] == target}
        tried = sum(target in by_target for _, by_target in jobs)
        rows.append((target, f"{len(compiled)} of {tried}", len(of_target), most["registers"], most["scalar_registers"] or "-",
                     f"{most['shared_bytes']} B", f"{most['private_bytes']} B",
                     sum(kernel["private_bytes"] > 0 for kernel in of_target), sum(kernel["spilled_bytes"] > 0 for kernel in of_target)))
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(f"{cell!s:>{width}}" if i else f"{cell!s:{width}}" for i, (cell, width) in enumerate(zip(row, widths)))
    yield "registers, scalar, shared, private: the most of one kernel"


def compile_all(compiler, jobs, workers):
    values, problems = {}, []
    begin = last = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for done, (job, of_job, wrong) in enumerate(pool.map(compiler.compile, jobs), 1):
            values.update(of_job)
            problems += wrong
            if time.monotonic() - last > 5 or done == len(jobs):
                last = time.monotonic()
                print(f"{done} of {len(jobs)} programs compiled, {last - begin:.0f} s, last {job[0][1]}", file=sys.stderr)
    return values, problems


def check(options, usage):
    if options.variants is None:
        usage("needs --variants")
    targets = json.loads((options.variants / "variants.json").read_text())
    wanted = options.target or list(targets)
    unknown = [target for target in wanted if target not in targets]
    if unknown:
        usage(f"no target {unknown[0]}; there are {', '.join(targets)}")
    complete = not options.sample and not options.target
    if options.write and not complete:
        usage("--write takes no --sample and no --target: the table has all")
    clang = find_clang()
    versions = {"clang": version_of(clang, r"version ([\d.]+\d)")}
    ptxas = None
    if any(vendor(target) == "nvidia" for target in wanted):
        ptxas = find_ptxas(options.pypi)
        versions["ptxas"] = version_of(ptxas, r"V([\d.]+\d)")
    for target in wanted:
        library(target)
    jobs = jobs_of(targets, wanted, options.sample)
    values, problems = compile_all(Compiler(options.variants, (clang, ptxas), targets), jobs, options.jobs)
    problems += spill_problems(values, read_spills(options.spills), complete and not problems)
    problems += unused_problems(options.variants, jobs, values) if complete else []
    print("\n".join(summary(jobs, values, wanted)))
    if options.write and not problems:
        write_table(options.table, versions, values, wanted)
    elif not options.write:
        of_table, table = read_table(options.table)
        other = {tool: version for tool, version in versions.items() if of_table.get(tool) != version}
        if other:
            print(f"the table is not compared: it is by {of_table}, this is {other}", file=sys.stderr)
        else:
            differences = list(table_problems(values, table, complete and not problems))
            problems += differences
            if differences:
                print("if the changes are meant: scripts/check_targets --write", file=sys.stderr)
    for problem in problems:
        print(f"check_targets: {problem}", file=sys.stderr)
    if problems:
        print(f"check_targets: {len(problems)} problems", file=sys.stderr)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(prog="check_targets", description="Compiles all kernels for GPUs, without one.")
    parser.add_argument("--variants", type=pathlib.Path, help="what program_variants wrote")
    parser.add_argument("--find-ptxas", action="store_true", help="print its path, and compile nothing")
    parser.add_argument("--pypi", type=pathlib.Path, default=ROOT / "build" / "pypi_targets", help="where PyPI's packages are")
    parser.add_argument("--table", type=pathlib.Path, default=HERE / "targets.tsv")
    parser.add_argument("--spills", type=pathlib.Path, default=HERE / "spills.txt")
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument("--sample", action="store_true", help="each program once, of the tensor cores each tile and each layout")
    parser.add_argument("--write", action="store_true", help="replace the table instead of comparing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    try:
        if options.find_ptxas:
            print(find_ptxas(options.pypi))
            return 0
        return check(options, parser.error)
    except Missing as why:
        print(f"check_targets: {why}", file=sys.stderr)
        return 4


if __name__ == "__main__":
    sys.exit(main())
