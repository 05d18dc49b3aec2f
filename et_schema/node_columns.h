// The nodes of an `.et` file as columns, as the file has them: nothing is derived, checked or
// repaired. For programs that keep nodes in tables (trace_library/tables.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/string_pool.h"

namespace reprise {

// The type of a column's values. The numbers are those of trace_library/tables.h.
enum class ColumnKind : std::uint8_t {
  kInteger = 0,      // std::int64_t
  kUnsigned = 1,     // std::uint64_t; some value is 2^63 or more, none is negative
  kReal = 2,         // a double's bits
  kBoolean = 3,      // 0 or 1
  kText = 4,         // number of a text in `texts`; UTF-8
  kBytes = 5,        // the same, of any bytes
  kIntegerList = 6,  // where the list ends in `elements`; it begins where the one before ends
  kTextList = 7,     // the same; elements are numbers of texts
};

struct NodeColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kInteger;
  std::vector<std::uint32_t> rows;  // that have a value, ascending; empty: all have one
  std::vector<std::uint64_t> values;
  std::vector<std::uint64_t> elements;  // of lists
  std::unique_ptr<StringPool> texts;    // each distinct text once; null: the kind has none
};

struct ColumnTable {
  std::uint64_t nodes = 0;  // in the file
  std::uint64_t rows = 0;
  std::string header;  // the file's GlobalMetadata message, uncompressed
  std::vector<NodeColumn> columns;
};

// One row a node, in the file's order: node_id, name, type (Chakra's number), start_ns and
// duration_ns (where an attribute lacks, the field of microseconds times 1000), then a column for
// each attribute in the order in which they first occur. `arguments`: at the end also the texts of
// IOInfo, inputs.values to outputs.types.
//
// Bad input: the file is damaged, or has what columns cannot hold: an attribute whose type changes
// from node to node, a list of reals, booleans or bytes, a name of a column as an attribute, a text
// that is not UTF-8. A file of one rank; a class's file of a folded set is read as it stands.
[[nodiscard]] Result<ColumnTable> ReadNodeColumns(const std::string& path, bool arguments);

// One row a dependency, by node: from_node, to_node, reason (EdgeReason) and inferred. First
// data_deps with the reasons of the attribute dep_reasons, 0 where their number differs; then
// ctrl_deps that are not among them, as `control`. Errors as above.
[[nodiscard]] Result<ColumnTable> ReadEdgeColumns(const std::string& path);

}  // namespace reprise
