#include "tests/replayer/order_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "collectives/algorithms/group.h"
#include "kernels/kernel.h"
#include "replayer/engine/engine.h"
#include "replayer/engine/replay_options.h"
#include "replayer/engine/watchdog.h"
#include "replayer/plan/part.h"
#include "tests/collectives/spmd.h"

namespace reprise::testing {
namespace {

// What was started, by sequence: CommSpec::sequence in order of Start().
using StartLog = std::map<std::string, std::vector<std::int64_t>>;

std::string SequenceOf(const CommSpec& spec) {
  return IsPointToPoint(spec.kind)
             ? fmt::format("group {} {} {}", spec.group, Name(spec.kind), spec.peer)
             : fmt::format("group {}", spec.group);
}

// Says "not yet" a few times more than the transport: the network is slow now and then.
class DelayedTransfer final : public Transfer {
 public:
  DelayedTransfer(std::unique_ptr<Transfer> inner, std::uint32_t tests)
      : inner_(std::move(inner)), tests_(tests) {}
  Result<bool> Test() override {
    if (!done_) {
      REPRISE_ASSIGN(done_, inner_->Test());
    }
    if (tests_ > 0) {
      --tests_;
      return false;
    }
    return done_;
  }

 private:
  std::unique_ptr<Transfer> inner_;
  std::uint32_t tests_;
  bool done_ = false;
};

class DelayedGroup final : public GroupComm {
 public:
  DelayedGroup(std::unique_ptr<GroupComm> inner, std::uint64_t seed, StartLog& log)
      : inner_(std::move(inner)), engine_(seed), log_(log) {}
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  Result<std::unique_ptr<Transfer>> Start(const CommSpec& spec, std::span<const std::byte> in,
                                          std::span<std::byte> out) override {
    if (engine_() % 16 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(engine_() % 50));
    }
    log_[SequenceOf(spec)].push_back(spec.sequence);
    REPRISE_ASSIGN(auto inner, inner_->Start(spec, in, out));
    const auto tests = static_cast<std::uint32_t>(engine_() % 4 == 0 ? engine_() % 50 : 0);
    return std::make_unique<DelayedTransfer>(std::move(inner), tests);
  }
  Result<std::unique_ptr<Transfer>> Send(int peer, int tag,
                                         std::span<const std::byte> data) override {
    return inner_->Send(peer, tag, data);
  }
  Result<std::unique_ptr<Transfer>> Recv(int peer, int tag, std::span<std::byte> data) override {
    return inner_->Recv(peer, tag, data);
  }

 private:
  std::unique_ptr<GroupComm> inner_;
  std::mt19937_64 engine_;
  StartLog& log_;
};

// A timed collective is started as a barrier: its sequence is the group's all the same.
StartLog Expected(const RandomSet& set, int rank) {
  StartLog expected;
  for (const Node& node : set.nodes[static_cast<std::size_t>(rank)]) {
    if (node.comm && set.options.ModeOf(node.comm->kind) != ReplayMode::kSkip) {
      expected[SequenceOf(*node.comm)].push_back(node.comm->sequence);
    }
  }
  StartLog all;
  for (auto& [sequence, numbers] : expected) {
    std::sort(numbers.begin(), numbers.end());
    for (int iteration = 0; iteration < set.options.iterations; ++iteration) {
      all[sequence].insert(all[sequence].end(), numbers.begin(), numbers.end());
    }
  }
  return all;
}

std::string Show(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

Status Compare(const StartLog& expected, const StartLog& actual) {
  for (const auto& [sequence, numbers] : expected) {
    const auto it = actual.find(sequence);
    const std::vector<std::int64_t> none;
    const std::vector<std::int64_t>& started = it == actual.end() ? none : it->second;
    if (started != numbers) {
      return CheckFailed(
          fmt::format("{}: recorded order {}, issued {}", sequence, Show(numbers), Show(started)));
    }
  }
  return actual.size() == expected.size() ? Status{} : CheckFailed("more sequences than recorded");
}

// A rank's engine with all that it needs, as Session puts it together.
class OrderRank {
 public:
  OrderRank(const RandomSet& set, Communicator& communicator, Device* device)
      : set_(set), options_(set.options), communicator_(communicator), device_(device) {
    if (device != nullptr) {
      options_.default_op_mode = ReplayMode::kReal;
    }
  }

  Status Prepare() {
    const int rank = communicator_.rank();
    REPRISE_ASSIGN(Graph graph,
                   Graph::Build(set_.Metadata(rank), set_.nodes[static_cast<std::size_t>(rank)]));
    graph_.emplace(std::move(graph));
    REPRISE_ASSIGN(plan_, BuildPlan(*graph_, options_, FindBuiltinKernel));
    // Half of the sets have their collectives made of messages, each by another algorithm.
    constexpr std::array kAlgorithms = {"mpi",  "ring,chunk=64",      "direct,channels=1",
                                        "tree", "recursive_doubling", "hierarchical,node=2"};
    AlgorithmChoices choices;
    if (set_.seed % 2 == 1) {
      REPRISE_TRY(choices.Add(kAlgorithms[set_.seed / 2 % kAlgorithms.size()]));
    }
    GroupMaker maker(communicator_, choices);
    for (const auto& [id, ranks] : set_.groups) {
      REPRISE_ASSIGN(auto group, maker.Create(ranks, id));
      if (group != nullptr) {
        groups_[id] = {
            ranks, std::make_unique<DelayedGroup>(
                       std::move(group), set_.seed * 31 + static_cast<std::uint64_t>(rank), log_)};
      }
    }
    if (device_ != nullptr) {
      REPRISE_ASSIGN(auto lives, FindLifetimes(*graph_, plan_));
      const MemoryPlan memory_plan = PlanMemory(std::move(lives), false);
      REPRISE_ASSIGN(memory_, DeviceMemory::Create(memory_plan, *graph_, *device_));
    }
    REPRISE_ASSIGN(engine_, Engine::Create(*graph_, plan_, options_, communicator_, groups_,
                                           {.check = options_.check,
                                            .chunk_bytes = 0,
                                            .transfers = TransfersOf(*graph_, plan_)},
                                           device_, memory_.get()));
    return {};
  }

  Status Run(std::int64_t limit_ns) {
    Status ran;
    {
      const Watchdog watchdog(
          communicator_, {.limit_ns = limit_ns},
          [this](const std::string& group) { return set_.groups.at(group); },
          {.progress = [this] { return engine_->GetProgress(); },
           .state = [this] { return engine_->GetState(); },
           .give_up = [this](const Error& reported,
                             const Error& found) { engine_->GiveUp(reported, found); },
           .interrupted = {}});
      ran = Iterate();
    }
    const std::optional<Error> failure = engine_->failure();
    return ran || !failure ? ran : tl::unexpected<Error>(*failure);
  }

  Status Check() {
    std::int64_t real = 0;
    for (const Graph::Index node : plan_.transfers) {
      real += plan_.work[node].mode == ReplayMode::kReal ? options_.iterations : 0;
    }
    if (engine_->checked_transfers() != real) {
      return CheckFailed(
          fmt::format("{} of {} transfers verified", engine_->checked_transfers(), real));
    }
    return Compare(Expected(set_, communicator_.rank()), log_);
  }

 private:
  Status Iterate() {
    for (std::int32_t iteration = 0; iteration < options_.iterations; ++iteration) {
      REPRISE_TRY(communicator_.Barrier());
      REPRISE_TRY(engine_->RunIteration(iteration, false));
    }
    return communicator_.Barrier();
  }

  const RandomSet& set_;
  ReplayOptions options_;
  Communicator& communicator_;
  Device* device_;
  StartLog log_;
  std::optional<Graph> graph_;
  Plan plan_;
  RankGroups groups_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

bool Break(RandomSet& set, Breakage breakage) {
  std::map<std::string, std::vector<Node*>> collectives;
  for (Node& node : set.nodes[0]) {
    if (node.comm && !IsPointToPoint(node.comm->kind) &&
        set.groups.at(node.comm->group).size() > 1 &&
        set.options.ModeOf(node.comm->kind) != ReplayMode::kSkip) {
      collectives[node.comm->group].push_back(&node);
    }
  }
  for (auto& [group, nodes] : collectives) {
    if (breakage == Breakage::kSwappedOrder && nodes.size() > 1) {
      std::swap(nodes[0]->comm->index, nodes[1]->comm->index);
      return true;
    }
    if (breakage == Breakage::kLostTransfer) {
      const std::uint64_t lost =
          (*std::max_element(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) {
            return a->comm->index < b->comm->index;
          }))->id;
      std::erase_if(set.nodes[0], [lost](const Node& node) { return node.id == lost; });
      return true;
    }
  }
  return false;
}

void MakeAlike(RandomSet& set) {
  for (std::vector<Node>& nodes : set.nodes) {
    for (Node& node : nodes) {
      if (node.comm && !IsPointToPoint(node.comm->kind)) {
        const CommSpec was = *node.comm;
        node.comm = CommSpec{.kind = CommKind::kBarrier,
                             .group = was.group,
                             .index = was.index,
                             .sequence = was.sequence};
      }
    }
  }
}

Status RunOrderCase(const RandomSet& set, Communicator& communicator, Device* device,
                    std::int64_t limit_ns) {
  // Kept where it fails: transfers under way still write into its memory.
  auto rank = std::make_unique<OrderRank>(set, communicator, device);
  const auto run = [&]() -> Status {
    REPRISE_TRY(communicator.Agree(rank->Prepare()));
    REPRISE_TRY(rank->Run(limit_ns));
    return communicator.Agree(rank->Check());
  };
  Status status = run();
  if (!status) {
    communicator.RaiseAbort(status.error());
    if (communicator.transport() != "local") {
      (void)rank.release();
    }
  }
  return status;
}

Status RunLocalOrderCase(const RandomSet& set, Device* device, std::int64_t limit_ns) {
  return OnThreads(set.ranks(), [&](Communicator& communicator) {
    return RunOrderCase(set, communicator, device, limit_ns);
  });
}

}  // namespace reprise::testing
