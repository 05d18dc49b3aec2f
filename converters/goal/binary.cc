// The binary form, little-endian and packed:
//
//   u64 cookie | u32 ranks | u8 largest cpu | u8 largest nic | of each rank u64 begin, u64 end
//   of each rank: u32 operations | u32 roots | u32 root… | operation… | u32 successor…
//   operation: u32 waits for | u8 kind | u32 peer | u64 size | u32 tag | u8 cpu | u8 nic |
//              u32 successors | u32 first | u32 successors of its start | u32 first
//
// Begins and ends count from behind the cookie. A root waits for nothing.
#include <algorithm>
#include <bit>
#include <concepts>
#include <string>

#include "converters/goal/schedule.h"
#include "core/grouped.h"

namespace reprise::goal {
namespace {

constexpr std::uint64_t kCookie = 4223;
constexpr std::uint64_t kHeaderBytes = 6, kRankEntryBytes = 16;  // behind the cookie
constexpr std::uint64_t kOperationBytes = 39, kNumberBytes = 4;

class Bytes {
 public:
  template <std::unsigned_integral T>
  void Put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      text_.push_back(static_cast<char>(value >> (8 * i)));
    }
  }
  void WriteTo(std::ostream& out) {
    out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }
  [[nodiscard]] std::size_t size() const { return text_.size(); }

 private:
  std::string text_;
};

std::uint32_t Count32(std::size_t count) { return static_cast<std::uint32_t>(count); }

// How many others each operation waits for.
std::vector<std::uint32_t> WaitsOf(const RankSchedule& rank) {
  std::vector<std::uint32_t> waits(rank.operations.size(), 0);
  for (const Edge& edge : rank.edges) {
    ++waits[edge.waits];
  }
  return waits;
}

std::uint64_t SizeOf(const RankSchedule& rank) {
  const std::vector<std::uint32_t> waits = WaitsOf(rank);
  const auto roots = static_cast<std::uint64_t>(std::ranges::count(waits, 0U));
  return (2 + roots + rank.edges.size()) * kNumberBytes + rank.operations.size() * kOperationBytes;
}

void WriteRank(const RankSchedule& rank, std::ostream& out) {
  const std::vector<std::uint32_t> waits = WaitsOf(rank);
  const Grouped successors = GroupByKey(rank.operations.size(), [&](const auto& add) {
    for (const Edge& edge : rank.edges) {
      add(edge.on, edge.waits);
    }
  });
  Bytes bytes;
  bytes.Put(Count32(rank.operations.size()));
  bytes.Put(Count32(static_cast<std::size_t>(std::ranges::count(waits, 0U))));
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) {
      bytes.Put(i);
    }
  }
  for (std::size_t i = 0; i < rank.operations.size(); ++i) {
    const Operation& operation = rank.operations[i];
    bytes.Put(waits[i]);
    bytes.Put(static_cast<std::uint8_t>(operation.kind));
    bytes.Put(operation.peer);
    bytes.Put(operation.size);
    bytes.Put(operation.tag);
    bytes.Put(operation.cpu);
    bytes.Put(std::uint8_t{0});  // nic
    const auto own = successors.Of(i);
    const std::uint32_t first = successors.offset[i];
    bytes.Put(Count32(own.size()));
    bytes.Put(first);
    bytes.Put(std::uint32_t{0});  // nothing waits for a start
    bytes.Put(first + Count32(own.size()));
    constexpr std::size_t kPieceBytes = 1 << 16;
    if (bytes.size() >= kPieceBytes) {
      bytes.WriteTo(out);
    }
  }
  for (const std::uint32_t successor : successors.values) {
    bytes.Put(successor);
  }
  bytes.WriteTo(out);
}

}  // namespace

void WriteBinary(const RankSchedules& ranks, std::ostream& out) {
  std::uint8_t largest_cpu = 0;
  for (const RankSchedule& rank : ranks) {
    for (const Operation& operation : rank.operations) {
      largest_cpu = std::max(largest_cpu, operation.cpu);
    }
  }
  Bytes bytes;
  bytes.Put(kCookie);
  bytes.Put(Count32(ranks.size()));
  bytes.Put(largest_cpu);
  bytes.Put(std::uint8_t{0});  // largest nic
  std::uint64_t at = kHeaderBytes + kRankEntryBytes * ranks.size();
  for (const RankSchedule& rank : ranks) {
    bytes.Put(at);
    at += SizeOf(rank);
    bytes.Put(at);
  }
  bytes.WriteTo(out);
  for (const RankSchedule& rank : ranks) {
    WriteRank(rank, out);
  }
}

}  // namespace reprise::goal
