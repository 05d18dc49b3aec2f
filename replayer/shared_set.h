// What all ranks need to know of a trace set, read from disk once: ten thousand ranks that list a
// directory of as many files are more than a shared file system bears.
#pragma once

#include <string>
#include <string_view>

#include "collectives/communicator.h"
#include "core/result.h"
#include "et_schema/trace_set.h"
#include "replayer/options.h"

namespace reprise {

// OpenChosen (rank_mapping.h) on rank 0; the others are told the outcome. Collective over all
// ranks.
[[nodiscard]] Result<TraceSet> OpenTogether(Communicator& communicator,
                                            const std::string& directory, const PartOptions& part);
// The set's ContentHash; each rank reads its share of the files. Collective over all ranks.
[[nodiscard]] Result<std::string> HashTogether(Communicator& communicator, const TraceSet& set);

// As rank 0 tells it.
[[nodiscard]] std::string EncodeSet(const TraceSet& set);
[[nodiscard]] TraceSet DecodeSet(std::string_view text);

}  // namespace reprise
