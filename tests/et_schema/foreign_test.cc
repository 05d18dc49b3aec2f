// Files that others wrote: Chakra's converter, its text converter, STAGE.
#include <gmock/gmock.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <fstream>

#include "et_schema/et_def.pb.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

namespace pb = ChakraProtoMsg;

// As Chakra's writers do: its length, then the message.
void WriteDelimited(const google::protobuf::MessageLite& message, std::ostream& out) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteVarint64(message.ByteSizeLong());
  ASSERT_TRUE(message.SerializeToCodedStream(&coded));
  coded.Trim();
  out << bytes;
}

class ForeignFile : public testing::Test {
 protected:
  static pb::AttributeProto& Attr(pb::Node& node, const std::string& name) {
    pb::AttributeProto& attribute = *node.add_attr();
    attribute.set_name(name);
    return attribute;
  }

  // One node of a PyTorch trace as chakra_converter writes it.
  static pb::Node Operator(std::uint64_t id) {
    pb::Node node;
    node.set_id(id);
    node.set_name("aten::addmm");
    node.set_type(pb::COMP_NODE);
    node.set_duration_micros(17);
    node.mutable_inputs()->set_values(
        "[[812, 813, 0, 256, 4, 'cuda:0'], [815, 772, 4, 64, 4, 'cuda:0'], [0, 0, 0, 0, 0, ''], "
        "1, 0.5, True, '<None>', '<Generator>', [4, 64], 'mean', \"it's\", None]");
    node.mutable_inputs()->set_shapes(
        "[[256], [8, 8], [], [], [], [], [], [], [[], []], [], [], []]");
    node.mutable_inputs()->set_types(
        "['Tensor(float)', 'Tensor(c10::BFloat16)', 'Tensor(nullptr (uninitialized))', 'Int', "
        "'Double', 'Bool', 'None', 'Generator', 'GenericList[Int,Int]', 'String', 'String', "
        "'None']");
    node.mutable_outputs()->set_values("[]");
    node.mutable_outputs()->set_shapes("[]");
    node.mutable_outputs()->set_types("[]");
    Attr(node, "rf_id").set_int64_val(438);
    Attr(node, "fw_parent").set_int64_val(0);
    Attr(node, "scope").set_int64_val(0);
    Attr(node, "tid").set_int64_val(3);
    Attr(node, "is_cpu_op").set_bool_val(true);
    Attr(node, "stream").set_int64_val(0);
    return node;
  }

  std::string Write(const std::vector<pb::Node>& nodes) {
    const std::string path = scratch_.File("foreign.0.et");
    std::ofstream out(path, std::ios::binary);
    WriteDelimited(pb::GlobalMetadata(), out);
    for (const pb::Node& node : nodes) {
      WriteDelimited(node, out);
    }
    return path;
  }

  ScratchDirectory scratch_;
};

TEST_F(ForeignFile, OperatorWithArguments) {
  const auto nodes = ReadTrace(Write({Operator(5)}));
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 1U);
  const Node& node = nodes->front();
  EXPECT_EQ(node.duration_ns, 17'000);
  EXPECT_EQ(node.rf_id, 438);
  EXPECT_EQ(node.actor, (Actor{Actor::Kind::kThread, 3, -1}));
  EXPECT_EQ(node.op_class, OpClass::kGemm);
  EXPECT_EQ(node.kind, OpKind::kWork);
  ASSERT_EQ(node.inputs.size(), 12U);
  const TensorDesc* second = node.inputs[1].AsTensor();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->tensor_id, 815);
  EXPECT_EQ(second->storage_id, 772);
  EXPECT_EQ(second->incarnation, 772) << "the storage id stands in";
  EXPECT_EQ(second->offset, 4);
  EXPECT_EQ(second->elements, 64);
  EXPECT_EQ(second->dtype, DType::kBFloat16);
  EXPECT_EQ(second->shape, (std::vector<std::int64_t>{8, 8}));
  EXPECT_EQ(second->strides, (std::vector<std::int64_t>{8, 1}));
  EXPECT_EQ(second->device, "cuda:0");
  EXPECT_FALSE(node.inputs[2].AsTensor()->IsDefined());
  EXPECT_EQ(node.inputs[3], Value{std::int64_t{1}});
  EXPECT_EQ(node.inputs[4], Value{0.5});
  EXPECT_EQ(node.inputs[5], Value{true});
  EXPECT_TRUE(node.inputs[6].IsNone());
  EXPECT_TRUE(node.inputs[7].IsNone());
  EXPECT_EQ(node.inputs[8], (Value{ValueList{{std::int64_t{4}}, {std::int64_t{64}}}}));
  EXPECT_EQ(node.inputs[9], Value{std::string("mean")});
  EXPECT_EQ(node.inputs[10], Value{std::string("it's")});
  EXPECT_TRUE(node.inputs[11].IsNone());
}

TEST_F(ForeignFile, UnknownAttributesAreCounted) {
  const std::string path = Write({Operator(5), Operator(6), Operator(7)});
  auto reader = EtReader::Open(path);
  ASSERT_TRUE(reader);
  Node node;
  while (*(*reader)->Next(node)) {
  }
  const auto counters = (*reader)->diagnostics().Snapshot();
  ASSERT_TRUE(counters.contains("unknown_attribute"));
  EXPECT_EQ(counters.at("unknown_attribute").count, 6U);  // fw_parent, scope
  EXPECT_THAT(counters.at("unknown_attribute").examples,
              testing::ElementsAre(testing::HasSubstr("\"fw_parent\", first in node 5"),
                                   testing::HasSubstr("\"scope\", first in node 5")));
}

TEST_F(ForeignFile, BothKindsOfDependenciesCountOnce) {
  pb::Node node = Operator(9);
  node.add_data_deps(5);
  node.add_ctrl_deps(5);
  node.add_ctrl_deps(6);
  const auto nodes = ReadTrace(Write({Operator(5), Operator(6), node}));
  ASSERT_TRUE(nodes);
  EXPECT_THAT(nodes->at(2).deps,
              testing::ElementsAre(Dependency{.node_id = 5},
                                   Dependency{.node_id = 6, .reason = EdgeReason::kControl}));
  EXPECT_EQ(nodes->at(2).deps[0].reason, EdgeReason::kUnknown);
}

TEST_F(ForeignFile, CollectivesAndTransfers) {
  pb::Node collective;
  collective.set_id(1);
  collective.set_type(pb::COMM_COLL_NODE);
  Attr(collective, "is_cpu_op").set_bool_val(false);
  Attr(collective, "comm_type").set_int64_val(pb::REDUCE_SCATTER_BLOCK);
  Attr(collective, "comm_size").set_uint64_val(1024);
  Attr(collective, "pg_name").set_string_val("tp");
  pb::Node send;
  send.set_id(2);
  send.set_type(pb::COMM_SEND_NODE);
  Attr(send, "comm_size").set_int64_val(64);
  Attr(send, "comm_dst").set_int32_val(3);
  Attr(send, "comm_src").set_int32_val(0);
  Attr(send, "comm_tag").set_int32_val(5);
  pb::Node again = send;
  again.set_id(3);
  const auto nodes = ReadTrace(Write({collective, send, again}));
  ASSERT_TRUE(nodes);
  const CommSpec& first = *nodes->at(0).comm;
  EXPECT_EQ(first.kind, CommKind::kReduceScatter);
  EXPECT_EQ(first.in_bytes, 1024);
  EXPECT_EQ(first.group, "tp");
  EXPECT_EQ(first.certainty, GroupCertainty::kRecorded);
  EXPECT_EQ(nodes->at(0).actor.kind, Actor::Kind::kGroup);
  const CommSpec& second = *nodes->at(1).comm;
  EXPECT_EQ(second.kind, CommKind::kSend);
  EXPECT_EQ(second.peer, 3);
  EXPECT_EQ(second.tag, 5);
  EXPECT_EQ(second.in_bytes, 64);
  EXPECT_EQ(second.out_bytes, 0);
  EXPECT_EQ(second.certainty, GroupCertainty::kUnknown);
  EXPECT_EQ(second.index, 0);
  EXPECT_EQ(nodes->at(2).comm->index, 1) << "by order in the file";
}

TEST_F(ForeignFile, UnparsableArgumentsAreCountedNotFatal) {
  for (const char* values :
       {"[1, 2", "1, 2]", "[abc]", "[[1, 2, 'x']]", "['open]", "[1] trailing",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]", "['\\", "['\\x1", "[1 2]"}) {
    pb::Node node = Operator(5);
    node.mutable_inputs()->set_values(values);
    auto reader = EtReader::Open(Write({node}));
    Node read;
    ASSERT_TRUE((*reader)->Next(read)) << values;
    EXPECT_TRUE(read.inputs.empty()) << values;
    EXPECT_EQ((*reader)->diagnostics().CountOf("unparsable_arguments"), 1U) << values;
  }
}

TEST_F(ForeignFile, OddArgumentsAreCounted) {
  pb::Node node;
  node.set_id(1);
  node.set_type(pb::COMP_NODE);
  node.mutable_inputs()->set_values(
      "[99999999999999999999, 'true', [1], 7, [1, 2, 0, 3, 4, 'cpu']]");
  node.mutable_inputs()->set_types("['Int', 'Bool', 'Int', 'Double', 'Tensor(float99)']");
  auto reader = EtReader::Open(Write({node}));
  Node read;
  ASSERT_TRUE((*reader)->Next(read));
  ASSERT_EQ(read.inputs.size(), 5U);
  EXPECT_EQ(read.inputs[0], Value{std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(read.inputs[1], Value{std::string("true")}) << "a bool declared as string";
  EXPECT_EQ(read.inputs[2], (Value{ValueList{{std::int64_t{1}}}}));
  EXPECT_EQ(read.inputs[3], Value{7.0}) << "a double without a point";
  ASSERT_NE(read.inputs[4].AsTensor(), nullptr);
  EXPECT_TRUE(read.inputs[4].AsTensor()->shape.empty());
  for (const char* counter : {"value_out_of_range", "value_type_mismatch", "unknown_dtype"}) {
    EXPECT_EQ((*reader)->diagnostics().CountOf(counter), 1U) << counter;
  }
}

TEST_F(ForeignFile, NewerFormatIsRefused) {
  const std::string path = scratch_.File("new.0.et");
  pb::GlobalMetadata header;
  pb::AttributeProto& attribute = *header.add_attr();
  attribute.set_name("reprise_format");
  attribute.set_int32_val(2);
  {
    std::ofstream out(path, std::ios::binary);
    WriteDelimited(header, out);
  }
  const auto reader = EtReader::Open(path);
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, testing::HasSubstr("later Reprise"));
}

TEST_F(ForeignFile, ValidatesWithWarnings) {
  pb::Node node = Operator(9);
  node.add_data_deps(77);
  node.set_type(static_cast<pb::NodeType>(42));
  const ValidationReport report = ValidateFile(Write({Operator(5), node}));
  EXPECT_TRUE(report.errors.empty());
  EXPECT_THAT(report.warnings, testing::Contains(testing::HasSubstr("dangling_dependency")));
  EXPECT_THAT(report.warnings, testing::Contains(testing::HasSubstr("unknown_node_type")));
}

}  // namespace
}  // namespace reprise
