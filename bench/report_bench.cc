// What the report of a large run takes, first and next: time, processor time and memory of a
// process of its own each.
//   report_bench RANKS NODES DIRECTORY [ITERATIONS [MEMORY_BYTES [rows | columns | sums
//                [unsampled]]]]
// NODES of each rank; 4 iterations and the machine's memory by default.
// DIRECTORY gets a synthetic run, or has the one that an earlier call wrote: about 170 bytes a node
// and 4 iterations. Ranks are on hosts of eight devices with a meter each. Of 13 nodes of a rank 3
// are transfers. "columns" and "sums" are what ranks do after their last iteration
// (report/run/row_columns.h, report/stored_sums.h); by default the first report has both. "rows":
// neither, as of an earlier version's run; "columns": no sums. "unsampled": a run without meters.
// Ends with 1 where the next report takes more than 5 s or 300 MB.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/kept_memory.h"
#include "core/parallel.h"
#include "report/analysis.h"
#include "report/run/memory_need.h"
#include "report/run/row_columns.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/stored_sums.h"

namespace reprise {
namespace {

constexpr int kDevices = 8;               // of a host
constexpr std::int64_t kNodeNs = 10'000;  // from one node's begin to the next one's
constexpr int kLayer = 13;

struct Operation {
  const char* name;
  OpClass op_class;
};
constexpr std::array<Operation, 5> kOperations = {
    {{"aten::layer_norm", OpClass::kNorm},
     {"aten::mm", OpClass::kGemm},
     {"aten::scaled_dot_product", OpClass::kAttention},
     {"aten::addmm", OpClass::kGemm},
     {"aten::gelu", OpClass::kElementwise}}};

bool IsTensorParallel(int i) { return i % kLayer == 5 || i % kLayer == 11; }
bool IsDataParallel(int i) { return i % kLayer == 12; }
bool IsTransfer(int i) { return IsTensorParallel(i) || IsDataParallel(i); }

// Up to a third of a node's time, the same in every call.
std::int64_t JitterNs(int rank, int i, int iteration) {
  auto mixed = static_cast<std::uint64_t>(i) * 1'000'003 +
               static_cast<std::uint64_t>(rank) * 7'919 +
               static_cast<std::uint64_t>(iteration + 1) * 104'729;
  mixed = (mixed ^ mixed >> 13U) * 0x9e3779b97f4a7c15U;
  return static_cast<std::int64_t>(mixed >> 40U) % (kNodeNs / 3);
}
std::int64_t BeginNs(int rank, int i, int iteration) {
  return i * kNodeNs + JitterNs(rank, i, iteration);
}
// Members of a transfer end together.
std::int64_t EndNs(int rank, int i, int iteration) {
  const int of = IsTransfer(i) ? 0 : rank + 1;
  return (i + 1) * kNodeNs - 1 - JitterNs(of, i, iteration);
}

std::string BusId(int rank) { return fmt::format("0000:{:02x}:00.0", rank % kDevices); }

NodeInfo NodeOf(int rank, int i) {
  const Operation& operation = kOperations[static_cast<std::size_t>(i % kLayer % 6 % 5)];
  const bool transfer = IsTransfer(i);
  const std::int64_t begin_ns = BeginNs(rank, i, -1);
  const std::int64_t end_ns = EndNs(rank, i, -1);
  NodeInfo node{.node_id = static_cast<std::uint64_t>(i) + 1,
                .name = transfer ? "nccl:all_reduce" : operation.name,
                .op_class = transfer ? OpClass::kComm : operation.op_class,
                .kind = transfer ? OpKind::kComm : OpKind::kWork,
                .phase = transfer     ? Phase::kCommunication
                         : i % 2 == 0 ? Phase::kForward
                                      : Phase::kBackward};
  node.actor = transfer ? "group" : "stream 0/7";
  node.kernel = "a_kernel_of_some_library";
  node.shape = fmt::format("[{},1024] [1024,1024]", 1024 << (i % 5));
  node.flops = transfer ? 0 : 4e9;
  node.bytes = 3e6;
  node.work_from = transfer ? WorkSource::kMessage : WorkSource::kArguments;
  node.recorded_start_ns = begin_ns;
  node.recorded_duration_ns = transfer ? (end_ns - begin_ns) / 2 : end_ns - begin_ns;
  node.recorded_elapsed_ns = end_ns - begin_ns;
  node.recorded_delay_ns = i == 0 ? 0 : begin_ns - EndNs(rank, i - 1, -1);
  node.counts_for_coverage = true;
  return node;
}

CollectiveInfo TransferOf(int rank, int ranks, int i) {
  const int host = rank / kDevices;
  const bool within_host = IsTensorParallel(i);
  CollectiveInfo info{.node_id = static_cast<std::uint64_t>(i) + 1};
  info.spec = {
      .kind = within_host ? CommKind::kAllReduce : CommKind::kReduceScatter,
      .group = within_host ? fmt::format("tp{}", host) : fmt::format("dp{}", rank % kDevices)};
  info.spec.index = within_host ? i / kLayer * 2 + (i % kLayer == 11 ? 1 : 0) : i / kLayer;
  info.spec.dtype = DType::kBFloat16;
  info.spec.in_bytes = info.spec.out_bytes = std::int64_t{1} << (20 + i % 7);
  const int last_host = (ranks - 1) / kDevices;
  const int on_last = ranks - last_host * kDevices;
  info.group_size = within_host ? (host == last_host ? on_last : kDevices)
                                : last_host + (rank % kDevices < on_last ? 1 : 0);
  return info;
}

void AppendSamples(RankWriter& writer, int rank, int ranks, std::int64_t end_ns) {
  constexpr std::int64_t kPeriodNs = 20'000'000;
  std::vector<Metric> metrics;
  std::vector<MeteredDevice> meters;
  std::vector<Sample> samples;
  for (int d = 0; d < std::min(kDevices, ranks - rank); ++d) {
    const std::string device = "gpu-" + BusId(d);
    metrics.push_back(
        {.id = d, .name = "power", .unit = "watts", .device = device, .source = "nvml"});
    metrics.back().period_ns = kPeriodNs;
    meters.push_back({.device = device, .source = "nvml", .pci_bus_id = BusId(d)});
    for (std::int64_t time_ns = 0; time_ns <= end_ns + kPeriodNs; time_ns += kPeriodNs) {
      samples.push_back({d, time_ns, 400.0 + static_cast<double>(time_ns / kPeriodNs % 50)});
    }
  }
  writer.Append(std::move(metrics));
  writer.Append(std::move(meters));
  writer.Append(std::move(samples));
}

struct RunSize {
  int ranks = 1, nodes = 1, iterations = 4;
  bool sampled = true;
};

Status WriteRank(const std::string& directory, int rank, const RunSize& size) {
  const auto& [ranks, nodes, iterations, sampled] = size;
  REPRISE_ASSIGN(const auto writer, RankWriter::Create(directory, rank));
  std::vector<NodeInfo> infos;
  std::vector<CollectiveInfo> transfers;
  std::vector<EdgeInfo> edges;
  std::array<std::uint64_t, 2> last_of{};  // of each of its groups
  for (int i = 0; i < nodes; ++i) {
    infos.push_back(NodeOf(rank, i));
    const std::uint64_t id = infos.back().node_id;
    if (i > 0) {
      edges.push_back({id - 1, id, "stream"});
    }
    if (IsTransfer(i)) {
      transfers.push_back(TransferOf(rank, ranks, i));
      std::uint64_t& last = last_of[IsTensorParallel(i) ? 0 : 1];
      if (last > 0) {
        edges.push_back({last, id, "group"});
      }
      last = id;
    }
  }
  writer->Append(std::move(infos));
  writer->Append(std::move(transfers));
  writer->Append(std::move(edges));
  const std::int64_t pass_ns = nodes * kNodeNs;
  std::vector<StepRecord> steps;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const std::int64_t base_ns = iteration * (pass_ns + kNodeNs);
    std::vector<NodeRecord> records;
    for (int i = 0; i < nodes; ++i) {
      const std::int64_t begin_ns = BeginNs(rank, i, iteration);
      records.push_back({.node_id = static_cast<std::uint64_t>(i) + 1,
                         .iteration = iteration,
                         .start_ns = base_ns + begin_ns,
                         .duration_ns = EndNs(rank, i, iteration) - begin_ns});
    }
    writer->Append(std::move(records));
    steps.push_back({.iteration = iteration,
                     .warmup = iteration == 0,
                     .start_ns = base_ns,
                     .duration_ns = EndNs(rank, nodes - 1, iteration)});
  }
  writer->Append(std::move(steps));
  writer->Append<RunDevice>(
      {{.device = "opencl:0", .backend = "opencl", .name = "a device", .pci_bus_id = BusId(rank)}});
  writer->SetFacts({.recorded_step_ns = pass_ns, .first_step_ns = 0});
  if (rank % kDevices == 0 && sampled) {
    AppendSamples(*writer, rank, ranks, iterations * (pass_ns + kNodeNs));
  }
  return writer->Close();
}

Status WriteLargeRun(const std::string& directory, const RunSize& size) {
  const int ranks = size.ranks;
  std::filesystem::create_directories(directory);
  std::vector<Status> written(static_cast<std::size_t>(ranks));
  ForEachInParallel(written.size(), [&](std::size_t rank) {
    written[rank] = WriteRank(directory, static_cast<int>(rank), size);
  });
  for (Status& status : written) {
    REPRISE_TRY(std::move(status));
  }
  RunManifest manifest{
      .trace_name = "synthetic", .world_size = ranks, .iterations = size.iterations};
  manifest.options["mode"] = kReplayMode;
  for (int rank = 0; rank < ranks; ++rank) {
    manifest.hosts.push_back(fmt::format("node{:02}", rank / kDevices));
    manifest.devices.emplace_back("opencl: a device");
  }
  manifest.recorded_step_ns = size.nodes * kNodeNs;
  REPRISE_TRY(WriteManifest(directory, manifest));
  return MergeRun(directory, 0);
}

std::int64_t BytesOfFiles(const std::string& directory, int ranks,
                          std::string (*path_of)(const std::string&, int)) {
  std::int64_t bytes = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path_of(directory, rank), error);
    bytes += error ? 0 : static_cast<std::int64_t>(size);
  }
  return bytes;
}

// Writes the columns of all ranks, or removes them.
Status StoreColumns(const std::string& directory, int ranks, bool keep) {
  std::vector<Status> stored(static_cast<std::size_t>(ranks));
  ForEachInParallel(stored.size(), [&](std::size_t rank) {
    if (keep) {
      stored[rank] = WriteRowColumns(directory, static_cast<int>(rank));
    } else {
      std::filesystem::remove(ColumnsPath(directory, static_cast<int>(rank)));
    }
  });
  for (Status& status : stored) {
    REPRISE_TRY(std::move(status));
  }
  return {};
}

struct Cost {
  double wall_s = 0, cpu_s = 0, peak_mb = 0;
  bool succeeded = false;
};

// In a process of its own, so that its memory is its own.
Cost Measure(const std::function<Status()>& task) {
  const std::int64_t begin_ns = MonotonicNs();
  const pid_t child = fork();
  if (child == 0) {
    const Status done = task();
    if (!done) {
      fmt::print(stderr, "{}\n", done.error().message);
    }
    _exit(done ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {.wall_s = static_cast<double>(MonotonicNs() - begin_ns) * 1e-9,
          .cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .peak_mb = static_cast<double>(usage.ru_maxrss) / 1000,
          .succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

int Run(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr,
               "usage: report_bench RANKS NODES DIRECTORY [ITERATIONS [MEMORY_BYTES [rows | "
               "columns | sums "
               "[unsampled]]]]\n");
    return 2;
  }
  const RunSize size{.ranks = std::atoi(argv[1]),
                     .nodes = std::atoi(argv[2]),
                     .iterations = argc > 4 ? std::atoi(argv[4]) : 4,
                     .sampled = argc <= 7};
  const int ranks = size.ranks;
  const std::string directory = argv[3];
  const std::int64_t memory_bytes = argc > 5 ? std::atoll(argv[5]) : 0;
  const auto say = [](const char* what, const Cost& cost) {
    fmt::print("{:8} {:8.1f} s  {:8.1f} s of processor time  {:8.0f} MB\n", what, cost.wall_s,
               cost.cpu_s, cost.peak_mb);
    std::fflush(stdout);
    return cost.succeeded;
  };
  if (!std::filesystem::exists(directory) &&
      !say("written", Measure([&] { return WriteLargeRun(directory, size); }))) {
    return 1;
  }
  const std::string kept = argc > 6 ? argv[6] : "sums";
  const bool columns = kept != "rows";
  if (!say("columns", Measure([&] { return StoreColumns(directory, ranks, columns); }))) {
    return 1;
  }
  std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  for (const std::int32_t rank : all) {
    std::filesystem::remove(SumsPath(directory, rank));
  }
  if (kept == "sums" && !say("sums", Measure([&] { return StoreSums(directory, all, 0); }))) {
    return 1;
  }
  fmt::print("         columns of {:.0f} MB and sums of {:.0f} MB beside {:.0f} MB\n",
             static_cast<double>(BytesOfFiles(directory, ranks, ColumnsPath)) * 1e-6,
             static_cast<double>(BytesOfFiles(directory, ranks, SumsPath)) * 1e-6,
             static_cast<double>(RankSizes(directory).BytesOf(all)) * 1e-6);
  std::filesystem::remove(directory + "/" + kStoredAnalysisFile);
  const auto report = [&]() -> Status {
    KeepFreedMemory();  // as the command does
    return AnalyzeRun(directory, {.page = true, .memory_bytes = memory_bytes})
        .map([](const Analysis&) {});
  };
  const bool first = say("first", Measure(report));
  const Cost next = Measure(report);
  return first && say("next", next) && next.wall_s <= 5 && next.peak_mb <= 300 ? 0 : 1;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) { return reprise::Run(argc, argv); }
