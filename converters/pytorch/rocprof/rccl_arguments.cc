#include "converters/pytorch/rocprof/rccl_arguments.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

// The first of these arguments that is there, as a whole number.
std::optional<std::int64_t> IntegerArgument(const RocprofArguments& arguments,
                                            std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const auto& [own, value] : arguments) {
      if (own == name) {
        return ParseNumber<std::int64_t>(value);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

DType RcclDataType(std::string_view text) {
  constexpr std::array<DType, 12> kByNumber = {
      DType::kInt8,    DType::kUInt8,    DType::kInt32,      DType::kUnknown,  // 3: uint32
      DType::kInt64,   DType::kUnknown,  DType::kFloat16,    DType::kFloat32,  // 5: uint64
      DType::kFloat64, DType::kBFloat16, DType::kFloat8E4M3, DType::kFloat8E5M2};
  if (const auto number = ParseNumber<std::size_t>(text)) {
    return *number < kByNumber.size() ? kByNumber.at(*number) : DType::kUnknown;
  }
  std::string name = LowerCase(text);
  if (name.starts_with("nccl")) {
    name = name.substr(4);
  }
  return name == "char" ? DType::kInt8 : name == "half" ? DType::kFloat16 : ParseDType(name);
}

void AddRcclArguments(CommKind kind, const RocprofArguments* arguments, std::int64_t members,
                      EventArguments& args) {
  args.Add("Collective name", Name(kind));
  if (members > 0) {
    args.Add("Process Group Name", "rccl");
    args.Add("Process Group Description", "default_pg");
    args.Add("Group size", members);
  }
  if (arguments == nullptr) {
    return;
  }
  const auto type = std::ranges::find(*arguments, "datatype", &RocprofArguments::value_type::first);
  const DType dtype = type == arguments->end() ? DType::kUnknown : RcclDataType(type->second);
  const auto count = IntegerArgument(*arguments, {"count", "sendcount", "recvcount"});
  if (dtype != DType::kUnknown && count && *count >= 0) {
    args.Add("dtype", PyTorchName(dtype));
    // Of one block.
    const bool blocks = kind == CommKind::kAllToAll;
    const bool received =
        kind == CommKind::kReduceScatter || kind == CommKind::kScatter || kind == CommKind::kRecv;
    if (!blocks) {
      args.Add(received ? "Out msg nelems" : "In msg nelems", *count);
    } else if (members > 0 && *count <= INT64_MAX / members) {
      args.Add("In msg nelems", *count * members);
    }
  }
  if (const auto rank = IntegerArgument(*arguments, {"peer", "root"})) {
    args.Add("Rank", *rank);
  }
}

}  // namespace reprise::pytorch
