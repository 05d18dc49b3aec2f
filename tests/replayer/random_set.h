// Trace sets drawn from a seed: what may run in any order does so in another order on every rank.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/node.h"
#include "replayer/engine/replay_options.h"

namespace reprise::testing {

// Groups that overlap, of one, and with the same members; several host threads and streams on each
// rank; collectives of all kinds and send/recv pairs, waited for at once, later, elsewhere or
// never. Ranks issue what does not depend on each other in different orders and after different
// delays. Free of deadlocks by construction: transfers come in batches, all of a rank's issues of a
// batch come before it waits for any of them.
struct RandomSet {
  std::uint64_t seed = 0;
  std::map<std::string, std::vector<std::int32_t>> groups;
  std::vector<std::vector<Node>> nodes;  // by rank
  ReplayOptions options;                 // modes and iterations; operations are timed

  [[nodiscard]] int ranks() const { return static_cast<int>(nodes.size()); }
  [[nodiscard]] TraceMetadata Metadata(int rank) const;
  // As files. The directory exists.
  [[nodiscard]] Status Write(const std::string& directory) const;
};

// The same set wherever it is drawn. `ranks` 0: one to five.
[[nodiscard]] RandomSet DrawSet(std::uint64_t seed, int ranks);

// Where CommSpec::sequence of a drawn transfer says which of the whole set it is: every rank's
// issues of a sequence must come in ascending order of it.

}  // namespace reprise::testing
