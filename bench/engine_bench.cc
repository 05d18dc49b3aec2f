// What the engine costs a node, on top of the driver's enqueue:
//  - alone, on a device that takes launches and does nothing with them;
//  - beside a bare loop that enqueues the same launches with the same wait lists on the same
//    device, alternately: host time from the first enqueue to the last, and CPU time of all
//    threads;
//  - that nothing on the host waits between dependent device nodes.
//   engine_bench [kernels] [rounds] [alone|beside|ahead]
//   engine_bench kernels write DIRECTORY     a trace set for `reprise replay`: two nodes a kernel
//   on
//                                            two streams, the host waits after every thousandth
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>

#include "bench/observed_device.h"
#include "collectives/communicator.h"
#include "core/clock.h"
#include "kernels/backend.h"
#include "kernels/call_lowering.h"
#include "kernels/kernel.h"
#include "replayer/engine/engine.h"
#include "replayer/engine/replay_options.h"
#include "tests/replayer/stream_trace.h"

namespace reprise {
namespace {

// A trace ready to run by the engine, and its launches ready for the bare loop.
struct Subject {
  explicit Subject(Graph g) : graph(std::move(g)) {}

  Graph graph;
  ReplayOptions options;
  Plan plan;
  std::unique_ptr<Communicator> communicator;
  RankGroups groups;
  std::unique_ptr<ObservedDevice> device;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<Stream>> streams;  // by actor; null for host threads
  std::vector<std::unique_ptr<PreparedLaunch>> launches;
  std::vector<Graph::Index> device_nodes;
  std::vector<bool> recorded;  // by node: another stream waits for it
  std::function<void()> enqueue;
  Pacer host_thread{[this](std::uint32_t) { enqueue(); }};
};

Status PrepareBare(Subject& subject) {
  const Plan& plan = subject.plan;
  subject.recorded.resize(plan.work.size());
  for (const PlanActor& actor : plan.actors) {
    subject.streams.emplace_back();
    if (actor.kind == Actor::Kind::kStream) {
      REPRISE_ASSIGN(subject.streams.back(), subject.device->CreateStream(true));
    }
  }
  for (Graph::Index i = 0; i < plan.work.size(); ++i) {
    if (plan.work[i].type != WorkType::kCompute || plan.work[i].kernel == nullptr) {
      continue;
    }
    const LowerContext context{
        *subject.memory, subject.device->info(),
        [&](int slot, std::int64_t bytes) { return subject.memory->Scratch(0, slot, bytes); }};
    REPRISE_ASSIGN(const OpCall call, subject.graph.Call(i));
    REPRISE_ASSIGN(const std::vector<Launch> lowered,
                   subject.device->lowering().Lower(*plan.work[i].kernel, call, context));
    for (const Launch& launch : lowered) {
      REPRISE_ASSIGN(auto prepared, subject.device->Prepare(launch));
      subject.launches.push_back(std::move(prepared));
      subject.device_nodes.push_back(i);
    }
    for (const std::uint32_t dep : plan.DepsOf(i)) {
      subject.recorded[dep] = subject.recorded[dep] || plan.work[dep].actor != plan.work[i].actor;
    }
  }
  return {};
}

Result<std::unique_ptr<Subject>> Prepare(const StreamTrace& trace, Device& real, bool forward,
                                         ReplayMode mode = ReplayMode::kReal) {
  REPRISE_ASSIGN(Graph graph, Graph::Build(trace.Metadata(), trace.nodes));
  auto subject = std::make_unique<Subject>(std::move(graph));
  subject->options.host_gaps = HostGaps::kDrop;
  subject->options.default_op_mode = mode;
  subject->options.time_scale = 0;
  REPRISE_ASSIGN(subject->plan, BuildPlan(subject->graph, subject->options, FindBuiltinKernel));
  REPRISE_ASSIGN(auto lives, FindLifetimes(subject->graph, subject->plan));
  subject->device = std::make_unique<ObservedDevice>(real, forward);
  const MemoryPlan memory_plan = PlanMemory(std::move(lives), false);
  ObservedDevice allocator(real, true);  // initial data are uploaded in either case
  REPRISE_ASSIGN(subject->memory, DeviceMemory::Create(memory_plan, allocator));
  subject->communicator = std::move(CreateLocalCommunicators(1).front());
  REPRISE_ASSIGN(subject->engine, Engine::Create(subject->graph, subject->plan, subject->options,
                                                 *subject->communicator, subject->groups, {},
                                                 subject->device.get(), subject->memory.get()));
  REPRISE_TRY(PrepareBare(*subject));
  return subject;
}

// The least that keeps the recorded order: launches, wait lists, events where they are waited for.
Status EnqueueBare(Subject& subject) {
  std::vector<EventPtr> events(subject.graph.size());
  std::vector<EventPtr> waits;
  for (std::size_t k = 0; k < subject.device_nodes.size(); ++k) {
    const Graph::Index i = subject.device_nodes[k];
    Stream& stream = *subject.streams[subject.plan.work[i].actor];
    waits.clear();
    for (const std::uint32_t dep : subject.plan.DepsOf(i)) {
      if (events[dep] != nullptr && subject.plan.work[dep].actor != subject.plan.work[i].actor) {
        waits.push_back(events[dep]);
      }
    }
    if (!waits.empty()) {
      REPRISE_TRY(stream.WaitFor(waits));
    }
    REPRISE_TRY(stream.Enqueue(*subject.launches[k]));
    if (subject.recorded[i]) {
      REPRISE_ASSIGN(events[i], stream.Record());
      REPRISE_TRY(stream.Flush());
    }
  }
  return {};
}

Status FinishBare(Subject& subject) {
  for (const auto& stream : subject.streams) {
    if (stream != nullptr) {
      REPRISE_TRY(stream->Finish());
      REPRISE_TRY(stream->TakeTimes());
    }
  }
  return {};
}

// On a thread of its own, as a recorded thread's nodes are: what drivers allocate there and free
// elsewhere costs them more.
Status RunBare(Subject& subject) {
  std::promise<Status> enqueued;
  subject.enqueue = [&] { enqueued.set_value(EnqueueBare(subject)); };
  subject.host_thread.Post(0);
  REPRISE_TRY(enqueued.get_future().get());
  return FinishBare(subject);
}

std::int64_t ProcessCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

struct Cost {
  double enqueue_ns = 0;  // CPU time of the enqueueing thread from one enqueue to the next
  double wall_ns = 0;     // a node, all of it
  double cpu_ns = 0;      // a node, all threads
};

template <typename Run>
Result<Cost> Measure(Subject& subject, std::size_t nodes, Run run) {
  Observed& observed = subject.device->observed();
  observed.Reset();
  const std::int64_t cpu_ns = ProcessCpuNs();
  const std::int64_t begin_ns = MonotonicNs();
  REPRISE_TRY(run());
  const auto per_node = [nodes](std::int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(nodes);
  };
  return Cost{observed.CpuNsPerEnqueue(), per_node(MonotonicNs() - begin_ns),
              per_node(ProcessCpuNs() - cpu_ns)};
}

struct Spread {
  double median, low, high;  // quartiles
};

Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() / 4], values[values.size() * 3 / 4]};
}

std::string Text(std::vector<double> values) {
  const Spread spread = SpreadOf(std::move(values));
  return fmt::format("{:>6.0f} ({:.0f} to {:.0f})", spread.median, spread.low, spread.high);
}

int iteration = 0;

Status RunEngine(Subject& subject) {
  return subject.engine->RunIteration(iteration++, false).map([](const IterationResult&) {});
}

Status Alone(const char* name, const StreamTrace& trace, Device& real, int rounds,
             ReplayMode mode = ReplayMode::kReal) {
  REPRISE_ASSIGN(const auto subject, Prepare(trace, real, false, mode));
  std::vector<double> wall;
  std::vector<double> cpu;
  for (int round = 0; round <= rounds; ++round) {
    REPRISE_ASSIGN(const Cost cost,
                   Measure(*subject, subject->graph.size(), [&] { return RunEngine(*subject); }));
    if (round > 0) {
      wall.push_back(cost.wall_ns);
      cpu.push_back(cost.cpu_ns);
    }
  }
  fmt::print("  {:<34} wall {:<24} CPU {}\n", name, Text(wall), Text(cpu));
  return {};
}

Status BesideBare(const char* name, const StreamTrace& trace, Device& real, int rounds) {
  REPRISE_ASSIGN(const auto subject, Prepare(trace, real, true));
  const std::size_t nodes = subject->device_nodes.size();
  std::vector<double> engine;
  std::vector<double> bare;
  std::vector<double> overhead;
  for (int round = 0; round <= rounds; ++round) {
    REPRISE_ASSIGN(const Cost with, Measure(*subject, nodes, [&] { return RunEngine(*subject); }));
    REPRISE_ASSIGN(const Cost without, Measure(*subject, nodes, [&] { return RunBare(*subject); }));
    if (round > 0) {  // the first warms up
      engine.push_back(with.enqueue_ns);
      bare.push_back(without.enqueue_ns);
      overhead.push_back(with.enqueue_ns - without.enqueue_ns);
    }
  }
  fmt::print("  {:<34} engine {:<24} bare {:<24} overhead {}\n", name, Text(engine), Text(bare),
             Text(overhead));
  return {};
}

// `gate` > 0: behind the product of two matrices of that size.
StreamTrace Chain(std::size_t kernels, std::int64_t gate = 0) {
  StreamTrace trace;
  if (gate > 0) {
    trace.AddLongKernel(7, gate);
  }
  while (kernels-- > 0) {
    trace.AddKernel(7);
  }
  return trace;
}

// Every kernel waits for the one before it, which is on the other stream.
StreamTrace PingPong(std::size_t kernels, std::int64_t gate = 0) {
  StreamTrace trace;
  std::vector<std::uint64_t> last;
  if (gate > 0) {
    last = {trace.AddLongKernel(8, gate)};
  }
  for (std::size_t k = 0; k < kernels; ++k) {
    last = {trace.AddKernel(7 + static_cast<std::int64_t>(k % 2), last)};
  }
  return trace;
}

StreamTrace Mixed(std::size_t kernels) {
  StreamTrace trace;
  for (std::size_t k = 0; k < kernels; ++k) {
    const std::uint64_t one = trace.AddKernel(7);
    if (k % 10 == 9) {
      trace.AddKernel(8, {one});
    }
    if (k % 1000 == 999) {
      trace.AddHost({one});
    }
  }
  return trace;
}

StreamTrace HostOnly(std::size_t nodes) {
  StreamTrace trace;
  for (std::size_t k = 0; k < nodes; ++k) {
    trace.AddHost();
  }
  return trace;
}

// The first kernel is long: everything that depends on it is enqueued before it ends.
Status NoRoundTrip(const char* name, const StreamTrace& trace, Device& real) {
  REPRISE_ASSIGN(const auto subject, Prepare(trace, real, true));
  REPRISE_TRY(RunEngine(*subject));
  const Observed& observed = subject->device->observed();
  subject->device->observed().Reset();
  REPRISE_ASSIGN(const IterationResult result, subject->engine->RunIteration(iteration++, false));
  std::int64_t first_end_ns = INT64_MAX;
  for (const NodeRecord& record : result.records) {
    first_end_ns = std::min(first_end_ns, record.start_ns + record.duration_ns);
  }
  const double ahead_ms = static_cast<double>(first_end_ns - observed.last_enqueue_ns) * 1e-6;
  fmt::print("  {:<34} {} enqueued, {} waits meanwhile; the last {:.1f} ms {} the first ended\n",
             name, observed.enqueues.load(), observed.waits_between.load(), std::abs(ahead_ms),
             ahead_ms > 0 ? "before" : "AFTER");
  return {};
}

Status RunAlone(std::size_t nodes, int rounds, Device& device) {
  fmt::print("the engine alone, {} nodes (a launch and its kernel are two)\n", nodes);
  REPRISE_TRY(Alone("host thread", HostOnly(nodes), device, rounds));
  REPRISE_TRY(Alone("one stream", Chain(nodes / 2), device, rounds));
  REPRISE_TRY(Alone("two streams, an event each", PingPong(nodes / 2), device, rounds));
  REPRISE_TRY(Alone("one stream, skipped", Chain(nodes / 2), device, rounds, ReplayMode::kSkip));
  return Alone("one stream, timed (0 ns)", Chain(nodes / 2), device, rounds, ReplayMode::kTimed);
}

Status Run(std::size_t nodes, int rounds, const std::string& part) {
  REPRISE_ASSIGN(const auto device, OpenDevice({.backend = BackendNames().front()}));
  fmt::print("{}; ns a node, median (quartiles) of {} rounds\n", device->info().name, rounds);
  if (part.empty() || part == "alone") {
    REPRISE_TRY(RunAlone(25 * nodes, rounds, *device));
  }
  if (part.empty() || part == "beside") {
    constexpr std::int64_t kGate = 1024;
    fmt::print("beside a bare loop, {} kernels (each with its launch on the host thread)\n", nodes);
    REPRISE_TRY(BesideBare("one stream", Chain(nodes, kGate), *device, rounds));
    REPRISE_TRY(BesideBare("two streams, an event each", PingPong(nodes, kGate), *device, rounds));
  }
  if (part.empty() || part == "ahead") {
    constexpr std::int64_t kLong = 2048;
    fmt::print("dependent kernels behind a long one\n");
    REPRISE_TRY(NoRoundTrip("one stream", Chain(nodes, kLong), *device));
    REPRISE_TRY(NoRoundTrip("two streams, an event each", PingPong(nodes, kLong), *device));
  }
  return {};
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);  // leaves a core to the host
  const std::size_t nodes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const std::string part = argc > 3 ? argv[3] : "";
  const reprise::Status status = argc > 2 && argv[2] == std::string("write")
                                     ? reprise::Mixed(nodes).Write(part)
                                     : reprise::Run(nodes, rounds, part);
  if (!status) {
    fmt::print(stderr, "{}\n", status.error().message);
  }
  return status ? 0 : 1;
}
