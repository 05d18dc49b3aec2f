#include "cli/replay/measured_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collectives/bench/collective_bench.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/median.h"
#include "core/operators.h"
#include "core/processor_name.h"
#include "kernels/backend.h"
#include "kernels/bench/kernel_bench.h"
#include "predict/machine/machine.h"
#include "predict/simulator/device_operations.h"

namespace reprise {
namespace {

Json MeasuredNumber(double value, const char* unit, const std::string& reference) {
  return {{"value", value}, {"unit", unit}, {"source", "measured"}, {"reference", reference}};
}

// Shares of the device's limits that kernels of one class reach.
struct ClassShares {
  std::vector<double> rate, memory;
};

// The processor, by the backend whose buffers are this process' memory.
Result<std::unique_ptr<Device>> OpenProcessor() {
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    const auto devices = backend->List();
    for (std::size_t i = 0; devices && i < devices->size(); ++i) {
      if ((*devices)[i].memory_is_host) {
        return OpenDevice({.backend = std::string(backend->name()), .index = static_cast<int>(i)});
      }
    }
  }
  return EnvironmentError("no backend runs kernels on this processor (`reprise devices`)");
}

// Of one rank: its device, the limits and what kernels reach of them.
class RankKernels {
 public:
  explicit RankKernels(const MeasureOptions& options) : options_(options) {}

  Status Run() {
    REPRISE_ASSIGN(const auto device, OpenProcessor());
    info_ = device->info();
    KernelBenchOptions bench;
    bench.dtypes = {DType::kFloat32};
    bench.repeats = options_.repeats;
    bench.min_time_ns = options_.min_time_ns;
    bench.max_run_ns = options_.max_run_ns;
    bench.baselines = false;
    REPRISE_ASSIGN(const KernelBenchResult result,
                   RunKernelBench(*device, bench, [](const KernelBenchRow&) {}));
    REPRISE_ASSIGN(const auto probe,
                   LimitProbe::Create(*device, {DType::kFloat32, DType::kFloat64}));
    limits_ = probe->best();
    limits_.bytes_per_second = std::max(limits_.bytes_per_second, result.limits.bytes_per_second);
    const double float32 = result.limits.FlopsOf(DType::kFloat32);
    limits_.flops_per_second[DType::kFloat32] = std::max(limits_.FlopsOf(DType::kFloat32), float32);
    for (const KernelBenchRow& row : result.rows) {
      const std::optional<OpInfo> op = FindOperator(row.op);
      if (!row.skipped.empty() || !op || !WorksOnDevice(op->op_class) || row.min_ns <= 0) {
        continue;
      }
      // The fastest repeat, as the limits are the fastest: others share this machine.
      const Roofline::Bound bound = limits_.BoundOf(row.cost, row.dtype);
      ClassShares& shares = shares_[op->op_class];
      (bound.by_compute ? shares.rate : shares.memory).push_back(bound.ns / row.min_ns);
    }
    return {};
  }

  [[nodiscard]] double bytes_per_second() const { return limits_.bytes_per_second; }

  [[nodiscard]] Json DeviceJson(int ranks) const {
    const std::string how = fmt::format(
        "reprise machine measure, {} at once on {}: ", Counted(ranks, "rank"), ProcessorName());
    const auto reference = [&](const std::string& what) {
      return how + what + options_.conditions;
    };
    Json device = {{"name", ProcessorName()}, {"kind", "cpu"}};
    device["recorded_as"] = {ProcessorName()};
    device["memory"] = {
        {"capacity", MeasuredNumber(static_cast<double>(info_.memory_bytes) / ranks * 1e-9, "GB",
                                    reference("the system's memory, divided by the ranks"))},
        {"bandwidth", MeasuredNumber(limits_.bytes_per_second * 1e-9, "GB/s",
                                     reference("fastest copy, bytes read and written"))}};
    for (const auto& [dtype, flops] : limits_.flops_per_second) {
      device["vector"][std::string(Name(dtype))] =
          MeasuredNumber(flops * 1e-9, "GFLOP/s", reference("fastest chains of multiply-adds"));
    }
    AddEfficiencies(device,
                    reference("median over kernels of `reprise bench kernels`, fastest repeat"));
    return device;
  }

 private:
  void AddEfficiencies(Json& device, const std::string& reference) const {
    const auto part = [&](std::vector<double> shares, double most) {
      return MeasuredNumber(std::min(Median(shares).value_or(most), most), "1",
                            fmt::format("{}; {} kernels", reference, shares.size()));
    };
    std::vector<double> memory;
    for (const auto& [op_class, shares] : shares_) {
      const std::string name(Name(op_class));
      memory.insert(memory.end(), shares.memory.begin(), shares.memory.end());
      const bool product = IsProduct(op_class);
      if (product && !shares.rate.empty()) {
        device["efficiency"][name] = part(shares.rate, 1);
      }
      // predict/machine/fields.cc: what a part of a class may be at most.
      constexpr double kMax = 16;
      if (!product && !shares.rate.empty()) {
        device["classes"][name]["rate"] = part(shares.rate, kMax);
      }
      if (!shares.memory.empty()) {
        device["classes"][name]["memory"] = part(shares.memory, kMax);
      }
    }
    if (!memory.empty()) {
      device["efficiency"]["memory"] = part(memory, 1);
    }
  }

  const MeasureOptions& options_;
  DeviceInfo info_;
  Roofline limits_;
  std::map<OpClass, ClassShares> shares_;
};

// Time of one, ns: the fastest of some rounds.
Result<double> FastestTransfer(Communicator& communicator, CommKind kind, std::int64_t bytes) {
  constexpr int kRounds = 5;
  BenchOptions options;
  options.kind = kind;
  options.min_bytes = options.max_bytes = bytes;
  options.iterations = 5;
  options.warmup = 2;
  options.check = false;
  double fastest_ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    REPRISE_ASSIGN(const std::vector<BenchRow> rows,
                   RunBench(communicator, options, [](const BenchRow&) {}));
    if (rows.empty()) {
      return EnvironmentError("the transfers' benchmark gave no times");
    }
    const auto ns = static_cast<double>(rows.front().out_of_place.time_ns);
    fastest_ns = round == 0 ? ns : std::min(fastest_ns, ns);
  }
  return fastest_ns;
}

constexpr std::int64_t kShortBytes = 64;
constexpr std::int64_t kLongBytes = 32 << 20;

// Rank to next rank, all at the same time; and a collective's time beyond its messages.
struct MeasuredTransfers {
  double latency_ns = 0, bytes_per_second = 0, start_ns = 0;
};

Result<MeasuredTransfers> MeasureTransfers(Communicator& communicator) {
  REPRISE_ASSIGN(const double short_ns,
                 FastestTransfer(communicator, CommKind::kSend, kShortBytes));
  REPRISE_ASSIGN(const double long_ns, FastestTransfer(communicator, CommKind::kSend, kLongBytes));
  REPRISE_ASSIGN(const double reduce_ns,
                 FastestTransfer(communicator, CommKind::kAllReduce, kShortBytes));
  MeasuredTransfers times{short_ns, 0, 0};
  times.bytes_per_second =
      static_cast<double>(kLongBytes) / std::max(long_ns - short_ns, 1.0) * 1e9;
  const int messages = 2 * (communicator.size() - 1);  // of a ring (predict/simulator/network.h)
  times.start_ns = std::max(reduce_ns - messages * times.latency_ns, 0.0);
  return times;
}

}  // namespace

Result<Json> MeasureMachine(Communicator& communicator, const MeasureOptions& options) {
  RankKernels kernels(options);
  REPRISE_TRY(communicator.Agree(kernels.Run()));
  const int ranks = communicator.size();
  Json machine = {
      {"format", "reprise-machine"},
      {"version", 1},
      {"name", options.name},
      {"about", fmt::format("{}, measured with {}", ProcessorName(), Counted(ranks, "rank"))},
      {"device", kernels.DeviceJson(ranks)}};
  const std::string how = fmt::format("reprise machine measure, {}: ", Counted(ranks, "rank"));
  machine["node"]["devices"] =
      MeasuredNumber(ranks, "1", how + "as many as were started" + options.conditions);
  if (ranks > 1) {
    const Result<MeasuredTransfers> measured = MeasureTransfers(communicator);
    REPRISE_TRY(communicator.Agree(
        measured ? Status{} : Status(Fail(measured.error().kind, measured.error().message))));
    // A link that is faster than memory is a cache.
    const double bandwidth = std::min(measured->bytes_per_second, kernels.bytes_per_second());
    Json link;
    link["bandwidth"] = MeasuredNumber(
        bandwidth * 1e-9, "GB/s",
        how + "32 MiB from each rank to the next at the same time" + options.conditions);
    link["bandwidth"]["per"] = "device";
    link["bandwidth"]["ways"] = "one";
    link["latency"] =
        MeasuredNumber(measured->latency_ns * 1e-3, "us",
                       how + "64 bytes from each rank to the next" + options.conditions);
    link["efficiency"] = MeasuredNumber(1, "1", how + "the bandwidth is what messages reach");
    machine["links"]["host"] = std::move(link);
    machine["collectives"]["start"] = MeasuredNumber(
        measured->start_ns * 1e-3, "us",
        how + "all_reduce of 64 bytes, less the messages of a ring" + options.conditions);
  }
  return machine;
}

}  // namespace reprise
