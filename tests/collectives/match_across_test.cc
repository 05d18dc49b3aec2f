// Matching with every rank holding only its own plan, against the check of all plans in one place.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <random>

#include "collectives/matching/matching.h"
#include "tests/collectives/spmd.h"

namespace reprise::testing {
namespace {

using Plans = std::vector<std::vector<PlannedTransfer>>;
using GroupTable = std::map<std::string, std::vector<std::int32_t>>;

struct Outcome {
  Plans plans;
  std::string message;  // "": all match
};

// Every rank on a thread of its own; all of them have to say the same.
Outcome Across(const Plans& plans, const GroupTable& table) {
  Outcome outcome{.plans = plans};
  std::mutex mutex;
  std::vector<std::string> messages;
  const RanksOfGroup ranks_of = [&](const std::string& id) {
    const auto it = table.find(id);
    return it == table.end() ? std::vector<std::int32_t>() : it->second;
  };
  const Status ran =
      OnThreads(static_cast<int>(plans.size()), [&](Communicator& communicator) -> Status {
        std::vector<std::unique_ptr<GroupComm>> comms;
        std::vector<GroupMember> members;
        for (const auto& [id, ranks] : table) {
          REPRISE_ASSIGN(auto comm, communicator.CreateGroup(ranks));
          if (comm != nullptr) {
            members.push_back({id, {.ranks = ranks, .rank = comm->rank()}, comm.get()});
            comms.push_back(std::move(comm));
          }
        }
        GroupRounds rounds(communicator, std::move(members));
        auto& mine = outcome.plans[static_cast<std::size_t>(communicator.rank())];
        const Status matched = MatchAcross(rounds, ranks_of, mine);
        const std::lock_guard lock(mutex);
        messages.push_back(matched ? "" : matched.error().message);
        return {};
      });
  EXPECT_TRUE(ran) << ran.error().message;
  outcome.message = messages.empty() ? "?" : messages.front();
  EXPECT_THAT(messages, ::testing::Each(outcome.message));
  return outcome;
}

Outcome InOnePlace(Plans plans, const GroupTable& table) {
  const RanksOfGroup ranks_of = [&](const std::string& id) {
    const auto it = table.find(id);
    return it == table.end() ? std::vector<std::int32_t>() : it->second;
  };
  CompleteSplits(plans, ranks_of);
  const Status matched = MatchTransfers(plans, ranks_of);
  return {std::move(plans), matched ? "" : matched.error().message};
}

// A set of transfers that match, some with splits that only their owners know; then `damages`
// changes at random places.
class RandomPlans {
 public:
  RandomPlans(std::uint32_t seed, int ranks)
      : random_(seed), plans_(static_cast<std::size_t>(ranks)) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    table_["0"] = all;
    for (int g = 0; g < 3; ++g) {
      std::shuffle(all.begin(), all.end(), random_);
      table_[fmt::format("g{}", g)] = {all.begin(), all.begin() + Pick(1, ranks)};
    }
    for (int i = 0; i < 12; ++i) {
      AddTransfer();
    }
  }

  void Damage() {
    auto& plan = plans_[static_cast<std::size_t>(Pick(0, static_cast<int>(plans_.size()) - 1))];
    if (plan.empty()) {
      return;
    }
    const auto at = static_cast<std::size_t>(Pick(0, static_cast<int>(plan.size()) - 1));
    CommSpec& spec = plan[at].spec;
    switch (Pick(0, 8)) {
      case 0:
        plan.erase(plan.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        plan.insert(plan.begin() + static_cast<std::ptrdiff_t>(at), plan[at]);
        break;
      case 2:
        spec.in_bytes += 4;
        break;
      case 3:
        spec.out_bytes += 4;
        break;
      case 4:
        spec.dtype = DType::kFloat64;
        break;
      case 5:
        std::swap(plan[at], plan.back());
        break;
      case 6:
        spec.op_recorded = true;
        spec.op = ReduceOp::kMax;
        break;
      case 7:
        (spec.in_splits.empty() ? spec.root
                                : *reinterpret_cast<std::int32_t*>(spec.in_splits.data())) += 1;
        break;
      default:
        spec.group = "g0";
    }
  }

  [[nodiscard]] const Plans& plans() const { return plans_; }
  [[nodiscard]] const GroupTable& table() const { return table_; }

 private:
  int Pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  void AddTransfer() {
    auto group = table_.begin();
    std::advance(group, Pick(0, static_cast<int>(table_.size()) - 1));
    const auto& [id, ranks] = *group;
    if (Pick(0, 3) == 0 && ranks.size() > 1) {
      AddPair(id, ranks);
      return;
    }
    constexpr CommKind kKinds[] = {
        CommKind::kAllReduce,     CommKind::kAllGather, CommKind::kBroadcast, CommKind::kAllToAll,
        CommKind::kReduceScatter, CommKind::kBarrier,   CommKind::kAllReduce};
    const CommKind kind = kKinds[Pick(0, 6)];
    const int way = Pick(0, 2);  // even, uneven and known to its owner only, uneven and listed
    const std::int64_t elements = Pick(1, 9);
    const auto size = static_cast<std::int64_t>(ranks.size());
    for (std::int64_t i = 0; i < size; ++i) {
      CommSpec spec{.kind = kind, .group = id, .dtype = DType::kFloat32};
      const bool uneven = way != 0;
      const auto share = [&](std::int64_t member) { return elements + (uneven ? member : 0); };
      std::vector<std::int64_t> list;
      for (std::int64_t member = 0; member < size; ++member) {
        list.push_back(kind == CommKind::kAllToAll ? share(member + i) : share(member));
      }
      const std::int64_t whole = std::accumulate(list.begin(), list.end(), std::int64_t{0});
      list = uneven && (way == 2 || kind == CommKind::kAllToAll) ? list : decltype(list)();
      const bool scatters = kind == CommKind::kReduceScatter;
      if (kind == CommKind::kAllToAll) {
        spec.in_splits = spec.out_splits = list;
        spec.in_bytes = spec.out_bytes = 4 * whole;
      } else if (kind == CommKind::kAllGather || scatters) {
        (scatters ? spec.in_splits : spec.out_splits) = list;
        (scatters ? spec.out_bytes : spec.in_bytes) = 4 * share(i);
        (scatters ? spec.in_bytes : spec.out_bytes) = 4 * whole;
      } else {
        spec.in_bytes = spec.out_bytes = 4 * elements;
        spec.root = kind == CommKind::kBroadcast ? ranks.front() : -1;
      }
      Add(ranks[static_cast<std::size_t>(i)], spec);
    }
  }
  void AddPair(const std::string& id, const std::vector<std::int32_t>& ranks) {
    const int last = static_cast<int>(ranks.size()) - 1;
    const int from = Pick(0, last);
    const int to = (from + Pick(1, last)) % (last + 1);
    const auto rank = [&](int i) { return ranks[static_cast<std::size_t>(i)]; };
    const std::int64_t bytes = 4 * Pick(0, 5);
    Add(rank(from), {.kind = CommKind::kSend,
                     .group = id,
                     .dtype = DType::kFloat32,
                     .in_bytes = bytes,
                     .peer = rank(to)});
    Add(rank(to), {.kind = CommKind::kRecv,
                   .group = id,
                   .dtype = DType::kFloat32,
                   .out_bytes = bytes,
                   .peer = rank(from)});
  }
  void Add(std::int32_t rank, CommSpec spec) {
    auto& plan = plans_[static_cast<std::size_t>(rank)];
    plan.push_back({.node_id = 1000U * static_cast<unsigned>(rank) + plan.size(), .spec = spec});
  }

  std::mt19937 random_;
  Plans plans_;
  GroupTable table_;
};

TEST(MatchAcross, SaysWhatTheCheckInOnePlaceSays) {
  int matched = 0;
  int refused = 0;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    RandomPlans random(seed, 1 + static_cast<int>(seed % 6));
    for (std::uint32_t damage = 0; damage < seed % 4; ++damage) {
      random.Damage();
    }
    const Outcome expected = InOnePlace(random.plans(), random.table());
    const Outcome outcome = Across(random.plans(), random.table());
    ASSERT_EQ(outcome.message, expected.message) << "seed " << seed;
    if (expected.message.empty()) {
      ASSERT_EQ(outcome.plans, expected.plans) << "seed " << seed;
    }
    ++(expected.message.empty() ? matched : refused);
  }
  EXPECT_GT(matched, 150);
  EXPECT_GT(refused, 250);
}

}  // namespace
}  // namespace reprise::testing
