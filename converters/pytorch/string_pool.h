// Names and schemas repeat a hundred thousand times: one copy each.
#pragma once

#include <oneapi/tbb/concurrent_unordered_set.h>

#include <string>
#include <string_view>
#include <unordered_map>

namespace reprise::pytorch {

// Thread-safe; strings stay where they are for the life of the pool.
class StringPool {
 public:
  const std::string* Intern(std::string_view text) {
    return &*strings_.emplace(std::string(text)).first;
  }

 private:
  oneapi::tbb::concurrent_unordered_set<std::string> strings_;
};

// One thread's way to a pool: most strings of a batch are there many times. Not thread-safe.
class BatchStrings {
 public:
  explicit BatchStrings(StringPool& pool) : pool_(pool) {}
  const std::string* Intern(std::string_view text) {
    const auto known = known_.find(text);
    if (known != known_.end()) {
      return known->second;
    }
    const std::string* const interned = pool_.Intern(text);
    return known_.emplace(*interned, interned).first->second;
  }

 private:
  StringPool& pool_;
  std::unordered_map<std::string_view, const std::string*> known_;
};

}  // namespace reprise::pytorch
