#include "core/operators.h"

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/enum_names.h"

namespace reprise {
namespace {

constexpr std::array<std::string_view, 5> kOpKindNames = {"work", "composite", "metadata", "wait",
                                                          "comm"};
constexpr std::array<std::string_view, 21> kClassNames = {
    "other",   "gemm",   "attention", "conv",      "norm",     "elementwise", "reduction",
    "softmax", "loss",   "embedding", "index",     "sort",     "copy",        "fill",
    "memcpy",  "random", "pool",      "optimizer", "metadata", "comm",        "host"};

constexpr OperatorRow kOperatorRows[] = {
#define OPERATOR(name, op_class, kind, kernels, arguments, cost, result, bounds, signature) \
  {name, {OpClass::op_class, OpKind::kind}, kernels, arguments, #cost, #result, #bounds, signature},
#include "core/operators.def"
#undef OPERATOR
};

struct Table {
  std::unordered_map<std::string_view, const OperatorRow*> exact;
  std::vector<const OperatorRow*> prefixes;
  Table() {
    for (const OperatorRow& row : kOperatorRows) {
      if (row.name.ends_with('*')) {
        prefixes.push_back(&row);
      } else {
        exact.emplace(row.name, &row);
      }
    }
  }
};

}  // namespace

std::string_view Name(OpKind kind) { return NameIn(kOpKindNames, kind); }
std::string_view Name(OpClass op_class) { return NameIn(kClassNames, op_class); }
std::optional<OpClass> ParseOpClass(std::string_view name) {
  return ParseName<OpClass>(kClassNames, name);
}
std::optional<OpKind> ParseOpKind(std::string_view name) {
  return ParseName<OpKind>(kOpKindNames, name);
}

std::span<const OperatorRow> OperatorRows() { return kOperatorRows; }

const OperatorRow* FindOperatorRow(std::string_view name) {
  static const Table table;
  if (const auto it = table.exact.find(name); it != table.exact.end()) {
    return it->second;
  }
  const OperatorRow* best = nullptr;
  for (const OperatorRow* row : table.prefixes) {
    const std::string_view prefix = row->name.substr(0, row->name.size() - 1);
    if (name.starts_with(prefix) && (best == nullptr || row->name.size() > best->name.size())) {
      best = row;
    }
  }
  return best;
}

std::optional<OpInfo> FindOperator(std::string_view name) {
  const OperatorRow* row = FindOperatorRow(name);
  return row == nullptr ? std::nullopt : std::optional(row->info);
}

}  // namespace reprise
