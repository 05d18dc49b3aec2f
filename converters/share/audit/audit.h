// Lists what a trace set reveals: every field, every string, and what should not be shared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/share/anonymize/vocabulary.h"
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

// Times since 1970 are beyond 2^60 ns; those of an anonymized set begin at 0.
inline constexpr std::int64_t kAbsoluteNs = std::int64_t{1} << 55;

struct AuditRequest {
  std::string directory;
  LocalNames local;
  std::string public_names;  // a file with more public names; empty: none
};

// What should not be shared of a text that stands in a field of a set: "node.name", "group id".
[[nodiscard]] std::vector<AuditFinding> AuditText(const Vocabulary& vocabulary,
                                                  const LocalNames& local, const std::string& field,
                                                  const std::string& text, std::uint64_t count);

// Reads every file twice: as it stands on disk, and as a trace. Bad input: no set, a damaged file.
[[nodiscard]] Result<AuditReport> AuditSet(const AuditRequest& request);

}  // namespace reprise
