// The table of a run's transfers.
#include <algorithm>
#include <array>
#include <utility>

#include "core/median.h"
#include "report/nodes/run_transfers.h"

namespace reprise {

std::string_view Name(TransferClock clock) {
  constexpr std::array<std::string_view, 3> kNames = {"shared", "offset", "shortest_member"};
  return kNames.at(static_cast<std::size_t>(clock));
}

// As Median, of each time as often as its weight says.
std::optional<std::int64_t> RunTransfers::WeightedMedian(std::vector<WeightedTime>& times) {
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

// A send ends when its buffer is free, which may be before the receiver has come: the receive's
// end is the transfer's.
std::optional<std::int64_t> RunTransfers::WholeNs(const Transfer& transfer, TransferClock clock,
                                                  std::size_t execution) const {
  const Execution& times = executions_[execution];
  if (times.members == 0 || times.members != transfer.members) {
    return std::nullopt;
  }
  return transfer.modelled ? modelled_ns_[execution]
         : clock == TransferClock::kShortest
             ? times.shortest_ns
             : std::max<std::int64_t>(0, times.end_ns - times.arrival_ns);
}

void RunTransfers::Close() {
  for (std::size_t number = 0; number < transfers_.size(); ++number) {
    Transfer& transfer = transfers_[number];
    const TransferClock clock = ClockOf(transfer);
    std::vector<std::int64_t> whole_ns;  // of the iterations that all members finished
    for (std::size_t slot = 0; slot < iterations_.size(); ++slot) {
      if (const auto ns = WholeNs(transfer, clock, number * iterations_.size() + slot)) {
        whole_ns.push_back(*ns);
      }
    }
    // A collective is one entry; of a pair, the send and the receive are one each.
    for (Side* const side : {&transfer.first, &transfer.received}) {
      if (side->rank != kNone) {
        AddToRow(transfer, clock, whole_ns, *side);
      }
    }
  }
}

void RunTransfers::AddToRow(const Transfer& transfer, TransferClock clock,
                            const std::vector<std::int64_t>& whole_ns, Side& side) {
  const Kind& kind = kinds_[side.kind];
  const bool pair = IsPointToPoint(kind.kind);
  Row& row = rows_[{std::string(Name(kind.kind)), kind.group, transfer.bytes, side.mode,
                    kind.folded ? kind.group_size : 0}];
  const std::int64_t weight = pair ? side.alike : kind.folded ? transfer.alike : 1;
  row.kind = kind.kind;
  row.members_each = kind.folded && !pair ? kind.group_size : 1;
  row.modelled = row.modelled || side.modelled;
  row.row.clock = row.weight == 0 ? clock : std::max(row.row.clock, clock);
  row.weight += weight;
  row.row.name = Name(kind.kind);
  row.row.group = kind.group;
  row.row.group_size = kind.group_size;
  row.row.bytes = transfer.bytes;
  row.row.mode = side.mode;
  row.recorded_ns.push_back({transfer.recorded_ns, weight});
  for (const std::int64_t ns : whole_ns) {
    row.replayed_ns.push_back({ns, weight});
  }
  std::vector<std::int64_t> sorted_ns = whole_ns;
  row.replayed_sum_ns += weight * Median(sorted_ns).value_or(0);
  side.row = &row;
}

void RunTransfers::AddOwnTimes(const MeasuredRank& rank, std::span<const std::uint32_t> numbers,
                               std::span<const std::int64_t> own_ns) {
  const RankData& data = rank.data();
  std::map<Row*, std::int64_t> sums_ns;
  std::vector<std::uint32_t> records;
  std::vector<std::int64_t> times_ns;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == kNone) {
      continue;
    }
    times_ns.clear();
    FindRecords(rank, *rank.FindNode(data.collectives[i].node_id), records);
    for (const std::uint32_t k : records) {
      if (k != kNone && own_ns[k] != kUnknown) {
        times_ns.push_back(own_ns[k]);
      }
    }
    const Transfer& transfer = transfers_[numbers[i]];
    const bool receives = data.collectives[i].spec.kind == CommKind::kRecv;
    if (const auto median_ns = Median(times_ns)) {
      sums_ns[(receives ? transfer.received : transfer.first).row] += rank.alike() * *median_ns;
    }
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [row, ns] : sums_ns) {
    row->row.members_ns = row->row.members_ns.value_or(0) + ns;
  }
}

CollectiveRow RunTransfers::Finish(Row& sum) {
  CollectiveRow row = sum.row;
  // Of a part of the ranks it may be no whole number.
  const std::int64_t each = sum.members_each;
  row.count = std::max<std::int64_t>((sum.weight + each / 2) / each, 1);
  row.recorded_ns = WeightedMedian(sum.recorded_ns);
  if (row.recorded_ns <= 0) {  // a transfer that took nothing has no recorded length
    row.recorded_ns.reset();
  }
  row.replayed_ns = WeightedMedian(sum.replayed_ns);
  for (const WeightedTime& time : sum.recorded_ns) {
    row.recorded_sum_ns += time.weight * time.ns;
  }
  row.recorded_sum_ns /= each;
  row.replayed_sum_ns = sum.replayed_sum_ns / each;
  const bool moved = Executes(row.mode) || sum.modelled;
  if (moved && row.replayed_ns && *row.replayed_ns > 0 && row.bytes > 0) {
    // Bytes per nanosecond are 10^9 bytes per second.
    row.algbw_gb_per_s = static_cast<double>(row.bytes) / static_cast<double>(*row.replayed_ns);
    row.busbw_gb_per_s = *row.algbw_gb_per_s * BusFactor(sum.kind, row.group_size);
  }
  return row;
}

std::vector<CollectiveRow> RunTransfers::Rows() {
  std::vector<CollectiveRow> rows;
  for (auto& [unused, sum] : rows_) {
    rows.push_back(Finish(sum));
  }
  return rows;
}

}  // namespace reprise
