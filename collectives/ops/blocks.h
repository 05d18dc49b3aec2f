// Filling and checking block by block, as most kinds do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/communicator.h"
#include "collectives/layout.h"
#include "collectives/pattern.h"

namespace reprise {

// The layout, or nothing where the spec contradicts itself: such a transfer never starts, so its
// input is left alone and its output counts as wrong.
struct CheckedLayout {
  TransferLayout layout;
  bool valid = false;
  CheckedLayout(const CommSpec& spec, const GroupPlace& place) {
    if (auto result = LayoutOf(spec, place)) {
      layout = std::move(*result);
      valid = true;
    }
  }
  // Bytes of member i's block.
  [[nodiscard]] std::int64_t InBlock(int i) const { return Block(layout.in_blocks, i); }
  [[nodiscard]] std::int64_t OutBlock(int i) const { return Block(layout.out_blocks, i); }

 private:
  [[nodiscard]] std::int64_t Block(const std::vector<std::int64_t>& blocks, int i) const {
    return blocks.empty() ? layout.block_bytes : blocks[static_cast<std::size_t>(i)];
  }
};

inline CheckResult InvalidSpec() {
  return {.wrong = 1, .first = "the sizes contradict each other"};
}

// Cuts consecutive blocks off a buffer; false (and nothing) once it is too short.
template <typename Byte>
class BlockCursor {
 public:
  explicit BlockCursor(std::span<Byte> data) : data_(data) {}
  [[nodiscard]] std::span<Byte> Next(std::int64_t bytes) {
    const auto wanted = std::min(static_cast<std::size_t>(bytes), data_.size());
    short_by_ += bytes - static_cast<std::int64_t>(wanted);
    const std::span<Byte> block = data_.first(wanted);
    data_ = data_.subspan(wanted);
    return block;
  }
  // Bytes asked for beyond the buffer's end.
  [[nodiscard]] std::int64_t short_by() const { return short_by_; }

 private:
  std::span<Byte> data_;
  std::int64_t short_by_ = 0;
};

// Adds the elements that a too short buffer cannot hold.
inline void CountMissing(std::int64_t short_by, int element_bytes, CheckResult& result) {
  if (short_by > 0) {
    if (result.wrong == 0) {
      result.first = "the buffer ends too early";
    }
    result.wrong += (short_by + element_bytes - 1) / element_bytes;
  }
}

// One block that must hold `values`.
inline CheckResult CheckWhole(const CommSpec& spec, const TransferLayout& layout,
                              const PatternValues& values, std::int64_t phase, std::int64_t bytes,
                              std::span<const std::byte> out) {
  CheckResult result;
  BlockCursor<const std::byte> cursor(out);
  CheckPattern(spec.dtype, values, phase, 0, cursor.Next(bytes), result);
  CountMissing(cursor.short_by(), layout.element_bytes, result);
  return result;
}

// A block from every member: `values_of(source)` returns its values.
template <typename ValuesOf>
CheckResult CheckBlocks(const CommSpec& spec, const CheckedLayout& checked, int size,
                        std::span<const std::byte> out, ValuesOf values_of) {
  CheckResult result;
  BlockCursor<const std::byte> cursor(out);
  std::int64_t first_index = 0;
  for (int source = 0; source < size; ++source) {
    const std::int64_t bytes = checked.OutBlock(source);
    CheckPattern(spec.dtype, values_of(source), 0, first_index, cursor.Next(bytes), result);
    first_index += bytes / checked.layout.element_bytes;
  }
  CountMissing(cursor.short_by(), checked.layout.element_bytes, result);
  return result;
}

// A block for every member: `values_for(destination)` returns its values.
template <typename ValuesFor>
void FillBlocks(const CommSpec& spec, const CheckedLayout& checked, int size,
                std::span<std::byte> in, ValuesFor values_for) {
  BlockCursor<std::byte> cursor(in);
  for (int destination = 0; destination < size; ++destination) {
    WritePattern(spec.dtype, values_for(destination), 0, cursor.Next(checked.InBlock(destination)));
  }
}

}  // namespace reprise
