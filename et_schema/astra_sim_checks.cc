#include "et_schema/astra_sim_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "core/for_each_read.h"
#include "core/input_file.h"
#include "core/parse_json.h"
#include "core/text.h"
#include "et_schema/message_reader.h"
#include "et_schema/raw_node.h"

namespace reprise {
namespace {

constexpr std::int64_t kChunks = 4;
constexpr std::int64_t kFirstNodeBytes = 1 << 14;  // a nanosecond's on the fastest memory
constexpr std::int32_t kHighestGroupId = 2147;     // times a million, in 32 bits

// In the order of CollectiveCommType.
enum class Simulated : std::uint8_t { kYes, kReplayed, kNo };
struct CollectiveRow {
  std::string_view name;
  Simulated simulated;
};
constexpr std::array<CollectiveRow, 10> kCollectives = {{{"ALL_REDUCE", Simulated::kYes},
                                                         {"REDUCE", Simulated::kNo},
                                                         {"ALL_GATHER", Simulated::kYes},
                                                         {"GATHER", Simulated::kNo},
                                                         {"SCATTER", Simulated::kNo},
                                                         {"BROADCAST", Simulated::kReplayed},
                                                         {"ALL_TO_ALL", Simulated::kYes},
                                                         {"REDUCE_SCATTER", Simulated::kYes},
                                                         {"REDUCE_SCATTER_BLOCK", Simulated::kNo},
                                                         {"BARRIER", Simulated::kNo}}};

// Findings of one rule are one line.
class Rules {
 public:
  void Add(const std::string& rule, const std::string& place) {
    auto& [count, first] = found_[rule];
    if (count++ == 0) {
      first = place;
      order_.push_back(rule);
    }
  }
  [[nodiscard]] std::vector<std::string> Lines() const {
    std::vector<std::string> out;
    for (const std::string& rule : order_) {
      const auto& [count, first] = found_.at(rule);
      out.push_back(count == 1 ? fmt::format("{}: {}", rule, first)
                               : fmt::format("{} ({} times): {}", rule, count, first));
    }
    return out;
  }

 private:
  std::map<std::string, std::pair<std::uint64_t, std::string>> found_;
  std::vector<std::string> order_;
};

struct SeenCollective {
  std::int64_t type = 0, bytes = 0;
  std::int32_t rank = 0;
  std::uint64_t id = 0;
  std::uint64_t after = 0;  // of all ranks: collectives of other groups before it
};
using P2pKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

class AstraSimChecker {
 public:
  explicit AstraSimChecker(const TraceSet& set) : set_(set) {}

  Result<ReaderFindings> Run() {
    CheckSet();
    REPRISE_TRY(CheckGroups());
    for (const auto& [rank, file] : set_.RankPaths()) {
      rank_ = rank;
      REPRISE_TRY(CheckAstraFile(file));
    }
    CheckCollectives();
    CheckMessages();
    CheckTimes();
    return ReaderFindings{errors_.Lines(), warnings_.Lines()};
  }

 private:
  void CheckSet() {
    if (set_.world_size < 2) {
      errors_.Add("it simulates networks of at least two ranks", set_.directory);
    }
    if (const std::string missing = set_.MissingRanks(); !missing.empty()) {
      errors_.Add("it needs the files of all ranks", missing);
    }
    for (const auto& [rank, file] : set_.RankPaths()) {
      if (!file.ends_with(".et")) {
        errors_.Add("it does not read compressed files", file);
      }
    }
  }

  // comm_groups.json alone: it has no other file.
  Status CheckGroups() {
    REPRISE_TRY(ReadGroupsFile());
    for (const auto& [id, ranks] : groups_) {
      const std::int32_t number = ParseNumber<std::int32_t>(id).value_or(0);
      if (number < 1 || number > kHighestGroupId) {
        errors_.Add(
            fmt::format("ids of process groups are whole numbers from 1 to {}", kHighestGroupId),
            fmt::format("group '{}'", id));
      }
      for (const std::int32_t member : ranks) {
        if (member < 0 || member >= set_.world_size) {
          errors_.Add("a process group has a rank that the set lacks",
                      fmt::format("group '{}', rank {}", id, member));
        }
      }
    }
    return {};
  }

  Status ReadGroupsFile() {
    const auto path = std::filesystem::path(set_.directory) / kGroupsFile;
    if (std::error_code error; !std::filesystem::exists(path, error)) {
      return {};  // a set without groups needs none
    }
    REPRISE_ASSIGN(const std::string text, ReadJsonText(path.string()));
    try {
      groups_ = ParseJson<nlohmann::json>(text).get<decltype(groups_)>();
    } catch (const nlohmann::json::exception& error) {
      return BadInput(
          fmt::format("{}: expected {{\"<group>\": [ranks…]}}: {}", path.string(), error.what()));
    }
    return {};
  }

  Status CheckAstraFile(const std::string& file) {
    REPRISE_ASSIGN(MessageReader messages, MessageReader::Open(file));
    std::string_view message;
    REPRISE_TRY(messages.Next(message));  // the header
    std::unordered_set<std::uint64_t> ids;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> deps;
    REPRISE_TRY(ForEachRead<std::string_view>(messages, [&](std::string_view bytes) -> Status {
      if (!node_.Parse(bytes)) {
        return BadInput(
            fmt::format("{}: the message at byte {} is no Node", file, messages.offset()));
      }
      ids.insert(node_.id);
      for (const auto* list : {&node_.data_deps, &node_.ctrl_deps}) {
        for (const std::uint64_t dep : *list) {
          deps.emplace_back(node_.id, dep);
        }
      }
      CheckAstraNode();
      return {};
    }));
    for (const auto& [node, dep] : deps) {
      if (!ids.contains(dep)) {
        errors_.Add("a dependency on a node that is not there never ends",
                    fmt::format("rank {}: node {} waits for {}", rank_, node, dep));
      }
    }
    return {};
  }

  void CheckAstraNode() {
    const auto type = static_cast<NodeType>(node_.type);
    const bool on_cpu = node_.Number(Attribute::kIsCpuOp, 0) != 0;
    switch (type) {
      case NodeType::kComp:
        comp_nodes_ += 1;
        cpu_nodes_ += on_cpu ? 1 : 0;
        if (!on_cpu) {
          const bool some = node_.Number(Attribute::kNumOps, 0) > 0 &&
                            node_.Number(Attribute::kTensorSize, 0) > 0;
          without_cost_ += some ? 0 : 1;
          if (some && node_.data_deps.empty() &&
              node_.Number(Attribute::kTensorSize, 0) < kFirstNodeBytes) {
            Warn("its roofline mode stops at a first node of less than a nanosecond");
          }
          unknown_cost_ += node_.Number(Attribute::kCostKnown, 1) != 0 ? 0 : 1;
        }
        break;
      case NodeType::kMemLoad:
      case NodeType::kMemStore:
        if (node_.Number(Attribute::kTensorSize, 0) <= 0) {
          Error("a memory node without tensor_size");
        }
        Warn("memory nodes need a remote memory in its configuration");
        break;
      case NodeType::kCommColl:
        CheckCollective();
        break;
      case NodeType::kCommSend:
      case NodeType::kCommRecv:
        CheckMessage(type == NodeType::kCommSend);
        break;
      case NodeType::kMetadata:
        Error("it stops at METADATA nodes");
        break;
      default:
        Error(IsStorage(type) ? "what waits for a storage, batch or checkpoint node never starts"
                              : "what waits for an INVALID node may never start");
    }
    if (IsTransfer(type) && on_cpu) {
      Error("it refuses transfers with is_cpu_op");
    }
    delay_ns_ += std::max<std::int64_t>(node_.Number(Attribute::kDelayNs, 0), 0);
    duration_us_ += static_cast<double>(node_.duration_micros);
  }

  void CheckCollective() {
    const std::int64_t type = node_.Number(Attribute::kCommType, -1);
    if (type < 0 || type >= static_cast<std::int64_t>(kCollectives.size())) {
      return Error("a collective without comm_type, or with one that Chakra does not have");
    }
    const CollectiveRow& row = kCollectives.at(static_cast<std::size_t>(type));
    if (row.simulated == Simulated::kNo) {
      Error(fmt::format("it simulates no {} (replay mode aside)", row.name));
    } else if (row.simulated == Simulated::kReplayed) {
      Warn(fmt::format("a {} takes its recorded time, and its ranks do not wait for each other",
                       row.name));
    }
    if (!node_.Has(Attribute::kCommSize)) {
      return Error("a collective without comm_size");
    }
    const std::int64_t bytes = node_.Number(Attribute::kCommSize, 0);
    if (row.name == "ALL_GATHER" && bytes < kChunks) {
      Error(fmt::format("an all_gather of fewer than {} bytes never ends", kChunks));
    }
    const std::string group(node_.Text(Attribute::kPgName));
    const bool world = group.empty() || group == "0";
    if (!world) {
      if (const std::string fault = GroupFault(group); !fault.empty()) {
        return Error(fault);
      }
      ++in_groups_[rank_];
    }
    collectives_[world ? "0" : group][rank_].push_back(
        {type, bytes, rank_, node_.id, world ? in_groups_[rank_] : 0});
  }

  // Why this rank's collective is not valid in the group; empty if it is.
  [[nodiscard]] std::string GroupFault(const std::string& group) const {
    const auto found = groups_.find(group);
    if (found == groups_.end()) {
      return fmt::format("comm_groups.json has no group '{}'", group);
    }
    const std::vector<std::int32_t>& ranks = found->second;
    if (std::find(ranks.begin(), ranks.end(), rank_) == ranks.end()) {
      return fmt::format("a collective in group '{}' on a rank that is no member", group);
    }
    return ranks.size() < 2 ? fmt::format("a collective of one rank never ends (group '{}')", group)
                            : "";
  }

  void CheckMessage(bool send) {
    const Attribute other = send ? Attribute::kCommDst : Attribute::kCommSrc;
    const Attribute own = send ? Attribute::kCommSrc : Attribute::kCommDst;
    if (!node_.Has(other) || !node_.Has(Attribute::kCommTag) || !node_.Has(Attribute::kCommSize)) {
      return Error("a send or receive without one of comm_src, comm_dst, comm_tag, comm_size");
    }
    if (node_.Number(own, rank_) != rank_) {
      Error(send ? "a send whose comm_src is another rank"
                 : "a receive whose comm_dst is another rank");
    }
    const std::int64_t peer = node_.Number(other, 0);
    const std::int64_t bytes = node_.Number(Attribute::kCommSize, 0);
    if (peer < 0 || peer >= set_.world_size) {
      Error("a send or receive with a rank that the set lacks");
    }
    if (bytes <= 0) {
      Error("a send or receive of no bytes");
    }
    const P2pKey key{send ? rank_ : peer, send ? peer : rank_, node_.Number(Attribute::kCommTag, 0),
                     bytes};
    (send ? sent_ : received_)[key] += 1;
  }

  // Members meet by the order of their collectives in a group.
  void CheckCollectives() {
    for (const auto& [group, by_rank] : collectives_) {
      const auto& first = by_rank.begin()->second;
      const auto members =
          group == "0" ? static_cast<std::size_t>(set_.world_size) : groups_.at(group).size();
      if (by_rank.size() < members) {
        errors_.Add(
            "a collective that not all members have never ends",
            fmt::format("group '{}': {} of {} ranks have any", group, by_rank.size(), members));
      }
      for (const auto& [rank, list] : by_rank) {
        if (list.size() != first.size()) {
          errors_.Add("a collective that not all members have never ends",
                      fmt::format("group '{}': {} on rank {}, {} on rank {}", group, first.size(),
                                  by_rank.begin()->first, list.size(), rank));
        }
        for (std::size_t i = 0; i < std::min(list.size(), first.size()); ++i) {
          Compare(group, i, first[i], list[i]);
        }
      }
    }
  }

  void Compare(const std::string& group, std::size_t place, const SeenCollective& a,
               const SeenCollective& b) {
    if (a.after != b.after) {
      errors_.Add(
          "it numbers the messages of all ranks (group '0') by all collectives of a rank, so that "
          "ranks with more of them in other groups never meet",
          fmt::format("number {}: after {} of other groups on rank {}, {} on rank {}; `reprise "
                      "export --to astra-sim` gives all ranks a group of their own",
                      place, a.after, a.rank, b.after, b.rank));
    }
    if (a.type == b.type && a.bytes == b.bytes) {
      return;
    }
    const auto side = [](const SeenCollective& one) {
      return fmt::format("rank {} node {} ({}, {} bytes)", one.rank, one.id,
                         kCollectives.at(static_cast<std::size_t>(one.type)).name, one.bytes);
    };
    errors_.Add("members of a collective with different comm_type or comm_size never meet",
                fmt::format("group '{}', number {}: {}, {}", group, place, side(a), side(b)));
  }

  void CheckMessages() {
    for (const auto& [from, to] : {std::pair(&sent_, &received_), std::pair(&received_, &sent_)}) {
      for (const auto& [key, count] : *from) {
        const auto other = to->find(key);
        const std::uint64_t found = other == to->end() ? 0 : other->second;
        if (found < count) {
          const auto& [src, dst, tag, bytes] = key;
          errors_.Add(from == &sent_ ? "a send without a receive of its size and tag"
                                     : "a receive without a send of its size and tag never ends",
                      fmt::format("{} of {} from rank {} to {}, tag {}, {} bytes", count - found,
                                  count, src, dst, tag, bytes));
        }
      }
    }
  }

  void CheckTimes() {
    constexpr double kNsPerUs = 1000;
    constexpr double kPercent = 100;
    const double all_us = duration_us_ + static_cast<double>(delay_ns_) / kNsPerUs;
    if (delay_ns_ > 0 && static_cast<double>(delay_ns_) / kNsPerUs > all_us / kPercent) {
      warnings_.Add("it knows no delays between nodes",
                    fmt::format("{:.1f} % of the nodes' time is delay_ns; `reprise export --to "
                                "astra-sim` makes it part of durations",
                                kPercent * static_cast<double>(delay_ns_) / kNsPerUs / all_us));
    }
    const auto warn_of = [this](std::uint64_t nodes, const std::string& rule,
                                std::string_view what) {
      if (nodes > 0) {
        warnings_.Add(rule, fmt::format("{} {}", nodes, what));
      }
    };
    warn_of(cpu_nodes_, "its statistics leave out ranks with CPU nodes",
            fmt::format("of {} COMP nodes have is_cpu_op", comp_nodes_));
    warn_of(without_cost_, "its roofline mode needs num_ops and tensor_size above 0 on NPU nodes",
            "COMP nodes have none");
    warn_of(unknown_cost_, "in its roofline mode NPU nodes of unknown cost take next to no time",
            "COMP nodes; `reprise export --to astra-sim --mode roofline` gives them their recorded "
            "time");
  }

  void Error(const std::string& rule) { errors_.Add(rule, Place()); }
  void Warn(const std::string& rule) { warnings_.Add(rule, Place()); }
  [[nodiscard]] std::string Place() const {
    return fmt::format("rank {}: node {} ({})", rank_, node_.id, node_.name);
  }

  const TraceSet& set_;
  Rules errors_, warnings_;
  RawNode node_;
  std::int32_t rank_ = 0;
  std::map<std::string, std::vector<std::int32_t>> groups_;
  // By group and rank, in the order of the file.
  std::map<std::string, std::map<std::int32_t, std::vector<SeenCollective>>> collectives_;
  std::map<std::int32_t, std::uint64_t> in_groups_;  // by rank, so far
  std::map<P2pKey, std::uint64_t> sent_, received_;
  std::uint64_t comp_nodes_ = 0, cpu_nodes_ = 0, without_cost_ = 0, unknown_cost_ = 0;
  std::int64_t delay_ns_ = 0;
  double duration_us_ = 0;
};

}  // namespace

Result<ReaderFindings> CheckForAstraSim(const TraceSet& set) { return AstraSimChecker(set).Run(); }

}  // namespace reprise
