#!/usr/bin/env python3
"""Whether Chakra's own tools and C++ feeder read what `reprise convert` wrote; see README.md beside this file."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeder", required=True, help="feeder_drain.cc, built with Chakra's feeder")
    parser.add_argument("--venv", required=True, help="with chakra installed")
    parser.add_argument("--reprise", required=True, help="the program")
    parser.add_argument("sets", nargs="+", help="trace sets that reprise wrote, or .et files")
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for path in args.sets:
            files = sorted(pathlib.Path(path).glob("*.et")) if os.path.isdir(path) else [pathlib.Path(path)]
            for file in files:
                stats = json.loads(run([args.reprise, "stats", "--json", str(file)]).stdout)
                issued = run([os.path.abspath(args.feeder), str(file)])
                made = os.path.join(directory, "out.json")
                jsonizer = run([os.path.join(args.venv, "bin", "chakra_jsonizer"), "--input_filename", str(file),
                                "--output_filename", made])
                named = pathlib.Path(made).read_text(encoding="utf-8").count('_NODE"') if jsonizer.returncode == 0 else 0
                graph = os.path.join(directory, "out.graphml")
                visualizer = run([os.path.join(args.venv, "bin", "chakra_visualizer"), "--input_filename", str(file),
                                  "--output_filename", graph])
                drawn = pathlib.Path(graph).read_text(encoding="utf-8").count("<node ") if visualizer.returncode == 0 else 0
                rows = {"feeder": issued.stdout.strip(), "jsonizer": str(named), "visualizer": str(drawn)}
                wrong = [tool for tool, count in rows.items() if count != str(stats["nodes"])]
                failed += len(wrong)
                print(f"{file.name}: {stats['nodes']} nodes; " + ", ".join(f"{tool} {count or 'failed'}" for tool, count in rows.items())
                      + (f"  WRONG: {', '.join(wrong)}" if wrong else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
