// Two recordings of the same sequence of calls, compared: which element is which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace reprise::pytorch {

// One call. Symbols are compared, shapes only prefer one of several equal symbols.
struct Token {
  std::uint32_t symbol = 0;
  std::uint32_t shape = 0;  // a hash; 0: not recorded
};

// A place where the two probably agree.
struct Anchor {
  std::int32_t left = 0, right = 0;
  std::size_t votes = 0;
};

// Where in `right` an image of `left` may be: one anchor for each, most votes first. `right` may
// hold `left` several times, and either may lack the other's beginning or end.
[[nodiscard]] std::vector<Anchor> FindAnchors(std::span<const Token> left,
                                              std::span<const Token> right);

struct Alignment {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;  // indices, by left
  std::size_t both_shapes = 0;  // pairs whose shapes are recorded on both sides
  std::size_t same_shapes = 0;  // … and equal

  // What the pairs span: [first, last) on either side; empty if there are no pairs.
  std::int32_t left_first = 0, left_last = 0, right_first = 0, right_last = 0;

  // Pairs among the elements of the span, of the longer side: 1 where the sides are the same.
  [[nodiscard]] double Agreement() const;
};

// Walks from an anchor in both directions, by symbols; by shapes too where that explains more.
// Elements that only one side has are skipped, up to some thousand in a row; within such a gap,
// elements that merely changed places are still paired. Gives up (what was found until then
// remains) where more than a third of `left` has no partner. Time is linear unless the sides differ
// much.
[[nodiscard]] Alignment AlignFrom(std::span<const Token> left, std::span<const Token> right,
                                  const Anchor& anchor);

}  // namespace reprise::pytorch
