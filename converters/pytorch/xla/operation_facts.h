// What the statistics of an event, and of what it refers to, say of an operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "converters/pytorch/xla/hlo_collective.h"
#include "converters/pytorch/xla/xla_profile.h"
#include "core/operators.h"

namespace reprise::pytorch {

// Views hold as long as the event's message and the profile do.
struct OperationFacts {
  std::string_view name;  // of the event
  std::string_view hlo_op, hlo_module, category, tf_op, path, long_name;
  std::string_view kernel_details, memcpy_details, memset_details;
  std::int64_t program = -1, correlation = -1, step = -1, ordinal = -1;
  std::int64_t flops = -1, model_flops = -1, bytes = -1, raw_bytes = -1;
  // As far as its opcode is known.
  HloOpcode opcode;
  std::string_view start;  // of what ends here, or begins: the name of the operation that begins it

  // "jit(step)/dot_general"; empty: not known.
  [[nodiscard]] std::string_view Path() const;
  [[nodiscard]] std::int64_t Flops() const { return model_flops >= 0 ? model_flops : flops; }
  [[nodiscard]] std::int64_t Bytes() const { return bytes >= 0 ? bytes : raw_bytes; }
  // "all-reduce.1": of the operation, else of the event.
  [[nodiscard]] std::string_view Operation() const { return hlo_op.empty() ? name : hlo_op; }
};

// False: the event, or what it refers to, is malformed.
[[nodiscard]] bool ReadFacts(const XPlane& plane, std::string_view event, std::int64_t metadata,
                             OperationFacts& out);

// What the program says of it, else its own text.
[[nodiscard]] std::optional<HloCollective> TransferOf(const XlaProfile& profile,
                                                      const OperationFacts& facts);
[[nodiscard]] OpClass ClassOf(const XlaProfile& profile, const OperationFacts& facts);
// Where it stands in the program, "jit(step)/dot_general", else the module's name.
[[nodiscard]] std::string_view PathOf(const XlaProfile& profile, const OperationFacts& facts);

// "grid:16,1,1 block:512,1,1 regs:32": what follows `name`, up to a space; empty: there is none.
[[nodiscard]] std::string_view DetailOf(std::string_view details, std::string_view name);

}  // namespace reprise::pytorch
