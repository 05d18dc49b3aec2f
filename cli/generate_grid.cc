#include "cli/generate_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/csv_rows.h"
#include "cli/operator_work.h"
#include "cli/output_file.h"
#include "core/counted.h"
#include "core/temporary_output.h"
#include "workload/job/generate.h"
#include "workload/job/grid.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using GridJson = nlohmann::ordered_json;

GridJson RowOf(const GridRow& row, const GridHardware& hardware) {
  const Layout& l = row.workload.layout;
  return {{"name", row.name},
          {"hardware", hardware.name},
          {"tp", l.tp},
          {"pp", l.pp},
          {"dp", l.dp},
          {"ep", l.ep},
          {"fsdp", l.fsdp},
          {"setting", row.setting},
          {"micro_batch", row.workload.micro_batch},
          {"micro_batches", 0},
          {"possible", false},
          {"reason", ""},
          {"fits", false},
          {"peak_bytes", 0},
          {"of_bytes", hardware.memory_bytes},
          {"peak_bytes_by_stage", GridJson::array()},
          {"parameters", 0},
          {"model_flops", 0.0},
          {"executed_flops", 0.0},
          {"nodes", 0},
          {"bytes_on_disk", 0}};
}

void FillRow(const GenerateSummary& summary, GridJson& row) {
  row["possible"] = true;
  row["micro_batches"] = summary.micro_batches;
  std::int64_t peak = 0;
  for (const StageMemory& stage : summary.memory) {
    peak = std::max(peak, stage.bytes.peak);
    row["peak_bytes_by_stage"].push_back(stage.bytes.peak);
  }
  row["peak_bytes"] = peak;
  row["fits"] = peak <= row["of_bytes"].get<std::int64_t>();
  row["parameters"] = summary.parameters;
  row["model_flops"] = summary.model_flops;
  row["executed_flops"] = summary.executed_flops;
  row["nodes"] = summary.nodes;
  row["bytes_on_disk"] = summary.bytes_on_disk;
}

Status WriteIndex(const std::string& directory, const GridJson& rows, bool force) {
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

Status GenerateGrid(const GridFlags& flags) {
  REPRISE_ASSIGN(const Grid grid, MakeGrid(flags.name, flags.hardware));
  const fs::path directory(flags.output);
  std::error_code code;
  const bool there = fs::exists(directory / "index.json", code);
  if (!there && fs::exists(directory, code) && !fs::is_empty(directory, code)) {
    return UsageError(
        fmt::format("{} is not empty and holds no grid; choose another -o, or remove it yourself",
                    directory.string()));
  }
  if (!flags.force && there) {
    return UsageError(
        fmt::format("{} exists; give --force to replace it", (directory / "index.json").string()));
  }
  GridJson rows = GridJson::array();
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
    GenerateRequest request{.workload = row.workload, .force = flags.force, .compress = true};
    if (!flags.index_only) {
      request.directory = (directory / row.name).string();
      request.costs = [table = OperatorCosts()](Node& node) { AddCost(table, node); };
    }
    REPRISE_ASSIGN(const GenerateSummary summary, Generate(request));
    FillRow(summary, rows.back());
    fitting += rows.back()["fits"].get<bool>() ? 1 : 0;
    bytes += summary.bytes_on_disk;
  }
  REPRISE_TRY(WriteIndex(flags.output, rows, flags.force));
  if (flags.json) {
    fmt::print("{}\n", rows.dump(2));
    return {};
  }
  fmt::print("{}: {}, {} impossible, {} fit in {:.0f} GB a rank; {:.2f} GB on disk\n", flags.output,
             Counted(rows.size(), "configuration"), impossible, fitting,
             static_cast<double>(grid.hardware.memory_bytes) / 1e9,
             static_cast<double>(bytes) / 1e9);
  fmt::print("index: {}\n", (directory / "index.csv").string());
  return {};
}

}  // namespace reprise
