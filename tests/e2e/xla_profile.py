"""Writes profiles as XLA's profiler does (`<host>.xplane.pb`): planes of devices and of the host, with programs' metadata."""
import struct

from wire import field, varint


def text(number, value):
    return field(number, value.encode())


def signed(number, value):
    return field(number, value & (1 << 64) - 1) if value < 0 else field(number, value)


class Plane:
    """One plane. Times of events are in ps since the line's begin."""

    def __init__(self, name):
        self.name, self.lines, self.events, self.stats, self.own = name, [], {}, {}, b""

    def stat_id(self, name):
        return self.stats.setdefault(name, len(self.stats) + 1)

    def stat(self, number, name, value):
        """As field `number` of what has it: whole numbers, reals, texts, bytes; a text in a tuple is referred to."""
        out = field(1, self.stat_id(name))
        if isinstance(value, tuple):
            out += field(7, self.stat_id(value[0]))
        elif isinstance(value, float):
            out += varint(2 << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            out += field(3, value) if value >= 0 else signed(4, value)
        else:
            out += text(5, value) if isinstance(value, str) else field(6, value)
        return field(number, out)

    def metadata(self, name, display="", **stats):
        """The number of an event's description, made once for each name."""
        if name not in self.events:
            number = len(self.events) + 1
            entry = field(1, number) + text(2, name) + (text(4, display) if display else b"")
            self.events[name] = number, entry + b"".join(self.stat(5, key, value) for key, value in stats.items())
        return self.events[name][0]

    def event(self, called, start_ns, end_ns, display="", about=None, **stats):
        number = self.metadata(called, display, **(about or {}))
        return field(1, number) + field(2, round(start_ns * 1000)) + signed(3, round((end_ns - start_ns) * 1000)) + b"".join(
            self.stat(4, key, value) for key, value in stats.items())

    def line(self, number, name, events, start_ns=0):
        self.lines.append(signed(1, number) + text(2, name) + field(3, start_ns) + b"".join(field(4, event) for event in events))

    def own_stat(self, name, value):
        self.own += self.stat(6, name, value)

    def encode(self):
        parts = [text(2, self.name), *(field(3, line) for line in self.lines)]
        parts += (field(4, field(1, number) + field(2, entry)) for number, entry in self.events.values())
        parts += (field(5, field(1, number) + field(2, field(1, number) + text(2, name))) for name, number in self.stats.items())
        return b"".join([*parts, self.own])


def space(planes, host):
    return b"".join(field(1, plane.encode()) for plane in planes) + text(4, host)


def shape(kind, *sizes):
    return field(2, kind) + field(3, b"".join(map(varint, sizes)))


F32, BF16 = 11, 16


class Program:
    """A program of XLA, with one computation."""

    def __init__(self, name, number, devices):
        self.name, self.number, self.devices, self.instructions = name, number, devices, []

    def add(self, name, opcode, of, operands=(), path="", groups=(), iota=None, pairs=(), flattened=True):
        number = len(self.instructions) + 1
        out = text(1, name) + text(2, opcode) + field(3, of) + field(7, text(2, path)) + field(35, number)
        out += field(36, b"".join(map(varint, operands))) if operands else b""
        if groups or iota or pairs:
            out += field(26, 1) + (field(71, 1) if flattened else b"")
        if iota:
            count, members, sizes, order = iota
            out += field(87, field(2, field(1, count) + field(2, members) + field(3, b"".join(map(varint, sizes))) +
                                   field(4, b"".join(map(varint, order)))))
        elif groups:
            out += field(87, b"".join(field(1, field(1, b"".join(map(varint, group)))) for group in groups))
        for source, target in pairs:
            out += field(52, field(1, source) + field(2, target))
        self.instructions.append(out)
        return number

    def hlo(self):
        computation = b"".join(field(2, one) for one in self.instructions) + field(5, 1)
        assignment = field(1, 1) + field(2, len(self.devices)) + b"".join(field(3, field(1, device)) for device in self.devices)
        return field(1, text(1, self.name) + field(3, computation) + field(15, assignment))


def metadata_plane(*programs):
    plane = Plane("/host:metadata")
    for program in programs:
        plane.metadata(f"{program.name}({program.number})", **{"Hlo Proto": program.hlo()})
    return plane


def task_plane(start_ns=1_700_000_000_000_000_000):
    plane = Plane("Task Environment")
    plane.own_stat("profile_start_time", start_ns)
    plane.own_stat("profile_stop_time", start_ns + 10**9)
    return plane


REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
PERMUTE = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
STEPS = 3


def gpu_program():
    """The first device of the program is the second of the host."""
    program = Program("jit_train_step", 7, [1, 0])
    given = program.add("p0", "parameter", shape(F32, 256, 16))
    program.add("gemm_fusion_dot.3", "fusion", shape(F32, 256, 16), [given], "jit(train_step)/dot_general")
    program.add("all-reduce.1", "all-reduce", shape(F32, 256, 16), [given], "jit(train_step)/psum", groups=[[0, 1]])
    program.add("collective-permute.2", "collective-permute", shape(F32, 256, 16), [given], "jit(train_step)/ppermute",
                pairs=[(0, 1)], flattened=False)
    return program


def gpu_host(host="node1", devices=2):
    """Steps of a GEMM, a copy, a reduction and an exchange on each GPU, with their launches and the program's steps."""
    cpu, planes = Plane("/host:CPU"), []
    threads = [[] for _ in range(devices)]
    about = {"hlo_module": ("jit_train_step",), "program_id": 7}
    for device in range(devices):
        plane = Plane(f"/device:GPU:{device}")
        compute, copies, moves = [], [], []
        for step in range(STEPS):
            at, call = 10_000 + 100_000 * step, 1000 * (device + 1) + 10 * step

            def launch(name, offset, number):
                threads[device].append(cpu.event(name, at + offset, at + offset + 1000, device_id=device, correlation_id=number))
            launch("cuLaunchKernelEx", 0, call + 1)
            compute.append(plane.event("gemm_fusion_dot_3", at + 5000, at + 25_000.5, correlation_id=call + 1, hlo_op=("gemm_fusion_dot.3",),
                                       kernel_details=("regs:96 static_shared:1024 dynamic_shared:512 grid:16,1,1 block:128,2,1 occ_pct:25",),
                                       tf_op=("XlaModule:",), name=("jit(train_step)/dot_general",), **about))
            launch("cuMemcpyHtoDAsync_v2", 2000, call + 2)
            copies.append(plane.event("MemcpyH2D", at + 6000, at + 7000, correlation_id=call + 2,
                                      memcpy_details=("kind_src:pinned kind_dst:device size:4096 dest:0 async:1",)))
            for number, name, op, begin, end in ((3, REDUCE, "all-reduce.1", 30_000, 40_000 + 500 * device),
                                                 (4, PERMUTE, "collective-permute.2", 50_000, 52_000)):
                launch("cudaLaunchKernelExC", 3000 + 1000 * number, call + number)
                moves.append(plane.event(name, at + begin, at + end, correlation_id=call + number, hlo_op=(op,),
                                         kernel_details=("regs:96 grid:2,1,1 block:512,1,1",), **about))
        plane.line(14, "Stream #14(Compute)", compute)
        plane.line(15, "Stream #15(MemcpyH2D)", copies)
        plane.line(16, "Stream #16(Compute)", moves)
        planes.append(plane)
    for device, thread in enumerate(threads):
        cpu.line(-9_000_000_000 - device, f"py_xla_execute/{device}", thread)
    main = [cpu.event("$profiler.py:101 start_trace", 0, 500)]
    for step in range(STEPS):
        main.append(cpu.event("train", 9000 + 100_000 * step, 89_000 + 100_000 * step, step_num=step + 5, _r=1))
        main.append(cpu.event("PjitFunction(secret_step)", 9500 + 100_000 * step, 80_000 + 100_000 * step))
        main.append(cpu.event("cuStreamSynchronize", 81_000 + 100_000 * step, 88_000 + 100_000 * step, correlation_id=90_000 + step))
    cpu.line(77, "python", main)
    idle = Plane(f"/device:GPU:{devices}")
    idle.own_stat("device_vendor", "Nvidia")
    return space([metadata_plane(gpu_program()), *planes, idle, cpu, task_plane()], host)


# As TPUs describe their operations.
TPU_REDUCE = ("%all-reduce.1 = f32[64,256]{1,0:T(8,128)} all-reduce(f32[64,256]{1,0:T(8,128)} %fusion.1), channel_id=1, "
              "replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true, to_apply=%sum")
TPU_GATHER = ("%all-gather-start.2 = (bf16[8,128]{1,0:T(8,128)(2,1)}, bf16[16,128]{1,0:T(8,128)(2,1)}) all-gather-start(bf16[8,128]{1,0:T(8,128)"
              "(2,1)} %copy.4), channel_id=2, replica_groups={{0,1},{2,3}}, dimensions={0}, use_global_device_ids=true")
TPU_GATHERED = "%all-gather-done.2 = bf16[16,128]{1,0} all-gather-done((bf16[8,128]{1,0}, bf16[16,128]{1,0}) %all-gather-start.2)"
TPU_PERMUTE = ("%collective-permute-start.3 = (f32[32]{0}, f32[32]{0}, u32[]{:S(2)}, u32[]{:S(2)}) collective-permute-start(f32[32]{0} %x), "
               "channel_id=3, source_target_pairs={{0,1},{1,2},{2,3}}")
TPU_PERMUTED = "%collective-permute-done.3 = f32[32]{0} collective-permute-done((f32[32]{0}, f32[32]{0}, u32[], u32[]) %collective-permute-start.3)"
TPU_COPY = "%copy-start.5 = (f32[8]{0:S(1)}, f32[8]{0}, u32[]{:S(2)}) copy-start(f32[8]{0} %p)"
TPU_COPIED = "%copy-done.5 = f32[8]{0:S(1)} copy-done((f32[8]{0:S(1)}, f32[8]{0}, u32[]{:S(2)}) %copy-start.5)"
TPU_LOOP = "%while.9 = (s32[]{:T(128)}) while((s32[]{:T(128)}) %tuple), condition=%cond, body=%body"
TPU_DOT = "%fusion.1 = f32[64,256]{1,0:T(8,128)} fusion(f32[64,128]{1,0} %a, f32[128,256]{1,0} %b), kind=kOutput, calls=%fused"


def tpu_plane(device, at_ns, own_line=True, marked=True):
    plane = Plane(f"/device:TPU:{device}")
    plane.own_stat("device_type_string", "TPU v5 lite")
    work, beside, modules, steps = [], [], [], []
    for step in range(STEPS):
        at = at_ns + 100_000 * step

        def add(name, start, end, to=work, about=None):
            to.append(plane.event(name, at + start, at + end, name.split(" ")[0][1:], about=about))
        add(TPU_COPY, 1000, 1100)
        add(TPU_GATHER, 2000, 2200)
        add(TPU_LOOP, 3000, 30_000, about={"hlo_category": "while"})
        add(TPU_DOT, 3500, 20_000, about={"hlo_category": "convolution fusion", "tf_op": "jit(train)/jit(main)/dot_general:",
                                          "flops": 4_200_000, "model_flops": 4_194_304, "bytes_accessed": 229_376, "program_id": 3})
        add("%add.7 = f32[8]{0} add(f32[8]{0} %a, f32[8]{0} %b)", 21_000, 29_000,
            about={"hlo_category": "non-fusion elementwise", "bytes_accessed": 96, "flops": 8.0})
        add(TPU_COPIED, 30_000, 30_500)
        add(TPU_GATHERED, 31_000, 36_000)
        add(TPU_REDUCE, 36_000, 46_000 + 100 * device)
        add(TPU_PERMUTE, 50_000, 50_200)
        add("%add.7 = f32[8]{0} add(f32[8]{0} %a, f32[8]{0} %b)", 51_000, 59_000)
        add(TPU_PERMUTED, 60_000, 62_000)
        add("%add.8 = f32[8]{0} add(f32[8]{0} %a, f32[8]{0} %b)", 62_000, 70_000)
        add(TPU_COPY, 1050, 28_000, beside)
        add(TPU_GATHER, 2100, 35_500, beside)
        modules.append(plane.event("jit_train_step(1234567)", at + 1000, at + 70_000, run_id=step))
        modules.append(plane.event("jit_small(7)", at + 80_000, at + 81_000, run_id=100 + step))
        steps.append(plane.event(str(step + 40), at + 1000, at + 71_000))
    if marked:
        plane.line(1, "Steps", steps)
    plane.line(2, "XLA Modules", modules)
    plane.line(3, "XLA Ops", work)
    if own_line:
        plane.line(4, "Async XLA Ops", beside)
    plane.line(5, "Framework Name Scope", [plane.event("jit(train)", at_ns, at_ns + 10)])
    return plane


def tpu_host(host, devices=2, **options):
    cpu = Plane("/host:CPU")
    cpu.line(1, "python", [cpu.event("train", 5000 + 100_000 * step, 60_000 + 100_000 * step, step_num=step) for step in range(STEPS)])
    planes = [tpu_plane(device, 20_000 + 50 * device, **options) for device in range(devices)]
    core = Plane("/device:TPU:0 SparseCore 0")
    core.line(1, "XLA Ops", [core.event("sparse", 1, 2)])
    return space([*planes, core, cpu, task_plane()], host)


def cpu_host(host="node1", devices=2):
    """XLA's CPU back end: devices are threads of the host."""
    plane = Plane("/host:CPU")
    program = gpu_program()
    for device in range(devices):
        events = []
        for step in range(STEPS):
            at, about = 10_000 + 100_000 * step, {"device_ordinal": device, "hlo_module": ("jit_train_step",), "program_id": 7}
            events.append(plane.event("ThunkExecutor::Execute", at, at + 60_000))
            events.append(plane.event("call.1", at + 1000, at + 20_000, hlo_op=("call.1",), **about))
            events.append(plane.event("gemm_fusion_dot.3", at + 2000, at + 19_000, hlo_op=("gemm_fusion_dot.3",), **about))
            events.append(plane.event("all-reduce.1", at + 30_000 + device, at + 40_000, hlo_op=("all-reduce.1",), **about))
        plane.line(100 + device, f"tf_XLAPjRtCpuClient/{device}", events)
    return space([metadata_plane(program), plane, task_plane()], host)


def write_job(folder, hosts):
    """As jax.profiler.trace writes them: one file a host."""
    session = folder / "plugins" / "profile" / "2026_01_31_12_00_00"
    session.mkdir(parents=True, exist_ok=True)
    for host, data in hosts.items():
        (session / f"{host}.xplane.pb").write_bytes(data)
        (session / f"{host}.trace.json.gz").write_bytes(b"")
    return session
