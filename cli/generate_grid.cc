#include "cli/generate_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/csv_rows.h"
#include "cli/operator_work.h"
#include "cli/output_file.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/temporary_output.h"
#include "workload/job/generate.h"
#include "workload/job/grid.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

Json RowOf(const GridRow& row, const GridHardware& hardware) {
  Json json = {{"name", row.name}, {"hardware", hardware.name}};
  REPRISE_ADD_FIELDS(json, row.workload.layout, tp, pp, dp, ep, fsdp)
  json.update({{"setting", row.setting},
               {"micro_batch", row.workload.micro_batch},
               {"micro_batches", 0},
               {"possible", false},
               {"reason", ""},
               {"fits", false},
               {"peak_bytes", 0},
               {"of_bytes", hardware.memory_bytes},
               {"peak_bytes_by_stage", Json::array()}});
  REPRISE_ADD_FIELDS(json, GenerateSummary(), parameters, model_flops, executed_flops, nodes,
                     bytes_on_disk)
  return json;
}

void FillRow(const GenerateSummary& summary, Json& row) {
  row["possible"] = true;
  row["micro_batches"] = summary.micro_batches;
  std::int64_t peak = 0;
  for (const StageMemory& stage : summary.memory) {
    peak = std::max(peak, stage.bytes.peak);
    row["peak_bytes_by_stage"].push_back(stage.bytes.peak);
  }
  row["peak_bytes"] = peak;
  row["fits"] = peak <= row["of_bytes"].get<std::int64_t>();
  REPRISE_ADD_FIELDS(row, summary, parameters, model_flops, executed_flops, nodes, bytes_on_disk)
}

Status WriteIndex(const std::string& directory, const Json& rows, bool force) {
  REPRISE_ASSIGN(OutputFile json,
                 OutputFile::Create((fs::path(directory) / "index.json").string(), force));
  json.stream() << rows.dump(1) << "\n";
  REPRISE_TRY(json.Commit());
  REPRISE_ASSIGN(OutputFile csv,
                 OutputFile::Create((fs::path(directory) / "index.csv").string(), force));
  WriteCsv(rows, csv.stream());
  return csv.Commit();
}

}  // namespace

Status GenerateGrid(const GridFlags& flags, const std::string& output, bool force, bool json) {
  REPRISE_ASSIGN(const Grid grid, MakeGrid(flags.name, flags.hardware));
  const fs::path directory(output);
  std::error_code code;
  const bool there = fs::exists(directory / "index.json", code);
  if (!there && fs::exists(directory, code) && !fs::is_empty(directory, code)) {
    return UsageError(
        fmt::format("{} is not empty and holds no grid; choose another -o, or remove it yourself",
                    directory.string()));
  }
  if (!force && there) {
    return UsageError(
        fmt::format("{} exists; give --force to replace it", (directory / "index.json").string()));
  }
  Json rows = Json::array();
  std::size_t impossible = 0;
  std::size_t fitting = 0;
  std::int64_t bytes = 0;
  for (const GridRow& row : grid.rows) {
    rows.push_back(RowOf(row, grid.hardware));
    if (const Status checked = CheckWorkload(row.workload); !checked) {
      rows.back()["reason"] = checked.error().message;
      ++impossible;
      continue;
    }
    GenerateRequest request{.workload = row.workload, .force = force, .compress = true};
    if (!flags.index_only) {
      request.directory = (directory / row.name).string();
      request.costs = [table = OperatorCosts()](Node& node) { AddCost(table, node); };
    }
    REPRISE_ASSIGN(const GenerateSummary summary, Generate(request));
    FillRow(summary, rows.back());
    fitting += rows.back()["fits"].get<bool>() ? 1 : 0;
    bytes += summary.bytes_on_disk;
  }
  REPRISE_TRY(WriteIndex(output, rows, force));
  if (json) {
    fmt::print("{}\n", rows.dump(2));
    return {};
  }
  fmt::print("{}: {}, {} impossible, {} fit in {:.0f} GB a rank; {:.2f} GB on disk\n", output,
             Counted(rows.size(), "configuration"), impossible, fitting,
             static_cast<double>(grid.hardware.memory_bytes) / 1e9,
             static_cast<double>(bytes) / 1e9);
  fmt::print("index: {}\n", (directory / "index.csv").string());
  return {};
}

}  // namespace reprise
