// Programs of XLA as the plane "/host:metadata" has them (HloProto; xla/service/hlo.proto): what
// their instructions say of transfers, and their opcodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "converters/pytorch/xla/hlo_collective.h"
#include "core/operators.h"

namespace reprise::pytorch {

struct HloInstruction {
  OpClass op_class = OpClass::kOther;  // as the opcode says it
  std::string op_path;                 // "jit(step)/dot_general"
  std::optional<HloCollective> transfer;
};

struct HloModule {
  std::unordered_map<std::string, HloInstruction> instructions;  // by name
  HloAssignment assignment;
  [[nodiscard]] const HloInstruction* Find(std::string_view name) const {
    const auto found = instructions.find(std::string(name));
    return found == instructions.end() ? nullptr : &found->second;
  }
};

// False: malformed.
[[nodiscard]] bool ReadHloProto(std::string_view message, HloModule& out);

// By a category of TPUs or an opcode; kOther: neither says it.
[[nodiscard]] OpClass ClassOfHlo(std::string_view category_or_opcode, std::string_view op_path);

}  // namespace reprise::pytorch
