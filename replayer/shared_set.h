// Facts of a trace set that all ranks need, read from disk once. Ten thousand ranks that list a
// directory of ten thousand files would overload a shared file system.
#pragma once

#include <string>
#include <string_view>

#include "collectives/communicator.h"
#include "core/result.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/options.h"

namespace reprise {

// OpenChosen (rank_mapping.h) on rank 0; the others receive the outcome. Collective over all
// ranks.
[[nodiscard]] Result<TraceSet> OpenTogether(Communicator& communicator,
                                            const std::string& directory, const PartOptions& part);
// The set's ContentHash; each rank reads its share of the files. Collective over all ranks.
[[nodiscard]] Result<std::string> HashTogether(Communicator& communicator, const TraceSet& set);

// As received from rank 0.
[[nodiscard]] std::string EncodeSet(const TraceSet& set);
[[nodiscard]] TraceSet DecodeSet(std::string_view text);

}  // namespace reprise
