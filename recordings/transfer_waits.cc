#include "recordings/transfer_waits.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace reprise {
namespace {

// A collective beside the threads. Dry runs keep no more of transfers than their actor.
bool IsGroupTransfer(const NodeInfo& node) {
  return node.kind == OpKind::kComm && node.actor.starts_with("group ");
}

class WaitFinder {
 public:
  explicit WaitFinder(const RunData& run) : run_(run) {}

  TransferWaits Find() {
    for (const RankData& rank : run_.ranks) {
      Number(rank);
    }
    Visit([this](const RankData& /*rank*/, const NodeRecord& record, const Match& match) {
      const auto [at, added] = last_arrival_.try_emplace(match, record.start_ns);
      at->second = std::max(at->second, record.start_ns);
    });
    std::map<std::pair<std::int32_t, std::uint64_t>, std::vector<std::int64_t>> waited;
    Visit([&](const RankData& rank, const NodeRecord& record, const Match& match) {
      waited[{rank.rank, record.node_id}].push_back(std::clamp<std::int64_t>(
          last_arrival_.at(match) - record.start_ns, 0, record.duration_ns));
    });
    TransferWaits out;
    for (auto& [key, values] : waited) {
      out[key] = MedianOf(values);
    }
    return out;
  }

 private:
  using Match = std::tuple<std::string, std::int64_t, std::int32_t>;  // group, number, iteration

  void Number(const RankData& rank) {
    std::vector<const NodeInfo*> transfers;
    for (const NodeInfo& node : rank.nodes) {
      if (IsGroupTransfer(node)) {
        transfers.push_back(&node);
      }
    }
    std::stable_sort(transfers.begin(), transfers.end(), [](const auto* a, const auto* b) {
      return a->recorded_start_ns < b->recorded_start_ns;
    });
    std::map<std::string, std::int64_t> next;
    for (const NodeInfo* node : transfers) {
      numbers_[{rank.rank, node->node_id}] = {node->actor, next[node->actor]++};
    }
  }

  void Visit(const auto& see) const {
    for (const RankData& rank : run_.ranks) {
      for (const NodeRecord& record : rank.records) {
        const auto found = numbers_.find({rank.rank, record.node_id});
        if (found != numbers_.end()) {
          see(rank, record, Match{found->second.first, found->second.second, record.iteration});
        }
      }
    }
  }

  const RunData& run_;
  std::map<std::pair<std::int32_t, std::uint64_t>, std::pair<std::string, std::int64_t>> numbers_;
  std::map<Match, std::int64_t> last_arrival_;
};

}  // namespace

std::int64_t MedianOf(std::vector<std::int64_t>& values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

TransferWaits WaitsOf(const RunData& run) { return WaitFinder(run).Find(); }

}  // namespace reprise
