// What ranks cost before and after a replay (docs/scale.md). Matching transfers across ranks,
// beside gathering every rank's plan on every rank: a synthetic job of tensor, data and pipeline
// parallel groups. Merging the ranks' files, in full and as a large run's.
//   scale_bench --local RANKS [COLLECTIVES]     ranks as threads
//   mpirun -n RANKS scale_bench [COLLECTIVES]   (default: 10000 of each rank)
//   scale_bench --merge RANKS [NODES] DIRECTORY   an empty directory; NODES of each rank
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <thread>

#include "collectives/communicator.h"
#include "collectives/matching/matching.h"
#include "collectives/matching/plan_codec.h"
#include "report/run/run.h"

namespace reprise {
namespace {

using Groups = std::map<std::string, std::vector<std::int32_t>>;
constexpr int kTensorParallel = 8;
constexpr int kMaxGathered = 64;  // ranks; more would not fit

Groups GroupsOf(int ranks) {
  Groups groups;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    groups["0"].push_back(rank);
    groups[fmt::format("tp{}", rank / kTensorParallel)].push_back(rank);
    groups[fmt::format("dp{}", rank % kTensorParallel)].push_back(rank);
  }
  return groups;
}

std::vector<PlannedTransfer> PlanOf(int rank, int ranks, int collectives) {
  std::vector<PlannedTransfer> plan;
  const std::string all = "0";
  const std::string tp = fmt::format("tp{}", rank / kTensorParallel);
  const std::string dp = fmt::format("dp{}", rank % kTensorParallel);
  for (int i = 0; i < collectives; ++i) {
    CommSpec spec{.kind = CommKind::kAllReduce, .group = tp, .dtype = DType::kBFloat16};
    spec.in_bytes = spec.out_bytes = 1024 * (1 + i % 7);
    if (i % 10 == 0) {
      spec.group = i % 100 == 0 ? all : dp;
    } else if (i % 10 == 1) {
      spec.group = all;
      spec.kind = i % 20 == 1 ? CommKind::kSend : CommKind::kRecv;
      const int stage = ranks > kTensorParallel ? kTensorParallel : 0;
      const int way = spec.kind == CommKind::kSend ? stage : ranks - stage;
      spec.peer = (rank + way) % ranks;
      spec.in_bytes = spec.kind == CommKind::kSend ? 4096 : 0;
      spec.out_bytes = spec.kind == CommKind::kRecv ? 4096 : 0;
      if (spec.peer == rank) {
        spec = {.kind = CommKind::kBarrier, .group = all};
      }
    }
    plan.push_back({static_cast<std::uint64_t>(i), spec});
  }
  return plan;
}

// Wall and processor time of this rank since the last call.
class Clock {
 public:
  explicit Clock(clockid_t cpu) : cpu_(cpu) { Read(wall_ns_, cpu_ns_); }
  std::string Lap() {
    std::int64_t wall_ns = 0;
    std::int64_t cpu_ns = 0;
    Read(wall_ns, cpu_ns);
    const std::string text =
        fmt::format("{:10.2f} {:10.2f}", static_cast<double>(wall_ns - wall_ns_) * 1e-6,
                    static_cast<double>(cpu_ns - cpu_ns_) * 1e-6);
    Read(wall_ns_, cpu_ns_);
    return text;
  }

 private:
  void Read(std::int64_t& wall_ns, std::int64_t& cpu_ns) const {
    const auto read = [](clockid_t id) {
      timespec time{};
      clock_gettime(id, &time);
      return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    wall_ns = read(CLOCK_MONOTONIC);
    cpu_ns = read(cpu_);
  }
  clockid_t cpu_;
  std::int64_t wall_ns_ = 0, cpu_ns_ = 0;
};

double PeakMib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Status Gathered(Communicator& communicator, const std::vector<PlannedTransfer>& mine,
                const RanksOfGroup& ranks_of) {
  std::vector<const PlannedTransfer*> all;
  for (const PlannedTransfer& planned : mine) {
    all.push_back(&planned);
  }
  REPRISE_ASSIGN(const auto texts, communicator.AllGather(EncodeTransfers(all, SIZE_MAX)));
  std::vector<std::vector<PlannedTransfer>> plans;
  for (const std::string& text : texts) {
    REPRISE_ASSIGN(plans.emplace_back(), DecodeTransfers(text));
  }
  CompleteSplits(plans, ranks_of);
  return MatchTransfers(plans, ranks_of);
}

Status Body(Communicator& communicator, int collectives, clockid_t cpu) {
  const int ranks = communicator.size();
  const Groups groups = GroupsOf(ranks);
  const RanksOfGroup ranks_of = [&](const std::string& id) { return groups.at(id); };
  auto mine = PlanOf(communicator.rank(), ranks, collectives);
  const auto say = [&](std::string_view stage, const std::string& lap) {
    if (communicator.rank() == 0) {
      fmt::print("{:5} ranks  {:22} {}  {:8.0f}\n", ranks, stage, lap, PeakMib());
    }
  };
  REPRISE_TRY(communicator.Barrier());
  Clock clock(cpu);
  std::vector<std::unique_ptr<GroupComm>> comms;
  std::vector<GroupMember> members;
  for (const auto& [id, group] : groups) {
    REPRISE_ASSIGN(auto comm, communicator.CreateGroup(group));
    if (comm != nullptr) {
      members.push_back({id, {.ranks = group, .rank = comm->rank()}, comm.get()});
      comms.push_back(std::move(comm));
    }
  }
  REPRISE_TRY(communicator.Barrier());
  say("groups created", clock.Lap());
  for (int i = 0; i < 10; ++i) {
    REPRISE_TRY(communicator.Agree({}));
  }
  say("ten agreements", clock.Lap());
  GroupRounds rounds(communicator, std::move(members));
  REPRISE_TRY(MatchAcross(rounds, ranks_of, mine));
  say("matched by digests", clock.Lap());
  if (ranks <= kMaxGathered) {
    REPRISE_TRY(Gathered(communicator, mine, ranks_of));
    say("matched by whole plans", clock.Lap());
  }
  return {};
}

Status Merge(int ranks, int nodes, const std::string& directory) {
  for (int rank = 0; rank < ranks; ++rank) {
    REPRISE_ASSIGN(auto writer, RankWriter::Create(directory, rank));
    std::vector<NodeInfo> infos;
    std::vector<NodeRecord> records;
    for (int i = 0; i < nodes; ++i) {
      infos.push_back({.node_id = static_cast<std::uint64_t>(i), .name = "aten::mm"});
      records.push_back({.node_id = infos.back().node_id, .start_ns = i, .duration_ns = 1});
    }
    writer->Append(std::move(infos));
    writer->Append(std::move(records));
    writer->Append<StepRecord>({{.duration_ns = nodes}});
    REPRISE_TRY(writer->Close());
  }
  RunManifest manifest;
  manifest.world_size = ranks;
  REPRISE_TRY(WriteManifest(directory, manifest));
  for (const int most_in_full : {ranks, 0}) {
    Clock clock(CLOCK_PROCESS_CPUTIME_ID);
    REPRISE_TRY(MergeRun(directory, most_in_full));
    fmt::print("{:5} ranks of {} nodes merged {:8} {}\n", ranks, nodes,
               most_in_full == 0 ? "as large" : "in full", clock.Lap());
  }
  return {};
}

int Run(int argc, char** argv) {
  if (argc > 3 && std::strcmp(argv[1], "--merge") == 0) {
    const Status merged =
        Merge(std::stoi(argv[2]), argc > 4 ? std::stoi(argv[3]) : 1000, argv[argc - 1]);
    if (!merged) {
      fmt::print(stderr, "{}\n", merged.error().message);
    }
    return merged ? 0 : 1;
  }
  const bool local = argc > 2 && std::strcmp(argv[1], "--local") == 0;
  const int at = local ? 3 : 1;
  const int collectives = argc > at ? std::stoi(argv[at]) : 10'000;
  Status outcome;
  if (local) {
    auto communicators = CreateLocalCommunicators(std::stoi(argv[2]));
    std::vector<std::thread> threads;
    for (auto& communicator : communicators) {
      threads.emplace_back([&, collectives] {
        const Status mine = Body(*communicator, collectives, CLOCK_THREAD_CPUTIME_ID);
        if (communicator->rank() == 0) {
          outcome = mine;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  } else {
    auto communicator = CreateMpiCommunicator(&argc, &argv);
    outcome = communicator ? Body(**communicator, collectives, CLOCK_PROCESS_CPUTIME_ID)
                           : Status(tl::unexpected<Error>(communicator.error()));
  }
  if (!outcome) {
    fmt::print(stderr, "{}\n", outcome.error().message);
  }
  return outcome ? 0 : 1;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) { return reprise::Run(argc, argv); }
