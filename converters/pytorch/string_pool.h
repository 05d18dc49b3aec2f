// Names and schemas repeat a hundred thousand times: one copy each.
#pragma once

#include <oneapi/tbb/concurrent_unordered_set.h>

#include <string>
#include <string_view>

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

}  // namespace reprise::pytorch
