// A host node's fields by name: members of the node before schema 1.0.2, attributes since.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "converters/pytorch/host/host_node.h"
#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/host/process_groups.h"
#include "converters/pytorch/host/string_pool.h"
#include "converters/pytorch/host/tensor_ranges.h"

namespace reprise::pytorch {

enum class HostField {
  kOther,  // means nothing here
  kRecordFunction,
  kSequence,
  kThread,
  kForwardThread,
  kScope,
  kSchema,
  kTensorRange,
  // of record_param_comms
  kCollective,
  kDType,
  kGroupName,
  kGroupDescription,
  kInElements,
  kOutElements,
  kInSplits,
  kOutSplits,
  kGroupSize,
  kRankStart,
  kRankStride,
  kAsync,
};
[[nodiscard]] inline HostField HostFieldOf(std::string_view name) {
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
      {"global_rank_start", HostField::kRankStart},
      {"global_rank_stride", HostField::kRankStride},
      {"is_asynchronized_op", HostField::kAsync},
  };
  const auto* const found = std::find_if(std::begin(kFields), std::end(kFields),
                                         [&](const auto& field) { return field.first == name; });
  return found == std::end(kFields) ? HostField::kOther : found->second;
}

// `Element` is simdjson's or PlainJson's.
template <typename Element>
class HostFields {
 public:
  HostFields(BatchStrings& strings, HostNode& node, std::uint8_t& oddities)
      : strings_(strings), node_(node), oddities_(oddities) {}

  void Read(HostField field, const Element& value) {
    switch (field) {
      case HostField::kOther:
        return;
      case HostField::kRecordFunction:
        return Take(value, node_.rf_id);
      case HostField::kSequence:
        return Take(value, node_.seq_id);
      case HostField::kThread:
        return Take(value, node_.thread);
      case HostField::kForwardThread:
        return Take(value, node_.forward_thread);
      case HostField::kScope: {
        std::int64_t scope = 0;
        Take(value, scope);
        node_.scope = static_cast<Scope>(scope);
        return;
      }
      case HostField::kSchema:
        node_.op_schema = strings_.Intern(Text(value));
        return;
      case HostField::kTensorRange:
        node_.tensor_ranges = ParseTensorRanges(Text(value));
        return;
      default:
        if (node_.comm == nullptr) {
          node_.comm = std::make_unique<CommAttributes>();
        }
        ReadComm(field, value, *node_.comm);
    }
  }

 private:
  void ReadComm(HostField field, const Element& value, CommAttributes& comm) {
    switch (field) {
      case HostField::kCollective:
        return Take(value, comm.collective);
      case HostField::kDType:
        return Take(value, comm.dtype);
      case HostField::kGroupName:
        return Take(value, comm.group_name);
      case HostField::kGroupDescription:
        return Take(value, comm.group_description);
      case HostField::kInElements:
        return Take(value, comm.in_elements);
      case HostField::kOutElements:
        return Take(value, comm.out_elements);
      case HostField::kInSplits:
        return Take(value, comm.in_splits, comm.splits_cut);
      case HostField::kOutSplits:
        return Take(value, comm.out_splits, comm.splits_cut);
      case HostField::kGroupSize:
        return Take(value, comm.group_size);
      case HostField::kRankStart:
        return Take(value, comm.rank_start);
      case HostField::kRankStride:
        return Take(value, comm.rank_stride);
      default:
        comm.async = Truth(value);
    }
  }

  void Take(const Element& value, std::string& out) { out = Text(value); }
  void Take(const Element& value, std::vector<std::int64_t>& out, bool& cut) {
    out = ParseIntegerList(Text(value), cut);
  }
  void Take(const Element& value, std::optional<std::int64_t>& out) {
    std::int64_t number = 0;
    if (value.get(number) == simdjson::SUCCESS) {
      out = number;
    } else {
      oddities_ |= kUnreadableAttribute;
    }
  }
  void Take(const Element& value, std::int64_t& out) {
    if (value.get(out) != simdjson::SUCCESS) {
      oddities_ |= kUnreadableAttribute;
    }
  }

  std::string_view Text(const Element& value) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      oddities_ |= kUnreadableAttribute;
    }
    return text;
  }

  // {"name": "is_asynchronized_op", "type": "string", "value": false}
  bool Truth(const Element& value) {
    bool out = false;
    if (value.get(out) == simdjson::SUCCESS) {
      return out;
    }
    const std::string_view text = Text(value);
    return text == "true" || text == "True" || text == "1";
  }

  BatchStrings& strings_;
  HostNode& node_;
  std::uint8_t& oddities_;
};

}  // namespace reprise::pytorch
