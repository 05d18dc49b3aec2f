// reprise transform: a trace set that rules changed.
#include "predict/transform/transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/program/commands.h"
#include "cli/program/show_json.h"
#include "core/counted.h"
#include "core/shown_text.h"
#include "predict/transform/rule_effect_json.h"

namespace reprise {
namespace {

struct TransformFlags {
  TransformRequest request;
  std::vector<std::string> rules;
  std::string file;
  bool json = false;
};

void PrintSummary(const std::string& output, const TransformSummary& s, const RuleSet& rules) {
  fmt::print("{}: {} in {}, {} from {} nodes\n", ShownText(output), Counted(s.ranks, "rank"),
             Counted(s.files, "file"), s.nodes_after, s.nodes_before);
  for (const RuleEffect& effect : rules.effects()) {
    fmt::print("  {}\n", ShownText(EffectText(effect)));
  }
  const bool timed = std::ranges::any_of(rules.effects(), [](const RuleEffect& effect) {
    return effect.nodes > effect.nodes_without_time;
  });
  fmt::print("\nnote: {}\n",
             timed ? "recorded starts stay; `reprise simulate --machine recorded` shows when nodes "
                     "start now"
                   : "the set has no times; `reprise simulate --machine` models them");
  for (const Rule& rule : rules.rules()) {
    if (rule.action == RuleAction::kResize || rule.action == RuleAction::kDtype ||
        rule.action == RuleAction::kBucket) {
      fmt::print("{}",
                 "note: transfers of another size keep their recorded time; `reprise simulate "
                 "--machine` models what they take\n");
      return;
    }
  }
}

Result<int> RunTransform(TransformFlags& flags) {
  const TransformRequest& request = flags.request;
  if (request.directory.empty()) {
    return UsageError("give -o, the directory to create");
  }
  REPRISE_ASSIGN(RuleSet rules, RuleSet::Create(flags.rules, "--rule ", flags.file));
  if (rules.empty()) {
    return UsageError("give --rule or --rules: what to change (docs/guides/transform.md)");
  }
  REPRISE_ASSIGN(const TransformSummary summary, TransformSet(request, rules));
  if (!summary.missing.empty()) {
    fmt::print(stderr, "note: {}; the result lacks them, too\n", ShownText(summary.missing));
  }
  if (!flags.json) {
    PrintSummary(request.directory, summary, rules);
    return 0;
  }
  Json json;
  REPRISE_ADD_FIELDS(json, summary, ranks, files, nodes_before, nodes_after, missing)
  json["rules"] = rules.effects();
  ShowJson(json, 2);
  return 0;
}

}  // namespace

CommandBody RegisterTransform(CLI::App& app, const CommandContext& /*context*/) {
  app.description("Write a trace set with what rules change: times, transfers, streams, order");
  auto flags = std::make_shared<TransformFlags>();
  TransformRequest& request = flags->request;
  app.add_option("SET", request.set, "directory of a trace set")->required();
  app.add_option("-o,--output", request.directory, "directory to create");
  app.add_option("--rule", flags->rules,
                 "which nodes, and what becomes of them, as in 'class=attention => scale 0.5'; "
                 "again for more rules (docs/guides/transform.md)")
      ->allow_extra_args(false);
  app.add_option("--rules", flags->file, "file of rules, one a line, before those of --rule");
  app.add_flag("--force", request.force, "replace an output that exists");
  app.add_flag("--json", flags->json, "machine-readable summary on stdout");
  return [flags] { return RunTransform(*flags); };
}

}  // namespace reprise
