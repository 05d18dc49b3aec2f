"""Results on disk, a file for each network and round, and the table of them.

    DIRECTORY/settings.json        what all results of the directory have in common
    DIRECTORY/NETWORK/ROUND.json   turns.py's row"""
import hashlib
import json
import pathlib
import re
import statistics

NEAR = 0.10


class Results:
    def __init__(self, directory):
        self._directory = pathlib.Path(directory)

    def agree(self, settings):
        """None if results with these settings belong here; else which setting differs."""
        file = self._directory / "settings.json"
        if not file.exists():
            self._write(file, settings)
            return None
        kept = json.loads(file.read_text())
        differing = [f"{name} was {kept.get(name)!r}, is {value!r}" for name, value in settings.items()
                     if kept.get(name) != value]
        return "; ".join(differing) or None

    def has(self, network, index):
        return self._file(network, index).exists()

    def keep(self, network, index, row):
        self._write(self._file(network, index), row)

    def rows(self, network, rounds):
        """Of the first `rounds` rounds, those that are there."""
        return [json.loads(self._file(network, index).read_text()) for index in range(rounds) if self.has(network, index)]

    def _file(self, network, index):
        name = network
        if not re.fullmatch(r"[A-Za-z0-9_]+", network):  # of the user's own
            name = re.sub(r"\W+", "_", network) + "_" + hashlib.sha256(network.encode()).hexdigest()[:8]
        return self._directory / name / f"{index}.json"

    @staticmethod
    def _write(file, content):
        """Whole, or not at all: a call may be interrupted at any time."""
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        new.replace(file)


def of_network(rows):
    """Errors of one network: the median of its rounds, the worst round, and how many rounds are within 10 %."""
    errors = [row["step_error"] for row in rows]
    return {
        "rounds": len(rows),
        "untraced_s": statistics.median(row["untraced_s"] for row in rows),
        "step_error": statistics.median(errors), "worst": max(errors, key=abs),
        "within_tenth": sum(abs(error) <= NEAR for error in errors),
        "fastest_tenth_error": statistics.median(row["fastest_tenth_error"] for row in rows),
        "work_error": statistics.median(row["work_error"] for row in rows),
        "real": min(row["real"] for row in rows),
        "stretch": statistics.median(row["stretch"] for row in rows),
        "page_faults": statistics.median(row["page_faults"] for row in rows),
        "recorded_page_faults": statistics.median(row["recorded_page_faults"] for row in rows),
        "exposed_recorded_s": statistics.median(row["exposed_recorded_s"] for row in rows),
        "exposed_replayed_s": statistics.median(row["exposed_replayed_s"] for row in rows),
    }


def of_all(networks):
    """`networks`: of_network by name. The figure of a network is the median of its rounds."""
    errors = {name: one["step_error"] for name, one in networks.items()}
    worst = max(errors, key=lambda name: abs(errors[name]))
    return {
        "networks": len(errors), "median": statistics.median(map(abs, errors.values())),
        "worst": errors[worst], "worst_network": worst,
        "within_tenth": sum(abs(error) <= NEAR for error in errors.values()),
        "stretch": statistics.median(one["stretch"] for one in networks.values()),
    }


def percent(value):
    return f"{100 * value:+.1f} %"


def table(networks):
    """Markdown. Every row of all that have a result, then of all."""
    exposed = any(one["exposed_recorded_s"] > 0 for one in networks.values())
    lines = ["| network | rounds | untraced | step, median | worst round | rounds within 10 % | fastest tenth | work | real"
             " | page faults, PyTorch's and recorded |" + (" exposed transfers, recorded and replayed |" if exposed else ""),
             "|---|---|---|---|---|---|---|---|---|---|" + "---|" * exposed]
    for name, one in networks.items():
        lines.append(f"| {name} | {one['rounds']} | {1e3 * one['untraced_s']:.0f} ms | {percent(one['step_error'])}"
                     f" | {percent(one['worst'])} | {one['within_tenth']} | {percent(one['fastest_tenth_error'])}"
                     f" | {percent(one['work_error'])} | {100 * one['real']:.1f} % | {one['page_faults']:.0f}, {one['recorded_page_faults']:.0f} |"
                     + (f" {1e3 * one['exposed_recorded_s']:.1f} ms, {1e3 * one['exposed_replayed_s']:.1f} ms |" if exposed else ""))
    every = of_all(networks)
    lines += ["", f"{every['networks']} networks: median of the absolute errors {100 * every['median']:.1f} %, worst"
              f" {percent(every['worst'])} ({every['worst_network']}), within 10 %: {every['within_tenth']}"]
    return "\n".join(lines)
