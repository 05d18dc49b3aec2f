#include "converters/pytorch/host/host_fields.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace reprise::pytorch {

HostField HostFieldOf(std::string_view name) {
  constexpr std::pair<std::string_view, HostField> kFields[] = {
      {"rf_id", HostField::kRecordFunction},
      {"seq_id", HostField::kSequence},
      {"tid", HostField::kThread},
      {"fw_tid", HostField::kForwardThread},
      {"scope", HostField::kScope},
      {"op_schema", HostField::kSchema},
      {"tensor_range", HostField::kTensorRange},
      {"collective_name", HostField::kCollective},
      {"dtype", HostField::kDType},
      {"pg_name", HostField::kGroupName},
      {"pg_desc", HostField::kGroupDescription},
      {"in_msg_nelems", HostField::kInElements},
      {"out_msg_nelems", HostField::kOutElements},
      {"in_split_size", HostField::kInSplits},
      {"out_split_size", HostField::kOutSplits},
      {"pg_size", HostField::kGroupSize},
      {"is_asynchronized_op", HostField::kAsync},
  };
  const auto* const found = std::find_if(std::begin(kFields), std::end(kFields),
                                         [&](const auto& field) { return field.first == name; });
  return found == std::end(kFields) ? HostField::kOther : found->second;
}

}  // namespace reprise::pytorch
