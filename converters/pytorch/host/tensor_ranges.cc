#include "converters/pytorch/host/tensor_ranges.h"

#include <simdjson.h>

#include <algorithm>
#include <map>

#include "converters/tensors_in.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

bool WritesInPlace(const HostNode& node) { return node.name->ends_with('_'); }

}  // namespace

std::vector<TensorRange> ParseTensorRanges(std::string_view text) {
  std::vector<TensorRange> ranges;
  thread_local simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) {
    return ranges;
  }
  for (const auto& [number, bounds] : object) {
    TensorRange range{.tensor = ParseNumber<std::int64_t>(number).value_or(-1)};
    if (range.tensor < 0 || bounds.at(0).get(range.low) != simdjson::SUCCESS ||
        bounds.at(1).get(range.high) != simdjson::SUCCESS || range.low > range.high) {
      break;
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<IndexRange> FindIndexRanges(const HostTrace& host) {
  std::map<std::int64_t, IndexRange> found;
  std::vector<const TensorDesc*> tensors;
  for (const HostNode& node : host.nodes) {
    if (node.tensor_ranges.empty() || WritesInPlace(node)) {
      continue;
    }
    tensors.clear();
    // In the order in which the observer numbers them.
    ForEachTensor(node.inputs, [&](const TensorDesc& tensor) { tensors.push_back(&tensor); });
    for (const TensorRange& range : node.tensor_ranges) {
      const auto number = static_cast<std::size_t>(range.tensor);
      if (number >= tensors.size() || !tensors[number]->IsDefined() ||
          !IsIntegral(tensors[number]->dtype)) {
        continue;
      }
      const std::int64_t incarnation = tensors[number]->incarnation;
      IndexRange& known =
          found.try_emplace(incarnation, IndexRange{incarnation, range.low, range.high})
              .first->second;
      known.low = std::min(known.low, range.low);
      known.high = std::max(known.high, range.high);
    }
  }
  std::vector<IndexRange> ranges;
  ranges.reserve(found.size());
  for (const auto& [incarnation, range] : found) {
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace reprise::pytorch
