// reprise generate: a trace set from a description of a training job.
#include "predict/workload/job/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/predict/job_flags.h"
#include "cli/program/commands.h"
#include "cli/program/show_json.h"
#include "converters/operation_cost.h"
#include "core/bytes.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "predict/operator_work.h"
#include "predict/workload/job/options.h"
#include "predict/workload/job/valid_values.h"

namespace reprise {

inline void to_json(Json& json, const StageMemory& of) {
  json["stage"] = of.stage;
  REPRISE_ADD_FIELDS(json, of.bytes, parameters, gradients, optimizer, activations,
                     layer_activations, peak)
}
inline void to_json(Json& json, const TransferRow& row) {
  REPRISE_ADD_FIELDS(json, row, kind, group)
  REPRISE_ADD_FIELDS(json, row.sums, count, bytes)
}

namespace {

struct GenerateFlags {
  JobOptions job;
  std::string output;
  bool expand = false, json = false, force = false;
};

// Whole numbers as such while they are exact.
Json WholeOrReal(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return number <= kExact ? Json(static_cast<std::int64_t>(number)) : Json(number);
}

Json ToJson(const Workload& w, const GenerateSummary& s) {
  Json json = {{"name", w.name}};
  REPRISE_ADD_FIELDS(json, s, ranks, classes, nodes, nodes_written, parameters,
                     trainable_parameters)
  json["model_flops"] = WholeOrReal(s.model_flops);
  json["executed_flops"] = WholeOrReal(s.executed_flops);
  REPRISE_ADD_FIELDS(json, s, micro_batches, memory, transfers, files, bytes_on_disk)
  json["times"] = false;  // nodes have no durations
  return json;
}

void PrintSummary(const std::string& output, const Workload& w, const GenerateSummary& s) {
  fmt::print("{}: {}, {} in {}, {} ({} written), {}, {} on disk\n", ShownText(output),
             ShownText(w.name), Counted(s.ranks, "rank"), Counted(s.classes, "class"),
             Counted(s.nodes, "node"), s.nodes_written, Counted(s.files, "file"),
             SizeText(s.bytes_on_disk));
  if (!w.source.empty()) {
    fmt::print("source: {}\n", ShownText(w.source));
  }
  fmt::print(
      "{:.4g} parameters{}; a step: {}, {:.4g} model FLOP, {:.4g} executed\n",
      static_cast<double>(s.parameters),
      s.trainable_parameters == s.parameters
          ? ""
          : fmt::format(", {:.4g} of them trained", static_cast<double>(s.trainable_parameters)),
      Counted(s.micro_batches, "micro-batch"), s.model_flops, s.executed_flops);
  fmt::print("\n{:>5} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "stage", "parameters", "gradients",
             "optimizer", "activations", "peak");
  for (const StageMemory& stage : s.memory) {
    fmt::print("{:>5} {:>12} {:>12} {:>12} {:>12} {:>12}\n", stage.stage,
               SizeText(stage.bytes.parameters), SizeText(stage.bytes.gradients),
               SizeText(stage.bytes.optimizer), SizeText(stage.bytes.activations),
               SizeText(stage.bytes.peak));
  }
  if (!s.transfers.empty()) {
    fmt::print("\n{:<15} {:<12} {:>12} {:>12}\n", "transfer", "group", "count", "bytes");
  }
  for (const TransferRow& row : s.transfers) {
    fmt::print("{:<15} {:<12} {:>12} {:>12}\n", row.kind, row.group, row.sums.count,
               SizeText(row.sums.bytes));
  }
  fmt::print("\nnote: a generated set has no durations; replay it, or simulate it\n");
}

Result<int> RunGenerate(const GenerateFlags& flags) {
  if (flags.output.empty()) {
    return UsageError("give -o, the directory to create");
  }
  if (flags.job.what.empty()) {
    return UsageError("give a preset (`reprise list models`) or a description");
  }
  GenerateRequest request{.directory = flags.output, .expand = flags.expand, .force = flags.force};
  REPRISE_ASSIGN(request.workload, MakeJobOrSuggest(flags.job));
  REPRISE_TRY(CheckEffects(flags.job, request.workload));
  request.costs = [table = OperatorCosts()](Node& node) { AddCost(table, node); };
  REPRISE_ASSIGN(const GenerateSummary summary, Generate(request));
  if (flags.json) {
    ShowJson(ToJson(request.workload, summary), 2);
  } else {
    PrintSummary(flags.output, request.workload, summary);
  }
  return 0;
}

}  // namespace

CommandBody RegisterGenerate(CLI::App& app, const CommandContext& /*context*/) {
  app.description("Generate the trace set of a training job from a description");
  auto flags = std::make_shared<GenerateFlags>();
  app.add_option("JOB", flags->job.what,
                 "a preset (`reprise list models`), or a JSON file that describes the job");
  app.add_option("-o,--output", flags->output, "directory to create");
  AddJobFlags(app, flags->job);
  app.add_flag("--expand", flags->expand,
               "write one file a rank, for programs that do not read folded sets");
  app.add_flag("--force", flags->force, "replace an output that exists");
  app.add_flag("--json", flags->json, "machine-readable summary on stdout");
  return [flags] { return RunGenerate(*flags); };
}

}  // namespace reprise
