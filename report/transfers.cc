#include "report/transfers.h"

#include <algorithm>
#include <string>
#include <utility>

namespace reprise {
namespace {

struct Member {
  std::size_t rank = 0;  // position in the span
  std::size_t node = 0;
  const CollectiveInfo* info = nullptr;
};

std::size_t ExpectedMembers(const CollectiveInfo& info) {
  return IsPointToPoint(info.spec.kind) ? 2 : static_cast<std::size_t>(info.group_size);
}

// A transfer's times over all iterations that every member finished.
struct Measurement {
  TransferClock clock = TransferClock::kShared;
  std::vector<std::int64_t> whole_ns;                   // by iteration
  std::vector<std::vector<std::int64_t>> own_ns;        // by member, by iteration
  std::vector<std::vector<const NodeRecord*>> records;  // by iteration, by member
};

// One transfer with its members, over all iterations.
class Transfer {
 public:
  explicit Transfer(std::span<const MeasuredRank> ranks) : ranks_(ranks) {}
  void Add(const Member& member) { members_.push_back(member); }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

  [[nodiscard]] Measurement Measure() const {
    Measurement measured;
    measured.clock = ChooseClock();
    measured.own_ns.resize(members_.size());
    measured.records = Iterations();
    for (const auto& records : measured.records) {
      const std::vector<std::int64_t> own_ns = OwnNs(records, measured.clock);
      measured.whole_ns.push_back(WholeNs(own_ns));
      for (std::size_t m = 0; m < members_.size(); ++m) {
        measured.own_ns[m].push_back(own_ns[m]);
      }
    }
    return measured;
  }

 private:
  [[nodiscard]] TransferClock ChooseClock() const {
    if (members_.size() < ExpectedMembers(*members_.front().info)) {
      return TransferClock::kShortest;
    }
    bool one_host = true;
    bool related = true;
    for (const Member& member : members_) {
      const RankData& data = ranks_[member.rank].data();
      one_host = one_host && data.host == ranks_[members_.front().rank].data().host;
      related = related && data.clock_uncertainty_ns.has_value();
    }
    return one_host  ? TransferClock::kShared
           : related ? TransferClock::kOffset
                     : TransferClock::kShortest;
  }

  // Times of each iteration that all members have: [iteration][member].
  [[nodiscard]] std::vector<std::vector<const NodeRecord*>> Iterations() const {
    std::map<std::int32_t, std::vector<const NodeRecord*>> by_iteration;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      for (const NodeRecord* record : ranks_[members_[m].rank].Records(members_[m].node)) {
        auto& row = by_iteration[record->iteration];
        row.resize(members_.size(), nullptr);
        row[m] = record;
      }
    }
    std::vector<std::vector<const NodeRecord*>> complete;
    for (auto& [unused, row] : by_iteration) {
      if (std::find(row.begin(), row.end(), nullptr) == row.end()) {
        complete.push_back(std::move(row));
      }
    }
    return complete;
  }

  // Each member's time from the last arrival to its own end, in one iteration.
  [[nodiscard]] std::vector<std::int64_t> OwnNs(const std::vector<const NodeRecord*>& records,
                                                TransferClock clock) const {
    std::vector<std::int64_t> own_ns;
    if (clock == TransferClock::kShortest) {
      // Who arrived last waited for nobody: its duration is the transfer.
      const auto shortest = std::min_element(
          records.begin(), records.end(),
          [](const auto* a, const auto* b) { return a->duration_ns < b->duration_ns; });
      own_ns.assign(records.size(), (*shortest)->duration_ns);
      return own_ns;
    }
    const std::int64_t arrival_ns =
        (*std::max_element(records.begin(), records.end(), [](const auto* a, const auto* b) {
          return a->start_ns < b->start_ns;
        }))->start_ns;
    for (const NodeRecord* record : records) {
      own_ns.push_back(
          std::max<std::int64_t>(0, record->start_ns + record->duration_ns - arrival_ns));
    }
    return own_ns;
  }

  // A send ends when its buffer is free, which may be before the receiver has come: the receive's
  // end is the transfer's.
  [[nodiscard]] std::int64_t WholeNs(const std::vector<std::int64_t>& own_ns) const {
    for (std::size_t m = 0; m < own_ns.size(); ++m) {
      if (members_[m].info->spec.kind == CommKind::kRecv) {
        return own_ns[m];
      }
    }
    return *std::max_element(own_ns.begin(), own_ns.end());
  }

  std::span<const MeasuredRank> ranks_;
  std::vector<Member> members_;
};

// One row of the table while it grows.
struct Accumulator {
  CollectiveRow row;
  CommKind kind = CommKind::kBarrier;
  std::vector<std::int64_t> recorded_ns, replayed_ns;
};
using RowKey = std::tuple<std::string, std::string, std::int64_t, ReplayMode>;

std::int64_t BytesOf(const std::vector<Member>& members) {
  std::int64_t bytes = 0;
  for (const Member& member : members) {
    bytes = std::max(bytes, AlgorithmBytes(member.info->spec, member.info->group_size));
  }
  return bytes;
}

void AddToRows(const Transfer& transfer, const Measurement& measured,
               std::span<const MeasuredRank> ranks, std::map<RowKey, Accumulator>& rows) {
  const std::vector<Member>& members = transfer.members();
  const std::int64_t bytes = BytesOf(members);
  std::int64_t recorded_ns = 0;
  for (const Member& member : members) {
    recorded_ns =
        std::max(recorded_ns, ranks[member.rank].data().nodes[member.node].recorded_duration_ns);
  }
  // A collective is one entry; of a pair, the send and the receive are one each.
  const bool pair = IsPointToPoint(members.front().info->spec.kind);
  for (std::size_t m = 0; m < (pair ? members.size() : 1); ++m) {
    const CommSpec& spec = members[m].info->spec;
    const ReplayMode mode = ranks[members[m].rank].Mode(members[m].node);
    Accumulator& accumulator = rows[{std::string(Name(spec.kind)), spec.group, bytes, mode}];
    accumulator.kind = spec.kind;
    CollectiveRow& row = accumulator.row;
    row.clock = row.count == 0 ? measured.clock : std::max(row.clock, measured.clock);
    row.name = Name(spec.kind);
    row.group = spec.group;
    row.group_size = members[m].info->group_size;
    row.bytes = bytes;
    row.mode = mode;
    ++row.count;
    accumulator.recorded_ns.push_back(recorded_ns);
    accumulator.replayed_ns.insert(accumulator.replayed_ns.end(), measured.whole_ns.begin(),
                                   measured.whole_ns.end());
  }
}

void FinishRow(Accumulator& accumulator) {
  CollectiveRow& row = accumulator.row;
  row.recorded_ns = Median(accumulator.recorded_ns).value_or(0);
  row.replayed_ns = Median(accumulator.replayed_ns);
  const bool moved = row.mode == ReplayMode::kReal || row.mode == ReplayMode::kSurrogate;
  if (moved && row.replayed_ns && *row.replayed_ns > 0 && row.bytes > 0) {
    // Bytes per nanosecond are 10^9 bytes per second.
    row.algbw_gb_per_s = static_cast<double>(row.bytes) / static_cast<double>(*row.replayed_ns);
    row.busbw_gb_per_s = *row.algbw_gb_per_s * BusFactor(accumulator.kind, row.group_size);
  }
}

}  // namespace

std::string_view Name(TransferClock clock) {
  switch (clock) {
    case TransferClock::kShared:
      return "shared";
    case TransferClock::kOffset:
      return "offset";
    default:
      return "shortest_member";
  }
}

TransferKey KeyOf(const CollectiveInfo& info, std::int32_t rank) {
  const CommSpec& spec = info.spec;
  if (!IsPointToPoint(spec.kind)) {
    return {spec.group, 0, static_cast<std::int32_t>(spec.kind), -1, spec.index};
  }
  const bool sends = spec.kind == CommKind::kSend;
  return {spec.group, 1, sends ? rank : spec.peer, sends ? spec.peer : rank, spec.index};
}

TransferSummary SummarizeTransfers(std::span<const MeasuredRank> ranks) {
  std::map<TransferKey, Transfer> transfers;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const CollectiveInfo& info : ranks[r].data().collectives) {
      if (const auto node = ranks[r].FindNode(info.node_id)) {
        transfers.try_emplace(KeyOf(info, ranks[r].data().rank), ranks)
            .first->second.Add({r, *node, &info});
      }
    }
  }
  TransferSummary summary;
  std::map<RowKey, Accumulator> rows;
  for (const auto& [unused, transfer] : transfers) {
    Measurement measured = transfer.Measure();
    for (std::size_t m = 0; m < transfer.members().size(); ++m) {
      for (std::size_t i = 0; i < measured.records.size(); ++i) {
        summary.own_ns_of_record[measured.records[i][m]] = measured.own_ns[m][i];
      }
      if (const auto median = Median(measured.own_ns[m])) {
        summary.own_ns[{transfer.members()[m].rank, transfer.members()[m].node}] = *median;
      }
    }
    AddToRows(transfer, measured, ranks, rows);
  }
  for (auto& [unused, accumulator] : rows) {
    FinishRow(accumulator);
    summary.rows.push_back(std::move(accumulator.row));
  }
  return summary;
}

}  // namespace reprise
