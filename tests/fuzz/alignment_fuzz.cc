// Any bytes as two sequences of calls: every pair is of equal symbols, no element is used twice,
// and a sequence agrees with itself.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

#include "converters/pytorch/alignment/sequence_alignment.h"

namespace reprise::pytorch {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void Check(const std::vector<Token>& left, const std::vector<Token>& right) {
  for (const Anchor& anchor : FindAnchors(left, right)) {
    const Alignment alignment = AlignFrom(left, right, anchor);
    std::set<std::int32_t> used_left;
    std::set<std::int32_t> used_right;
    for (const auto& [l, r] : alignment.pairs) {
      Require(l >= alignment.left_first && l < alignment.left_last);
      Require(r >= alignment.right_first && r < alignment.right_last);
      Require(used_left.insert(l).second && used_right.insert(r).second);
      Require(left.at(static_cast<std::size_t>(l)).symbol ==
              right.at(static_cast<std::size_t>(r)).symbol);
    }
    Require(alignment.same_shapes <= alignment.both_shapes);
    Require(alignment.both_shapes <= alignment.pairs.size());
  }
}

}  // namespace
}  // namespace reprise::pytorch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using reprise::pytorch::Token;
  std::vector<Token> sides[2];
  std::size_t side = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == 0xFF) {
      side = 1;
    } else {
      sides[side].push_back({data[i] & 15U, static_cast<std::uint32_t>(data[i] >> 4U)});
    }
  }
  reprise::pytorch::Check(sides[0], sides[1]);
  if (!sides[0].empty()) {
    const auto self = AlignFrom(sides[0], sides[0], {});
    if (self.pairs.size() != sides[0].size() || self.Agreement() != 1) {
      std::abort();
    }
  }
  return 0;
}
