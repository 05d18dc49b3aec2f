// The two ways of running attention: launches for a device, loops on the host.
#pragma once

#include "kernels/ops/attention/attention_call.h"
#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// Matrix products of all heads at once with the rows of scores between them, in float32 scratch.
void LowerAttention(const AttentionCall& a, RowLowering& rows);
// By blocks of queries, heads shared by cores. No dimension may be zero.
[[nodiscard]] Status RunAttentionOnHost(const AttentionCall& a, const HostBindings& memory);

}  // namespace reprise
