// Named counters of oddities that do not stop the program: nothing is lost silently.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise {

// Thread-safe. A counter's name is a stable identifier (`dangling_dependency`), shown to users and
// in JSON; examples are the first few occurrences, each with a file, offset or node id.
class Diagnostics {
 public:
  static constexpr std::size_t kMaxExamples = 5;

  struct Counter {
    std::uint64_t count = 0;
    std::vector<std::string> examples;
  };

  Diagnostics() = default;
  // What Snapshot gave.
  explicit Diagnostics(const std::map<std::string, Counter>& counters)
      : counters_(counters.begin(), counters.end()) {}
  Diagnostics(const Diagnostics& other) { *this = other; }
  Diagnostics& operator=(const Diagnostics& other);

  void Count(std::string_view name, std::string_view example = {}, std::uint64_t by = 1);
  // Adds the counters of another object, e.g. of one rank to those of the set.
  void Merge(const Diagnostics& other);
  [[nodiscard]] std::map<std::string, Counter> Snapshot() const;
  // Names and counts, without examples: what files store.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> Counts() const;
  [[nodiscard]] std::uint64_t CountOf(std::string_view name) const;
  [[nodiscard]] bool Empty() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Counter, std::less<>> counters_;
};

}  // namespace reprise
