// The two ways of running attention: launches for a device, loops on the host.
#pragma once

#include <vector>

#include "kernels/kernel.h"
#include "kernels/ops/attention/attention_call.h"

namespace reprise {

// Matrix products of all heads at once with the rows of scores between them, in float32 scratch.
[[nodiscard]] Result<std::vector<Launch>> LowerAttention(const AttentionCall& a,
                                                         const LowerContext& context);
// By blocks of queries, heads shared by cores. No dimension may be zero.
[[nodiscard]] Status RunAttentionOnHost(const AttentionCall& a, const HostBindings& memory);

}  // namespace reprise
