// The calls of each thread in order, from either file, as tokens that can be compared.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "converters/pytorch/alignment/sequence_alignment.h"
#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"

namespace reprise::pytorch {

struct CallSequence {
  std::int64_t thread = 0;
  std::vector<std::int32_t> records;  // indices of nodes or events, in order of call
  std::vector<Token> tokens;          // parallel
};

struct CallSequences {
  std::vector<CallSequence> host, kineto;  // longest first
};

// A transfer as gloo records it, in either file.
[[nodiscard]] inline bool IsTransferRecord(std::string_view name) {
  return name.starts_with("gloo:");
}

// Leaves out what can't be compared: host records that are not linkable, and on both sides gloo's
// transfers, which the host trace counts to the thread that issued them.
[[nodiscard]] CallSequences MakeCallSequences(const HostTrace& host, const KinetoTrace& kineto);

}  // namespace reprise::pytorch
