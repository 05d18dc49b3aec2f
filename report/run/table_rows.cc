#include "report/run/table_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text.h"

namespace reprise {

#define REPRISE_TABLE(table, Struct, where) \
  namespace types_of_##table {              \
    using Row = Struct;
#define REPRISE_COLUMN(column, type, member)                          \
  static_assert(MayHold<decltype(Row().member)>(ColumnType::k##type), \
                "the type of column " #column);
#define REPRISE_TABLE_END }
#include "report/run/schema.def"

std::string Stored(const std::vector<std::int64_t>& splits) {
  return fmt::format("[{}]", fmt::join(splits, ","));
}

void Parse(std::string_view stored, std::vector<std::int64_t>& splits) {
  const std::string_view list = stored.substr(std::min<std::size_t>(stored.size(), 1));
  for (const std::string_view part : SplitText(list.substr(0, list.find(']')), ',')) {
    const auto number = ParseNumber<std::int64_t>(part);
    if (!number) {
      return;
    }
    splits.push_back(*number);
  }
}

}  // namespace reprise
