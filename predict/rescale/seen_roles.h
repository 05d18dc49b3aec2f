// A set's process groups by role, and what they are for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/group_kinds.h"
#include "predict/rescale/rank_mesh.h"
#include "predict/rescale/rank_sources.h"

namespace reprise {

struct SeenRoles {
  std::vector<JobRole> roles;  // the last one: of all ranks
  std::map<std::string, std::size_t> by_id;
  std::vector<SeenTransfers> seen;  // parallel to roles, of all files
  std::vector<GroupKind> kinds;     // parallel to roles

  // "tp (tp, 64 transfers), all (ep, 11 transfers)"
  [[nodiscard]] std::string Text() const;
};

// What a role is for follows from `kinds` (RescaleRequest::kinds), else from its description, else
// from its transfers. Sets SourceFile::step_ns. Usage error: `kinds` names no group. Bad input,
// which begins with `name`: what a group is for is not known.
[[nodiscard]] Result<SeenRoles> SeeRoles(const TraceSet& set, const std::string& name,
                                         const std::map<std::string, GroupKind>& kinds,
                                         std::vector<SourceFile>& files);

}  // namespace reprise
