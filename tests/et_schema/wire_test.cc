// Our decoder of the wire format against protobuf's, on good and on bent messages; and protobuf
// reading whole files of ours.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/utf8.h"
#include "et_schema/et_def.pb.h"
#include "et_schema/raw_node.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

namespace pb = ChakraProtoMsg;

// The messages of an uncompressed file, split by protobuf.
std::vector<std::string> SplitMessages(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&input);
  std::vector<std::string> messages;
  std::uint32_t size = 0;
  while (stream.ReadVarint32(&size)) {
    EXPECT_TRUE(stream.ReadString(&messages.emplace_back(), static_cast<int>(size)));
  }
  return messages;
}

std::vector<std::string> RandomMessages(std::uint64_t seed, int count) {
  const ScratchDirectory scratch;
  RandomNodes random(seed);
  std::vector<Node> nodes(static_cast<std::size_t>(count));
  std::generate(nodes.begin(), nodes.end(), [&] { return random.Next(); });
  EXPECT_TRUE(WriteTrace(scratch.File("x.0.et"), nodes));
  auto messages = SplitMessages(ReadFile(scratch.File("x.0.et")));
  messages.erase(messages.begin());  // GlobalMetadata
  return messages;
}

// Integer value of an attribute as protobuf sees it; false if it has none.
bool IntOf(const pb::AttributeProto& attribute, std::int64_t& value) {
  switch (attribute.value_case()) {
    case pb::AttributeProto::kInt32Val:
      value = attribute.int32_val();
      return true;
    case pb::AttributeProto::kInt64Val:
      value = attribute.int64_val();
      return true;
    case pb::AttributeProto::kUint32Val:
      value = attribute.uint32_val();
      return true;
    case pb::AttributeProto::kUint64Val:
      value = static_cast<std::int64_t>(attribute.uint64_val());
      return value >= 0;
    case pb::AttributeProto::kSint32Val:
      value = attribute.sint32_val();
      return true;
    case pb::AttributeProto::kSint64Val:
      value = attribute.sint64_val();
      return true;
    case pb::AttributeProto::kFixed32Val:
      value = attribute.fixed32_val();
      return true;
    case pb::AttributeProto::kFixed64Val:
      value = static_cast<std::int64_t>(attribute.fixed64_val());
      return value >= 0;
    case pb::AttributeProto::kSfixed32Val:
      value = attribute.sfixed32_val();
      return true;
    case pb::AttributeProto::kSfixed64Val:
      value = attribute.sfixed64_val();
      return true;
    case pb::AttributeProto::kBoolVal:
      value = attribute.bool_val() ? 1 : 0;
      return true;
    default:
      return false;
  }
}

template <typename List>
std::vector<std::int64_t> Ints(const List& list) {
  return {list.values().begin(), list.values().end()};
}

void ExpectSameIo(const RawIo& ours, const pb::IOInfo& theirs) {
  EXPECT_EQ(ours.values, theirs.values());
  EXPECT_EQ(ours.shapes, theirs.shapes());
  EXPECT_EQ(ours.types, theirs.types());
}

// Of each attribute name the last one that has a usable value counts.
void ExpectSameAttributes(const RawNode& ours, const pb::Node& theirs) {
  for (std::size_t i = 0; i < kAttributeCount; ++i) {
    const auto attribute = static_cast<Attribute>(i);
    for (int k = theirs.attr_size() - 1; k >= 0; --k) {
      const pb::AttributeProto& value = theirs.attr(k);
      if (value.name() != Name(attribute) || !ours.Has(attribute)) {
        continue;
      }
      std::int64_t number = 0;
      if (IntOf(value, number)) {
        EXPECT_EQ(ours.Number(attribute, -99), number) << value.name();
      } else if (value.has_string_val()) {
        EXPECT_EQ(ours.Text(attribute), value.string_val());
      } else if (value.has_int32_list()) {
        EXPECT_EQ(ours.Numbers(attribute), Ints(value.int32_list()));
      } else if (value.has_int64_list()) {
        EXPECT_EQ(ours.Numbers(attribute), Ints(value.int64_list()));
      } else if (value.has_sint64_list()) {
        EXPECT_EQ(ours.Numbers(attribute), Ints(value.sint64_list()));
      } else {
        continue;
      }
      break;
    }
  }
}

void ExpectSame(const RawNode& ours, const pb::Node& theirs) {
  EXPECT_EQ(ours.id, theirs.id());
  EXPECT_EQ(ours.name, theirs.name());
  EXPECT_EQ(ours.type, static_cast<std::uint32_t>(theirs.type()));
  EXPECT_TRUE(std::equal(ours.ctrl_deps.begin(), ours.ctrl_deps.end(), theirs.ctrl_deps().begin(),
                         theirs.ctrl_deps().end()));
  EXPECT_TRUE(std::equal(ours.data_deps.begin(), ours.data_deps.end(), theirs.data_deps().begin(),
                         theirs.data_deps().end()));
  EXPECT_EQ(ours.start_micros, theirs.start_time_micros());
  EXPECT_EQ(ours.duration_micros, theirs.duration_micros());
  ExpectSameIo(ours.inputs, theirs.inputs());
  ExpectSameIo(ours.outputs, theirs.outputs());
  ExpectSameAttributes(ours, theirs);
}

TEST(Wire, AgreesWithProtobufOnRandomNodes) {
  RawNode ours;
  for (const std::string& message : RandomMessages(3, 500)) {
    pb::Node theirs;
    ASSERT_TRUE(theirs.ParseFromString(message));
    ASSERT_TRUE(ours.Parse(message));
    EXPECT_TRUE(ours.unknown_attributes.empty());
    EXPECT_TRUE(ours.mistyped_attributes.empty());
    ExpectSame(ours, theirs);
  }
}

TEST(Wire, AgreesWithProtobufOnBentMessages) {
  std::mt19937_64 random(17);
  RawNode ours;
  int accepted = 0;
  google::protobuf::LogSilencer quiet;
  for (const std::string& message : RandomMessages(4, 3000)) {
    std::string bent = message;
    bent[random() % bent.size()] = static_cast<char>(random());
    if (random() % 4 == 0) {
      bent.resize(random() % bent.size());
    }
    pb::Node theirs;
    const bool they_accept = theirs.ParseFromString(bent);
    const bool we_accept = ours.Parse(bent);
    if (they_accept) {
      ++accepted;
      ASSERT_TRUE(we_accept);
      ExpectSame(ours, theirs);
    } else if (we_accept) {
      // Only UTF-8 is judged later by us: some string in there must be invalid.
      EXPECT_FALSE(IsValidUtf8(bent));
    }
  }
  EXPECT_GT(accepted, 100);
}

// Every member of the oneof, scalar and list, as another writer may choose it.
TEST(Wire, TakesIntegersOfEveryType) {
  pb::Node message;
  const auto add = [&](const char* name) -> pb::AttributeProto& {
    message.clear_attr();
    pb::AttributeProto& attribute = *message.add_attr();
    attribute.set_name(name);
    return attribute;
  };
  const auto number = [&] {
    RawNode raw;
    const std::string bytes = message.SerializeAsString();
    EXPECT_TRUE(raw.Parse(bytes));
    EXPECT_TRUE(raw.mistyped_attributes.empty());
    return raw.Number(Attribute::kRfId, 0);
  };
  add("rf_id").set_int32_val(-7);
  EXPECT_EQ(number(), -7);
  add("rf_id").set_int64_val(-7);
  EXPECT_EQ(number(), -7);
  add("rf_id").set_uint32_val(4'000'000'000U);
  EXPECT_EQ(number(), 4'000'000'000);
  add("rf_id").set_uint64_val(1ULL << 62);
  EXPECT_EQ(number(), 1LL << 62);
  add("rf_id").set_sint32_val(-7);
  EXPECT_EQ(number(), -7);
  add("rf_id").set_sint64_val(-7);
  EXPECT_EQ(number(), -7);
  add("rf_id").set_fixed32_val(7);
  EXPECT_EQ(number(), 7);
  add("rf_id").set_fixed64_val(7);
  EXPECT_EQ(number(), 7);
  add("rf_id").set_sfixed32_val(-7);
  EXPECT_EQ(number(), -7);
  add("rf_id").set_sfixed64_val(-7);
  EXPECT_EQ(number(), -7);
  add("rf_id").set_bool_val(true);
  EXPECT_EQ(number(), 1);
}

TEST(Wire, CountsValuesOfTheWrongType) {
  pb::Node message;
  pb::AttributeProto* attribute = message.add_attr();
  attribute->set_name("rf_id");
  attribute->set_string_val("7");
  attribute = message.add_attr();
  attribute->set_name("pg_name");
  attribute->set_int64_val(0);
  attribute = message.add_attr();
  attribute->set_name("dep_reasons");
  attribute->mutable_double_list()->add_values(1);
  RawNode raw;
  const std::string bytes = message.SerializeAsString();
  ASSERT_TRUE(raw.Parse(bytes));
  EXPECT_EQ(raw.mistyped_attributes,
            (std::vector<std::string_view>{"rf_id", "pg_name", "dep_reasons"}));
  EXPECT_FALSE(raw.Has(Attribute::kRfId));
  EXPECT_TRUE(raw.Numbers(Attribute::kDepReasons).empty());
}

TEST(Wire, ProtobufReadsOurFile) {
  const ScratchDirectory scratch;
  const std::string path = scratch.File("x.2.et");
  TraceMetadata metadata;
  metadata.version = "1";
  metadata.rank = 2;
  Node node = MakeNode(12, 1'234'567, {3, 4});
  node.duration_ns = 2'999;
  node.deps[1].reason = EdgeReason::kCommWait;
  node.deps[1].inferred = true;
  node.type = NodeType::kCommRecv;
  node.comm = CommSpec{.kind = CommKind::kRecv, .group = "7", .out_bytes = 4096, .peer = 1};
  node.inputs = {Value{std::int64_t{5}}, Value{std::string("it's")}, Value{}};
  ASSERT_TRUE(WriteTrace(path, {node}, metadata));

  const auto messages = SplitMessages(ReadFile(path));
  ASSERT_EQ(messages.size(), 2U);
  pb::GlobalMetadata header;
  ASSERT_TRUE(header.ParseFromString(messages[0]));
  EXPECT_EQ(header.version(), "1");
  const auto& count = header.attr(header.attr_size() - 1);
  EXPECT_EQ(count.name(), "node_count");
  EXPECT_EQ(count.fixed64_val(), 1U);

  pb::Node read;
  ASSERT_TRUE(read.ParseFromString(messages[1]));
  EXPECT_EQ(read.id(), 12U);
  EXPECT_EQ(read.type(), pb::COMM_RECV_NODE);
  EXPECT_EQ(read.start_time_micros(), 1234U);
  EXPECT_EQ(read.duration_micros(), 2U);
  EXPECT_EQ(std::vector<std::uint64_t>(read.ctrl_deps().begin(), read.ctrl_deps().end()),
            (std::vector<std::uint64_t>{3}))
      << "the edge that only orders";
  EXPECT_EQ(std::vector<std::uint64_t>(read.data_deps().begin(), read.data_deps().end()),
            (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(read.inputs().values(), R"([5, 'it\'s', '<None>'])");
  EXPECT_EQ(read.inputs().shapes(), "[[], [], []]");
  EXPECT_EQ(read.inputs().types(), "['Int', 'String', 'None']");
  const auto attribute = [&](const std::string& name) {
    for (const pb::AttributeProto& candidate : read.attr()) {
      if (candidate.name() == name) {
        return candidate;
      }
    }
    ADD_FAILURE() << "no attribute " << name;
    return pb::AttributeProto();
  };
  // What ASTRA-sim's feeder asks for, in the types in which it asks.
  EXPECT_FALSE(attribute("is_cpu_op").bool_val());
  EXPECT_EQ(attribute("comm_size").int64_val(), 4096);
  EXPECT_EQ(attribute("comm_src").int32_val(), 1);
  EXPECT_EQ(attribute("comm_dst").int32_val(), 2);
  EXPECT_EQ(attribute("comm_tag").int32_val(), 0) << "there though it is 0";
  EXPECT_EQ(attribute("pg_name").string_val(), "7");
  EXPECT_EQ(Ints(attribute("dep_reasons").int32_list()), (std::vector<std::int64_t>{1, 9 + 128}));
}

// comm_size of a collective as it stands in the file.
std::int64_t CommSizeOf(const CommSpec& spec) {
  const ScratchDirectory scratch;
  Node node = MakeNode(1, 0);
  node.type = NodeType::kCommColl;
  node.comm = spec;
  EXPECT_TRUE(WriteTrace(scratch.File("x.0.et"), {node}));
  const auto messages = SplitMessages(ReadFile(scratch.File("x.0.et")));
  RawNode raw;
  EXPECT_TRUE(raw.Parse(messages.at(1)));
  return raw.Number(Attribute::kCommSize, -1);
}

TEST(Wire, CommSizeIsWhatOneMemberPutsIn) {
  EXPECT_EQ(CommSizeOf({.kind = CommKind::kAllGather, .in_bytes = 8, .out_bytes = 32}), 8);
  EXPECT_EQ(CommSizeOf({.kind = CommKind::kReduceScatter, .in_bytes = 32, .out_bytes = 8}), 32);
  EXPECT_EQ(CommSizeOf({.kind = CommKind::kBroadcast, .in_bytes = 0, .out_bytes = 16}), 16);
  EXPECT_EQ(
      CommSizeOf(
          {.kind = CommKind::kAllToAll, .in_bytes = 24, .out_bytes = 40, .largest_bytes = 100}),
      100)
      << "the same number on all members";
}

}  // namespace
}  // namespace reprise
