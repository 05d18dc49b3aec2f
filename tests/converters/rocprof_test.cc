// What records of rocprofv3 say, and the walk through their JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "converters/json_walk.h"
#include "converters/pytorch/kineto/event_list.h"
#include "converters/pytorch/rocprof/rccl_arguments.h"
#include "converters/pytorch/rocprof/rocprof_events.h"
#include "converters/pytorch/rocprof/rocprof_json.h"
#include "converters/pytorch/rocprof/stream_waits.h"
#include "text_pieces.h"

namespace reprise::pytorch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(JsonWalk, TakesAndSkipsAtAnyCut) {
  const std::string text =
      R"( { "a" : [1, "x]\"", {"b": "}\\"}] , "skipped": {"c": [[], {}, "\\\"]"], "d": 1e5}, "e":7} )";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    TextPieces source("pieces.json", text, piece);
    JsonWalk walk(source);
    std::string name;
    ASSERT_TRUE(walk.Enter());
    ASSERT_TRUE(walk.NextMember(name).value());
    EXPECT_EQ(name, "a");
    ASSERT_TRUE(walk.Enter());
    std::vector<std::string> taken;
    while (walk.NextElement().value()) {
      taken.emplace_back(walk.Take().value());
    }
    EXPECT_EQ(taken, (std::vector<std::string>{"1", R"("x]\"")", R"({"b": "}\\"})"})) << piece;
    ASSERT_TRUE(walk.NextMember(name).value());
    EXPECT_EQ(name, "skipped");
    ASSERT_TRUE(walk.Skip());
    ASSERT_TRUE(walk.NextMember(name).value());
    EXPECT_EQ(walk.Take().value(), "7") << piece;
    EXPECT_FALSE(walk.NextMember(name).value());
    EXPECT_TRUE(walk.End());
  }
}

// What a walk through all of it says.
std::string WalkThrough(const std::string& text) {
  TextPieces source("pieces.json", text, 3);
  JsonWalk walk(source);
  std::string name;
  if (const auto begun = walk.Enter(); !begun) {
    return begun.error().message;
  }
  for (;;) {
    const auto more = walk.NextMember(name);
    if (!more) {
      return more.error().message;
    }
    if (!*more) {
      break;
    }
    if (const auto skipped = walk.Skip(); !skipped) {
      return skipped.error().message;
    }
  }
  const auto end = walk.End();
  return end ? "whole" : end.error().message;
}

TEST(JsonWalk, SaysWhereATextBreaks) {
  EXPECT_EQ(WalkThrough(R"({"a": [1, 2], "b": {}})"), "whole");
  EXPECT_EQ(WalkThrough("{}"), "whole");
  for (const char* text : {"", "{", R"({"a)", R"({"a")", R"({"a":)", R"({"a": [1)", R"({"a": "x)",
                           R"({"a": "\)", R"({"a": 1)", R"({"a": 1,)"}) {
    EXPECT_THAT(WalkThrough(text), HasSubstr("ends early at byte")) << text;
  }
  EXPECT_THAT(WalkThrough("7"), HasSubstr("expected an object or a list at byte 0"));
  EXPECT_THAT(WalkThrough(R"({"a": 1 "b": 2})"), HasSubstr("expected ',' or '}' at byte 8"));
  EXPECT_THAT(WalkThrough(R"({,"b": 2})"), HasSubstr("expected a member's name at byte 1"));
  EXPECT_THAT(WalkThrough(R"({"a" 1})"), HasSubstr("expected ':' at byte 5"));
  EXPECT_THAT(WalkThrough(R"({"a": })"), HasSubstr("expected a value of JSON at byte 6"));
  EXPECT_THAT(WalkThrough("{} {}"), HasSubstr("expected the end of the file at byte 3"));
}

TEST(RocprofJson, IsKnownByItsFirstName) {
  EXPECT_TRUE(BeginsAsRocprofJson(R"({"rocprofiler-sdk-tool": [)"));
  EXPECT_TRUE(BeginsAsRocprofJson("\n{\n  \"rocprofiler-sdk-tool\""));
  for (const char* text : {"", "{", R"({"rocprofiler-sdk-tool)", R"({"rocprofiler-sdk-tools": 1)",
                           R"({"traceEvents": "rocprofiler-sdk-tool")", R"(["rocprofiler-sdk)"}) {
    EXPECT_FALSE(BeginsAsRocprofJson(text)) << text;
  }
}

TEST(Rccl, NamesTypesByNumberAndText) {
  for (const char* text : {"7", "ncclFloat32", "ncclFloat", "float32", "float"}) {
    EXPECT_EQ(RcclDataType(text), DType::kFloat32) << text;
  }
  EXPECT_EQ(RcclDataType("9"), DType::kBFloat16);
  EXPECT_EQ(RcclDataType("ncclBfloat16"), DType::kBFloat16);
  EXPECT_EQ(RcclDataType("ncclHalf"), DType::kFloat16);
  EXPECT_EQ(RcclDataType("0"), DType::kInt8);
  for (const char* text : {"", "-1", "3", "5", "12", "99999999999999999999", "ncclNumTypes"}) {
    EXPECT_EQ(RcclDataType(text), DType::kUnknown) << text;
  }
}

std::string RcclText(CommKind kind, const RocprofArguments* arguments, std::int64_t members) {
  EventArguments args;
  AddRcclArguments(kind, arguments, members, args);
  return args.Take();
}

TEST(Rccl, SaysWhatWasRecorded) {
  EXPECT_EQ(RcclText(CommKind::kAllReduce, nullptr, 0), R"({"Collective name":"all_reduce"})");
  const RocprofArguments scatter = {{"recvcount", "12"}, {"datatype", "7"}};
  EXPECT_THAT(RcclText(CommKind::kReduceScatter, &scatter, 4),
              HasSubstr(R"("Group size":4,"dtype":"float","Out msg nelems":12)"));
  // A block for each member, of whom there may be any number.
  const RocprofArguments blocks = {{"count", "12"}, {"datatype", "7"}};
  EXPECT_THAT(RcclText(CommKind::kAllToAll, &blocks, 4), HasSubstr(R"("In msg nelems":48)"));
  EXPECT_THAT(RcclText(CommKind::kAllToAll, &blocks, 0), Not(HasSubstr("nelems")));
  EXPECT_THAT(RcclText(CommKind::kAllToAll, &blocks, INT64_MAX), Not(HasSubstr("nelems")));
  const RocprofArguments odd = {{"count", "-5"}, {"datatype", "7"}, {"peer", "x"}};
  EXPECT_EQ(RcclText(CommKind::kSend, &odd, 0), R"({"Collective name":"send"})");
}

std::string EventsOf(const auto& record, bool has_hip_calls = true) {
  EventList list;
  list.base_ns = 0;
  RocprofEvents events({.path = "x.db", .process = 7, .has_hip_calls = has_hip_calls}, list);
  const auto added = events.Add(record, {.list = "table t", .record = 5});
  return added ? list.text : added.error().message;
}

TEST(RocprofEvents, CountAGridInWorkgroups) {
  RocprofKernel kernel{.name = "mul [clone .kd]",
                       .start_ns = 1'000,
                       .end_ns = 3'500,
                       .device = 1,
                       .grid = {1000, 2, 1},
                       .workgroup = {256, 1, 1}};
  EXPECT_THAT(EventsOf(kernel), HasSubstr(R"("name":"mul","ts":1.000,"dur":2.500)"));
  EXPECT_THAT(EventsOf(kernel), HasSubstr(R"("grid":[4,2,1],"block":[256,1,1])"));
  kernel.grid = {INT64_MAX, 1, 1};
  EXPECT_THAT(EventsOf(kernel), HasSubstr(R"("grid":[36028797018963968,1,1])"));
  kernel.workgroup = {0, 1, 1};
  EXPECT_THAT(EventsOf(kernel), Not(HasSubstr("grid")));
}

TEST(RocprofEvents, NameCopiesByTheirAgents) {
  RocprofCopy copy{.direction = "MEMORY_COPY_HOST_TO_DEVICE", .start_ns = 1, .end_ns = 2};
  EXPECT_THAT(EventsOf(copy), HasSubstr("Memcpy HtoD"));
  copy.from_gpu = true;
  copy.to_gpu = false;
  EXPECT_THAT(EventsOf(copy), HasSubstr("Memcpy DtoH"));
  EXPECT_THAT(EventsOf(RocprofCopy{.direction = "x", .start_ns = 1, .end_ns = 2}),
              HasSubstr(R"("name":"Memcpy")"));
}

TEST(RocprofEvents, KeepRangesAndCallsApart) {
  const RocprofCall range{.domain = "MARKER_CORE_RANGE_API",
                          .name = "roctxRangePushA",
                          .message = "forward",
                          .start_ns = 1,
                          .end_ns = 2};
  EXPECT_THAT(EventsOf(range), HasSubstr(R"("cat":"user_annotation","name":"forward")"));
  RocprofCall call = range;
  call.name = "roctxMarkA";
  EXPECT_EQ(EventsOf(call), "");
  call = {.domain = "HIP_RUNTIME_API", .name = "hipFree", .start_ns = 1, .end_ns = 2};
  EXPECT_THAT(EventsOf(call), HasSubstr(R"("cat":"cuda_runtime","name":"hipFree")"));
  call.domain = "OMPT";
  call.name = "omp_thread_begin";
  EXPECT_EQ(EventsOf(call), "");
  call = {
      .domain = "RCCL_API", .name = "ncclAllReduce", .start_ns = 1, .end_ns = 2, .correlation = 3};
  EXPECT_THAT(EventsOf(call), Not(HasSubstr("cuda_runtime")));
  EXPECT_THAT(EventsOf(call, false), HasSubstr(R"("cat":"cuda_runtime","name":"ncclAllReduce")"));
}

TEST(RocprofEvents, SayWhichRecordIsDamaged) {
  const std::string damaged = EventsOf(RocprofCopy{.direction = "x", .start_ns = 2, .end_ns = 1});
  EXPECT_THAT(damaged, HasSubstr("x.db: table t, record 5: from 2 to 1 ns can't be"));
  EXPECT_THAT(EventsOf(RocprofCopy{.direction = "x", .start_ns = 2}),
              HasSubstr("its start and end are no whole numbers"));
}

// A call with a stream, and perhaps an event.
void See(StreamWaits& waits, const char* name, std::int64_t at, std::int64_t correlation,
         const RocprofArguments& arguments) {
  waits.SeeCall({.domain = "HIP_RUNTIME_API_EXT",
                 .name = name,
                 .start_ns = at,
                 .end_ns = at + 1,
                 .correlation = correlation,
                 .arguments = &arguments});
}

TEST(StreamWaits, AreForTheLastRecordBefore) {
  StreamWaits waits;
  waits.SeeWork(1, 0, 3);  // work may come before its launch
  See(waits, "hipLaunchKernel", 0, 1, {{"stream", "0xa"}});
  See(waits, "hipMemcpyAsync", 0, 2, {{"stream", "0xb"}});
  waits.SeeWork(2, 0, 4);
  See(waits, "hipEventRecord", 30, 13, {{"event", "0xe"}, {"stream", "0xa"}});
  See(waits, "hipEventRecord", 10, 11, {{"event", "0xe"}, {"stream", "0xa"}});
  See(waits, "hipEventRecordWithFlags", 20, 12, {{"event", "0xe"}, {"stream", "0xa"}});
  See(waits, "hipStreamWaitEvent", 25, 21, {{"stream", "0xb"}, {"event", "0xe"}});
  See(waits, "hipStreamWaitEvent", 5, 22, {{"stream", "0xb"}, {"event", "0xe"}});  // recorded later
  See(waits, "hipStreamWaitEvent", 25, 23,
      {{"stream", "0xb"}, {"event", "0xf"}});  // never recorded
  See(waits, "hipStreamWaitEvent", 25, 24, {{"stream", "0xc"}, {"event", "0xe"}});  // without work
  See(waits, "hipStreamWaitEvent", 25, 25, {{"event", "0xe"}});
  const auto found = waits.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].correlation, 21);
  EXPECT_EQ(found[0].source_correlation, 12);
  EXPECT_EQ(found[0].stream, 4);
  EXPECT_EQ(found[0].source_stream, 3);
}

TEST(StreamWaits, AreOfOneDevice) {
  StreamWaits waits;
  See(waits, "hipLaunchKernel", 0, 1, {{"stream", "0xa"}});
  See(waits, "hipLaunchKernel", 0, 2, {{"stream", "0xb"}});
  waits.SeeWork(1, 0, 3);
  waits.SeeWork(2, 1, 3);
  See(waits, "hipEventRecord", 10, 11, {{"event", "0xe"}, {"stream", "0xa"}});
  See(waits, "hipStreamWaitEvent", 25, 21, {{"stream", "0xb"}, {"event", "0xe"}});
  EXPECT_TRUE(waits.Find().empty());
}

TEST(RocprofRanks, AreTheLaunchers) {
  const auto rank_of = [](std::string_view environment) {
    RocprofProcess process;
    SetRank(environment, process);
    return std::pair(process.rank, process.world_size);
  };
  EXPECT_EQ(rank_of(R"({"RANK": "3", "WORLD_SIZE": "8", "PMI_RANK": "1"})"), std::pair(3, 8));
  EXPECT_EQ(rank_of(R"({"SLURM_PROCID": "1", "SLURM_NTASKS": "2"})"), std::pair(1, 2));
  for (const char* text :
       {"", "[]", "{", R"({"RANK": "3"})", R"({"RANK": 3, "WORLD_SIZE": 8})",
        R"({"RANK": "8", "WORLD_SIZE": "8"})", R"({"RANK": "0", "WORLD_SIZE": "1"})",
        R"({"RANK": "-1", "WORLD_SIZE": "8"})"}) {
    EXPECT_EQ(rank_of(text), std::pair(-1, -1)) << text;
  }
}

}  // namespace
}  // namespace reprise::pytorch
