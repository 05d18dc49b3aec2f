#include "converters/pytorch/rank_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "et_schema/io.h"

namespace reprise::pytorch {
namespace {

NodeType TransferType(CommKind kind) {
  return kind == CommKind::kSend   ? NodeType::kCommSend
         : kind == CommKind::kRecv ? NodeType::kCommRecv
                                   : NodeType::kCommColl;
}

class Writer {
 public:
  Writer(RankCapture& rank, Timeline& timeline) : rank_(rank), items_(timeline.items) {}

  void NumberNodes() {
    std::uint64_t next = rank_.host.highest_id + 1;
    ids_.reserve(items_.size());
    for (const Item& item : items_) {
      const bool own = item.kind != Item::Kind::kReturn && item.kind != Item::Kind::kWait;
      const HostNode* host = own ? HostOf(item.operation) : nullptr;
      ids_.push_back(host == nullptr ? next++ : host->id);
    }
  }

  Node Build(std::size_t i) {
    const Item& item = items_[i];
    Node node;
    node.id = ids_[i];
    node.start_ns = item.start_ns - rank_.base_ns;
    node.duration_ns = item.end_ns - item.start_ns;
    node.delay_ns = node.start_ns;
    if (!item.deps.empty()) {
      std::int64_t latest = INT64_MIN;
      for (const ItemDependency& dep : item.deps) {
        const Item& from = items_[static_cast<std::size_t>(dep.item)];
        latest = std::max(latest, from.end_ns);
        node.deps.push_back({ids_[static_cast<std::size_t>(dep.item)], dep.reason, dep.inferred});
      }
      node.delay_ns = item.start_ns - latest;
    }
    node.step = StepOf(node.start_ns);
    if (item.operation >= 0) {
      node.rf_id = Op(item.operation).rf_id;
      node.name = *Op(item.operation).name;
      node.parent = FrameOf(item.operation);
    }
    if (item.thread >= 0) {
      node.actor = {.kind = Actor::Kind::kThread,
                    .id = rank_.list.threads[static_cast<std::size_t>(item.thread)].number};
    }
    Fill(item, node);
    return node;
  }

 private:
  [[nodiscard]] const Operation& Op(std::int32_t i) const {
    return rank_.list.operations[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] HostNode* HostOf(std::int32_t operation) {
    const std::int32_t host = operation < 0 ? -1 : Op(operation).host;
    return host < 0 ? nullptr : &rank_.host.nodes[static_cast<std::size_t>(host)];
  }

  void Fill(const Item& item, Node& node) {
    switch (item.kind) {
      case Item::Kind::kOperation:
        FillOperation(item, node);
        break;
      case Item::Kind::kTransfer:
        FillTransfer(item, node);
        break;
      case Item::Kind::kWait:
        node.name = "c10d::wait";
        node.type = NodeType::kMetadata;
        node.kind = OpKind::kWait;
        node.op_class = OpClass::kHost;
        break;
      case Item::Kind::kIssue:
      case Item::Kind::kReturn:
      case Item::Kind::kStepEnd:
        node.type = NodeType::kMetadata;
        node.kind = OpKind::kMetadata;
        node.op_class = OpClass::kHost;
        break;
    }
  }

  void FillOperation(const Item& item, Node& node) {
    const OpInfo& info = rank_.roles[static_cast<std::size_t>(item.operation)].info;
    node.kind = info.kind;
    node.op_class = info.op_class;
    node.type = info.kind == OpKind::kWork ? NodeType::kComp : NodeType::kMetadata;
    if (HostNode* host = HostOf(item.operation)) {
      node.seq_id = host->seq_id;
      node.inputs = std::move(host->inputs);
      node.outputs = std::move(host->outputs);
      node.op_schema = *host->op_schema;
    }
  }

  void FillTransfer(const Item& item, Node& node) {
    TransferRecord& transfer = rank_.transfers[static_cast<std::size_t>(item.transfer)];
    node.kind = OpKind::kComm;
    node.op_class = OpClass::kComm;
    node.type = TransferType(transfer.arguments.spec.kind);
    node.actor = {.kind = Actor::Kind::kGroup};
    node.transfer_ns = transfer.transfer_ns;
    node.comm = transfer.arguments.spec;
    node.inputs = std::move(transfer.arguments.sent);
    node.outputs = std::move(transfer.arguments.received);
    if (transfer.call >= 0) {
      // The call says what it is: gloo's reduce_scatter runs as "gloo:all_reduce".
      node.name = *Op(transfer.call).name;
      node.parent = FrameOf(transfer.call);
    }
  }

  // The innermost composite around an operation.
  [[nodiscard]] std::string FrameOf(std::int32_t operation) const {
    for (std::int32_t at = Op(operation).parent; at >= 0; at = Op(at).parent) {
      if (rank_.roles[static_cast<std::size_t>(at)].role == Role::kFrame) {
        return *Op(at).name;
      }
    }
    return {};
  }

  [[nodiscard]] std::int32_t StepOf(std::int64_t start_ns) const {
    std::int32_t step = 0;
    for (std::size_t i = 0; i < rank_.steps.size(); ++i) {
      if (rank_.steps[i].start_ns <= start_ns) {
        step = static_cast<std::int32_t>(i);
      }
    }
    return step;
  }

  RankCapture& rank_;
  const std::vector<Item>& items_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace

Result<ConvertedRank> WriteRank(RankCapture& rank, Timeline& timeline, TraceMetadata metadata,
                                const std::string& path) {
  for (const auto& [name, counter] : rank.diagnostics.Snapshot()) {
    metadata.diagnostics.emplace_back(name, counter.count);
  }
  REPRISE_ASSIGN(auto file, EtWriter::Create(path, metadata));
  Writer writer(rank, timeline);
  writer.NumberNodes();
  ConvertedRank out{.rank = rank.rank,
                    .path = path,
                    .nodes = timeline.items.size(),
                    .transfers = rank.transfers.size(),
                    .recorded_operations = rank.list.operations.size()};
  for (std::size_t i = 0; i < timeline.items.size(); ++i) {
    out.edges += timeline.items[i].deps.size();
    REPRISE_TRY(file->Write(writer.Build(i)));
  }
  REPRISE_TRY(file->Close());
  return out;
}

}  // namespace reprise::pytorch
