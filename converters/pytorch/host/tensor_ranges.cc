#include "converters/pytorch/host/tensor_ranges.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace reprise::pytorch {
namespace {

class RangeText {
 public:
  explicit RangeText(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool Take(char expected) {
    while (at_ != end_ && *at_ == ' ') {
      ++at_;
    }
    const bool is = at_ != end_ && *at_ == expected;
    at_ += is ? 1 : 0;
    return is;
  }

  bool Number(std::int64_t& out) {
    Take(' ');
    const auto [behind, error] = std::from_chars(at_, end_, out);
    at_ = behind;
    return error == std::errc();
  }

 private:
  const char* at_;
  const char* end_;
};

// Tensors in the order in which the observer numbers them.
void Flatten(const ValueList& values, std::vector<const TensorDesc*>& out) {
  for (const Value& value : values) {
    if (const TensorDesc* tensor = value.AsTensor()) {
      out.push_back(tensor);
    } else if (const ValueList* list = value.AsList()) {
      Flatten(*list, out);
    }
  }
}

bool WritesInPlace(const HostNode& node) { return node.name->ends_with('_'); }

}  // namespace

std::vector<TensorRange> ParseTensorRanges(std::string_view text) {
  std::vector<TensorRange> ranges;
  RangeText in(text);
  if (!in.Take('{')) {
    return ranges;
  }
  do {
    TensorRange range;
    const bool is = in.Take('"') && in.Number(range.tensor) && in.Take('"') && in.Take(':') &&
                    in.Take('[') && in.Number(range.low) && in.Take(',') && in.Number(range.high) &&
                    in.Take(']');
    if (!is || range.tensor < 0 || range.low > range.high) {
      break;
    }
    ranges.push_back(range);
  } while (in.Take(','));
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
    Flatten(node.inputs, tensors);
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
