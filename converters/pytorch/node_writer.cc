#include "converters/pytorch/node_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "converters/pytorch/rank/graph_recordings.h"
#include "core/copy_direction.h"
#include "core/kernel_names.h"
#include "core/ordered_pipeline.h"
#include "et_schema/io.h"

namespace reprise::pytorch {
namespace {

class Writer {
 public:
  Writer(RankCapture& rank, Timeline& timeline, bool mem_nodes)
      : rank_(rank), items_(timeline.items), mem_nodes_(mem_nodes) {}

  void NumberNodes() {
    std::uint64_t next = rank_.host.highest_id + 1;
    ids_.reserve(items_.size());
    for (const Item& item : items_) {
      const bool own = item.kind == Item::Kind::kOperation || item.kind == Item::Kind::kIssue ||
                       item.kind == Item::Kind::kTransfer || item.kind == Item::Kind::kStepEnd ||
                       item.kind == Item::Kind::kHead;
      const HostNode* host = own ? rank_.HostOf(item.operation) : nullptr;
      ids_.push_back(host == nullptr ? next++ : host->id);
    }
  }

  // An item's node: in the memory of the one before, and with arguments that are lent by the
  // capture.
  struct Loan {
    Node node;
    ValueList* inputs = nullptr;
    ValueList* outputs = nullptr;
  };

  // Thread-safe for different items. GiveBack is due when the node is written: most arguments are
  // freed never, or later.
  void Build(std::size_t i, Loan& loan) {
    const Item& item = items_[i];
    Node& node = loan.node;
    Reset(node);
    node.id = ids_[i];
    const std::int64_t unit = rank_.kineto.untimed ? 0 : 1;
    node.start_ns = (item.start_ns - rank_.base_ns) * unit;
    node.duration_ns = (item.end_ns - item.start_ns) * unit;
    node.delay_ns = node.start_ns;
    if (!item.deps.empty()) {
      std::int64_t latest = INT64_MIN;
      for (const ItemDependency& dep : item.deps) {
        const Item& from = items_[static_cast<std::size_t>(dep.item)];
        latest = std::max(latest, from.end_ns);
        node.deps.push_back({ids_[static_cast<std::size_t>(dep.item)], dep.reason, dep.inferred});
      }
      node.delay_ns = (item.start_ns - latest) * unit;
    }
    node.tracing_ns = std::min(item.tracing_ns, node.duration_ns);
    node.tracing_delay_ns = std::clamp<std::int64_t>(node.delay_ns, 0, item.tracing_before_ns);
    node.step = StepOf(rank_, item);
    if (item.operation >= 0) {
      node.rf_id = rank_.Op(item.operation).rf_id;
      node.name = *rank_.Op(item.operation).name;
      node.parent = rank_.FrameOf(item.operation);
    }
    if (item.thread >= 0) {
      node.actor = {.kind = Actor::Kind::kThread,
                    .id = rank_.list.threads[static_cast<std::size_t>(item.thread)].number};
    }
    Fill(item, loan);
  }

  static void GiveBack(Loan& loan) {
    for (const auto& [from, list] : {std::pair(&loan.inputs, &loan.node.inputs),
                                     std::pair(&loan.outputs, &loan.node.outputs)}) {
      if (*from != nullptr) {
        list->swap(**from);
        *from = nullptr;
      }
    }
  }

 private:
  // As new, but for the memory of its texts and lists.
  static void Reset(Node& node) {
    Node fresh;
    fresh.name = std::move(node.name);
    fresh.parent = std::move(node.parent);
    fresh.op_schema = std::move(node.op_schema);
    fresh.deps = std::move(node.deps);
    fresh.name.clear();
    fresh.parent.clear();
    fresh.op_schema.clear();
    fresh.deps.clear();
    node = std::move(fresh);
  }

  static void Lend(ValueList& inputs, ValueList& outputs, Loan& loan) {
    loan.inputs = &inputs;
    loan.outputs = &outputs;
    loan.node.inputs.swap(inputs);
    loan.node.outputs.swap(outputs);
  }

  void Fill(const Item& item, Loan& loan) {
    Node& node = loan.node;
    switch (item.kind) {
      case Item::Kind::kOperation:
        FillOperation(item, loan);
        break;
      case Item::Kind::kTransfer:
        FillTransfer(item, loan);
        break;
      case Item::Kind::kWait:
        node.name = "c10d::wait";
        node.type = NodeType::kComp;
        node.kind = OpKind::kWait;
        node.op_class = OpClass::kHost;
        break;
      case Item::Kind::kDevice:
        FillDevice(item, loan);
        break;
      case Item::Kind::kHostWait:
        node.name = *rank_.Call(item.call).name;
        node.type = NodeType::kComp;
        node.kind = OpKind::kWait;
        node.op_class = OpClass::kHost;
        break;
      case Item::Kind::kCompiled:
        node.type = NodeType::kComp;
        node.kind = OpKind::kWork;
        node.op_class = OpClass::kCompiled;
        break;
      case Item::Kind::kCall:
        node.name = *rank_.Call(item.call).name;
        [[fallthrough]];
      case Item::Kind::kIssue:
      case Item::Kind::kReturn:
      case Item::Kind::kStepEnd:
      case Item::Kind::kHead:
      case Item::Kind::kRest:
        node.type = NodeType::kComp;
        node.kind = OpKind::kMetadata;
        node.op_class = OpClass::kHost;
        break;
    }
  }

  void FillOperation(const Item& item, Loan& loan) {
    Node& node = loan.node;
    const OpInfo& info = rank_.InfoOf(item.operation);
    node.kind = info.kind;
    node.op_class = info.op_class;
    node.type = NodeType::kComp;
    if (HostNode* host = rank_.HostOf(item.operation)) {
      LendArguments(*host, loan);
    }
  }

  static void LendArguments(HostNode& host, Loan& loan) {
    Lend(host.inputs, host.outputs, loan);
    Node& node = loan.node;
    node.seq_id = host.seq_id;
    node.results_inferred = host.results_inferred;
    node.op_schema = *host.op_schema;
  }

  void FillTransfer(const Item& item, Loan& loan) {
    Node& node = loan.node;
    TransferRecord& transfer = rank_.transfers[static_cast<std::size_t>(item.transfer)];
    node.kind = OpKind::kComm;
    node.op_class = OpClass::kComm;
    node.type = TypeOfTransfer(transfer.arguments.spec.kind);
    node.actor = {.kind = Actor::Kind::kGroup};
    node.transfer_ns = rank_.kineto.untimed ? -1 : transfer.transfer_ns;
    node.comm = transfer.arguments.spec;
    Lend(transfer.arguments.sent, transfer.arguments.received, loan);
    if (transfer.call >= 0) {
      // The call says what it is: gloo's reduce_scatter runs as "gloo:all_reduce".
      node.name = *rank_.Op(transfer.call).name;
      node.parent = rank_.FrameOf(transfer.call);
    }
  }

  void FillDevice(const Item& item, Loan& loan) {
    Node& node = loan.node;
    const DeviceEvent& event = rank_.Event(item.event);
    const EventLink& link = rank_.EventLinkOf(item.event);
    if (item.transfer >= 0) {
      FillTransfer(item, loan);
    } else {
      FillKernel(item, link, event, loan);
    }
    if (item.operation >= 0) {
      node.op = *rank_.Op(item.operation).name;
    }
    if (link.recorded.graph >= 0 && item.transfer < 0) {
      FillRecorded(link.recorded, event, node);
    }
    if (event.compiled != nullptr) {
      FillCompiled(*event.compiled, item.transfer >= 0, node);
    }
    node.name = *event.name;
    node.graph = link.graph;
    node.actor = {.kind = Actor::Kind::kStream, .id = event.stream, .device = event.device};
    node.device_work = event.work;
    node.device_work->launch_recorded = link.call >= 0 || event.HasNoLaunch();
  }

  void FillKernel(const Item& item, const EventLink& link, const DeviceEvent& event, Loan& loan) {
    Node& node = loan.node;
    const bool known =
        link.node >= 0 && link.recorded.graph < 0 && rank_.InfoOf(link.node).kind == OpKind::kWork;
    node.kind = OpKind::kWork;
    node.op_class = event.kind != DeviceEvent::Kind::kKernel ? OpClass::kMemcpy
                    : known                                  ? rank_.InfoOf(link.node).op_class
                                                             : link.named_class;
    if (!known && link.named_class != OpClass::kOther) {
      node.op_source = OpSource::kKernelName;
    }
    // Copies and fills too: what simulators take for device work.
    node.type = mem_nodes_ ? MemoryTypeOf(event) : NodeType::kComp;
    if (node.type != NodeType::kComp) {
      node.tensor_bytes = event.work.copied_bytes;
    }
    // Inductor's kernels have their arguments, each its own.
    const bool fused = !known && link.node < 0 && link.operation >= 0 && link.recorded.graph < 0 &&
                       IsFusedKernelName(*rank_.Op(link.operation).name) && link.call >= 0 &&
                       rank_.links.calls[static_cast<std::size_t>(link.call)].events.size() == 1;
    if (HostNode* host = (known && link.main) || fused ? rank_.HostOf(item.operation) : nullptr) {
      LendArguments(*host, loan);
    }
  }

  static void FillCompiled(const CompiledOperation& compiled, bool moves, Node& node) {
    node.op = *compiled.name;
    node.parent = *compiled.path;
    if (!compiled.name->empty()) {
      node.op_source = OpSource::kLaunch;
    }
    if (!moves) {
      node.num_ops = compiled.flops;
      node.tensor_bytes = compiled.accessed_bytes;
    }
  }

  // What the recording of its graph says of a kernel. Its launch is the caller of all of them.
  void FillRecorded(const RecordedPlace& place, const DeviceEvent& event, Node& node) const {
    const RecordedGraph& graph = *rank_.recorded_graphs[static_cast<std::size_t>(place.graph)];
    const std::int32_t made_by = graph.nodes[static_cast<std::size_t>(place.node)].operation;
    const RecordedOperation& operation = graph.operations[static_cast<std::size_t>(made_by)];
    node.op = operation.name;
    node.parent = operation.parent;
    node.op_source = place.inferred ? OpSource::kEagerTwin : OpSource::kGraphRecording;
    node.rf_id = place.rf_id;
    if (event.kind == DeviceEvent::Kind::kKernel && operation.op_class != OpClass::kOther) {
      node.op_class = operation.op_class;
    }
    if (place.arguments) {
      node.op_schema = operation.op_schema;
      node.inputs = operation.inputs;
      node.outputs = operation.outputs;
      node.results_inferred = operation.results_inferred;
    }
  }

  // A copy within a device's memory loads and stores, so that it stays what it is.
  static NodeType MemoryTypeOf(const DeviceEvent& event) {
    if (event.kind == DeviceEvent::Kind::kKernel || event.work.copied_bytes < 0) {
      return NodeType::kComp;
    }
    switch (CopyDirectionOf(*event.name)) {
      case CopyDirection::kToDevice:
        return NodeType::kMemLoad;
      case CopyDirection::kToHost:
      case CopyDirection::kFill:
        return NodeType::kMemStore;
      case CopyDirection::kWithin:
        break;
    }
    return NodeType::kComp;
  }

  RankCapture& rank_;
  const std::vector<Item>& items_;
  const bool mem_nodes_;
  std::vector<std::uint64_t> ids_;
};

// Nodes that are encoded at a time, by one thread.
struct Chunk {
  std::size_t first = 0, last = 0;
  std::string bytes;
  Status outcome;
};

void Encode(Writer& writer, std::int32_t rank, const CostTable& costs, Chunk& chunk) {
  thread_local Writer::Loan loan;
  for (std::size_t i = chunk.first; i < chunk.last && chunk.outcome; ++i) {
    writer.Build(i, loan);
    AddCost(costs, loan.node);
    chunk.outcome = EncodeNode(loan.node, rank, chunk.bytes);
    Writer::GiveBack(loan);
  }
}

// All but the writing itself on all threads.
Status WriteNodes(Writer& writer, std::size_t count, std::int32_t rank, const CostTable& costs,
                  EtWriter& file) {
  constexpr std::size_t kChunk = 32;
  constexpr std::size_t kMaxAtOnce = 8;
  std::vector<Chunk> chunks(kMaxAtOnce);
  std::size_t next = 0;
  Status outcome;
  std::atomic<bool> failed = false;  // `outcome` is one
  const auto cut = [&](std::size_t slot) {
    if (next == count || failed) {
      return false;
    }
    Chunk& chunk = chunks[slot];
    chunk.bytes.clear();
    chunk.first = next;
    chunk.last = next = std::min(count, next + kChunk);
    return true;
  };
  const auto encode = [&](std::size_t slot) { Encode(writer, rank, costs, chunks[slot]); };
  const auto write = [&](std::size_t slot) {
    const Chunk& chunk = chunks[slot];
    if (outcome) {
      outcome =
          chunk.outcome ? file.WriteEncoded(chunk.bytes, chunk.last - chunk.first) : chunk.outcome;
      failed = !outcome;
    }
  };
  RunOrderedPipeline(kMaxAtOnce, {cut, encode, write});
  return outcome;
}

}  // namespace

Result<ConvertedRank> WriteRank(RankCapture& rank, Timeline& timeline, TraceMetadata metadata,
                                const CostTable& costs, const std::string& path, bool mem_nodes) {
  metadata.diagnostics = rank.diagnostics.Counts();
  REPRISE_ASSIGN(auto file, EtWriter::Create(path, metadata));
  Writer writer(rank, timeline, mem_nodes);
  writer.NumberNodes();
  ConvertedRank out{.rank = rank.rank,
                    .path = path,
                    .nodes = timeline.items.size(),
                    .transfers = rank.transfers.size(),
                    .recorded_operations = rank.list.operations.size()};
  for (const Item& item : timeline.items) {
    out.edges += item.deps.size();
  }
  REPRISE_TRY(WriteNodes(writer, timeline.items.size(), rank.rank, costs, *file));
  REPRISE_TRY(file->Close());
  return out;
}

}  // namespace reprise::pytorch
