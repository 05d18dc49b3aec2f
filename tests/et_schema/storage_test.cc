// Chakra's storage, batch and checkpoint nodes: what is read is written again.
#include "et_schema/storage.h"

#include <gtest/gtest.h>

#include "et_schema/et_def.pb.h"
#include "et_schema/graph.h"
#include "et_schema/io.h"
#include "et_schema/raw_node.h"
#include "et_schema/trace_set.h"
#include "et_schema/trace_stats.h"
#include "et_schema/wire_buffer.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

namespace pb = ChakraProtoMsg;

// One of each detail, with a value in each field, and one without.
std::vector<StorageWork> EachStorage() {
  StorageWork file{.level = 1,
                   .detail = FileOperation{.op = 5,
                                           .pathname = "/data/übung",
                                           .fd = -1,
                                           .offset = ~std::uint64_t{0},
                                           .size_bytes = 4096,
                                           .flags = ~std::uint32_t{0}}};
  StorageWork page{
      .level = 2,
      .detail = PageOperation{.op = 6, .inode = 1ULL << 63, .page_index = 3, .nr_pages = 8}};
  StorageWork block{.level = 3,
                    .detail = BlockOperation{.op = 2,
                                             .queue_event = 5,
                                             .device = "nvme0n1",
                                             .lba = 1ULL << 40,
                                             .nr_sectors = 8,
                                             .req_op_flags = 2048}};
  // Numbers of a later schema, and an operation of which nothing is said.
  StorageWork later{.level = 77, .detail = FileOperation{.op = -5}};
  return {file, page, block, later, {.level = 4}, {}};
}

Node StorageNode(std::uint64_t id, const StorageWork& work, NodeType type = NodeType::kStorage) {
  Node node;
  node.id = id;
  node.name = "read";
  node.type = type;
  node.start_ns = static_cast<std::int64_t>(id) * 1000;
  node.duration_ns = 5000;
  node.storage = work;
  return node;
}

std::string Message(const Node& node) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(WriteTrace(scratch.File("x.0.et"), {node}));
  const std::string bytes = ReadFile(scratch.File("x.0.et"));
  // The header's length has two bytes.
  WireCursor cursor(bytes);
  std::string_view header;
  std::string_view message;
  EXPECT_TRUE(cursor.Bytes(header) && cursor.Bytes(message));
  return std::string(message);
}

TEST(Storage, WhatIsReadIsWrittenAgain) {
  const ScratchDirectory scratch;
  std::vector<Node> nodes;
  for (const StorageWork& work : EachStorage()) {
    for (const NodeType type : {NodeType::kStorage, NodeType::kBatch, NodeType::kCheckpoint}) {
      nodes.push_back(StorageNode(nodes.size() + 1, work, type));
    }
  }
  ASSERT_TRUE(WriteTrace(scratch.File("x.0.et"), nodes));
  const auto reader = EtReader::Open(scratch.File("x.0.et"));
  ASSERT_TRUE(reader);
  const auto graph = Graph::Load(scratch.File("x.0.et"));
  ASSERT_TRUE(graph) << graph.error().message;
  Node node;
  for (Graph::Index i = 0; i < nodes.size(); ++i) {
    ASSERT_TRUE((*reader)->Next(node).value_or(false));
    EXPECT_EQ(node, nodes[i]);
    EXPECT_EQ(*graph->storage(i), *nodes[i].storage);
    EXPECT_EQ(*graph->Decode(i), nodes[i]);
  }
  EXPECT_TRUE((*reader)->diagnostics().Snapshot().empty());
}

// The bytes are those that protobuf writes of the same message.
TEST(Storage, ProtobufReadsAndWritesTheSame) {
  for (const StorageWork& work : EachStorage()) {
    const std::string message = Message(StorageNode(1, work));
    pb::Node node;
    ASSERT_TRUE(node.ParseFromString(message));
    EXPECT_EQ(node.type(), pb::STORAGE_NODE);
    ASSERT_TRUE(node.has_storage());
    EXPECT_EQ(static_cast<SchemaNumber>(node.storage().level()), work.level);
    EXPECT_EQ(node.SerializeAsString(), message);
    RawNode raw;
    ASSERT_TRUE(raw.Parse(message));
    EXPECT_EQ(raw.storage, work);
  }
}

// Parts of an operation add up, another operation replaces it.
TEST(Storage, SeveralMessagesAreOne) {
  pb::Node first;
  first.mutable_storage()->mutable_fs()->set_fd(3);
  pb::Node second;
  second.mutable_storage()->mutable_fs()->set_size_bytes(7);
  second.mutable_storage()->set_level(pb::STORAGE_LEVEL_FS);
  const std::string both = first.SerializeAsString() + second.SerializeAsString();
  RawNode raw;
  ASSERT_TRUE(raw.Parse(both));
  EXPECT_EQ(*raw.storage,
            (StorageWork{.level = 1, .detail = FileOperation{.fd = 3, .size_bytes = 7}}));
  pb::Node third;
  third.mutable_storage()->mutable_page()->set_nr_pages(2);
  const std::string all = both + third.SerializeAsString();
  ASSERT_TRUE(raw.Parse(all));
  EXPECT_EQ(raw.storage->detail, (decltype(StorageWork::detail)(PageOperation{.nr_pages = 2})));
}

// Field 99 in each message; and an attribute of the schemas that had those in field 11.
TEST(Storage, UnknownFieldsAreCounted) {
  WireBuffer file;
  file.VarintField(3, 3);
  file.VarintField(99, 1);
  WireBuffer info;
  info.BytesField(10, file.bytes());
  info.VarintField(99, 1);
  WireBuffer node;
  node.BytesField(11, info.bytes());
  node.VarintField(99, 1);
  RawNode raw;
  ASSERT_TRUE(raw.Parse(node.bytes()));
  EXPECT_EQ(raw.unknown_fields, 3U);
  EXPECT_EQ(raw.storage, (StorageWork{.detail = FileOperation{.fd = 3}}));

  pb::AttributeProto attribute;
  attribute.set_name("comm_type");
  WireBuffer old;
  old.BytesField(11, attribute.SerializeAsString());
  const std::string of_old(old.bytes());
  ASSERT_TRUE(raw.Parse(of_old));
  EXPECT_EQ(raw.unknown_fields, 1U);
  EXPECT_FALSE(raw.storage);
}

TEST(Storage, DamageIsNoNode) {
  const std::string message = Message(StorageNode(1, EachStorage()[0]));
  pb::Node node;
  ASSERT_TRUE(node.ParseFromString(message));
  const std::string storage = node.storage().SerializeAsString();
  for (std::size_t length = 1; length < storage.size(); ++length) {
    WireBuffer cut;
    cut.BytesField(11, storage.substr(0, length));
    RawNode raw;
    pb::StorageInfo expected;
    EXPECT_EQ(raw.Parse(cut.bytes()), expected.ParseFromString(storage.substr(0, length)))
        << length;
  }
}

TEST(Storage, Names) {
  std::vector<std::string> names;
  for (const StorageWork& work : EachStorage()) {
    names.push_back(OperationName(work));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"fs pread", "page readahead_async", "block write complete",
                                      "77 -5", "device", "unknown"}));
}

TEST(Storage, StatsCountOperationsAndBytes) {
  const ScratchDirectory scratch;
  const auto each = EachStorage();
  ASSERT_TRUE(WriteTrace(scratch.File("x.0.et"),
                         {StorageNode(1, each[0]), StorageNode(2, each[0]), StorageNode(3, each[2]),
                          StorageNode(4, each[1]), StorageNode(5, {}, NodeType::kCheckpoint)}));
  const auto stats = CollectTraceStats(scratch.File("x.0.et"));
  ASSERT_TRUE(stats) << stats.error().message;
  const auto& rows = stats->storage;
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows.at("storage fs pread").nodes, 2U);
  EXPECT_EQ(rows.at("storage fs pread").bytes, 8192);
  EXPECT_EQ(rows.at("storage fs pread").duration_ns, 10'000);
  EXPECT_EQ(rows.at("storage block write complete").bytes, 4096);
  EXPECT_EQ(rows.at("storage page readahead_async").of_unknown_size, 1U);
  EXPECT_EQ(rows.at("checkpoint unknown").nodes, 1U);
}

TEST(Storage, ValidationSaysWhatDoesNotFit) {
  const ScratchDirectory scratch;
  StorageWork other = EachStorage()[0];
  other.level = 3;
  ASSERT_TRUE(
      WriteTrace(scratch.File("x.0.et"), {StorageNode(1, EachStorage()[0]), StorageNode(2, other),
                                          StorageNode(3, {}, NodeType::kComp)}));
  const ValidationReport report = ValidateFile(scratch.File("x.0.et"));
  EXPECT_TRUE(report.errors.empty());
  ASSERT_EQ(report.warnings.size(), 2U);
  EXPECT_NE(report.warnings[0].find("node 3"), std::string::npos) << report.warnings[0];
  EXPECT_NE(report.warnings[1].find("node 2"), std::string::npos) << report.warnings[1];
}

}  // namespace
}  // namespace reprise
