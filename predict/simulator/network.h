// What a transfer between devices of a machine takes: latency and bandwidth by collective,
// algorithm, protocol and level. Pure; each transfer is looked at alone.
//
// A transfer's bytes S are those that algbw counts (core/comm.h, AlgorithmBytes), n are its
// members. A level l joins domains; d_l of them hold members (d_0 = n), at most k_l members each.
// B_l is the bandwidth out of one domain into level l, α_l the latency of one message there:
//
//   ring        all_reduce      start + 2 Σ steps_l α_l + 2 (n−1)/n · S / min B_l
//               all_gather, reduce_scatter                half of the two terms
//               broadcast, reduce  start + Σ steps_l (α_l + c / B) + (S − c) / B, c = min(chunk, S)
//   tree        all_reduce      start + 2 Σ depth_l (α_l + c / B_l) + 2 (S − c) / min B_l
//   direct      all_to_all, gather, scatter  start + α_top + max volume_l / B_l
//               send, recv      start + α_top + S / min B_l
//   in-switch   all_reduce      start + α_sum + S / B_sum, where the switches of the innermost link
//               add (NVLink SHARP) and it joins all members; not of integers of 8 bits
//
// steps_l = d_l − d_(l+1), at the top d − 1; depth_0 = steps within the fullest node, depth_l =
// log2 of the domains. These are the terms of NCCL's own model (NCCL 2.10 src/graph/tuning.cc), for
// any number of levels. The protocol for short messages has other latencies and a part of the
// bandwidth, and may have another start, as the exchanges may; of algorithms and protocols the
// fastest is taken, as NCCL does.
//
// A member's own share, S / n, crosses no link, but is moved all the same: where the machine has a
// number c for it, c · S / n / B_0 is added to rings and exchanges (of a reduction once).
//
// Which links: inside a node a message crosses one level only, the one that joins both ends (the
// links of a package do not lie on the way to another package). Outside it leaves by the node's
// adapters, and crosses every level of the network up to the one that joins both ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/result.h"
#include "predict/machine/machine.h"

namespace reprise {

// Which transfers share links.
enum class NetworkModel : std::uint8_t {
  kAlphaBeta,  // those that a job's groups imply, whenever they run; each time is a closed form
  kFlow,       // those that run at the same time, as they come and go; max-min fair
};

// Of --link: all links of the machine, unless one is called so.
inline constexpr std::string_view kAllLinks = "all";

// "--link NAME[@DOMAIN]=F": a link's bandwidth times F; DOMAIN: only of that domain of the level
// below (of a node's adapters: the node's number). "all=F": of all links of the machine.
struct SlowLink {
  std::string name;
  std::int64_t domain = -1;
  double factor = 1;
};
[[nodiscard]] Result<SlowLink> ParseSlowLink(const std::string& text);
// A group's place on a machine, as far as the time of a collective depends on it.
struct LevelShape {
  std::int64_t domains = 0;  // of the level below, with members; level 0: members
  std::int64_t most = 0;     // members in one of them
  double slowest = 1;        // factor of the slowest of their links
  // How many transfers like this one leave such a domain at the same time, and share its links.
  double sharers = 1;
};
struct GroupShape {
  std::int64_t members = 0;
  std::vector<LevelShape> levels;  // up to the level that joins all members; one member: none
};

enum class TransferAlgorithm : std::uint8_t { kNone, kRing, kTree, kDirect, kInSwitch };
[[nodiscard]] std::string_view Name(TransferAlgorithm algorithm);

struct TransferTime {
  std::int64_t ns = 0;
  TransferAlgorithm algorithm = TransferAlgorithm::kNone;
  bool short_protocol = false;
  std::size_t level = 0;  // whose bandwidth bounds it
  double data_ns = 0;     // of `ns`, unrounded: what the bandwidth decides; latencies come first
};

class Network {
 public:
  // Rank r is on device r. Bad input: fewer devices than ranks, no link that joins them. Usage
  // error: a slow link that the machine lacks.
  static Result<Network> Create(const MachineModel& machine, std::int64_t ranks,
                                std::span<const SlowLink> slow = {});

  // `devices`: of a group's members, in any order. Sharers: all devices of a domain are taken to
  // belong to groups like this one, as far as the job has ranks there.
  [[nodiscard]] GroupShape ShapeOf(std::span<const std::int32_t> devices) const;

  // `dtype`: of the elements, where it is known; it decides only what switches can add.
  [[nodiscard]] TransferTime TimeOf(CommKind kind, double bytes, const GroupShape& shape,
                                    DType dtype = DType::kUnknown) const;

  [[nodiscard]] const MachineModel& machine() const { return machine_; }
  [[nodiscard]] std::size_t levels() const { return machine_.links.size(); }
  // Of a device, its domain of the level below `level`.
  [[nodiscard]] std::int64_t DomainOf(std::int64_t device, std::size_t level) const {
    return device / machine_.DomainDevices(level);
  }
  // The level that joins two devices.
  [[nodiscard]] std::size_t LevelOf(std::int64_t a, std::int64_t b) const;
  // Whether the level joins devices of one node.
  [[nodiscard]] bool InNode(std::size_t level) const;
  // The levels that a message crosses whose ends `level` joins: [first, level].
  [[nodiscard]] std::size_t FirstCrossed(std::size_t level) const;
  // Out of one domain into the level, one way, with all its devices sending; after efficiency and
  // slow links.
  [[nodiscard]] double Capacity(std::size_t level, std::int64_t domain) const;
  // Whether every device has an adapter of its own into a level that joins domains of several.
  [[nodiscard]] bool HasAdapters(std::size_t level) const;
  // One way, of one device's adapter; after efficiency and slow links.
  [[nodiscard]] double AdapterCapacity(std::size_t level, std::int64_t device) const;
  [[nodiscard]] bool HasSlowLink(std::size_t level) const { return !factors_[level].empty(); }
  // The product of the --link factors of a domain.
  [[nodiscard]] double FactorOf(std::size_t level, std::int64_t domain) const;

 private:
  Network(const MachineModel& machine, std::int64_t ranks);

  // B_l of the header's formulas.
  [[nodiscard]] double GroupBandwidth(const GroupShape& shape, std::size_t level,
                                      std::int64_t senders) const;
  [[nodiscard]] double Latency(std::size_t level, bool short_protocol) const;
  [[nodiscard]] double Start(bool short_protocol, bool exchange = false) const;
  // Of the bandwidth, what the protocol reaches.
  [[nodiscard]] double Part(bool short_protocol, bool exchange = false) const;
  // What a member's own share takes; 0 where the machine has no number for it.
  [[nodiscard]] double OwnShareNs(double bytes, const GroupShape& shape, double part) const;
  [[nodiscard]] bool HasShortProtocol(const GroupShape& shape) const;

  [[nodiscard]] TransferTime Ring(CommKind kind, double bytes, const GroupShape& shape,
                                  bool short_protocol) const;
  [[nodiscard]] TransferTime Tree(double bytes, const GroupShape& shape, bool short_protocol) const;
  [[nodiscard]] bool SwitchesAdd(const GroupShape& shape, DType dtype) const;
  [[nodiscard]] TransferTime InSwitch(double bytes, const GroupShape& shape) const;
  [[nodiscard]] TransferTime Direct(CommKind kind, double bytes, const GroupShape& shape,
                                    bool short_protocol) const;
  [[nodiscard]] std::pair<double, std::size_t> Narrowest(const GroupShape& shape,
                                                         bool short_protocol) const;

  MachineModel machine_;
  std::int64_t ranks_ = 0;
  std::vector<std::vector<std::pair<std::int64_t, double>>> factors_;  // by level: domain, factor
};

}  // namespace reprise
