// The numbers that a rank's trace uses, and what they become: dense, in the same order, so that
// whatever depends on their order stays as before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

// Old numbers in order; a number's new one is its place.
class DenseNumbers {
 public:
  void Note(std::int64_t number) {
    if (numbers_.empty() || numbers_.back() != number) {
      numbers_.push_back(number);
    }
    if (numbers_.size() >= limit_) {
      Seal();
    }
  }
  // Sorts and drops what is twice; before the first Of.
  void Seal();
  // -1 for what was not noted.
  [[nodiscard]] std::int64_t Of(std::int64_t number) const;

 private:
  static constexpr std::size_t kSmall = 1 << 16;
  std::vector<std::int64_t> numbers_;
  std::size_t limit_ = kSmall;
};

// What one reading of a rank's file yields. Memory: 16 bytes a node, 8 a storage.
struct RankRenaming {
  TraceMetadata metadata;
  Diagnostics diagnostics;  // the reader's: attributes that it does not know, and the like
  std::uint64_t nodes = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ids;  // old, place in the file; by old
  DenseNumbers incarnations, threads, streams, devices, correlations;

  // Bad input: the file can't be read, or was not written by Reprise (convert it first).
  static Result<RankRenaming> Read(const std::string& path);
  [[nodiscard]] std::optional<std::uint64_t> NewId(std::uint64_t old) const;
};

}  // namespace reprise
