// reprise stats: what is in a trace, before anything is done with it.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/trace_stats_text.h"
#include "cli/verbose.h"
#include "et_schema/json.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

template <typename Key>
Json ClassesJson(std::string_view label, const std::map<Key, TraceStats::ClassRow>& rows) {
  Json out = Json::array();
  for (const auto& [key, row] : rows) {
    out.push_back({{label, Name(key)}, {"nodes", row.nodes}, {"duration_ns", row.duration_ns}});
  }
  return out;
}

Json RanksJson(const TraceStats& stats) {
  Json out = Json::array();
  for (const TraceStats::RankRow& rank : stats.ranks) {
    const TraceMetadata& metadata = rank.metadata;
    Json steps = Json::array();
    for (const Step& step : metadata.steps) {
      steps.push_back(
          {{"name", step.name}, {"start_ns", step.start_ns}, {"duration_ns", step.duration_ns}});
    }
    out.push_back({{"rank", metadata.rank},
                   {"file", rank.file},
                   {"ranks_alike", rank.alike},
                   {"source", metadata.source},
                   {"nodes", rank.nodes},
                   {"edges", rank.edges},
                   {"memory_bytes", rank.memory_bytes},
                   {"steps", std::move(steps)},
                   {"untraced_step_ns", metadata.untraced_step_ns},
                   {"untraced_page_faults", metadata.untraced_page_faults},
                   {"tracing_call_ns", metadata.tracing_call_ns},
                   {"machine", ToJson(metadata.machine)},
                   {"placement", ToJson(metadata.placement)},
                   {"clock_offset_ns", metadata.clock_offset_ns},
                   {"clock_drift", metadata.clock_drift},
                   {"clock_uncertainty_ns", metadata.clock_uncertainty_ns},
                   {"link", ToJson(metadata.link)}});
  }
  return out;
}

Json TransfersJson(const TraceStats& stats) {
  Json out = Json::array();
  for (const auto& [kind, row] : stats.transfers) {
    out.push_back({{"kind", Name(kind)},
                   {"count", row.count},
                   {"in_bytes", row.in_bytes},
                   {"out_bytes", row.out_bytes},
                   {"duration_ns", row.duration_ns},
                   {"transfer_ns", row.transfer_ns},
                   {"unmatched", row.unmatched}});
  }
  return out;
}

Json ToJson(const std::string& path, const TraceStats& stats) {
  Json types = Json::object();
  for (const auto& [type, count] : stats.types) {
    types[std::string(Name(type))] = count;
  }
  Json reasons = Json::array();
  for (const auto& [reason, row] : stats.reasons) {
    reasons.push_back({{"reason", Name(reason)}, {"edges", row.edges}, {"inferred", row.inferred}});
  }
  Json certainty = Json::object();
  for (const auto& [value, count] : stats.certainty) {
    certainty[std::string(Name(value))] = count;
  }
  Json groups = Json::array();
  for (const auto& [id, row] : stats.groups) {
    groups.push_back({{"id", id},
                      {"description", row.group.description},
                      {"ranks", row.group.ranks},
                      {"transfers", row.transfers}});
  }
  Json roles = Json::array();
  for (const auto& [role, row] : stats.roles) {
    roles.push_back({{"role", role},
                     {"description", row.description},
                     {"groups", row.groups},
                     {"least_ranks", row.least_ranks},
                     {"most_ranks", row.most_ranks},
                     {"transfers", row.transfers}});
  }
  Json reader = Json::object();
  for (const auto& [name, counter] : stats.reader) {
    reader[name] = {{"count", counter.count}, {"examples", counter.examples}};
  }
  return {{"path", path},
          {"nodes", stats.nodes},
          {"edges", stats.edges},
          {"ranks", RanksJson(stats)},
          {"missing_ranks", stats.missing_ranks},
          {"types", std::move(types)},
          {"kinds", ClassesJson("kind", stats.kinds)},
          {"classes", ClassesJson("class", stats.classes)},
          {"reasons", std::move(reasons)},
          {"transfers", TransfersJson(stats)},
          {"certainty", std::move(certainty)},
          {"groups", std::move(groups)},
          {"roles", std::move(roles)},
          {"ranges", stats.ranges.ToJson()},
          {"diagnostics", {{"converter", stats.converter}, {"reader", std::move(reader)}}}};
}

}  // namespace

CommandBody RegisterStats(CLI::App& app, const CommandContext& /*context*/) {
  app.description("Show the contents of a trace: nodes, edges, transfers, groups, steps");
  struct Flags {
    std::string path;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  app.add_option("path", flags->path, "an .et file, or the directory of a trace set")->required();
  app.add_flag("--json", flags->json, "machine-readable output");
  return [&app, flags]() -> Result<int> {
    REPRISE_ASSIGN(const TraceStats stats, CollectTraceStats(flags->path));
    if (flags->json) {
      constexpr int kIndent = 2;
      fmt::print(
          "{}\n",
          ToJson(flags->path, stats).dump(kIndent, ' ', false, Json::error_handler_t::replace));
    } else {
      PrintTraceStats(flags->path, stats, IsVerbose(app));
    }
    return 0;
  };
}

}  // namespace reprise
