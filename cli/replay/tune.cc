// reprise tune: measures the tile sizes of matrix products on a device and keeps the best.
#include "kernels/bench/tune.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/program/commands.h"
#include "cli/program/number_checks.h"
#include "cli/program/show_json.h"
#include "cli/replay/backend_options.h"
#include "cli/replay/kernel_bench_report.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "et_schema/output_file.h"
#include "kernels/bench/tuning_file.h"

namespace reprise {
namespace {

struct TuneFlags {
  int device_index = 0;
  std::string backend = TunedBackend();
  SettingFlags settings;
  std::string dtypes = "float32,bfloat16,float16";
  TuneOptions tune;
  double min_time_ms = static_cast<double>(TuneOptions().min_time_ns) * 1e-6;
  std::string output;
  bool force = false;
  bool json = false;
};

std::string TileText(const TunedGemm& one) {
  const GemmTile& t = one.tile;
  return one.program == "gemm_cpu" ? fmt::format("{}x{}", t.n, t.k)
                                   : fmt::format("{}x{}x{} warps {}x{} stages {}", t.m, t.n, t.k,
                                                 t.warp_m, t.warp_n, t.stages);
}

void PrintRow(const TuneRow& row) {
  const std::string result =
      row.skipped.empty() ? fmt::format("{:.1f} GFLOP/s", row.gflop_per_s) : row.skipped;
  fmt::print("{:<9} {:<9} {} {:<7} {:>6}  {:<34} {}\n", row.kind.program, Name(row.kind.dtype),
             row.kind.layout, row.kind.size, row.size, TileText(row.kind), result);
  (void)std::fflush(stdout);
}

Json RowJson(const TuneRow& row) {
  return {{"program", row.kind.program},
          {"dtype", row.kind.dtype},
          {"layout", row.kind.layout},
          {"size_class", row.kind.size},
          {"size", row.size},
          {"tile", TileText(row.kind)},
          {"time_ns", row.median_ns},
          {"gflop_per_s", row.gflop_per_s},
          {"skipped", NullIfEmpty(row.skipped)}};
}

// Where the file goes and what of other devices it keeps. The default file is added to, a named one
// is written anew.
struct Destination {
  std::string path;
  std::vector<DeviceTuning> devices;
};

Result<Destination> FindDestination(const CommandContext& context, const TuneFlags& flags) {
  Destination to;
  std::error_code error;
  if (!flags.output.empty()) {
    to.path = flags.output;
    if (!flags.force && std::filesystem::exists(to.path, error)) {
      return UsageError(fmt::format("{} exists; give --force to replace it", to.path));
    }
    return to;
  }
  to.path = DefaultTuningPath(context);
  if (to.path.empty()) {
    return UsageError("there is no cache directory (HOME is not set): give -o FILE");
  }
  if (!flags.force && std::filesystem::exists(to.path, error)) {
    REPRISE_ASSIGN(to.devices, ReadTuningFile(to.path));
  }
  return to;
}

Status Write(const Destination& to) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(to.path).parent_path();
  if (!folder.empty()) {
    std::filesystem::create_directories(folder, error);
  }
  REPRISE_ASSIGN(OutputFile file, OutputFile::Create(to.path, /*force=*/true));
  file.stream() << TuningJson(to.devices).dump(2) << "\n";
  return file.Commit();
}

void PrintTuning(const TuneFlags& flags, const DeviceInfo& device, const TuneResult& result,
                 const std::string& path) {
  if (flags.json) {
    Json rows = Json::array();
    for (const TuneRow& row : result.rows) {
      rows.push_back(RowJson(row));
    }
    const Json json = {
        {"device", device.name},
        {"driver", device.driver},
        {"file", NullIfEmpty(path)},
        {"best", TuningJson({{device.name, device.driver, result.best}})["devices"][0]["gemm"]},
        {"without_tiles", result.without_tiles},
        {"results", std::move(rows)}};
    ShowJson(json, 2);
    return;
  }
  for (const TunedGemm& one : result.best) {
    fmt::print("best: {:<9} {:<9} {} {:<7} {}\n", one.program, Name(one.dtype), one.layout,
               one.size, TileText(one));
  }
  for (const DType dtype : result.without_tiles) {
    fmt::print("{}: this device's kernels have no tiles to choose\n", Name(dtype));
  }
  fmt::print("{}\n", path.empty() ? "nothing to write" : "written to " + ShownText(path));
}

Result<int> Tune(const CommandContext& context, TuneFlags& flags) {
  REPRISE_ASSIGN(flags.tune.dtypes, ParseFloatingTypes(flags.dtypes));
  flags.tune.min_time_ns = static_cast<std::int64_t>(flags.min_time_ms * 1e6);
  REPRISE_ASSIGN(Destination to, FindDestination(context, flags));
  const BackendSettings settings = flags.settings.Given();
  REPRISE_ASSIGN(const Backend* backend, BackendNamed(flags.backend));
  REPRISE_TRY(PrepareDrivers(*backend, settings));
  REPRISE_ASSIGN(const auto device, OpenDevice({.backend = flags.backend,
                                                .index = flags.device_index,
                                                .cache_directory = context.cache_directory,
                                                .compiled_programs = context.compiled_programs,
                                                .settings = settings}));
  const DeviceInfo& info = device->info();
  if (flags.tune.sizes.empty()) {
    flags.tune.sizes = DefaultTuneSizes(info);
  }
  REPRISE_ASSIGN(const TuneResult result, TuneGemm(*device, flags.tune, [&](const TuneRow& row) {
                   if (!flags.json) {
                     PrintRow(row);
                   }
                 }));
  if (result.best.empty()) {
    to.path.clear();
  } else {
    MergeTuning({info.name, info.driver, result.best}, to.devices);
    REPRISE_TRY(Write(to));
  }
  PrintTuning(flags, info, result, to.path);
  return 0;
}

}  // namespace

CommandBody RegisterTune(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<TuneFlags>();
  AddBackendOption(app, flags->backend);
  app.add_option("--device-index", flags->device_index, "its number in `reprise devices`")
      ->check(NotNegative())
      ->capture_default_str();
  flags->settings.AddTo(app, &BackendSetting::Help::tune);
  app.add_option("--dtype", flags->dtypes, "one or more of float32,bfloat16,float16")
      ->capture_default_str();
  app.add_option("--size", flags->tune.sizes,
                 "sizes of square products; the best tiles are stored for small, medium and large")
      ->delimiter(',')
      ->check(CLI::Range(16, 32768));
  app.add_option("--layout", flags->tune.layouts,
                 "nn, nt, tn, tt: which of A and B is transposed in memory")
      ->delimiter(',')
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}))
      ->capture_default_str();
  app.add_option("--repeat", flags->tune.repeats, "repeats; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--min-time-ms", flags->min_time_ms,
                 "least time for all repeats of a measurement together")
      ->check(Between(0, 1e6))
      ->capture_default_str();
  app.add_option("-o,--output", flags->output,
                 "file to write (default: tuning.json in the cache directory, which replay reads)");
  app.add_flag("--force", flags->force, "replace an existing file");
  app.add_flag("--json", flags->json, "results as JSON");
  return [flags, &context] { return Tune(context, *flags); };
}

}  // namespace reprise
