// Code that torch.compile made for a CPU: a capture has its name and its time, but no operators.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

enum class CompiledName : std::uint8_t {
  kNone,
  kRegion,  // around compiled code and what calls it: Dynamo's, AOTAutograd's, compiled autograd's
  kCode,    // compiled code itself: a graph of Inductor's, or a kernel of one
};
// The one list of what PyTorch 2 calls them.
[[nodiscard]] CompiledName CompiledNameOf(std::string_view name);

// The operations whose own time is that of compiled code, in the order of the list: their time
// without that of the operations in them. Where the capture names code, as newer versions do,
// regions are frames; else regions are all that is named. An operation that launches device work is
// left out: there Inductor's kernels are events of their own, and its time is the host's.
[[nodiscard]] std::vector<std::int32_t> FindCompiledCode(const RankCapture& rank);

}  // namespace reprise::pytorch
