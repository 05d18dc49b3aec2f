// Recursive algorithms pair members by the bits of their numbers, which takes a power of two of
// them. The members beyond it share a seat with a neighbour: the first 2 x extra members sit in
// twos, the even one of which hands its data to the odd one before and gets the result after.
#pragma once

#include <bit>

#include "collectives/algorithms/algorithm.h"

namespace reprise {

class Fold {
 public:
  Fold(int rank, int size)
      : rank_(rank),
        seats_(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))),
        extra_(size - seats_) {}

  [[nodiscard]] int seats() const { return seats_; }
  // Whether this member only hands over.
  [[nodiscard]] bool Sits() const { return rank_ >= 2 * extra_ || rank_ % 2 == 1; }
  [[nodiscard]] bool Shares() const { return rank_ < 2 * extra_; }
  // With whom the seat is shared.
  [[nodiscard]] int Partner() const { return rank_ ^ 1; }
  [[nodiscard]] int Seat() const { return Shares() ? rank_ / 2 : rank_ - extra_; }
  // Who sits there.
  [[nodiscard]] int MemberAt(int seat) const {
    return seat < extra_ ? 2 * seat + 1 : seat + extra_;
  }
  // The members of a seat: [first, end).
  [[nodiscard]] int FirstOf(int seat) const { return seat < extra_ ? 2 * seat : seat + extra_; }

 private:
  int rank_;
  int seats_;
  int extra_;
};

}  // namespace reprise
