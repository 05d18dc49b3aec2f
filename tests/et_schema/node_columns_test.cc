// The nodes of a file as columns, against protobuf's view of the same messages; and what no column
// can hold.
#include "et_schema/node_columns.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <limits>
#include <optional>

#include "et_schema/et_def.pb.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

namespace pb = ChakraProtoMsg;

constexpr std::uint64_t kBeyondSigned = std::uint64_t{1} << 63;

template <typename Message>
void AppendMessage(const Message& message, std::string& bytes) {
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteVarint32(static_cast<std::uint32_t>(message.ByteSizeLong()));
  ASSERT_TRUE(message.SerializeToCodedStream(&coded));
}

std::string FileOf(const std::vector<pb::Node>& nodes) {
  std::string bytes;
  pb::GlobalMetadata header;
  header.set_version("0.0.4");
  AppendMessage(header, bytes);
  for (const pb::Node& node : nodes) {
    AppendMessage(node, bytes);
  }
  return bytes;
}

using Read = std::function<Result<ColumnTable>(const std::string& path)>;

Result<ColumnTable> NodesAlone(const std::string& path) { return ReadNodeColumns(path, false); }

Result<ColumnTable> TableOf(const std::vector<pb::Node>& nodes, const Read& read = NodesAlone) {
  const ScratchDirectory scratch;
  WriteFile(scratch.File("x.0.et"), FileOf(nodes));
  return read(scratch.File("x.0.et"));
}

pb::AttributeProto& Add(pb::Node& node, const std::string& name) {
  pb::AttributeProto& attribute = *node.add_attr();
  attribute.set_name(name);
  return attribute;
}

const NodeColumn& Column(const ColumnTable& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &NodeColumn::name);
  EXPECT_NE(found, table.columns.end()) << name;
  static const NodeColumn none;
  return found == table.columns.end() ? none : *found;
}

// Where the row's value is in the column; nullopt: the row has none.
std::optional<std::size_t> CellOf(const NodeColumn& column, std::uint32_t row) {
  if (column.rows.empty()) {
    return row < column.values.size() ? std::optional<std::size_t>(row) : std::nullopt;
  }
  const auto found = std::ranges::lower_bound(column.rows, row);
  if (found == column.rows.end() || *found != row) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - column.rows.begin());
}

std::string_view Text(const NodeColumn& column, std::uint64_t number) {
  return column.texts->Get(static_cast<StringPool::Id>(number));
}

// The cell as text, for comparison.
std::string Shown(const NodeColumn& column, std::size_t cell) {
  const std::uint64_t value = column.values[cell];
  const std::uint64_t begin = cell == 0 ? 0 : column.values[cell - 1];
  std::string list;
  switch (column.kind) {
    case ColumnKind::kInteger:
      return std::to_string(static_cast<std::int64_t>(value));
    case ColumnKind::kUnsigned:
      return std::to_string(value);
    case ColumnKind::kReal:
      return std::to_string(std::bit_cast<double>(value));
    case ColumnKind::kBoolean:
      return value == 0 ? "false" : "true";
    case ColumnKind::kText:
    case ColumnKind::kBytes:
      return std::string(Text(column, value));
    case ColumnKind::kIntegerList:
      for (std::uint64_t i = begin; i < value; ++i) {
        list += std::to_string(static_cast<std::int64_t>(column.elements[i])) + ";";
      }
      return list;
    case ColumnKind::kTextList:
      for (std::uint64_t i = begin; i < value; ++i) {
        list += std::string(Text(column, column.elements[i])) + ";";
      }
      return list;
  }
  return {};
}

template <typename Values>
std::string ListText(const Values& values) {
  std::string text;
  for (const auto value : values) {
    text += std::to_string(value) + ";";
  }
  return text;
}

// The value that protobuf sees; nullopt: of a kind that this test's files do not have.
std::optional<std::string> Shown(const pb::AttributeProto& attribute) {
  std::string list;
  switch (attribute.value_case()) {
    case pb::AttributeProto::kDoubleVal:
      return std::to_string(attribute.double_val());
    case pb::AttributeProto::kInt32Val:
      return std::to_string(attribute.int32_val());
    case pb::AttributeProto::kInt64Val:
      return std::to_string(attribute.int64_val());
    case pb::AttributeProto::kUint32Val:
      return std::to_string(attribute.uint32_val());
    case pb::AttributeProto::kUint64Val:
      return std::to_string(attribute.uint64_val());
    case pb::AttributeProto::kBoolVal:
      return attribute.bool_val() ? "true" : "false";
    case pb::AttributeProto::kStringVal:
      return attribute.string_val();
    case pb::AttributeProto::kInt32List:
      return ListText(attribute.int32_list().values());
    case pb::AttributeProto::kInt64List:
      return ListText(attribute.int64_list().values());
    case pb::AttributeProto::kUint32List:
      return ListText(attribute.uint32_list().values());
    case pb::AttributeProto::kUint64List:
      return ListText(attribute.uint64_list().values());
    case pb::AttributeProto::kSint64List:
      return ListText(attribute.sint64_list().values());
    case pb::AttributeProto::kBytesVal:
      return attribute.bytes_val();
    case pb::AttributeProto::kStringList:
      for (const std::string& value : attribute.string_list().values()) {
        list += value + ";";
      }
      return list;
    default:
      return std::nullopt;
  }
}

// The file's Node messages, read by protobuf.
std::vector<pb::Node> MessagesOf(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&input);
  std::vector<pb::Node> nodes;
  std::uint32_t size = 0;
  std::string message;
  for (bool header = true; stream.ReadVarint32(&size); header = false) {
    EXPECT_TRUE(stream.ReadString(&message, static_cast<int>(size)));
    EXPECT_TRUE(header || nodes.emplace_back().ParseFromString(message));
  }
  return nodes;
}

TEST(NodeColumns, HoldWhatProtobufReads) {
  const ScratchDirectory scratch;
  RandomNodes random(57);
  std::vector<Node> written(400);
  std::ranges::generate(written, [&] { return random.Next(); });
  ASSERT_TRUE(WriteTrace(scratch.File("x.0.et"), written));
  const std::vector<pb::Node> nodes = MessagesOf(ReadFile(scratch.File("x.0.et")));
  ASSERT_EQ(nodes.size(), written.size());

  const auto table = ReadNodeColumns(scratch.File("x.0.et"), true);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->nodes, nodes.size());
  EXPECT_EQ(table->rows, nodes.size());
  pb::GlobalMetadata header;
  EXPECT_TRUE(header.ParseFromString(table->header));
  std::size_t compared = 0;
  for (std::uint32_t row = 0; row < nodes.size(); ++row) {
    const pb::Node& node = nodes[row];
    const auto cell = [&](std::string_view name) {
      const NodeColumn& column = Column(*table, name);
      const std::optional<std::size_t> found = CellOf(column, row);
      return found ? Shown(column, *found) : "none";
    };
    EXPECT_EQ(cell("node_id"), std::to_string(node.id()));
    EXPECT_EQ(cell("name"), node.name());
    EXPECT_EQ(cell("type"), std::to_string(static_cast<int>(node.type())));
    EXPECT_EQ(cell("start_ns"), std::to_string(written[row].start_ns));
    EXPECT_EQ(cell("duration_ns"), std::to_string(written[row].duration_ns));
    EXPECT_EQ(cell("inputs.values"), node.inputs().values());
    EXPECT_EQ(cell("inputs.shapes"), node.inputs().shapes());
    EXPECT_EQ(cell("inputs.types"), node.inputs().types());
    EXPECT_EQ(cell("outputs.values"), node.outputs().values());
    EXPECT_EQ(cell("outputs.shapes"), node.outputs().shapes());
    EXPECT_EQ(cell("outputs.types"), node.outputs().types());
    for (const pb::AttributeProto& attribute : node.attr()) {
      if (attribute.name() == "dep_reasons") {
        continue;  // of the table of dependencies
      }
      const std::optional<std::string> value = Shown(attribute);
      ASSERT_TRUE(value) << attribute.name();
      EXPECT_EQ(cell(attribute.name()), *value) << attribute.name();
      ++compared;
    }
  }
  EXPECT_GT(compared, nodes.size());
  // No column has a value that no node has.
  std::size_t cells = 0;
  for (std::size_t i = 5; i + 6 < table->columns.size(); ++i) {
    cells += table->columns[i].values.size();
  }
  std::size_t times = 0;  // of attributes: in the fixed columns
  for (const pb::Node& node : nodes) {
    times += static_cast<std::size_t>(std::ranges::count_if(node.attr(), [](const auto& attribute) {
      return attribute.name() == "start_ns" || attribute.name() == "duration_ns";
    }));
  }
  EXPECT_EQ(cells, compared - times);
}

TEST(NodeColumns, EachTypeHasItsKind) {
  pb::Node node;
  node.set_id(kBeyondSigned);
  Add(node, "real").set_float_val(0.5F);
  Add(node, "flag").set_bool_val(true);
  Add(node, "bytes").set_bytes_val("\xff\x00");
  Add(node, "signed").set_sint32_val(-7);
  Add(node, "large").set_fixed64_val(std::numeric_limits<std::uint64_t>::max());
  Add(node, "list").mutable_sint64_list()->add_values(-3);
  Add(node, "empty").mutable_string_list();
  const auto table = TableOf({node});
  ASSERT_TRUE(table) << table.error().message;
  const auto kind_of = [&](std::string_view name) { return Column(*table, name).kind; };
  EXPECT_EQ(kind_of("node_id"), ColumnKind::kUnsigned);
  EXPECT_EQ(kind_of("start_ns"), ColumnKind::kInteger);
  EXPECT_EQ(kind_of("real"), ColumnKind::kReal);
  EXPECT_EQ(kind_of("flag"), ColumnKind::kBoolean);
  EXPECT_EQ(kind_of("bytes"), ColumnKind::kBytes);
  EXPECT_EQ(kind_of("signed"), ColumnKind::kInteger);
  EXPECT_EQ(kind_of("large"), ColumnKind::kUnsigned);
  EXPECT_EQ(kind_of("list"), ColumnKind::kIntegerList);
  EXPECT_EQ(kind_of("empty"), ColumnKind::kTextList);
  EXPECT_EQ(Shown(Column(*table, "real"), 0), std::to_string(0.5));
  EXPECT_EQ(Shown(Column(*table, "signed"), 0), "-7");
  EXPECT_EQ(Shown(Column(*table, "list"), 0), "-3;");
  EXPECT_EQ(Column(*table, "empty").values.at(0), 0U);
}

// The time of an attribute counts before the field of microseconds; a node without has the field's.
TEST(NodeColumns, TimesOfAttributesAndFields) {
  pb::Node of_fields;
  of_fields.set_start_time_micros(3);
  of_fields.set_duration_micros(2);
  pb::Node of_attributes = of_fields;
  Add(of_attributes, "start_ns").set_int64_val(-5);
  Add(of_attributes, "duration_ns").set_int64_val(2001);
  const auto table = TableOf({of_fields, of_attributes});
  ASSERT_TRUE(table) << table.error().message;
  const NodeColumn& start = Column(*table, "start_ns");
  const NodeColumn& duration = Column(*table, "duration_ns");
  EXPECT_EQ(Shown(start, 0), "3000");
  EXPECT_EQ(Shown(start, 1), "-5");
  EXPECT_EQ(Shown(duration, 0), "2000");
  EXPECT_EQ(Shown(duration, 1), "2001");
}

TEST(NodeColumns, RowsWithoutAValueAreNamed) {
  std::vector<pb::Node> nodes(3);
  Add(nodes[1], "some").set_int64_val(4);
  for (pb::Node& node : nodes) {
    Add(node, "all").set_int64_val(5);
  }
  const auto table = TableOf(nodes);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(Column(*table, "some").rows, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(Column(*table, "some").values, (std::vector<std::uint64_t>{4}));
  EXPECT_TRUE(Column(*table, "all").rows.empty());
  EXPECT_EQ(Column(*table, "all").values.size(), 3U);
}

// An attribute without a value is none; a file without nodes has a row of none.
TEST(NodeColumns, NothingIsNoValue) {
  pb::Node node;
  Add(node, "nothing");
  const auto table = TableOf({node});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns.size(), 5U);
  for (const Read& read : {Read(NodesAlone), Read(ReadEdgeColumns)}) {
    const auto empty = TableOf({}, read);
    ASSERT_TRUE(empty) << empty.error().message;
    EXPECT_EQ(empty->rows, 0U);
  }
}

TEST(NodeColumns, DependenciesWithTheirReasons) {
  std::vector<pb::Node> nodes(4);
  for (std::uint64_t i = 0; i < nodes.size(); ++i) {
    nodes[i].set_id(10 + i);
  }
  nodes[1].add_data_deps(10);
  nodes[2].add_data_deps(11);
  nodes[2].add_data_deps(10);
  pb::AttributeProto& reasons = Add(nodes[2], "dep_reasons");
  reasons.mutable_int64_list()->add_values(static_cast<std::int64_t>(EdgeReason::kStream));
  reasons.mutable_int64_list()->add_values(128 + static_cast<std::int64_t>(EdgeReason::kData));
  // One of the control dependencies is among the others already.
  nodes[3].add_data_deps(12);
  nodes[3].add_ctrl_deps(12);
  nodes[3].add_ctrl_deps(11);
  const auto table = TableOf(nodes, ReadEdgeColumns);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->nodes, 4U);
  EXPECT_EQ(table->rows, 5U);
  const auto values = [&](std::string_view name) { return Column(*table, name).values; };
  const auto reason = [](EdgeReason why) { return static_cast<std::uint64_t>(why); };
  EXPECT_EQ(values("from_node"), (std::vector<std::uint64_t>{10, 11, 10, 12, 11}));
  EXPECT_EQ(values("to_node"), (std::vector<std::uint64_t>{11, 12, 12, 13, 13}));
  EXPECT_EQ(values("reason"),
            (std::vector<std::uint64_t>{reason(EdgeReason::kUnknown), reason(EdgeReason::kStream),
                                        reason(EdgeReason::kData), reason(EdgeReason::kUnknown),
                                        reason(EdgeReason::kControl)}));
  EXPECT_EQ(values("inferred"), (std::vector<std::uint64_t>{0, 0, 1, 0, 0}));
}

// What no column can hold, each with the words that name it.
TEST(NodeColumns, Refusals) {
  struct Case {
    std::string words;
    std::function<void(pb::Node& first, pb::Node& second)> fill;
    bool edges_refuse = false;  // a damaged attribute
  };
  const std::vector<Case> cases = {
      {"attribute a of node 2 has another type than in other nodes",
       [](pb::Node& first, pb::Node& second) {
         Add(first, "a").set_int64_val(1);
         Add(second, "a").set_string_val("1");
       }},
      {"attribute a of node 2 occurs twice",
       [](pb::Node&, pb::Node& second) {
         Add(second, "a").set_int64_val(1);
         Add(second, "a").set_int64_val(2);
       }},
      {"attribute start_ns of node 2 occurs twice",
       [](pb::Node&, pb::Node& second) {
         Add(second, "start_ns").set_int64_val(1);
         Add(second, "start_ns").set_int64_val(1);
       }},
      {"attribute name of node 1 has the name of a column",
       [](pb::Node& first, pb::Node&) { Add(first, "name").set_string_val("x"); }},
      {"attribute a of node 2 is no column",
       [](pb::Node&, pb::Node& second) { Add(second, "a").mutable_double_list()->add_values(1); },
       true},
      {"attribute a has values below 0 and values of 2^63 or more",
       [](pb::Node& first, pb::Node& second) {
         Add(first, "a").set_int64_val(-1);
         Add(second, "a").set_uint64_val(kBeyondSigned);
       }},
      {"attribute a of node 2 is a list of other values than integers below 2^63",
       [](pb::Node&, pb::Node& second) {
         Add(second, "a").mutable_uint64_list()->add_values(kBeyondSigned);
       },
       true},
      {"attribute start_ns of node 2 is beyond 2^64 ns",
       [](pb::Node&, pb::Node& second) {
         second.set_start_time_micros(std::numeric_limits<std::uint64_t>::max() / 1000 + 1);
       }},
      {"attribute dep_reasons of node 2 is no list of numbers",
       [](pb::Node&, pb::Node& second) {
         Add(second, "dep_reasons").mutable_int64_list()->add_values(-1);
       },
       true},
  };
  for (const Case& c : cases) {
    std::vector<pb::Node> nodes(2);
    nodes[0].set_id(1);
    nodes[1].set_id(2);
    c.fill(nodes[0], nodes[1]);
    const auto table = TableOf(nodes);
    ASSERT_FALSE(table) << c.words;
    EXPECT_EQ(table.error().kind, ErrorKind::kBadInput);
    EXPECT_NE(table.error().message.find(c.words), std::string::npos) << table.error().message;
    EXPECT_EQ(TableOf(nodes, ReadEdgeColumns).has_value(), !c.edges_refuse) << c.words;
  }
}

// Protobuf writes no text that is not UTF-8: the byte is put into the finished file.
TEST(NodeColumns, TextsThatAreNotUtf8) {
  pb::Node node;
  node.set_id(1);
  node.set_name("NAME");
  node.mutable_inputs()->set_shapes("SHAPES");
  Add(node, "ATTRIBUTE").set_string_val("VALUE");
  Add(node, "texts").mutable_string_list()->add_values("ELEMENT");
  Add(node, "EMPTY");
  for (const std::string place : {"NAME", "SHAPES", "ATTRIBUTE", "VALUE", "ELEMENT", "EMPTY"}) {
    std::string bytes = FileOf({node});
    bytes[bytes.find(place)] = '\xff';
    const ScratchDirectory scratch;
    WriteFile(scratch.File("x.0.et"), bytes);
    for (const Read& read : {Read(NodesAlone), Read(ReadEdgeColumns)}) {
      const auto table = read(scratch.File("x.0.et"));
      ASSERT_FALSE(table) << place;
      EXPECT_EQ(table.error().kind, ErrorKind::kBadInput);
    }
  }
}

TEST(NodeColumns, DamagedFiles) {
  const ScratchDirectory scratch;
  std::vector<pb::Node> nodes(3);
  for (pb::Node& node : nodes) {
    node.set_name("aten::mm");
    Add(node, "a").set_int64_val(1);
  }
  const std::string bytes = FileOf(nodes);
  const std::string path = scratch.File("x.0.et");
  std::size_t refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    WriteFile(path, bytes.substr(0, size));
    const auto table = ReadNodeColumns(path, true);
    const auto edges = ReadEdgeColumns(path);
    EXPECT_EQ(table.has_value(), edges.has_value()) << size;
    refused += table ? 0 : 1;
  }
  // It is whole where a message ends: after nothing, the header, and each node but the last.
  EXPECT_EQ(refused, bytes.size() - 4);
  EXPECT_FALSE(ReadNodeColumns(scratch.File("none.0.et"), false));
}

}  // namespace
}  // namespace reprise
