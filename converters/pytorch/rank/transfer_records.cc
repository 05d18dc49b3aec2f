// The transfers of one rank, from the records of gloo and of the calls that issue them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "converters/pytorch/rank/nccl.h"
#include "converters/pytorch/rank/stages.h"

namespace reprise::pytorch {
namespace {

class TransferFinder {
 public:
  explicit TransferFinder(RankCapture& rank) : rank_(rank), transfers_(rank.transfers) {
    for (std::int32_t i = 0; i < rank.OperationCount(); ++i) {
      if (rank.RoleOf(i) == Role::kCommCall) {
        calls_[{ThreadOf(i), Op(i).rf_id}] = i;
      }
    }
  }

  void Run() {
    AddRecorded();
    for (TransferRecord& transfer : FindDeviceTransfers(rank_)) {
      transfers_.push_back(std::move(transfer));
    }
    if (rank_.kineto.untimed) {
      AddIssued();
    }
    for (const std::int32_t call : CallsWithoutTransfer()) {
      rank_.diagnostics.Count(
          "call_without_transfer",
          fmt::format("{}: {} record function {}", rank_.label, *Op(call).name, Op(call).rf_id));
    }
    const auto issued_at = [&](const TransferRecord& t) {
      return t.call < 0 ? t.start_ns : Op(t.call).start_ns;
    };
    std::stable_sort(transfers_.begin(), transfers_.end(),
                     [&](const TransferRecord& a, const TransferRecord& b) {
                       return issued_at(a) < issued_at(b);
                     });
  }

 private:
  [[nodiscard]] const Operation& Op(std::int32_t i) const { return rank_.Op(i); }
  [[nodiscard]] const HostNode* HostOf(std::int32_t i) const { return rank_.HostOf(i); }

  [[nodiscard]] std::int64_t ThreadOf(std::int32_t i) const {
    const HostNode* host = rank_.HostOf(Op(i));
    return host != nullptr ? host->thread
                           : rank_.list.threads[static_cast<std::size_t>(Op(i).thread)].number;
  }

  // gloo's.
  void AddRecorded() {
    std::map<std::int32_t, std::size_t> by_call;
    for (std::int32_t i = 0; i < rank_.OperationCount(); ++i) {
      if (rank_.RoleOf(i) != Role::kTransfer) {
        continue;
      }
      const Operation& leaf = Op(i);
      const std::int32_t call = CallOf(leaf);
      if (call < 0) {
        rank_.diagnostics.Count(
            "transfer_without_call",
            fmt::format("{}: {} record function {}", rank_.label, *leaf.name, leaf.rf_id));
      } else if (const auto known = by_call.find(call); known != by_call.end()) {
        // gloo's reduce_scatter of lists is several all_reduce in one call: one transfer.
        TransferRecord& transfer = transfers_[known->second];
        transfer.start_ns = std::min(transfer.start_ns, leaf.start_ns);
        transfer.end_ns = std::max(transfer.end_ns, leaf.end_ns);
        continue;
      } else {
        by_call.emplace(call, transfers_.size());
      }
      transfers_.push_back(Describe(call, i));
    }
  }

  // The call inside which the transfer's record was created: the last one of the issuing thread
  // whose record-function id is lower, unless that call had ended before.
  [[nodiscard]] std::int32_t CallOf(const Operation& leaf) const {
    const HostNode* host = rank_.HostOf(leaf);
    if (host == nullptr) {
      return -1;
    }
    auto it = calls_.upper_bound({host->thread, leaf.rf_id});
    if (it == calls_.begin()) {
      return -1;
    }
    --it;
    if (it->first.first != host->thread) {
      return -1;
    }
    const Operation& call = Op(it->second);
    const bool left =
        call.thread >= 0 &&
        call.subtree < rank_.list.threads[static_cast<std::size_t>(call.thread)].last &&
        Op(call.subtree).rf_id > 0 && Op(call.subtree).rf_id < leaf.rf_id;
    return left ? -1 : it->second;
  }

  [[nodiscard]] TransferRecord Describe(std::int32_t call, std::int32_t leaf) const {
    TransferRecord out{.call = call, .leaf = leaf};
    const std::int32_t record = rank_.FirstIn(call, "record_param_comms");
    const HostNode* record_node = HostOf(record);
    out.arguments = ReadCommArguments(HostOf(call), record_node, HostOf(leaf));
    const CommAttributes* comm = rank_.KinetoCommOf(record);
    out.NameGroup(record_node, {comm});
    CommSpec& spec = out.arguments.spec;
    spec.sequence = comm != nullptr && spec.sequence < 0 ? comm->sequence : spec.sequence;
    out.start_ns = Op(leaf).start_ns;
    out.end_ns = Op(leaf).end_ns;
    out.thread = call < 0 ? -1 : Op(call).thread;
    if (IsPointToPoint(spec.kind)) {
      out.wait_ns = out.end_ns;
      out.start_ns = call < 0 ? out.start_ns : Op(call).start_ns;
    } else {
      out.worker = rank_.KinetoEventOf(leaf).thread;
    }
    return out;
  }

  void AddIssued() {
    for (const std::int32_t i : CallsWithoutTransfer()) {
      const HostNode* call = HostOf(i);
      const HostNode* record = HostOf(rank_.FirstIn(i, "record_param_comms"));
      const HostNode* source = record != nullptr && record->comm != nullptr ? record : call;
      if (source == nullptr ||
          !ParseCommKind(source->comm != nullptr ? source->comm->collective : *source->name)) {
        continue;
      }
      TransferRecord transfer{.call = i, .thread = Op(i).thread};
      transfer.arguments = ReadCommArguments(call, record, nullptr);
      transfer.NameGroup(record, {});
      transfer.start_ns = transfer.end_ns = Op(i).end_ns;
      transfers_.push_back(std::move(transfer));
    }
  }

  [[nodiscard]] std::vector<std::int32_t> CallsWithoutTransfer() const {
    std::vector<bool> issued(rank_.list.operations.size(), false);
    for (const TransferRecord& transfer : transfers_) {
      if (transfer.call >= 0) {
        issued[static_cast<std::size_t>(transfer.call)] = true;
      }
    }
    std::vector<std::int32_t> out;
    for (std::int32_t i = 0; i < rank_.OperationCount(); ++i) {
      if (rank_.RoleOf(i) == Role::kCommCall && !issued[static_cast<std::size_t>(i)]) {
        out.push_back(i);
      }
    }
    return out;
  }

  RankCapture& rank_;
  std::vector<TransferRecord>& transfers_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> calls_;  // (thread, rf id)
};

}  // namespace

void TransferRecord::NameGroup(const HostNode* record,
                               std::initializer_list<const CommAttributes*> comms) {
  if (record != nullptr && record->comm != nullptr) {
    group_name = record->comm->group_name;
    group_description = record->comm->group_description;
  }
  for (const CommAttributes* comm : comms) {
    if (comm == nullptr) {
      continue;
    }
    if (group_name.empty()) {
      group_name = comm->group_name;
      group_description = comm->group_description;
    }
    if (group_ranks.empty()) {
      group_ranks.assign(comm->ranks.begin(), comm->ranks.end());
    }
  }
  group_recorded = !group_name.empty();
}

void FindTransfers(RankCapture& rank) { TransferFinder(rank).Run(); }

}  // namespace reprise::pytorch
