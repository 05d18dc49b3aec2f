// Lists what a trace set reveals: every field, every string, and what should not be shared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/share/audit/secret_scan.h"
#include "converters/share/audit/shape_facts.h"
#include "core/result.h"
#include "et_schema/census.h"

namespace reprise {

struct AuditFinding {
  std::string kind;   // "private name", "path", "secret", "absolute time", "unknown field", …
  std::string field;  // "node.name", "file name", "comm_groups_info.json"
  std::string text;
  std::uint64_t count = 0;
};

struct AuditReport {
  Census census;  // of all ranks
  std::vector<AuditFinding> findings;
  std::vector<ShapeFact> facts;  // no findings: replaying needs the shapes
  std::uint64_t files = 0;
};

struct AuditRequest {
  std::string directory;
  LocalNames local;
  std::string public_names;  // a file with more public names; empty: none
};

// Reads every file twice: as it stands on disk, and as a trace. Bad input: no set, a damaged file.
[[nodiscard]] Result<AuditReport> AuditSet(const AuditRequest& request);

}  // namespace reprise
