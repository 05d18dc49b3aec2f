#include "kernels/ops/elementwise/elementwise_rows.h"

#include <unordered_map>
#include <vector>

#include "core/operator_arguments.h"
#include "core/operators.h"

namespace reprise {
namespace {

ElementwiseRow RowOf(std::string_view aten, const ArgumentPlaces& places) {
  ElementwiseRow row{.aten = aten, .op = places.Word("op"), .must_lack = places.At("lacks")};
  constexpr std::array<std::string_view, 4> kKeys = {"a", "b", "c", "d"};
  for (std::size_t k = 0; k < kKeys.size(); ++k) {
    const std::optional<double> absent = places.Default(kKeys[k]);
    row.operands[k] = {places.At(kKeys[k]), absent.has_value(), absent.value_or(0)};
  }
  return row;
}

}  // namespace

std::span<const ElementwiseRow> ElementwiseRows() {
  static const auto rows = [] {
    std::vector<ElementwiseRow> out;
    for (const OperatorRow& row : OperatorRows()) {
      const ArgumentPlaces& places = ArgumentPlaces::Of(row.name);
      if (!row.arguments.empty() && places.Has("op")) {
        out.push_back(RowOf(row.name, places));
      }
    }
    return out;
  }();
  return rows;
}

const ElementwiseRow* FindElementwiseRow(std::string_view aten) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const ElementwiseRow*> out;
    for (const ElementwiseRow& row : ElementwiseRows()) {
      out.emplace(row.aten, &row);
    }
    return out;
  }();
  auto it = table.find(aten);
  if (it == table.end() && aten.ends_with('_')) {
    it = table.find(aten.substr(0, aten.size() - 1));
  }
  return it == table.end() ? nullptr : it->second;
}

}  // namespace reprise
