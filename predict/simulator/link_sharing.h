// Which transfers leave a domain at the same time and share its links, as the groups of a job
// imply: those of one kind of group, and all pairs of ranks.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "predict/simulator/network.h"

namespace reprise {

class LinkSharing {
 public:
  // Groups with the same number are alike: they transfer at the same time.
  static constexpr std::uint32_t kPairs = 0;

  explicit LinkSharing(const Network& network) : network_(network) {}

  // Each group once, and each pair (sender, receiver) once, before ShapeOf.
  void Add(std::span<const std::int32_t> members, std::uint32_t like);
  // With the sharers of every level.
  [[nodiscard]] GroupShape ShapeOf(std::span<const std::int32_t> members, std::uint32_t like) const;

  [[nodiscard]] const Network& network() const { return network_; }

 private:
  [[nodiscard]] static std::uint64_t Key(std::uint32_t like, std::size_t level,
                                         std::int64_t domain) {
    return (std::uint64_t{like} << 44U) | (std::uint64_t{level} << 40U) |
           static_cast<std::uint64_t>(domain);
  }
  [[nodiscard]] std::vector<std::int64_t> Domains(std::span<const std::int32_t> members,
                                                  std::size_t level, std::uint32_t like) const;

  const Network& network_;
  std::unordered_map<std::uint64_t, std::int64_t> leaving_;
};

}  // namespace reprise
