#include "collectives/checked_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/layout.h"

namespace reprise {
namespace {

// One stretch of a buffer with a pattern of its own.
struct PatternPart {
  PatternValues values;
  std::int64_t bytes = 0;
  std::int64_t phase = 0;
};
using PatternParts = std::vector<PatternPart>;

std::int64_t BlockBytes(const TransferLayout& layout, const std::vector<std::int64_t>& blocks,
                        int member) {
  return blocks.empty() ? layout.block_bytes : blocks[static_cast<std::size_t>(member)];
}

PatternParts InputOf(const CommSpec& spec, const TransferLayout& layout, const GroupPlace& place) {
  PatternParts blocks;
  switch (spec.kind) {
    case CommKind::kAllReduce:
    case CommKind::kReduce:
    case CommKind::kReduceScatter:
      return {{ReductionInput(spec.dtype, spec.op, place.rank, place.size()), spec.in_bytes}};
    case CommKind::kAllGather:
    case CommKind::kGather:
    case CommKind::kBroadcast:
      // Of a broadcast every rank writes its own: where the input is also the output, what is not
      // overwritten shows.
      return {{MovedValues(place.rank, 0), spec.in_bytes}};
    case CommKind::kSend:
      return {{MovedValues(place.rank, layout.peer), spec.in_bytes}};
    case CommKind::kScatter:
      if (place.rank != layout.root) {
        break;
      }
      [[fallthrough]];
    case CommKind::kAllToAll:
      for (int to = 0; to < place.size(); ++to) {
        blocks.push_back({MovedValues(place.rank, to), BlockBytes(layout, layout.in_blocks, to)});
      }
      break;
    case CommKind::kBarrier:
    case CommKind::kRecv:
    case CommKind::kUnknown:
      break;
  }
  return blocks;
}

PatternParts OutputOf(const CommSpec& spec, const TransferLayout& layout, const GroupPlace& place) {
  PatternParts blocks;
  std::int64_t before_bytes = 0;
  switch (spec.kind) {
    case CommKind::kReduceScatter:
      // The pattern runs through the whole input: this block starts in its middle.
      for (int i = 0; i < place.rank; ++i) {
        before_bytes += BlockBytes(layout, layout.in_blocks, i);
      }
      [[fallthrough]];
    case CommKind::kAllReduce:
    case CommKind::kReduce:
      return {{ReductionResult(spec.dtype, spec.op, place.size()), layout.out_bytes,
               before_bytes / layout.element_bytes}};
    case CommKind::kGather:
      if (place.rank != layout.root) {
        break;
      }
      [[fallthrough]];
    case CommKind::kAllGather:
    case CommKind::kAllToAll:
      for (int from = 0; from < place.size(); ++from) {
        blocks.push_back({MovedValues(from, spec.kind == CommKind::kAllToAll ? place.rank : 0),
                          BlockBytes(layout, layout.out_blocks, from)});
      }
      break;
    case CommKind::kBroadcast:
      return {{MovedValues(layout.root, 0), layout.out_bytes}};
    case CommKind::kScatter:
      return {{MovedValues(layout.root, place.rank), layout.out_bytes}};
    case CommKind::kRecv:
      return {{MovedValues(layout.peer, place.rank), layout.out_bytes}};
    case CommKind::kBarrier:
    case CommKind::kSend:
    case CommKind::kUnknown:
      break;
  }
  return blocks;
}

// Cuts the next `bytes` off a buffer, or what is left of it.
template <typename Byte>
std::span<Byte> TakeFront(std::span<Byte>& data, std::int64_t bytes) {
  const std::span<Byte> front = data.first(std::min(static_cast<std::size_t>(bytes), data.size()));
  data = data.subspan(front.size());
  return front;
}

}  // namespace

void FillInput(const CommSpec& spec, const GroupPlace& place, std::span<std::byte> in) {
  if (const auto layout = LayoutOf(spec, place)) {
    for (const PatternPart& part : InputOf(spec, *layout, place)) {
      WritePattern(spec.dtype, part.values, part.phase, TakeFront(in, part.bytes));
    }
  }
}

CheckResult CheckOutput(const CommSpec& spec, const GroupPlace& place,
                        std::span<const std::byte> out) {
  const auto layout = LayoutOf(spec, place);
  if (!layout) {
    return {.wrong = 1, .first = "the sizes contradict each other"};
  }
  CheckResult result;
  std::int64_t first_index = 0;
  std::int64_t missing_bytes = 0;
  for (const PatternPart& part : OutputOf(spec, *layout, place)) {
    const std::span<const std::byte> block = TakeFront(out, part.bytes);
    CheckPattern(spec.dtype, part.values, part.phase, first_index, block, result);
    first_index += part.bytes / layout->element_bytes;
    missing_bytes += part.bytes - static_cast<std::int64_t>(block.size());
  }
  if (missing_bytes > 0) {
    result.first = result.wrong == 0 ? "the buffer ends too early" : result.first;
    result.wrong += (missing_bytes + layout->element_bytes - 1) / layout->element_bytes;
  }
  return result;
}

Status VerifyOutput(const CommSpec& spec, const GroupPlace& place, std::span<const std::byte> out) {
  const CheckResult result = CheckOutput(spec, place, out);
  if (result.wrong == 0) {
    return {};
  }
  return CheckFailed(fmt::format("{} on rank {}: {} wrong elements of {} bytes; {}", Describe(spec),
                                 place.ranks[static_cast<std::size_t>(place.rank)], result.wrong,
                                 spec.out_bytes, result.first));
}

}  // namespace reprise
