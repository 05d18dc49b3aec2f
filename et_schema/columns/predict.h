// What a number of a column is expected to be, from what is known before it. Only et_schema/columns
// sees this.
#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/columns/block.h"

namespace reprise::columns {

// The values of a column that stand in a message. Asked for messages in ascending order.
class Beside {
 public:
  Beside() = default;
  explicit Beside(const Column* column) : column_(column) {}
  // The k-th value of `message`, or its last one; false: it has none.
  [[nodiscard]] bool At(std::uint32_t message, std::size_t k, std::uint64_t& value);
  // The indices of the values of `message`, [begin, end).
  void Find(std::uint32_t message);
  [[nodiscard]] std::size_t begin() const { return begin_; }
  [[nodiscard]] std::size_t end() const { return end_; }
  [[nodiscard]] const Column* column() const { return column_; }

 private:
  const Column* column_ = nullptr;
  std::size_t begin_ = 0, end_ = 0;
};

// A number for each of some keys, the latest ones: where two keys share a slot, the older is lost,
// and a prediction with it; so no choice of keys makes this slow.
class Lookup {
 public:
  explicit Lookup(std::size_t keys);
  void Set(std::uint64_t key, std::uint64_t value);
  [[nodiscard]] bool Get(std::uint64_t key, std::uint64_t& value) const;

 private:
  struct Slot {
    std::uint64_t key = 0, value = 0;
    bool used = false;
  };
  [[nodiscard]] std::size_t At(std::uint64_t key) const;
  std::vector<Slot> slots_;
  int bits_;
};

// Walks through a column once. Its plan's columns come before it; its own values must be right up
// to the one asked for.
class Predictor {
 public:
  // `size`: how many values will be asked for, at most.
  Predictor(const Block& block, const Column& column, std::size_t size);
  // Of value `i`; once for each, in order.
  [[nodiscard]] std::uint64_t Predict(std::size_t i);
  // Of value `i`, after Predict(i).
  [[nodiscard]] std::uint64_t Context() const { return context_; }
  // After value `i` is known.
  void Learn(std::size_t i);

 private:
  [[nodiscard]] std::uint64_t LatestEnd(std::size_t i);
  // Learns the ids of all messages before the current one, by actor.
  void CatchUp();
  [[nodiscard]] std::uint64_t Actor(std::uint32_t message);
  const Column& column_;
  std::uint32_t message_ = UINT32_MAX;
  std::size_t k_ = 0;  // which value of its message
  std::uint64_t context_ = 0;
  Beside context_beside_, reference_, id_, deps_, duration_, delay_, stream_, thread_;
  std::uint32_t caught_up_ = 0;
  Lookup latest_;  // by context, actor or id
};

}  // namespace reprise::columns
