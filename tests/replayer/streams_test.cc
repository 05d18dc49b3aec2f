// Replays of traces with device streams, on the host backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "replayer/replay.h"
#include "report/run/run.h"
#include "tests/replayer/stream_trace.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StreamsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        fs::path(::testing::TempDir()) /
        ("streams_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
         "_" + std::to_string(getpid()));
    fs::remove_all(directory_);
    fs::create_directories(directory_ / "set");
    request_.set_directory = (directory_ / "set").string();
    request_.run_directory = (directory_ / "run").string();
    request_.options.backend = "host";
    request_.options.host_gaps = HostGaps::kDrop;
    request_.options.warmup = 0;
    request_.options.iterations = 1;
  }
  void TearDown() override { fs::remove_all(directory_); }

  // The error's message, empty for success.
  std::string Replay(const StreamTrace& trace) {
    EXPECT_TRUE(trace.Write(request_.set_directory));
    const auto outcome = reprise::Replay(request_, *CreateLocalCommunicators(1).front());
    return outcome ? "" : outcome.error().error.message;
  }

  std::map<std::uint64_t, NodeRecord> Records() {
    const auto run = ReadRun(request_.run_directory);
    EXPECT_TRUE(run) << run.error().message;
    std::map<std::uint64_t, NodeRecord> records;
    for (const NodeRecord& record : run->ranks.at(0).records) {
      records[record.node_id] = record;
    }
    return records;
  }

  fs::path directory_;
  ReplayRequest request_;
};

// Every kernel waits for the one before it, which is on the other stream; the host waits at times.
StreamTrace PingPong(std::size_t kernels, std::vector<std::uint64_t>& ids) {
  StreamTrace trace;
  for (std::size_t k = 0; k < kernels; ++k) {
    ids.push_back(trace.AddKernel(static_cast<std::int64_t>(k % 2),
                                  ids.empty() ? ids : std::vector{ids.back()}));
    if (k % 100 == 99) {
      trace.AddHost({ids.back()});
    }
  }
  return trace;
}

TEST_F(StreamsTest, EventsOrderKernelsAcrossStreams) {
  for (const char* modes : {"real", "timed"}) {
    std::vector<std::uint64_t> ids;
    ASSERT_TRUE(ParseOpModes(modes, request_.options));
    ASSERT_EQ(Replay(PingPong(500, ids)), "") << modes;
    const auto records = Records();
    ASSERT_EQ(records.size(), ids.size());
    for (std::size_t k = 1; k < ids.size(); ++k) {
      const NodeRecord& before = records.at(ids[k - 1]);
      ASSERT_GE(records.at(ids[k]).start_ns, before.start_ns + before.duration_ns) << modes << k;
    }
    request_.force = true;
  }
}

TEST_F(StreamsTest, SkippedKernelsNeitherRunNorBlock) {
  std::vector<std::uint64_t> ids;
  ASSERT_TRUE(ParseOpModes("skip", request_.options));
  ASSERT_EQ(Replay(PingPong(500, ids)), "");
  EXPECT_TRUE(Records().empty());
}

TEST_F(StreamsTest, MoreThanTheDevicesMemoryIsRefusedBeforeAnythingRuns) {
  StreamTrace trace;
  const std::int64_t elements = std::int64_t{1} << 46;  // three times 2^48 bytes
  trace.AddDeviceNode(
      7, {}, "aten::add",
      {TensorValue(0, {elements}), TensorValue(1, {elements}), Value{std::int64_t{1}}},
      {TensorValue(2, {elements})});
  const std::string message = Replay(trace);
  EXPECT_THAT(message, HasSubstr("bytes"));
  EXPECT_THAT(message, HasSubstr("--memory share"));
  EXPECT_FALSE(fs::exists(request_.run_directory));
}

TEST_F(StreamsTest, CopiesMoveTheirBytesAndUnknownKernelsHoldTheStream) {
  StreamTrace trace;
  const std::uint64_t copy = trace.AddDeviceNode(7, {}, "aten::mm", {}, {});
  trace.nodes.back().device_work = DeviceWork{.copied_bytes = 64 << 20};
  const std::uint64_t unknown = trace.AddDeviceNode(7, {}, "aten::mm", {}, {});
  trace.nodes.back().duration_ns = 5'000'000;
  ASSERT_EQ(Replay(trace), "");
  const auto records = Records();
  EXPECT_EQ(records.at(copy).mode, ReplayMode::kReal);
  EXPECT_GT(records.at(copy).duration_ns, 500'000);  // 128 GB/s would be faster than any host's
  EXPECT_EQ(records.at(unknown).mode, ReplayMode::kTimed);
  EXPECT_EQ(records.at(unknown).duration_ns, 5'000'000);
  const auto run = ReadRun(request_.run_directory);
  ASSERT_TRUE(run);
  for (const NodeInfo& node : run->ranks.at(0).nodes) {
    EXPECT_EQ(node.work_from == WorkSource::kUnknown, node.node_id == unknown) << node.node_id;
  }
}

TEST_F(StreamsTest, APartOfAnOperationTakesNoTime) {
  StreamTrace trace;
  const std::uint64_t part = trace.AddDeviceNode(7, {}, "aten::mm", {}, {});
  const std::uint64_t whole = trace.AddLongKernel(7, 64);
  for (Node& node : trace.nodes) {
    if (!node.op.empty()) {
      node.device_work = DeviceWork{};
      node.rf_id = 3;
      node.duration_ns = 50'000'000;
    }
  }
  ASSERT_EQ(Replay(trace), "");
  const auto records = Records();
  EXPECT_EQ(records.at(part).mode, ReplayMode::kReal);
  EXPECT_EQ(records.at(part).duration_ns, 0);
  EXPECT_EQ(records.at(whole).mode, ReplayMode::kReal);
  EXPECT_GT(records.at(whole).duration_ns, 0);
}

TEST_F(StreamsTest, ARankWhoseWorkIsUnknownWarnsOfItFirst) {
  StreamTrace trace;
  trace.AddDeviceNode(7, {}, "aten::mm", {}, {});
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(Replay(trace), "");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("record_shapes=True"));
}

std::int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size_pages = 0;
  std::int64_t resident_pages = 0;
  file >> size_pages >> resident_pages;
  return resident_pages * 4096;
}

TEST_F(StreamsTest, MemoryStaysFlatOverIterations) {
  std::vector<std::uint64_t> ids;
  const StreamTrace trace = PingPong(50'000, ids);
  std::vector<std::int64_t> resident;
  request_.options.iterations = 5;
  request_.progress = [&](const ReplayProgress& progress) {
    if (progress.stage == "iteration") {
      resident.push_back(ResidentBytes());
    }
  };
  ASSERT_EQ(Replay(trace), "");
  ASSERT_EQ(resident.size(), 5U);
  // What an iteration records is 2.4 MB, kept until it is written; a leak of 100 bytes a node would
  // add 40 MB.
  const auto most = *std::max_element(resident.begin() + 2, resident.end());
  EXPECT_LT(most - resident[1], std::int64_t{24} << 20);
}

}  // namespace
}  // namespace reprise
