// Ids to places in a list. PyTorch numbers nodes, tensors and storages from one counter, so that
// ids are a few times as high as there are nodes: a table then, and a hash map where they are not,
// and for what is far above (storages were addresses in older versions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace reprise::pytorch {

class IdIndex {
 public:
  static constexpr std::int32_t kNone = -1;

  // Of about `count` ids, most of them not above `highest`.
  IdIndex(std::uint64_t highest, std::size_t count) {
    constexpr std::uint64_t kMaxPerId = 12;  // about what an entry of the map costs
    if (highest / kMaxPerId < count) {
      table_.assign(static_cast<std::size_t>(highest) + 1, kNone);
    } else {
      map_.reserve(count);
    }
  }

  // False: the id is there already, and keeps its place.
  bool Insert(std::uint64_t id, std::int32_t place) {
    if (id >= table_.size()) {
      return map_.emplace(id, place).second;
    }
    std::int32_t& at = table_[static_cast<std::size_t>(id)];
    const bool fresh = at == kNone;
    at = fresh ? place : at;
    return fresh;
  }

  // kNone: not there.
  [[nodiscard]] std::int32_t Find(std::uint64_t id) const {
    if (id < table_.size()) {
      return table_[static_cast<std::size_t>(id)];
    }
    const auto at = map_.find(id);
    return at == map_.end() ? kNone : at->second;
  }

 private:
  std::vector<std::int32_t> table_;
  std::unordered_map<std::uint64_t, std::int32_t> map_;
};

}  // namespace reprise::pytorch
