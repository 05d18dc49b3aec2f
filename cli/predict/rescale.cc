// reprise rescale: a captured or generated set with another number of data-parallel ranks or of
// micro-batches or layers.
#include "predict/rescale/rescale.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/program/commands.h"
#include "cli/program/number_checks.h"
#include "cli/program/show_json.h"
#include "converters/operation_cost.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "predict/operator_work.h"

namespace reprise {

REPRISE_JSON_FIELDS(RescaledGroups, role, description, kind, size_before, size_after)
REPRISE_JSON_FIELDS(RepeatSummary, before, after, nodes_written, copies)

namespace {

struct RescaleFlags {
  RescaleRequest request;
  std::vector<std::string> groups;
  bool json = false;
};

// "NAME=dp"
Status ReadKinds(const std::vector<std::string>& groups, RescaleRequest& request) {
  for (const std::string& text : groups) {
    const std::size_t equals = text.rfind('=');
    const std::string kind = equals == std::string::npos ? "" : text.substr(equals + 1);
    const auto& names = kNamesOf<GroupKind>;
    const auto known = std::ranges::find(names, kind);
    if (known == names.end() || kind == Name(GroupKind::kUnknown)) {
      return UsageError(fmt::format(
          "--group {}: expected NAME=KIND, with dp, tp, pp, cp, ep or other as the kind", text));
    }
    request.kinds[text.substr(0, equals)] = static_cast<GroupKind>(known - names.begin());
  }
  return {};
}

std::string_view Meaning(Rescaled rule) {
  switch (rule) {
    case Rescaled::kGroup:
      return "transfers of groups of another size";
    case Rescaled::kShard:
      return "operations on tensors that ranks divide, of another size";
    case Rescaled::kMean:
      return "factors of means over replicas";
    case Rescaled::kRepeat:
      return "copies of nodes, of micro-batches or layers that were not recorded, and what works "
             "on "
             "all layers' tensors";
    default:
      return "";
  }
}

void PrintGroups(const RescaleSummary& s) {
  fmt::print("\n{:<36} {:<8} {:>8} {:>8}\n", "groups", "kind", "members", "from");
  for (const RescaledGroups& group : s.groups) {
    fmt::print("{:<36} {:<8} {:>8} {:>8}\n", ShownText(group.role), Name(group.kind),
               group.size_after, group.size_before);
  }
  fmt::print(
      "\nnote: recorded times stay, of changed nodes, too; `reprise simulate --machine` models "
      "what transfers take at the new size\n");
  if (s.unknown_sizes > 0) {
    fmt::print("note: {} of optimizers without arguments: their shards keep their size\n",
               Counted(s.unknown_sizes, "node"));
  }
}

void PrintSummary(const std::string& output, const RescaleSummary& s) {
  std::vector<std::string> sizes;
  if (s.layers) {
    sizes.push_back(fmt::format("{} layers from {}", s.layers->after, s.layers->before));
  }
  if (s.micro_batches) {
    sizes.push_back(
        fmt::format("{} micro-batches from {}", s.micro_batches->after, s.micro_batches->before));
  }
  if (s.tensor_parallel_after != 0) {
    sizes.push_back(fmt::format("tensor parallelism {} from {}", s.tensor_parallel_after,
                                s.tensor_parallel_before));
  }
  if (s.expert_parallel_after != 0) {
    sizes.push_back(fmt::format("expert parallelism {} from {}, with even routing",
                                s.expert_parallel_after, s.expert_parallel_before));
  }
  if (s.data_parallel_after != 0) {
    sizes.push_back(
        fmt::format("data parallelism {} from {}", s.data_parallel_after, s.data_parallel_before));
  }
  fmt::print("{}: {}: {}{}, {} written\n", ShownText(output), fmt::join(sizes, ", "),
             Counted(s.ranks_after, "rank"),
             s.classes == 0 ? "" : " in " + Counted(s.classes, "class"),
             Counted(s.nodes_written, "node"));
  for (const auto& [rule, nodes] : s.changed) {
    fmt::print("changed: {} {} ({})\n", nodes, Meaning(rule), Name(rule));
  }
  if (!s.groups.empty()) {
    PrintGroups(s);
  }
}

Result<int> RunRescale(RescaleFlags& flags) {
  RescaleRequest& request = flags.request;
  if (request.directory.empty()) {
    return UsageError("give -o, the directory to create");
  }
  const bool other_ranks =
      request.data_parallel != 0 || request.tensor_parallel != 0 || request.expert_parallel != 0;
  if (!other_ranks && request.micro_batches == 0 && request.layers == 0) {
    return UsageError(
        "give --dp, the number of data-parallel ranks, --tp, that of tensor-parallel ones, --ep, "
        "that of ranks that divide experts, --micro-batches or --layers");
  }
  if (request.kv_heads != 0 && request.tensor_parallel == 0) {
    return UsageError("--kv-heads is of tensor-parallel ranks: give --tp, too");
  }
  if (request.one_copy && request.data_parallel == 0) {
    return UsageError("--one-copy chooses among data-parallel replicas: give --dp, too");
  }
  REPRISE_TRY(ReadKinds(flags.groups, request));
  request.costs = [table = OperatorCosts()](Node& node) { AddCost(table, node); };
  REPRISE_ASSIGN(const RescaleSummary summary, RescaleSet(request));
  if (!summary.missing.empty()) {
    fmt::print(stderr, "note: {}; {}\n", summary.missing,
               other_ranks ? "others of their kind stand for them" : "the result lacks them, too");
  }
  if (!flags.json) {
    PrintSummary(request.directory, summary);
    return 0;
  }
  Json json;
  REPRISE_ADD_FIELDS(json, summary, ranks_before, ranks_after, data_parallel_before,
                     data_parallel_after, tensor_parallel_before, tensor_parallel_after,
                     expert_parallel_before, expert_parallel_after, groups, classes, nodes_written)
  json["changed"] = Json::object();
  for (const auto& [rule, nodes] : summary.changed) {
    json["changed"][std::string(Name(rule))] = nodes;
  }
  REPRISE_ADD_FIELDS(json, summary, missing, unknown_sizes)
  if (summary.layers) {
    json["layers"] = *summary.layers;
  }
  if (summary.micro_batches) {
    json["micro_batches"] = *summary.micro_batches;
  }
  ShowJson(json, 2);
  return 0;
}

}  // namespace

CommandBody RegisterRescale(CLI::App& app, const CommandContext& /*context*/) {
  app.description(
      "Write a captured or generated trace set with another number of data-, tensor- or "
      "expert-parallel ranks, micro-batches or layers");
  auto flags = std::make_shared<RescaleFlags>();
  RescaleRequest& request = flags->request;
  app.add_option("SET", request.set, "directory of a trace set")->required();
  app.add_option("-o,--output", request.directory, "directory to create");
  app.add_option("--dp", request.data_parallel,
                 "data-parallel ranks, those that share experts included (docs/guides/rescale.md)")
      ->check(Positive());
  app.add_option("--tp", request.tensor_parallel,
                 "tensor-parallel ranks: matrices, heads and vocabulary are divided among as many")
      ->check(Positive());
  app.add_option("--ep", request.expert_parallel,
                 "expert-parallel ranks, among as many data-parallel ones: experts are divided "
                 "among as many, with even routing")
      ->check(Positive());
  app.add_option("--kv-heads", request.kv_heads,
                 "the model's heads of keys and values, for --tp of a set without a backward pass "
                 "in which each rank has one")
      ->check(Positive());
  app.add_option("--micro-batches", request.micro_batches,
                 "micro-batches of a step, by pipeline or gradient accumulation; the recorded ones "
                 "are repeated or left out")
      ->check(Positive());
  app.add_option("--layers", request.layers,
                 "layers that are alike, of all pipeline stages; the recorded ones are repeated or "
                 "left out")
      ->check(Positive());
  app.add_option("--group", flags->groups,
                 "what process groups are for where neither their description nor their transfers "
                 "say it: NAME=dp, tp, pp, cp, ep or other; NAME is a role, description or id")
      ->allow_extra_args(false);
  app.add_flag("--one-copy", request.one_copy,
               "repeat one captured replica, that of the median step (default: each in turn, so "
               "that their spread stays)");
  app.add_flag("--force", request.force, "replace an output that exists");
  app.add_flag("--json", flags->json, "machine-readable summary on stdout");
  return [flags] { return RunRescale(*flags); };
}

}  // namespace reprise
