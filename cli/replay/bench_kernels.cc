// reprise bench kernels: each kernel against the device's own limits and beside baselines.
#include "cli/replay/bench_kernels.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/program/number_checks.h"
#include "cli/program/show_json.h"
#include "cli/replay/backend_options.h"
#include "cli/replay/kernel_bench_report.h"

namespace reprise {
namespace {

struct BenchKernelsFlags {
  std::string backend = TunedBackend();
  int device_index = 0;
  SettingFlags settings;
  KernelBenchOptions options;
  std::string dtypes = "float32";
  double min_time_ms = static_cast<double>(KernelBenchOptions().min_time_ns) * 1e-6;
  double max_run_ms = static_cast<double>(KernelBenchOptions().max_run_ns) * 1e-6;
  std::string baselines = "on";
  bool json = false;
  bool list = false;
};

Result<KernelBenchOptions> OptionsOf(const BenchKernelsFlags& flags) {
  KernelBenchOptions options = flags.options;
  REPRISE_ASSIGN(options.dtypes, ParseFloatingTypes(flags.dtypes));
  options.min_time_ns = static_cast<std::int64_t>(flags.min_time_ms * 1e6);
  options.max_run_ns = static_cast<std::int64_t>(flags.max_run_ms * 1e6);
  options.baselines = flags.baselines == "on";
  return options;
}

Result<int> List(const BenchKernelsFlags& flags, const KernelBenchOptions& options) {
  REPRISE_ASSIGN(const auto devices, ListDevices(flags.backend));
  const auto index = static_cast<std::size_t>(flags.device_index);
  if (index >= devices.size()) {
    return UsageError(fmt::format("there is no {} device {}: see reprise devices", flags.backend,
                                  flags.device_index));
  }
  const auto cases = SelectKernelBenchCases(devices[index], options);
  if (flags.json) {
    ShowJson(KernelBenchListJson(cases), 2);
  } else {
    fmt::print("{}", KernelBenchListText(cases));
  }
  return 0;
}

// A progress line that is overwritten, for terminals; the table needs the limits, which are known
// at the end.
void ShowProgress(const KernelBenchRow& row, std::size_t done, std::size_t cases) {
  if (isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "\r\033[K{} of {}: {} ({})", done, cases, row.title, row.by);
    (void)std::fflush(stderr);
  }
}

// The settings that name baselines, taken out of `settings`: the device's own kernels stay ours.
Result<BackendSettings> TakeBaselineSettings(const std::string& chosen, BackendSettings& settings) {
  BackendSettings baseline_settings;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    for (const BackendSetting& setting : backend->settings()) {
      if (!setting.is_baseline || !settings.Has(setting.name)) {
        continue;
      }
      if (!HasSetting(*FindBackend(chosen), setting.name)) {
        return UsageError(fmt::format("--{}: a baseline of other kernels; add --device {}",
                                      setting.name, BackendsWith(setting.name)));
      }
      const std::string name(setting.name);
      baseline_settings.Set(name, settings.Text(name));
      settings.Set(name, "");
    }
  }
  return baseline_settings;
}

Result<int> BenchKernels(const CommandContext& context, const BenchKernelsFlags& flags) {
  REPRISE_ASSIGN(KernelBenchOptions options, OptionsOf(flags));
  BackendSettings settings = flags.settings.Given();
  REPRISE_ASSIGN(options.baseline_settings, TakeBaselineSettings(flags.backend, settings));
  REPRISE_ASSIGN(const Backend* backend, BackendNamed(flags.backend));
  REPRISE_TRY(PrepareDrivers(*backend, settings));
  if (flags.list) {
    return List(flags, options);
  }
  REPRISE_ASSIGN(auto tuning, TuningOf(*backend, settings, context));
  REPRISE_ASSIGN(const auto device, OpenDevice({.backend = flags.backend,
                                                .index = flags.device_index,
                                                .cache_directory = context.cache_directory,
                                                .compiled_programs = context.compiled_programs,
                                                .settings = std::move(settings),
                                                .tuning = std::move(tuning)}));
  const std::size_t cases = SelectKernelBenchCases(device->info(), options).size();
  if (cases == 0) {
    return UsageError(fmt::format("no case has '{}' in its name, kernel or operator: see --list",
                                  options.filter));
  }
  std::size_t done = 0;
  REPRISE_ASSIGN(const KernelBenchResult result,
                 RunKernelBench(*device, options, [&](const KernelBenchRow& row) {
                   done += row.by == "reprise" ? 1 : 0;
                   ShowProgress(row, done, cases);
                 }));
  if (isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "\r\033[K");
  }
  if (flags.json) {
    ShowJson(KernelBenchJson(device->info(), options, result), 2);
  } else {
    fmt::print("{}", KernelBenchText(device->info(), options, result));
  }
  return 0;
}

}  // namespace

CommandBody AddBenchKernels(CLI::App& bench, const CommandContext& context) {
  const auto flags = std::make_shared<BenchKernelsFlags>();
  CLI::App* sub = bench.add_subcommand(
      "kernels",
      "Measure GFLOP/s and GB/s of the kernels, the device limits and baseline libraries");
  AddBackendOption(*sub, flags->backend);
  sub->add_option("--device-index", flags->device_index, "its number in `reprise devices`")
      ->check(NotNegative())
      ->capture_default_str();
  flags->settings.AddTo(*sub, &BackendSetting::Help::bench);
  sub->add_option("--filter", flags->options.filter,
                  "only cases with this text in their name, kernel or operator");
  sub->add_option("--dtype", flags->dtypes, "one or more of float32,float64,float16,bfloat16")
      ->capture_default_str();
  sub->add_option("--repeat", flags->options.repeats, "repeats; the median is shown")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  sub->add_option("--min-time-ms", flags->min_time_ms,
                  "least time for all repeats of a case together")
      ->check(Between(0, 1e6))
      ->capture_default_str();
  sub->add_option("--max-run-ms", flags->max_run_ms,
                  "skip cases whose single run takes longer at the device limits")
      ->check(Between(0.001, 1e9))
      ->capture_default_str();
  sub->add_option("--peers", flags->baselines,
                  "measure CLBlast, OpenBLAS and PyTorch where they are installed")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  sub->add_flag("--list", flags->list, "show the cases without running them");
  sub->add_flag("--json", flags->json, "results as JSON");
  return [flags, context]() { return BenchKernels(context, *flags); };
}

}  // namespace reprise
