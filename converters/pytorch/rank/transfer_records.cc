#include "converters/pytorch/rank/transfer_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace reprise::pytorch {
namespace {

class TransferFinder {
 public:
  TransferFinder(const OperationList& list, const std::vector<Classified>& roles,
                 const HostTrace& host, const KinetoTrace& kineto)
      : list_(list), roles_(roles), host_(host), kineto_(kineto) {
    for (std::size_t i = 0; i < list.operations.size(); ++i) {
      if (roles[i].role == Role::kCommCall) {
        calls_[{ThreadOf(i), list.operations[i].rf_id}] = static_cast<std::int32_t>(i);
      }
    }
  }

  // The call inside which the transfer's record was created: the last one of the issuing thread
  // whose record-function id is lower, unless that call had ended before.
  [[nodiscard]] std::int32_t CallOf(const Operation& leaf) const {
    if (leaf.host < 0) {
      return -1;
    }
    const std::int64_t thread = Host(leaf.host).thread;
    auto it = calls_.upper_bound({thread, leaf.rf_id});
    if (it == calls_.begin()) {
      return -1;
    }
    --it;
    if (it->first.first != thread) {
      return -1;
    }
    const Operation& call = Op(it->second);
    const auto after = static_cast<std::size_t>(call.subtree);
    const bool left = call.thread >= 0 &&
                      call.subtree < list_.threads[static_cast<std::size_t>(call.thread)].last &&
                      list_.operations[after].rf_id > 0 &&
                      list_.operations[after].rf_id < leaf.rf_id;
    return left ? -1 : it->second;
  }

  // record_param_comms in (or as) the call.
  [[nodiscard]] std::int32_t RecordIn(std::int32_t call) const {
    for (std::int32_t i = call; i < Op(call).subtree; ++i) {
      if (*Op(i).name == "record_param_comms") {
        return i;
      }
    }
    return -1;
  }

  [[nodiscard]] const Operation& Op(std::int32_t i) const { return list_.Op(i); }
  [[nodiscard]] const HostNode& Host(std::int32_t i) const {
    return host_.nodes[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const HostNode* HostOf(std::int32_t operation) const {
    return list_.HostOf(host_, operation);
  }
  [[nodiscard]] const KinetoEvent& EventOf(std::int32_t operation) const {
    return kineto_.events[static_cast<std::size_t>(Op(operation).event)];
  }

 private:
  [[nodiscard]] std::int64_t ThreadOf(std::size_t i) const {
    const Operation& op = list_.operations[i];
    return op.host >= 0 ? Host(op.host).thread
                        : list_.threads[static_cast<std::size_t>(op.thread)].number;
  }

  const OperationList& list_;
  const std::vector<Classified>& roles_;
  const HostTrace& host_;
  const KinetoTrace& kineto_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> calls_;  // (thread, rf id)
};

TransferRecord Describe(const TransferFinder& finder, std::int32_t call, std::int32_t leaf) {
  TransferRecord out{.call = call, .leaf = leaf};
  const std::int32_t record = call < 0 ? -1 : finder.RecordIn(call);
  const HostNode* record_node = finder.HostOf(record);
  out.arguments = ReadCommArguments(finder.HostOf(call), record_node, finder.HostOf(leaf));
  const KinetoComm* comm = record < 0 ? nullptr : finder.EventOf(record).comm.get();
  NameGroup(record_node, {comm}, out);
  CommSpec& spec = out.arguments.spec;
  spec.sequence = comm != nullptr && spec.sequence < 0 ? comm->sequence : spec.sequence;
  const Operation& first = finder.Op(leaf);
  out.start_ns = first.start_ns;
  out.end_ns = first.end_ns;
  out.thread = call < 0 ? -1 : finder.Op(call).thread;
  if (IsPointToPoint(out.arguments.spec.kind)) {
    out.wait_ns = first.end_ns;
    if (call >= 0) {
      out.start_ns = finder.Op(call).start_ns;
    }
  } else {
    out.worker = finder.EventOf(leaf).thread;
  }
  return out;
}

// By operation: whether it makes one of the transfers.
std::vector<bool> CallsOf(const OperationList& list, const std::vector<TransferRecord>& transfers) {
  std::vector<bool> calls(list.operations.size(), false);
  for (const TransferRecord& transfer : transfers) {
    if (transfer.call >= 0) {
      calls[static_cast<std::size_t>(transfer.call)] = true;
    }
  }
  return calls;
}

}  // namespace

void NameGroup(const HostNode* record, std::initializer_list<const KinetoComm*> comms,
               TransferRecord& transfer) {
  if (record != nullptr && record->comm != nullptr) {
    transfer.group_name = record->comm->group_name;
    transfer.group_description = record->comm->group_description;
  }
  for (const KinetoComm* comm : comms) {
    if (comm == nullptr) {
      continue;
    }
    if (transfer.group_name.empty()) {
      transfer.group_name = comm->group_name;
      transfer.group_description = comm->group_description;
    }
    if (transfer.group_ranks.empty()) {
      transfer.group_ranks.assign(comm->ranks.begin(), comm->ranks.end());
    }
  }
  transfer.group_recorded = !transfer.group_name.empty();
}

std::vector<TransferRecord> FindTransfers(const OperationList& list,
                                          const std::vector<Classified>& roles,
                                          const HostTrace& host, const KinetoTrace& kineto,
                                          const std::string& label, Diagnostics& diagnostics) {
  const TransferFinder finder(list, roles, host, kineto);
  std::vector<TransferRecord> out;
  std::map<std::int32_t, std::size_t> by_call;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(list.operations.size()); ++i) {
    if (roles[static_cast<std::size_t>(i)].role != Role::kTransfer) {
      continue;
    }
    const Operation& leaf = finder.Op(i);
    const std::int32_t call = finder.CallOf(leaf);
    if (call < 0) {
      diagnostics.Count("transfer_without_call",
                        fmt::format("{}: {} record function {}", label, *leaf.name, leaf.rf_id));
    } else if (const auto known = by_call.find(call); known != by_call.end()) {
      // gloo's reduce_scatter of lists is several all_reduce in one call: one transfer.
      TransferRecord& transfer = out[known->second];
      transfer.start_ns = std::min(transfer.start_ns, leaf.start_ns);
      transfer.end_ns = std::max(transfer.end_ns, leaf.end_ns);
      continue;
    } else {
      by_call.emplace(call, out.size());
    }
    out.push_back(Describe(finder, call, i));
  }
  return out;
}

void FindIssuedTransfers(const OperationList& list, const std::vector<Classified>& roles,
                         const HostTrace& host, const KinetoTrace& kineto,
                         std::vector<TransferRecord>& transfers) {
  const std::vector<bool> found = CallsOf(list, transfers);
  const TransferFinder finder(list, roles, host, kineto);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(list.operations.size()); ++i) {
    if (roles[static_cast<std::size_t>(i)].role != Role::kCommCall ||
        found[static_cast<std::size_t>(i)]) {
      continue;
    }
    const HostNode* call = finder.HostOf(i);
    const HostNode* record = finder.HostOf(finder.RecordIn(i));
    const HostNode* source = record != nullptr && record->comm != nullptr ? record : call;
    if (source == nullptr ||
        !ParseCommKind(source->comm != nullptr ? source->comm->collective : *source->name)) {
      continue;
    }
    TransferRecord transfer{.call = i, .thread = finder.Op(i).thread};
    transfer.arguments = ReadCommArguments(call, record, nullptr);
    NameGroup(record, {}, transfer);
    transfer.start_ns = transfer.end_ns = finder.Op(i).end_ns;
    transfers.push_back(std::move(transfer));
  }
}

void OrderTransfers(const OperationList& list, const std::vector<Classified>& roles,
                    const std::string& label, std::vector<TransferRecord>& transfers,
                    Diagnostics& diagnostics) {
  const std::vector<bool> issued = CallsOf(list, transfers);
  for (std::size_t i = 0; i < list.operations.size(); ++i) {
    if (roles[i].role == Role::kCommCall && !issued[i]) {
      diagnostics.Count("call_without_transfer",
                        fmt::format("{}: {} record function {}", label, *list.operations[i].name,
                                    list.operations[i].rf_id));
    }
  }
  const auto issued_at = [&](const TransferRecord& t) {
    return t.call < 0 ? t.start_ns : list.Op(t.call).start_ns;
  };
  std::stable_sort(transfers.begin(), transfers.end(),
                   [&](const TransferRecord& a, const TransferRecord& b) {
                     return issued_at(a) < issued_at(b);
                   });
}

}  // namespace reprise::pytorch
