// reprise generate: a trace set from a description of a training job.
#include "workload/job/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/generate_grid.h"
#include "cli/operation_costs.h"
#include "converters/operation_cost.h"
#include "core/shown_text.h"
#include "workload/job/nearest_layout.h"
#include "workload/job/parse.h"

namespace reprise {
namespace {

using GenerateJson = nlohmann::ordered_json;

struct GenerateFlags {
  std::string what, output, schedule, recompute, dtype, routing, name;
  std::optional<std::int64_t> ranks, tp, pp, dp, ep, cp, global_batch, micro_batch, sequence, steps,
      seed;
  std::vector<std::int64_t> layers_per_stage;
  std::vector<std::string> overlap;
  bool fsdp = false, sp = false, distributed_optimizer = false;
  bool expand = false, json = false, force = false;
  GridFlags grid;
};

// Flags go over what the description says. What a flag breaks is a usage error, what the
// description breaks is bad input.
Status AsUsage(Status status) {
  return status ? status : Status(UsageError(status.error().message));
}

void ApplyLayout(const GenerateFlags& flags, Workload& w) {
  Layout& l = w.layout;
  const auto set = [](const std::optional<std::int64_t>& flag, std::int64_t& to) {
    to = flag.value_or(to);
  };
  if (flags.pp && *flags.pp != l.pp) {
    l.layers_per_stage.clear();  // they were of other stages
  }
  set(flags.tp, l.tp);
  set(flags.pp, l.pp);
  set(flags.cp, l.cp);
  set(flags.dp, l.dp);
  set(flags.ep, l.ep);
  if (!flags.layers_per_stage.empty()) {
    l.layers_per_stage = flags.layers_per_stage;
  }
  l.fsdp = l.fsdp || flags.fsdp;
  l.distributed_optimizer = (l.distributed_optimizer || flags.distributed_optimizer) && !flags.fsdp;
  l.sequence_parallel = (l.sequence_parallel || flags.sp) && (l.tp > 1 || flags.sp);
}

// The number of ranks nearest to `ranks` that keeps all rules.
std::int64_t NearestRanks(Workload w, std::int64_t each, std::int64_t ranks) {
  constexpr std::int64_t kMostTries = 64;
  const std::int64_t nearest = std::max<std::int64_t>(1, (ranks + each / 2) / each);
  for (std::int64_t i = 0; i < kMostTries; ++i) {
    w.layout.dp = nearest + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
    if (w.layout.dp >= 1 && CheckRules(w)) {
      return w.layout.dp * each;
    }
  }
  return nearest * each;
}

// Data parallelism follows from the number of ranks. The rest of the workload is complete.
Status ApplyRanks(const GenerateFlags& flags, Workload& w) {
  Layout& l = w.layout;
  if (!flags.ranks) {
    return {};
  }
  const std::int64_t each = l.tp * l.pp * l.cp;
  if (flags.dp && each * l.dp != *flags.ranks) {
    return UsageError(fmt::format("--ranks {} is not tp {} x pp {} x cp {} x dp {} = {}",
                                  *flags.ranks, l.tp, l.pp, l.cp, l.dp, each * l.dp));
  }
  if (each <= 0 || *flags.ranks % each != 0) {
    return UsageError(fmt::format(
        "--ranks {} is not a multiple of {} (tp {} x pp {} x cp {}); the nearest that works is {}",
        *flags.ranks, each, l.tp, l.pp, l.cp, each > 0 ? NearestRanks(w, each, *flags.ranks) : 0));
  }
  l.dp = *flags.ranks / each;
  return {};
}

// A rule that the workload breaks only because of the flags is a usage error.
Status CheckWithFlags(const GenerateFlags& flags, const Workload& w) {
  Status checked = CheckWorkload(w, flags.ranks);
  if (checked) {
    return checked;
  }
  REPRISE_ASSIGN(Workload described, ReadWorkload(flags.what));
  CompleteWorkload(described);
  return CheckRules(described) ? AsUsage(checked) : checked;
}

Result<Workload> MakeWorkload(const GenerateFlags& flags) {
  REPRISE_ASSIGN(Workload w, ReadWorkload(flags.what));
  if (!flags.schedule.empty()) {
    const std::int64_t chunks = w.virtual_stages;
    REPRISE_TRY(AsUsage(SetSchedule(flags.schedule, w)));
    if (w.virtual_stages != chunks &&
        static_cast<std::int64_t>(w.layout.layers_per_stage.size()) != w.layout.pp) {
      w.layout.layers_per_stage.clear();
    }
  }
  if (!flags.recompute.empty()) {
    REPRISE_TRY(AsUsage(SetRecompute(flags.recompute, w)));
  }
  if (!flags.dtype.empty()) {
    REPRISE_TRY(AsUsage(SetDType(flags.dtype, w)));
  }
  if (!flags.routing.empty()) {
    REPRISE_TRY(AsUsage(SetRouting(flags.routing, w)));
  }
  if (!flags.overlap.empty()) {
    REPRISE_TRY(AsUsage(SetOverlap(flags.overlap, w)));
  }
  ApplyLayout(flags, w);
  w.global_batch = flags.global_batch.value_or(w.global_batch);
  w.micro_batch = flags.micro_batch.value_or(w.micro_batch);
  w.model.sequence = flags.sequence.value_or(w.model.sequence);
  w.steps = flags.steps.value_or(w.steps);
  w.routing.seed =
      static_cast<std::uint64_t>(flags.seed.value_or(static_cast<std::int64_t>(w.routing.seed)));
  if (!flags.name.empty()) {
    w.name = flags.name;
  }
  CompleteWorkload(w);
  REPRISE_TRY(ApplyRanks(flags, w));
  REPRISE_TRY(CheckWithFlags(flags, w));
  return w;
}

// Whole numbers as such while they are exact.
GenerateJson WholeOrReal(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return number <= kExact ? GenerateJson(static_cast<std::int64_t>(number)) : GenerateJson(number);
}

GenerateJson ToJson(const Workload& w, const GenerateSummary& s) {
  GenerateJson json;
  json["name"] = w.name;
  json["ranks"] = s.ranks;
  json["classes"] = s.classes;
  json["nodes"] = s.nodes;
  json["nodes_written"] = s.nodes_written;
  json["parameters"] = s.parameters;
  json["model_flops"] = WholeOrReal(s.model_flops);
  json["executed_flops"] = WholeOrReal(s.executed_flops);
  json["micro_batches"] = s.micro_batches;
  json["memory"] = GenerateJson::array();
  for (const StageMemory& stage : s.memory) {
    json["memory"].push_back({{"stage", stage.stage},
                              {"parameters", stage.bytes.parameters},
                              {"gradients", stage.bytes.gradients},
                              {"optimizer", stage.bytes.optimizer},
                              {"activations", stage.bytes.activations},
                              {"layer_activations", stage.bytes.layer_activations},
                              {"peak", stage.bytes.peak}});
  }
  json["transfers"] = GenerateJson::array();
  for (const TransferRow& row : s.transfers) {
    json["transfers"].push_back({{"kind", row.kind},
                                 {"group", row.group},
                                 {"count", row.sums.count},
                                 {"bytes", row.sums.bytes}});
  }
  json["files"] = s.files;
  json["bytes_on_disk"] = s.bytes_on_disk;
  json["times"] = false;  // nodes have no durations
  return json;
}

std::string ShownBytes(std::int64_t bytes) {
  const double value = static_cast<double>(bytes);
  return value >= 1e9   ? fmt::format("{:.2f} GB", value / 1e9)
         : value >= 1e6 ? fmt::format("{:.2f} MB", value / 1e6)
                        : fmt::format("{:.1f} kB", value / 1e3);
}

void PrintSummary(const std::string& output, const Workload& w, const GenerateSummary& s) {
  fmt::print("{}: {}, {} ranks in {} class{}, {} nodes ({} written), {} files, {} on disk\n",
             output, ShownText(w.name), s.ranks, s.classes, s.classes == 1 ? "" : "es", s.nodes,
             s.nodes_written, s.files, ShownBytes(s.bytes_on_disk));
  if (!w.source.empty()) {
    fmt::print("source: {}\n", w.source);
  }
  fmt::print("{:.4g} parameters; a step: {} micro-batches, {:.4g} model FLOP, {:.4g} executed\n",
             static_cast<double>(s.parameters), s.micro_batches, s.model_flops, s.executed_flops);
  fmt::print("\n{:>5} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "stage", "parameters", "gradients",
             "optimizer", "activations", "peak");
  for (const StageMemory& stage : s.memory) {
    fmt::print("{:>5} {:>12} {:>12} {:>12} {:>12} {:>12}\n", stage.stage,
               ShownBytes(stage.bytes.parameters), ShownBytes(stage.bytes.gradients),
               ShownBytes(stage.bytes.optimizer), ShownBytes(stage.bytes.activations),
               ShownBytes(stage.bytes.peak));
  }
  if (!s.transfers.empty()) {
    fmt::print("\n{:<15} {:<12} {:>12} {:>12}\n", "transfer", "group", "count", "bytes");
  }
  for (const TransferRow& row : s.transfers) {
    fmt::print("{:<15} {:<12} {:>12} {:>12}\n", row.kind, row.group, row.sums.count,
               ShownBytes(row.sums.bytes));
  }
  fmt::print("\nnote: a generated set has no durations; replay it, or simulate it\n");
}

Result<int> RunGenerate(const GenerateFlags& flags) {
  if (flags.output.empty()) {
    return UsageError("give -o, the directory to create");
  }
  if (!flags.grid.name.empty() || !flags.grid.hardware.empty()) {
    if (!flags.what.empty() || flags.grid.name.empty() || flags.grid.hardware.empty()) {
      return UsageError("a grid takes --grid NAME, --hardware NAME and -o, and no workload");
    }
    GridFlags grid = flags.grid;
    grid.output = flags.output;
    grid.force = flags.force;
    grid.json = flags.json;
    REPRISE_TRY(GenerateGrid(grid));
    return 0;
  }
  if (flags.what.empty()) {
    return UsageError("give a preset (`reprise list models`) or a description");
  }
  GenerateRequest request{.directory = flags.output, .expand = flags.expand, .force = flags.force};
  REPRISE_ASSIGN(request.workload, MakeWorkload(flags));
  request.costs = [table = OperatorCosts()](Node& node) { AddCost(table, node); };
  REPRISE_ASSIGN(const GenerateSummary summary, Generate(request));
  if (flags.json) {
    fmt::print("{}\n", ToJson(request.workload, summary)
                           .dump(2, ' ', false, GenerateJson::error_handler_t::replace));
  } else {
    PrintSummary(flags.output, request.workload, summary);
  }
  return 0;
}

void AddLayoutOptions(CLI::App& app, GenerateFlags& flags) {
  const auto number = [&app](const char* name, std::optional<std::int64_t>& to, const char* help) {
    app.add_option(name, to, help)->check(CLI::PositiveNumber)->group("Layout");
  };
  number("--ranks", flags.ranks, "number of ranks; data parallelism follows");
  number("--tp", flags.tp, "tensor parallelism");
  number("--pp", flags.pp, "stages of the pipeline");
  number("--dp", flags.dp, "data parallelism");
  number("--ep", flags.ep, "expert parallelism, among data-parallel ranks");
  number("--cp", flags.cp, "context parallelism");
  app.add_option("--layers-per-stage", flags.layers_per_stage, "layers of each stage, as in 7,8,7")
      ->delimiter(',')
      ->group("Layout");
  app.add_flag("--fsdp", flags.fsdp, "parameters, gradients and optimizer states divided")
      ->group("Layout");
  app.add_flag("--sp", flags.sp, "sequence parallelism within tensor parallelism")->group("Layout");
  app.add_flag("--distributed-optimizer", flags.distributed_optimizer,
               "optimizer states divided among data-parallel ranks")
      ->group("Layout");
}

void AddStepOptions(CLI::App& app, GenerateFlags& flags) {
  const auto number = [&app](const char* name, std::optional<std::int64_t>& to, const char* help) {
    app.add_option(name, to, help)->check(CLI::PositiveNumber)->group("Step");
  };
  number("--global-batch", flags.global_batch, "sequences, images or samples of a step");
  number("--micro-batch", flags.micro_batch, "those of one pass on one rank");
  number("--sequence", flags.sequence, "tokens of a sequence");
  number("--steps", flags.steps, "steps to write");
  app.add_option("--schedule", flags.schedule,
                 "gpipe, 1f1b, or interleaved:V with V chunks a stage")
      ->group("Step");
  app.add_option("--recompute", flags.recompute,
                 "activations computed again: none, selective (attention), full (layers)")
      ->group("Step");
  app.add_option("--overlap", flags.overlap,
                 "transfers beside computation: tp, grad, param, or none")
      ->delimiter(',')
      ->group("Step");
  app.add_option("--dtype", flags.dtype, "bfloat16, float16 or float32")->group("Step");
  app.add_option("--routing", flags.routing, "of tokens to experts: balanced, or zipf:A")
      ->group("Step");
  app.add_option("--seed", flags.seed, "of the routing")
      ->check(CLI::NonNegativeNumber)
      ->group("Step");
}

}  // namespace

CommandBody RegisterGenerate(CLI::App& app, const CommandContext& /*context*/) {
  app.description("Generate the trace set of a training job from a description");
  auto flags = std::make_shared<GenerateFlags>();
  app.add_option("workload", flags->what,
                 "a preset (`reprise list models`), or a JSON file that describes the job");
  app.add_option("-o,--output", flags->output, "directory to create");
  app.add_option("--name", flags->name, "name of the trace set (default: the preset's or file's)");
  AddLayoutOptions(app, *flags);
  AddStepOptions(app, *flags);
  app.add_flag("--expand", flags->expand,
               "write one file a rank, for programs that do not read folded sets");
  app.add_option("--grid", flags->grid.name,
                 "every configuration of a study in place of one workload: charllm")
      ->group("Grid");
  app.add_option("--hardware", flags->grid.hardware, "of the grid: h200x32, h100x64")
      ->group("Grid");
  app.add_flag("--index-only", flags->grid.index_only, "write the grid's index and no sets")
      ->group("Grid");
  app.add_flag("--force", flags->force, "replace an output that exists");
  app.add_flag("--json", flags->json, "machine-readable summary on stdout");
  return [flags] { return RunGenerate(*flags); };
}

}  // namespace reprise
