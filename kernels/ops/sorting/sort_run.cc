#include "kernels/ops/sorting/sort_run.h"

#include <algorithm>
#include <array>
#include <utility>

namespace reprise {
namespace {

constexpr std::int64_t kRun = 32;  // RUN of sort.cl
// Shorter lines are sorted sooner by comparing.
constexpr std::size_t kFewItems = 128;
constexpr std::size_t kDigits = 256;

template <typename Key>
bool Before(const SortItem<Key>& a, const SortItem<Key>& b) {
  return a.key != b.key ? a.key < b.key : a.index < b.index;
}

// Digit by digit from the lowest, stable; digits that all keys share (the high ones of small
// integers) are passed over.
template <typename Key>
void RadixSort(std::vector<SortItem<Key>>& items) {
  std::vector<SortItem<Key>> other(items.size());
  for (unsigned shift = 0; shift < 8 * sizeof(Key); shift += 8) {
    std::array<std::uint32_t, kDigits> at = {};
    for (const SortItem<Key>& item : items) {
      ++at[(item.key >> shift) % kDigits];
    }
    if (at[(items[0].key >> shift) % kDigits] == items.size()) {
      continue;
    }
    std::uint32_t sum = 0;
    for (std::uint32_t& first : at) {
      sum += std::exchange(first, sum);
    }
    for (const SortItem<Key>& item : items) {
      other[at[(item.key >> shift) % kDigits]++] = item;
    }
    items.swap(other);
  }
}

template <typename Key>
void SortFirst(std::vector<SortItem<Key>>& items, std::int64_t k) {
  const auto first = items.begin() + std::min<std::int64_t>(k, std::ssize(items));
  if (items.size() > kFewItems && k > std::ssize(items) / 8) {
    RadixSort(items);
    return;
  }
  if (first != items.end()) {
    std::nth_element(items.begin(), first, items.end(), Before<Key>);
  }
  std::sort(items.begin(), first, Before<Key>);
}

}  // namespace

void SortItems(std::vector<SortItem<std::uint32_t>>& items, std::int64_t k) { SortFirst(items, k); }
void SortItems(std::vector<SortItem<std::uint64_t>>& items, std::int64_t k) { SortFirst(items, k); }

void AppendSort(RowLowering& rows, const SortJob& job) {
  const std::int64_t count = job.lines * job.n;
  const bool cpu = rows.device().is_cpu;
  const std::int64_t key =  // a CPU's are of the size of what it computes in
      SizeOf(cpu ? AccumulatorOf(job.dtype) : job.dtype);
  std::array<DenseOperand, 2> keys;
  std::array<DenseOperand, 2> indices;
  for (std::size_t side = 0; side < 2; ++side) {
    keys[side] = rows.Scratch(count * key);
    indices[side] = rows.Scratch(count * (cpu ? 4 : SizeOf(DType::kInt64)));
  }
  const DenseOperand values = job.want_values ? job.values : keys[0];  // not touched if not wanted
  if (cpu) {
    rows.LaunchRows("radix_sort", job.lines, static_cast<double>(job.n), job.x, keys[0], keys[1],
                    indices[0], indices[1], values, job.indices, job.lines, job.n, job.k,
                    job.descending, job.want_values);
    return;
  }
  rows.LaunchItems("sort_runs", job.lines * ((job.n + kRun - 1) / kRun), job.x, keys[0], indices[0],
                   job.lines, job.n, job.descending);
  std::size_t now = 0;
  for (std::int64_t width = kRun; width < job.n; width *= 2) {
    rows.LaunchItems("merge_runs", count, keys[now], indices[now], keys[1 - now], indices[1 - now],
                     job.lines, job.n, width, job.descending);
    now = 1 - now;
  }
  rows.LaunchItems("take_first", job.lines * job.k, keys[now], indices[now], values, job.indices,
                   job.lines, job.n, job.k, job.want_values);
}

}  // namespace reprise
