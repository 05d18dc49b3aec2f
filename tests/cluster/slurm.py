"""A Slurm cluster of several nodes on this machine, for as long as this process lives.

Everything runs in namespaces of its own (namespaces.enter() first): ports are free, no other Slurm
is touched, and the kernel ends every daemon and job step with them.
"""
import os
import pathlib
import signal
import subprocess
import time

import namespaces
import program

ADDRESS = "10.213.8.1"
CONFIGURATION = """
ClusterName=reprise
SlurmctldHost=cluster({address})
SlurmctldPort=7001
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool.%n
TmpFS={directory}/tmp.%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Unavailable(Exception):
    """Why this machine runs no Slurm."""


def missing():
    """What this machine lacks for a cluster; None: nothing."""
    lacking = program.missing("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "sinfo", "ip", "unshare")
    if lacking:
        return f"{', '.join(lacking)} not installed (scripts/packages.txt, group [cluster])"
    if os.geteuid() != 0:
        return "slurmd needs root"
    return None


class Cluster:
    def __init__(self, directory, nodes=2, cpus=8):
        """`cpus`: as declared for each node, whatever the machine has."""
        if missing():
            raise Unavailable(missing())
        if not namespaces.inside():
            raise Unavailable("no PID or network namespace may be created here")
        self.directory = pathlib.Path(directory) / "slurm"
        (self.directory / "state").mkdir(parents=True)
        self.nodes = nodes
        self._daemons = []
        try:
            self._start(cpus)
        except BaseException:
            self.close()
            raise

    def _start(self, cpus):
        subprocess.run(["hostname", "cluster"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # slurmd resolves its own address only where there is an interface besides the loopback.
        for command in ("link add br0 type bridge", f"addr add {ADDRESS}/24 dev br0",
                        "link set br0 up"):
            subprocess.run(["ip", *command.split()], check=True)
        key = self.directory / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._daemon("munged", "--foreground", "--force", "--key-file", key,
                     "--socket", self.directory / "munge.socket",
                     "--pid-file", self.directory / "munge.pid",
                     "--log-file", self.directory / "munge.log",
                     "--seed-file", self.directory / "munge.seed")
        configuration = self.directory / "slurm.conf"
        lines = [f"NodeName=node{i} NodeHostname=cluster NodeAddr={ADDRESS} Port={7010 + i} "
                 f"CPUs={cpus} State=UNKNOWN" for i in range(1, self.nodes + 1)]
        configuration.write_text(CONFIGURATION.format(
            address=ADDRESS, directory=self.directory, nodes="\n".join(lines)))
        self.environment = {**os.environ, "SLURM_CONF": str(configuration)}
        self._daemon("slurmctld", "-D")
        for i in range(1, self.nodes + 1):
            for name in ("spool", "tmp"):  # of its own: PMIx makes a directory for each job in it
                (self.directory / f"{name}.node{i}").mkdir()
            self._daemon("slurmd", "-D", "-N", f"node{i}")
        self._wait(lambda: self._idle() == self.nodes, 120, "nodes do not come up")

    def _daemon(self, *command):
        log = open(self.directory / f"{command[0]}.{len(self._daemons)}.out", "w")
        environment = getattr(self, "environment", os.environ)
        self._daemons.append(subprocess.Popen([*map(str, command)], stdout=log, stderr=log,
                                              env=environment))
        log.close()

    def _idle(self):
        text = self.run("sinfo", "-h", "-N", "-o", "%N %T", check=False).stdout
        return len([line for line in text.splitlines() if line.endswith(" idle")])

    def _wait(self, condition, seconds, what):
        deadline = time.monotonic() + seconds
        while not condition():
            ended = [daemon.args[0] for daemon in self._daemons if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise Unavailable(f"{what}; ended: {ended}{self._logs()}")
            time.sleep(0.2)

    def _logs(self):
        return "".join(f"\n{path.name}: {path.read_text()[-1500:]}"
                       for path in sorted(self.directory.glob("*.log")))

    def run(self, *command, check=True, timeout=120, env=None):
        """A command of Slurm's, on the cluster."""
        done = subprocess.run([*map(str, command)], capture_output=True, text=True,
                              timeout=timeout, check=False,
                              env={**self.environment, **(env or {})})
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n"
                                 f"{done.stdout}\n{done.stderr}{self._logs()}")
        return done

    def start(self, *command, env=None):
        """As run(), without waiting for its end."""
        return subprocess.Popen([*map(str, command)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**self.environment, **(env or {})})

    def wait_for_jobs(self, seconds=120):
        self._wait(lambda: not self.run("squeue", "-h").stdout.strip(), seconds, "jobs do not end")

    def close(self):
        for daemon in reversed(self._daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self._daemons:
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._daemons = []
