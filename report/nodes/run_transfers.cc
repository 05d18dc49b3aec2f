#include "report/nodes/run_transfers.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/median.h"

namespace reprise {

std::uint32_t RunTransfers::Sequence::Find(std::int64_t index) const {
  if (index >= 0 && index < std::ssize(numbers)) {
    if (const std::uint32_t number = numbers[static_cast<std::size_t>(index)]; number != kNone) {
      return number;
    }
  }
  const auto found = far.find(index);
  return found == far.end() ? kNone : found->second;
}

void RunTransfers::Sequence::Set(std::int64_t index, std::uint32_t number) {
  constexpr std::int64_t kMostHoles = 4'096;  // a file may say any index
  if (index < 0 || index > std::ssize(numbers) + kMostHoles) {
    far[index] = number;
    return;
  }
  const auto place = static_cast<std::size_t>(index);
  if (place >= numbers.size()) {
    numbers.resize(place + 1, kNone);
  }
  numbers[place] = number;
}

RunTransfers::RunTransfers(std::span<const MeasuredRank> ranks) {
  std::set<std::int32_t> iterations;
  for (const MeasuredRank& rank : ranks) {
    for (const StepRecord& step : rank.steps()) {
      iterations.insert(step.iteration);
    }
  }
  iterations_.assign(iterations.begin(), iterations.end());
}

RunTransfers::SequenceKey<std::string_view> RunTransfers::KeyOf(const CommSpec& spec,
                                                                std::int32_t rank) {
  if (!IsPointToPoint(spec.kind)) {
    return {spec.group, false, static_cast<std::int32_t>(spec.kind), -1};
  }
  const bool sends = spec.kind == CommKind::kSend;
  return {spec.group, true, sends ? rank : spec.peer, sends ? spec.peer : rank};
}

std::size_t RunTransfers::SlotOf(std::int32_t iteration) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(iterations_, iteration) -
                                  iterations_.begin());
}

std::uint32_t RunTransfers::KindOf(const CollectiveInfo& info) {
  const CommSpec& spec = info.spec;
  const KindKey<std::string_view> key{spec.kind, spec.group, info.role, info.group_size};
  if (const auto found = kind_numbers_.find(key); found != kind_numbers_.end()) {
    return found->second;
  }
  const bool folded = !info.role.empty();
  kinds_.push_back({.kind = spec.kind,
                    .group = folded ? info.role : spec.group,
                    .group_size = info.group_size,
                    .folded = folded});
  const auto number = static_cast<std::uint32_t>(kinds_.size() - 1);
  kind_numbers_.emplace(key, number);
  return number;
}

std::uint32_t RunTransfers::NumberOf(const CommSpec& spec, std::int32_t rank) {
  const auto key = KeyOf(spec, rank);
  auto sequence = sequences_.find(key);
  if (sequence == sequences_.end()) {
    sequence = sequences_.emplace(key, Sequence()).first;
  }
  std::uint32_t number = sequence->second.Find(spec.index);
  if (number == kNone) {
    number = static_cast<std::uint32_t>(transfers_.size());
    sequence->second.Set(spec.index, number);
    transfers_.emplace_back();
    executions_.resize(executions_.size() + iterations_.size());
  }
  return number;
}

void RunTransfers::Add(const MeasuredRank& rank, std::size_t position) {
  const std::lock_guard lock(mutex_);
  const RankData& data = rank.data();
  const std::uint32_t host =
      hosts_.try_emplace(data.host, static_cast<std::uint32_t>(hosts_.size())).first->second;
  std::vector<std::uint32_t> records;
  for (const CollectiveInfo& info : data.collectives) {
    if (const auto node = rank.FindNode(info.node_id)) {
      const std::uint32_t number = NumberOf(info.spec, data.rank);
      AddMember(rank, {position, host, *node}, info, transfers_[number]);
      FindRecords(rank, *node, records);
      AddExecutions(data, info, records, number);
    }
  }
}

void RunTransfers::AddMember(const MeasuredRank& rank, const Place& place,
                             const CollectiveInfo& info, Transfer& transfer) {
  const NodeInfo& node = rank.data().nodes[place.node];
  const auto position = static_cast<std::uint32_t>(place.position);
  transfer.host = transfer.members == 0 ? place.host : transfer.host;
  ++transfer.members;
  transfer.one_host = transfer.one_host && transfer.host == place.host;
  transfer.related = transfer.related && rank.data().clock_uncertainty_ns.has_value();
  transfer.modelled = transfer.modelled && info.transfer_ns >= 0;
  transfer.bytes = std::max(transfer.bytes, AlgorithmBytes(info.spec, info.group_size));
  transfer.recorded_ns = std::max(transfer.recorded_ns, node.recorded_duration_ns);
  transfer.alike += rank.alike();
  Side& side = info.spec.kind == CommKind::kRecv ? transfer.received : transfer.first;
  if (IsPointToPoint(info.spec.kind) || position < side.rank) {
    side = {.rank = position,
            .kind = KindOf(info),
            .mode = rank.Mode(place.node),
            .modelled = node.time_from != TimeSource::kNone,
            .alike = rank.alike()};
  }
}

// A record of an iteration follows: what is recorded twice counts as the last one.
void RunTransfers::FindRecords(const MeasuredRank& rank, std::uint32_t node,
                               std::vector<std::uint32_t>& records) const {
  records.assign(iterations_.size(), kNone);
  for (const std::uint32_t k : rank.Records(node)) {
    records[SlotOf(rank.data().records[k].iteration)] = k;
  }
}

void RunTransfers::AddExecutions(const RankData& data, const CollectiveInfo& info,
                                 std::span<const std::uint32_t> records, std::uint32_t number) {
  const bool sends = info.spec.kind == CommKind::kSend;
  const bool ends = !sends || transfers_[number].received.rank == kNone;
  const std::size_t first = number * iterations_.size();
  for (std::size_t slot = 0; slot < records.size(); ++slot) {
    if (records[slot] == kNone) {
      continue;
    }
    const NodeRecord& record = data.records[records[slot]];
    Execution& execution = executions_[first + slot];
    ++execution.members;
    execution.arrival_ns = std::max(execution.arrival_ns, record.start_ns);
    execution.shortest_ns = std::min(execution.shortest_ns, record.duration_ns);
    const bool replaces = info.spec.kind == CommKind::kRecv;
    const std::int64_t end_ns = record.start_ns + record.duration_ns;
    if (ends) {
      execution.end_ns = replaces ? end_ns : std::max(execution.end_ns, end_ns);
    }
    if (info.transfer_ns >= 0) {
      modelled_ns_.resize(executions_.size(), INT64_MIN);
      std::int64_t& modelled_ns = modelled_ns_[first + slot];
      const std::int64_t own_ns = std::min(info.transfer_ns, record.duration_ns);
      if (ends) {
        modelled_ns = replaces ? own_ns : std::max(modelled_ns, own_ns);
      }
    }
  }
}

TransferClock RunTransfers::ClockOf(const Transfer& transfer) const {
  // What a simulation of classes says of transfers whose other members the run lacks.
  if (transfer.modelled) {
    return TransferClock::kShared;
  }
  const bool pair =
      transfer.first.rank == kNone || IsPointToPoint(kinds_[transfer.first.kind].kind);
  const auto expected =
      static_cast<std::uint32_t>(pair ? 2 : kinds_[transfer.first.kind].group_size);
  if (transfer.members < expected) {
    return TransferClock::kShortest;
  }
  return transfer.one_host  ? TransferClock::kShared
         : transfer.related ? TransferClock::kOffset
                            : TransferClock::kShortest;
}

std::vector<std::uint32_t> RunTransfers::NumbersOf(const MeasuredRank& rank) const {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(rank.data().collectives.size());
  for (const CollectiveInfo& info : rank.data().collectives) {
    const auto sequence = sequences_.find(KeyOf(info.spec, rank.data().rank));
    numbers.push_back(rank.FindNode(info.node_id) && sequence != sequences_.end()
                          ? sequence->second.Find(info.spec.index)
                          : kNone);
  }
  return numbers;
}

std::vector<std::int64_t> RunTransfers::OwnTimesNs(const MeasuredRank& rank,
                                                   std::span<const std::uint32_t> numbers) const {
  const RankData& data = rank.data();
  std::vector<std::int64_t> own_ns(numbers.empty() ? 0 : data.records.size(), kUnknown);
  std::vector<std::uint32_t> records;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == kNone) {
      continue;
    }
    const Transfer& transfer = transfers_[numbers[i]];
    const TransferClock clock = ClockOf(transfer);
    FindRecords(rank, *rank.FindNode(data.collectives[i].node_id), records);
    for (std::size_t slot = 0; slot < records.size(); ++slot) {
      const Execution& execution = executions_[numbers[i] * iterations_.size() + slot];
      if (records[slot] == kNone || execution.members != transfer.members) {
        continue;
      }
      const NodeRecord& record = data.records[records[slot]];
      // The last to arrive did not wait: its duration is the transfer.
      own_ns[records[slot]] = transfer.modelled
                                  ? std::min(data.collectives[i].transfer_ns, record.duration_ns)
                              : clock == TransferClock::kShortest
                                  ? execution.shortest_ns
                                  : std::max<std::int64_t>(0, record.start_ns + record.duration_ns -
                                                                  execution.arrival_ns);
    }
  }
  return own_ns;
}

}  // namespace reprise
