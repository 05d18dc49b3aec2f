#include "core/diagnostics.h"

#include "core/shown_text.h"

namespace reprise {

Diagnostics& Diagnostics::operator=(const Diagnostics& other) {
  if (this != &other) {
    auto snapshot = other.Snapshot();
    const std::lock_guard lock(mutex_);
    counters_.clear();
    counters_.insert(snapshot.begin(), snapshot.end());
  }
  return *this;
}

void Diagnostics::Count(std::string_view name, std::string_view example, std::uint64_t by) {
  const std::lock_guard lock(mutex_);
  auto it = counters_.find(name);
  if (it == counters_.end()) {
    it = counters_.emplace(std::string(name), Counter{}).first;
  }
  it->second.count += by;
  if (!example.empty() && it->second.examples.size() < kMaxExamples) {
    it->second.examples.push_back(ShownText(example));
  }
}

void Diagnostics::Merge(const Diagnostics& other) {
  for (const auto& [name, counter] : other.Snapshot()) {
    const std::lock_guard lock(mutex_);
    Counter& mine = counters_[name];
    mine.count += counter.count;
    for (const auto& example : counter.examples) {
      if (mine.examples.size() < kMaxExamples) {
        mine.examples.push_back(example);
      }
    }
  }
}

std::map<std::string, Diagnostics::Counter> Diagnostics::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return {counters_.begin(), counters_.end()};
}

std::vector<std::pair<std::string, std::uint64_t>> Diagnostics::Counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (const auto& [name, counter] : counters_) {
    counts.emplace_back(name, counter.count);
  }
  return counts;
}

std::uint64_t Diagnostics::CountOf(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = counters_.find(name);
  return it == counters_.end() ? 0 : it->second.count;
}

bool Diagnostics::Empty() const {
  const std::lock_guard lock(mutex_);
  return counters_.empty();
}

}  // namespace reprise
