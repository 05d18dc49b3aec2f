"""Every command that writes, while its input is damaged, its process is killed or its disk is full: all of the output, or nothing."""
import re
import resource
import shutil
import signal
import subprocess
import time

import child
import extreme_options
from child import GRACE_S
from damaged_inputs import tree
from mutations import mutate

# Runs and sweeps grow in their place, so that what was recorded or predicted before a kill is kept: readable, or refused.
GROWING = {"reprise replay", "reprise simulate", "reprise monitor", "reprise predict", "reprise sweep"}
SLOW = {"reprise machine measure", "reprise tune"}  # seconds each, and they write one file at their end


class Outputs:
    name = "outputs"

    def __init__(self, program, work, rng):
        self.program, self.folder = program, work / self.name
        self.inputs = work / "outputs_inputs"
        extreme_options.make_inputs(program, self.inputs)
        # A search for layouts writes nothing.
        self.calls = [(command, call | ({"--output": "out"} if command == "reprise predict" else {}))
                      for command, calls in extreme_options.SOUND.items() for call in calls
                      if command not in SLOW and ("--output" in call or (command == "reprise predict" and "--ranks" not in call))]
        self.sound = {}  # call number → seconds, files

    def case(self, _, rng):
        number = rng.randrange(len(self.calls))
        command, call = self.calls[number]
        line = extreme_options.command_line(command, call)
        out = self.folder / call["--output"]
        if number not in self.sound:
            self.restore()
            done = child.run([self.program, *line], GRACE_S, cwd=self.folder)
            if done.code not in (0, 1) or not out.exists():
                return "crash", f"nothing: {line}", done.output
            self.sound[number] = (done.cpu_seconds, self.whole(out))
        seconds, whole = self.sound[number]
        self.restore()
        way = rng.choice(["damage", "kill", "kill", "full"] if self.inputs_of(call) else ["kill", "full"])
        code, did, output = getattr(self, way)(line, call, seconds, rng)
        verdict = self.judge(command, way, code, output, out, whole)
        return verdict, f"{did}, {' '.join(line)}: exit code {code}", output

    def restore(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.inputs, self.folder)

    def inputs_of(self, call):
        names = [part for value in call.values() if value for part in (value if isinstance(value, list) else [value])]
        return [path for path in (self.folder / re.sub("^[ab]=", "", name) for name in names) if path.exists()]

    # Three ways in which a command may not come to its end: (exit code, what was done, output).
    def damage(self, line, call, _, rng):
        path = rng.choice(self.inputs_of(call))
        did = mutate(path, rng) if path.is_dir() else mutate(path.parent, rng, lambda name: name == path.name)
        if path.is_dir() and rng.random() < 0.7:
            (path / "checksums.xxh128").unlink(missing_ok=True)
        done = child.run([self.program, *line], GRACE_S, cwd=self.folder)
        return done.code, did, done.output

    def kill(self, line, _, seconds, rng):
        number = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
        process = subprocess.Popen([self.program, *line], cwd=self.folder, env=child.ENVIRONMENT, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=child.begin)
        time.sleep(rng.random() * min(3, 1.3 * seconds))
        process.send_signal(number)
        try:
            code = process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = None
        return code, signal.Signals(number).name, ""

    def full(self, line, _call, _seconds, rng):
        """No file may grow beyond a limit, as on a full disk."""
        most = rng.choice([0, 100, 4096, 20_000, 100_000])
        done = subprocess.run([self.program, *line], cwd=self.folder, env=child.ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=GRACE_S, check=False, text=True, errors="replace",
                              preexec_fn=lambda: (child.begin(), resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))))
        return done.returncode, f"no file beyond {most} bytes", done.stdout + done.stderr

    def judge(self, command, way, code, output, out, whole):
        if code is None:
            return "hang"
        ended = code < 0 or code > 4  # by the signal
        if "internal error" in output or (ended and not (way == "kill" and code in (-2, -15, -1, -9, 130, 143, 129))
                                         ):
            return "crash"
        left = [path.name for path in self.folder.iterdir() if ".tmp-" in path.name]
        if left and code != -signal.SIGKILL:
            return "left behind"
        if not out.exists():
            return "clean error" if code else "crash"
        if command in GROWING:
            return self.judge_growing(command, out, code)
        if code > 1 or (code != 0 and way == "damage" and command not in ("reprise audit", "reprise validate", "reprise convert")):
            return "left behind"
        if way == "damage":
            return "accounted"
        return "same result" if self.whole(out) == whole else "left behind"

    def judge_growing(self, command, out, code):
        if command == "reprise sweep":
            # A writer that is killed leaves its temporary file.
            files = [path for path in out.iterdir() if not (code == -signal.SIGKILL and ".tmp-" in path.name)]
            return "left behind" if any(not path.name.startswith("rows") and path.stat().st_size == 0 for path in files) else "accounted"
        done = child.run([self.program, "report", out], GRACE_S)
        if child.verdict_of(done):
            return child.verdict_of(done)
        return "accounted" if done.code in (0, 3) else "left behind"

    @staticmethod
    def whole(out):
        """Names, and sizes but for what a salt, a time or a name changes."""
        if out.is_dir():
            return {name: round(len(data) / (len(data) / 8 + 64)) for name, data in tree(out).items()}
        data = out.read_bytes()
        return data[-20:] if out.suffix == ".html" else round(len(data) / (len(data) / 8 + 64))
