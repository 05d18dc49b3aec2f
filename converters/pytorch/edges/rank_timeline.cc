#include "converters/pytorch/edges/rank_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "converters/pytorch/edges/compiled_items.h"
#include "converters/pytorch/edges/device_items.h"
#include "converters/pytorch/edges/transfer_members.h"
#include "converters/pytorch/rank/sort_runs.h"
#include "core/counters.h"

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

bool ByTime(const Item& a, const Item& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
}

class TimelineBuilder {
 public:
  explicit TimelineBuilder(RankCapture& rank) : rank_(rank), waited_(rank.transfers.size(), false) {
    // What waits for NCCL is on a stream: rank/wait_sources.cc.
    for (std::size_t t = 0; t < rank.transfers.size(); ++t) {
      waited_[t] = rank.transfers[t].device_event >= 0 || rank.transfers[t].carrier >= 0;
    }
  }

  Timeline Run() {
    AddThreads();
    SortThreads();
    SeparateItems(rank_, threads_);
    AddCompiledItems(rank_, threads_);
    FindFirstUses();
    AddRecordedWaits();
    AddBlockingWaits();
    AddInferredWaits();
    for (std::vector<Item>& wait : waits_) {
      auto& items = threads_[static_cast<std::size_t>(&wait - waits_.data())];
      items.insert(items.end(), wait.begin(), wait.end());
      wait = {};
    }
    SortThreads();
    return Merge();
  }

 private:
  void AddThreads() {
    std::map<std::int32_t, std::int32_t> transfer_of_call;
    for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
      if (rank_.transfers[t].call >= 0 && rank_.transfers[t].device_event < 0) {
        transfer_of_call[rank_.transfers[t].call] = static_cast<std::int32_t>(t);
      }
    }
    threads_.resize(rank_.list.threads.size());
    waits_.resize(rank_.list.threads.size());
    const DeviceItems device(rank_);
    const DeviceItems::Cuts cuts = device.AddFrameCalls(threads_);
    for (std::int32_t i = 0; i < rank_.list.loose; ++i) {
      const Role role = rank_.RoleOf(i);
      const Operation& op = rank_.Op(i);
      auto& items = threads_[static_cast<std::size_t>(op.thread)];
      if (const auto& calls = cuts[static_cast<std::size_t>(i)]; !calls.empty()) {
        device.AddPieces(i, calls, items);
      } else if (role == Role::kNode && !device.OnHost(i)) {
        device.AddPieces(i, {}, items);
      } else if (role == Role::kNode) {
        items.push_back({.kind = Item::Kind::kOperation,
                         .operation = i,
                         .thread = op.thread,
                         .start_ns = op.start_ns,
                         .end_ns = op.end_ns});
      } else if (role == Role::kCommCall) {
        const auto it = transfer_of_call.find(i);
        AddCall(i, it == transfer_of_call.end() ? -1 : it->second, items);
      }
    }
    for (const std::int32_t i : rank_.step_operations) {
      const Operation& op = rank_.Op(i);
      threads_[static_cast<std::size_t>(op.thread)].push_back({.kind = Item::Kind::kStepEnd,
                                                               .operation = i,
                                                               .thread = op.thread,
                                                               .start_ns = op.end_ns,
                                                               .end_ns = op.end_ns});
    }
  }

  // The call up to where its transfer starts, and the rest of it.
  void AddCall(std::int32_t call, std::int32_t transfer, std::vector<Item>& items) {
    const Operation& op = rank_.Op(call);
    const std::int64_t cut =
        transfer < 0 ? op.end_ns
                     : std::clamp(rank_.Transfer(transfer).start_ns, op.start_ns, op.end_ns);
    items.push_back({.kind = Item::Kind::kIssue,
                     .operation = call,
                     .transfer = transfer,
                     .thread = op.thread,
                     .start_ns = op.start_ns,
                     .end_ns = cut});
    if (cut < op.end_ns) {
      items.push_back({.kind = Item::Kind::kReturn,
                       .operation = call,
                       .transfer = transfer,
                       .thread = op.thread,
                       .start_ns = cut,
                       .end_ns = op.end_ns});
    }
  }

  void SortThreads() {
    for (auto& items : threads_) {
      SortRuns(items, ByTime);
    }
  }

  struct Brought {
    std::size_t transfer = 0;
    const TensorDesc* tensor = nullptr;
  };
  // Incarnation → the transfers that write to it.
  [[nodiscard]] std::map<std::int64_t, std::vector<Brought>> BroughtBy() const {
    std::map<std::int64_t, std::vector<Brought>> out;
    for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
      for (const TensorDesc* tensor : TensorsIn(rank_.transfers[t].arguments.received)) {
        out[tensor->incarnation].push_back({t, tensor});
      }
    }
    return out;
  }

  // Slices of one flat buffer are transferred and used apart.
  static bool Overlap(const TensorDesc& a, const TensorDesc& b) {
    return a.dtype != b.dtype ||
           (a.offset < b.offset + ExtentElements(b) && b.offset < a.offset + ExtentElements(a));
  }

  // When the data that a transfer brings were first used, on any thread.
  void FindFirstUses() {
    first_use_.assign(rank_.transfers.size(), kNever);
    const auto brought_by = BroughtBy();
    const auto use = [&](const ValueList& inputs, std::int64_t at) {
      for (const TensorDesc* tensor : TensorsIn(inputs)) {
        const auto it = brought_by.find(tensor->incarnation);
        if (it == brought_by.end()) {
          continue;
        }
        for (const auto& [t, brought] : it->second) {
          if (IssuedAt(t) < at && Overlap(*tensor, *brought)) {
            first_use_[t] = std::min(first_use_[t], at);
          }
        }
      }
    };
    if (brought_by.empty()) {
      return;
    }
    for (const auto& items : threads_) {
      for (const Item& item : items) {
        if (UsesData(rank_, item)) {
          use(rank_.HostOf(item.operation)->inputs, item.start_ns);
        }
      }
    }
    for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
      use(rank_.transfers[t].arguments.sent, IssuedAt(t));
    }
  }

  [[nodiscard]] std::int64_t IssuedAt(std::size_t t) const {
    const TransferRecord& transfer = rank_.transfers[t];
    return transfer.call < 0 ? transfer.start_ns : rank_.Op(transfer.call).start_ns;
  }

  // The items of the thread around a moment: the last that starts before or at it, and the next.
  struct Around {
    const Item* before = nullptr;
    const Item* after = nullptr;
  };
  [[nodiscard]] Around Find(std::int32_t thread, std::int64_t at) const {
    const auto& items = threads_[static_cast<std::size_t>(thread)];
    const auto it =
        std::upper_bound(items.begin(), items.end(), at,
                         [](std::int64_t time, const Item& item) { return time < item.start_ns; });
    return {it == items.begin() ? nullptr : &*std::prev(it), it == items.end() ? nullptr : &*it};
  }

  void AddWait(std::size_t t, std::int32_t thread, std::int64_t at, bool inferred) {
    // Never inside another item: the wait then returned at the latest when that item had ended.
    const Around around = Find(thread, at - 1);
    if (around.before != nullptr) {
      at = std::max(at, around.before->end_ns);
    }
    waits_[static_cast<std::size_t>(thread)].push_back({.kind = Item::Kind::kWait,
                                                        .inferred = inferred,
                                                        .operation = rank_.transfers[t].call,
                                                        .transfer = static_cast<std::int32_t>(t),
                                                        .thread = thread,
                                                        .start_ns = at,
                                                        .end_ns = at});
    waited_[t] = true;
  }

  // _c10d_functional::wait_tensor: by the storage it is given.
  void AddRecordedWaits() {
    const auto brought_by = BroughtBy();
    for (auto& items : threads_) {
      for (Item& item : items) {
        if (item.kind != Item::Kind::kOperation ||
            rank_.InfoOf(item.operation).kind != OpKind::kWait ||
            rank_.Op(item.operation).name->find("wait") == std::string::npos) {
          continue;
        }
        for (const TensorDesc* tensor : TensorsIn(rank_.HostOf(item.operation)->inputs)) {
          const auto it = brought_by.find(tensor->incarnation);
          for (std::size_t n = it == brought_by.end() ? 0 : it->second.size(); n-- > 0;) {
            const std::size_t t = it->second[n].transfer;
            if (!waited_[t] && IssuedAt(t) < item.start_ns) {
              WaitWith(item, t);
              break;
            }
          }
        }
      }
    }
  }

  void WaitWith(Item& item, std::size_t t) {
    TransferRecord& transfer = rank_.transfers[t];
    waited_[t] = true;
    item.transfer = static_cast<std::int32_t>(t);
    ShortenTo(item.end_ns, transfer);
    // What remains after the transfer ended is the wait's own duration.
    item.start_ns = std::max(item.start_ns, transfer.end_ns);
  }

  void ShortenTo(std::int64_t end_ns, TransferRecord& transfer) {
    if (transfer.end_ns > end_ns) {
      const std::int64_t by = transfer.end_ns - std::max(end_ns, transfer.start_ns);
      CountTime("transfer_end_late", by, rank_.diagnostics,
                fmt::format("{}: {} by {} ns", rank_.label, Name(transfer.arguments.spec.kind),
                            transfer.end_ns - end_ns));
      transfer.end_ns -= by;
      if (transfer.transfer_ns >= 0) {
        transfer.transfer_ns = std::max<std::int64_t>(0, transfer.transfer_ns - by);
      }
    }
  }

  void AddBlockingWaits() {
    for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
      TransferRecord& transfer = rank_.transfers[t];
      if (waited_[t] || transfer.thread < 0) {
        continue;
      }
      if (transfer.wait_ns >= 0) {
        AddWait(t, transfer.thread, transfer.wait_ns, false);
        continue;
      }
      if (!transfer.arguments.blocking) {
        continue;
      }
      const std::int64_t call_end = rank_.Op(transfer.call).end_ns;
      const Item* next = Find(transfer.thread, call_end).after;
      const std::int64_t limit = next == nullptr ? kNever : next->start_ns;
      if (transfer.end_ns > limit && transfer.end_ns - limit > kQuietNs) {
        rank_.diagnostics.Count("blocking_call_returned",
                                fmt::format("{}: {}", rank_.label, *rank_.Op(transfer.call).name));
        continue;
      }
      // The worker stamps the end after it let the waiting thread go.
      ShortenTo(limit, transfer);
      AddWait(t, transfer.thread, std::max(transfer.end_ns, call_end), false);
    }
  }

  // A worker that loses its core between letting the waiting thread go and stamping the end is
  // recorded to end late (measured: 1.4 ms). What was used before must have come before: the
  // transfer ended at the latest where the host's last quiet time before the use ended.
  void CorrectLateEnd(TransferRecord& transfer, std::int64_t first_use) {
    if (first_use >= transfer.end_ns) {
      return;
    }
    const auto& items = threads_[static_cast<std::size_t>(transfer.thread)];
    for (std::size_t i = items.size(); i-- > 1;) {
      if (items[i].start_ns <= first_use && items[i].start_ns > transfer.start_ns &&
          items[i].start_ns - items[i - 1].end_ns > kQuietNs) {
        ShortenTo(items[i].start_ns, transfer);
        return;
      }
      if (items[i].start_ns <= transfer.start_ns) {
        return;
      }
    }
  }

  // The host is quiet, a transfer ends meanwhile, and what it brought is used later.
  void AddInferredWaits() {
    for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
      TransferRecord& transfer = rank_.transfers[t];
      if (waited_[t] || transfer.thread < 0 || transfer.call < 0) {
        continue;
      }
      CorrectLateEnd(transfer, first_use_[t]);
      const std::int64_t end_ns = transfer.end_ns;
      // An end at the very start of a node belongs to the gap before it.
      const Around around = Find(transfer.thread, end_ns - 1);
      if (around.before == nullptr || around.after == nullptr || around.before->end_ns > end_ns ||
          around.after->start_ns - around.before->end_ns <= kQuietNs) {
        continue;
      }
      const bool same_call = around.before->transfer == static_cast<std::int32_t>(t);
      const bool used_later = first_use_[t] != kNever && first_use_[t] >= around.after->start_ns;
      if (same_call || used_later) {
        AddWait(t, transfer.thread, end_ns, true);
        rank_.diagnostics.Count("wait_inferred");
      }
    }
    for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
      if (!waited_[t]) {
        rank_.diagnostics.Count(
            "transfer_without_wait",
            fmt::format("{}: {} {}", rank_.label, Name(rank_.transfers[t].arguments.spec.kind),
                        rank_.transfers[t].arguments.spec.index));
      }
    }
  }

  Timeline Merge() {
    Timeline out;
    std::size_t count = rank_.kineto.device.events.size() + rank_.transfers.size();
    for (const auto& items : threads_) {
      count += items.size();
    }
    out.items.reserve(count);  // the peak of a conversion's memory is here
    DeviceItems(rank_).AddEvents(out.items);
    for (auto& items : threads_) {
      out.items.insert(out.items.end(), std::make_move_iterator(items.begin()),
                       std::make_move_iterator(items.end()));
      items = {};
    }
    for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
      if (rank_.transfers[t].device_event >= 0) {
        continue;
      }
      out.items.push_back({.kind = Item::Kind::kTransfer,
                           .operation = rank_.transfers[t].leaf,
                           .transfer = static_cast<std::int32_t>(t),
                           .start_ns = rank_.transfers[t].start_ns,
                           .end_ns = rank_.transfers[t].end_ns});
    }
    SortRuns(out.items, ByTime);
    out.transfer_item.assign(rank_.transfers.size(), -1);
    out.wait_item.assign(rank_.transfers.size(), -1);
    for (std::size_t i = 0; i < out.items.size(); ++i) {
      const Item& item = out.items[i];
      if (item.transfer < 0) {
        continue;
      }
      const auto t = static_cast<std::size_t>(item.transfer);
      if (item.kind == Item::Kind::kTransfer || item.kind == Item::Kind::kDevice) {
        out.transfer_item[t] = static_cast<std::int32_t>(i);
      } else if (item.kind == Item::Kind::kWait || item.kind == Item::Kind::kOperation) {
        out.wait_item[t] = static_cast<std::int32_t>(i);
      }
    }
    return out;
  }

  RankCapture& rank_;
  std::vector<std::vector<Item>> threads_, waits_;
  std::vector<std::int64_t> first_use_;
  std::vector<bool> waited_;
};

}  // namespace

bool UsesData(const RankCapture& rank, const Item& item) {
  const bool main =
      item.kind == Item::Kind::kDevice && item.transfer < 0 && rank.EventLinkOf(item.event).main;
  if (item.kind != Item::Kind::kOperation && !main) {
    return false;
  }
  const auto i = static_cast<std::size_t>(item.operation);
  return rank.list.operations[i].host >= 0 && rank.roles[i].info.kind != OpKind::kMetadata;
}

void Timeline::AddEdge(std::int32_t from, std::int32_t to, EdgeReason reason, bool inferred) {
  std::vector<ItemDependency>& deps = At(to).deps;
  if (std::none_of(deps.begin(), deps.end(),
                   [&](const ItemDependency& dep) { return dep.item == from; })) {
    deps.push_back({from, reason, inferred});
  }
}

Timeline BuildTimeline(RankCapture& rank) { return TimelineBuilder(rank).Run(); }

}  // namespace reprise::pytorch
