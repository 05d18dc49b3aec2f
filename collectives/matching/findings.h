// Gathers the errors that single ranks found, so that all ranks report the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "core/comm.h"
#include "core/result.h"

namespace reprise {

struct Finding {
  SequenceKey key;
  // Of several findings of a sequence the lowest is reported: by position, then by order.
  std::uint64_t position = 0;
  std::int32_t order = 0;
  std::string text;
};

struct Findings {
  std::vector<std::string> texts;  // by sequence
  std::size_t sequences = 0;       // all, also those whose text is not among `texts`
};

// Collective over all ranks; the same on all. Costs 8 bytes a rank without findings; otherwise only
// the reported texts travel, from each rank at least one.
[[nodiscard]] Result<Findings> GatherFindings(Communicator& communicator,
                                              std::vector<Finding> mine);

}  // namespace reprise
