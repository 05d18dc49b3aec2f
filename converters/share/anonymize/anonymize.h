// Turns a trace set into one without identifying data (docs/policies.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converters/resumed_ranks.h"
#include "converters/share/anonymize/anonymizer.h"
#include "converters/share/anonymize/policy.h"
#include "core/diagnostics.h"
#include "core/processes.h"
#include "core/result.h"

namespace reprise {

struct AnonymizeRequest {
  std::string input_directory, output_directory;
  Policy policy;
  std::string salt_file;     // created if it is not there; empty: a salt that is not kept
  std::string public_names;  // a file with more public names; empty: none
  bool force = false;        // replace an output that exists
  bool resume = false;       // as ConvertRequest's; the salt has to be a file's
  // Those that share the ranks of a set, and the salt; a folded set is the first one's.
  Processes* processes = &OneProcess();
};

struct AnonymizeReport {
  struct Rank {
    std::int32_t rank = 0;
    std::int64_t alike = 1;  // ranks that the file stands for, this one included
    std::string path;
    std::uint64_t nodes = 0;
  };
  std::vector<Rank> ranks;
  FieldTally fields;
  // What the files had and the reader does not know, all of it dropped: attribute → count.
  Diagnostics unknown;
  std::optional<ResumedRanks> resumed;  // with AnonymizeRequest::resume
};

// A folded set stays one: its classes' files and ranks.json.
// Ranks in parallel, each read twice; memory per rank at work: 16 bytes a node, 8 a storage. Writes
// the whole set or nothing. Usage error: output and input are the same, or the output exists. Bad
// input: a file that Reprise did not write (convert it first), or a damaged one. Of several
// processes all get the report.
[[nodiscard]] Result<AnonymizeReport> AnonymizeSet(const AnonymizeRequest& request);

}  // namespace reprise
