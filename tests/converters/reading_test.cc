// How a Kineto file is read, whoever wrote it: the inputs of tests/converters/cases, and their
// kinds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "converters/converter.h"
#include "converters/other_forms.h"
#include "converters/pytorch/kineto/event_categories.h"
#include "converters/pytorch/kineto/event_times.h"
#include "converters/pytorch/kineto/lost_times.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct ReadCapture {
  LoadedTrace trace;
  Diagnostics diagnostics;
};

class Reading : public ::testing::Test {
 protected:
  static Result<ReadCapture> Convert(const std::string& input) {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string path = FreshDirectory("reading_out_" + name) + "/out.0.et";
    REPRISE_ASSIGN(const ConvertReport report,
                   FindConverter("pytorch")->convert({.device_trace = input, .output_file = path}));
    REPRISE_ASSIGN(LoadedTrace trace, Load(path));
    return ReadCapture{std::move(trace), report.diagnostics};
  }
  static Result<ReadCapture> Case(const std::string& name) {
    return Convert(std::string(REPRISE_SOURCE_DIR "/tests/converters/cases/") + name + "/t.json");
  }
  static Result<ReadCapture> Text(const std::string& text) {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string path = FreshDirectory("reading_in_" + name) + "/t.json";
    WriteText(path, text);
    return Convert(path);
  }
  static Result<ReadCapture> Events(const std::vector<json>& events) {
    return Text(json{{"traceEvents", events}}.dump());
  }
};

json EventAt(const std::string& category, const std::string& name, json start_us, json duration_us,
             json args = json::object(), json tid = 100, json pid = 1) {
  return {{"ph", "X"},  {"cat", category}, {"name", name},       {"pid", pid},
          {"tid", tid}, {"ts", start_us},  {"dur", duration_us}, {"args", args}};
}
json MmAt(double start_us, const json& tid = 100, const json& pid = 1) {
  return EventAt("cpu_op", "aten::mm", start_us, 20, json::object(), tid, pid);
}
json Launch(double start_us, int correlation, const json& tid = 100, const json& pid = 1) {
  return EventAt("cuda_runtime", "cudaLaunchKernel", start_us, 5, {{"correlation", correlation}},
                 tid, pid);
}
json Kernel(double start_us, int correlation, int device = 0) {
  return EventAt("kernel", "gemm", start_us, 30,
                 {{"correlation", correlation}, {"stream", 7}, {"device", device}}, 7, device);
}

std::vector<const Node*> DeviceNodes(const LoadedTrace& trace) {
  std::vector<const Node*> out;
  for (const Node& node : trace.nodes) {
    if (node.actor.kind == Actor::Kind::kStream) {
      out.push_back(&node);
    }
  }
  return out;
}
std::int64_t DeviceNs(const LoadedTrace& trace) {
  std::int64_t sum = 0;
  for (const Node* node : DeviceNodes(trace)) {
    sum += node->duration_ns;
  }
  return sum;
}
std::set<std::int64_t> Threads(const LoadedTrace& trace) {
  std::set<std::int64_t> out;
  for (const Node& node : trace.nodes) {
    if (node.actor.kind == Actor::Kind::kThread) {
      out.insert(node.actor.id);
    }
  }
  return out;
}

TEST_F(Reading, ThreadIdsMayBeText) {
  const auto got = Case("02_string_thread_ids");
  ASSERT_TRUE(got) << got.error().message;
  // Thread 5001 has MulBackward0 alone, a frame: no node.
  EXPECT_EQ(Threads(got->trace), (std::set<std::int64_t>{4242}));
  EXPECT_EQ(got->diagnostics.CountOf("thread_renumbered"), 0U);
  std::map<std::string, std::pair<int, std::int64_t>> by_op;
  for (const Node* node : DeviceNodes(got->trace)) {
    ++by_op[node->op].first;
    by_op[node->op].second += node->duration_ns;
    EXPECT_TRUE(node->device_work->launch_recorded);
  }
  EXPECT_EQ(by_op["aten::mm"], std::pair(2, std::int64_t{400'000}));
  EXPECT_EQ(by_op["aten::add"], std::pair(2, std::int64_t{200'000}));
}

TEST_F(Reading, ThreadsNamedByTextAreToldApart) {
  const auto got =
      Events({MmAt(100, "worker 7"), Launch(105, 1, "worker 7"), Kernel(130, 1),
              MmAt(100, "other 7"), Launch(106, 2, "other 7"), Kernel(160, 2), MmAt(100, 7)});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(Threads(got->trace), (std::set<std::int64_t>{7, 8, 9}));
  const auto counters = got->diagnostics.Snapshot();
  ASSERT_TRUE(counters.contains("thread_renumbered"));
  EXPECT_EQ(counters.at("thread_renumbered").count, 2U);
  EXPECT_THAT(counters.at("thread_renumbered").examples[0], HasSubstr("thread 'worker 7'"));
  for (const Node* node : DeviceNodes(got->trace)) {
    EXPECT_EQ(node->op, "aten::mm");
  }
}

TEST_F(Reading, AKernelAtTimeZeroIsLeftOut) {
  const auto got = Case("04_kernel_at_time_zero");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->diagnostics.CountOf("kineto_event_without_time"), 1U);
  for (const Node& node : got->trace.nodes) {
    EXPECT_GE(node.start_ns, 0);
    EXPECT_LE(node.start_ns + node.duration_ns, 2'000'000) << node.name;
  }
}

TEST_F(Reading, LostTimesOfAnyKind) {
  const double base = 1.7e15;
  for (const json& lost : {json(0), json(-1), json(-1.7e15), json(1), json(12345678), json(2.9e15),
                           json("0"), json(base + 4e9)}) {
    for (const char* category : {"kernel", "cpu_op", "cuda_runtime"}) {
      const auto got = Events({MmAt(base), Launch(base + 5, 1), Kernel(base + 20, 1),
                               MmAt(base + 100), Launch(base + 105, 2), Kernel(base + 120, 2),
                               EventAt(category, "lost", lost, 3, {{"correlation", 9}})});
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->diagnostics.CountOf("kineto_event_without_time"), 1U) << lost << category;
      EXPECT_EQ(got->trace.Find("lost"), nullptr);
      EXPECT_LE(got->trace.metadata.steps[0].duration_ns, 1'000'000);
    }
  }
  // Since boot, or since the file's base.
  const auto got = Events({MmAt(5e6), MmAt(5e6 + 50), EventAt("cpu_op", "lost", 0, 0)});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->diagnostics.CountOf("kineto_event_without_time"), 1U);
  // An end in another century.
  const auto late = Events({MmAt(5e6), MmAt(5e6 + 50), EventAt("cpu_op", "lost", 5e6 + 100, 1e15)});
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->diagnostics.CountOf("kineto_event_without_time"), 1U);
}

TEST_F(Reading, IdleTimeIsNoDamage) {
  constexpr std::int64_t kS = 1'000'000'000;
  const auto all_time = [](std::vector<EventSpan> events) {
    return FindFileSpan(events).IsAllTime();
  };
  EXPECT_TRUE(all_time({{0, 5}, {10, 20}, {500, 600}}));
  // Two bursts of one recording, and one late wait.
  EXPECT_TRUE(all_time({{0, 5}, {10, 20}, {50 * kS, 50 * kS + 5}, {50 * kS + 10, 50 * kS + 20}}));
  EXPECT_TRUE(all_time({{0, 5}, {10, 20}, {20, 30}, {30, 40}, {40, 50}, {30 * kS, 30 * kS + 5}}));
  // A step that spans what looks like a gap.
  EXPECT_TRUE(all_time({{0, 2000 * kS}, {10, 20}, {30, 40}, {1999 * kS, 1999 * kS + 5}}));
  // One kernel for minutes.
  EXPECT_TRUE(all_time({{0, 300 * kS}, {10, 20}, {30, 40}, {50, 290 * kS}}));
  EXPECT_FALSE(
      all_time({{kS, kS + 5}, {kS + 10, kS + 20}, {kS + 50, kS + 60}, {kS * 3000, kS * 3000}}));
}

TEST_F(Reading, TwoProcessesInOneFileAreRefusedByName) {
  const auto got = Case("05_two_processes_merged");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(got.error().message,
              HasSubstr("a merge of 2 processes: 100 (3 operations, 1 step, "));
  EXPECT_THAT(got.error().message, HasSubstr("101 ("));
  // As SGLang merges ranks.
  const auto named =
      Events({MmAt(100, 5, "[TP00] 83"), Launch(105, 1, 5, "[TP00] 83"), MmAt(100, 5, "[TP01] 83"),
              Launch(105, 2, 5, "[TP01] 83"), Kernel(130, 1), Kernel(130, 2, 1)});
  ASSERT_FALSE(named);
  EXPECT_THAT(named.error().message, HasSubstr("'[TP00] 83'"));
}

TEST_F(Reading, OneProcessMayHaveSeveralDevicesAndHelpers) {
  const auto got = Events({MmAt(100, 100, 1), Launch(105, 1, 100, 1), Kernel(130, 1, 0),
                           MmAt(100, 101, 1), Launch(106, 2, 101, 1), Kernel(131, 2, 1),
                           EventAt("cpu_op", "aten::stack", 100, 5, json::object(), 100, 9)});
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(DeviceNodes(got->trace).size(), 2U);
  for (const Node* node : DeviceNodes(got->trace)) {
    EXPECT_EQ(node->op, "aten::mm");
    EXPECT_EQ(node->actor.id, 7);
  }
  EXPECT_EQ(Threads(got->trace), (std::set<std::int64_t>{100, 101, 102}));
  EXPECT_EQ(got->diagnostics.CountOf("thread_renumbered"), 1U);
  EXPECT_EQ(got->diagnostics.CountOf("operation_of_second_process"), 1U);
}

TEST_F(Reading, DeviceWorkOfCategoriesThatNoTableHas) {
  const auto got = Case("07_device_category_unknown");
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(DeviceNodes(got->trace).size(), 1U);
  const Node& work = *DeviceNodes(got->trace)[0];
  EXPECT_EQ(work.duration_ns, 300'000);
  EXPECT_EQ(work.op, "aten::mm");
  EXPECT_TRUE(work.device_work->launch_recorded);
}

TEST_F(Reading, WhatIsNotUnderstoodIsCountedWithItsTime) {
  const auto got =
      Events({MmAt(100), EventAt("strange_dma", "copy", 110, 40, json::object(), 3, 77),
              EventAt("strange_dma", "copy", 150, 2.5, json::object(), 3, 77),
              EventAt("my_annotation", "x", 100, 5),
              EventAt("gpu_user_annotation", "y", 100, 5, {{"External id", 4}}, 7, 0)});
  ASSERT_TRUE(got) << got.error().message;
  const auto counters = got->diagnostics.Snapshot();
  ASSERT_TRUE(counters.contains("device_category_left_out: category strange_dma"));
  EXPECT_EQ(counters.at("device_category_left_out: category strange_dma").count, 2U);
  EXPECT_EQ(counters.at("device_category_left_out_ns").count, 42'500U);
  EXPECT_TRUE(counters.contains("host_category_left_out: category my_annotation"));
  EXPECT_EQ(counters.at("host_category_left_out_ns").count, 5'000U);
  EXPECT_TRUE(DeviceNodes(got->trace).empty());
}

// MTIA's and Ascend's streams show what they wait for as tasks.
TEST_F(Reading, WhatAStreamWaitsForIsNoWork) {
  const auto task = [](const char* name, double start_us, json args) {
    args["stream"] = 5;
    return EventAt("mtia_ccp_events", name, start_us, 40, args, 3, 77);
  };
  const auto got = Events({MmAt(100), task("pe_exe", 110, {{"correlation", 3}}),
                           task("event_wait", 150, {{"wait_on_stream", 4}}),
                           task("event_record", 190, json::object()),
                           task("x", 230, {{"Task Type", "Notify Wait"}})});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(DeviceNodes(got->trace).size(), 1U);
  EXPECT_EQ(got->diagnostics.CountOf("stream_sync_left_out"), 3U);
  EXPECT_EQ(got->diagnostics.CountOf("stream_sync_left_out_ns"), 120'000U);
}

// As MTIA's requests for copies: no stream, no id, but a row that is labelled as a device.
TEST_F(Reading, ADevicesRowIsEnoughForWork) {
  const json label{{"ph", "M"},
                   {"pid", 9},
                   {"tid", 0},
                   {"name", "process_labels"},
                   {"args", {{"labels", "MTIA 9"}}}};
  const auto got =
      Events({label, MmAt(100),
              EventAt("mtia_ccp_events", "dma_request", 110, 8, json::object(), 801, 9)});
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(DeviceNodes(got->trace).size(), 1U);
  EXPECT_EQ(DeviceNodes(got->trace)[0]->actor, (Actor{Actor::Kind::kStream, 801, 9}));
}

// Marks of a program beside the kernels of a stream are no work.
TEST_F(Reading, WhatLiesWithinWorkIsNone) {
  const auto got =
      Events({MmAt(100), Launch(105, 1), Kernel(130, 1),
              EventAt("marks", "phase", 128, 40, {{"stream", 7}, {"device", 0}}, 7, 0)});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(DeviceNodes(got->trace).size(), 1U);
  EXPECT_EQ(DeviceNs(got->trace), 30'000);
}

// A list of events without categories on the device; calls on rows of a process of their own.
TEST_F(Reading, AscendsEventsAreReadByTheirArguments) {
  const auto meta = [](int pid, const char* what, const char* key, const char* value) {
    return json{{"ph", "M"}, {"pid", pid}, {"tid", 0}, {"name", what}, {"args", {{key, value}}}};
  };
  json call{
      {"ph", "X"}, {"name", "Node@launch"},         {"pid", 20}, {"tid", 100}, {"ts", "105.25"},
      {"dur", 5},  {"args", {{"connection_id", 3}}}};
  json wait{{"ph", "X"},
            {"name", "AscendCL@aclrtSynchronizeStream"},
            {"pid", 20},
            {"tid", 100},
            {"ts", "120.000"},
            {"dur", 60},
            {"args", json::object()}};
  json task{{"ph", "X"},
            {"name", "MatMulV2"},
            {"pid", 30},
            {"tid", 2},
            {"ts", "130.500"},
            {"dur", 40.25},
            {"args", {{"Task Type", "AI_CORE"}, {"Physic Stream Id", 2}, {"connection_id", 3}}}};
  const auto got = Text(
      json{meta(20, "process_name", "name", "CANN"), meta(20, "process_labels", "labels", "CPU"),
           meta(30, "process_name", "name", "Ascend Hardware"),
           meta(30, "process_labels", "labels", "NPU"), MmAt(100), call, task, wait}
          .dump());
  ASSERT_TRUE(got) << got.error().message;
  const Node* work = got->trace.Find("MatMulV2");
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(work->duration_ns, 40'250);
  EXPECT_EQ(work->op, "aten::mm");
  const Node* waits = got->trace.Find("AscendCL@aclrtSynchronizeStream");
  ASSERT_NE(waits, nullptr);
  EXPECT_EQ(got->trace.Edge(*work, *waits), EdgeReason::kSync);
}

// Its queue of operators launches from another thread than the operator's: arrows know the latter.
// Shapes are text, and transfers have rows with a count and a type.
TEST_F(Reading, AscendsArrowsShapesAndTransfers) {
  const auto event = [](const char* phase, const char* name, int pid, int tid, const char* ts) {
    return json{{"ph", phase}, {"name", name}, {"pid", pid}, {"tid", tid}, {"ts", ts}};
  };
  const auto named = [&](int pid, const char* name) {
    json out = event("M", "process_name", pid, 0, "0");
    out["args"] = {{"name", name}};
    return out;
  };
  const auto spans = [&](const char* name, int pid, int tid, const char* ts, double us, json args) {
    json out = event("X", name, pid, tid, ts);
    out["dur"] = us;
    out["args"] = std::move(args);
    return out;
  };
  const auto arrow = [&](const char* phase, int pid, int tid, const char* ts, const char* id) {
    json out = event(phase, "torch_to_npu", pid, tid, ts);
    out["cat"] = "async_npu";
    out["id"] = id;
    return out;
  };
  json product = spans("aten::addmm", 10, 100, "100.000", 20,
                       {{"Input Dims", "64;\r\n8,16;\r\n16,64;\r\n;\r\n"},
                        {"Input type", "float;\r\nfloat;\r\nfloat;\r\nScalar;\r\nScalar"}});
  json reduce = spans("c10d::allreduce_", 10, 100, "130.000", 20, json::object());
  product["cat"] = reduce["cat"] = "cpu_op";
  const auto got = Text(
      json{named(30, "Ascend Hardware"), named(40, "HCCL"), product, reduce,
           arrow("s", 10, 100, "105.000", "1700000000000205125"),
           arrow("f", 30, 2, "205.125", "1700000000000205125"),
           arrow("s", 10, 100, "135.000", "1700000000000300000"),
           arrow("f", 40, 0, "300.000", "1700000000000300000"),
           spans("MatMulV2", 30, 2, "205.125", 40,
                 {{"Task Type", "AI_CORE"}, {"Physic Stream Id", 2}, {"connection_id", 3}}),
           spans("hcom_allReduce__586_0_1", 40, 0, "300.000", 90,
                 {{"connection_id", 4}, {"data_type", "BFP16"}, {"count", 1000}}),
           spans("SDMA", 30, 4, "320.000", 10,
                 {{"Task Type", "SDMA_SQE"}, {"Physic Stream Id", 4}, {"connection_id", 4}}),
           spans("Memcpy", 40, 1, "310.000", 30, {{"task type", "Memcpy"}, {"size(Byte)", 2000}})}
          .dump());
  ASSERT_TRUE(got) << got.error().message;
  const Node* work = got->trace.Find("MatMulV2");
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(work->op, "aten::addmm");
  EXPECT_EQ(work->op_class, OpClass::kGemm);
  ASSERT_GE(work->inputs.size(), 3U);
  ASSERT_NE(work->inputs[1].AsTensor(), nullptr);
  EXPECT_EQ(work->inputs[1].AsTensor()->shape, (std::vector<std::int64_t>{8, 16}));
  EXPECT_EQ(work->inputs[1].AsTensor()->dtype, DType::kFloat32);
  EXPECT_EQ(work->inputs[2].AsTensor()->shape, (std::vector<std::int64_t>{16, 64}));
  const Node* transfer = got->trace.Find("hcom_allReduce__586_0_1");
  ASSERT_NE(transfer, nullptr);
  ASSERT_TRUE(transfer->comm);
  EXPECT_EQ(transfer->comm->kind, CommKind::kAllReduce);
  EXPECT_EQ(transfer->comm->dtype, DType::kBFloat16);
  EXPECT_EQ(transfer->comm->in_bytes, 2000);
  EXPECT_NE(transfer->actor.id, work->actor.id);
  EXPECT_EQ(DeviceNodes(got->trace).size(), 2U);  // the tasks of a transfer are no more work
  EXPECT_EQ(got->diagnostics.CountOf("transfer_part_left_out"), 1U);
  for (const auto& [name, counter] : got->diagnostics.Snapshot()) {
    EXPECT_FALSE(name.starts_with("device_category_left_out")) << name;
  }
}

TEST_F(Reading, DecimalsBeyondADouble) {
  const auto got = Case("17_nanoseconds_in_decimals");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(DeviceNodes(got->trace).size(), 200U);
  EXPECT_EQ(DeviceNs(got->trace), 140'000);
  for (const Node* node : DeviceNodes(got->trace)) {
    EXPECT_EQ(node->duration_ns, 700);
  }
  EXPECT_EQ(got->diagnostics.CountOf("stream_overlap"), 0U);
}

TEST_F(Reading, TimesAreExact) {
  const std::pair<const char*, std::int64_t> exact[] = {
      {"1700000000000100.7", 1'700'000'000'000'100'700},
      {" 1700000000000100.001 ", 1'700'000'000'000'100'001},
      {"-1700000000000100.001", -1'700'000'000'000'100'001},
      {"1.7000000000001007e15", 1'700'000'000'000'100'700},
      {"17000000000001007E-1", 1'700'000'000'000'100'700},
      {"1.7e+15", 1'700'000'000'000'000'000},
      {"0.0005", 1},
      {"0.00049", 0},
      {"1.9996", 2'000},
      {"0", 0},
      {"-0.0", 0},
      {"00012", 12'000},
      {"1e-400", 0},
      {"0e999", 0}};
  for (const auto& [text, ns] : exact) {
    EXPECT_EQ(ParseMicroseconds(text), ns) << text;
  }
  for (const char* text : {"", "-", ".", "x", "1x", "1e", "1.2.3", "0x10", "1e99", "3e15", "nan"}) {
    EXPECT_EQ(ParseMicroseconds(text), std::nullopt) << text;
  }
}

TEST_F(Reading, DecimalsAfterOtherMembersAndInText) {
  const auto got = Text(
      R"({"traceEvents": [{"args": {"ts": 5.5, "s": "\"ts\": 7"}, "ph": "X", "cat": "cpu_op",
          "name": "aten::mm", "pid": 1, "tid": 1, "ts" : 1700000000000000.001 , "dur": 1.0015},
          {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1,
           "ts": "1700000000000001.003", "dur": "0.997"}]})");
  ASSERT_TRUE(got) << got.error().message;
  const Node* mm = got->trace.Find("aten::mm");
  const Node* add = got->trace.Find("aten::add");
  ASSERT_TRUE(mm != nullptr && add != nullptr);
  EXPECT_EQ(add->start_ns - mm->start_ns, 1'002);
  EXPECT_EQ(mm->duration_ns, 1'002);
  EXPECT_EQ(add->duration_ns, 997);
}

TEST_F(Reading, AListOfEventsIsAFile) {
  const std::string path = REPRISE_SOURCE_DIR "/tests/converters/cases/18_event_list/t.json";
  ASSERT_NE(SniffConverter(path), nullptr);
  EXPECT_EQ(SniffConverter(path)->name, "pytorch");
  const auto got = Convert(path);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(DeviceNodes(got->trace).size(), 4U);
  EXPECT_EQ(DeviceNs(got->trace), 600'000);
  EXPECT_EQ(got->diagnostics.CountOf("event_list_open"), 0U);
  // Without its end, with a comma before it, and cut within an event.
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string list = text.str();
  const std::string open = list.substr(0, list.rfind(']'));
  for (const std::string& other : {open, open + ",\n", open + ", ]"}) {
    const auto same = Text(other);
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_EQ(DeviceNs(same->trace), 600'000);
    EXPECT_EQ(same->diagnostics.CountOf("event_list_open"), other.ends_with(']') ? 0U : 1U);
  }
  for (const std::string& other : {open.substr(0, open.size() - 1),
                                   open.substr(0, open.size() - 20), list + "x", list + list}) {
    EXPECT_FALSE(Text(other));
  }
}

TEST_F(Reading, ManyEventsInAListWithoutAnEnd) {
  std::string text = "[\n";
  for (int i = 0; i < 5000; ++i) {
    text += MmAt(1e6 + i * 30.0).dump() + ",\n";
  }
  const auto got = Text(text);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(std::count_if(got->trace.nodes.begin(), got->trace.nodes.end(),
                          [](const Node& node) { return node.name == "aten::mm"; }),
            5000);
}

TEST_F(Reading, EventsInTwoHalves) {
  const auto half = [](json event, const char* phase) {
    event["ph"] = phase;
    event.erase("dur");
    return event;
  };
  json kernel = Kernel(120, 1);
  const auto got = Events({half(MmAt(100), "B"),
                           half(Launch(105, 1), "B"),
                           {{"ph", "E"}, {"pid", 1}, {"tid", 100}, {"ts", 110}},
                           {{"ph", "E"}, {"pid", 1}, {"tid", 100}, {"ts", 125}},
                           half(kernel, "B"),
                           {{"ph", "E"}, {"pid", 0}, {"tid", 7}, {"ts", 150}},
                           half(MmAt(300), "B")});
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(DeviceNodes(got->trace).size(), 1U);
  EXPECT_EQ(DeviceNodes(got->trace)[0]->duration_ns, 30'000);
  EXPECT_EQ(DeviceNodes(got->trace)[0]->op, "aten::mm");
  EXPECT_EQ(got->diagnostics.CountOf("kineto_event_without_time"), 1U);
}

TEST_F(Reading, WaitsOfOtherRuntimes) {
  const auto got = Case("22_xpu_wait");
  ASSERT_TRUE(got) << got.error().message;
  const Node* wait = got->trace.Find("urEventWait");
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->kind, OpKind::kWait);
  ASSERT_EQ(DeviceNodes(got->trace).size(), 1U);
  EXPECT_EQ(got->trace.Edge(*DeviceNodes(got->trace)[0], *wait), EdgeReason::kSync);
  EXPECT_EQ(wait->start_ns + wait->duration_ns, 670'000);
}

TEST_F(Reading, NamesOfWaits) {
  using Kind = RuntimeKind;
  const std::pair<const char*, Kind> names_of_waits[] = {
      {"cudaEventSynchronize", Kind::kEventSync},
      {"cudaStreamSynchronize_ptsz", Kind::kStreamSync},
      {"cuCtxSynchronize", Kind::kDeviceSync},
      {"hipDeviceSynchronize", Kind::kDeviceSync},
      {"hsa_signal_wait_scacquire", Kind::kEventSync},
      {"urEventWait", Kind::kEventSync},
      {"piEventsWait", Kind::kEventSync},
      {"zeEventHostSynchronize", Kind::kEventSync},
      {"zeFenceHostSynchronize", Kind::kEventSync},
      {"zeCommandQueueSynchronize", Kind::kStreamSync},
      {"zeCommandListHostSynchronize", Kind::kStreamSync},
      {"urQueueFinish", Kind::kStreamSync},
      {"piQueueFinish", Kind::kStreamSync},
      {"AscendCL@aclrtSynchronizeStream", Kind::kStreamSync},
      {"aclrtSynchronizeStreamWithTimeout", Kind::kStreamSync},
      {"aclrtSynchronizeDevice", Kind::kDeviceSync},
      {"aclrtSynchronizeEvent", Kind::kEventSync},
      {"synStreamSynchronize", Kind::kStreamSync},
      {"synEventSynchronize", Kind::kEventSync},
      {"synDeviceSynchronize", Kind::kDeviceSync},
      {"mtiaStreamSynchronize", Kind::kStreamSync},
      {"cudaMemcpy", Kind::kStreamSync},
      {"cuMemcpyDtoH_v2", Kind::kStreamSync},
      {"hipMemcpyWithStream", Kind::kStreamSync},
      {"cudaMemcpyAsync", Kind::kOther},
      {"cuMemcpyDtoD_v2", Kind::kOther},
      {"cudaStreamWaitEvent", Kind::kStreamWait},
      {"aclrtStreamWaitEvent", Kind::kStreamWait},
      {"urEnqueueEventsWaitWithBarrier", Kind::kStreamWait},
      {"piEnqueueEventsWait", Kind::kStreamWait},
      {"cudaEventRecord", Kind::kRecordEvent},
      {"aclrtRecordEvent", Kind::kRecordEvent},
      {"cudaEventQuery", Kind::kOther},
      {"urEnqueueKernelLaunch", Kind::kOther},
      {"cudaLaunchKernel", Kind::kOther}};
  for (const auto& [name, kind] : names_of_waits) {
    EXPECT_EQ(RuntimeKindOf(name), kind) << name;
  }
}

TEST_F(Reading, APairIsOneOnlyIfNineOfTenCallsAreLinked) {
  for (const bool ids : {true, false}) {
    SyntheticCapture capture;
    for (int i = 0; i < 90; ++i) {
      SyntheticOp op{.name = "aten::op" + std::to_string(i % 7), .start_us = 10.0 * i};
      op.in_kineto = i < 30;
      capture.Add(op);
    }
    const std::string directory = FreshDirectory("reading_pair");
    std::string kineto = capture.KinetoText();
    if (!ids) {
      for (std::size_t at = 0; (at = kineto.find("Record function id", at)) != std::string::npos;) {
        kineto.replace(at, 6, "Forget");
      }
    }
    WriteText(directory + "/rank0.et.json", capture.HostText());
    WriteText(directory + "/rank0.kineto.json", kineto);
    const auto got = FindConverter("pytorch")->convert(
        {.input_directory = directory, .output_directory = directory + "/out"});
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().message, HasSubstr("33.3 % of the host trace's records")) << ids;
    EXPECT_THAT(got.error().message, HasSubstr("needed: 90 %"));
  }
}

TEST_F(Reading, OtherFormsAreNamed) {
  using namespace std::string_literals;
  const std::string tar = std::string(257, 'a') + "ustar\0"s + std::string(200, '\0');
  const std::pair<std::string, const char*> forms[] = {
      {"PK\x03\x04rest", "zip archive"},
      {tar, "tar archive"},
      {"\xff\xfe{\0"s, "UTF-16"},
      {"{\0\"\0a\0"s, "UTF-16"},
      {"SQLite format 3\0"s, "Nsight Systems"},
      {"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
      {"\n<!DOCTYPE html>", "HTML"},
      {"", "empty"}};
  for (const auto& [head, said] : forms) {
    EXPECT_THAT(OtherForm("x.json", head), HasSubstr(said));
  }
  EXPECT_THAT(OtherForm("x.nsys-rep", "NSYS"), HasSubstr("Nsight Systems"));
  EXPECT_EQ(OtherForm("x.json", "{\"traceEvents\": ["), "");
}

}  // namespace
}  // namespace reprise::pytorch
