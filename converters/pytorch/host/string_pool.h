// Names and schemas repeat a hundred thousand times: one copy each.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

namespace reprise::pytorch {

// Thread-safe; strings stay where they are for the life of the pool.
class StringPool {
 public:
  const std::string* Intern(std::string_view text) {
    Shard& shard = shards_[std::hash<std::string_view>()(text) % shards_.size()];
    const std::scoped_lock lock(shard.mutex);
    const auto known = shard.strings.find(text);
    return &*(known != shard.strings.end() ? known : shard.strings.emplace(text).first);
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_set<std::string, Hash, std::equal_to<>> strings;
  };
  // A prime, so that a shard's strings spread over all of its set's buckets.
  std::array<Shard, 61> shards_;
};

// One thread's way to a pool: most strings come many times within a batch, and are looked up in a
// small table first. Not thread-safe.
class BatchStrings {
 public:
  explicit BatchStrings(StringPool& pool) : pool_(pool) {}
  const std::string* Intern(std::string_view text) {
    const std::string*& known = known_[PlaceOf(text)];
    if (known == nullptr || *known != text) {
      known = pool_.Intern(text);
    }
    return known;
  }

 private:
  static constexpr int kPlaceBits = 12;

  // Of the length, the first, the middle and the last bytes: schemas differ in their names.
  static std::size_t PlaceOf(std::string_view text) {
    std::uint64_t first = 0;
    std::uint64_t middle = 0;
    std::uint64_t last = 0;
    if (text.size() >= sizeof(first)) {
      std::memcpy(&first, text.data(), sizeof(first));
      std::memcpy(&middle, text.data() + (text.size() - sizeof(middle)) / 2, sizeof(middle));
      std::memcpy(&last, text.data() + text.size() - sizeof(last), sizeof(last));
    } else if (!text.empty()) {
      std::memcpy(&first, text.data(), text.size());
    }
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
    std::uint64_t hash = (text.size() ^ first) * kOdd;
    hash = ((hash >> 32) ^ hash ^ middle) * kOdd;
    hash = ((hash >> 32) ^ hash ^ last) * kOdd;
    return hash >> (64 - kPlaceBits);
  }

  StringPool& pool_;
  std::array<const std::string*, std::size_t{1} << kPlaceBits> known_{};
};

}  // namespace reprise::pytorch
