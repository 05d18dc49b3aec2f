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
    for (const TransferRecord& transfer : transfers_) {
      rank_.diagnostics.Count("transfer_time_ns", {},
                              static_cast<std::uint64_t>(
                                  std::max<std::int64_t>(transfer.end_ns - transfer.start_ns, 0)));
    }
    for (TransferRecord& transfer : FindDeviceTransfers(rank_)) {
      transfers_.push_back(std::move(transfer));
    }
    if (rank_.kineto.untimed) {
      AddIssued();
    }
    CountSplits();
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
    CommSources sources = rank_.SourcesOf(call);
    sources.leaf = HostOf(leaf);
    out.arguments = ReadCommArguments(sources);
    const CommSpec& spec = out.arguments.spec;
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
      const CommSources sources = rank_.SourcesOf(i);
      if (!KindOf(sources)) {
        continue;
      }
      TransferRecord transfer{.call = i, .thread = Op(i).thread};
      transfer.arguments = ReadCommArguments(sources);
      transfer.start_ns = transfer.end_ns = Op(i).end_ns;
      transfers_.push_back(std::move(transfer));
    }
  }

  void CountSplits() {
    for (const TransferRecord& transfer : transfers_) {
      if (transfer.arguments.sends_part) {
        rank_.diagnostics.Count("transfer_sends_part", rank_.NameOf(transfer));
      }
      if (transfer.arguments.splits_unknown) {
        rank_.diagnostics.Count("transfer_splits_unknown", rank_.NameOf(transfer));
      }
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
      if (rank_.RoleOf(i) == Role::kCommCall && !issued[static_cast<std::size_t>(i)] &&
          *Op(i).name != "nccl:coalesced") {  // the close of a batch, whose parts are the calls
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

void FindTransfers(RankCapture& rank) { TransferFinder(rank).Run(); }

}  // namespace reprise::pytorch
