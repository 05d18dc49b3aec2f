#include "converters/pytorch/xla/hlo_modules.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "converters/message_fields.h"
#include "converters/pytorch/xla/hlo_groups.h"
#include "converters/pytorch/xla/hlo_text.h"

namespace reprise::pytorch {
namespace {

// XLA's numbers of element types (xla/xla_data.proto).
constexpr std::pair<std::uint64_t, std::string_view> kElementTypes[] = {
    {1, "pred"},        {2, "s8"},          {3, "s16"},     {4, "s32"},     {5, "s64"},
    {6, "u8"},          {7, "u16"},         {8, "u32"},     {9, "u64"},     {10, "f16"},
    {11, "f32"},        {12, "f64"},        {15, "c64"},    {16, "bf16"},   {18, "c128"},
    {19, "f8e5m2"},     {20, "f8e4m3fn"},   {21, "s4"},     {22, "u4"},     {23, "f8e4m3b11fnuz"},
    {24, "f8e5m2fnuz"}, {25, "f8e4m3fnuz"}, {28, "f8e4m3"}, {29, "f8e3m4"}, {32, "f4e2m1fn"},
    {33, "f8e8m0fnu"}};

constexpr std::pair<std::string_view, OpClass> kHloClasses[] = {
    {"dot", OpClass::kGemm},
    {"convolution", OpClass::kConv},
    {"reduce", OpClass::kReduction},
    {"reduce-window", OpClass::kPool},
    {"sort", OpClass::kSort},
    {"copy", OpClass::kCopy},
    {"copy-start", OpClass::kCopy},
    {"transpose", OpClass::kCopy},
    {"data formatting", OpClass::kCopy},
    {"broadcast", OpClass::kFill},
    {"iota", OpClass::kFill},
    {"gather", OpClass::kIndex},
    {"scatter", OpClass::kIndex},
    {"slice", OpClass::kIndex},
    {"dynamic-slice", OpClass::kIndex},
    {"dynamic-update-slice", OpClass::kIndex},
    {"rng", OpClass::kRandom},
    {"rng-bit-generator", OpClass::kRandom},
    {"loop fusion", OpClass::kElementwise},
    {"non-fusion elementwise", OpClass::kElementwise},
};

struct Shape {
  std::string_view type;
  std::int64_t bytes = -1;  // -1: not known
};

// Of an array, or the sum of a tuple's.
bool ReadShape(std::string_view message, Shape& out, int depth = 0) {
  constexpr int kMostDepth = 16;
  std::uint64_t type = 0;
  std::vector<std::int64_t> sizes;
  std::int64_t parts = 0;
  std::int64_t sum = 0;
  const bool sound = ForEachMessageField(message, [&](const MessageField& field) {
    if (field.Is(2, WireType::kVarint)) {
      type = field.bits;
    } else if (field.number == 3) {
      return AppendHloIntegers(field, sizes);
    } else if (field.Is(4, WireType::kBytes)) {
      Shape part;
      if (depth == kMostDepth || !ReadShape(field.bytes, part, depth + 1)) {
        return false;
      }
      ++parts;
      sum = sum < 0 || part.bytes < 0 ? -1 : sum + part.bytes;
      out.type = out.type.empty() ? part.type : out.type;
    }
    return true;
  });
  if (parts > 0) {
    out.bytes = sum;
    return sound;
  }
  const auto* const known =
      std::ranges::find(kElementTypes, type, [](const auto& one) { return one.first; });
  if (known == std::end(kElementTypes)) {
    return sound;
  }
  out.type = known->second;
  constexpr std::int64_t kMostBits = std::int64_t{1} << 49;
  std::int64_t bits = HloTypeBits(out.type);
  for (const std::int64_t size : sizes) {
    if (size < 0 || (size > 0 && bits > kMostBits / size)) {
      return sound;
    }
    bits *= size;
  }
  out.bytes = (bits + 7) / 8;
  return sound;
}

struct RawInstruction {
  std::int64_t id = -1;
  std::string_view name, opcode, op_path;
  std::string_view shape;
  std::vector<std::int64_t> operands, called;
  bool says_groups = false;
  HloCollective collective;
};

bool ReadInstruction(std::string_view message, RawInstruction& out) {
  return ForEachMessageField(message, [&out](const MessageField& field) {
    HloCollective& collective = out.collective;
    switch (field.number) {
      case 1:
        out.name = field.bytes;
        return true;
      case 2:
        out.opcode = field.bytes;
        return true;
      case 3:
        out.shape = field.bytes;
        return true;
      case 7:
        return ForEachMessageField(field.bytes, [&out](const MessageField& part) {
          out.op_path = part.Is(2, WireType::kBytes) ? part.bytes : out.op_path;
          return true;
        });
      case 26:
        collective.has_channel = static_cast<std::int64_t>(field.bits) > 0;
        return true;
      case 35:
        out.id = static_cast<std::int64_t>(field.bits);
        return true;
      case 36:
        return AppendHloIntegers(field, out.operands);
      case 38:
        return AppendHloIntegers(field, out.called);
      case 49:
        out.says_groups = collective.has_groups = true;
        return ReadHloGroup(field.bytes, collective.groups);
      case 52: {
        std::pair<std::int64_t, std::int64_t> pair(0, 0);
        const bool sound = ForEachMessageField(field.bytes, [&pair](const MessageField& part) {
          pair.first = part.number == 1 ? static_cast<std::int64_t>(part.bits) : pair.first;
          pair.second = part.number == 2 ? static_cast<std::int64_t>(part.bits) : pair.second;
          return true;
        });
        collective.pairs.push_back(pair);
        return sound;
      }
      case 68:  // frontend_attributes
        return ForEachMessageField(field.bytes, [&collective](const MessageField& entry) {
          std::string_view name;
          std::string_view value;
          const bool sound = ForEachMessageField(entry.bytes, [&](const MessageField& part) {
            name = part.Is(1, WireType::kBytes) ? part.bytes : name;
            value = part.Is(2, WireType::kBytes) ? part.bytes : value;
            return true;
          });
          if (name == kHloSendPairs) {
            collective.pairs = ParseHloPairs(value);
          }
          return sound;
        });
      case 71:
        collective.flattened = field.bits != 0;
        return true;
      case 87:
        out.says_groups = true;
        collective.groups.clear();
        return ReadHloDevices(field.bytes, collective);
      case 92:
        out.says_groups = true;
        return ReadHloIota(field.bytes, collective);
      case 93:
        out.says_groups = true;
        return ReadHloMesh(field.bytes, collective);
      default:
        return true;
    }
  });
}

// The instructions of all computations.
class ModuleReader {
 public:
  explicit ModuleReader(HloModule& out) : out_(out) {}

  // Instructions stand behind those that they use.
  bool Computation(std::string_view message) {
    std::unordered_map<std::int64_t, std::string_view> shapes;  // by instruction
    std::vector<HloCollective> transfers;
    std::int64_t id = -1;
    const bool sound = ForEachMessageField(message, [&](const MessageField& field) {
      if (field.Is(5, WireType::kVarint)) {
        id = static_cast<std::int64_t>(field.bits);
      }
      if (!field.Is(2, WireType::kBytes) || instructions_left_ == 0) {
        return true;
      }
      --instructions_left_;
      RawInstruction one;
      const bool read = ReadInstruction(field.bytes, one);
      shapes.emplace(one.id, one.shape);
      Keep(one, shapes, transfers);
      return read;
    });
    if (!transfers.empty()) {
      wrapped_.emplace(id, std::move(transfers.back()));
    }
    return sound;
  }

 private:
  void Keep(RawInstruction& one, const std::unordered_map<std::int64_t, std::string_view>& shapes,
            std::vector<HloCollective>& transfers) {
    HloInstruction kept{.op_class = ClassOfHlo(one.opcode, one.op_path),
                        .op_path = std::string(one.op_path),
                        .transfer = std::nullopt};
    const HloOpcode opcode = ParseHloOpcode(one.opcode);
    if (opcode.transfer && opcode.part != HloPart::kDone) {
      one.collective.kind = *opcode.transfer;
      // All are one group where there is no list, which has to be there for flattened ids.
      one.collective.has_groups =
          one.says_groups ? one.collective.has_groups : !one.collective.flattened;
      for (const std::vector<std::int64_t>& group : one.collective.groups) {
        ids_left_ -= std::ssize(group);
      }
      if (ids_left_ < 0) {  // a few bytes can name many
        one.collective.groups.clear();
        one.collective.has_groups = false;
      }
      Sizes(one, opcode.part, shapes);
      kept.transfer = std::move(one.collective);
      transfers.assign(1, *kept.transfer);
    } else if (one.opcode == "async-start") {  // of a computation that is one transfer
      for (const std::int64_t called : one.called) {
        if (const auto found = wrapped_.find(called); found != wrapped_.end()) {
          kept.transfer = found->second;
        }
      }
    }
    if (kept.transfer || kept.op_class != OpClass::kOther || !kept.op_path.empty()) {
      out_.instructions.insert_or_assign(std::string(one.name), std::move(kept));
    }
  }

  static void Sizes(RawInstruction& one, HloPart part,
                    const std::unordered_map<std::int64_t, std::string_view>& shapes) {
    std::int64_t sum = one.operands.empty() ? -1 : 0;
    for (const std::int64_t operand : one.operands) {
      const auto found = shapes.find(operand);
      Shape shape;
      const bool known = found != shapes.end() && ReadShape(found->second, shape);
      if (known && one.collective.type.empty()) {
        one.collective.type = shape.type;
      }
      if (known && shape.type.empty()) {
        continue;  // a token, which holds nothing
      }
      sum = sum < 0 || !known || shape.bytes < 0 ? -1 : sum + shape.bytes;
    }
    one.collective.operand_bytes = sum;
    Shape result;
    if (part == HloPart::kWhole && ReadShape(one.shape, result)) {
      one.collective.result_bytes = result.bytes;
    }
  }

  HloModule& out_;
  std::int64_t instructions_left_ = 1 << 21;
  std::int64_t ids_left_ = 1 << 24;                          // that groups may name
  std::unordered_map<std::int64_t, HloCollective> wrapped_;  // by computation
};

bool ReadAssignment(std::string_view message, HloAssignment& out) {
  return ForEachMessageField(message, [&out](const MessageField& field) {
    out.replicas = field.number == 1 ? static_cast<std::int64_t>(field.bits) : out.replicas;
    out.partitions = field.number == 2 ? static_cast<std::int64_t>(field.bits) : out.partitions;
    return !field.Is(3, WireType::kBytes) ||
           ForEachMessageField(field.bytes, [&out](const MessageField& part) {
             return part.number != 1 || AppendHloIntegers(part, out.devices);
           });
  });
}

}  // namespace

bool ReadHloProto(std::string_view message, HloModule& out) {
  ModuleReader reader(out);
  const bool sound = ForEachMessageField(message, [&](const MessageField& field) {
    return !field.Is(1, WireType::kBytes) ||
           ForEachMessageField(field.bytes, [&](const MessageField& part) {
             return part.Is(3, WireType::kBytes)    ? reader.Computation(part.bytes)
                    : part.Is(15, WireType::kBytes) ? ReadAssignment(part.bytes, out.assignment)
                                                    : true;
           });
  });
  const HloAssignment& said = out.assignment;
  constexpr std::int64_t kMostParts = 1 << 20;
  if (said.replicas < 1 || said.partitions < 1 || said.replicas > kMostParts / said.partitions ||
      std::ssize(said.devices) != said.replicas * said.partitions) {
    out.assignment = {};
  }
  return sound;
}

OpClass ClassOfHlo(std::string_view category_or_opcode, std::string_view op_path) {
  std::string_view primitive = op_path.substr(0, op_path.find_last_not_of(':') + 1);
  primitive = primitive.substr(primitive.rfind('/') + 1);
  if (primitive == "dot_general") {
    return OpClass::kGemm;
  }
  if (primitive == "conv_general_dilated") {
    return OpClass::kConv;
  }
  const auto* const known =
      std::ranges::find(kHloClasses, category_or_opcode, [](const auto& one) { return one.first; });
  if (known != std::end(kHloClasses)) {
    return known->second;
  }
  return category_or_opcode == "convolution fusion" ? OpClass::kConv : OpClass::kOther;
}

}  // namespace reprise::pytorch
