#include "collectives/bench/measured_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "collectives/algorithms/algorithm.h"
#include "collectives/bench/bench_case.h"
#include "collectives/bench/measured_file.h"
#include "collectives/gathered.h"
#include "core/bytes.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/median.h"
#include "core/parallel.h"
#include "core/processor_name.h"

namespace reprise {
namespace {

constexpr const char* kOwn = "mpi";
constexpr int kRounds = 5;
// Of these an algorithm must beat MPI's call in so many, and by so much on the median.
constexpr int kRoundsToWin = 4;
constexpr double kShareToWin = 0.9;
// After the first round, what takes longer than the best by so much is out; of the rest, so many.
constexpr double kSlowerOut = 1.25;
constexpr std::size_t kMostInLaterRounds = 4;
constexpr std::int64_t kRoundNs = 1'000'000;
constexpr std::int64_t kMostIterations = 100;
constexpr std::int64_t kBudgetNs = 5'000'000'000;

// Long ones are measured in pieces too that stay in a core's cache.
constexpr std::int64_t kWholeBelowBytes = 256 << 10;
constexpr std::string_view kPieces[] = {"chunk=128KiB,channels=1", "chunk=512KiB,channels=2",
                                        "chunk=4MiB,channels=2"};

// MPI's own first.
std::vector<std::string> CandidatesFor(const CollectiveClass& of) {
  std::vector<std::string> names = {kOwn};
  for (const auto& algorithm : BuiltinAlgorithms()) {
    if (!algorithm->Supports(of.kind) || (of.hosts == 1 && algorithm->name() == "hierarchical")) {
      continue;
    }
    for (const std::string_view pieces : kPieces) {
      if (of.bytes < kWholeBelowBytes) {
        names.emplace_back(algorithm->name());
        break;
      }
      names.push_back(fmt::format("{},{}", algorithm->name(), pieces));
    }
  }
  return names;
}

struct Candidate {
  std::string name;
  AlgorithmChoices choices;
  std::vector<std::int64_t> times_ns;  // by round
};

// One class on this rank: a group of it, if this rank is in one, and its memory.
class ClassCase {
 public:
  ClassCase(Communicator& communicator, GroupMaker& maker, const CollectiveClass& of,
            const MeasuredGroup* group)
      : communicator_(communicator), maker_(maker), group_(group) {
    if (group == nullptr) {
      return;
    }
    const GroupPlace place{.ranks = group->ranks, .rank = group->comm->rank()};
    for (const bool in_place : {false, true}) {
      if (in_place && !HasInPlace(of.kind)) {
        continue;
      }
      BenchCase& one = cases_.emplace_back(of.kind, of.bytes, DType::kFloat32, ReduceOp::kSum,
                                           group->ranks.front(), place);
      one.Allocate(in_place);
      one.Fill();
    }
  }

  // Mean over the ranks that take part, of one collective out of place and one in place.
  Result<std::int64_t> Time(const Candidate& candidate, std::int64_t iterations) {
    struct Mine {
      std::int64_t time_ns = 0;
      std::int64_t takes_part = 0;
    };
    maker_.Use(candidate.choices);
    REPRISE_TRY(communicator_.Barrier());
    Mine mine;
    if (group_ != nullptr) {
      REPRISE_TRY(RunOnce());  // the caches are this one's own
      const std::int64_t start_ns = MonotonicNs();
      for (std::int64_t i = 0; i < iterations; ++i) {
        REPRISE_TRY(RunOnce());
      }
      mine = {(MonotonicNs() - start_ns) / iterations, 1};
    }
    REPRISE_ASSIGN(const auto all, GatherValues(communicator_, mine));
    std::int64_t sum_ns = 0;
    std::int64_t ranks = 0;
    for (const Mine& theirs : all) {
      sum_ns += theirs.time_ns;
      ranks += theirs.takes_part;
    }
    return sum_ns / std::max<std::int64_t>(1, ranks);
  }

 private:
  Status RunOnce() {
    for (BenchCase& one : cases_) {
      // Never for ever: a rank may have stopped.
      REPRISE_ASSIGN(const auto transfer,
                     group_->comm->Start(one.specs().front(), one.In(0), one.Out(0)));
      REPRISE_TRY(communicator_.Await(*transfer));
    }
    return {};
  }

  Communicator& communicator_;
  GroupMaker& maker_;
  const MeasuredGroup* group_;
  std::vector<BenchCase> cases_;
};

// The groups of a class that can be measured at once: the first, and those that share no rank with
// one before. All ranks find the same. This rank's, if any, is `mine`.
struct ClassGroups {
  bool any = false;
  const MeasuredGroup* mine = nullptr;
};
ClassGroups GroupsOf(const CollectiveClass& of, std::span<const MeasuredGroup> groups) {
  ClassGroups chosen;
  std::set<std::int32_t> taken;
  for (const MeasuredGroup& group : groups) {
    if (static_cast<int>(group.ranks.size()) != of.members || group.hosts != of.hosts ||
        std::ranges::any_of(group.ranks, [&](std::int32_t rank) { return taken.contains(rank); })) {
      continue;
    }
    taken.insert(group.ranks.begin(), group.ranks.end());
    chosen.any = true;
    if (group.comm != nullptr) {
      chosen.mine = &group;
    }
  }
  return chosen;
}

std::int64_t MedianNs(const Candidate& candidate) {
  std::vector<std::int64_t> times_ns = candidate.times_ns;
  return Median(times_ns).value_or(0);
}

// Requires equally many rounds of all.
MeasuredAlgorithm Winner(const std::vector<Candidate>& candidates) {
  const Candidate& own = candidates.front();
  MeasuredAlgorithm winner{.time_ns = MedianNs(own), .mpi_ns = MedianNs(own)};
  for (const Candidate& one : candidates) {
    int rounds_won = 0;
    for (std::size_t i = 0; i < one.times_ns.size(); ++i) {
      rounds_won += one.times_ns[i] < own.times_ns[i] ? 1 : 0;
    }
    const std::int64_t median_ns = MedianNs(one);
    if (rounds_won >= kRoundsToWin && median_ns < winner.time_ns &&
        static_cast<double>(median_ns) <= kShareToWin * static_cast<double>(winner.mpi_ns)) {
      winner.algorithm = one.name;
      winner.time_ns = median_ns;
    }
  }
  return winner;
}

// What was measured is the same on all ranks, so all decide alike.
Result<MeasuredAlgorithm> MeasureClass(ClassCase& of, std::vector<Candidate> candidates) {
  REPRISE_ASSIGN(const std::int64_t first_ns, of.Time(candidates.front(), 1));
  const std::int64_t iterations =
      std::clamp<std::int64_t>(kRoundNs / std::max<std::int64_t>(1, first_ns), 1, kMostIterations);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      Candidate& candidate = candidates[(k + static_cast<std::size_t>(round)) % candidates.size()];
      REPRISE_ASSIGN(const std::int64_t time_ns, of.Time(candidate, iterations));
      candidate.times_ns.push_back(time_ns);
    }
    if (round == 0) {
      const auto first_time = [](const Candidate& one) { return one.times_ns.front(); };
      std::ranges::stable_sort(candidates.begin() + 1, candidates.end(), {}, first_time);
      const std::int64_t best_ns = std::ranges::min(candidates, {}, first_time).times_ns.front();
      while (candidates.size() > 1 && (candidates.size() > kMostInLaterRounds ||
                                       static_cast<double>(candidates.back().times_ns.front()) >
                                           kSlowerOut * static_cast<double>(best_ns))) {
        candidates.pop_back();
      }
    }
  }
  return Winner(candidates);
}

// The classes of all ranks' transfers, each once.
Result<std::vector<CollectiveClass>> ClassesOf(Communicator& communicator,
                                               std::span<const ChosenTransfer> transfers,
                                               const AlgorithmChoices& asked) {
  std::set<CollectiveClass> classes;
  for (const ChosenTransfer& transfer : transfers) {
    const auto of = ClassOf(transfer);
    if (of && !asked.Find(transfer)) {
      classes.insert(*of);
    }
  }
  ByteWriter writer;
  writer.Put(std::vector(classes.begin(), classes.end()));
  REPRISE_ASSIGN(const auto texts, communicator.AllGather(writer.Take()));
  for (const std::string& text : texts) {
    std::vector<CollectiveClass> theirs;
    ByteReader(text).Read(theirs);
    classes.insert(theirs.begin(), theirs.end());
  }
  return std::vector<CollectiveClass>(classes.begin(), classes.end());
}

MeasuredMachine MachineOf(const Communicator& communicator, const std::string& library,
                          std::vector<std::string> hosts) {
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return {.mpi = library,
          .processor = ProcessorName(),
          .cores = OwnCores(),
          .ranks_per_host = communicator.local_size(),
          .hosts = hosts.size() > 1 ? std::move(hosts) : std::vector<std::string>()};
}

std::string EncodeTable(const MeasuredTable& table) {
  ByteWriter writer;
  writer.Put(static_cast<std::uint64_t>(table.size()));
  for (const auto& [of, measured] : table) {
    writer.Put(of, measured.algorithm, measured.time_ns, measured.mpi_ns);
  }
  return writer.Take();
}

MeasuredTable DecodeTable(const std::string& text) {
  ByteReader reader(text);
  MeasuredTable table;
  for (auto left = reader.Get<std::uint64_t>(); left > 0; --left) {
    CollectiveClass of;
    reader.Read(of);
    MeasuredAlgorithm& measured = table[of];
    reader.Read(measured.algorithm, measured.time_ns, measured.mpi_ns);
  }
  return table;
}

}  // namespace

std::optional<CollectiveClass> ClassOf(const ChosenTransfer& transfer) {
  if (IsPointToPoint(transfer.kind) || transfer.kind == CommKind::kBarrier ||
      transfer.kind == CommKind::kUnknown || transfer.members < 2 || !transfer.bytes ||
      *transfer.bytes < kLeastMeasuredBytes / 2) {
    return std::nullopt;
  }
  CollectiveClass of{transfer.kind, transfer.members, transfer.hosts, kLeastMeasuredBytes};
  while (of.bytes < kMostMeasuredBytes && *transfer.bytes >= 2 * of.bytes) {
    of.bytes *= 4;
  }
  return of;
}

AlgorithmChoices ChoicesOf(const MeasuredTable& table) {
  AlgorithmChoices choices;
  // In the order of the classes, sizes last: each is for its size and, until another follows,
  // above.
  for (const auto& [of, measured] : table) {
    static_cast<void>(choices.Add(fmt::format("{}={},from={},members={},hosts={}", Name(of.kind),
                                              measured.algorithm, ShowBytes(of.bytes / 2),
                                              of.members, of.hosts)));
  }
  return choices;
}

Result<MeasuredTable> MeasureAlgorithms(Communicator& communicator, GroupMaker& maker,
                                        std::span<const MeasuredGroup> groups,
                                        std::span<const CollectiveClass> classes,
                                        std::int64_t budget_ns) {
  MeasuredTable table;
  const std::int64_t start_ns = MonotonicNs();
  for (const CollectiveClass& of : classes) {
    const ClassGroups chosen = GroupsOf(of, groups);
    if (!chosen.any) {
      continue;
    }
    REPRISE_ASSIGN(const auto spent_ns, GatherValues(communicator, MonotonicNs() - start_ns));
    if (spent_ns.front() > budget_ns) {
      break;
    }
    std::vector<Candidate> candidates;
    for (const std::string& name : CandidatesFor(of)) {
      REPRISE_TRY(candidates.emplace_back(Candidate{.name = name}).choices.Add(name));
    }
    ClassCase one(communicator, maker, of, chosen.mine);
    REPRISE_ASSIGN(table[of], MeasureClass(one, std::move(candidates)));
  }
  maker.Use({});
  return table;
}

Result<AlgorithmChoices> CompleteChoices(Communicator& communicator, GroupMaker& maker,
                                         std::span<const MeasuredGroup> groups,
                                         std::span<const ChosenTransfer> transfers,
                                         const AlgorithmChoices& asked, const std::string& path,
                                         const std::string& library) {
  if (!asked.measures()) {
    AlgorithmChoices choices = AlgorithmChoices::Table();
    choices.Append(asked);
    return choices;
  }
  REPRISE_ASSIGN(const auto classes, ClassesOf(communicator, transfers, asked));
  if (classes.empty()) {
    return asked;
  }
  REPRISE_ASSIGN(const auto hosts, communicator.AllGather(communicator.host()));
  const bool keeps = communicator.rank() == 0 && !path.empty();
  const MeasuredMachine machine = MachineOf(communicator, library, hosts);
  MeasuredTable known;
  if (keeps) {
    Result<MeasuredTable> read = ReadMeasured(path, machine);
    if (read) {
      known = std::move(*read);
    } else {
      LogWarning(read.error().message);
    }
  }
  REPRISE_ASSIGN(const auto texts, communicator.AllGather(EncodeTable(known)));
  known = DecodeTable(texts.front());
  std::vector<CollectiveClass> missing;
  MeasuredTable used;
  for (const CollectiveClass& of : classes) {
    if (const auto it = known.find(of); it != known.end()) {
      used.insert(*it);
    } else {
      missing.push_back(of);
    }
  }
  if (!missing.empty()) {
    const std::int64_t start_ns = MonotonicNs();
    REPRISE_ASSIGN(const MeasuredTable measured,
                   MeasureAlgorithms(communicator, maker, groups, missing, kBudgetNs));
    if (communicator.rank() == 0) {
      Log(LogLevel::kDebug,
          fmt::format(
              "measured {} of {} collectives of this run in {:.1f} s, once for this machine",
              measured.size(), missing.size(),
              static_cast<double>(MonotonicNs() - start_ns) / 1e9));
    }
    if (keeps) {
      if (const Status kept = KeepMeasured(path, machine, measured); !kept) {
        LogWarning(kept.error().message);
      }
    }
    used.insert(measured.begin(), measured.end());
  }
  AlgorithmChoices choices = ChoicesOf(used);
  choices.Append(asked);
  return choices;
}

}  // namespace reprise
