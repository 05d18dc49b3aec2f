#include "core/operators.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/operator_table.h"

namespace reprise {
namespace {

class Table {
 public:
  Table() {
    using namespace operator_groups;  // NOLINT(google-build-using-namespace)
    for (const auto& groups :
         {Products(), Attention(), Convolutions(), Norms(), Elementwise(), Reductions(), Indexing(),
          Copies(), Pools(), Optimizers(), Others()}) {
      for (const OperatorGroup& group : groups) {
        for (const OperatorRow& row : group.rows) {
          Add(group, row);
        }
        for (const std::string_view name : group.names) {
          Add(group, {.name = name});
        }
      }
    }
    for (const OperatorRow& row : rows_) {
      if (row.name.ends_with('*')) {
        prefixes_.push_back(&row);
      } else {
        exact_.emplace(row.name, &row);
      }
    }
  }

  [[nodiscard]] std::span<const OperatorRow> rows() const { return rows_; }

  [[nodiscard]] const OperatorRow* Find(std::string_view name) const {
    if (const auto it = exact_.find(name); it != exact_.end()) {
      return it->second;
    }
    const OperatorRow* best = nullptr;
    for (const OperatorRow* row : prefixes_) {
      const std::string_view prefix = row->name.substr(0, row->name.size() - 1);
      if (name.starts_with(prefix) && (best == nullptr || row->name.size() > best->name.size())) {
        best = row;
      }
    }
    return best;
  }

 private:
  void Add(const OperatorGroup& group, OperatorRow row) {
    row.info = group.info;
    row.kernels = row.kernels.empty() ? group.kernels : row.kernels;
    row.cost = row.cost == CostRule::kNone ? group.cost : row.cost;
    row.in_place = row.in_place || group.in_place;
    rows_.push_back(row);
    if (row.in_place) {
      row.name = in_place_names_.emplace_back(std::string(row.name) + '_');
      row.result = ResultRule::kNone;
      row.signature = row.in_place_signature.value_or(row.signature);
      row.in_place = false;
      rows_.push_back(row);
    }
  }

  std::vector<OperatorRow> rows_;
  std::deque<std::string> in_place_names_;
  std::unordered_map<std::string_view, const OperatorRow*> exact_;
  std::vector<const OperatorRow*> prefixes_;
};

const Table& Operators() {
  static const Table table;
  return table;
}

}  // namespace

std::span<const OperatorRow> OperatorRows() { return Operators().rows(); }

const OperatorRow* FindOperatorRow(std::string_view name) { return Operators().Find(name); }

std::optional<OpInfo> FindOperator(std::string_view name) {
  const OperatorRow* row = FindOperatorRow(name);
  return row == nullptr ? std::nullopt : std::optional(row->info);
}

}  // namespace reprise
