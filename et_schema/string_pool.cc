#include "et_schema/string_pool.h"

#include <xxhash.h>

namespace reprise {
namespace {

constexpr std::size_t kFirstTable = 256;

}  // namespace

StringPool::Id StringPool::Intern(std::string_view text) {
  if ((ends_.size() + 1) * 4 > table_.size() * 3) {
    Grow();
  }
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = XXH3_64bits(text.data(), text.size()) & mask;
  for (; table_[slot] != 0; slot = (slot + 1) & mask) {
    if (Get(table_[slot] - 1) == text) {
      return table_[slot] - 1;
    }
  }
  bytes_ += text;
  ends_.push_back(bytes_.size());
  table_[slot] = static_cast<Id>(ends_.size());
  return static_cast<Id>(ends_.size() - 1);
}

void StringPool::Grow() {
  table_.assign(table_.empty() ? kFirstTable : table_.size() * 2, 0);
  const std::size_t mask = table_.size() - 1;
  for (Id id = 0; id < ends_.size(); ++id) {
    const std::string_view text = Get(id);
    std::size_t slot = XXH3_64bits(text.data(), text.size()) & mask;
    while (table_[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    table_[slot] = id + 1;
  }
}

std::size_t StringPool::MemoryBytes() const {
  return bytes_.capacity() + ends_.capacity() * sizeof(ends_[0]) + table_.capacity() * sizeof(Id);
}

void StringPool::Freeze() {
  bytes_.shrink_to_fit();
  ends_.shrink_to_fit();
  table_ = {};
}

}  // namespace reprise
