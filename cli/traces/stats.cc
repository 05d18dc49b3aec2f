// reprise stats: what is in a trace, before anything is done with it.
#include <fmt/format.h>

#include <memory>

#include "cli/program/commands.h"
#include "cli/program/common_options.h"
#include "cli/program/show_json.h"
#include "cli/traces/counter_lines.h"
#include "cli/traces/trace_stats_text.h"
#include "et_schema/json.h"

namespace reprise {

REPRISE_JSON_FIELDS(Step, name, start_ns, duration_ns)
inline void to_json(Json& json, const TraceStats::RankRow& row) {
  const TraceMetadata& metadata = row.metadata;
  json = {{"rank", metadata.rank},
          {"file", row.file},
          {"ranks_alike", row.alike},
          {"source", metadata.source}};
  REPRISE_ADD_FIELDS(json, row, nodes, edges, memory_bytes)
  REPRISE_ADD_FIELDS(json, metadata, steps, untraced_step_ns, untraced_page_faults, tracing_call_ns)
  json["machine"] = ToJson(metadata.machine);
  json["placement"] = ToJson(metadata.placement);
  REPRISE_ADD_FIELDS(json, metadata, clock_offset_ns, clock_drift, clock_uncertainty_ns)
  json["link"] = ToJson(metadata.link);
}

namespace {

template <typename Key>
Json ClassesJson(std::string_view label, const std::map<Key, TraceStats::ClassRow>& rows) {
  Json out = Json::array();
  for (const auto& [key, row] : rows) {
    Json& json = out.emplace_back(Json{{label, key}});
    REPRISE_ADD_FIELDS(json, row, nodes, duration_ns)
  }
  return out;
}

template <typename Key>
Json CountsJson(const std::map<Key, std::uint64_t>& counts) {
  Json out = Json::object();
  for (const auto& [key, count] : counts) {
    out[std::string(Name(key))] = count;
  }
  return out;
}

Json ToJson(const std::string& path, const TraceStats& stats) {
  Json reasons = Json::array();
  for (const auto& [reason, row] : stats.reasons) {
    Json& json = reasons.emplace_back(Json{{"reason", reason}});
    REPRISE_ADD_FIELDS(json, row, edges, inferred)
  }
  Json transfers = Json::array();
  for (const auto& [kind, row] : stats.transfers) {
    Json& json = transfers.emplace_back(Json{{"kind", kind}});
    REPRISE_ADD_FIELDS(json, row, count, in_bytes, out_bytes, of_unknown_size, duration_ns,
                       transfer_ns, unmatched)
  }
  Json storage = Json::array();
  for (const auto& [operation, row] : stats.storage) {
    Json& json = storage.emplace_back(Json{{"operation", operation}});
    REPRISE_ADD_FIELDS(json, row, nodes, bytes, of_unknown_size, duration_ns)
  }
  Json groups = Json::array();
  for (const auto& [id, row] : stats.groups) {
    Json& json = groups.emplace_back(Json{{"id", id}});
    REPRISE_ADD_FIELDS(json, row.group, description, ranks)
    json["transfers"] = row.transfers;
  }
  Json roles = Json::array();
  for (const auto& [role, row] : stats.roles) {
    Json& json = roles.emplace_back(Json{{"role", role}});
    REPRISE_ADD_FIELDS(json, row, description, groups, least_ranks, most_ranks, transfers)
  }
  return {{"path", path},
          {"nodes", stats.nodes},
          {"edges", stats.edges},
          {"ranks", stats.ranks},
          {"missing_ranks", stats.missing_ranks},
          {"types", CountsJson(stats.types)},
          {"kinds", ClassesJson("kind", stats.kinds)},
          {"classes", ClassesJson("class", stats.classes)},
          {"reasons", std::move(reasons)},
          {"transfers", std::move(transfers)},
          {"storage", std::move(storage)},
          {"certainty", CountsJson(stats.certainty)},
          {"group_count", stats.group_count},
          {"groups", std::move(groups)},
          {"roles", std::move(roles)},
          {"ranges", stats.ranges.ToJson()},
          {"diagnostics", {{"converter", stats.converter}, {"reader", stats.reader}}}};
}

}  // namespace

CommandBody RegisterStats(CLI::App& app, const CommandContext& context) {
  app.description("Show the contents of a trace: nodes, edges, transfers, groups, steps");
  struct Flags {
    std::string path;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  app.add_option("SET", flags->path, "directory of a trace set, or an .et file")->required();
  app.add_flag("--json", flags->json, "machine-readable output");
  return [&app, &context, flags]() -> Result<int> {
    REPRISE_ASSIGN(const TraceStats stats, CollectTraceStats(flags->path, *context.processes));
    if (!context.processes->first()) {
      return 0;  // it has the others' ranks, too, and prints
    }
    if (flags->json) {
      ShowJson(ToJson(flags->path, stats), 2);
    } else {
      PrintTraceStats(flags->path, stats, IsVerbose(app));
    }
    return 0;
  };
}

}  // namespace reprise
