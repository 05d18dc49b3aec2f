#!/usr/bin/env python3
"""Where ranks run: what reprise_machine.py reads of made-up /proc and /sys, and what becomes of it
in sets, in what is shared, in runs and in comparisons of ranks. About 30 s."""
import ctypes
import gzip
import json
import os
import pathlib
import sqlite3
import sys
import types

import program

sys.path.insert(0, str(program.ROOT / "report" / "python"))
sys.dont_write_bytecode = True
import reprise_machine  # noqa: E402

CASE = "gloo_comms/gpt_pp4"  # its stages differ, so that there is a straggler
ADDRESS = "0000:1b:00.0"
STATUS = "Name:\tpython3\nCpus_allowed:\tff\nCpus_allowed_list:\t0-1,4-5\nMems_allowed_list:\t0-1\n"


def torch_of(hip=None, domain=0, bus=0x1b):
    """PyTorch with one device, as far as reprise_machine asks for it."""
    properties = types.SimpleNamespace(pci_domain_id=domain, pci_bus_id=bus, pci_device_id=0)
    cuda = types.SimpleNamespace(is_available=lambda: True, current_device=lambda: 0,
                                 get_device_properties=lambda index: properties)
    return types.SimpleNamespace(cuda=cuda, version=types.SimpleNamespace(hip=hip))


class Nvml:
    """A device with links: to a GPU twice, to a switch, one that is down; then there are no more."""
    LINKS = [(1, b"00000000:4C:00.0", 0), (1, b"00000000:4C:00.0", 0), (1, b"", 2), (0, b"", 0)]

    def __init__(self, state=0):
        self.state, self.open = state, 0

    def nvmlInit_v2(self):
        self.open += 1
        return 0

    def nvmlShutdown(self):
        self.open -= 1
        return 0

    def nvmlDeviceGetHandleByPciBusId_v2(self, address, _):
        return 0 if address == ADDRESS.encode() else 6

    def nvmlDeviceGetNvLinkState(self, _, link, up):
        if link.value >= len(self.LINKS):
            return 2
        up._obj.value = self.LINKS[link.value][0]
        return self.state

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, _, link, kind):
        kind._obj.value = self.LINKS[link.value][2]
        return 0

    def nvmlDeviceGetNvLinkRemotePciInfo_v2(self, _, link, pci):
        pci._obj.bus_id = self.LINKS[link.value][1]
        return 0


class Reading(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.libraries = {}
        self.before = reprise_machine.ROOT, reprise_machine._library
        reprise_machine.ROOT = str(self.dir)

        def library(name):
            if name not in self.libraries:
                raise reprise_machine._Unread(f"no library {name}")
            return self.libraries[name]
        reprise_machine._library = library

    def tearDown(self):
        reprise_machine.ROOT, reprise_machine._library = self.before
        super().tearDown()

    def write(self, files):
        for name, text in files.items():
            path = self.dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def machine(self, vendor="0x10de", numa="1"):
        device = f"sys/bus/pci/devices/{ADDRESS}"
        self.write({"proc/self/status": STATUS,
                    "sys/devices/system/node/node0/cpulist": "0-3\n",
                    "sys/devices/system/node/node1/cpulist": "4-7\n",
                    "sys/devices/system/node/node2/cpulist": "\n",
                    "sys/devices/system/node/online": "0-2\n",
                    f"{device}/numa_node": numa + "\n", f"{device}/current_link_width": "16\n",
                    f"{device}/vendor": vendor + "\n"})

    def test_nvidia(self):
        self.machine()
        self.libraries["nvml"] = nvml = Nvml()
        found = reprise_machine.placement(torch_of(), 3)
        self.assertEqual(found.pop("host"), os.uname().nodename)
        self.assertEqual(found, {
            "slot": 3, "process_numa_nodes": "0-1", "memory_numa_nodes": "0-1",
            "pci_bus_id": ADDRESS, "device_numa_node": 1, "pcie_lanes": 16, "links": 3,
            "link_kind": "nvlink", "link_neighbours": "0000:4c:00.0 x2, switch x1", "unread": {}})
        self.assertEqual(nvml.open, 0)

    def test_the_driver_has_the_address(self):
        self.machine()
        for name, function, hip in (("cuda", "cuDeviceGetPCIBusId", None),
                                    ("hip", "hipDeviceGetPCIBusId", "6.0")):
            def answer(text, length, index):
                self.assertEqual((length.value, index.value), (len(text), 0))
                text.value = b"0000:1B:00.0"
                return 0
            self.libraries = {name: types.SimpleNamespace(**{function: answer})}
            found = reprise_machine.placement(torch_of(hip, bus=0x77), None)
            self.assertEqual(found["pci_bus_id"], ADDRESS)
            self.assertIn("no local rank", found["unread"]["slot"])
            self.assertNotIn("slot", found)

    def test_amd(self):
        self.machine(vendor="0x1002")
        node = "sys/class/kfd/kfd/topology/nodes"
        gpu = "simd_count 256\nlocation_id {}\ndomain 0\n"
        link = "type {}\nnode_from 2\nnode_to {}\n"
        self.write({f"{node}/0/properties": "cpu_cores_count 64\nsimd_count 0\n",
                    f"{node}/1/properties": gpu.format(0x4c00),
                    f"{node}/2/properties": gpu.format(0x1b00),
                    f"{node}/2/io_links/0/properties": link.format(2, 0),  # PCIe
                    f"{node}/2/io_links/1/properties": link.format(11, 1),
                    f"{node}/2/io_links/2/properties": link.format(11, 0)})
        found = reprise_machine.placement(torch_of("6.0"), 0)
        self.assertEqual((found["links"], found["link_kind"], found["link_neighbours"]),
                         (2, "xgmi", "0000:4c:00.0 x1, host x1"))

    def test_what_cannot_be_read_is_said_and_not_guessed(self):
        found = reprise_machine.placement(torch_of(), 0)  # nothing but the device's address
        self.assertEqual({key for key in found if key not in ("unread", "host")},
                         {"slot", "pci_bus_id"})
        unread = found["unread"]
        self.assertEqual(set(unread), {"process_numa_nodes", "memory_numa_nodes",
                                       "device_numa_node", "pcie_lanes", "links"})
        self.assertIn(f"{self.dir}/sys/bus/pci/devices/{ADDRESS}/numa_node: No such file",
                      unread["device_numa_node"])
        self.machine(numa="-1")
        unread = reprise_machine.placement(torch_of(), 0)["unread"]
        self.assertEqual(set(unread), {"device_numa_node", "links"})
        self.assertIn("assigns the device to no NUMA node", unread["device_numa_node"])
        self.assertEqual(unread["links"], "no library nvml")
        self.machine(numa="many", vendor="0x8086")
        self.libraries["nvml"] = nvml = Nvml(state=999)
        unread = reprise_machine.placement(torch_of(), 0)["unread"]
        self.assertIn("expected a number, found 'many'", unread["device_numa_node"])
        self.assertIn("vendor 0x8086", unread["links"])
        self.machine()
        self.assertIn("failed (999)", reprise_machine.placement(torch_of(), 0)["unread"]["links"])
        self.assertEqual(nvml.open, 0)
        without = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: False))
        found = reprise_machine.placement(without, 0)
        self.assertIn("no CUDA or ROCm device", found["unread"]["pci_bus_id"])
        self.assertNotIn("links", found["unread"])

    def test_a_launcher_of_something_else_is_no_slot(self):
        launchers = [("A_RANK", "A_SIZE", "A_LOCAL"), ("B_RANK", "B_SIZE", "B_LOCAL")]
        try:
            os.environ.update(A_RANK="0", A_SIZE="1", A_LOCAL="0",  # a batch script around the job
                           B_RANK="9", B_SIZE="16", B_LOCAL="1")
            self.assertEqual(reprise_machine._slot(9, 16, launchers), 1)
            self.assertIsNone(reprise_machine._slot(3, 16, launchers))
            self.assertEqual(reprise_machine._slot(0, 1, launchers[1:]), 0)
        finally:
            for name in sum(launchers, ()):
                os.environ.pop(name, None)

    def test_structure_of_nvml(self):
        self.assertEqual(ctypes.sizeof(reprise_machine._NvmlPciInfo), 68)


class Sets(program.ProgramTest):
    def place(self, capture, slow):
        """Two hosts with two ranks each, or all on one and the straggler's device elsewhere."""
        for rank in range(4):
            path = capture / f"rank{rank}.meta.json"
            meta = json.loads(path.read_text()) if path.exists() else {}
            meta["placement"] = {
                "host": "secret-node-a", "slot": rank, "pci_bus_id": f"0000:{rank:02x}:00.0",
                "pcie_lanes": 8 if rank == slow else 16, "device_numa_node": int(rank == slow),
                "process_numa_nodes": "0", "memory_numa_nodes": "0-1",
                "links": 2 if rank == slow else 4, "link_kind": "nvlink",
                "link_neighbours": "0000:ff:00.0 x4", "unread": {"other": "why"}}
            path.write_text(json.dumps(meta))

    def convert_placed(self, change=lambda capture: None):
        case = self.convert(CASE)
        slow = self.run_json("compare", case)
        self.assertGreater(len(slow["stragglers"]), 0)
        self.assertEqual(slow["observations"], [])
        slow = max(slow["ranks"], key=lambda rank: rank["operations_ns"])["rank"]
        capture = self.copy_capture(CASE)
        self.place(capture, slow)
        change(capture)
        return slow, self.dir / "set", self.run_program("convert", capture, "-o", self.dir / "set")

    def test_from_capture_to_comparison(self):
        slow, trace, _ = self.convert_placed()
        placements = [rank["placement"] for rank in self.run_json("stats", trace)["ranks"]]
        self.assertEqual(placements[slow], {
            "host": "secret-node-a", "slot": slow, "pci_bus_id": f"0000:{slow:02x}:00.0",
            "pcie_lanes": 8, "device_numa_node": 1, "process_numa_nodes": "0",
            "memory_numa_nodes": "0-1", "links": 2, "link_kind": "nvlink",
            "link_neighbours": "0000:ff:00.0 x4"})
        of = self.run_json("compare", trace)
        self.assertEqual([rank["placement"] for rank in of["ranks"]], placements)
        self.assertEqual([rank["slot"] for rank in of["ranks"]], [0, 1, 2, 3])
        said = [text for text in of["observations"] if text.startswith(f"rank {slow},")]
        self.assertEqual(len(said), 1, of["observations"])
        for text in (f"on secret-node-a in slot {slow}", "its device is on NUMA node 1, its process on 0",
                     "2 nvlink links up, most others 4", "8 PCIe lanes, most others 16"):
            self.assertIn(text, said[0])
        shown = self.run_program("compare", trace).stdout
        self.assertIn("seen, not shown to be the cause: rank", shown)
        self.assertIn(f"secret-node-a/{slow}"[-2:], shown)
        self.assertLessEqual(shown.count("\n"), 40)
        # The same where hosts have no names: which ranks share one, and NUMA nodes, stay.
        shared = self.dir / "shared"
        self.run_program("anonymize", trace, "-o", shared)
        self.run_program("audit", shared)
        after = self.run_json("compare", shared)
        self.assertEqual({rank["host"] for rank in after["ranks"]}, {"host0"})
        self.assertEqual([text.replace("host0", "secret-node-a") for text in after["observations"]],
                         of["observations"])
        for path in shared.iterdir():
            packed = path.read_bytes()
            text = gzip.decompress(packed) if packed.startswith(b"\x1f\x8b") else packed
            self.assertNotIn(b"secret-node", text, path)
            self.assertNotIn(b"0000:ff:00.0", text, path)
        for rank in self.run_json("stats", shared)["ranks"]:
            self.assertIsNone(rank["placement"]["pci_bus_id"])
            self.assertIsNone(rank["placement"]["link_neighbours"])
        found = self.run_program("audit", trace, expect=1).stdout
        self.assertIn("placement_host", found)
        self.run_program("anonymize", trace, "-o", self.dir / "few", "--policy", "statistics")
        few = self.run_json("stats", self.dir / "few")["ranks"]
        self.assertEqual([rank["placement"] for rank in few], [None] * 4)

    def test_another_host(self):
        def move(capture):
            for rank in range(4):
                path = capture / f"rank{rank}.meta.json"
                meta = json.loads(path.read_text())
                meta["placement"] = {"host": "b" if meta["placement"]["links"] == 2 else "a"}
                path.write_text(json.dumps(meta))
        slow, trace, _ = self.convert_placed(move)
        of = self.run_json("compare", trace)
        self.assertEqual(of["ranks"][slow]["host"], "b")
        self.assertEqual(sorted(rank["slot"] for rank in of["ranks"]), [0, 0, 1, 2])  # by position
        own = [text for text in of["observations"] if text.startswith(f"rank {slow},")]
        self.assertIn("on b in slot 0", own[0])
        self.assertRegex(own[0], "none of the . other ranks is on that host|the other rank is on a")

    def test_damaged_values_are_left_out_and_counted(self):
        def damage(capture):
            path = capture / "rank1.meta.json"
            meta = json.loads(path.read_text())
            meta["placement"].update(pci_bus_id="../../etc", links=-7, slot="first", host=["x"],
                                     process_numa_nodes="zero", pcie_lanes=2**40)
            path.write_text(json.dumps(meta))
            (capture / "rank2.meta.json").write_text('{"placement": [1]}')
        _, trace, done = self.convert_placed(damage)
        self.assertIn("7 values of ranks' placement", done.stdout + done.stderr)
        ranks = self.run_json("stats", trace)["ranks"]
        self.assertIsNone(ranks[1]["placement"]["pci_bus_id"])
        self.assertIsNone(ranks[1]["placement"]["slot"])
        self.assertEqual(ranks[1]["placement"]["host"], "host0")  # Kineto's
        self.assertEqual(ranks[2]["placement"], {**dict.fromkeys(ranks[2]["placement"]), "host": "host0"})

    def test_runs_have_their_own(self):
        trace = self.convert("gloo/gpt_single")
        run = self.dir / "run"
        self.run_program("replay", trace, "-o", run, "--iterations", 1, "--quiet")
        with sqlite3.connect(run / "rank0.sqlite") as database:
            facts = dict(database.execute("SELECT name, value FROM facts"))
            device = database.execute("SELECT numa_node, links, pcie_lanes FROM devices").fetchone()
        status = pathlib.Path("/proc/self/status").read_text()
        self.assertIn(f"Mems_allowed_list:\t{facts['memory_numa_nodes']}\n", status)
        self.assertEqual(device, (-1, -1, 0))  # a processor is no PCI device
        own = self.run_json("compare", run)["ranks"][0]
        self.assertEqual(own["slot"], 0)
        self.assertEqual(own["placement"]["memory_numa_nodes"], facts["memory_numa_nodes"])
        self.run_program("monitor", "-o", self.dir / "watched", "--", "true")
        with sqlite3.connect(self.dir / "watched" / "rank0.sqlite") as database:
            watched = dict(database.execute("SELECT name, value FROM facts"))
        self.assertEqual(watched["memory_numa_nodes"], facts["memory_numa_nodes"])


if __name__ == "__main__":
    program.main()
