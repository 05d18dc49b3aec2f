#include "core/operators.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace reprise {
namespace {

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
