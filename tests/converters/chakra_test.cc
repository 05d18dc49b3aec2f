// Chakra's own files in all their forms mean the same trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "chakra_files.h"
#include "et_schema/trace_set.h"
#include "packed.h"

namespace reprise::chakra {
namespace {

using pytorch::FreshDirectory;
using pytorch::LoadedTrace;
using pytorch::WriteText;
using ::testing::HasSubstr;

std::string TestName() { return ::testing::UnitTest::GetInstance()->current_test_info()->name(); }

// One file of one node after another, 0.0.4.
std::string File(std::initializer_list<Wire> nodes) {
  std::string out = Wire().Text(1, "0.0.4").Framed();
  for (const Wire& node : nodes) {
    out += node.Framed();
  }
  return out;
}
Wire Comp(std::uint64_t id, std::uint64_t us, std::initializer_list<std::uint64_t> deps = {}) {
  return Wire().Number(1, id).Text(2, "op").Number(3, 4).Packed(5, deps).Number(7, us);
}

struct Form {
  std::string name;
  std::string text;
};
std::vector<Form> Forms() {
  return {{"first.0.et", First()},         {"second.0.et", Second()},
          {"third.0.et", Third()},         {"fourth.0.et", Fourth()},
          {"jsonized.0.json", Jsonized()}, {"nodes.0.json", JsonNodes()},
          {"array.0.json", JsonArray()},   {"feeder.0.json", FeederJson()}};
}

TEST(Chakra, EveryFormSaysTheSame) {
  for (const Form& form : Forms()) {
    SCOPED_TRACE(form.name);
    const auto trace = ConvertText(TestName(), form.name, form.text);
    ASSERT_TRUE(trace) << trace.error().message;
    ASSERT_EQ(trace->nodes.size(), 3U);
    const Node& a = trace->nodes[0];
    const Node& b = trace->nodes[1];
    const Node& sum = trace->nodes[2];
    EXPECT_EQ(a.name, "a");
    EXPECT_EQ(a.type, NodeType::kComp);
    EXPECT_EQ(a.duration_ns, 5'000);
    EXPECT_EQ(b.start_ns, 5'000) << "starts were made up from what each node waits for";
    EXPECT_EQ(b.duration_ns, 7'000);
    ASSERT_EQ(b.deps.size(), 1U);
    EXPECT_EQ(b.deps[0].node_id, a.id);
    EXPECT_EQ(sum.type, NodeType::kCommColl);
    EXPECT_EQ(sum.start_ns, 12'000);
    EXPECT_EQ(sum.delay_ns, 0);
    ASSERT_TRUE(sum.comm);
    EXPECT_EQ(sum.comm->kind, CommKind::kAllReduce);
    EXPECT_EQ(sum.comm->in_bytes, 1024);
    EXPECT_EQ(sum.comm->out_bytes, 1024);
    EXPECT_EQ(sum.comm->group, "0");
    EXPECT_EQ(sum.comm->certainty, GroupCertainty::kInferred) << "simulators mean all ranks";
    ASSERT_EQ(trace->metadata.steps.size(), 1U);
  }
}

TEST(Chakra, SchemasAreToldApart) {
  const std::pair<std::string, std::string> files[] = {
      {"0.0.1", First()}, {"0.0.2", Second()}, {"0.0.3", Third()}, {"0.0.4", Fourth()}};
  for (const auto& [schema, text] : files) {
    const auto trace = ConvertText(TestName(), "a.0.et", text);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->metadata.source, "chakra " + schema);
  }
}

TEST(Chakra, OldArgumentsAndCollectiveNumbers) {
  const Wire node = Wire()
                        .Number(1, 9)
                        .Text(2, "x")
                        .Number(3, 7)
                        .Message(11, OldIntAttribute("comm_type", 3))
                        .Message(11, OldIntAttribute("comm_size", 64));
  const auto trace = ConvertText(TestName(), "a.0.et", Third() + node.Framed());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->ById(9)->comm->kind, CommKind::kReduceScatter);
  ASSERT_EQ(trace->nodes[0].inputs.size(), 2U);
  EXPECT_EQ(trace->nodes[0].inputs[1], Value{1.5});
}

TEST(Chakra, CompressedFormsToo) {
  for (const Form& form : Forms()) {
    const auto plain = ConvertText(TestName(), form.name, form.text);
    for (const auto& [ending, text] :
         {std::pair(".gz", Gzip(form.text)), std::pair(".zst", Zstd(form.text))}) {
      const auto packed = ConvertText(TestName(), form.name + ending, text);
      ASSERT_TRUE(packed) << form.name << ending << ": " << packed.error().message;
      EXPECT_EQ(packed->nodes, plain->nodes) << form.name << ending;
    }
  }
}

TEST(Chakra, DanglingDependenciesAreDroppedAndCounted) {
  ConvertReport report;
  const auto trace =
      ConvertText(TestName(), "a.0.et", File({Comp(1, 5), Comp(2, 5, {1, 77})}), &report);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->ById(2)->deps.size(), 1U);
  EXPECT_EQ(report.diagnostics.CountOf("dangling_dependency"), 1U);
  EXPECT_EQ(trace->Diagnostic("dangling_dependency"), 1U) << "kept with the data";
}

TEST(Chakra, CyclesAreRefusedByName) {
  const auto trace =
      ConvertText(TestName(), "a.0.et",
                  File({Comp(1, 5), Comp(2, 5, {1, 4}), Comp(3, 5, {2}), Comp(4, 5, {3})}));
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(trace.error().message, HasSubstr("cycle of 3 nodes"));
  for (const char* id : {"2 (op)", "3 (op)", "4 (op)"}) {
    EXPECT_THAT(trace.error().message, HasSubstr(id));
  }
}

TEST(Chakra, ANodeThatWaitsForItselfIsACycle) {
  const auto trace = ConvertText(TestName(), "a.0.et", File({Comp(8, 5, {8})}));
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("cycle of 1 nodes, each waits for the next: 8"));
}

TEST(Chakra, DuplicateIdsAreRefused) {
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>("a.0.et", File({Comp(6, 5), Comp(6, 5)})),
        {"a.0.json", R"([{"id": 6, "name": "x", "dataDeps": []}, {"id": 6, "name": "y"}])"}}) {
    const auto trace = ConvertText(TestName(), name, text);
    ASSERT_FALSE(trace);
    EXPECT_THAT(trace.error().message, HasSubstr("6"));
    EXPECT_THAT(trace.error().message, HasSubstr("another node has"));
  }
}

TEST(Chakra, HugeIdsStay) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const auto trace = ConvertText(TestName(), "a.0.et", File({Comp(kHuge, 5), Comp(1, 5, {kHuge})}));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->ById(1)->deps.at(0).node_id, kHuge);
  const auto json =
      ConvertText(TestName(), "a.0.json", R"([{"id": 18446744073709551615, "type": "COMP_NODE"}])");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_NE(json->ById(kHuge), nullptr);
  EXPECT_FALSE(ConvertText(TestName(), "a.0.json", R"([{"id": 1e30, "type": "COMP_NODE"}])"));
  EXPECT_FALSE(ConvertText(TestName(), "a.0.json", R"([{"id": -1, "type": "COMP_NODE"}])"));
}

TEST(Chakra, BothListsAreEdgesInSimulatorsTraces) {
  const Wire node = Wire().Number(1, 2).Text(2, "b").Number(3, 4).Packed(4, {1}).Number(7, 1);
  const auto trace = ConvertText(TestName(), "a.0.et", File({Comp(1, 5), node}));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->ById(2)->deps.at(0).node_id, 1U);
}

// A captured parent and child each wait for the other, were the caller an edge.
TEST(Chakra, CallersOfCapturesAreNoEdges) {
  const Wire parent = Wire(Comp(1, 5, {2})).Message(10, IntAttribute("rf_id", 3));
  const Wire child = Wire(Comp(2, 5)).Packed(4, {1}).Message(10, IntAttribute("rf_id", 4));
  ConvertReport report;
  const auto trace = ConvertText(TestName(), "a.0.et", File({parent, child}), &report);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->ById(2)->parent, "op");
  EXPECT_TRUE(trace->ById(2)->deps.empty());
  EXPECT_EQ(report.diagnostics.CountOf("caller_is_no_edge"), 1U);
}

TEST(Chakra, RecordedStartsAreKept) {
  ConvertReport report;
  const auto trace =
      ConvertText(TestName(), "a.0.et",
                  File({Wire(Comp(1, 10)).Number(6, 1000), Wire(Comp(2, 10, {1})).Number(6, 1015),
                        Wire(Comp(3, 10, {2})).Number(6, 1020)}),
                  &report);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->metadata.base_ns, 1'000'000);
  EXPECT_EQ(trace->ById(2)->start_ns, 15'000);
  EXPECT_EQ(trace->ById(2)->delay_ns, 5'000);
  EXPECT_TRUE(trace->ById(3)->deps.empty()) << "2 ends after 3 started";
  EXPECT_EQ(report.diagnostics.CountOf("dependency_ends_too_late"), 1U);
}

TEST(Chakra, OneActorDoesOneThingAtATime) {
  const auto trace = ConvertText(TestName(), "a.0.et", File({Comp(1, 10), Comp(2, 10)}));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->ById(2)->start_ns, 10'000);
  ASSERT_EQ(trace->ById(2)->deps.size(), 1U);
  EXPECT_TRUE(trace->ById(2)->deps[0].inferred);
  EXPECT_EQ(trace->ById(2)->deps[0].reason, EdgeReason::kStream);
}

TEST(Chakra, ASendWithoutAPeerBecomesTimedWork) {
  const Wire send = Wire().Number(1, 1).Text(2, "send").Number(3, 5).Number(7, 4);
  ConvertReport report;
  const auto trace = ConvertText(TestName(), "a.0.et", File({send}), &report);
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->nodes[0].comm);
  EXPECT_EQ(trace->nodes[0].op_class, OpClass::kComm);
  EXPECT_EQ(report.diagnostics.CountOf("transfer_without_peer"), 1U);
}

Wire Gather(std::uint64_t id, std::string_view group, std::int64_t bytes) {
  return Wire()
      .Number(1, id)
      .Text(2, "gather")
      .Number(3, 7)
      .Message(10, IntAttribute("comm_type", 2))
      .Message(10, IntAttribute("comm_size", bytes))
      .Message(10, TextAttribute("pg_name", group));
}

class ChakraSet : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = FreshDirectory(TestName());
    std::filesystem::create_directories(root_ + "/in");
  }
  void Write(const std::string& file, const std::string& text) {
    WriteText(root_ + "/in/" + file, text);
  }
  Result<ConvertReport> Convert(bool strict = false) {
    return FindConverter("chakra")->convert(
        {.input_directory = root_ + "/in", .output_directory = root_ + "/out", .strict = strict});
  }
  std::string root_;
};

TEST_F(ChakraSet, GroupsBesideTheTraces) {
  Write("t.0.et", File({Gather(1, "tp", 512), Gather(2, "7", 512)}));
  Write("t.1.et.gz", Gzip(File({Gather(1, "tp", 512)})));
  Write("t.2.et.zst", Zstd(File({Gather(2, "7", 512)})));
  Write("comm_groups.json", R"({"tp": [0, 1], "7": [0, 2]})");
  const auto report = Convert();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->recorded_groups, 4U);
  const auto set = TraceSet::Open(root_ + "/out");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->name, "t");
  EXPECT_EQ(set->groups.at("7").ranks, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(set->groups.at("1").ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(set->groups.at("1").description, "tp") << "simulators take numbers only";
  const auto rank = pytorch::Load(root_ + "/out/t.1.et");
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->metadata.rank, 1);
  EXPECT_EQ(rank->metadata.world_size, 3);
  EXPECT_EQ(rank->nodes[0].comm->out_bytes, 1024) << "512 from each of two";
  for (const auto& [number, path] : set->files) {
    EXPECT_TRUE(ValidateFile(path).errors.empty()) << path;
  }
}

TEST_F(ChakraSet, MembersOfAnUnlistedGroupAreThoseWhoUseIt) {
  Write("t.0.et", File({Gather(1, "3", 512)}));
  Write("t.1.et", File({Comp(1, 5)}));
  Write("t.2.et", File({Gather(1, "3", 512)}));
  const auto report = Convert();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->inferred_groups, 2U);
  EXPECT_EQ(TraceSet::Open(root_ + "/out")->groups.at("3").ranks,
            (std::vector<std::int32_t>{0, 2}));
}

TEST_F(ChakraSet, AMissingRankIsNamed) {
  Write("t.0.et", Fourth());
  Write("t.2.et", Fourth());
  const auto report = Convert();
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("rank 1 is missing"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/out"));
}

TEST_F(ChakraSet, StrictRefusesLosses) {
  Write("t.0.et", File({Comp(1, 5, {77})}));
  const auto report = Convert(true);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("dangling_dependency"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/out"));
}

TEST_F(ChakraSet, OurOwnFilesAreNotConvertedAgain) {
  Write("t.0.et", Fourth());
  ASSERT_TRUE(Convert());
  const auto again = FindConverter("chakra")->convert(
      {.input_directory = root_ + "/out", .output_directory = root_ + "/again"});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::kUsage);
}

TEST(ChakraLinked, HostAndDevice) {
  ConvertReport report;
  const auto trace = ConvertText(TestName(), "linked.0.json", Linked(), &report);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->Find("aten::linear"), nullptr) << "a frame";
  const Node& mm = *trace->ById(4);
  const Node& kernel = *trace->ById(5);
  const Node& transfer = *trace->ById(7);
  const Node& add = *trace->ById(8);
  EXPECT_EQ(trace->metadata.base_ns, 110'500);
  EXPECT_EQ(mm.start_ns, 0);
  EXPECT_EQ(mm.duration_ns, 20'000) << "cut where its kernel starts";
  EXPECT_EQ(mm.kind, OpKind::kMetadata) << "the kernel does the work";
  EXPECT_EQ(mm.parent, "aten::linear");
  EXPECT_EQ(kernel.actor, (Actor{Actor::Kind::kStream, 7, 0}));
  EXPECT_EQ(kernel.op_class, OpClass::kGemm);
  EXPECT_EQ(kernel.duration_ns, 60'000);
  EXPECT_EQ(trace->Edge(mm, kernel), EdgeReason::kLaunch);
  ASSERT_TRUE(transfer.comm);
  EXPECT_EQ(transfer.comm->kind, CommKind::kAllReduce);
  EXPECT_EQ(transfer.comm->in_bytes, 1024);
  EXPECT_EQ(transfer.comm->dtype, DType::kFloat32);
  EXPECT_EQ(trace->Edge(transfer, add), EdgeReason::kSync);
  EXPECT_EQ(add.delay_ns, 10'000);
  EXPECT_EQ(add.kind, OpKind::kWork);
  EXPECT_EQ(report.diagnostics.CountOf("operation_without_time"), 1U) << "the thread's own node";
}

// Nothing may be lost silently between the file and the trace.
TEST(ChakraLinked, WrongTypesAreCounted) {
  std::string text = Linked();
  text.replace(text.find("\"ts\": 240.5"), 11, "\"ts\": \"xx\"");
  text.replace(text.find("\"stream\": 7"), 11, "\"stream\": {}");
  ConvertReport report;
  const auto trace = ConvertText(TestName(), "linked.0.json", text, &report);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(report.diagnostics.CountOf("json_value_type"), 2U);
  EXPECT_EQ(trace->ById(8), nullptr);
}

// Chakra's pull request 216: node types 8 to 10, and what a storage operation did in field 11.
TEST(Chakra, StorageNodesAreKept) {
  const Wire info =
      Wire().Number(1, 1).Message(10, Wire().Number(1, 3).Text(2, "/d").Number(5, 64));
  const auto storage = [&](std::uint64_t id, std::uint64_t type, std::uint64_t us) {
    return Wire().Number(1, id).Text(2, "read").Number(3, type).Number(7, us).Message(11, info);
  };
  const Wire attributed = Comp(6, 9).Message(10, IntAttribute("num_ops", 5));
  for (const Wire& header : {Wire().Text(1, "0.0.5"), Wire()}) {
    ConvertReport report;
    const auto trace =
        ConvertText(TestName(), "a.0.et",
                    header.Framed() + Comp(1, 5).Framed() + storage(2, 8, 70).Framed() +
                        storage(3, 9, 800).Framed() + storage(4, 10, 9000).Framed() +
                        Comp(5, 7, {2}).Number(12, 1).Framed() + attributed.Framed(),
                    &report);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->metadata.source, "chakra 0.0.4");
    for (const auto& [id, ns] : {std::pair(1, 5'000), std::pair(2, 70'000), std::pair(3, 800'000),
                                 std::pair(4, 9'000'000), std::pair(5, 7'000)}) {
      EXPECT_EQ(trace->ById(static_cast<std::uint64_t>(id))->duration_ns, ns) << id;
    }
    EXPECT_EQ(trace->ById(2)->type, NodeType::kStorage);
    EXPECT_EQ(trace->ById(3)->type, NodeType::kBatch);
    EXPECT_EQ(trace->ById(4)->type, NodeType::kCheckpoint);
    const StorageWork read{.level = 1,
                           .detail = FileOperation{.op = 3, .pathname = "/d", .size_bytes = 64}};
    EXPECT_EQ(trace->ById(2)->storage, read);
    EXPECT_EQ(trace->ById(3)->storage, read) << "whatever the type is";
    EXPECT_EQ(trace->ById(2)->kind, OpKind::kWork);
    EXPECT_EQ(trace->ById(2)->actor.kind, Actor::Kind::kThread);
    EXPECT_FALSE(trace->ById(1)->storage);
    EXPECT_EQ(report.diagnostics.CountOf("storage_node"), 3U);
    EXPECT_EQ(report.diagnostics.CountOf("unknown_node_field"), 1U);
    EXPECT_EQ(report.diagnostics.CountOf("unknown_node_type"), 0U);
  }
}

// As protobuf writes it, its keys in both spellings, enumerations by name and number.
TEST(Chakra, StorageNodesAsJson) {
  ConvertReport report;
  const auto trace = ConvertText(
      TestName(), "a.0.json",
      R"({"nodes": [{"id": "1", "name": "r", "type": "STORAGE_NODE", "durationMicros": "70",
           "storage": {"level": "STORAGE_LEVEL_FS", "fs": {"op": "FS_OP_PREAD", "pathname": "/d",
            "fd": 4, "offset": "18446744073709551615", "sizeBytes": "4096", "flags": 2}}},
          {"id": 2, "name": "b", "type": 8, "durationMicros": 7, "storage": {"level": 3,
            "block": {"op": 1, "queue_event": "BLOCK_EVENT_COMPLETE", "device": "sda",
            "nr_sectors": 8, "new": 1}}},
          {"id": 3, "name": "p", "type": "CHECKPOINT_NODE", "durationMicros": 9,
            "storage": {"level": "STORAGE_LEVEL_PAGE", "page": {"op": "PAGE_OP_OF_2030"}}}]})",
      &report);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->ById(1)->storage,
            (StorageWork{.level = 1,
                         .detail = FileOperation{.op = 5,
                                                 .pathname = "/d",
                                                 .fd = 4,
                                                 .offset = ~std::uint64_t{0},
                                                 .size_bytes = 4096,
                                                 .flags = 2}}));
  EXPECT_EQ(trace->ById(2)->storage,
            (StorageWork{.level = 3,
                         .detail = BlockOperation{
                             .op = 1, .queue_event = 5, .device = "sda", .nr_sectors = 8}}));
  EXPECT_EQ(trace->ById(3)->type, NodeType::kCheckpoint);
  EXPECT_EQ(report.diagnostics.CountOf("json_value_type"), 2U) << "a new key, and a new name";
}

TEST(Chakra, UnknownNodeTypesKeepTheirTimes) {
  ConvertReport report;
  const auto trace = ConvertText(
      TestName(), "a.0.et",
      File({Wire().Number(1, 1).Text(2, "new").Number(3, 11).Number(7, 40), Comp(2, 5, {1})}),
      &report);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->ById(1)->duration_ns, 40'000);
  EXPECT_EQ(trace->ById(2)->start_ns, 40'000);
  EXPECT_EQ(report.diagnostics.CountOf("unknown_node_type"), 1U);
}

TEST(Chakra, AnAbsentTimeIsNoZero) {
  ConvertReport report;
  const Wire without = Wire().Number(1, 2).Text(2, "op").Number(3, 4);
  const auto trace =
      ConvertText(TestName(), "a.0.et", File({Comp(1, 5), without, Comp(3, 0)}), &report);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_FALSE(trace->ById(1)->untimed);
  EXPECT_TRUE(trace->ById(2)->untimed);
  EXPECT_FALSE(trace->ById(3)->untimed) << "a duration of 0 is a duration";
  EXPECT_EQ(report.diagnostics.CountOf("no_recorded_time"), 1U);
}

Wire OneMessage(std::uint64_t id, bool send, std::int64_t peer) {
  return Wire()
      .Number(1, id)
      .Text(2, "message")
      .Number(3, send ? 5 : 6)
      .Message(10, IntAttribute(send ? "comm_dst" : "comm_src", peer))
      .Message(10, IntAttribute("comm_size", 64));
}

TEST_F(ChakraSet, SendsOfSimulatorsEndWithoutTheirReceives) {
  Write("t.0.et", File({OneMessage(1, true, 1), OneMessage(2, true, 1)}));
  Write("t.1.et", File({OneMessage(1, false, 0)}));
  const auto report = Convert();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->diagnostics.CountOf("send_without_receive"), 1U);
  const auto trace = pytorch::Load(root_ + "/out/t.0.et");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->ById(1)->comm->send_end, SendEnd::kSent);
  EXPECT_EQ(trace->ById(2)->comm->send_end, SendEnd::kUnreceived);
  EXPECT_TRUE(trace->ById(2)->comm->outside);
}

}  // namespace
}  // namespace reprise::chakra
