// Every version of the host trace's format; damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "text_in_memory.h"

namespace reprise::pytorch {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Version {
  std::string schema;
  bool flat = false;     // fields are members of the node
  bool device = true;    // of a tensor
  bool strides = false;  // recorded
  bool kernel = false;   // kernel_backend, kernel_file
};

const std::vector<Version> kVersions = {
    {.schema = "1.0.0", .flat = true, .device = false},
    {.schema = "1.0.1", .flat = true},
    {.schema = "1.0.2-chakra.0.0.4"},
    {.schema = "1.0.3-chakra.0.0.4"},
    {.schema = "1.0.4-chakra.0.0.4", .kernel = true},
    {.schema = "1.1.0-chakra.0.0.4", .kernel = true},
    {.schema = "1.1.1-chakra.0.0.4", .strides = true, .kernel = true},
    {.schema = "1.1.1-chakra.1.0.0", .strides = true, .kernel = true},
};

json TensorJson(const Version& version, int id) {
  json out = {id, id + 1, 3, 6, 4};
  if (version.device) {
    out.push_back("cuda:0");
  }
  return out;
}

// aten::addmm(tensor of 2 × 3, a list of one tensor and none, 2.5).
json NodeJson(const Version& version) {
  const json values = {TensorJson(version, 10), {TensorJson(version, 20)}, 2.5, "<None>"};
  const json shapes = {{2, 3}, {{6}}, json::array(), json::array()};
  const json strides = {{1, 2}, {{1}}, json::array(), json::array()};
  const json types = {"Tensor(float)", "GenericList[Tensor(long int)]", "Double", "None"};
  const json none = json::array();
  if (version.flat) {
    return {{"name", "aten::addmm"},
            {"id", 12},
            {"rf_id", 5},
            {"parent", 4},
            {"fw_parent", 0},
            {"seq_id", 77},
            {"scope", 1},
            {"tid", 2},
            {"fw_tid", 1},
            {"op_schema", "aten::addmm(Tensor) -> Tensor"},
            {"inputs", values},
            {"input_shapes", shapes},
            {"input_types", types},
            {"outputs", {TensorJson(version, 30)}},
            {"output_shapes", {{6}}},
            {"output_types", {"Tensor(float)"}}};
  }
  json attributes = json::array();
  const auto add = [&](const char* name, const char* type, json value) {
    attributes.push_back({{"name", name}, {"type", type}, {"value", std::move(value)}});
  };
  add("rf_id", "uint64", 5);
  add("fw_parent", "uint64", 0);
  add("seq_id", "int64", 77);
  add("scope", "uint64", 1);
  add("tid", "uint64", 2);
  add("fw_tid", "uint64", 1);
  add("op_schema", "string", "aten::addmm(Tensor) -> Tensor");
  if (version.kernel) {
    add("kernel_backend", "string", "triton");
    add("kernel_file", "string", "k.py");
  }
  json inputs = {{"values", values}, {"shapes", shapes}, {"types", types}};
  json outputs = {
      {"values", {TensorJson(version, 30)}}, {"shapes", {{6}}}, {"types", {"Tensor(float)"}}};
  if (version.strides) {
    inputs["strides"] = strides;
    outputs["strides"] = {{1}};
  }
  return {{"id", 12},         {"name", "aten::addmm"}, {"ctrl_deps", 4},
          {"inputs", inputs}, {"outputs", outputs},    {"attrs", attributes}};
}

std::string TraceText(const std::string& schema, const std::vector<json>& nodes) {
  return json{{"schema", schema}, {"pid", 99}, {"time", "now"}, {"nodes", nodes}}.dump();
}

struct HostRead {
  Result<HostTrace> trace;
  Diagnostics diagnostics;
};
std::unique_ptr<HostRead> ReadText(const std::string& text) {
  auto out = std::make_unique<HostRead>();
  out->trace = ReadHostText("a.et.json", text, out->diagnostics);
  return out;
}

TEST(HostSchema, EveryVersionSaysTheSame) {
  for (const Version& version : kVersions) {
    SCOPED_TRACE(version.schema);
    const auto read = ReadText(TraceText(version.schema, {NodeJson(version)}));
    ASSERT_TRUE(read->trace) << read->trace.error().message;
    EXPECT_TRUE(read->diagnostics.Empty());
    EXPECT_EQ(read->trace->schema, version.schema);
    EXPECT_EQ(read->trace->process, 99);
    ASSERT_EQ(read->trace->nodes.size(), 1U);
    const HostNode& node = read->trace->nodes[0];
    EXPECT_EQ(node.id, 12U);
    EXPECT_EQ(node.caller, 4U);
    EXPECT_EQ(node.rf_id, 5);
    EXPECT_EQ(node.seq_id, 77);
    EXPECT_EQ(node.thread, 2);
    EXPECT_EQ(node.forward_thread, 1);
    EXPECT_EQ(node.scope, Scope::kBackward);
    EXPECT_EQ(*node.name, "aten::addmm");
    EXPECT_EQ(*node.op_schema, "aten::addmm(Tensor) -> Tensor");
    ASSERT_EQ(node.inputs.size(), 4U);
    const TensorDesc* tensor = node.inputs[0].AsTensor();
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->tensor_id, 10);
    EXPECT_EQ(tensor->storage_id, 11);
    EXPECT_EQ(tensor->offset, 3);
    EXPECT_EQ(tensor->elements, 6);
    EXPECT_EQ(tensor->device, version.device ? "cuda:0" : "");
    EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
    if (version.strides) {
      EXPECT_THAT(tensor->strides, ElementsAre(1, 2));
    } else {
      EXPECT_THAT(tensor->strides, ElementsAre(3, 1));
    }
    const ValueList* list = node.inputs[1].AsList();
    ASSERT_NE(list, nullptr);
    ASSERT_EQ(list->size(), 1U);
    ASSERT_NE((*list)[0].AsTensor(), nullptr);
    EXPECT_EQ((*list)[0].AsTensor()->storage_id, 21);
    EXPECT_THAT((*list)[0].AsTensor()->shape, ElementsAre(6));
    ASSERT_EQ(node.outputs.size(), 1U);
    EXPECT_EQ(node.outputs[0].AsTensor()->storage_id, 31);
  }
}

// Communication records since 1.1.0.
TEST(HostSchema, CommunicationAttributes) {
  json node = NodeJson({.schema = "1.1.0-chakra.0.0.4"});
  const std::vector<std::pair<std::string, json>> attributes = {{"collective_name", "allreduce"},
                                                                {"in_msg_nelems", 8},
                                                                {"in_split_size", "[3, 5]"},
                                                                {"pg_name", "0"},
                                                                {"pg_size", 2},
                                                                {"dtype", "Float"}};
  for (const auto& [name, value] : attributes) {
    node["attrs"].push_back({{"name", name}, {"type", "x"}, {"value", value}});
  }
  const auto read = ReadText(TraceText("1.1.0-chakra.0.0.4", {node}));
  ASSERT_TRUE(read->trace) << read->trace.error().message;
  const CommAttributes* comm = read->trace->nodes[0].comm.get();
  ASSERT_NE(comm, nullptr);
  EXPECT_EQ(comm->collective, "allreduce");
  EXPECT_EQ(comm->in_elements, 8);
  EXPECT_THAT(comm->in_splits, ElementsAre(3, 5));
  EXPECT_EQ(comm->group_size, 2);
}

TEST(HostSchema, NewerOfTheFamilyIsReadAndCounted) {
  for (const char* schema : {"1.1.2-chakra.0.0.4", "1.2.0", "1.0.9-chakra.7"}) {
    const auto read = ReadText(TraceText(schema, {NodeJson({.schema = schema})}));
    ASSERT_TRUE(read->trace) << read->trace.error().message;
    EXPECT_EQ(read->diagnostics.CountOf("host_schema_newer"), 1U) << schema;
  }
}

TEST(HostSchema, OthersAreRefused) {
  for (const char* schema : {"2.0.0", "0.9.0", "", "chakra", "1.x.0", "1.1", "1.1.", "1..1"}) {
    const auto read = ReadText(TraceText(schema, {NodeJson({})}));
    ASSERT_FALSE(read->trace) << schema;
    EXPECT_EQ(read->trace.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(read->trace.error().message, HasSubstr("wrong schema"));
    EXPECT_THAT(read->trace.error().message, HasSubstr("1.1.1-chakra"));
  }
}

void ExpectRefusal(const json& node, const std::string& part) {
  const auto read = ReadText(TraceText("1.1.1-chakra.0.0.4", {node}));
  ASSERT_FALSE(read->trace) << node;
  EXPECT_EQ(read->trace.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(read->trace.error().message, HasSubstr(part));
  EXPECT_THAT(read->trace.error().message, HasSubstr("a.et.json"));
  EXPECT_THAT(read->trace.error().message, HasSubstr("byte "));
}

TEST(HostDamage, MissingKeysNameNodeAndByte) {
  json node = NodeJson({});
  node.erase("id");
  ExpectRefusal(node, "no id");
  for (const char* key : {"name", "inputs", "outputs", "attrs"}) {
    node = NodeJson({});
    node.erase(key);
    ExpectRefusal(node, "node 12");
  }
  node = NodeJson({.flat = true});
  node.erase("tid");
  ExpectRefusal(node, "node 12");
  ExpectRefusal(json(5), "no id");
  ExpectRefusal(json::array({1}), "no id");
}

TEST(HostDamage, IdsOutOfRange) {
  for (const json& id : {json(-1), json(UINT64_MAX), json(1.5), json("7"), json(nullptr)}) {
    json node = NodeJson({});
    node["id"] = id;
    ExpectRefusal(node, "no id, or one that");
  }
}

TEST(HostDamage, WrongTypesAreCountedWithTheNode) {
  json node = NodeJson({});
  node["attrs"][0]["value"] = "five";      // rf_id
  node["attrs"][4]["value"] = UINT64_MAX;  // tid: not in 64 bits with a sign
  node["attrs"][6]["value"] = 8;           // op_schema
  node["attrs"].push_back({{"name", "half"}});
  node["ctrl_deps"] = {1, 2};
  const auto read = ReadText(TraceText("1.1.1-chakra.0.0.4", {node}));
  ASSERT_TRUE(read->trace) << read->trace.error().message;
  EXPECT_EQ(read->trace->nodes[0].rf_id, -1);
  EXPECT_EQ(read->trace->nodes[0].caller, 0U);
  const auto counter = read->diagnostics.Snapshot().at("host_attribute_unreadable");
  EXPECT_EQ(counter.count, 1U);
  EXPECT_THAT(counter.examples, ElementsAre(HasSubstr("node 12")));
}

TEST(HostDamage, ArgumentListsThatDiffer) {
  json node = NodeJson({});
  node["inputs"]["shapes"] = json::array();
  node["inputs"]["types"].erase(3);
  const auto read = ReadText(TraceText("1.1.1-chakra.0.0.4", {node}));
  ASSERT_TRUE(read->trace) << read->trace.error().message;
  EXPECT_EQ(read->diagnostics.CountOf("host_argument_lists_differ"), 1U);
  EXPECT_EQ(read->trace->nodes[0].inputs.size(), 4U);
  EXPECT_TRUE(read->trace->nodes[0].inputs[0].AsTensor()->shape.empty());
}

TEST(HostDamage, TensorsThatAreNone) {
  json node = NodeJson({});
  node["inputs"]["values"][0] = {1, 2, 3};
  node["inputs"]["values"][1] = {{"x", 2, 3, 4, 5, "cpu"}};
  const auto read = ReadText(TraceText("1.1.1-chakra.0.0.4", {node}));
  ASSERT_TRUE(read->trace) << read->trace.error().message;
  EXPECT_EQ(read->trace->nodes[0].inputs[0].AsTensor(), nullptr);
}

TEST(HostDamage, DuplicateIdsAreRenumberedAndCounted) {
  json other = NodeJson({});
  other["name"] = "aten::mm";
  const auto read = ReadText(TraceText("1.1.1-chakra.0.0.4", {NodeJson({}), other, NodeJson({})}));
  ASSERT_TRUE(read->trace) << read->trace.error().message;
  EXPECT_EQ(read->diagnostics.CountOf("duplicate_node_id"), 2U);
  EXPECT_EQ(read->trace->nodes[0].id, 12U);
  EXPECT_EQ(read->trace->nodes[1].id, 13U);
  EXPECT_EQ(read->trace->nodes[2].id, 14U);
  EXPECT_EQ(read->trace->highest_id, 14U);
}

TEST(HostDamage, ConcatenatedDocuments) {
  const std::string text = TraceText("1.1.1-chakra.0.0.4", {NodeJson({})});
  const auto read = ReadText(text + "\n" + text);
  ASSERT_FALSE(read->trace);
  EXPECT_THAT(read->trace.error().message, HasSubstr("two files"));
  EXPECT_THAT(read->trace.error().message, HasSubstr("byte " + std::to_string(text.size() + 1)));
  EXPECT_TRUE(ReadText(text + " \n\n")->trace);
}

TEST(HostDamage, NotANumber) {
  std::string text = TraceText("1.1.1-chakra.0.0.4", {NodeJson({})});
  text.replace(text.find("2.5"), 3, "NaN");
  const auto read = ReadText(text);
  ASSERT_TRUE(read->trace) << read->trace.error().message;
  EXPECT_EQ(read->diagnostics.CountOf("non_json_number"), 1U);
}

TEST(HostDamage, InvalidUtf8) {
  std::string text = TraceText("1.1.1-chakra.0.0.4", {NodeJson({})});
  text[text.find("aten::addmm") + 2] = '\xff';
  const auto read = ReadText(text);
  ASSERT_FALSE(read->trace);
  EXPECT_THAT(read->trace.error().message, HasSubstr("UTF-8"));
  EXPECT_THAT(read->trace.error().message, HasSubstr("byte "));
}

// The process was killed: the list ends with a comma.
TEST(HostDamage, NeverFinished) {
  const std::string text = TraceText("1.1.1-chakra.0.0.4", {NodeJson({})});
  const auto read = ReadText(text.substr(0, text.rfind("],")) + ",");
  ASSERT_FALSE(read->trace);
  EXPECT_THAT(read->trace.error().message, HasSubstr("truncated"));
}

}  // namespace
}  // namespace reprise::pytorch
