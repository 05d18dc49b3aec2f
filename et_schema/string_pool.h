// Interned strings: each distinct one is kept once and has a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

class StringPool {
 public:
  using Id = std::uint32_t;
  // Number 0 is the empty string.
  StringPool() { Intern({}); }
  Id Intern(std::string_view text);
  [[nodiscard]] std::string_view Get(Id id) const {
    const std::uint64_t begin = id == 0 ? 0 : ends_[id - 1];
    return {bytes_.data() + begin, static_cast<std::size_t>(ends_[id] - begin)};
  }
  // All strings one after the other, and where each ends.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<std::uint64_t>& ends() const { return ends_; }
  [[nodiscard]] std::size_t MemoryBytes() const;
  // Gives back what only Intern needs and what was reserved too much.
  void Freeze();

 private:
  void Grow();

  std::string bytes_;
  std::vector<std::uint64_t> ends_;
  std::vector<Id> table_;  // open addressing; Id + 1, 0: free
};

}  // namespace reprise
