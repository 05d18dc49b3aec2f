// What passes between device and network: without a copy, through pinned memory, in chunks.
#include "replayer/engine/staging.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "kernels/backend.h"
#include "replayer/engine/pipelined_transfer.h"
#include "tests/replayer/staging_fixture.h"
#include "tests/skip.h"

namespace reprise::testing {
namespace {

constexpr std::int64_t kElements = 1000;
constexpr std::int64_t kBytes = kElements * 4;

// One rank with a device: sums its values with the other rank's, and leaves the sum on the device.
struct Outcome {
  Status status;
  bool mapped = false;
  std::vector<float> sums;
};

Status Sum(Communicator& communicator, const std::string& backend, const ValueList& tensors,
           std::int64_t chunk_bytes, Outcome& outcome) {
  REPRISE_ASSIGN(const auto device, OpenDevice({.backend = backend}));
  REPRISE_ASSIGN(const auto stream, device->CreateStream(false));
  Storages storages;
  REPRISE_ASSIGN(storages.buffers[1], device->Allocate(kBytes));
  std::vector<float> values(kElements);
  std::iota(values.begin(), values.end(), static_cast<float>(communicator.rank()) * 0.5F);
  REPRISE_TRY(stream->Upload(*storages.buffers[1], 0, values.data(), kBytes));
  REPRISE_TRY(stream->Finish());
  const CommSpec spec{.kind = CommKind::kAllReduce,
                      .group = "0",
                      .dtype = DType::kFloat32,
                      .in_bytes = kBytes,
                      .out_bytes = kBytes,
                      .in_splits = {},
                      .out_splits = {}};
  const auto cut = CutOf(spec, 2, chunk_bytes);
  const OpCall call{.name = "all_reduce", .inputs = tensors, .outputs = {}};
  REPRISE_ASSIGN(Staging staging, Staging::Create(spec, call, &storages, device.get(), !cut));
  outcome.mapped = staging.IsMapped();
  REPRISE_ASSIGN(const auto group, communicator.CreateGroup({0, 1}));
  if (cut) {
    PipelinedTransfer transfer(*group, spec, staging, stream.get(), *cut);
    REPRISE_TRY(WaitFor(transfer));
    if (!transfer.AllStarted()) {
      return CheckFailed("done, but not all started");
    }
  } else {
    REPRISE_TRY(staging.Download(*stream));
    REPRISE_ASSIGN(const auto transfer, group->Start(spec, staging.in(), staging.out()));
    REPRISE_TRY(WaitFor(*transfer));
    REPRISE_TRY(staging.Upload(*stream));
  }
  outcome.sums.resize(kElements);
  REPRISE_TRY(stream->Download(outcome.sums.data(), *storages.buffers[1], 0, kBytes));
  return stream->Finish();
}

class StagingOn : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto devices = ListDevices(GetParam());
    if (!devices || devices->empty()) {
      REPRISE_SKIP(GetParam(), "no device of this backend");
    }
  }
  // Of both ranks; whether nothing was copied.
  static bool ExpectSums(const std::vector<TensorDesc>& parts, std::int64_t chunk_bytes) {
    ValueList tensors;
    for (const TensorDesc& part : parts) {
      tensors.push_back({part});
    }
    auto communicators = CreateLocalCommunicators(2);
    std::vector<Outcome> outcomes(2);
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        threads.emplace_back([&, rank] {
          outcomes[rank].status =
              Sum(*communicators[rank], GetParam(), tensors, chunk_bytes, outcomes[rank]);
          if (!outcomes[rank].status) {
            communicators[rank]->RaiseAbort(outcomes[rank].status.error());
          }
        });
      }
    }
    for (const Outcome& outcome : outcomes) {
      EXPECT_TRUE(outcome.status) << outcome.status.error().message;
      for (std::int64_t i = 0; i < kElements && outcome.status; ++i) {
        if (outcome.sums[static_cast<std::size_t>(i)] != static_cast<float>(2 * i) + 0.5F) {
          ADD_FAILURE() << "element " << i << " is " << outcome.sums[static_cast<std::size_t>(i)];
          break;
        }
      }
    }
    return outcomes[0].mapped && outcomes[1].mapped;
  }
};

TEST_P(StagingOn, OneTensorOfACpuIsNotCopied) {
  EXPECT_TRUE(ExpectSums({Part(1, 0, kElements)}, 0));
}
TEST_P(StagingOn, PiecesGoThroughOneArea) {
  EXPECT_FALSE(ExpectSums({Part(1, 0, 300), Part(1, 300, kElements - 300)}, 0));
}
TEST_P(StagingOn, ChunksGoOneAfterTheOther) {
  // Not a whole number of chunks, nor of elements in a chunk; across the pieces' border.
  EXPECT_FALSE(ExpectSums({Part(1, 0, 300), Part(1, 300, kElements - 300)}, 702));
  EXPECT_FALSE(ExpectSums({Part(1, 0, kElements)}, kBytes - 4));
}
INSTANTIATE_TEST_SUITE_P(Backends, StagingOn, ::testing::ValuesIn(BackendNames()));

}  // namespace
}  // namespace reprise::testing
