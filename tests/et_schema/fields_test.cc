// Each row of the tables of attributes: it survives files, a Graph and JSON, and docs/et_format.md
// has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "et_schema/graph.h"
#include "et_schema/header_fields.h"
#include "et_schema/header_lists.h"
#include "et_schema/json.h"
#include "tests/et_schema/field_samples.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

nlohmann::json JsonOf(const std::string& path) {
  std::ostringstream out;
  EXPECT_TRUE(WriteJson(path, out));
  return nlohmann::json::parse(out.str());
}

TEST(Fields, OfNodesAreInFiles) {
  const ScratchDirectory scratch;
  std::vector<Node> nodes;
  for (const FieldSample& sample : FieldSamples()) {
    EXPECT_NE(sample.with, sample.without) << sample.name;
    nodes.push_back(sample.with);
    nodes.back().id = nodes.size();
  }
  const std::string path = scratch.File("x.0.et");
  ASSERT_TRUE(WriteTrace(path, nodes));
  const auto read = ReadTrace(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, testing::ElementsAreArray(nodes));
}

TEST(Fields, OfNodesAreInGraphsAndInJson) {
  const ScratchDirectory scratch;
  for (const FieldSample& sample : FieldSamples()) {
    const auto graph = Graph::Build({}, {sample.with});
    ASSERT_TRUE(graph);
    EXPECT_EQ(*graph->Decode(0), sample.with) << sample.name;
    ASSERT_TRUE(WriteTrace(scratch.File("a.0.et"), {sample.without}));
    ASSERT_TRUE(WriteTrace(scratch.File("b.0.et"), {sample.with}));
    EXPECT_NE(JsonOf(scratch.File("a.0.et")), JsonOf(scratch.File("b.0.et"))) << sample.name;
  }
}

TEST(Fields, OfNodesHaveAnAccessor) {
  Node node = PlainNode();
  node.delay_ns = 100;
  node.kind = OpKind::kMetadata;
  ForEachMember(kNodeFields, [&](const auto& row) { row.Of(node) = SampleOf(row.Of(node)); });
  const auto graph = Graph::Build({}, {node});
  ASSERT_TRUE(graph);
  ForEachMember(kNodeFields, kNodeFieldsOf<Graph>, [&](const auto& row, const auto& accessor) {
    EXPECT_EQ(accessor.Of(*graph, 0), row.Of(node)) << row.name;
  });
}

// Clamped: a file may hold anything.
TEST(Fields, TracingIsAtMostWhatItIsPartOf) {
  Node node = PlainNode();
  node.delay_ns = 3;
  node.tracing_ns = node.duration_ns + 1;
  node.tracing_delay_ns = -1;
  const auto graph = Graph::Build({}, {node});
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->tracing_ns(0), node.duration_ns);
  EXPECT_EQ(graph->tracing_delay_ns(0), 0);
  EXPECT_EQ(*graph->Decode(0), node);
}

std::vector<std::pair<std::string, TraceMetadata>> HeaderSamples() {
  std::vector<std::pair<std::string, TraceMetadata>> samples;
  // `owner` has the members of a header that the table's rows are.
  const auto add = [&](const auto& table, const auto& owner) {
    ForEachMember(table, [&](const auto& row) {
      samples.emplace_back(row.name, TraceMetadata{});
      auto& value = row.Of(owner(samples.back().second));
      value = SampleOf(value);
    });
  };
  const auto header = [](TraceMetadata& metadata) -> TraceMetadata& { return metadata; };
  add(kHeaderFields, header);
  add(kClockFields, header);
  add(kMachineFields, [](TraceMetadata& metadata) -> RecordedMachine& { return metadata.machine; });
  add(kPlacementFields,
      [](TraceMetadata& metadata) -> RankPlacement& { return metadata.placement; });
  TraceMetadata lists;
  lists.version = "1";
  lists.steps = {{"a step", 1, 2}};
  lists.ranges = {{"forward", 1, -5, 60, 0}};
  lists.index_ranges = {{3, -1, 9}};
  lists.samples = {{SampledQuantity::kPower, 1, {-5, 10}, {412'500'000, 0}},
                   {SampledQuantity::kSmClock, 1, {7}, {1'410'000'000'000'000}}};
  lists.groups = {{.id = "1", .description = "tp", .ranks = {0, 1}}};
  lists.diagnostics = {{"orphan", 3}};
  lists.link = {.method = "alignment",
                .matched = 7,
                .choice = "median",
                .threads = {{1, 24248, 3, 4, 5}},
                .unmatched = {"aten::mm"}};
  samples.emplace_back("lists", lists);
  return samples;
}

TEST(Fields, OfHeadersAreInFilesAndInJson) {
  const ScratchDirectory scratch;
  const std::string path = scratch.File("x.0.et");
  ASSERT_TRUE(WriteTrace(path, {}));
  const nlohmann::json without = JsonOf(path);
  for (const auto& [name, metadata] : HeaderSamples()) {
    EXPECT_NE(metadata, TraceMetadata{}) << name;
    ASSERT_TRUE(WriteTrace(path, {}, metadata));
    EXPECT_EQ((*EtReader::Open(path))->metadata(), metadata) << name;
    EXPECT_NE(JsonOf(path), without) << name;
  }
  const HeaderLists in_file = ListsOf(HeaderSamples().back().second);
  ForEachMember(kHeaderLists, [&](const auto& row) {
    EXPECT_FALSE(row.Of(in_file).empty()) << "no sample of " << row.name;
  });
}

// ---- docs/et_format.md ----

struct PageRow {
  std::string type, absent;
  auto operator<=>(const PageRow&) const = default;
};
std::ostream& operator<<(std::ostream& out, const PageRow& row) {
  return out << row.type << ", absent: '" << row.absent << "'";
}
using PageRows = std::map<std::string, PageRow>;

// "[by name](#anchor)" → "by name".
std::string Plain(const std::string& cell) {
  const std::size_t middle = cell.find("](");
  return cell.starts_with('[') && middle != std::string::npos ? cell.substr(1, middle - 1) : cell;
}

std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t begin = cell.find_first_not_of(' ');
    cells.push_back(begin == std::string::npos
                        ? ""
                        : cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
  }
  return cells;
}

// The rows of the tables between two headings whose columns are name, type, unit, absent, meaning.
PageRows RowsOfPage(const std::string& heading) {
  std::ifstream in(std::string(REPRISE_SOURCE_DIR) + "/docs/et_format.md");
  PageRows rows;
  bool inside = false;
  bool table = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      inside = line == heading;
    }
    table = line == "| name | type | unit | absent | meaning |" || (table && line.starts_with('|'));
    if (!inside || !table || line.starts_with("| name") || line.starts_with("|--")) {
      continue;
    }
    const std::vector<std::string> cells = CellsOf(line);
    EXPECT_EQ(cells.size(), 5U) << line;
    std::istringstream names(cells.at(0));
    for (std::string name; std::getline(names, name, ',');) {
      const std::size_t begin = name.find('`') + 1;
      const auto [at, added] = rows.try_emplace(name.substr(begin, name.find('`', begin) - begin),
                                                PageRow{cells.at(1), Plain(cells.at(3))});
      EXPECT_TRUE(added) << at->first << " stands there twice";
    }
  }
  return rows;
}

template <typename T>
std::string TextOf(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value < 0 ? "−" + std::to_string(-value) : std::to_string(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "\"" + value + "\"";
  } else {
    return "";  // the row says it
  }
}

template <typename Table>
void AddRows(PageRows& rows, const Table& table) {
  ForEachAttribute(table, [&]<typename Row>(const Row& row) {
    std::string absent(row.written.absent);
    if constexpr (HasMember<Row>) {
      absent = row.written.always || !absent.empty() ? absent : TextOf(row.Default());
    }
    rows[std::string(row.name)] = {std::string(WrittenAs<Row>::kName), absent};
  });
}

TEST(FormatPage, HasEachAttributeOfNodes) {
  PageRows rows;
  AddRows(rows, kAttributes);
  EXPECT_THAT(RowsOfPage("## Node: attributes"), testing::ContainerEq(rows));
}

TEST(FormatPage, HasEachAttributeOfTheHeader) {
  PageRows rows;
  AddRows(rows, kHeaderFields);
  AddRows(rows, kMachineFields);
  AddRows(rows, kPlacementFields);
  AddRows(rows, kClockFields);
  AddRows(rows, kHeaderLists);
  AddRows(rows, std::tuple{kFormatMark, kNodeCountMark});
  EXPECT_THAT(RowsOfPage("## GlobalMetadata"), testing::ContainerEq(rows));
}

}  // namespace
}  // namespace reprise
