// Which transfers the devices of two ranks make among themselves, with a library that only says
// what it was asked for.
#include "replayer/link_devices.h"

#include <gtest/gtest.h>

#include <thread>

#include "kernels/backend.h"
#include "kernels/kernel.h"
#include "replayer/plan/part.h"
#include "tests/replayer/small_trace.h"
#include "tests/replayer/staging_fixture.h"

namespace reprise::testing {
namespace {

constexpr std::int64_t kHalf = 64;
constexpr int kRanks = 2;

struct FakeLibrary {
  std::string version = "fake 1";
  bool joins = true;
  bool takes_maxima = true;
};

class FakeGroup final : public DeviceGroup {
 public:
  [[nodiscard]] Result<bool> IsReady() override { return true; }
  [[nodiscard]] Status Enqueue(const DeviceTransfer& /*transfer*/, Stream& /*stream*/) override {
    return {};
  }
  void Abort() override {}
};

class FakeTransfers final : public DeviceTransfers {
 public:
  explicit FakeTransfers(FakeLibrary library) : library_(std::move(library)) {}
  [[nodiscard]] const std::string& description() const override { return library_.version; }
  [[nodiscard]] bool Takes(const DeviceTransfer& transfer, int /*rank*/,
                           int /*size*/) const override {
    return transfer.op != ReduceOp::kMax || library_.takes_maxima;
  }
  [[nodiscard]] Result<std::string> NewIdentity() override { return std::string("group"); }
  [[nodiscard]] Result<std::unique_ptr<DeviceGroup>> Join(const std::string& identity, int /*rank*/,
                                                          int size) override {
    if (!library_.joins || identity != "group" || size != kRanks) {
      return EnvironmentError("no network");
    }
    return std::make_unique<FakeGroup>();
  }

 private:
  const FakeLibrary library_;
};

// The host's device, with that library.
class LinkedDevice final : public Device {
 public:
  explicit LinkedDevice(std::optional<FakeLibrary> library)
      : host_(*OpenDevice({.backend = "host"})), library_(std::move(library)) {}
  [[nodiscard]] const DeviceInfo& info() const override { return host_->info(); }
  [[nodiscard]] Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) override {
    return host_->Allocate(bytes);
  }
  [[nodiscard]] Result<std::unique_ptr<Stream>> CreateStream(bool profiling) override {
    return host_->CreateStream(profiling);
  }
  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(const Launch& launch) override {
    return host_->Prepare(launch);
  }
  [[nodiscard]] const CallLowering& lowering() const override { return host_->lowering(); }
  [[nodiscard]] std::int64_t clock_uncertainty_ns() const override { return 0; }
  [[nodiscard]] Result<std::shared_ptr<DeviceTransfers>> OpenTransfers() override {
    return library_ ? std::make_shared<FakeTransfers>(*library_)
                    : std::shared_ptr<DeviceTransfers>();
  }

 private:
  const std::unique_ptr<Device> host_;
  const std::optional<FakeLibrary> library_;
};

CommSpec Reduce(std::int64_t index, ReduceOp op = ReduceOp::kSum) {
  CommSpec spec{.kind = CommKind::kAllReduce, .group = "0", .index = index};
  spec.dtype = DType::kFloat32;
  spec.in_bytes = spec.out_bytes = 2 * kHalf * 4;
  spec.op = op;
  return spec;
}

// Its transfers by number: 0 whole, 1 in two pieces, 2 in two on rank 0 alone, 3 a maximum; and 4
// from rank 0 to rank 1.
ThreadTrace TraceOf(int rank) {
  const Value whole = TensorValue(1, {2 * kHalf});
  const Value one = TensorValue(1, {kHalf});
  const Value other = TensorValue(2, {kHalf});
  ThreadTrace trace;
  const auto add = [&](CommSpec spec, ValueList tensors) {
    trace.AddTransfer(std::move(spec), tensors[0]);
    Node& transfer = trace.nodes[trace.nodes.size() - 2];  // before its wait
    transfer.inputs = transfer.outputs = std::move(tensors);
  };
  add(Reduce(0), {whole});
  add(Reduce(1), {one, other});
  add(Reduce(2), rank == 0 ? ValueList{one, other} : ValueList{whole});
  add(Reduce(3, ReduceOp::kMax), {whole});
  CommSpec pair = Reduce(0);
  pair.kind = rank == 0 ? CommKind::kSend : CommKind::kRecv;
  pair.peer = 1 - rank;
  (rank == 0 ? pair.out_bytes : pair.in_bytes) = 0;
  add(pair, {whole});
  return trace;
}

// Of both ranks: which of their transfers are linked, by number, and in how many sequences.
struct Linked {
  std::vector<std::size_t> transfers;
  std::size_t sequences = 0;
  bool operator==(const Linked&) const = default;
};

std::vector<Linked> Link(const std::vector<std::optional<FakeLibrary>>& libraries) {
  auto communicators = CreateLocalCommunicators(kRanks);
  std::vector<Linked> all(kRanks);
  const auto link = [&](int rank) {
    Communicator& communicator = *communicators[static_cast<std::size_t>(rank)];
    LinkedDevice device(libraries[static_cast<std::size_t>(rank)]);
    Storages storages;
    storages.buffers[1] = *device.Allocate(2 * kHalf * 4);
    storages.buffers[2] = *device.Allocate(kHalf * 4);
    const ThreadTrace trace = TraceOf(rank);
    const auto graph = Graph::Build(trace.Metadata(rank, kRanks), trace.nodes);
    ASSERT_TRUE(graph) << graph.error().message;
    const auto plan = BuildPlan(*graph, {}, FindBuiltinKernel);
    ASSERT_TRUE(plan) << plan.error().message;
    RankGroups groups;
    groups["0"] = {{0, 1}, *communicator.CreateGroup({0, 1})};
    const auto transfers = TransfersOf(*graph, *plan);
    const auto links = LinkDevices({.graph = *graph,
                                    .plan = *plan,
                                    .transfers = transfers,
                                    .groups = groups,
                                    .memory = storages,
                                    .ranks_of =
                                        [](const auto&) {
                                          return std::vector{0, 1};
                                        },
                                    .by_messages = [](const CommSpec&) { return false; }},
                                   communicator, device);
    ASSERT_TRUE(links) << links.error().message;
    Linked& mine = all[static_cast<std::size_t>(rank)];
    for (std::size_t k = 0; k < plan->transfers.size(); ++k) {
      if (links->transfers.contains(plan->transfers[k])) {
        mine.transfers.push_back(k);
      }
    }
    mine.sequences = links->of_sequence.size();
  };
  std::thread other(link, 1);
  link(0);
  other.join();
  return all;
}

TEST(LinkDevices, LeavesOutWhatMembersCannotMakeAlike) {
  const Linked most{{0, 1, 3, 4}, 2};
  EXPECT_EQ(Link({FakeLibrary{}, FakeLibrary{}}), (std::vector{most, most}));
}

TEST(LinkDevices, LeavesOutWhatOneMembersLibraryRefuses) {
  const Linked most{{0, 1, 4}, 2};
  EXPECT_EQ(Link({FakeLibrary{}, FakeLibrary{.takes_maxima = false}}), (std::vector{most, most}));
}

TEST(LinkDevices, LinksNothingWhereOneMemberCannot) {
  const std::vector<Linked> none(kRanks);
  EXPECT_EQ(Link({FakeLibrary{}, FakeLibrary{.joins = false}}), none);
  EXPECT_EQ(Link({FakeLibrary{}, FakeLibrary{.version = "fake 2"}}), none);
  EXPECT_EQ(Link({FakeLibrary{}, std::nullopt}), none);
}

}  // namespace
}  // namespace reprise::testing
