// Which transfers leave a domain at the same time and share its links, as the groups of a job
// imply: those of one kind of group, and all pairs of ranks.
#pragma once

#include <cstddef>
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

  // Domains of the first `devices` are counted in vectors: of a job, which has all of them. Those
  // of a set may be any.
  explicit LinkSharing(const Network& network, std::size_t devices = 0)
      : network_(network), devices_(static_cast<std::int64_t>(devices)) {}

  // Each group once, and each pair (sender, receiver) once, before ShapeOf.
  void Add(std::span<const std::int32_t> members, std::uint32_t like);
  // With the sharers of every level.
  [[nodiscard]] GroupShape ShapeOf(std::span<const std::int32_t> members, std::uint32_t like) const;

  [[nodiscard]] const Network& network() const { return network_; }

 private:
  [[nodiscard]] std::vector<std::int64_t> Domains(std::span<const std::int32_t> members,
                                                  std::size_t level, std::uint32_t like) const;

  // Of domains beyond those of devices_.
  [[nodiscard]] static std::uint64_t Key(std::uint32_t like, std::size_t level,
                                         std::int64_t domain) {
    return (std::uint64_t{like} << 44U) | (std::uint64_t{level} << 40U) |
           static_cast<std::uint64_t>(domain);
  }
  void Count(std::uint32_t like, std::size_t level, std::int64_t domain);
  // 0: none was counted.
  [[nodiscard]] std::int64_t Counted(std::uint32_t like, std::size_t level,
                                     std::int64_t domain) const;

  const Network& network_;
  std::int64_t devices_;
  // How many transfers leave each domain.
  std::vector<std::vector<std::vector<std::uint32_t>>> leaving_;  // by kind of group, level, domain
  std::unordered_map<std::uint64_t, std::int64_t> leaving_beyond_;
};

}  // namespace reprise
