// An instruction of XLA as text, as profiles of TPUs have it:
//   %all-reduce.1 = f32[5,256]{1,0:T(8,128)} all-reduce(f32[5,256]{1,0} %add), channel_id=1,
//   replica_groups=[4,2]<=[2,4]T(1,0), use_global_device_ids=true, to_apply=%sum
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/pytorch/xla/hlo_collective.h"

namespace reprise::pytorch {

struct HloText {
  std::string_view name;          // "all-reduce.1"
  std::string_view opcode;        // "all-reduce"
  std::string_view last_operand;  // "add"; empty: none is named
};
// Nothing: it is no instruction.
[[nodiscard]] std::optional<HloText> ParseHloText(std::string_view text);
// "{{0,1},{1,2}}": source and target of each. The attribute of sends and receives that has them.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> ParseHloPairs(
    std::string_view text);
inline constexpr std::string_view kHloSendPairs = "_xla_send_recv_source_target_pairs";
// Nothing: it is no transfer, or its end ("-done").
[[nodiscard]] std::optional<HloCollective> ParseHloTransfer(std::string_view text);

}  // namespace reprise::pytorch
