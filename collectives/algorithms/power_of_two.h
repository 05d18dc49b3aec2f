// Recursive algorithms pair members by the bits of their numbers and need a power of two of them.
// Each extra member shares a seat with a neighbour: of the first 2 x extra members, an even one
// sends its data to the odd one after it before the algorithm runs, and receives the result
// afterwards.
#pragma once

#include <bit>

#include "collectives/algorithms/algorithm.h"

namespace reprise {

class PowerOfTwoGroup {
 public:
  PowerOfTwoGroup(int rank, int size)
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
  // The member that holds the seat.
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
