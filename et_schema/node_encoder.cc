// Nodes → Chakra's messages (et_def.proto), in the order in which protobuf would write them.
#include "et_schema/node_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "et_schema/args.h"
#include "et_schema/attribute_writer.h"
#include "et_schema/io.h"
#include "et_schema/message_reader.h"
#include "et_schema/raw_node.h"
#include "et_schema/storage_codec.h"

namespace reprise {
namespace {

// Field numbers of et_def.proto.
namespace node_field {
constexpr std::uint32_t kId = 1, kName = 2, kType = 3, kCtrlDeps = 4, kDataDeps = 5;
constexpr std::uint32_t kStartMicros = 6, kDurationMicros = 7, kInputs = 8, kOutputs = 9;
constexpr std::uint32_t kAttr = 10;
}  // namespace node_field
namespace io_field {
constexpr std::uint32_t kValues = 1, kShapes = 2, kTypes = 3;
}

std::int64_t CollectiveNumber(CommKind kind) {
  return std::find(kCollectiveTypes.begin(), kCollectiveTypes.end(), kind) -
         kCollectiveTypes.begin();
}

// What an attribute is written of.
struct Context {
  std::string_view name;
  const Node& node;
  std::int32_t rank;
};
template <Attribute A>
using Of = std::integral_constant<Attribute, A>;

// ---- Attributes whose value or presence is not that of one member. ----

// Simulators stop at a device node without a cost, wait without end for one with zeros, and stop at
// one of no time at all: 64 KiB are some nanoseconds on any device.
bool CostIsUnknown(const Node& node) {
  return node.num_ops < 0 && node.tensor_bytes < 0 && node.type == NodeType::kComp &&
         node.actor.kind != Actor::Kind::kThread;
}
void PutOwn(Of<Attribute::kNumOps>, const Context& c, Attributes& out) {
  out.PutIf<field::Int64>(CostIsUnknown(c.node) || c.node.num_ops != -1, c.name,
                          CostIsUnknown(c.node) ? 1 : c.node.num_ops);
}
void PutOwn(Of<Attribute::kTensorSize>, const Context& c, Attributes& out) {
  out.PutIf<field::Uint64>(CostIsUnknown(c.node) || c.node.tensor_bytes >= 0, c.name,
                           CostIsUnknown(c.node) ? 1 << 16 : c.node.tensor_bytes);
}
void PutOwn(Of<Attribute::kCostKnown>, const Context& c, Attributes& out) {
  out.PutIf<field::Bool>(CostIsUnknown(c.node), c.name, false);
}

// Simulators run a transfer as one only if it is not a CPU operation.
void PutOwn(Of<Attribute::kIsCpuOp>, const Context& c, Attributes& out) {
  const bool thread = c.node.actor.kind == Actor::Kind::kThread;
  out.Put<field::Bool>(c.name, thread && !IsTransfer(c.node.type));
}
void PutOwn(Of<Attribute::kActor>, const Context& c, Attributes& out) {
  out.PutIf<field::Text>(c.node.actor.kind != Actor::Kind::kThread, c.name,
                         Name(c.node.actor.kind));
}
void PutOwn(Of<Attribute::kStream>, const Context& c, Attributes& out) {
  out.PutIf<field::Int64>(c.node.actor.kind == Actor::Kind::kStream, c.name, c.node.actor.id);
}
void PutOwn(Of<Attribute::kTid>, const Context& c, Attributes& out) {
  out.PutIf<field::Int64>(c.node.actor.kind != Actor::Kind::kStream, c.name, c.node.actor.id);
}
void PutOwn(Of<Attribute::kDevice>, const Context& c, Attributes& out) {
  out.PutIf<field::Int32>(c.node.actor.device != -1, c.name, c.node.actor.device);
}
void PutOwn(Of<Attribute::kDepReasons>, const Context& c, Attributes& out) {
  constexpr std::int32_t kInferredBit = 128;
  if (c.node.deps.empty()) {
    return;
  }
  std::vector<std::int32_t> reasons;
  for (const Dependency& dep : c.node.deps) {
    reasons.push_back(static_cast<std::int32_t>(dep.reason) | (dep.inferred ? kInferredBit : 0));
  }
  out.Put<field::Int32List>(c.name, reasons);
}

bool HasGeometry(const DeviceWork& work) {
  return work.grid != DeviceWork().grid || work.block != DeviceWork().block;
}
void PutOwn(Of<Attribute::kGrid>, const Context& c, Attributes& out) {
  out.PutIf<field::Int32Triple>(HasGeometry(*c.node.device_work), c.name, c.node.device_work->grid);
}
void PutOwn(Of<Attribute::kBlock>, const Context& c, Attributes& out) {
  out.PutIf<field::Int32Triple>(HasGeometry(*c.node.device_work), c.name,
                                c.node.device_work->block);
}

void PutOwn(Of<Attribute::kCommType>, const Context& c, Attributes& out) {
  const CommKind kind = c.node.comm->kind;
  out.PutIf<field::Int64>(!IsPointToPoint(kind) && kind != CommKind::kUnknown, c.name,
                          CollectiveNumber(kind));
}
void PutOwn(Of<Attribute::kCommSrc>, const Context& c, Attributes& out) {
  const CommSpec& spec = *c.node.comm;
  const std::int32_t source = spec.kind == CommKind::kSend ? c.rank : spec.peer;
  out.PutIf<field::Int32>(IsPointToPoint(spec.kind) && source >= 0, c.name, source);
}
void PutOwn(Of<Attribute::kCommDst>, const Context& c, Attributes& out) {
  const CommSpec& spec = *c.node.comm;
  const std::int32_t destination = spec.kind == CommKind::kSend ? spec.peer : c.rank;
  out.PutIf<field::Int32>(IsPointToPoint(spec.kind) && destination >= 0, c.name, destination);
}
// Simulators read that of a send or receive without asking whether it is there. That of a
// collective follows its group, as it always did.
void PutOwn(Of<Attribute::kCommTag>, const Context& c, Attributes& out) {
  out.PutIf<field::Int32>(IsPointToPoint(c.node.comm->kind), c.name, c.node.comm->tag);
}
void PutOwn(Of<Attribute::kPgName>, const Context& c, Attributes& out) {
  out.PutIf<field::Text>(!c.node.comm->group.empty(), c.name, c.node.comm->group);
  out.PutIf<field::Int32>(!IsPointToPoint(c.node.comm->kind) && c.node.comm->tag != 0,
                          Name(Attribute::kCommTag), c.node.comm->tag);
}
// Simulators match the members of a collective by this size, so all have the largest. An unknown
// size has none of the three attributes.
void PutOwn(Of<Attribute::kCommSize>, const Context& c, Attributes& out) {
  const CommSpec& spec = *c.node.comm;
  out.PutIf<field::Int64>(spec.bytes_known, c.name,
                          spec.largest_bytes >= 0 ? spec.largest_bytes : ContributedBytes(spec));
}
void PutOwn(Of<Attribute::kCommInBytes>, const Context& c, Attributes& out) {
  out.PutIf<field::Int64>(c.node.comm->bytes_known, c.name, c.node.comm->in_bytes);
}
void PutOwn(Of<Attribute::kCommOutBytes>, const Context& c, Attributes& out) {
  out.PutIf<field::Int64>(c.node.comm->bytes_known, c.name, c.node.comm->out_bytes);
}

// ---- All others, by their row. ----

template <typename Row>
concept HasOwn = requires(const Context& context, Attributes& out) {
  PutOwn(Of<Row::kAttribute>{}, context, out);
};
// The rows of a table, whose members `owner` has.
template <typename Table, typename Owner>
void PutFields(const Table& table, const Node& node, std::int32_t rank, const Owner& owner,
               Attributes& out) {
  ForEachAttribute(table, [&]<typename Row>(const Row& row) {
    if constexpr (!HasMember<Row> || HasOwn<Row>) {
      PutOwn(Of<Row::kAttribute>{}, {row.name, node, rank}, out);
    } else {
      out.PutIf<WrittenAs<Row>>(row.written.always || !row.IsDefault(owner), row.name,
                                row.Of(owner));
    }
  });
}

void FillSide(std::uint32_t field, const IoText& side, WireBuffer& out) {
  out.Nested(field, [&] {
    out.TextField(io_field::kValues, side.values);
    out.TextField(io_field::kShapes, side.shapes);
    out.TextField(io_field::kTypes, side.types);
  });
}

std::uint64_t WholeMicros(std::int64_t ns) {
  return ns > 0 ? static_cast<std::uint64_t>(ns) / 1000 : 0;
}

void FillAttributes(const Node& node, std::int32_t rank, Attributes& attributes) {
  PutFields(kNodeFields, node, rank, node, attributes);
  if (node.device_work) {
    PutFields(kDeviceFields, node, rank, *node.device_work, attributes);
  }
  if (node.comm) {
    PutFields(kTransferFields, node, rank, *node.comm, attributes);
  }
}

// All dependencies are data_deps, since most readers look at no other field; those that only order
// are ctrl_deps as well, as Chakra distinguishes them.
void FillDependencies(const Node& node, WireBuffer& out) {
  const auto fill = [&](std::uint32_t field, const auto& belongs) {
    if (std::any_of(node.deps.begin(), node.deps.end(), belongs)) {
      out.Nested(field, [&] {
        for (const Dependency& dep : node.deps) {
          if (belongs(dep)) {
            out.Varint(dep.node_id);
          }
        }
      });
    }
  };
  fill(node_field::kCtrlDeps, [](const Dependency& dep) { return IsControl(dep.reason); });
  fill(node_field::kDataDeps, [](const Dependency& /*dep*/) { return true; });
}

void FillNode(const Node& node, std::int32_t rank, WireBuffer& out) {
  out.VarintField(node_field::kId, node.id);
  out.TextField(node_field::kName, node.name);
  out.VarintField(node_field::kType, static_cast<std::uint64_t>(node.type));
  FillDependencies(node, out);
  out.VarintField(node_field::kStartMicros, WholeMicros(node.start_ns));
  out.VarintField(node_field::kDurationMicros, WholeMicros(node.duration_ns));
  Attributes attributes(out, node_field::kAttr);
  if (node.inputs.empty() && node.outputs.empty()) {
    FillAttributes(node, rank, attributes);
    return;
  }
  thread_local ArgText text;  // its memory, from node to node
  FormatArgs(node.inputs, node.outputs, text);
  FillSide(node_field::kInputs, text.inputs, out);
  FillSide(node_field::kOutputs, text.outputs, out);
  FillAttributes(node, rank, attributes);
  attributes.PutIf<field::Sint64List>(!text.incarnations.empty(),
                                      Name(Attribute::kTensorIncarnations), text.incarnations);
  attributes.PutIf<field::Sint64List>(!text.strides.empty(), Name(Attribute::kTensorStrides),
                                      text.strides);
}

// The kind of a transfer and the type of its node say the same twice.
Status CheckTransfer(const Node& node) {
  if (node.comm.has_value() != IsTransfer(node.type)) {
    return UsageError(fmt::format("node {} ({}): type {} {} a CommSpec", node.id, node.name,
                                  Name(node.type), node.comm ? "has no place for" : "needs"));
  }
  if (node.comm && node.type != TypeOfTransfer(node.comm->kind)) {
    return UsageError(fmt::format("node {} ({}): type {} but transfer {}", node.id, node.name,
                                  Name(node.type), Name(node.comm->kind)));
  }
  return {};
}

}  // namespace

Status AppendMessage(const WireBuffer& message, std::string_view what, std::string& out) {
  if (message.bytes().size() > MessageReader::kMaxMessageBytes) {
    return BadInput(fmt::format("{} is too large for a message of an .et file: {} bytes", what,
                                message.bytes().size()));
  }
  WireBuffer length;
  length.Varint(message.bytes().size());
  out += length.bytes();
  out += message.bytes();
  return {};
}

Status EncodeNode(const Node& node, std::int32_t rank, std::string& out,
                  std::span<const TextListAttribute> more) {
  REPRISE_TRY(CheckTransfer(node));
  thread_local WireBuffer message;  // its memory, from node to node
  message.clear();
  FillNode(node, rank, message);
  Attributes attributes(message, node_field::kAttr);
  for (const TextListAttribute& list : more) {
    attributes.TextList(list.name, list.values);
  }
  if (node.storage) {
    PutStorage(*node.storage, message);
  }
  return AppendMessage(message, node.name, out);
}

}  // namespace reprise
