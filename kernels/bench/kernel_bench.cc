#include "kernels/bench/kernel_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/baseline.h"
#include "kernels/bench/bench_timing.h"

namespace reprise {
namespace {

const char* const kOurs = "reprise";
constexpr int kFmaRunsPerCase = 5;  // lest a busy moment make the limit too low

bool Contains(std::string_view text, const std::string& part) {
  return text.find(part) != std::string_view::npos;
}

// The share of a row that was not held against the copy beside it.
void ShareBest(const Roofline& limits, KernelBenchRow& row) {
  const Roofline::Bound bound = limits.BoundOf(row.cost, row.dtype);
  if (row.median_ns > 0 && (bound.by_compute || row.share.median == 0)) {
    row.share = {bound.ns / row.median_ns, bound.ns / row.max_ns, bound.ns / row.min_ns,
                 bound.by_compute};
  }
}

class KernelBench {
 public:
  KernelBench(Device& device, const KernelBenchOptions& options,
              const std::function<void(const KernelBenchRow&)>& on_row)
      : device_(device), options_(options), on_row_(on_row) {}

  Result<KernelBenchResult> Run() {
    REPRISE_ASSIGN(stream_, device_.CreateStream(false));
    REPRISE_ASSIGN(probe_, LimitProbe::Create(device_, options_.dtypes));
    OpenTheBaselines();
    for (const KernelBenchCase& one : SelectKernelBenchCases(device_.info(), options_)) {
      RunCase(one);
      for (int run = 0; run < kFmaRunsPerCase; ++run) {
        REPRISE_TRY(probe_->Fma(one.dtype));
      }
    }
    result_.limits = probe_->best();
    for (KernelBenchRow& row : result_.rows) {
      ShareBest(result_.limits, row);
    }
    return std::move(result_);
  }

 private:
  void OpenTheBaselines() {
    if (!options_.baselines) {
      return;
    }
    baselines_ = device_.OpenBaselines(options_.baseline_settings);
    result_.absent_baselines = baselines_.absent;
    for (const auto& baseline : baselines_.here) {
      result_.baselines.push_back({baseline->name(), baseline->version()});
    }
  }

  void RunCase(const KernelBenchCase& one);
  Result<BenchRuns> PrepareBaseline(const Baseline& baseline, const OpCall& call,
                                    const BenchMemory& memory);
  void RunBaseline(const Baseline& baseline, const OpCall& call, const BenchMemory& memory,
                   KernelBenchRow row);

  void Finish(KernelBenchRow row) {
    on_row_(row);
    result_.rows.push_back(std::move(row));
  }
  // Times `runs`, whose error, if it is one, is why the row is skipped.
  void Time(const Result<BenchRuns>& runs, KernelBenchRow& row) {
    const Status status = runs ? TimeRuns(*stream_, *runs, options_, probe_.get(), row)
                               : tl::unexpected(runs.error());
    if (!status) {
      row.skipped = status.error().message;
      (void)stream_->Finish();
    }
  }
  // "" or why the case is not to be run at a rate of `limit_ns` for one run.
  [[nodiscard]] std::string TooLong(double limit_ns) const {
    return limit_ns <= static_cast<double>(options_.max_run_ns)
               ? ""
               : fmt::format("one run would take {:.1f} s or more, the bound is {:.1f} s",
                             limit_ns * 1e-9, static_cast<double>(options_.max_run_ns) * 1e-9);
  }

  Device& device_;
  const KernelBenchOptions& options_;
  const std::function<void(const KernelBenchRow&)>& on_row_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<LimitProbe> probe_;
  Baselines baselines_;
  std::map<const Baseline*, double> best_flops_;  // a second, as measured so far
  KernelBenchResult result_;
};

void KernelBench::RunCase(const KernelBenchCase& one) {
  KernelBenchRow row{.title = one.title,
                     .op = one.call.name,
                     .by = kOurs,
                     .dtype = one.dtype,
                     .shapes = DescribeShapes(one.call)};
  const Kernel* kernel = KernelRegistry::Builtin().Find(one.call);
  if (kernel == nullptr) {
    row.skipped = "no kernel takes it";
    return Finish(std::move(row));
  }
  row.kernel = kernel->name();
  row.cost = CostOf(one.call);
  row.skipped = TooLong(probe_->best().BoundOf(row.cost, row.dtype).ns);
  if (!row.skipped.empty()) {
    return Finish(std::move(row));
  }
  auto memory = BenchMemory::Create(device_, one.call);
  if (!memory) {
    row.skipped = memory.error().message;
    return Finish(std::move(row));
  }
  Time(PrepareRuns(device_, device_.info(), *kernel, one.call, **memory), row);
  Finish(row);
  for (const auto& baseline : baselines_.here) {
    if (baseline->Supports(one.call)) {
      RunBaseline(*baseline, one.call, **memory, row);
    }
  }
}

Result<BenchRuns> KernelBench::PrepareBaseline(const Baseline& baseline, const OpCall& call,
                                               const BenchMemory& memory) {
  BenchRuns runs;
  for (int i = 0; i < memory.copies(); ++i) {
    REPRISE_ASSIGN(auto launch, baseline.Prepare(call, memory.copy(i)));
    runs.emplace_back().push_back(std::move(launch));
  }
  return runs;
}

void KernelBench::RunBaseline(const Baseline& baseline, const OpCall& call,
                              const BenchMemory& memory, KernelBenchRow row) {
  row.by = baseline.name();
  row.median_ns = row.min_ns = row.max_ns = 0;
  row.repeats = row.runs_per_repeat = row.copies = 0;
  row.share = {};
  // Its measured rate so far predicts its time better than the device's limits.
  double& best = best_flops_[&baseline];
  row.skipped = best > 0 ? TooLong(row.cost.flops / best * 1e9) : "";
  if (row.skipped.empty()) {
    Time(PrepareBaseline(baseline, call, memory), row);
  }
  if (row.median_ns > 0) {
    best = std::max(best, row.cost.flops / row.median_ns * 1e9);
  }
  Finish(std::move(row));
}

}  // namespace

std::vector<KernelBenchCase> SelectKernelBenchCases(const DeviceInfo& device,
                                                    const KernelBenchOptions& options) {
  std::vector<KernelBenchCase> selected;
  for (const DType dtype : options.dtypes) {
    for (KernelBenchCase& one : KernelBenchCases(dtype, KernelBenchScale(device))) {
      const Kernel* kernel = KernelRegistry::Builtin().Find(one.call);
      if (Contains(one.title, options.filter) || Contains(one.call.name, options.filter) ||
          (kernel != nullptr && Contains(kernel->name(), options.filter))) {
        selected.push_back(std::move(one));
      }
    }
  }
  return selected;
}

Result<KernelBenchResult> RunKernelBench(Device& device, const KernelBenchOptions& options,
                                         const std::function<void(const KernelBenchRow&)>& on_row) {
  return KernelBench(device, options, on_row).Run();
}

}  // namespace reprise
