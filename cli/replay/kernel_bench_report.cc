#include "cli/replay/kernel_bench_report.h"

#include <fmt/format.h>

#include <sstream>

namespace reprise {

REPRISE_JSON_FIELDS(KernelBenchResult::BaselineName, name, version)
REPRISE_JSON_FIELDS(KernelBenchOptions, filter, repeats, min_time_ns, max_run_ns)

namespace {

// FLOPs or bytes in nanoseconds are 10^9 of them in seconds.
double PerNs(double amount, double ns) { return ns > 0 ? amount / ns : 0; }

std::string Time(double ns) {
  return ns < 1e6   ? fmt::format("{:.1f} us", ns * 1e-3)
         : ns < 1e9 ? fmt::format("{:.2f} ms", ns * 1e-6)
                    : fmt::format("{:.2f} s", ns * 1e-9);
}

Json CaseJson(const KernelBenchRow& row) {
  Json json = {{"case", row.title}, {"kernel", row.kernel}, {"operator", row.op}};
  REPRISE_ADD_FIELDS(json, row, by, dtype, shapes)
  return json;
}

Json RowJson(const KernelBenchRow& row) {
  Json json = CaseJson(row);
  json["time_ns"] = row.median_ns;
  REPRISE_ADD_FIELDS(json, row, min_ns, max_ns, repeats, runs_per_repeat)
  json["operand_copies"] = row.copies;
  REPRISE_ADD_FIELDS(json, row.cost, flops, bytes)
  json.update({{"gflop_per_s", PerNs(row.cost.flops, row.median_ns)},
               {"gb_per_s", PerNs(row.cost.bytes, row.median_ns)},
               {"fraction_of_limit", row.share.median},
               {"fraction_of_limit_min", row.share.min},
               {"fraction_of_limit_max", row.share.max},
               {"bound_by", row.share.by_compute ? "compute" : "memory"}});
  return json;
}

std::string Header(const DeviceInfo& device, const KernelBenchOptions& options,
                   const KernelBenchResult& result) {
  std::string text = fmt::format("# {}: {}\n", device.backend, device.name);
  text += fmt::format("# limits, the best measured here: copy {:.1f} GB/s (read + written)",
                      result.limits.bytes_per_second * 1e-9);
  for (const auto& [dtype, rate] : result.limits.flops_per_second) {
    text += fmt::format(", FMA {} {:.1f} GFLOP/s", Name(dtype), rate * 1e-9);
  }
  for (const auto& baseline : result.baselines) {
    text += fmt::format("\n# baseline: {} {}", baseline.name, baseline.version);
  }
  for (const std::string& absent : result.absent_baselines) {
    text += fmt::format("\n# no baseline: {}", absent);
  }
  return text + fmt::format(
                    "\n# time: median of {} repeats of {:.0f} ms or more in all, operands used in "
                    "turn to be beyond the caches\n# of limit: time that the limit allows / time, "
                    "median, lowest - highest repeat; M: bytes bind, against the copy just before "
                    "and after each repeat; C: FLOPs bind, against the best FMA rate\n",
                    options.repeats, static_cast<double>(options.min_time_ns) * 1e-6);
}

std::string RowText(const KernelBenchRow& row) {
  std::string text =
      fmt::format("{:<26} {:<9} {:<38} {:<9}", row.title, Name(row.dtype), row.shapes, row.by);
  if (!row.skipped.empty()) {
    return text + fmt::format(" skipped: {}\n", row.skipped);
  }
  const LimitShare& share = row.share;
  return text + fmt::format(" {:>10} {:>24} {:>9.1f} {:>8.2f} {:>8.1f}% {:>9} {}\n",
                            Time(row.median_ns),
                            fmt::format("{} - {}", Time(row.min_ns), Time(row.max_ns)),
                            PerNs(row.cost.flops, row.median_ns),
                            PerNs(row.cost.bytes, row.median_ns), 100 * share.median,
                            fmt::format("{:.0f} - {:.0f}", 100 * share.min, 100 * share.max),
                            share.by_compute ? "C" : "M");
}

}  // namespace

Result<std::vector<DType>> ParseFloatingTypes(const std::string& text) {
  std::vector<DType> dtypes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const DType dtype = ParseDType(part);
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64 && dtype != DType::kFloat16 &&
        dtype != DType::kBFloat16) {
      return UsageError(
          fmt::format("'{}' is no type to measure: float32, float64, float16 or bfloat16", part));
    }
    dtypes.push_back(dtype);
  }
  if (dtypes.empty()) {
    return UsageError("no type to measure was named");
  }
  return dtypes;
}

Json KernelBenchListJson(const std::vector<KernelBenchCase>& cases) {
  Json list = Json::array();
  for (const KernelBenchCase& one : cases) {
    const Kernel* kernel = KernelRegistry::Builtin().Find(one.call);
    list.push_back({{"case", one.title},
                    {"kernel", kernel == nullptr ? "" : std::string(kernel->name())},
                    {"operator", one.call.name},
                    {"dtype", one.dtype},
                    {"shapes", DescribeShapes(one.call)}});
  }
  return {{"cases", list}};
}

std::string KernelBenchListText(const std::vector<KernelBenchCase>& cases) {
  std::string text;
  const Json list = KernelBenchListJson(cases);
  for (const Json& one : list["cases"]) {
    const auto field = [&](const char* key) { return one[key].get<std::string>(); };
    text += fmt::format("{:<26} {:<12} {:<9} {:<38} {}\n", field("case"), field("kernel"),
                        field("dtype"), field("shapes"), field("operator"));
  }
  return text;
}

Json KernelBenchJson(const DeviceInfo& device, const KernelBenchOptions& options,
                     const KernelBenchResult& result) {
  Json fma = Json::object();
  for (const auto& [dtype, rate] : result.limits.flops_per_second) {
    fma[std::string(Name(dtype))] = rate * 1e-9;
  }
  Json results = Json::array();
  Json skipped = Json::array();
  for (const KernelBenchRow& row : result.rows) {
    if (row.skipped.empty()) {
      results.push_back(RowJson(row));
    } else {
      skipped.push_back(CaseJson(row));
      skipped.back()["why"] = row.skipped;
    }
  }
  Json of_device;
  REPRISE_ADD_FIELDS(of_device, device, backend, name, platform, version, driver)
  return {{"device", std::move(of_device)},
          {"options", options},
          {"limits",
           {{"copy_gb_per_s", result.limits.bytes_per_second * 1e-9}, {"fma_gflop_per_s", fma}}},
          {"peers", result.baselines},
          {"absent_peers", result.absent_baselines},
          {"results", results},
          {"skipped", skipped}};
}

std::string KernelBenchText(const DeviceInfo& device, const KernelBenchOptions& options,
                            const KernelBenchResult& result) {
  std::string text = Header(device, options, result);
  text += fmt::format("#{:<25} {:<9} {:<38} {:<9} {:>10} {:>24} {:>9} {:>8} {:>9} {:>9}\n", " case",
                      "type", "inputs", "by", "time", "fastest - slowest", "GFLOP/s", "GB/s",
                      "of limit", "range");
  std::size_t skipped = 0;
  for (const KernelBenchRow& row : result.rows) {
    text += RowText(row);
    skipped += row.skipped.empty() ? 0 : 1;
  }
  return text + fmt::format("# {} measured, {} skipped\n", result.rows.size() - skipped, skipped);
}

}  // namespace reprise
