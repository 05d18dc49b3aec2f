// Measures kernels one call at a time against the device's limits and beside baselines: what
// `reprise bench kernels` prints.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/bench/bench_cases.h"
#include "kernels/bench/probe.h"
#include "kernels/kernel.h"

namespace reprise {

struct KernelBenchOptions {
  std::string filter;  // part of a case's title, kernel or operator; empty: all
  std::vector<DType> dtypes = {DType::kFloat32};
  int repeats = 11;
  // All repeats of a case together take at least this long: each is as many runs back to back as
  // that needs.
  std::int64_t min_time_ns = 100'000'000;
  // A case of which one run at the device's limits would take longer is skipped; one whose runs
  // turn out to take longer is measured once.
  std::int64_t max_run_ns = 1'000'000'000;
  bool baselines = true;
  BackendSettings baseline_settings;  // that name some of the baselines (Device::OpenBaselines)
};

// The time that the limit allows, by the measured one: 1 is as fast as it allows. Of the repeats
// the median and the range. Where bytes bind, each repeat against the copy's mean rate just before
// and just after it, because the speed of a machine that others share changes within seconds. Where
// FLOPs do, against the best FMA rate of the whole run: threads of libraries that still spin after
// their work would make a rate measured beside them too low.
struct LimitShare {
  double median = 0;
  double min = 0;
  double max = 0;
  bool by_compute = false;
};

// One case by one implementation.
struct KernelBenchRow {
  std::string title;
  std::string kernel;  // "layer_norm"; empty if none supports the call
  std::string op;      // "aten::native_layer_norm"
  std::string by;      // "reprise", or the baseline's name
  DType dtype = DType::kFloat32;
  std::string shapes;
  Cost cost;
  std::string skipped;  // why it was not measured; empty if it was
  // One run: wall time of a repeat (enqueueing to the end of the last run) by its runs.
  double median_ns = 0;
  double min_ns = 0;
  double max_ns = 0;
  int repeats = 0;
  int runs_per_repeat = 0;
  int copies = 0;  // of the operands, used in turn
  LimitShare share;
};

struct KernelBenchResult {
  struct BaselineName {
    std::string name, version;
  };
  Roofline limits;  // the best of all their runs
  std::vector<KernelBenchRow> rows;
  std::vector<BaselineName> baselines;
  std::vector<std::string> absent_baselines;
};

// The cases of `options` for this device, in order; rows without times.
[[nodiscard]] std::vector<KernelBenchCase> SelectKernelBenchCases(
    const DeviceInfo& device, const KernelBenchOptions& options);
// `on_row` is called as each row is done, but for its share of a limit that may still rise. What
// fails on the way is a skipped row; an error means that the device itself failed.
[[nodiscard]] Result<KernelBenchResult> RunKernelBench(
    Device& device, const KernelBenchOptions& options,
    const std::function<void(const KernelBenchRow&)>& on_row);

}  // namespace reprise
