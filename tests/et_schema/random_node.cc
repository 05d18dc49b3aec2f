#include "tests/et_schema/random_node.h"

#include <array>
#include <limits>

namespace reprise {

std::int64_t RandomNodes::RandomInt() {
  switch (Below(5)) {
    case 0:
      return std::numeric_limits<std::int64_t>::max() - Below(3);
    case 1:
      return std::numeric_limits<std::int64_t>::min() + Below(3);
    case 2:
      return -Below(1000);
    default:
      return Below(100000);
  }
}

double RandomNodes::RandomDouble() {
  constexpr std::array kSpecial = {0.0,
                                   -0.0,
                                   1.0,
                                   1e22,
                                   -1e-5,
                                   0.1,
                                   std::numeric_limits<double>::denorm_min(),
                                   std::numeric_limits<double>::max(),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity()};
  if (Coin()) {
    return kSpecial.at(static_cast<std::size_t>(Below(kSpecial.size())));
  }
  return std::normal_distribution<double>(0, 1e6)(random_);
}

std::string RandomNodes::RandomText() {
  constexpr std::array<const char*, 14> kPieces = {
      "'",  "\"",     "\\", "\n",   "a, b]", "[", "grün",
      "漢", "\x01\t", "∞",  "None", "True",  "🚀", "aten::mm(Tensor(a!) self)"};
  std::string out;
  for (std::int64_t i = Below(5); i > 0; --i) {
    out += kPieces.at(static_cast<std::size_t>(Below(kPieces.size())));
  }
  return out;
}

TensorDesc RandomNodes::RandomTensor() {
  TensorDesc t;
  t.tensor_id = RandomInt();
  t.storage_id = RandomInt();
  t.incarnation = Below(1000) - 1;
  t.offset = Below(100);
  t.dtype = static_cast<DType>(Below(15));
  for (std::int64_t i = Below(5); i > 0; --i) {
    t.shape.push_back(Below(20));
  }
  t.elements = Coin() ? ElementCount(t.shape) : RandomInt();
  t.strides = ContiguousStrides(t.shape);
  if (Coin()) {
    for (std::int64_t& stride : t.strides) {
      stride = RandomInt();
    }
  }
  t.device = Coin() ? "cpu" : Coin() ? "cuda:0" : RandomText();
  return t;
}

ValueList RandomNodes::RandomList(int depth) {
  ValueList list;
  for (std::int64_t i = Below(5); i > 0; --i) {
    list.push_back(RandomValue(depth));
  }
  return list;
}

Value RandomNodes::RandomValue(int depth) {
  switch (Below(depth > 0 ? 8 : 7)) {
    case 0:
      return {};
    case 1:
      return {Coin()};
    case 2:
      return {RandomInt()};
    case 3:
      return {RandomDouble()};
    case 4:
      return {Below(4) == 0 ? std::string("<None>") : RandomText()};
    case 7:
      return {RandomList(depth - 1)};
    default:
      return {RandomTensor()};
  }
}

CommSpec RandomNodes::RandomComm(NodeType type) {
  CommSpec spec;
  const bool p2p = type != NodeType::kCommColl;
  spec.kind = type == NodeType::kCommSend   ? CommKind::kSend
              : type == NodeType::kCommRecv ? CommKind::kRecv
                                            : static_cast<CommKind>(Below(9));
  spec.group = RandomText();
  spec.certainty = static_cast<GroupCertainty>(Below(3));
  spec.index = Below(100);
  spec.sequence = Below(100) - 1;
  spec.dtype = static_cast<DType>(Below(15));
  spec.in_bytes = Below(1 << 20);
  spec.out_bytes = Below(1 << 20);
  spec.largest_bytes = Coin() ? -1 : Below(1 << 20);
  for (std::int64_t i = Below(3); i > 0; --i) {
    spec.in_splits.push_back(RandomInt());
    spec.out_splits.push_back(Below(3));
  }
  spec.root = static_cast<std::int32_t>(Below(5) - 1);
  spec.peer = p2p ? static_cast<std::int32_t>(Below(5) - 1) : -1;
  spec.tag = static_cast<std::int32_t>(Below(7) - 3);
  spec.op = static_cast<ReduceOp>(Below(9));
  spec.op_recorded = Coin();
  spec.async = Coin();
  spec.send_end = static_cast<SendEnd>(Below(3));
  spec.state = static_cast<TransferState>(Below(3));
  spec.unmatched = Coin();
  spec.issued_ns = RandomInt();
  spec.noticed_start_ns = RandomInt();
  spec.noticed_end_ns = RandomInt();
  spec.outside = spec.send_end == SendEnd::kUnreceived || spec.unmatched;
  return spec;
}

StorageWork RandomNodes::RandomStorage() {
  const auto number = [this] { return static_cast<std::uint64_t>(RandomInt()); };
  const auto small = [this] { return static_cast<std::int32_t>(Below(12)) - 1; };
  StorageWork work{.level = small()};
  switch (Below(4)) {
    case 0:
      work.detail = FileOperation{small(), RandomText(), small(), number(), number(), 3U};
      break;
    case 1:
      work.detail = PageOperation{small(), number(), number(), 9U};
      break;
    case 2:
      work.detail = BlockOperation{small(), small(), RandomText(), number(), 8U, 1U};
      break;
    default:
      break;
  }
  return work;
}

Node RandomNodes::Next() {
  Node node;
  node.id = next_id_;
  next_id_ += static_cast<std::uint64_t>(1 + Below(3));
  node.name = RandomText();
  node.type = static_cast<NodeType>(Below(11));
  node.kind = static_cast<OpKind>(Below(5));
  node.op_class = static_cast<OpClass>(Below(20));
  node.actor = {static_cast<Actor::Kind>(Below(3)), RandomInt(),
                static_cast<std::int32_t>(Below(4) - 1)};
  for (std::int64_t i = ids_.empty() ? 0 : Below(4); i > 0; --i) {
    node.deps.push_back(
        {.node_id = ids_[static_cast<std::size_t>(Below(static_cast<std::int64_t>(ids_.size())))],
         .reason = static_cast<EdgeReason>(Below(10)),
         .inferred = Coin()});
  }
  ids_.push_back(node.id);
  clock_ns_ += Below(5000);
  node.start_ns = clock_ns_;
  node.duration_ns = Below(10000);
  node.delay_ns = Below(100) - 10;
  node.transfer_ns = Below(3) - 1;
  node.tracing_ns = Below(100);
  node.tracing_delay_ns = Below(3);
  node.step = static_cast<std::int32_t>(Below(4) - 1);
  node.rf_id = Below(1000) - 1;
  node.seq_id = Below(1000) - 1;
  node.parent = RandomText();
  node.inputs = RandomList(3);
  node.outputs = RandomList(2);
  node.op_schema = RandomText();
  node.num_ops = Below(3) - 1;
  node.results_inferred = Coin();
  node.untimed = Coin();
  node.tensor_bytes = Below(3) - 1;
  node.op = Coin() ? RandomText() : std::string();
  node.op_source = Coin() ? OpSource::kGraphRecording : OpSource::kLaunch;
  node.rescaled = Coin() ? Rescaled::kShard : Rescaled::kNo;
  node.graph = static_cast<std::int32_t>(Below(4) - 1);
  if (Coin()) {
    const auto number = [this] { return static_cast<std::int32_t>(Below(5)); };
    node.device_work = DeviceWork{.correlation = RandomInt(),
                                  .launch_recorded = Coin(),
                                  .grid = {number(), number(), number()},
                                  .block = {number(), number(), number()},
                                  .registers_per_thread = number() - 1,
                                  .shared_memory_bytes = Below(100) - 1,
                                  .copied_bytes = Below(3) - 1};
  }
  if (IsTransfer(node.type)) {
    node.comm = RandomComm(node.type);
  }
  if (IsStorage(node.type)) {
    node.storage = RandomStorage();
  }
  return node;
}

}  // namespace reprise
