#include "converters/pytorch/edges/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "converters/pytorch/edges/device_edges.h"
#include "converters/tensors_in.h"
#include "et_schema/trace_set.h"

namespace reprise::pytorch {
namespace {

class EdgeBuilder {
 public:
  EdgeBuilder(RankCapture& rank, Timeline& timeline)
      : rank_(rank),
        timeline_(timeline),
        last_of_thread_(rank.list.threads.size(), -1),
        seen_(rank.list.threads.size()) {}

  void Run() {
    ThreadEdges();
    AddDeviceEdges(rank_, timeline_);
    TransferEdges();
    GroupEdges();
    DataEdges();
    ForwardBackwardEdges();
  }

 private:
  [[nodiscard]] Item& At(std::int32_t i) const { return timeline_.At(i); }

  void ThreadEdges() {
    for (std::int32_t i = 0; i < timeline_.Count(); ++i) {
      if (const std::int32_t thread = At(i).thread; thread >= 0) {
        std::int32_t& last = last_of_thread_[static_cast<std::size_t>(thread)];
        if (last >= 0) {
          timeline_.AddEdge(last, i, EdgeReason::kThread);
        }
        last = i;
      }
    }
  }

  // Call → transfer → wait; and what a worker thread did after a transfer that it ran.
  void TransferEdges() {
    for (std::int32_t i = 0; i < timeline_.Count(); ++i) {
      const Item& item = At(i);
      if (item.transfer < 0) {
        continue;
      }
      const auto t = static_cast<std::size_t>(item.transfer);
      if (item.kind == Item::Kind::kIssue) {
        timeline_.AddEdge(i, timeline_.transfer_item[t], EdgeReason::kLaunch);
      } else if (timeline_.wait_item[t] == i) {
        timeline_.AddEdge(timeline_.transfer_item[t], i, EdgeReason::kCommWait, item.inferred);
      }
    }
    WorkerEdges();
  }

  void WorkerEdges() {
    std::map<std::int64_t, std::int32_t> last_transfer;  // by worker thread
    for (std::int32_t i = 0; i < timeline_.Count(); ++i) {
      const Item& item = At(i);
      if (item.kind == Item::Kind::kTransfer) {
        last_transfer[rank_.Transfer(item.transfer).worker] = i;
      } else if (item.thread >= 0 && !last_transfer.empty()) {
        const auto it =
            last_transfer.find(rank_.list.threads[static_cast<std::size_t>(item.thread)].kineto_id);
        if (it != last_transfer.end()) {
          if (At(it->second).end_ns <= item.start_ns) {
            timeline_.AddEdge(it->second, i, EdgeReason::kThread);
          }
          last_transfer.erase(it);
        }
      }
    }
  }

  void GroupEdges() {
    std::map<SequenceKey, std::vector<std::int32_t>> sequences;
    for (std::size_t t = 0; t < rank_.transfers.size(); ++t) {
      const std::int32_t i = timeline_.transfer_item[t];
      if (rank_.transfers[t].arguments.spec.certainty == GroupCertainty::kUnknown) {
        continue;
      }
      auto& sequence = sequences[SequenceOf(rank_.transfers[t].arguments.spec, rank_.rank)];
      bool overlap = false;
      for (std::size_t n = sequence.size(); n-- > 0;) {
        if (At(sequence[n]).end_ns <= At(i).start_ns) {
          timeline_.AddEdge(sequence[n], i, EdgeReason::kGroup);
          break;
        }
        overlap = true;
      }
      if (overlap) {
        rank_.diagnostics.Count("transfers_overlap");
      }
      sequence.push_back(i);
    }
  }

  // Last writer → reader, where thread order and waits don't imply it already. Items come in order
  // of start; a transfer writes from its start on, as far as later readers are concerned.
  void DataEdges() {
    for (std::int32_t i = 0; i < timeline_.Count(); ++i) {
      const Item& item = At(i);
      if (item.transfer >= 0 &&
          (item.kind == Item::Kind::kTransfer || item.kind == Item::Kind::kDevice)) {
        const CommArguments& a = rank_.Transfer(item.transfer).arguments;
        Read(i, a.sent);
        Write(i, a.received);
      } else if (UsesData(rank_, item)) {
        const HostNode& node = *rank_.HostOf(item.operation);
        Read(i, node.inputs);
        Write(i, node.outputs);
      }
      if (timeline_.wait_item.empty() || item.transfer < 0 ||
          timeline_.wait_item[static_cast<std::size_t>(item.transfer)] != i) {
        continue;
      }
      seen_[static_cast<std::size_t>(item.thread)].insert(
          {timeline_.transfer_item[static_cast<std::size_t>(item.transfer)], i});
    }
  }

  void Read(std::int32_t reader, const ValueList& inputs) {
    ForEachTensor(inputs, [&](const TensorDesc& tensor) {
      const std::int64_t incarnation = tensor.incarnation;
      const std::int32_t writer = tensor.IsDefined() ? WriterOf(incarnation) : -1;
      if (writer < 0 || writer == reader || Implied(writer, reader)) {
        return;
      }
      if (At(writer).end_ns > At(reader).start_ns) {
        rank_.diagnostics.Count("early_use",
                                fmt::format("{}: incarnation {}", rank_.label, incarnation));
        return;
      }
      timeline_.AddEdge(writer, reader, EdgeReason::kData);
      if (At(reader).thread >= 0) {
        seen_[static_cast<std::size_t>(At(reader).thread)].insert({writer, reader});
      }
    });
  }

  void Write(std::int32_t writer, const ValueList& outputs) {
    ForEachTensor(outputs, [&](const TensorDesc& tensor) {
      if (!tensor.IsDefined()) {
        return;
      }
      const auto i = static_cast<std::size_t>(tensor.incarnation);
      if (i >= writer_.size()) {
        writer_.resize(std::max(i + 1, 2 * writer_.size()), -1);
      }
      writer_[i] = writer;
    });
  }

  [[nodiscard]] std::int32_t WriterOf(std::int64_t incarnation) const {
    const auto i = static_cast<std::size_t>(incarnation);
    return i < writer_.size() ? writer_[i] : -1;
  }

  // The thread on which a reader's order is decided: a transfer's is that of its call.
  [[nodiscard]] std::int32_t ThreadOf(std::int32_t i) const {
    const Item& item = At(i);
    return item.kind == Item::Kind::kTransfer ? rank_.Transfer(item.transfer).thread : item.thread;
  }

  // A stream keeps order by itself, and what waits for a later event of it waits for this one.
  [[nodiscard]] bool StreamImplies(std::int32_t writer, std::int32_t reader) const {
    const std::int32_t from = At(writer).event;
    if (from < 0) {
      return false;
    }
    const auto same_stream = [&](std::int32_t item) {
      const std::int32_t event = At(item).event;
      return event >= 0 && rank_.Event(event).stream == rank_.Event(from).stream &&
             rank_.Event(event).device == rank_.Event(from).device;
    };
    return same_stream(reader) ||
           std::any_of(At(reader).deps.begin(), At(reader).deps.end(), [&](const auto& dep) {
             return same_stream(dep.item) && At(dep.item).start_ns >= At(writer).start_ns;
           });
  }

  [[nodiscard]] bool Implied(std::int32_t writer, std::int32_t reader) const {
    if (StreamImplies(writer, reader)) {
      return true;
    }
    const std::int32_t thread = ThreadOf(reader);
    if (At(writer).thread >= 0 && At(writer).thread == thread) {
      return true;
    }
    if (thread < 0) {
      return false;
    }
    // A wait for the writer on the same thread, before the reader (before its call, if a transfer).
    const auto it = seen_[static_cast<std::size_t>(thread)].find(writer);
    if (it == seen_[static_cast<std::size_t>(thread)].end()) {
      return false;
    }
    if (At(reader).kind != Item::Kind::kTransfer) {
      return true;
    }
    const std::int32_t call = rank_.Transfer(At(reader).transfer).call;
    return At(it->second).start_ns <= rank_.Op(call).start_ns;
  }

  // Where backward runs on a thread of its own: first node of a backward function after the last
  // node of the forward operation with the same sequence number.
  void ForwardBackwardEdges() {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> forward;  // (thread, seq) → item
    for (std::int32_t i = 0; i < timeline_.Count(); ++i) {
      const Item& item = At(i);
      if (item.kind != Item::Kind::kOperation && item.kind != Item::Kind::kHead) {
        continue;
      }
      for (std::int32_t op = item.operation; op >= 0; op = rank_.Op(op).parent) {
        const HostNode* host = rank_.HostOf(op);
        if (host == nullptr || host->seq_id < 0) {
          continue;
        }
        const HostNode& node = *host;
        if (node.scope != Scope::kBackward) {
          forward[{node.thread, node.seq_id}] = i;
          continue;
        }
        const auto it = forward.find({node.forward_thread, node.seq_id});
        if (it != forward.end() && At(it->second).thread != item.thread) {
          if (At(it->second).end_ns <= item.start_ns) {
            timeline_.AddEdge(it->second, i, EdgeReason::kFwdBwd);
          }
          forward.erase(it);  // the function's later nodes follow by thread
        }
        break;
      }
    }
  }

  RankCapture& rank_;
  Timeline& timeline_;
  std::vector<std::int32_t> last_of_thread_;
  std::vector<std::int32_t> writer_;  // by incarnation, which are counted from 0 on; -1: none
  // By thread: nodes of other actors that it has waited for, and with which node.
  std::vector<std::unordered_map<std::int32_t, std::int32_t>> seen_;
};

}  // namespace

void AddEdges(RankCapture& rank, Timeline& timeline) { EdgeBuilder(rank, timeline).Run(); }

}  // namespace reprise::pytorch
