"""The machine of a rank: processor, device, cores, and where the rank runs on its host.

`reprise_capture` uses it where this file lies beside it. It needs the standard library only, starts
no process, and reads /proc, /sys and NVIDIA's management library. Everything is optional: what
cannot be read is left out, and `placement["unread"]` has the reason.
"""
import contextlib
import ctypes
import os
import platform
import re

__all__ = ["describe", "placement"]

ROOT = "/"  # of /proc and /sys
LIBRARIES = {"nvml": "libnvidia-ml.so.1", "cuda": "libcuda.so.1", "hip": "libamdhip64.so"}

_NVIDIA, _AMD = "0x10de", "0x1002"  # PCI vendors
_MOST_NVLINKS = 64  # far beyond NVML_NVLINK_MAX_LINKS; the driver ends the loop
_NVML_INVALID_ARGUMENT, _NVML_NOT_SUPPORTED = 2, 3
_NVML_SWITCH = 2  # NVML_NVLINK_DEVICE_TYPE_SWITCH
_NO_DEVICE = "the rank uses no CUDA or ROCm device"  # of CPU jobs: nothing to report
_KFD_XGMI = 11  # CRAT_IOLINK_TYPE_XGMI of the kernel's kfd_crat.h


class _Unread(Exception):
    """Why something could not be read."""


class _NvmlPciInfo(ctypes.Structure):
    """nvmlPciInfo_t."""
    _fields_ = [("legacy", ctypes.c_char * 16), ("domain", ctypes.c_uint), ("bus", ctypes.c_uint),
                ("device", ctypes.c_uint), ("device_id", ctypes.c_uint),
                ("subsystem_id", ctypes.c_uint), ("bus_id", ctypes.c_char * 32)]


def describe(rank, world_size, launchers, report):
    """The fields of meta.json that say what the rank runs on. `launchers`: the names of their
    variables for a rank, the number of ranks, and the rank's number among those of its host.
    Rank 0's placement goes to `report` as lines."""
    import torch

    found = placement(torch, _slot(rank, world_size, launchers))
    if rank == 0:
        report(f"rank 0: {_text_of(found)}")
        for key, why in found["unread"].items():
            if why != _NO_DEVICE:
                report(f"  {key} could not be read: {why}")
    return {"cores": _cores(), "processor": _processor(), "device": _device_name(torch),
            "placement": found}


def placement(torch, slot):
    """Host, slot (None: the launcher does not say), the device's PCI address, NUMA nodes and links;
    only what could be read."""
    found, unread = {}, {}

    def read(key, source, *values):
        try:
            found[key] = source(*values)
        except (_Unread, OSError) as error:
            unread[key] = str(error)
        except Exception as error:  # a driver's answer of another kind ends no capture
            unread[key] = f"{type(error).__name__}: {error}"

    read("host", _host)
    read("slot", _known_slot, slot)
    read("process_numa_nodes", _process_numa_nodes)
    read("memory_numa_nodes", _status_list, "Mems_allowed_list")
    read("pci_bus_id", _pci_bus_id, torch)
    address = found.get("pci_bus_id")
    if address:
        read("device_numa_node", _device_numa_node, address)
        read("pcie_lanes", _pcie_lanes, address)
        read("links", _links, address)
    if "links" in found:
        found["link_kind"], neighbours = found["links"]
        found["links"] = sum(neighbours.values())
        found["link_neighbours"] = ", ".join(f"{name} x{count}"
                                             for name, count in sorted(neighbours.items()))
    return {**found, "unread": unread}


def _text_of(found):
    """One line for people."""
    parts = [f"{key} {found[key]}" for key in ("host", "slot") if key in found]
    device = [text.format(found[key])
              for key, text in (("pci_bus_id", "PCI {}"), ("pcie_lanes", "{} lanes"),
                                ("device_numa_node", "NUMA node {}")) if key in found]
    if device:
        parts.append("device at " + ", ".join(device))
    if "process_numa_nodes" in found:
        parts.append(f"process on NUMA node {found['process_numa_nodes']}")
    if "links" in found:
        parts.append(f"{found['links']} links ({found['link_kind']})")
    return "; ".join(parts)


def _path(*parts):
    return os.path.join(ROOT, *parts)


def _text(*parts):
    path = _path(*parts)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError as error:
        raise _Unread(f"{path}: {error.strerror}") from error


def _number(*parts):
    text = _text(*parts)
    if not re.fullmatch(r"-?\d{1,9}", text):
        raise _Unread(f"{_path(*parts)}: expected a number, found {text[:40]!r}")
    return int(text)


def _host():
    name = os.uname().nodename if hasattr(os, "uname") else platform.node()
    if not name:
        raise _Unread("the system has no host name")
    return name


def _slot(rank, world_size, launchers):
    # A batch script's variables reach programs that it starts by other means, too: those of another
    # rank or job do not count.
    for names in launchers:
        values = [os.environ.get(name) for name in names]
        if values[:2] == [str(rank), str(world_size)] and str(values[2]).isdigit():
            return int(values[2])
    return 0 if world_size == 1 else None


def _known_slot(slot):
    if slot is None:
        raise _Unread("the launcher sets no local rank of this job")
    return slot


# ---- The process. ------------------------------------------------------------------------------

def _status_list(key):
    for line in _text("proc/self/status").split("\n"):
        name, _, value = line.partition(":")
        if name == key:
            return value.strip()
    raise _Unread(f"{_path('proc/self/status')}: no {key}")


def _process_numa_nodes():
    """The nodes that have cores which the process may use."""
    own = _numbers(_status_list("Cpus_allowed_list"))
    directory = _path("sys/devices/system/node")
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise _Unread(f"{directory}: {error.strerror}") from error
    nodes = [int(name[4:]) for name in names if re.fullmatch(r"node\d{1,9}", name)]
    if not nodes:
        raise _Unread(f"{directory}: no NUMA node")
    return _list_text(node for node in nodes
                      if own & _numbers(_text(directory, f"node{node}", "cpulist")))


def _numbers(text):
    """The numbers of a list of the kernel: "0-3,8"."""
    numbers = set()
    for part in filter(None, text.split(",")):
        if not re.fullmatch(r"\d{1,6}(-\d{1,6})?", part):
            raise _Unread(f"expected a list such as 0-3,8, found {text[:40]!r}")
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def _list_text(numbers):
    """A list of the kernel."""
    parts = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


# ---- The device. -------------------------------------------------------------------------------

def _pci_bus_id(torch):
    """Of the current CUDA or HIP device: as the driver says, else as PyTorch has it."""
    if not torch.cuda.is_available():
        raise _Unread(_NO_DEVICE)
    index = torch.cuda.current_device()
    try:
        return _driver_pci_bus_id(torch, index)
    except _Unread:
        with contextlib.suppress(AttributeError):  # older versions of PyTorch have none
            of = torch.cuda.get_device_properties(index)
            return f"{of.pci_domain_id:04x}:{of.pci_bus_id:02x}:{of.pci_device_id:02x}.0"
        raise


def _driver_pci_bus_id(torch, index):
    hip = bool(getattr(torch.version, "hip", None))
    library = _library("hip" if hip else "cuda")
    text = ctypes.create_string_buffer(32)
    function = library.hipDeviceGetPCIBusId if hip else library.cuDeviceGetPCIBusId
    _check(function(text, ctypes.c_int(len(text)), ctypes.c_int(index)), "DeviceGetPCIBusId")
    return _normal(text.value)


def _normal(text):
    """"00000000:1B:00.0" as /sys has it: "0000:1b:00.0"."""
    address = re.fullmatch(r"0*([0-9a-f]{4,}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])",
                           text.decode("ascii", "replace").strip().lower())
    if not address:
        raise _Unread(f"expected a PCI address, found {text!r}")
    return ":".join(address.groups())


def _device_numa_node(address):
    node = _number("sys/bus/pci/devices", address, "numa_node")
    if node < 0:
        raise _Unread("the firmware assigns the device to no NUMA node")
    return node


def _pcie_lanes(address):
    lanes = _number("sys/bus/pci/devices", address, "current_link_width")
    if not 1 <= lanes <= 32:
        raise _Unread(f"{lanes} lanes: no width of a PCIe link")
    return lanes


def _links(address):
    """(kind, {neighbour: links}) of links between devices that are up."""
    vendor = _text("sys/bus/pci/devices", address, "vendor")
    if vendor == _NVIDIA:
        return "nvlink", _nvlinks(address)
    if vendor == _AMD:
        return "xgmi", _xgmi_links(address)
    raise _Unread(f"no way is known to read links of the vendor {vendor}")


def _library(name):
    try:
        return ctypes.CDLL(LIBRARIES[name])
    except OSError as error:
        raise _Unread(str(error)) from error


def _check(result, what):
    if result != 0:
        raise _Unread(f"{what} failed ({result})")


def _nvlinks(address):
    nvml = _library("nvml")
    _check(nvml.nvmlInit_v2(), "nvmlInit_v2")
    try:
        device = ctypes.c_void_p()
        _check(nvml.nvmlDeviceGetHandleByPciBusId_v2(address.encode(), ctypes.byref(device)),
               "nvmlDeviceGetHandleByPciBusId_v2")
        neighbours = {}
        for link in range(_MOST_NVLINKS):
            up = ctypes.c_uint()
            result = nvml.nvmlDeviceGetNvLinkState(device, ctypes.c_uint(link), ctypes.byref(up))
            if result == _NVML_INVALID_ARGUMENT:
                break  # there are no more
            if result == _NVML_NOT_SUPPORTED:
                continue  # the device has none of this number
            _check(result, "nvmlDeviceGetNvLinkState")
            if up.value:
                name = _nvlink_neighbour(nvml, device, link)
                neighbours[name] = neighbours.get(name, 0) + 1
        return neighbours
    finally:
        nvml.nvmlShutdown()


def _nvlink_neighbour(nvml, device, link):
    """"switch", a PCI address, or "unknown": the link is up, and the driver says no more."""
    kind = ctypes.c_uint()
    ask = getattr(nvml, "nvmlDeviceGetNvLinkRemoteDeviceType", None)  # old drivers lack it
    if ask and ask(device, ctypes.c_uint(link), ctypes.byref(kind)) == 0:
        if kind.value == _NVML_SWITCH:
            return "switch"
    pci = _NvmlPciInfo()
    if nvml.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, ctypes.c_uint(link), ctypes.byref(pci)):
        return "unknown"
    try:
        return _normal(pci.bus_id)
    except _Unread:
        return "unknown"


def _xgmi_links(address):
    """From the topology of the kernel's amdkfd: a node for each processor and device."""
    directory = _path("sys/class/kfd/kfd/topology/nodes")
    try:
        nodes = os.listdir(directory)
    except OSError as error:
        raise _Unread(f"{directory}: {error.strerror}") from error
    addresses = {}
    for node in nodes:
        with contextlib.suppress(_Unread):  # nodes of devices that a container does not show
            addresses[node] = _kfd_address(_properties(directory, node, "properties"))
    own = [node for node, of in addresses.items() if of == address]
    if not own:
        raise _Unread(f"{directory}: no node of {address}")
    links = os.path.join(directory, own[0], "io_links")
    neighbours = {}
    for link in os.listdir(links):
        of = _properties(links, link, "properties")
        if of.get("type") == _KFD_XGMI:
            name = addresses.get(str(of.get("node_to")), "unknown")
            neighbours[name] = neighbours.get(name, 0) + 1
    return neighbours


def _properties(*parts):
    lines = (line.split() for line in _text(*parts).split("\n"))
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}


def _kfd_address(of):
    if not of.get("simd_count"):
        return "host"  # a processor
    place = of.get("location_id", 0)
    return f"{of.get('domain', 0):04x}:{place >> 8 & 255:02x}:{place >> 3 & 31:02x}.{place & 7}"


# ---- What stands beside the placement. ---------------------------------------------------------

def _cores():
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count()


def _processor():
    """The processor's name, as Reprise has it of the machine that replays."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or None


def _device_name(torch):
    """Of the accelerator that this rank uses; None without one."""
    for kind in ("cuda", "xpu"):
        with contextlib.suppress(Exception):  # a name that is not known ends no capture
            device = getattr(torch, kind)
            if device.is_available():
                return str(device.get_device_name(device.current_device()))
    return None
