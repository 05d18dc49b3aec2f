#include "predict/rescale/seen_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/counted.h"
#include "core/for_each_read.h"
#include "et_schema/io.h"

namespace reprise {
namespace {

Status SeeFile(SourceFile& file, SeenRoles& job) {
  REPRISE_ASSIGN(const auto reader, EtReader::OpenAsItStands(file.path));
  const std::vector<Step>& steps = reader->metadata().steps;
  const std::int64_t ns =
      std::accumulate(steps.begin(), steps.end(), std::int64_t{0},
                      [](std::int64_t sum, const Step& step) { return sum + step.duration_ns; });
  file.step_ns = steps.empty() ? 0 : ns / static_cast<std::int64_t>(steps.size());
  return ForEachRead<Node>(*reader, [&](const Node& node) -> Status {
    if (node.comm) {
      const auto role = job.by_id.find(node.comm->group.empty() ? "0" : node.comm->group);
      if (role != job.by_id.end()) {
        job.seen[role->second].Add(node);
      }
    }
    return {};
  });
}

Status FindKinds(const std::string& name, std::map<std::string, GroupKind> given, SeenRoles& job) {
  std::vector<std::string> unknown, all;
  std::string first_unknown;
  for (std::size_t i = 0; i < job.roles.size(); ++i) {
    const JobRole& role = job.roles[i];
    const SeenTransfers& seen = job.seen[i];
    std::optional<GroupKind> kind;
    std::vector<std::string> names = role.ids;
    names.insert(names.end(), {role.name, role.description});
    for (const std::string& one : names) {
      if (const auto found = given.find(one); found != given.end()) {
        kind = found->second;
        given.erase(found);
      }
    }
    if (!kind && i + 1 < job.roles.size()) {
      kind = KindOfDescription(role.description.empty() ? role.name : role.description);
    }
    if (!kind) {
      kind = seen.transfers == 0 ? GroupKind::kOther : KindOfTransfers(seen);
    }
    if (*kind == GroupKind::kUnknown) {
      unknown.push_back(fmt::format("\"{}\" ({})", role.name, Counted(seen.transfers, "transfer")));
      first_unknown = first_unknown.empty() ? role.name : first_unknown;
    }
    all.push_back(role.name);
    job.kinds.push_back(*kind);
  }
  if (!given.empty()) {
    return UsageError(fmt::format("--group {}: the set has no such process groups, but {}",
                                  given.begin()->first, fmt::join(all, ", ")));
  }
  if (!unknown.empty()) {
    return BadInput(fmt::format(
        "{}: what these process groups are for follows neither from their descriptions nor from "
        "their transfers: {}; say it, as in --group {}=dp (dp, tp, pp, cp, ep or other)",
        name, fmt::join(unknown, ", "), first_unknown));
  }
  return {};
}

}  // namespace

std::string SeenRoles::Text() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (seen[i].transfers > 0) {
      texts.push_back(fmt::format("{} ({}, {})", roles[i].name, Name(kinds[i]),
                                  Counted(seen[i].transfers, "transfer")));
    }
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

Result<SeenRoles> SeeRoles(const TraceSet& set, const std::string& name,
                           const std::map<std::string, GroupKind>& kinds,
                           std::vector<SourceFile>& files) {
  SeenRoles job{.roles = RolesOf(set), .by_id = {}, .seen = {}, .kinds = {}};
  for (std::size_t i = 0; i < job.roles.size(); ++i) {
    if (set.classes != nullptr) {
      job.by_id[job.roles[i].name] = i;
    }
    for (const std::string& id : job.roles[i].ids) {
      job.by_id[id] = i;
    }
  }
  job.roles.push_back({.name = "all", .description = "default_pg", .ids = {"0"}});
  job.by_id["0"] = job.roles.size() - 1;
  job.seen.resize(job.roles.size());
  for (SourceFile& file : files) {
    REPRISE_TRY(SeeFile(file, job));
  }
  REPRISE_TRY(FindKinds(name, kinds, job));
  return job;
}

}  // namespace reprise
