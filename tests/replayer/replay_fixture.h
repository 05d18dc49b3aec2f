// Whole replays in one process: ranks as threads, operations on the host backend.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "replayer/replay.h"
#include "report/run/run.h"
#include "tests/replayer/small_trace.h"

namespace reprise {

namespace fs = std::filesystem;

class ReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        fs::path(::testing::TempDir()) /
        ("replay_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
         "_" + std::to_string(getpid()));
    fs::remove_all(directory_);
    fs::create_directories(directory_ / "set");
  }
  void TearDown() override { fs::remove_all(directory_); }

  static ThreadTrace Example(std::int64_t bytes = 1024) {
    ThreadTrace trace;
    trace.AddOp("aten::mm", {TensorValue(0, {16, 16}), TensorValue(1, {16, 16})},
                {TensorValue(2, {16, 16})});
    trace.AddTransfer(AllReduceSpec(bytes, 0), TensorValue(2, {16, 16}));
    trace.AddOp("made::up", {TensorValue(2, {16, 16})}, {TensorValue(3, {16, 16})});
    trace.AddTransfer(AllReduceSpec(1024, 1), TensorValue(3, {16, 16}));
    return trace;
  }

  void WriteSet(const std::vector<ThreadTrace>& ranks) {
    std::vector<std::int32_t> all;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const Status status = WriteRank((directory_ / "set").string(), "small", ranks[r],
                                      static_cast<int>(r), static_cast<int>(ranks.size()));
      ASSERT_TRUE(status) << status.error().message;
      all.push_back(static_cast<std::int32_t>(r));
    }
    ASSERT_TRUE(WriteGroups((directory_ / "set").string(), {{"0", {"0", "default_pg", all}}}));
  }

  ReplayRequest Request() const {
    ReplayRequest request;
    request.set_directory = (directory_ / "set").string();
    request.run_directory = (directory_ / "run").string();
    request.options.backend = "host";
    request.options.warmup = 1;
    request.options.iterations = 2;
    return request;
  }

  // One thread a rank; each rank's error, empty for success.
  static std::vector<Error> Run(const ReplayRequest& request, int size,
                                std::int64_t* checked = nullptr) {
    auto communicators = CreateLocalCommunicators(size);
    std::vector<Error> errors(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        const auto outcome = Replay(request, *communicators[static_cast<std::size_t>(rank)]);
        if (!outcome) {
          errors[static_cast<std::size_t>(rank)] = outcome.error().error;
        } else if (rank == 0 && checked != nullptr) {
          *checked = outcome->checked_transfers;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return errors;
  }

  fs::path directory_;
};

}  // namespace reprise
