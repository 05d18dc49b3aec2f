#include "trace_library/tables.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/result.h"
#include "core/version.h"
#include "et_schema/node_columns.h"

struct reprise_table {
  reprise::ColumnTable columns;
};

namespace reprise {
namespace {

static_assert(REPRISE_TEXT_LIST == static_cast<int>(ColumnKind::kTextList));
static_assert(std::is_same_v<StringPool::Id, std::uint32_t>);

void CopyText(std::string_view text, char* out, std::size_t bytes) {
  if (out == nullptr || bytes == 0) {
    return;
  }
  const std::size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

// No exception leaves a function of C: memory may run out.
template <typename Read>
reprise_table* ReadTable(char* error, std::size_t error_bytes, const Read& read) {
  try {
    Result<ColumnTable> columns = read();
    if (columns) {
      return new reprise_table{std::move(*columns)};
    }
    CopyText(columns.error().message, error, error_bytes);
  } catch (const std::exception& failure) {
    CopyText(failure.what(), error, error_bytes);
  }
  return nullptr;
}

}  // namespace
}  // namespace reprise

const char* reprise_version() { return reprise::kVersion.data(); }

reprise_table* reprise_read_nodes(const char* path, int with_arguments, char* error,
                                  size_t error_bytes) {
  return reprise::ReadTable(error, error_bytes,
                            [&] { return reprise::ReadNodeColumns(path, with_arguments != 0); });
}

reprise_table* reprise_read_edges(const char* path, char* error, size_t error_bytes) {
  return reprise::ReadTable(error, error_bytes, [&] { return reprise::ReadEdgeColumns(path); });
}

void reprise_free(reprise_table* table) { delete table; }

uint64_t reprise_rows(const reprise_table* table) { return table->columns.rows; }

uint64_t reprise_nodes(const reprise_table* table) { return table->columns.nodes; }

const char* reprise_header(const reprise_table* table, uint64_t* bytes) {
  *bytes = table->columns.header.size();
  return table->columns.header.data();
}

uint64_t reprise_columns(const reprise_table* table) { return table->columns.columns.size(); }

void reprise_get_column(const reprise_table* table, uint64_t index, reprise_column* column) {
  const reprise::NodeColumn& from = table->columns.columns[index];
  *column = {
      .name = from.name.c_str(),
      .name_bytes = from.name.size(),
      .kind = static_cast<std::int32_t>(from.kind),
      .values = from.values.size(),
      .rows = from.rows.empty() ? nullptr : from.rows.data(),
      .cells = from.values.data(),
      .elements = from.elements.size(),
      .element = from.elements.data(),
      .texts = from.texts == nullptr ? 0 : from.texts->ends().size(),
      .text_end = from.texts == nullptr ? nullptr : from.texts->ends().data(),
      .text = from.texts == nullptr ? nullptr : from.texts->bytes().data(),
  };
}
