#include "report/nodes/transfers.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/median.h"

namespace reprise {
namespace {

using Members = std::span<const MatchedMember>;

std::size_t ExpectedMembers(const CollectiveInfo& info) {
  return IsPointToPoint(info.spec.kind) ? 2 : static_cast<std::size_t>(info.group_size);
}

// A transfer's times over all iterations that every member finished: arrays by iteration, and
// within an iteration by member.
struct Measurement {
  TransferClock clock = TransferClock::kShared;
  std::vector<std::int64_t> whole_ns;  // by iteration alone
  std::vector<std::uint32_t> records;  // positions in the member's rank
  std::vector<std::int64_t> own_ns;
};

// Measures one transfer after the other; what they need to be sorted is kept between them.
class Stopwatch {
 public:
  explicit Stopwatch(std::span<const MeasuredRank> ranks) : ranks_(ranks) {}

  // Valid until the next call.
  const Measurement& Measure(Members members) {
    // What a simulation of classes says of transfers whose other members the run lacks.
    modelled_ = std::ranges::all_of(
        members, [](const MatchedMember& member) { return member.info->transfer_ns >= 0; });
    measured_.clock = modelled_ ? TransferClock::kShared : ChooseClock(members);
    measured_.whole_ns.clear();
    measured_.records.clear();
    measured_.own_ns.clear();
    FindIterations(members);
    const std::size_t count = members.size();
    for (std::size_t at = 0; at < measured_.records.size(); at += count) {
      AddOwnNs(members, {measured_.records.data() + at, count});
      measured_.whole_ns.push_back(WholeNs(members, {measured_.own_ns.data() + at, count}));
    }
    return measured_;
  }

 private:
  struct Entry {
    std::int32_t iteration = 0;
    std::uint32_t member = 0, record = 0;
    [[nodiscard]] auto Order() const { return std::tie(iteration, member, record); }
  };

  [[nodiscard]] TransferClock ChooseClock(Members members) const {
    if (members.size() < ExpectedMembers(*members.front().info)) {
      return TransferClock::kShortest;
    }
    bool one_host = true;
    bool related = true;
    for (const MatchedMember& member : members) {
      const RankData& data = ranks_[member.rank].data();
      one_host = one_host && data.host == ranks_[members.front().rank].data().host;
      related = related && data.clock_uncertainty_ns.has_value();
    }
    return one_host  ? TransferClock::kShared
           : related ? TransferClock::kOffset
                     : TransferClock::kShortest;
  }

  // Records of each iteration that all members have.
  void FindIterations(Members members) {
    entries_.clear();
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      const MeasuredRank& rank = ranks_[members[m].rank];
      for (const std::uint32_t k : rank.Records(members[m].node)) {
        entries_.push_back({rank.data().records[k].iteration, m, k});
      }
    }
    std::ranges::sort(entries_, {}, &Entry::Order);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const bool begins = i == 0 || entries_[i].iteration != entries_[i - 1].iteration;
      if (!begins && entries_[i].member == entries_[i - 1].member) {
        measured_.records.back() = entries_[i].record;  // recorded twice: the last one counts
        continue;
      }
      if (begins) {
        DropIncomplete(members.size());
      }
      measured_.records.push_back(entries_[i].record);
    }
    DropIncomplete(members.size());
  }

  // Whole iterations so far are kept, what is begun beyond them is not.
  void DropIncomplete(std::size_t members) {
    measured_.records.resize(measured_.records.size() - measured_.records.size() % members);
  }

  [[nodiscard]] const NodeRecord& RecordOf(const MatchedMember& member, std::uint32_t k) const {
    return ranks_[member.rank].data().records[k];
  }

  // Each member's time from the last arrival to its own end, in one iteration.
  void AddOwnNs(Members members, std::span<const std::uint32_t> records) {
    std::int64_t shortest_ns = INT64_MAX;
    std::int64_t arrival_ns = INT64_MIN;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const NodeRecord& record = RecordOf(members[m], records[m]);
      shortest_ns = std::min(shortest_ns, record.duration_ns);
      arrival_ns = std::max(arrival_ns, record.start_ns);
    }
    for (std::size_t m = 0; m < members.size(); ++m) {
      const NodeRecord& record = RecordOf(members[m], records[m]);
      if (modelled_) {
        measured_.own_ns.push_back(std::min(members[m].info->transfer_ns, record.duration_ns));
        continue;
      }
      // The last to arrive did not wait: its duration is the transfer.
      measured_.own_ns.push_back(
          measured_.clock == TransferClock::kShortest
              ? shortest_ns
              : std::max<std::int64_t>(0, record.start_ns + record.duration_ns - arrival_ns));
    }
  }

  // A send ends when its buffer is free, which may be before the receiver has come: the receive's
  // end is the transfer's.
  [[nodiscard]] static std::int64_t WholeNs(Members members, std::span<const std::int64_t> own_ns) {
    for (std::size_t m = 0; m < own_ns.size(); ++m) {
      if (members[m].info->spec.kind == CommKind::kRecv) {
        return own_ns[m];
      }
    }
    return *std::ranges::max_element(own_ns);
  }

  std::span<const MeasuredRank> ranks_;
  std::vector<Entry> entries_;
  bool modelled_ = false;
  Measurement measured_;
};

// So many transfers took so long.
struct WeightedTime {
  std::int64_t ns = 0, weight = 1;
};

// As Median, of each time as often as its weight says.
std::optional<std::int64_t> WeightedMedian(std::vector<WeightedTime>& times) {
  std::ranges::sort(times, {}, &WeightedTime::ns);
  std::int64_t all = 0;
  for (const WeightedTime& time : times) {
    all += time.weight;
  }
  std::int64_t below = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    below += times[i].weight;
    if (2 * below == all) {
      return times[i].ns + (times[i + 1].ns - times[i].ns) / 2;
    }
    if (2 * below > all) {
      return times[i].ns;
    }
  }
  return std::nullopt;
}

std::int64_t WeightedSum(const std::vector<WeightedTime>& times) {
  std::int64_t sum = 0;
  for (const WeightedTime& time : times) {
    sum += time.weight * time.ns;
  }
  return sum;
}

// One row of the table while it grows. Weights are transfers; of classes of ranks, whose members of
// a group are not all in the run, members.
struct Accumulator {
  CollectiveRow row;
  CommKind kind = CommKind::kBarrier;
  std::int64_t members_each = 1;  // how many weights one transfer has
  bool modelled = false;
  std::int64_t weight = 0;
  std::vector<WeightedTime> recorded_ns, replayed_ns;  // the latter of every iteration
  std::int64_t replayed_sum_ns = 0;
};
using RowKey =
    std::tuple<std::string_view, std::string_view, std::int64_t, ReplayMode, std::int32_t>;

std::int64_t BytesOf(Members members) {
  std::int64_t bytes = 0;
  for (const MatchedMember& member : members) {
    bytes = std::max(bytes, AlgorithmBytes(member.info->spec, member.info->group_size));
  }
  return bytes;
}

// Of one member, by iteration.
std::vector<std::int64_t> OwnTimes(const Measurement& measured, std::size_t members,
                                   std::size_t member) {
  std::vector<std::int64_t> own_ns;
  for (std::size_t at = member; at < measured.own_ns.size(); at += members) {
    own_ns.push_back(measured.own_ns[at]);
  }
  return own_ns;
}

void AddToRows(Members members, const Measurement& measured, std::span<const MeasuredRank> ranks,
               std::map<RowKey, Accumulator>& rows) {
  const std::int64_t bytes = BytesOf(members);
  std::int64_t recorded_ns = 0;
  for (const MatchedMember& member : members) {
    recorded_ns =
        std::max(recorded_ns, ranks[member.rank].data().nodes[member.node].recorded_duration_ns);
  }
  std::vector<std::int64_t> whole_ns = measured.whole_ns;
  const std::int64_t median_ns = Median(whole_ns).value_or(0);
  // A collective is one entry; of a pair, the send and the receive are one each.
  const bool pair = IsPointToPoint(members.front().info->spec.kind);
  const bool folded = !members.front().info->role.empty();
  std::int64_t alike = 0;
  for (const MatchedMember& member : members) {
    alike += ranks[member.rank].alike();
  }
  for (std::size_t m = 0; m < (pair ? members.size() : 1); ++m) {
    const CollectiveInfo& info = *members[m].info;
    const CommSpec& spec = info.spec;
    const MeasuredRank& rank = ranks[members[m].rank];
    const ReplayMode mode = rank.Mode(members[m].node);
    const std::string& group = folded ? info.role : spec.group;
    Accumulator& accumulator =
        rows[{Name(spec.kind), group, bytes, mode, folded ? info.group_size : 0}];
    const std::int64_t weight = pair ? rank.alike() : folded ? alike : 1;
    accumulator.kind = spec.kind;
    accumulator.members_each = folded && !pair ? info.group_size : 1;
    accumulator.weight += weight;
    accumulator.modelled =
        accumulator.modelled || rank.data().nodes[members[m].node].time_from != TimeSource::kNone;
    CollectiveRow& row = accumulator.row;
    row.clock = accumulator.weight == weight ? measured.clock : std::max(row.clock, measured.clock);
    row.name = Name(spec.kind);
    row.group = group;
    row.group_size = info.group_size;
    row.bytes = bytes;
    row.mode = mode;
    accumulator.recorded_ns.push_back({recorded_ns, weight});
    for (const std::int64_t ns : measured.whole_ns) {
      accumulator.replayed_ns.push_back({ns, weight});
    }
    accumulator.replayed_sum_ns += weight * median_ns;
    for (std::size_t of = pair ? m : 0; of < (pair ? m + 1 : members.size()); ++of) {
      std::vector<std::int64_t> times_ns = OwnTimes(measured, members.size(), of);
      if (const auto own_ns = Median(times_ns)) {
        row.members_ns = row.members_ns.value_or(0) + ranks[members[of].rank].alike() * *own_ns;
      }
    }
  }
}

void FinishRow(Accumulator& accumulator) {
  CollectiveRow& row = accumulator.row;
  // Of a part of the ranks it may be no whole number.
  const std::int64_t each = accumulator.members_each;
  row.count = std::max<std::int64_t>((accumulator.weight + each / 2) / each, 1);
  row.recorded_ns = WeightedMedian(accumulator.recorded_ns).value_or(0);
  row.replayed_ns = WeightedMedian(accumulator.replayed_ns);
  row.recorded_sum_ns = WeightedSum(accumulator.recorded_ns) / each;
  row.replayed_sum_ns = accumulator.replayed_sum_ns / each;
  const bool moved = Executes(row.mode) || accumulator.modelled;
  if (moved && row.replayed_ns && *row.replayed_ns > 0 && row.bytes > 0) {
    // Bytes per nanosecond are 10^9 bytes per second.
    row.algbw_gb_per_s = static_cast<double>(row.bytes) / static_cast<double>(*row.replayed_ns);
    row.busbw_gb_per_s = *row.algbw_gb_per_s * BusFactor(accumulator.kind, row.group_size);
  }
}

// Matched, all times unknown.
TransferSummary Unmeasured(std::span<const MeasuredRank> ranks) {
  TransferSummary summary;
  summary.matches = MatchTransfers(ranks);
  for (const MeasuredRank& rank : ranks) {
    const RankData& data = rank.data();
    const bool any = !data.collectives.empty();
    summary.own_ns_of_record.emplace_back(any ? data.records.size() : 0, TransferSummary::kUnknown);
  }
  return summary;
}

}  // namespace

std::string_view Name(TransferClock clock) {
  constexpr std::array<std::string_view, 3> kNames = {"shared", "offset", "shortest_member"};
  return kNames.at(static_cast<std::size_t>(clock));
}

TransferSummary SummarizeTransfers(std::span<const MeasuredRank> ranks) {
  TransferSummary summary = Unmeasured(ranks);
  std::map<RowKey, Accumulator> rows;
  Stopwatch stopwatch(ranks);
  for (std::size_t t = 0; t < summary.matches.size(); ++t) {
    const Members members = summary.matches.Of(t);
    const Measurement& measured = stopwatch.Measure(members);
    for (std::size_t m = 0; m < members.size(); ++m) {
      for (std::size_t at = m; at < measured.own_ns.size(); at += members.size()) {
        summary.own_ns_of_record[members[m].rank][measured.records[at]] = measured.own_ns[at];
      }
    }
    AddToRows(members, measured, ranks, rows);
  }
  for (auto& [unused, accumulator] : rows) {
    FinishRow(accumulator);
    summary.rows.push_back(std::move(accumulator.row));
  }
  return summary;
}

TransferSummary TakeTransfers(std::span<const MeasuredRank> ranks,
                              std::span<const std::size_t> positions,
                              std::span<const MeasuredRank> outline_ranks,
                              const TransferSummary& outline) {
  TransferSummary summary = Unmeasured(ranks);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const MeasuredRank& from = outline_ranks[positions[r]];
    if (from.data().collectives.empty()) {
      continue;
    }
    for (std::size_t i = 0; i < from.data().nodes.size(); ++i) {
      const auto node = ranks[r].FindNode(from.data().nodes[i].node_id);
      if (!node) {
        continue;
      }
      // A node's records are all there or none, in the order of the file in both.
      const auto records = ranks[r].Records(*node);
      const auto from_records = from.Records(i);
      for (std::size_t k = 0; k < std::min(records.size(), from_records.size()); ++k) {
        summary.own_ns_of_record[r][records[k]] =
            outline.own_ns_of_record[positions[r]][from_records[k]];
      }
    }
  }
  return summary;
}

}  // namespace reprise
